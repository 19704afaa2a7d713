"""A Tensor enters; what gives and takes its elements one after the other leaves: ``x.flat``."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from tracegrad.dispatch import shape_of
from tracegrad.ops.elementwise import copy as copy_of
from tracegrad.ops.indexing import getitem, setitem
from tracegrad.ops.shape import ravel, reshape_to


class Flat:
    """The elements of a Tensor, row after row, as a vector that is read and written by index."""

    __slots__ = ("base",)

    def __init__(self, base: Any) -> None:
        self.base = base

    def __len__(self) -> int:
        return int(self.base.size)

    def __iter__(self) -> Iterator[Any]:
        return iter(ravel(self.base))

    def __getitem__(self, key: Any) -> Any:
        return getitem(ravel(self.base), key)

    def __setitem__(self, key: Any, value: Any) -> None:
        written = setitem(ravel(self.base), key, value)
        self.base[...] = reshape_to(written, shape=shape_of(self.base))

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        return np.ravel(self.base.__array__(dtype, copy))

    def copy(self) -> Any:
        """The elements as a vector."""
        return copy_of(ravel(self.base))
