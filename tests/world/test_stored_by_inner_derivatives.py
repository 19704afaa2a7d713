"""What the function of an inner derivative stores outside, where the outer one runs eagerly.

The caller, who gave arrays, finds arrays and numbers.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracegrad as tg

pytestmark = pytest.mark.filterwarnings("ignore::tracegrad.errors.RecompileWarning")


def pulled(f: Callable[[Any], Any], x: Any) -> Any:
    value, pull = tg.vjp(f, x)
    return value, pull(1.0)[0]


INNER: dict[str, Callable[[Any, Any], Any]] = {
    "value_and_grad": lambda f, x: tg.value_and_grad(f)(x),
    "vjp": pulled,
    "vjp of value_and_grad": lambda f, x: pulled(lambda y: tg.value_and_grad(f)(y)[0], x),
    "value_and_grad of vjp": lambda f, x: tg.value_and_grad(lambda y: tg.vjp(f, y)[0])(x),
    "jvp": lambda f, x: tg.jvp(f, (x,), (x,)),
    "linearize": lambda f, x: (tg.linearize(f, x)[0], x),
}
OUTER: dict[str, Any] = {
    "compile": tg.compile,
    "value_and_grad": tg.value_and_grad,
    "vjp": lambda f: lambda x: tg.vjp(f, x),
}


@pytest.mark.parametrize("inner", INNER)
@pytest.mark.parametrize("outer", OUTER)
@pytest.mark.parametrize("compiled", [True, False])
def test_they_are_arrays_and_numbers(inner, outer, compiled, monkeypatch):
    monkeypatch.setattr(tg.config, "compile", compiled)
    kept: dict[str, Any] = {"log": []}

    def loss(x):
        s = (x * x).sum()
        kept["log"].append(s)
        kept["twice"] = x * 2.0
        kept["of"] = {"s": s}
        return s

    def f(x):
        os.getcwd()  # which runs eagerly
        value, gradient = INNER[inner](loss, x)
        kept["log"].append(value)
        kept["gradient"] = gradient
        return np.sum(gradient)

    call = OUTER[outer](f)
    for i in range(3):
        kept["log"].clear()
        call(np.arange(3.0) + i)
        assert {*map(type, kept["log"])} == {np.float64}
        assert type(kept["of"]["s"]) is np.float64
        assert type(kept["twice"]) is np.ndarray
        assert type(kept["gradient"]) is (np.float64 if inner == "jvp" else np.ndarray)


def test_what_depends_on_a_tensor_from_outside_keeps_its_history():
    w, kept = tg.ones(2, requires_grad=True), []

    def loss(x):
        kept.append((x * w).sum())
        kept.append((x * x).sum())
        return (x * x).sum()

    @tg.compile
    def f(x):
        os.getcwd()
        return tg.vjp(loss, x)[1](1.0)[0].sum()

    f(np.arange(2.0))
    assert kept[0].requires_grad
    assert type(kept[1]) is np.float64
    kept[0].backward()
    assert w.grad.tolist() == [0.0, 1.0]
