"""The places of an index that may name one twice, as ``np.maximum.at`` goes through them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from tracegrad.errors import TracegradError
from tracegrad.runtime.thread_state import STATE
from tracegrad.tape.foreign_arrays import plain
from tracegrad.tensors.devices import in_numpy
from tracegrad.tensors.tensor import Tensor
from tracegrad.user_code.program_points import at_line


class RepeatedPlaces:
    """An index of an array of these lengths, in groups that name no place twice.

    What picks places one by one (arrays, masks, ints beside them) is broadcast together, and gives
    axes of ``x[index]`` that lie next to each other, behind `before` others.
    """

    def __init__(self, index: Any, lengths: tuple[int, ...], function: str) -> None:
        items: list[Any] = []
        for item in index if isinstance(index, tuple) else (index,):
            if item is None or item is Ellipsis or isinstance(item, slice):
                items.append(item)
            else:
                array = _numbers_of(item, function)
                of_axes = array.dtype == bool and array.ndim
                items += array.nonzero() if of_axes else (array,)
        self.items = items
        self.shape = np.broadcast_to(False, lengths)[tuple(items)].shape
        picking = [i for i, item in enumerate(items) if isinstance(item, np.ndarray)]
        self.at = [i for i in picking if items[i].dtype != bool]
        # A mask without axes is of none: all places, or none of them.
        masks = [np.zeros(int(items[i])) for i in picking if items[i].dtype == bool]
        arrays = np.broadcast_arrays(*[items[i] for i in self.at], *masks)
        self.axes: tuple[int, ...] = arrays[0].shape
        self.arrays = [array.ravel() for array in arrays[: len(self.at)]]

        taken = [int(i in self.at or isinstance(item, slice)) for i, item in enumerate(items)]
        rest = len(lengths) - sum(taken)
        taken = [rest if item is Ellipsis else n for item, n in zip(items, taken, strict=True)]
        together = picking[-1] - picking[0] < len(picking)
        first = picking[0] if together else 0
        self.before = sum(taken[:first]) + items[:first].count(None)
        over = [lengths[sum(taken[:i])] for i in self.at]
        inside = [array % length for array, length in zip(self.arrays, over, strict=True)]
        self.named = np.ravel_multi_index(inside, over)

    def groups(self) -> Iterator[tuple[Any, Any]]:
        """Indices of the array and of what is there: first namings, second ones, ..."""
        order = np.argsort(self.named, kind="stable")
        starts = np.searchsorted(self.named[order], self.named[order])
        number = np.empty_like(order)
        number[order] = np.arange(order.size) - starts
        for k in range(number.max(initial=-1) + 1):
            group = np.flatnonzero(number == k)
            key = list(self.items)
            for i, array in zip(self.at, self.arrays, strict=True):
                key[i] = array[group]
            turn = np.unravel_index(group, self.axes)
            yield tuple(key), (*[slice(None)] * self.before, *turn)


def _numbers_of(item: Any, function: str) -> np.ndarray:
    """The numbers of an item of an index. Of those that each call has anew there is no program."""
    if isinstance(item, Tensor) and item._is_traced:
        does = f"calls np.{function}.at with places that each call has anew"
        if STATE.trace.world is not None:
            STATE.trace.world.ends_run(does)
        raise TracegradError(f"the function {does}, of which some may be named twice{at_line()}")
    array = np.asarray(plain(in_numpy(getattr(item, "_array", item))))
    return array if array.dtype == bool else array.astype(np.intp)
