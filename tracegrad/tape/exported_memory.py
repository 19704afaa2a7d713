"""Watches memory of Tensors that is out as a plain array (``x.numpy()``), while that array lives.

NumPy tells nobody of its writes. So what the memory holds is noted when it leaves, and the Tensors
that have it read it as `Foreign` arrays, which note what they hold at each op. What tapes had saved
before, or save through views that nobody here knows of, is damaged as soon as the memory holds
something else. When the array handed out is gone, with all views of it, all is as it was.
"""

from __future__ import annotations

import sys
import threading
import weakref
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from tracegrad.runtime.own_references import OwnReference
from tracegrad.tape.foreign_arrays import Foreign, digest, foreign, memory_of, plain
from tracegrad.tape.tape import WRITES, next_stamp
from tracegrad.tape.views import base_of, views_of
from tracegrad.user_code.program_points import Point, capture

ALWAYS = 1 << 62  # a time when `WRITES` last saw a write: every backward asks


class _Out:
    """One array that was handed out."""

    __slots__ = ("array", "base", "digest", "key", "point", "reference", "watched")

    array: np.ndarray  # the Tensor's own
    digest: int | None  # of what it held; None where no tape can hold it
    base: weakref.ref[Any]  # the Tensor of whose memory it is a part
    key: int  # the id of the memory
    point: Point
    reference: weakref.ref[np.ndarray]  # to what was handed out
    watched: Foreign | None  # what the Tensors read it by meanwhile


_lock = threading.RLock()  # an array may be gone in one thread while another is handed out
_out: dict[int, list[_Out]] = {}  # by id of the memory
_open: dict[int, list[_Out]] = {}  # of these, where tapes or views may hold the memory
_changed: dict[int, tuple[weakref.ref[Any], int, Point]] = {}  # by id of the memory: until when


def hand_out(tensor: Any) -> np.ndarray:
    """The array of a Tensor, for code that may write into it."""
    if not isinstance(tensor._array, np.ndarray) or not tensor._array.flags.writeable:
        return np.asarray(plain(tensor._array))
    with _lock:
        before = _still_out(tensor._array)
        if before is not None:
            return before
        given, out = _lend(tensor)
        if _is_held_elsewhere(_out[out.key]):
            out.digest = digest(out.array)
            _open[out.key] = _out[out.key]
            WRITES.last = ALWAYS
        return given


def _still_out(own: np.ndarray) -> np.ndarray | None:
    """What was handed out of this array before."""
    for out in [out for out in _out.get(id(memory_of(own)), ()) if out.watched is own]:
        given = out.reference()
        if given is not None:
            return given
        _take_back(out)  # it is gone in another thread, which waits to say so
    return None


def _lend(tensor: Any) -> tuple[np.ndarray, _Out]:
    """An array that looks at a Tensor's memory, of which all views that are made keep hold."""
    own, out = tensor._array, _Out()
    out.array, out.digest, out.point = np.asarray(plain(own)), None, capture()
    out.base, out.watched = weakref.ref(base_of(tensor)), None
    if type(own) is not Foreign:
        out.watched = foreign(own)
        _exchange(out.base(), own, out.watched)
    given = np.asarray(memoryview(out.array))  # type: ignore[arg-type]
    out.reference = OwnReference(given, partial(_back, out))
    out.key = id(memory_of(own))
    _out[out.key] = [*_out.get(out.key, ()), out]
    return given, out


def _exchange(base: Any, old: np.ndarray, new: np.ndarray) -> None:
    """Gives another array of their memory to the Tensors that have this one."""
    for tensor in () if base is None else (base, *views_of(base)):
        if tensor._array is old:
            tensor._array = new


def _back(out: _Out, reference: Any, ending: Any = sys.is_finalizing) -> None:
    """What was handed out is gone: whoever had the memory has it alone."""
    if not ending():
        with _lock:
            _take_back(out)


def _take_back(out: _Out) -> None:
    """Forgets what was handed out, once."""
    key = out.key
    if out not in _out.get(key, ()):
        return
    _out[key].remove(out)
    if out.digest is not None and digest(out.array) != out.digest:
        memory = memory_of(out.array)
        _changed[key] = (OwnReference(memory, partial(_forget, key)), next_stamp(), out.point)
    if out.watched is not None:
        _exchange(out.base(), out.watched, out.array)
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
    """Forgets what is not held by tapes any more."""
    with _lock:
        for key in [key for key, outs in list(_open.items()) if not _is_held_elsewhere(outs)]:
            for out in _open.pop(key, ()):
                out.digest = None
        _settle()


def _is_held_elsewhere(outs: Sequence[_Out]) -> bool:
    """Whether more is to be seen of the memory than what was handed out and Tensors known here."""
    if len(outs) > 1 or outs[0].watched is None:
        return True
    is_view, count = _references(outs[0])
    return count > ALONE[is_view]


def _references(out: _Out) -> tuple[bool, int]:
    """Whether an array is a view, and how often its memory is held."""
    memory = memory_of(out.array)
    return memory is not out.array, sys.getrefcount(memory)


class _Sample:
    """Stands for a Tensor whose memory nobody else has."""

    def __init__(self, array: np.ndarray) -> None:
        self._array = array
        self._view = self._views = None


def _references_alone(array: np.ndarray) -> tuple[bool, int]:
    sample = _Sample(array)
    del array
    _given, out = _lend(sample)
    return _references(out)


ALONE = dict([_references_alone(np.zeros(1)), _references_alone(np.zeros(2)[1:])])


def note_own_write(array: Any) -> None:
    """A Tensor's own write has changed the memory: whoever has it is not taken for the writer.

    Tapes that had saved it before know of the write by its stamp.
    """
    for out in _out.get(id(memory_of(array)), ()):
        if out.digest is not None:
            out.digest = digest(out.array)


def change_of(array: Any, saved: float, held: Callable[[Any], int]) -> Point | None:
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
        if out.digest is not None and held(out.array) != out.digest:
            return out.point
    return None
