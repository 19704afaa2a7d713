"""Numbers of an eager function that its inner functions close over: each call has its own.

They are Tensors without axes, which the inner program reads anew however they are used in it.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracegrad as tg

NUMBERS: dict[str, Callable[[Any, float], Any]] = {
    "a sum": lambda x, t: x.sum(),
    "an element": lambda x, t: x[0],
    "a float": lambda x, t: t,
    "of a float": lambda x, t: t * 2.0,
    "float32": lambda x, t: x.astype("f4").sum(),
}
USES: dict[str, Callable[[Any, Any], Any]] = {
    "product": lambda c, z: (2.0 * c * np.sin(z)).sum(),
    "sum": lambda c, z: ((c + c) * z).sum(),
    "power": lambda c, z: (c**2 * z).sum(),
    "function": lambda c, z: (np.exp(c * 0.1) * z * z).sum(),
    "look": lambda c, z: (z * z).sum() if c > 5.0 else z.sum(),
    "whole": lambda c, z: (int(c) * z * z).sum(),
    "builtin": lambda c, z: (sum([c, c]) * max(c, 3.0) * z).sum(),
    "array": lambda c, z: (np.array([c, c]) * z).sum(),
    "math": lambda c, z: (math.sqrt(c) * z).sum(),
}
TRANSFORMS: dict[str, Callable[[Any, Any], Any]] = {
    "compile": lambda f, x: tg.compile(f)(x),
    "grad": lambda f, x: tg.grad(f)(x),
    "value_and_grad": lambda f, x: tg.value_and_grad(f)(x)[0],
    "jacobian": lambda f, x: tg.jacobian(lambda z: f(z) * z)(x),
    "jvp": lambda f, x: tg.jvp(f, (x,), (x,))[1],
    "vjp": lambda f, x: tg.vjp(f, x)[0],
}


@pytest.mark.parametrize("number", NUMBERS)
@pytest.mark.parametrize("transform", TRANSFORMS)
def test_each_call_has_its_own(number, transform, monkeypatch):
    for name, use in USES.items():

        def outer(x, t, use=use):
            time.perf_counter()  # it runs eagerly
            c = NUMBERS[number](x, t)
            return TRANSFORMS[transform](lambda z: use(c, z), x)

        compiled = tg.compile(outer)
        for turn in range(6):
            x, t = np.array([1.3, 2.2]) + turn, 1.5 + turn
            found = compiled(x, t)
            with monkeypatch.context() as eagerly:
                eagerly.setattr(tg.config, "compile", False)
                expected = compiled(x, t)
            assert np.allclose(found, expected, rtol=1e-6), (name, turn)


def test_of_a_tensor_without_any_decorator():
    for turn in range(6):
        x = np.array([0.3, 0.2]) + turn
        c = tg.tensor(x).sum()
        found = tg.grad(lambda z, c=c: (2.0 * c * np.sin(z)).sum())(x)
        assert np.allclose(found, 2.0 * x.sum() * np.cos(x))
    for turn in range(6):
        c = tg.tensor(1.0 + turn)
        found = tg.grad(lambda z, c=c: (z * (c + 1.0)).sum())(np.ones(2))
        assert np.allclose(found, 2.0 + turn)
