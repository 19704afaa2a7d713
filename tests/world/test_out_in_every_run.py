"""``out=`` of functions and methods writes to the caller's array, with a program and without one.

So do writes to a view that goes backwards, and to what a program has left in its place.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import tracegrad as tg

STATEMENTS = [
    "np.dot(s.m, x, out=s.h); r = s.h.sum()",
    "np.cumsum(x * 2, out=s.h); r = s.h[1]",
    "w = np.empty(2); np.cumsum(x, out=w); r = w[1]",
    "np.stack([x[0], x[1]], out=s.h); r = s.h.sum()",
    "np.round(x * 10, out=s.h); r = s.h.sum()",
    "np.take(x, np.array([1, 0]), out=s.h); r = s.h[0]",
    "np.sum(s.m * x, axis=0, out=s.h); r = s.h.sum()",
    "np.clip(x, 0, 1, out=s.h); r = s.h.sum()",
    "np.dot(np.ones((2, 2)), np.ones(2), out=s.h); r = (s.h * x).sum()",
    "np.multiply(x, 2, out=s.h); r = s.h.sum()",
    "np.mean(s.m, axis=0, out=s.h); r = (s.h * x).sum()",
    "x.cumsum(out=s.h); r = s.h[1]",
    "x.clip(0, 1, out=s.h); r = s.h.sum()",
    "y = x * 1.0; y.sum(axis=0, out=s.n); r = s.n * 2.0",
    "(s.m * x).mean(axis=1, out=s.h); r = s.h @ x",
    "s.h += x; s.h = s.h[::-1]; r = (s.h * x).sum()",
    "s.h[::-1][0] = x[0]; r = (s.h * x).sum()",
    "s.m[::-1, ::-1][0] += x; r = s.m.sum()",
    "s.m.T[0] += x; r = s.m.sum()",
]


def _value_of(g: Any) -> Callable[[Any], Any]:
    return lambda x: g(x)[0]


TRANSFORMS: dict[str, Callable[[Any], Any]] = {
    "compile": tg.compile,
    "grad": lambda f: _value_of(tg.value_and_grad(f)),
}


def state() -> SimpleNamespace:
    return SimpleNamespace(h=np.zeros(2), m=np.arange(4.0).reshape(2, 2) + 1, n=np.zeros(()))


@pytest.mark.parametrize("begins", ["pass", "time.time()"], ids=["with a program", "without"])
@pytest.mark.parametrize("transform", TRANSFORMS)
@pytest.mark.parametrize("statement", STATEMENTS)
@pytest.mark.filterwarnings("ignore::tracegrad.errors.RecompileWarning")
def test_values_and_arrays_are_those_of_numpy(statement: str, transform: str, begins: str) -> None:
    mine, others = state(), state()
    made = []
    for s in (mine, others):
        scope: dict[str, Any] = {"np": np, "time": time, "s": s}
        exec(f"def f(x):\n    {begins}\n    {statement}\n    return r\n", scope)
        made.append(scope["f"])
    f, g = made[1], TRANSFORMS[transform](made[0])
    for k in range(4):
        x = np.array([0.5, 1.5]) * (k + 1)
        assert np.isclose(g(x.copy()), f(x.copy()), rtol=1e-14)
        for name in ("h", "m", "n"):
            assert type(getattr(mine, name)) is np.ndarray
            assert np.array_equal(getattr(mine, name), getattr(others, name))
