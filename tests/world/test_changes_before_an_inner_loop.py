"""Turns that change something, in some ways alone, before a loop in them: that is not forgotten.

When the inner loop is over, the frames of the turn are put back to where they stood, with the
values of now. What the turn has done before, which others do not, still tells that it is no turn
like those.
"""

from __future__ import annotations

import warnings
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import tracegrad as tg

pytestmark = pytest.mark.usefixtures("fresh_loops")

LOG: list[Any] = []
SEEN = SimpleNamespace(n=0, v=0.0)


def added(x, s):
    for q in x[:9]:
        s = s + q * 0.01
    return s


def appends_numbers(x):
    s, found = 0.0, []
    for i, v in enumerate(x):
        if v > 1:
            found.append(i)
            s = added(x, s)
        s = s + v
    return s, len(found)


def appends_pairs(x):
    s, found = 0.0, []
    for i, v in enumerate(x):
        if v > 1:
            found.append((v * 2, i))
            for q in x[:9]:
                s = s + q * 0.01
            if v > 3:
                continue
        s = s + v
    return s, [pair[0] for pair in found]


def appends_outside(x):
    s = 0.0
    for i, v in enumerate(x):
        if v > 1:
            LOG.append(i)
            s = added(x, s)
        s = s + v
    return s, 0


def takes_from_an_iterator(x):
    s, numbers = 0.0, iter(range(100))
    for v in x:
        if v > 1:
            next(numbers)
            s = added(x, s)
        s = s + v
    return s, next(numbers)


def pops(x):
    s, left = 0.0, [1.0, 2.0, 3.0]
    for v in x:
        if v > 1:
            left.pop() if left else None
            s = added(x, s)
        s = s + v
    return s, len(left)


def fills_a_dictionary(x):
    s, found = 0.0, {}
    for v in x:
        if v > 1:
            found[len(found)] = v
            s = added(x, s)
        s = s + v
    return s, len(found)


def writes_to_an_array(x):
    s, counts = 0.0, np.zeros((2, 3))
    row = counts[1]
    for v in x:
        if v > 1:
            row += v
            s = added(x, s)
        s = s + v
    return s, counts


def writes_to_an_item(x):
    s, parts = 0.0, {"a": np.zeros(3)}
    for v in x:
        if v > 1:
            parts["a"][1:] += v
            for q in x[:9]:
                s = s + q * 0.01
            if v > 3:
                continue
        s = s + v
    return s, parts["a"]


def counts_outside(x):
    s = 0.0
    for v in x:
        if v > 1:
            SEEN.n += 1
            SEEN.v = v
            s = added(x, s)
        s = s + v
    return s, 0


PROGRAMS = (
    appends_numbers,
    appends_pairs,
    appends_outside,
    takes_from_an_iterator,
    pops,
    fills_a_dictionary,
    writes_to_an_array,
    writes_to_an_item,
    counts_outside,
)


def outcome(f, x):
    """What a call gives, and leaves outside."""
    LOG.clear()
    SEEN.n, SEEN.v = 0, 0.0
    result = [np.asarray(part).tolist() for part in f(x)]
    return result, [*LOG], int(SEEN.n), float(SEEN.v)


def arguments(rng):
    n = int(rng.integers(8, 20))
    return (rng.random(n) < 0.25) * rng.choice([2.0, 4.0], size=n) + 0.05 * rng.normal(size=n)


@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_compiled_calls_do_what_plain_ones_do(f):
    rng = np.random.default_rng(0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for _ in range(4):
            compiled = tg.compile(f)
            for _ in range(5):
                x = arguments(rng)
                assert outcome(compiled, x) == outcome(f, x)


def left_in_another_turn(x):
    """The inner loop goes on as another one behind a turn of its own, elsewhere in later turns."""
    s, q, d = 0.0 * x[1], x[1], {"c": 0.0}
    for i in range(len(x)):
        z = x[i]
        d = {"c": d["c"] + z}
        s = s + 0.2
        if s > 1.0:
            for xj in x:
                q = 0.9 * q + 0.1 * xj
                if xj < q:
                    d["c"] = d["c"] * 0.8 + z
    return 0.64 * q + d["c"]


def test_the_rest_of_a_loop_is_that_of_now():
    rng = np.random.default_rng(7)
    places = [(1, 4, 5, 11), (1, 2, 4, 5, 9, 11), (2, 3, 7), (0, 1, 6, 8)]
    for low in places * 3:
        x = np.where(np.isin(np.arange(12), low), -1.0, 0.8) + 0.4 * rng.normal(size=12)
        compiled = tg.compile(left_in_another_turn)
        for _ in range(2):
            assert compiled(x) == left_in_another_turn(x)
