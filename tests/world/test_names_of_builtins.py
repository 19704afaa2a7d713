"""Methods and attributes with the name of a builtin that runs code, or stops in a debugger."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import tracegrad as tg


class Polynomial:
    def __init__(self) -> None:
        self.coefficients = np.array([1.0, 2.0, 3.0])
        self.training = True

    def eval(self, x: Any) -> Any:
        c = self.coefficients
        return c[0] + c[1] * x + c[2] * x**2

    def exec(self) -> None:
        self.training = False

    def breakpoint(self, x: Any) -> Any:
        return x * 2

    def __call__(self, x: Any) -> Any:
        return self.eval(x)


class Held:
    def __init__(self) -> None:
        self.eval, self.exec, self.breakpoint = 3.0, 2.0, 1.0


model, held = Polynomial(), Held()


def by_method(x: Any) -> Any:
    return np.sum(model.eval(x) + model.breakpoint(x))


def by_call(x: Any) -> Any:
    return np.sum(model(x))


def by_class(x: Any) -> Any:
    return np.sum(Polynomial.eval(model, x))


def by_attribute(x: Any) -> Any:
    held.exec = held.exec + 1.0
    return np.sum(x * held.eval + held.breakpoint)


def by_mode(x: Any) -> Any:
    model.exec()
    return np.sum(x * x) * (2 if model.training else 1)


@pytest.mark.parametrize("function", [by_method, by_call, by_class, by_attribute, by_mode])
def test_functions_are_compiled(function: Any) -> None:
    gradient = tg.grad(function)
    x = np.array([1.0, 2.0])
    expected = gradient(x)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for _ in range(3):
            np.testing.assert_array_equal(gradient(x), expected)
    assert gradient.cache_info().hits == 3


def made(x: Any) -> Any:
    return eval("x * 2")


def test_the_builtin_is_named_where_a_helper_calls_it() -> None:
    gradient = tg.grad(lambda x: np.sum(made(x)))
    with pytest.warns(tg.errors.RecompileWarning, match="made names 'eval', which runs code"):
        for k in range(3):
            np.testing.assert_array_equal(gradient(np.ones(2) * k), [2.0, 2.0])
