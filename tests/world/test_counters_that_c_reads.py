"""Loops in which C code reads the counter: each turn gets its number, and not that of the first."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import tracegrad as tg

ROWS = np.arange(20.0)
READ = {
    "arange": lambda i: np.arange(i + 1),
    "arange of two": lambda i: np.arange(1, i + 2),
    "arange with steps": lambda i: np.arange(i, -1, -1),
    "arange of floats": lambda i: np.arange(i * 0.5),
    "arange by name": lambda i: np.arange(stop=i + 1),
    "repeat": lambda i: np.repeat(1.0, i + 1),
    "repeat an array": lambda i: np.repeat(ROWS[:2], i),
    "resize": lambda i: np.resize(ROWS[:3], i + 1),
    "roll": lambda i: np.roll(ROWS[:5], i) * ROWS[:5],
    "window": lambda i: np.hanning(i + 2),
    "Gauss-Legendre": lambda i: np.polynomial.legendre.leggauss(i + 1)[1],
    "Chebyshev": lambda i: np.polynomial.chebyshev.chebval(0.3, [0] * i + [1]),
    "pad": lambda i: np.pad(ROWS[:2], i, mode="edge"),
    "generator": lambda i: np.random.default_rng(i).normal(),
    "list": lambda i: len([0] * i),
    "list from the right": lambda i: len(i * [1, 2]),
    "tuple": lambda i: sum((1, i) * i),
    "mean of a list": lambda i: np.mean([2.0] * i + [1.0]),
    "text": lambda i: len("ab" * i),
    "mgrid": lambda i: np.mgrid[0 : i + 1],
}


def quiet(f, *args):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return f(*args)


def in_a_loop(read, down):
    def f(u):
        s = 0.0
        for i in range(11, -1, -1) if down else range(12):
            s = s + np.sum(u * read(i))
        return s

    return f


@pytest.mark.parametrize("down", [False, True], ids=["up", "down"])
@pytest.mark.parametrize("name", READ)
def test_of_each_turn(name, down):
    f = in_a_loop(READ[name], down)
    compiled, slope = tg.compile(f), tg.value_and_grad(f)
    for u in (1.25, -0.5, 2.0):
        assert quiet(compiled, u) == f(u)
        value, found = quiet(slope, u)
        assert value == f(u)
        assert found == pytest.approx(f(1.0))


@pytest.mark.parametrize("name", ["arange", "repeat", "resize", "list", "Chebyshev"])
def test_such_a_loop_is_unrolled(name):
    """The counter is a number of Python's in each turn: the function compiles."""
    compiled = tg.compile(in_a_loop(READ[name], False))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for u in (1.25, -0.5, 2.0):
            compiled(u)
    assert compiled.cache_info().hits == 2


def repeated_in_place(x):
    n = 0.0
    for i in range(10):
        items, times = [1.0], i
        items *= i
        times *= [1, 2]
        n = n + x[0] * len(items) + len(times)
    return n


def counted_in_a_while(x):
    k = 0
    while k < 12:
        k += 1
    return x * len([0, 1] * k)


def by_argmax(x):
    return x * len([0] * np.argmax(x)) + len(np.argmax(x) * (0, 1))


@pytest.mark.parametrize("compiles", [True, False], ids=["compiled", "eager"])
@pytest.mark.parametrize("f", [repeated_in_place, counted_in_a_while, by_argmax])
def test_lists_are_repeated(f, compiles, monkeypatch):
    monkeypatch.setattr(tg.config, "compile", compiles)
    compiled = tg.compile(f)
    for x in (np.array([1.0, 3.0]), np.array([3.0, 1.0]), np.array([1.0, 4.0])):
        assert np.array_equal(quiet(compiled, x), f(x))
