"""Loops whose ifs write to arrays enter; loops leave, whichever ways the first turns went."""

from __future__ import annotations

import re
from unittest import mock

import numpy as np
import pytest
from checks import assert_same_bits, split

import tracegrad as tg

WEIGHTS = np.array([0.9, 0.4])


def residuals(r, w):
    out = np.zeros(len(r))
    for t in range(len(r)):
        if r[t] > 0:
            out[t] = w[0] * r[t]
        else:
            out[t] = w[1] * r[t]
    return (out * out).sum()


def from_the_row_before(r, w):
    out = np.zeros(len(r))
    for t in range(1, len(r)):
        if r[t] > 0:
            out[t] = w[0] * r[t] + out[t - 1]
        else:
            out[t] = w[1] * r[t]
    return (out * out).sum()


def one_arm_alone(r, w):
    out = np.ones(len(r))
    for t in range(len(r)):
        if r[t] > 0.5:
            out[t] += w[0] * r[t]
    return (out * out).sum()


def two_arrays(r, w):
    up, down = np.zeros(len(r)), np.zeros(len(r))
    for t in range(1, len(r)):
        change = r[t] - r[t - 1]
        if change > 0:
            up[t] = change * w[0]
        else:
            down[t] = -change * w[1]
    return (up * up).sum() / (1 + down.sum())


def whole_rows(r, w):
    out = np.zeros((len(r), 2))
    for t in range(1, len(r)):
        if r[t] > 0:
            out[t] = out[t - 1] * w
        elif r[t] < -1:
            out[t, 0] = r[t] * w[1]
        else:
            out[t] = w * r[t]
    return (out * out).sum()


def variables_too(r, w):
    out, s = np.zeros(len(r)), 0.0
    for t in range(len(r)):
        s = w[0] * s + r[t]
        if s > 1:
            out[t] = s * s
            s = w[1] * 1.0
    return out.sum() + s


def rebound_in_some_turns(r, w):
    """Another array takes the place of the one that other turns write to."""
    out = r * w[0]
    for t in range(len(r)):
        if r[t] > 0.5:
            out[t] = out[t] * 2
        elif r[t] < -1:
            out = out * 0.5
    return out.sum()


def others_have_it(r, w):
    """The array goes by two names, and stands in a list."""
    out = np.zeros(len(r))
    same, held = out, [out]
    for t in range(len(r)):
        if r[t] > 0:
            out[t] = w[0] * r[t] + same[t - 1]
    return (same * held[0]).sum()


def a_view_of_it(r, w):
    out = np.zeros(len(r))
    tail = out[3:]
    for t in range(len(r)):
        if r[t] > 0:
            out[t] = w[0] * r[t]
    return (tail * tail).sum()


CLOSED = [residuals, from_the_row_before, one_arm_alone, two_arrays, whole_rows, variables_too]
PROGRAMS = [*CLOSED, rebound_in_some_turns, others_have_it, a_view_of_it]

FIRST = [(1, 1), (1, -1), (-1, 1), (-1, -1), (-2, -1), (-0.2, 0.2)]
"""Which ways the first turns go."""


def called(first, size=40):
    r = np.random.default_rng(len(first)).normal(size=size) * 1.5
    r[: len(first)] = first
    return r, WEIGHTS


def eagerly(function, args):
    with mock.patch.object(tg.config, "compile", False):
        return split(tg.value_and_grad(function, argnums=(0, 1))(*args))


def calls():
    zeros = np.where(np.arange(30) % 3 == 0, -0.0, called((1,))[0][:30])
    more = [(zeros, WEIGHTS), (np.zeros(12), WEIGHTS), called((1, 2, -1), 3)]
    return [*map(called, FIRST[:4]), *more]


@pytest.mark.sampled(2)
@pytest.mark.parametrize("begin", [0, 1])
@pytest.mark.parametrize("function", PROGRAMS, ids=lambda f: f.__name__)
def test_bits_are_those_of_eager(function, begin):
    f, plain = tg.value_and_grad(function, argnums=(0, 1)), tg.compile(function)
    every = calls()
    for args in every[begin:] + every[:begin]:
        assert_same_bits(split(f(*args)), eagerly(function, args))
        assert_same_bits(plain(*args), function(*args))


@pytest.mark.sampled(5)
@pytest.mark.parametrize("first", FIRST)
@pytest.mark.parametrize("function", CLOSED, ids=lambda f: f.__name__)
def test_one_loop_whichever_ways_the_first_turns_go(function, first):
    for f in (tg.compile(function), tg.value_and_grad(function, argnums=(0, 1))):
        f(*called(first))
        assert "loops that are unrolled" not in f.explain()
        assert f.source(*called(first)) == f.source(*called(first, 80))


def in_loops(source):
    """The lines of the text that turns run."""
    depth = None
    for line in source.splitlines():
        indent = len(line) - len(line.lstrip())
        if depth is not None and line.strip() and indent <= depth:
            depth = None
        if depth is not None:
            yield line.strip()
        elif line.lstrip().startswith("for "):
            depth = indent


@pytest.mark.parametrize("first", FIRST[:2])
@pytest.mark.parametrize("function", CLOSED, ids=lambda f: f.__name__)
def test_no_turn_copies_a_whole_array(function, first):
    f = tg.value_and_grad(function, argnums=(0, 1))
    f(*called(first))
    lines = in_loops(f.source(*called(first)))
    assert not [line for line in lines if re.search(r"np\.array\(\w+\)", line)]


@pytest.mark.parametrize("function", CLOSED, ids=lambda f: f.__name__)
def test_second_derivatives(function):
    r, w = called(FIRST[1], 12)
    v = np.random.default_rng(4).normal(size=12)

    def f(r):
        return function(r, w)

    product = tg.grad(lambda r: np.dot(tg.grad(f)(r), v))(r)
    _, forward = tg.jvp(tg.grad(f), (r,), (v,))
    np.testing.assert_allclose(product, forward, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(tg.hessian(f)(r) @ v, forward, rtol=1e-9, atol=1e-12)


def flagged(path, weights):
    total, found = 0.0, False
    seen = np.zeros(len(path))
    for t in range(1, len(path)):
        gap = path[t] - path[t - 1]
        if gap > 0.5:
            seen[t] = weights[0] * gap
            found = True
        else:
            seen[t] = weights[1] - gap
        if found:
            total = total + seen[t] ** 2
    return total


def test_what_is_made_of_a_gradient_is_made_before_it_is_cleared():
    """Else each turn copies the gradient of the whole array."""
    made = tg.value_and_grad(flagged, argnums=1)
    for n in (12, 30):
        path, weights = np.cumsum(np.linspace(-0.2, 1.3, n)), np.array([1.0, 0.5])
        value, gradient = made(path, weights)
        assert value == flagged(path, weights)
        steps = [
            (flagged(path, weights + d) - flagged(path, weights - d)) / 2e-6
            for d in 1e-6 * np.eye(2)
        ]
        np.testing.assert_allclose(gradient, steps, rtol=1e-6)
    assert "np.array(seen_bar" not in made.source()
