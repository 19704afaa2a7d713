"""Functions in which two go through one iterator enter: each takes items from the other.

``zip(it, it)`` gives pairs, and what ``enumerate(it)`` has given ``it`` gives no more.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tracegrad as tg


def pairs(x):
    it, s = iter(x), 0.0
    for a, b in zip(it, it):
        s = s * 0.5 + a * b
    return s


def left_and_gone_on(x):
    it, s = iter(x), 0.0
    for k, a in enumerate(it):
        s = s + a * k
        if k == 5:
            break
    for a in it:
        s = s * 0.9 + a
    return s


def asked_in_the_turn(x):
    it, s = iter(x), 0.0
    for a in it:
        s = s * 0.5 + a * next(it, 1.0)
    return s


def the_longer_first(x):
    it, s = iter(x), 0.0
    for u, v in zip(it, x[3:]):
        s = s + u * v
    for u in it:
        s = s + u * 10
    return s


def the_shorter_first(x):
    it, s = iter(x), 0.0
    for u, v in zip(x[3:], it):
        s = s + u * v
    for u in it:
        s = s + u * 10
    return s


def some_and_the_rest(x):
    it, s = iter(x), 0.0
    for u, v in zip(it, range(4)):
        s = s + u * v
    for u in it:
        s = s * 0.5 + u * 10
    return s


def the_rest_of_pairs(x):
    it, s = enumerate(x), 0.0
    for (_, u), v in zip(it, range(6)):
        s = s + u * v
    for k, u in it:
        s = s * 0.5 + u * k
    return s


def the_rest_of_a_map(x):
    it, s = iter(x), 0.0
    for u in map(lambda a, b: a * b, it, range(6)):
        s = s * 0.8 + u
    return s + sum(it)


def nothing_is_left(x):
    it, s = reversed(x), 0.0
    for u, v in zip(it, x):
        s = s * 0.5 + u * v
    return s + len(list(it))


def pairs_of_numbers(x):
    it, s = iter(range(len(x))), 0.0
    for u, v in zip(it, it):
        s = s * 0.5 + x[u] * x[v]
    return s


def of_a_list(x):
    it, s = iter([v * 2 for v in x]), 0.0
    for u, v in zip(it, range(4)):
        s = s * 0.5 + u * v
    for u in it:
        s = s + u * 3
    return s


def pairs_of_a_list(x):
    it, s = iter([v * 2 for v in x]), 0.0
    for u, v in zip(it, it):
        s = s * 0.5 + u * v
    return s


PROGRAMS = [
    *(pairs, left_and_gone_on, asked_in_the_turn, the_longer_first, the_shorter_first),
    *(some_and_the_rest, the_rest_of_pairs, the_rest_of_a_map, nothing_is_left),
    *(pairs_of_numbers, of_a_list, pairs_of_a_list),
]


@pytest.mark.filterwarnings("ignore::tracegrad.errors.RecompileWarning")
@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_items_are_taken_once(f: Any) -> None:
    compiled = tg.value_and_grad(f)
    for n in (20, 13, 5, 20):
        x = np.linspace(0.1, 1.0, n)
        assert compiled(x)[0] == f(x)


@pytest.mark.filterwarnings("ignore::tracegrad.errors.RecompileWarning")
@pytest.mark.sampled(3)
@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_items_are_taken_once_in_jax(f: Any) -> None:
    compiled = tg.value_and_grad(f, backend="jax")
    for n in (20, 13, 20):
        x = np.linspace(0.1, 1.0, n)
        np.testing.assert_allclose(compiled(x)[0], f(x), rtol=1e-12)


# -- what is left behind a loop -------------------------------------------------------------------


def counted(x):
    it = iter(x)
    for v in it:
        if v > 1:
            break
    return x[0] + len(list(it))


def counted_numbers(x):
    it = iter(range(len(x)))
    for i in it:
        if x[i] > 1:
            break
    return x[0] + len(list(it))


def the_rest_added(x):
    it, s = iter(x), 0.0
    for v in it:
        if v > 1:
            break
        s = s + v
    return s + sum(list(it)) * 2


def the_last_of_the_rest(x):
    it, s = enumerate(x), 0.0
    for _, v in it:
        if v > 1:
            break
        s = s + v
    left = list(it)
    return s + (left[-1][1] if left else 0.0)


def the_rest_beside_the_whole(x):
    it, s = iter(x), 0.0
    for v in it:
        if v > 1:
            break
        s = s + v
    for a, b in zip(it, x):
        s = s * 0.5 + a * b
    return s


def the_rest_unpacked(x):
    it = iter(x)
    for v in it:
        if v > 1:
            break
    a, b, *c = it
    return a * b + len(c)


def the_rest_gone_through(x):
    it, s = iter(x), 0.0
    for v in it:
        if v > 1:
            break
        s = s + v
    for b in it:
        s = s * 0.5 + b
    return s


LEAVING = [
    *(counted, counted_numbers, the_rest_added, the_last_of_the_rest, the_rest_beside_the_whole),
    *(the_rest_unpacked, the_rest_gone_through),
]


@pytest.mark.filterwarnings("ignore::tracegrad.errors.RecompileWarning")
@pytest.mark.parametrize("f", LEAVING, ids=lambda f: f.__name__)
def test_what_is_left_is_what_the_loop_has_left(f: Any) -> None:
    same_for_all_places(tg.value_and_grad(f), f)


@pytest.mark.filterwarnings("ignore::tracegrad.errors.RecompileWarning")
@pytest.mark.sampled(3)
@pytest.mark.parametrize("f", LEAVING, ids=lambda f: f.__name__)
def test_what_is_left_is_what_the_loop_has_left_in_jax(f: Any) -> None:
    same_for_all_places(tg.value_and_grad(f, backend="jax"), f)


def same_for_all_places(compiled: Any, f: Any) -> None:
    """Wherever the loop ends, in arrays of several lengths."""
    for length, place in ((20, 3), (20, 0), (24, 3), (12, 8), (20, 16), (20, 3)):
        x = np.linspace(0.1, 0.2, length)
        x[place] = 5.0
        np.testing.assert_allclose(compiled(x)[0], f(x), rtol=1e-12)


def test_iterators_that_nobody_else_goes_through_stay_loops() -> None:
    def f(x, y):
        s = 0.0
        for k, (u, v) in enumerate(zip(x, y)):
            s = s * 0.5 + u * v * k
        return s

    compiled = tg.value_and_grad(f)
    for n in (20, 23, 32):
        assert compiled(np.ones(n), np.ones(n))[0] == f(np.ones(n), np.ones(n))
    assert compiled.cache_info().traces == 1
