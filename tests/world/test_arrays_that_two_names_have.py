"""Two names have one array when a loop begins: what a rare turn writes to it, both show."""

from __future__ import annotations

import numpy as np
import pytest
from checks import assert_same_bits, function_of

import tracegrad as tg

pytestmark = pytest.mark.usefixtures("fresh_loops")

HALVED = """
def f(x, xs):
    a = x * 1.0
    c = a
    for v in xs:
        if v > 0.3:
            c *= 0.5
    return a, c
"""
HALVED_IN_A_WHILE = """
def f(x, xs):
    a = x * 1.0
    c = a
    i = 0
    while i < len(xs):
        if xs[i] > 0.3:
            c *= 0.5
        i += 1
    return a, c
"""
MOVED = """
def f(x, xs):
    a = c = x
    for v in xs:
        if v < 0.0:
            a, c = c, c * 0.5 + v
    c += 1.0
    return a, x
"""
PREVIOUS = """
def f(x, xs):
    prev = x
    y = x
    for v in xs:
        if v < 0.0:
            break
        prev = y
        y = y * v
    prev += 1.0
    return x, y
"""
LAST_STEP = """
def f(x, xs):
    x0 = x * 1.0
    last = y = x0
    n = 0
    for v in xs:
        if v < 0.0:
            n += 1
            if n > 4:
                last[0] = 7.0
                break
            continue
        last = y
        y = y * v
    return x0, y
"""
WRITTEN_BY_ANOTHER = """
def f(x, xs):
    best = x
    w = x
    for v in xs:
        if v > 0.8:
            best = x + v
        if v < -0.8:
            w[:] = xs[:3]
    return best, w
"""
IN_A_DICTIONARY = """
def f(x, xs):
    a = x * 1.0
    b = a
    c = a
    held = {"w": b}
    def rows():
        for v in xs:
            yield v * 1.0
    for v in rows():
        if v > 0.3:
            a, c, b = c, b, b * 0.5 - v
        if v < -0.6:
            b[:] = b * 0.5
    return a + b + c, held["w"]
"""
APART_FROM_THE_FIRST_TURN = """
def f(x, xs):
    a = c = x
    for _ in range(3):
        for v in xs:
            c[0] = v
            if v < 0.0:
                a = c * 0.5 - v
    return a, c
"""
MADE_OF_NUMBERS = """
def f(x, xs):
    a = np.zeros(3)
    kept = b = a
    for v in xs:
        new = a * 0.5 + x
        if v > 0.3:
            a = new
    kept[1] = 2.0
    return a, b
"""
MADE_OF_NUMBERS_BEFORE_A_BREAK = """
def f(x, xs):
    a = kept = np.ones(3)
    for v in xs:
        if v < 0.3:
            break
        a = a * v
    kept[0] = x[0]
    return a, kept
"""
MADE_OF_NUMBERS_IN_A_DICTIONARY = """
def f(x, xs):
    a = np.ones(3)
    kept = {"k": a}
    for v in xs:
        if v > 0.3:
            a = a * v
    kept["k"][1] = 7.0
    return a * x, kept["k"]
"""
SEEN_THROUGH_A_VIEW = """
def f(x, xs):
    a = np.ones(3)
    first = a[:2]
    for v in xs:
        if v > 0.3:
            a = a * v
    first[1] = 7.0
    return a * x, first
"""
PROGRAMS = dict(
    halved=HALVED,
    halved_in_a_while=HALVED_IN_A_WHILE,
    moved=MOVED,
    previous=PREVIOUS,
    last_step=LAST_STEP,
    written_by_another=WRITTEN_BY_ANOTHER,
    in_a_dictionary=IN_A_DICTIONARY,
    apart_from_the_first_turn=APART_FROM_THE_FIRST_TURN,
    made_of_numbers=MADE_OF_NUMBERS,
    made_of_numbers_before_a_break=MADE_OF_NUMBERS_BEFORE_A_BREAK,
    made_of_numbers_in_a_dictionary=MADE_OF_NUMBERS_IN_A_DICTIONARY,
    seen_through_a_view=SEEN_THROUGH_A_VIEW,
)


def function(name: str, seed: int):
    """The function, with code of its own for each seed: what is known of loops is by code."""
    return function_of("\n" * seed + PROGRAMS[name], name)


def inputs(seed: int, count: int):
    """Few of the turns write; in some calls none, in others all."""
    rng = np.random.default_rng(seed)
    for _ in range(count):
        xs = rng.uniform(-1.0, 1.0, rng.integers(8, 12))
        kind = rng.integers(5)
        if kind < 3:
            xs = np.where(rng.random(len(xs)) < 0.25 * kind, xs, 0.1 * np.sign(rng.normal()))
        yield rng.normal(size=3), xs


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("name", PROGRAMS)
def test_results_and_arguments_are_those_of_the_function(name, seed):
    f = function(name, seed)
    compiled = tg.compile(f)
    for x, xs in inputs(seed, 8):
        mine, others = x.copy(), x.copy()
        assert_same_bits(compiled(mine, xs), f(others, xs))
        assert_same_bits(mine, others)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("name", PROGRAMS)
def test_gradients_are_those_of_the_tape(name, seed, monkeypatch):
    f = function(name, seed + 100)

    def loss(x, xs):
        a, c = f(x * 1.0, xs)
        return np.sum(a * a) + np.sum(np.sin(c))

    compiled = tg.value_and_grad(loss)
    got = [compiled(x, xs) for x, xs in inputs(seed, 6)]
    monkeypatch.setattr(tg.config, "compile", False)
    for (x, xs), result in zip(inputs(seed, 6), got, strict=True):
        assert_same_bits(result, tg.value_and_grad(loss)(x, xs))
