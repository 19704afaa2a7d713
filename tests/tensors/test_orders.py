"""Calls with ``order=`` enter: elements come in NumPy's order, and views are where NumPy has them.

A function is called with arrays in each layout, in either succession, as a whole and beside its
gradient; what it writes through a reshaped result shows where it does in NumPy.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest

import tracegrad as tg

MAKERS = [
    *[f"x.{name}(order={order!r})" for name in ("ravel", "flatten", "copy") for order in "CFA"],
    *[f"np.ravel(x, {order!r})" for order in "CFA"],
    *[f"x.reshape(3, 2, order={order!r})" for order in "CFA"],
    *[f"np.reshape(x, -1, order={order!r})" for order in "CFA"],
    *[f"(x * 2).T.ravel({order!r})" for order in "CFA"],
    *[f"np.asfortranarray(x.copy()).ravel({order!r})" for order in "CFA"],
    *[
        f"np.{name}_like(x, order={order!r})"
        for name in ("zeros", "ones", "empty")
        for order in "CFAK"
    ],
    *[f"np.full_like(x, 3.0, order={order!r})" for order in "CFAK"],
    *[f"np.copy(x, order={order!r})" for order in "CFAK"],
    *[f"x.astype(float, order={order!r})" for order in "CFAK"],
    *[f"np.multiply(x, 2.0, order={order!r})" for order in "CFAK"],
    *[f"np.exp(x, order={order!r})" for order in "CFAK"],
    *[f"np.einsum('ij,ij->ij', x, x * 1.0, order={order!r})" for order in "CFA"],
    *[f"np.array(x, order={order!r})" for order in "CFAK"],
]

LAYOUTS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "rows": np.ascontiguousarray,
    "columns": np.asfortranarray,
    "strided": lambda x: np.repeat(x, 2, axis=1)[:, ::2],
}


def _function(maker: str) -> Callable[..., Any]:
    scope: dict[str, Any] = {"np": np}
    fill = "    y = np.zeros_like(y)\n" if "empty" in maker else ""
    text = (
        f"def f(x):\n    x = x * 1.0\n    y = {maker}\n"
        f"{fill}    w = y.ravel()\n    w[:2] = 0.5\n"
        "    v = x.reshape(-1)\n    v[2:4] *= 3.0\n"
        "    return np.sum(np.sin(y) * np.arange(1.0, 7.0).reshape(y.shape)) + np.sum(x * x)"
    )
    exec(text, scope)
    return scope["f"]


@contextmanager
def _eager() -> Iterator[None]:
    tg.config.compile = False
    try:
        yield
    finally:
        tg.config.compile = True


@pytest.mark.sampled(3)
@pytest.mark.parametrize("maker", MAKERS)
def test_orders_are_those_of_numpy(maker: str) -> None:
    f, x = _function(maker), np.arange(6.0).reshape(2, 3) / 5.0
    jax = tg.compile(f, backend="jax")  # which knows of no orders
    for first in LAYOUTS:
        compiled, derived = tg.compile(f), tg.value_and_grad(f)
        for layout in (first, *LAYOUTS):
            given = LAYOUTS[layout](x)
            expected = f(given)
            assert compiled(given) == expected, layout
            value, gradient = derived(given)
            assert value == expected, layout
            np.testing.assert_allclose(jax(given), expected, rtol=1e-14)
            with _eager():
                assert tg.compile(f)(given) == expected, layout
            np.testing.assert_allclose(gradient, _differences(f, given), atol=1e-6)


def _differences(f: Callable[..., Any], x: np.ndarray) -> np.ndarray:
    found = np.zeros(x.shape)
    for place in np.ndindex(*x.shape):
        ends = []
        for step in (1e-6, -1e-6):
            moved = x.copy("K")
            moved[place] += step
            ends.append(f(moved))
        found[place] = (ends[0] - ends[1]) / 2e-6
    return found
