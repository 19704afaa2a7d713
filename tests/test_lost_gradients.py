"""Functions that make floats of Tensors enter: a warning leaves where a gradient is lost by it."""

from __future__ import annotations

import cmath
import math
import warnings
from math import sin as sine
from typing import Any

import numpy as np
import pytest

import tracegrad as tg
from tracegrad import lost
from tracegrad.errors import LostGradientWarning

X, Y = np.array([0.5, 2.0]), np.array([3.0, 4.0])


@pytest.fixture(autouse=True)
def nothing_said():
    lost._SAID.clear()
    lost.READ.clear()


def by_math(x, y):
    return np.sum(math.sin(x[0]) * y)


def by_name(x, y):
    return np.sum(y * sine(x[0]))


def by_cmath(x, y):
    return np.sum(y * cmath.exp(x[0]).real)


def by_float(x, y):
    scale = float(x[0])
    return np.sum(scale * y)


def on_the_right(x, y):
    return np.sum(y / float(x[1]))


def in_a_call(x, y):
    return np.sum(np.multiply(y, float(x[0])))


LOSING = [by_math, by_name, by_cmath, by_float, on_the_right, in_a_call]


def decided(x, y):
    if float(x[0]) > 0.0 and math.isfinite(x[1]) and not math.isnan(x[0]):
        return np.sum(x * y)
    return np.sum(y)


def shown(x, y):
    text = f"{float(x[0]):.2f} {round(float(x[1]), 2)} {math.floor(x[1])}"
    return np.sum(x * y) if len(text) < 99 else np.sum(y)


def compared(x, y):
    return np.sum(np.where(y > float(x[0]), x, y))


def asked_for(x, y):
    return np.sum(x[0].item() * y) + np.sum(float(tg.stop_gradient(x[1])) * y)


def an_equal_number(x, y):
    return np.sum(x * 0.5 * y) if float(x[0]) == 0.5 else np.sum(x)


SILENT = [decided, shown, compared, asked_for, an_equal_number]


def calls(f: Any, argnums: Any) -> None:
    for _ in range(2):
        tg.value_and_grad(f, argnums)(X, Y)


@pytest.mark.parametrize("f", LOSING, ids=lambda f: f.__name__)
def test_a_gradient_that_is_lost_is_told_once_with_its_line(f: Any) -> None:
    with pytest.warns(LostGradientWarning, match=r"no gradient flows") as found:
        calls(f, (0, 1))
        f(tg.tensor(X, requires_grad=True), tg.tensor(Y))
    assert len(found) == 1
    assert found[0].filename == __file__
    first = f.__code__.co_firstlineno
    assert first < found[0].lineno <= first + 2
    assert f"{__file__}:{found[0].lineno}" in str(found[0].message)


@pytest.mark.parametrize("f", LOSING, ids=lambda f: f.__name__)
def test_eagerly_too(f: Any) -> None:
    for y in (Y, tg.tensor(Y), tg.tensor(Y, requires_grad=True)):
        lost._SAID.clear()
        if f in (by_math, by_name, by_cmath) or isinstance(y, tg.Tensor):
            with pytest.warns(LostGradientWarning):
                f(tg.tensor(X, requires_grad=True), y)


@pytest.mark.parametrize("f", SILENT, ids=lambda f: f.__name__)
def test_what_decides_or_is_shown_says_nothing(f: Any) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        calls(f, (0, 1))
        f(tg.tensor(X, requires_grad=True), tg.tensor(Y, requires_grad=True)).backward()


@pytest.mark.parametrize("f", LOSING, ids=lambda f: f.__name__)
def test_without_a_gradient_nothing_is_lost(f: Any) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        calls(f, 1)
        tg.compile(f)(X, Y)
        f(tg.tensor(X), tg.tensor(Y, requires_grad=True)).backward()
        with tg.no_grad():
            f(tg.tensor(X, requires_grad=True), tg.tensor(Y))


def test_the_message_names_what_to_write() -> None:
    with pytest.warns(
        LostGradientWarning, match=r"math\.sin computes .* Write np\.sin; or x\.item"
    ):
        tg.grad(by_math)(X, Y)
