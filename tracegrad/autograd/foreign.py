"""A user's array enters, one that notes what it held whenever an op reads it leaves.

Tensors that share memory with a NumPy array (`tg.as_tensor`, `tg.from_numpy`) hold a `Foreign`: a
view whose class tells NumPy to ask here before a ufunc or function reads it. So nothing is asked of
the arrays that are a Tensor's own. A backward that needs such an array compares it with what was
noted (`is_changed`).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from tracegrad.autograd.tape import WRITES, next_stamp
from tracegrad.state import STATE

LARGE = 1 << 16  # bytes: more are summed up before they are hashed
ROW = 4096  # numbers of 8 bytes
KEPT = 64  # notes of one array
WHILE = 1 << 16  # the node of an op that reads is made after the note, and other threads go on too


class Foreign(np.ndarray):
    """A view of an array that is not tracegrad's own."""

    notes: list[tuple[int, int]]  # (stamp, digest) of what ops have read, where it changed

    def __array_finalize__(self, source: Any) -> None:
        self.notes = []

    def __array_ufunc__(
        self, ufunc: Any, method: str, *inputs: Any, out: Any = None, **kwargs: Any
    ) -> Any:
        note(inputs)
        if out is not None:
            kwargs["out"] = tuple(map(plain, out))
        result = getattr(ufunc, method)(*map(plain, inputs), **kwargs)
        return result if out is None else out[0]

    def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        note(_inside((*args, *kwargs.values())))
        result = func(*map(_plain_inside, args), **{k: _plain_inside(v) for k, v in kwargs.items()})
        return _marked(result, self)


def foreign(array: np.ndarray) -> Foreign:
    """The same memory as an array that is watched."""
    return array.view(Foreign)


def plain(x: Any) -> Any:
    """The same memory as an ordinary array; anything else as it is."""
    return x.view(np.ndarray) if type(x) is Foreign else x


def note(arrays: Iterable[Any]) -> None:
    """Remembers what the watched arrays among these hold now, if ops are recorded at all."""
    if not STATE.grad_enabled:
        return
    for array in arrays:
        if type(array) is Foreign:
            held = digest(array)
            if not array.notes or array.notes[-1][1] != held:
                array.notes = [*array.notes[1 - KEPT :], (next_stamp(), held)]
            WRITES.last = max(WRITES.last, next_stamp() + WHILE)  # its owner does not tell when


def is_changed(array: Foreign, stamp: int) -> bool:
    """Whether it holds something else than when a node of this time was recorded."""
    read = [held for time, held in array.notes if time < stamp]
    return bool(read) and read[-1] != digest(array)


def digest(array: np.ndarray) -> int:
    """A number that tells contents apart, wherever in the array they differ."""
    whole = np.ascontiguousarray(plain(array)).reshape(-1).view(np.uint8)
    if whole.size < LARGE:
        return hash(whole.tobytes())
    size = whole.size // (8 * ROW) * (8 * ROW)
    table = whole[:size].view(np.uint64).reshape(-1, ROW)
    sums = (table.sum(axis=0).tobytes(), table.sum(axis=1).tobytes(), whole[size:].tobytes())
    return hash(sums)


def _inside(values: Iterable[Any]) -> list[Any]:
    """The values and what stands in tuples and lists among them."""
    found: list[Any] = []
    for value in values:
        found += value if isinstance(value, tuple | list) else [value]
    return found


def _plain_inside(value: Any) -> Any:
    if isinstance(value, tuple | list):
        return type(value)([plain(x) for x in value]) if type(value) in (tuple, list) else value
    return plain(value)


def _marked(result: Any, source: Foreign) -> Any:
    """A view of watched memory is watched too."""
    if isinstance(result, np.ndarray) and np.may_share_memory(result, source):
        return foreign(result)
    return result
