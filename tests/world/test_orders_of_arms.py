"""Loops whose ifs write to copies: one loop in whichever order the first turns take the arms."""

from __future__ import annotations

import itertools
from types import FunctionType
from unittest import mock

import numpy as np
import pytest
from checks import assert_same_bits, split

import tracegrad as tg


def one_arm(y):
    z = y.copy()
    for i in range(len(y)):
        if z[i] > 0:
            z[i] = z[i] * 0.5
    return z.sum()


def both_arms(y):
    z = y.copy()
    for i in range(1, len(y)):
        if y[i] > 0:
            z[i] += z[i - 1] * 0.5
        else:
            z[i] -= z[i] * y[i]
    return z.sum()


def elifs(y):
    z = y.copy()
    for i in range(len(y)):
        if y[i] > 0.6:
            z[i] = np.sin(z[i])
        elif y[i] > 0:
            z[i] *= 3.0
        elif y[i] > -0.6:
            z[i] = z[i] * z[i]
    return z.sum()


def nested(y):
    z = y.copy()
    for i in range(len(y)):
        if y[i] > 0:
            if y[i] > 0.6:
                z[i] = np.sin(z[i])
            z[i] += 1.0
        elif y[i] > -0.6:
            z[i] = z[i] * z[i]
    return (z * z).sum()


def slices(y):
    z = y.copy()
    for i in range(1, len(y) - 1):
        if y[i] > 0:
            z[i - 1 : i + 1] = z[i : i + 2] * 0.5
    return (z * z).sum()


def two_copies(y):
    z, w = y.copy(), np.array(y)
    for i in range(len(y)):
        if y[i] > 0:
            z[i] = z[i] * w[i]
        else:
            w[i] = y[i] * y[i]
    return (z * w).sum()


def swapped(y):
    z = y.copy()
    for i in range(len(y) - 1):
        if z[i] > z[i + 1]:
            z[i], z[i + 1] = z[i + 1], z[i]
    return (z * y).sum()


def _halve(z, i):
    if z[i] > 0:
        z[i] = z[i] * 0.5


def in_a_function(y):
    z = y.copy()
    for i in range(len(y)):
        _halve(z, i)
    return z.sum()


def loop_in_a_loop(y):
    z = y.copy()
    for _ in range(9):
        for i in range(len(y)):
            if z[i] > 0.1:
                z[i] = z[i] * 0.5
    return z.sum()


def skipped(y):
    z = y.copy()
    for i in range(len(y)):
        if y[i] <= 0:
            continue
        z[i] = z[i] * 0.5
    return z.sum()


def left_and_written_behind(y):
    """A copy that turns write to is written to behind the loop, and the argument is not."""
    z = y.copy()
    for i in range(len(y)):
        if y[i] > 5.0:
            break
        if y[i] > 0:
            z[i] = z[i] * 0.5
    z[1] = y[0] * 3.0
    return (z * y).sum()


PROGRAMS = [
    *(one_arm, both_arms, elifs, nested, slices, two_copies, swapped),
    *(in_a_function, loop_in_a_loop, skipped, left_and_written_behind),
]
ORDERS = [*itertools.product((0.9, -0.8), repeat=4)]
_number = itertools.count()


def fresh(function):
    """The same function, of which nothing is known from other tests."""
    name = f"{function.__name__}_{next(_number)}"
    return FunctionType(function.__code__.replace(co_name=name), globals(), name)


def called(order, size=20):
    """An argument whose later elements take every arm."""
    y = np.resize((0.9, -0.8, 0.4, 0.5, -0.3), size)
    y[:4] = order
    return y


def eagerly(function, y):
    with mock.patch.object(tg.config, "compile", False):
        return split(tg.value_and_grad(function)(y))


@pytest.mark.sampled(7)
@pytest.mark.parametrize("order", ORDERS, ids=lambda o: "".join("-+"[v > 0] for v in o))
@pytest.mark.parametrize("function", PROGRAMS, ids=lambda f: f.__name__)
def test_one_loop_in_every_order(function, order):
    function = fresh(function)
    plain, both = tg.compile(function), tg.value_and_grad(function)
    others = [called(ORDERS[k], 20 + k) for k in (3, 6, 13)]
    for y in (called(order), *others):
        assert_same_bits(plain(y), function(y))
        assert_same_bits(split(both(y)), eagerly(function, y))
    for f in (plain, both):
        assert f.cache_info().misses == 1
        assert "loops that are unrolled" not in f.explain()
        assert f.source(called(order)) == f.source(called(order, 80))


@pytest.mark.parametrize("at", [0, 1, 7])
def test_a_loop_left_early_whose_array_is_written_behind_it(at):
    function = fresh(left_and_written_behind)
    plain, both = tg.compile(function), tg.value_and_grad(function)
    left = called((-0.8, 0.9, 0.9, -0.8))
    left[at] = 6.0
    for y in (called((-0.8, 0.9, 0.9, 0.9)), left, called((0.9, 0.9, -0.8, 0.9)), left):
        before = y.copy()
        assert_same_bits(plain(y), function(y))
        assert_same_bits(split(both(y)), eagerly(function, y))
        assert_same_bits(y, before)
