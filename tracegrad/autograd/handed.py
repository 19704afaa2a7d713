"""A Tensor's memory leaves as a plain array (``x.numpy()``), and is watched while that lives.

NumPy tells nobody of its writes. So what the memory holds is noted when it leaves, and the Tensors
that have it read it as `Foreign` arrays, which note what they hold at each op. What tapes had saved
before, or save through views that nobody here knows of, is damaged as soon as the memory holds
something else. When the array handed out is gone, with all views of it, all is as it was.
"""

from __future__ import annotations

import sys
import weakref
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from tracegrad.autograd.foreign import Foreign, digest, foreign, memory_of, plain
from tracegrad.autograd.tape import WRITES, next_stamp
from tracegrad.points import Point, capture

ALWAYS = 1 << 62  # a time when `WRITES` last saw a write: every backward asks


class _Out:
    """One array that was handed out."""

    __slots__ = ("array", "digest", "group", "point", "reference", "watched")

    array: np.ndarray  # the Tensor's own
    digest: int  # of what it held
    point: Point
    group: Sequence[weakref.ref[Any]]  # the Tensors that have it
    watched: Foreign | None  # what they read it by meanwhile
    reference: weakref.ref[np.ndarray]  # to what was handed out


_out: dict[int, list[_Out]] = {}  # by id of the memory
_open: dict[int, list[_Out]] = {}  # of these, where tapes or views may hold the memory
_changed: dict[int, tuple[weakref.ref[Any], int, Point]] = {}  # by id of the memory: until when


def hand_out(tensor: Any) -> np.ndarray:
    """The array of a Tensor, for code that may write into it."""
    own = tensor._array
    array = np.asarray(plain(own))
    if not isinstance(own, np.ndarray) or not array.flags.writeable:
        return array
    key = id(memory_of(array))
    for out in _out.get(key, ()):
        before = out.reference() if out.watched is own else None
        if before is not None:
            return before
    given = np.asarray(memoryview(array))  # of which all views that are made of it keep hold
    out = _Out()
    out.array, out.digest, out.point = array, digest(array), capture(None)
    out.group, out.watched = _group(tensor), None
    if type(own) is not Foreign:
        out.watched = foreign(own)
        _exchange(out.group, own, out.watched)
    out.reference = weakref.ref(given, partial(_back, key, out))
    _open[key] = _out.setdefault(key, [])
    _open[key].append(out)
    WRITES.last = ALWAYS
    return given


def _group(tensor: Any) -> Sequence[weakref.ref[Any]]:
    """A Tensor and those made of it by ``detach()``, now and later."""
    found: list[weakref.ref[Any]] | None = getattr(tensor, "_aliases", None)
    if found is None:
        found = tensor._aliases = [weakref.ref(tensor)]
    return found


def _exchange(group: Sequence[weakref.ref[Any]], old: np.ndarray, new: np.ndarray) -> None:
    """Gives other views of their memory to the Tensors that have this one."""
    for reference in list(group):
        tensor = reference()
        if tensor is not None and tensor._array is old:
            tensor._array = new


def _back(key: int, out: _Out, reference: Any, ending: Any = sys.is_finalizing) -> None:
    """What was handed out is gone: whoever had the memory has it alone."""
    if ending():
        return
    _out[key].remove(out)
    if digest(out.array) != out.digest:
        memory = memory_of(out.array)
        _changed[key] = (weakref.ref(memory, partial(_forget, key)), next_stamp(), out.point)
    if out.watched is not None:
        _exchange(out.group, out.watched, out.array)
    if not _out[key]:
        del _out[key]
        _open.pop(key, None)
        _settle()


def _forget(key: int, gone: Any) -> None:
    if key in _changed and _changed[key][0] is gone:
        del _changed[key]


def _settle() -> None:
    """Lets backwards be quick again, where no tape can hold what was handed out."""
    if not _open and WRITES.last == ALWAYS:
        WRITES.last = next_stamp()


def look_again() -> None:
    """Forgets what is not held by tapes any more; see `_open`."""
    for key in [key for key, outs in list(_open.items()) if not _is_held_elsewhere(outs)]:
        _open.pop(key, None)
    _settle()


def _is_held_elsewhere(outs: Sequence[_Out]) -> bool:
    """Whether more is to be seen of the memory than the array handed out and Tensors known here."""
    return len(outs) > 1 or sys.getrefcount(memory_of(outs[0].array)) > KNOWN


def _known() -> int:
    """How often memory is held of which nobody else knows."""

    class Sample:
        _array: Any = np.zeros(1)

    sample, last = Sample(), WRITES.last
    given = hand_out(sample)
    count = sys.getrefcount(memory_of(next(iter(_out.values()))[0].array))
    del given
    WRITES.last = last
    return count


KNOWN = _known()


def change_of(array: Any, saved: int, held: Callable[[Any], int]) -> Point | None:
    """Where memory that a tape saved then was handed out, if it was written since.

    `held` is `digest`, of which some are known.
    """
    if type(array) is not np.ndarray:
        return None
    memory = memory_of(array)
    gone = _changed.get(id(memory))
    if gone is not None and gone[0]() is memory and gone[1] > saved:
        return gone[2]
    for out in _out.get(id(memory), ()):
        if held(out.array) != out.digest:
            return out.point
    return None
