"""Tells rules that are linear maps from others, by what they give for two arguments.

A linear map gives for a multiple of its argument that multiple. For a power of two it does so to
the last bit, however it rounds: nothing but exponents changes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

FAR = -(2.0**20)
"""A multiple, of another sign and size: neither halves nor limits are linear."""

_CLOSE = 1e-3  # what iterates until it is close may round otherwise


def probe(shape: Any, dtype: Any) -> Any:
    """An argument to try a rule on: small numbers, no two of them the same."""
    count = int(np.prod(shape, dtype=int))
    steps = (np.arange(1, count + 1) * 0.6180339887498949) % 1.0
    numbers: Any = (0.5 + steps) * 2.0**-10
    if np.issubdtype(dtype, np.complexfloating):
        numbers = numbers * (1.0 + 0.5j)
    return numbers.astype(dtype).reshape(shape)[()]


def is_linear(near: Sequence[Any], far: Sequence[Any]) -> bool:
    """Whether the `far` results are `FAR` times the others, where they are numbers at all."""
    return all(map(_is_multiple, near, far))


def _is_multiple(near: Any, far: Any) -> bool:
    near, far = np.asarray(near), np.asarray(far)
    if near.shape != far.shape:
        return False
    if near.dtype.kind not in "fc":
        near, far = near.astype(np.float64), far.astype(np.float64)
    with np.errstate(all="ignore"):
        scaled = FAR * near
        finite = np.isfinite(scaled) & np.isfinite(far)
        size = np.max(np.abs(far), where=finite, initial=0.0)
        size = max(size, np.max(np.abs(scaled), where=finite, initial=0.0))
        smallest = -FAR * float(np.finfo(near.dtype).tiny)
        return bool(np.all(np.abs(far - scaled)[finite] <= _CLOSE * size + smallest))
