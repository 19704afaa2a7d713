"""Functions of `math` raise in a call of a program what they raise plainly, wherever they stand."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracegrad as tg

BAD: dict[str, tuple[Callable[[Any], Any], float, float]] = {
    "sqrt": (math.sqrt, 2.0, -1.0),
    "log": (math.log, 2.0, 0.0),
    "log_negative": (math.log, 2.0, -1.0),
    "log_of_base": (lambda v: math.log(v, 3.0), 2.0, -1.0),
    "log1p": (math.log1p, 2.0, -1.0),
    "log2": (math.log2, 2.0, 0.0),
    "log10": (math.log10, 2.0, 0.0),
    "exp": (math.exp, 2.0, 1e4),
    "expm1": (math.expm1, 2.0, 1e4),
    "cosh": (math.cosh, 2.0, 1e4),
    "sinh": (math.sinh, 2.0, -1e4),
    "sin": (math.sin, 2.0, math.inf),
    "tan": (math.tan, 2.0, -math.inf),
    "acos": (math.acos, 0.5, 2.0),
    "asin": (math.asin, 0.5, -2.0),
    "acosh": (math.acosh, 2.0, 0.5),
    "atanh": (math.atanh, 0.5, 1.0),
    "pow": (lambda v: math.pow(v, -2.0), 2.0, 0.0),
    "pow_negative": (lambda v: math.pow(v, 0.5), 2.0, -4.0),
    "fmod": (lambda v: math.fmod(1.0, v), 2.0, 0.0),
}


def raised(function: Callable[..., Any], *args: Any) -> tuple[type, str] | None:
    """What a call raises."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        try:
            function(*args)
        except (ValueError, ArithmeticError) as error:
            return type(error), str(error)
    return None


@pytest.mark.parametrize("name", BAD)
def test_a_program_raises(name):
    function, good, bad = BAD[name]

    def f(x):
        return x * function(x[0])

    compiled = tg.compile(f)
    for value in (good, good, bad, good, bad, math.nan):
        x = np.array([value, 1.0])
        assert raised(compiled, x) == raised(f, x)
        if raised(f, x) is None:
            assert np.allclose(compiled(x), f(x), rtol=1e-14, equal_nan=True)
    assert compiled.cache_info().traces == 1


def in_a_loop(x):
    total = 0.0
    for i in range(len(x)):
        total = total + math.exp(-x[i]) * math.sqrt(x[i])
    return total


@pytest.mark.parametrize("transform", [tg.compile, tg.grad, tg.value_and_grad])
@pytest.mark.parametrize("first", [False, True])
def test_in_a_loop(transform, first):
    """Also in turns that no call ran in Python."""
    function, x = transform(in_a_loop), np.linspace(0.1, 1.0, 40)
    x[30] = -1.0 if first else 1.0
    for value in (x[30], -1.0, 1.0):
        x[30] = value
        assert raised(function, x) == raised(in_a_loop, x)
    x[30] = 1.0
    function(x)
    assert "for i in range(" in str(function.source())


def test_on_tensors():
    compiled = tg.compile(lambda v: math.log(v) * 2)
    for value in (2.0, -1.0, 0.0, 2.0):
        given = tg.tensor(value, requires_grad=True)
        assert raised(compiled, given) == raised(math.log, value)


def test_what_is_caught():
    def f(x):
        try:
            return x * math.log(x[0])
        except ValueError:
            return x * 0.0 - 7.0

    compiled = tg.compile(f)
    for value in (2.0, 3.0, 0.0, -1.0, 4.0):
        x = np.array([value, 1.0])
        assert np.array_equal(compiled(x), f(x))


def test_what_was_written_before():
    """A call that raises has done what it did up to there, once."""
    kept = np.zeros(3)

    def f(x):
        kept[0] += x[0]
        kept[1] = math.sqrt(x[1])
        kept[2] += 1.0
        return x.sum()

    compiled, x = tg.compile(f), np.ones(3)
    compiled(x)
    compiled(x)
    x[1] = -1.0
    assert raised(compiled, x) is not None
    assert kept.tolist() == [3.0, 1.0, 2.0]


def test_under_vmap():
    mapped = tg.vmap(lambda v: math.exp(v))
    assert np.array_equal(mapped(np.ones(4)), np.exp(np.ones(4)))
    assert raised(mapped, np.array([1.0, 1e4])) == (OverflowError, "math range error")


def test_numpy_itself_warns():
    """Without `math` a program is what it was: NumPy warns."""
    compiled = tg.compile(lambda x: np.log(x[0]) * x)
    with pytest.warns(RuntimeWarning):
        compiled(np.zeros(2))
    with pytest.warns(RuntimeWarning):
        compiled(np.zeros(2))
