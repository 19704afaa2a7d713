"""The elements of a Tensor one after the other: ``x.flat``."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from tracegrad.errors import ShapeError
from tracegrad.ops.arguments import as_array
from tracegrad.ops.elementwise.ufuncs import copy as copy_of
from tracegrad.ops.shape.grids_and_blocks import resize
from tracegrad.ops.shape.indexing import getitem, setitem
from tracegrad.ops.shape.reshaping import length_of, ravel, reshape_to
from tracegrad.values.dispatch import ndim_of, shape_of


class Flat:
    """The elements of a Tensor, row after row, as a vector that is read and written by index."""

    __slots__ = ("base",)

    def __init__(self, base: Any) -> None:
        self.base = base

    def __len__(self) -> int:
        return int(self.base.size)

    def __iter__(self) -> Iterator[Any]:
        flat = ravel(self.base)
        if flat is self.base or flat._view is not None:
            return iter(flat)
        places = np.ndindex(tuple(self.base.shape))  # a copy would not show later writes
        return (getitem(self.base, place) for place in places)

    def __getitem__(self, key: Any) -> Any:
        found = getitem(ravel(self.base), key)
        is_view = found._view is not None and found.ndim
        return copy_of(found) if is_view else found  # NumPy gives a slice memory of its own

    def __setitem__(self, key: Any, value: Any) -> None:
        """Writes the elements of `value`, row after row and from the start again."""
        flat, value = ravel(self.base), as_array(value)
        if ndim_of(value):
            place = getitem(flat, key)
            if not ndim_of(place):
                raise ShapeError("one element of `flat` takes one number")
            if shape_of(place) != shape_of(value):
                if not all(length_of(value, axis) for axis in range(ndim_of(value))):
                    return
                value = resize(value, (length_of(place, 0),))
        written = setitem(flat, key, value)
        self.base[...] = reshape_to(written, shape=shape_of(self.base))

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        return np.ravel(self.base.__array__(dtype, copy))

    def copy(self) -> Any:
        """The elements as a vector."""
        return copy_of(ravel(self.base))


class Elements(Flat):
    """The same with a place where a loop stands, as NumPy's `flatiter` has one."""

    __slots__ = ("index",)

    def __init__(self, base: Any, index: int) -> None:
        super().__init__(base)
        self.index = index

    @property
    def coords(self) -> tuple[int, ...]:
        """The place in the array; the first again where the loop is over."""
        place = self.index % max(len(self), 1)
        return tuple(map(int, np.unravel_index(place, self.base.shape)))

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        if self.index >= len(self):
            raise StopIteration
        self.index += 1
        return self[self.index - 1]
