"""Transforms made anew of functions that `exec` has made in a namespace without ``__name__``."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tracegrad as tg
from tracegrad.transforms import made_again

TEXT = """
def closure(c):
    return lambda x: c * x**2
def within(c):
    def power(x):
        return c * x**2
    def f(x):
        return power(x)
    return f
"""


@pytest.fixture(autouse=True)
def at_once(monkeypatch):
    """The first one that nobody holds any more is handed out again."""
    monkeypatch.setattr(made_again, "FEW", 0)


@pytest.mark.parametrize("compiles", [True, False], ids=["compiled", "eager"])
@pytest.mark.parametrize("names", [{}, {"__name__": None}, {"__name__": 3}], ids=str)
@pytest.mark.parametrize("made", ["closure", "within"])
def test_closures_of_such_a_namespace(made, names, compiles, monkeypatch):
    monkeypatch.setattr(tg.config, "compile", compiles)
    scope: dict[str, Any] = dict(names)
    exec(TEXT, scope)
    for c in (1.0, 2.0, 3.0):
        assert tg.grad(scope[made](c))(3.0) == 6.0 * c
        assert tg.compile(scope[made](c))(3.0) == 9.0 * c
        assert tg.value_and_grad(scope[made](np.float64(c)))(3.0) == (9.0 * c, 6.0 * c)
        assert tg.grad(tg.grad(scope[made](c)))(3.0) == 2.0 * c
