"""Arrays outside that C code reads as they are: structured ones, those of objects, texts or dates.

A program has no input for such an array: it compares what the array holds. The function has the
array itself, rows of it (``rec[0]``) and views (``rec["n"]``). What it writes there nobody does
again, so the call runs eagerly. A write that no table knows is found by the end of the run, for the
numbers are another's then.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tracegrad.tape.foreign_arrays import memory_of
from tracegrad.world.guard_function import remembered, unwritten

_SHOWING = (np.ndarray, np.void, np.flatiter)


class ReadMemory:
    """The arrays that one run has read so, as they were."""

    def __init__(self) -> None:
        self._known: list[tuple[np.ndarray, Any, np.ndarray, str]] = []

    def note(self, array: Any, text: str) -> None:
        """The run reads an array, which nothing stands for."""
        if isinstance(array, np.ndarray):
            self._known.append(
                (array, remembered(array), array.copy(order="K"), text or "an array")
            )

    def shown_by(self, x: Any) -> str:
        """The one of these whose memory an object shows, as the user calls it; "" for none."""
        owner = memory_of(objects_shown(x)[-1])
        return next((text for array, *_, text in self._known if memory_of(array) is owner), "")

    def written(self) -> str:
        """The first of them that holds something else than it did; "" for none."""
        for array, before, _, text in self._known:
            if not unwritten(array, before):
                return text
        return ""

    def restore(self) -> None:
        """Puts back what they held."""
        for array, before, copy, _ in self._known:
            same_layout = (array.shape, array.dtype) == (copy.shape, copy.dtype)
            if same_layout and array.flags.writeable and not unwritten(array, before):
                array[...] = copy


def objects_shown(x: Any) -> list[Any]:
    """An object, and those whose memory it shows."""
    found = [x]
    while True:
        if isinstance(x, _SHOWING):
            x = x.base
        elif type(x) is memoryview:
            x = x.obj
        else:
            x = None
        if x is None:
            return found
        found.append(x)
