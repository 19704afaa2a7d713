"""Notes what the arrays of users hold when ops read them, so that later writes are noticed.

Tensors that share memory with a NumPy array (`tg.as_tensor`, `tg.from_numpy`) hold a `Foreign`: a
view whose class tells NumPy to ask here before a ufunc or function reads it. So nothing is asked of
the arrays that are a Tensor's own. A backward that needs such an array compares it with what was
noted (`is_changed`). What a tape itself keeps of a user's array is compared with one note, taken
when that began (`kept`, `seal`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple
from weakref import WeakValueDictionary

import numpy as np
from numpy.lib.array_utils import byte_bounds

from tracegrad.ops.elementwise.arrays_and_scalars import copy_as_it_lies
from tracegrad.runtime.thread_state import STATE
from tracegrad.tape.tape import WRITES, next_stamp
from tracegrad.user_code.program_points import Point, capture

COPIED = 1 << 16  # bytes: an array that a tape keeps is copied up to here, above it is watched
LARGE = 1 << 14  # bytes: more are summed up before they are hashed
ROW = 512  # numbers of 8 bytes
KEPT = 64  # notes of one array
WHILE = 1 << 16  # the node of an op that reads is made after the note, and other threads go on too


class Note(NamedTuple):
    """What an array held at a time, and the user's line that read it."""

    stamp: int
    digest: int
    point: Point | None


class Foreign(np.ndarray):
    """A view of an array that is not tracegrad's own."""

    notes: list[Note]  # what ops have read, where it changed
    root: Foreign | None  # what is compared, by its one note, in place of notes at each read

    def __array_finalize__(self, source: Any) -> None:
        self.notes = []
        self.root = getattr(source, "root", None)

    def __array_ufunc__(
        self, ufunc: Any, method: str, *inputs: Any, out: Any = None, **kwargs: Any
    ) -> Any:
        note((*inputs, *kwargs.values()))
        kwargs = {name: plain(value) for name, value in kwargs.items()}
        if out is not None:
            kwargs["out"] = tuple(map(plain, out))
        result = getattr(ufunc, method)(*map(plain, inputs), **kwargs)
        return result if out is None else out[0]

    def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        note(_inside((*args, *kwargs.values())))
        result = func(*map(_plain_inside, args), **{k: _plain_inside(v) for k, v in kwargs.items()})
        return _marked(result, self)


def _method(name: str) -> Callable[..., Any]:
    run = getattr(np.ndarray, name)

    def method(self: Foreign, *args: Any, **kwargs: Any) -> Any:
        return _marked(run(plain(self), *map(_plain_inside, args), **kwargs), self)

    method.__name__ = name
    return method


COPYING = (
    "__getitem__ argmax argmin argpartition argsort astype byteswap choose compress copy cumprod "
    "cumsum dot flatten nonzero ravel repeat reshape searchsorted take trace"
)
"""Methods whose result is, or may be, in memory of its own: then it is an ordinary array."""

for _name in COPYING.split():
    setattr(Foreign, _name, _method(_name))


def foreign(array: np.ndarray) -> Foreign:
    """The same memory as an array that is watched."""
    return array.view(Foreign)


def plain(x: Any) -> Any:
    """The same memory as an ordinary array; anything else as it is."""
    return x.view(np.ndarray) if type(x) is Foreign else x


def memory_of(array: Any) -> Any:
    """The array that owns an array's memory; anything else as it is."""
    while isinstance(array, np.ndarray):
        base = array.base
        if type(base) is memoryview:  # an array that was handed out
            base = base.obj
        if not isinstance(base, np.ndarray):
            break
        array = base
    return array


def note(arrays: Iterable[Any]) -> None:
    """Remembers what the watched arrays among these hold now, if ops are recorded at all."""
    if not STATE.grad_enabled:
        return
    for array in arrays:
        if type(array) is Foreign and array.root is None:
            held = digest(array)
            if not array.notes or array.notes[-1].digest != held:
                array.notes = [*array.notes[1 - KEPT :], Note(next_stamp(), held, capture())]
            WRITES.last = max(WRITES.last, next_stamp() + WHILE)  # its owner does not tell when


def kept(array: Any) -> Any:
    """A user's array as a tape keeps it: a copy, or watched from now on where it is large.

    Anything else (the `Shape` of an array that is not kept) as it is.
    """
    if type(array) is not np.ndarray:
        return array
    found = own_or_watched(array)
    if type(found) is Foreign:
        seal(found)
    return found


def own_or_watched(array: np.ndarray) -> np.ndarray:
    """A copy that lies in memory as the array does; the array, not yet watched, where it is large.

    Reductions add in the order of memory, and BLAS does as strides say, so that decides bits.
    """
    if array.flags.forc:
        return array.copy(order="K") if array.nbytes <= COPIED else rooted(array)
    low, high = byte_bounds(array)
    if high - low > COPIED:
        return rooted(array)
    return copy_as_it_lies(array)


def rooted(array: np.ndarray) -> Foreign:
    """A watched array that is compared with one note, which `seal` takes."""
    watched = foreign(array)
    watched.root = watched
    return watched


def seal(watched: Foreign) -> None:
    """From now on the array is to stay as it is, for all that has read it before."""
    watched.notes = [Note(0, digest(watched), capture())]
    WRITES.last = max(WRITES.last, next_stamp() + WHILE)
    _SEALED[id(memory_of(watched))] = watched


_SEALED: WeakValueDictionary[int, Foreign] = WeakValueDictionary()  # by id of who owns the memory


def is_sealed(array: np.ndarray) -> bool:
    """Whether a tape that is still there watches the memory of an array."""
    owner = memory_of(array)
    watched = _SEALED.get(id(owner))
    return watched is not None and memory_of(watched) is owner


def note_of(array: Foreign, stamp: float) -> Note | None:
    """What the array, or the one that it is a part of, held when a node of this time read it."""
    notes = (array if array.root is None else array.root).notes
    return next((note for note in reversed(notes) if note.stamp < stamp), None)


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
        marked = foreign(result)
        marked.root = source.root
        return marked
    return result
