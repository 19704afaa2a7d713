"""Lists that grow: what they begin with, items that stay one array, pairs, and writes behind them.

Each program is called with the same arguments in other orders, so that other turns are its first.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from checks import assert_same_bits

import tracegrad as tg

pytestmark = pytest.mark.usefixtures("fresh_loops")

GIVEN = (
    ([-0.66, 0.94, 0.05], [0.85, 0.87, 1.05]),
    ([0.5, 0.4, 0.3], [0.9, 0.6, 0.5]),
    ([0.5, -2.222, 0.137], [0.816, 1.155, 0.848]),
    ([1.0, 1.5, 0.1], [0.9, 0.8, 0.2]),
    ([-0.85, 0.415, -0.911], [0.682, 0.614, 0.644]),
    ([0.5, -0.043, 0.417], [0.597, 0.807, 1.026]),
)


def inputs(turned: int):
    for x, w in (*GIVEN[turned:], *GIVEN[:turned]):
        yield np.array(x), np.array(w)


def first_turns_alone(x, w):
    found, s, v = [], 0.0, x * 1.0
    for _ in range(9):
        v = v * 0.9 + w * 0.15
        if s < 1.0:
            s = s + v[0]
            found.append(v[0])
            found.append(v[1])
    return np.sum(np.array(found) ** 2)


def one_item_in_the_first_turns(x, w):
    found, s, v = [], 0.0, x * 1.0
    for _ in range(9):
        v = v * 0.9 + w * 0.15
        if s < 1.0:
            s = s + v[0]
            found.append(v[1])
    return np.sum(np.array(found) ** 2)


def neighbours_of_a_constant_item(x, w):
    found, v, u, s, i = [], x * 1.0, w * 0.5, 0.0, 0
    while True:
        i += 1
        if i > 9:
            break
        if s < 1.0:
            found.append(v * w)
            s = s + v[0]
    r = np.sum(v * w) + s + np.sum(u)
    for a, b in pairwise(found):
        r = r + np.sum(a * b)
    return r


def arrays_that_stay_the_same(x, w):
    found, u, i = [], w * 0.5, 0
    while i < 9:
        i += 1
        if np.sum(x) > 0.0:
            found.append(x)
            found.append(u)
    return np.sum(np.mean(np.stack(found), axis=0) * w) if found else np.sum(x * w)


def one_array_twice_and_another(x, w):
    found, u, v = [], w * 0.5, x * 1.0
    for _ in range(12):
        v = v * 0.9
        if np.sum(v) > w[0]:
            found.append(v)
            found.append(v)
            found.append(u)
    return np.sum(np.mean(np.stack(found), axis=0) * w) if found else np.sum(x * w)


def written_behind_reversing(x, w):
    found, v, u = [], x * 1.0, w * 0.5
    for i in range(9):
        v = np.sin(v + w * 0.3)
        if i % 2 == 0:
            u = v
            found.append(u)
        found.append(v)
    r = np.sum(v * w) + np.sum(u)
    found.reverse()
    if len(found) > 1:
        found[1] += found[0]
    return r + np.sum(u * v)


def written_item_that_is_a_variable(x, w):
    found, v, u = [], x * 1.0, w * 0.5
    for i in range(9):
        v = np.sin(v + w * 0.3)
        if i % 2 == 0:
            u = v
            found.append(u)
        found.append(v)
    found[1] += found[0]
    return np.sum(np.array(found) * w) + np.sum(u * v)


def written_in_a_copy_of_the_list(x, w):
    found, v, u = [], x * 1.0, w * 0.5
    for _ in range(9):
        v = np.sin(v + w * 0.3)
        if v[0] > 0.1:
            u = v
            found.append(u)
    others = list(found)
    others.reverse()
    if others:
        others[0] += 1.0
    return np.sum(u * v) + (np.sum(found[-1]) if found else 0.0)


def a_float_of_python_first(x, w):
    found, s, v, i = [], 0.0, x * 1.0, 0
    while True:
        i += 1
        if i > 9:
            break
        v = v * 0.9 + w * 0.15
        if v[1] > 0.3:
            found.append(s)
            s = s + v[0]
        if v[1] < -1.5:
            break
    return found


def floats_in_some_turns(x, w):
    found, v, s, i = [], x * 1.0, 0.0, 0
    while True:
        i += 1
        if i > 9:
            break
        found.append(s)
        if v[0] > 0.0:
            found.append(s)
        s = v[2]
        if v[1] < -1.5:
            break
    r = np.sum(v * w) + s
    for a, b in pairwise(found):
        r = r + a * b
    return r


def pairs_of_accepted_steps(x, w):
    kept, y, t = [], x[0], 0.0
    while t < 1.0:
        if y > 0.7:
            y = y * 0.5
            t += 0.1
            kept.append((y, y * 2))
        else:
            y = y + 0.3
    return len(kept) + y


def adaptive_steps_in_triples(x, w):
    kept, y, t, h = [], x[0], 0.0, 0.1
    while t < 1.0:
        e = abs(np.sin(y * 9)) * h
        if e < 0.06:
            t += h
            y = y * 0.9 + 0.1
            kept.append((t, y, h))
            h = min(0.1, h * 1.5)
        else:
            h *= 0.5
    return sum(a * b for a, b, c in kept)


PROGRAMS = (
    *(first_turns_alone, one_item_in_the_first_turns, neighbours_of_a_constant_item),
    *(arrays_that_stay_the_same, one_array_twice_and_another, written_behind_reversing),
    *(written_item_that_is_a_variable, written_in_a_copy_of_the_list, a_float_of_python_first),
    *(floats_in_some_turns, pairs_of_accepted_steps, adaptive_steps_in_triples),
)


@pytest.mark.parametrize("turned", range(len(GIVEN)))
@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_results_are_those_of_the_function(f, turned):
    compiled = tg.compile(f)
    for x, w in inputs(turned):
        expected, got = f(x.copy(), w.copy()), compiled(x.copy(), w.copy())
        assert type(got) is type(expected)
        if isinstance(expected, list):
            assert [*map(type, got)] == [*map(type, expected)]
        assert_same_bits(got, expected)


@pytest.mark.parametrize("turned", range(len(GIVEN)))
@pytest.mark.parametrize(
    "f", [f for f in PROGRAMS if f is not a_float_of_python_first], ids=lambda f: f.__name__
)
def test_gradients_are_those_of_the_tape(f, turned, monkeypatch):
    compiled = tg.value_and_grad(f, argnums=(0, 1))
    got = [compiled(x, w) for x, w in inputs(turned)]
    monkeypatch.setattr(tg.config, "compile", False)
    for (x, w), result in zip(inputs(turned), got, strict=True):
        assert_same_bits(result, tg.value_and_grad(f, argnums=(0, 1))(x, w))
