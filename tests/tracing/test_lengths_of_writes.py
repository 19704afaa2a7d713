"""What is written in place fits for other lengths, or raises as it does in NumPy.

A program that was made while an array had one element must not stretch what it is written to.
"""

from __future__ import annotations

import linecache
from itertools import product
from typing import Any

import numpy as np
import pytest

import tracegrad as tg

WRITTEN = {
    "ones": "np.ones((2, 1))",
    "empty": "np.ones((0, 1))",
    "argument": "x[:1] * 1.0",
    "column": "np.reshape(x[:1] * 1.0, (-1, 1))",
    "like": "np.zeros_like(x[1:])",
    "tail": "(x * 2.0)[1:]",
    "wide": "np.ones((2, 3))",
    "matrix": "np.outer(x[1:], x[1:])",
}
VALUES = ("x[1:]", "x[1:, None]", "x[: len(x) // 2]", "np.split(x, 2)[1]", "y", "y[1:]")
WRITES = (
    "w *= {}",
    "w -= {}",
    "w **= {}",
    "for _ in range(2): w += {}",
    "w[:1] *= {}",
    "w[w > 0] *= {}",
    "w[...] = {}",
    "w.ravel()[:] = {}",
    "w.flat = {}",
    "w.flat[:2] = {}",
    "w.flat[-1] = {}",
    "np.copyto(w, {})",
    "np.put(w, [0], {})",
    "np.place(w, w > 1.2, {})",
    "np.putmask(w, w > 0, {})",
    "np.add.at(w, 0, {})",
    "np.multiply(w, {}, out=w)",
    "np.multiply(w, 2.0, out=w, where={} > 1.2)",
    "np.exp({}, out=w, where={} > 1.2)",
    "np.sum({}, axis=0, out=w)",
    "np.clip({}, 0.0, 1.3, out=w)",
    "np.concatenate([{}], out=w)",
)
LENGTHS = ((2, 1), (4, 1), (4, 3), (2, 3), (2, 1))


def made(written: str, write: str) -> Any:
    text = f"def f(x, y):\n    w = {written}\n    {write}\n    return w\n"
    name = f"<{write} to {written}>"
    linecache.cache[name] = (len(text), None, text.splitlines(True), name)
    names: dict[str, Any] = {"np": np}
    exec(compile(text, name, "exec"), names)
    return names["f"]


def outcome(function: Any, n: int, m: int) -> Any:
    """Shape and bits of the result, or that it raises for a reason of shapes."""
    try:
        found = function(np.linspace(1.0, 2.0, n), np.linspace(1.0, 2.0, m))
    except (ValueError, IndexError):
        return "raises"
    return found.shape, found.tobytes()


@pytest.mark.parametrize("write", WRITES)
def test_what_does_not_fit_raises_for_other_lengths(write, few):
    for written, value in few([*product(WRITTEN.values(), VALUES)], 8):
        f = made(written, write.replace("{}", value))
        g = tg.compile(f)
        for n, m in LENGTHS:
            assert outcome(g, n, m) == outcome(f, n, m), (written, value, n, m)


def test_a_mask_alone_is_traced():
    def f(x, mask):
        w = np.ones(3)
        np.multiply(w, 2.0, out=w, where=mask)
        return np.sum(w * x)

    x, mask = np.array([1.0, 2.0, 3.0]), np.array([True, False, True])
    for transform in (tg.value_and_grad(f), tg.value_and_grad(f, backend="jax")):
        for now in (mask, ~mask):
            value, x_bar = transform(x, now)
            assert value == f(x, now)
            np.testing.assert_array_equal(x_bar, np.where(now, 2.0, 1.0))
    written = np.ones(3)
    np.multiply(written, 2.0, out=written, where=tg.tensor(mask))
    np.testing.assert_array_equal(written, [2.0, 1.0, 2.0])
