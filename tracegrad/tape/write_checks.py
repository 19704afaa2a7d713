"""Refuses a backward whose tape has saved an array that was written since.

A write stamps the memory (the array that owns it, held weakly) with the time, and counts. A
backward asks only when anything was written since its oldest node (`tape.WRITES.last`), and then
which of the arrays that its rules read are younger than the nodes that saved them.
"""

from __future__ import annotations

import ast
import sys
import weakref
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tracegrad.errors import BackwardError
from tracegrad.runtime.own_references import OwnReference
from tracegrad.runtime.thread_state import STATE
from tracegrad.tape import exported_memory
from tracegrad.tape.foreign_arrays import Foreign, digest, memory_of, note_of
from tracegrad.tape.tape import WRITES, Node, Output, needed_from, next_stamp, note_saved
from tracegrad.user_code.program_points import Point, capture, label, variables


@dataclass(slots=True)
class _Written:
    """What happened to one piece of memory: how often it was written, and the last time."""

    memory: weakref.ref[Any]
    count: int = 0
    stamp: int = 0
    point: Point | None = None
    before: list[tuple[int, np.ndarray | None]] | None = None
    """Writes of a function of arrays: their times, and what was there before, if it was kept."""
    run: set[int] | None = None  # `STATE.saved` of the run that has written to it last
    begun: int = 0  # the fewest that referred to it when runs began which had it as an argument


_written: dict[int, _Written] = {}  # by id of the memory


def _entry(memory: Any) -> _Written | None:
    """The record of this memory, made if there is none; None for what cannot be written."""
    found = _written.get(id(memory))
    if found is not None and found.memory() is memory:
        return found
    key = id(memory)

    def forget(gone: weakref.ref[Any]) -> None:
        kept = _written.get(key)
        if kept is not None and kept.memory is gone:
            del _written[key]

    try:
        made = _written[key] = _Written(OwnReference(memory, forget))
    except TypeError:  # a number
        return None
    return made


def stamp(array: Any) -> None:
    """Says that the memory of an array is being written, at the user's line."""
    memory = memory_of(array)
    entry = _entry(memory)
    if entry is not None:
        last = entry.stamp
        entry.count += 1
        entry.point = capture()
        entry.stamp = next_stamp()
        WRITES.last = max(WRITES.last, entry.stamp)
        if entry.before is not None and not (entry.before and entry.before[-1][0] > last):
            if entry.before and entry.before[-1][1] is None:
                entry.before.pop()  # what was there then is as unknown
            entry.before.append((entry.stamp, None))


def keep_before_write(array: Any) -> None:
    """A function of arrays is about to write: what tapes have saved there is to stay as it was.

    It is copied before the first write of a run, and where a node has saved the memory since.
    """
    memory = memory_of(array)
    entry = _entry(memory) if type(memory) is np.ndarray and memory.flags.forc else None
    if entry is None:
        return
    if STATE.saved is None and STATE.machine is not None:
        STATE.update(saved=set())
    saved, of_run = STATE.saved, entry.run
    entry.run = saved
    if entry.before is None:
        entry.before = [(entry.stamp, None)] if entry.stamp else []
    elif saved is not None and saved is of_run and id(memory) not in saved:
        return
    if saved is not None:
        saved.discard(id(memory))
    entry.before.append((next_stamp(), memory.ravel(order="K").copy()))


@note_saved.by
def _note_saved(node: Node) -> None:
    arrays = [array for array in arrays_of(node) if isinstance(array, np.ndarray)]
    if STATE.saved is not None:
        STATE.saved.update([id(memory_of(array)) for array in arrays])


def begins_run(array: Any) -> None:
    """A function of arrays is given an array.

    Where no more refer to it than when another run began, no tape has what was there before.
    """
    memory = memory_of(array)
    entry = _written.get(id(memory))
    if entry is None or entry.before is None or entry.memory() is not memory:
        return
    holders = sys.getrefcount(memory)
    if entry.begun and holders <= entry.begun:
        entry.before = None
    entry.begun = min(holders, entry.begun or holders)


def _as_saved(array: np.ndarray, saved: float) -> np.ndarray | None:
    """An array as it was then, if what has been written since was kept."""
    memory: Any = memory_of(array)
    entry = _written.get(id(memory))
    if entry is None or entry.memory() is not memory or type(array) is not np.ndarray:
        return None
    kept = next((kept for time, kept in entry.before or () if time > saved), None)
    if kept is None:
        return None
    start = _address(array) - _address(memory)
    return np.ndarray(array.shape, array.dtype, kept, start, array.strides)


def _address(array: Any) -> int:
    return int(array.__array_interface__["data"][0])


def succeed(old: Any, new: Any) -> None:
    """Says that a Tensor goes on with new memory in place of a write: it is one version further."""
    entry = _entry(memory_of(new))
    if entry is not None:
        entry.count = version(old) + 1


def version(array: Any) -> int:
    """How often the memory of an array has been written."""
    memory = memory_of(array)
    found = _written.get(id(memory))
    return found.count if found is not None and found.memory() is memory else 0


# -- what a tape has saved ----------------------------------------------------------------------


def damaged(nodes: Sequence[Node]) -> bool:
    """Whether anything that the nodes hold was written since; raises if a rule reads it."""
    numbers: dict[Hashable, list[tuple[Node, int, Any]]] = {}
    exported_memory.look_again()
    held = _cached_digest()
    found = False
    for node in nodes:
        for position, array in enumerate(arrays_of(node)):
            if isinstance(array, np.ndarray | np.generic) and not array.ndim:
                numbers.setdefault(_name(node, position), []).append((node, position, array))
            change = _change(array, node.stamp, held)
            if change is not None:
                found = True
                if _is_needed(node, position):
                    kept = _as_saved(array, node.stamp)
                    if kept is None:
                        raise BackwardError(_message(node, position, array, change))
                    _put(node, position, kept)
        for array in _saved_by_user(node):
            change = _change(array, node.stamp, held)
            if change is not None:
                raise BackwardError(_message(node, None, array, change))
    several = [uses for uses in numbers.values() if not _are_equal(uses)]
    for uses in several:
        _keep_one_value(uses)
    return found or bool(several)


def is_changed(arrays: Iterable[Any], saved: float) -> bool:
    """Whether any of the arrays was written since a time."""
    if saved >= WRITES.last:
        return False
    exported_memory.look_again()
    held = _cached_digest()
    return any(_change(array, saved, held) is not None for array in arrays)


def arrays_of(node: Node) -> tuple[Any, ...]:
    """The arrays of a node: operands, then results."""
    return (*node.values, *(node.result if type(node.result) is tuple else (node.result,)))


def _saved_by_user(node: Node) -> tuple[Any, ...]:
    """What the forward of a `Function` saved besides its arguments and results."""
    if not node.op.opaque:
        return ()
    saved: tuple[Any, ...] = getattr(node.attributes.get("function"), "saved", ())
    return saved


def _is_needed(node: Node, position: int) -> bool:
    needed = needed_from(node)
    return needed is None or position in needed


def _name(node: Node, position: int) -> Hashable:
    """What tells the Tensor at a position of a node from others: who made it, or which leaf."""
    if position >= len(node.values):
        return (id(node), position - len(node.values))
    parent = node.parents[position]
    if type(parent) is Output:
        return (id(parent.node), parent.index)
    return (id(parent), 0) if parent is not None else (id(node), -1 - position)


def _are_equal(uses: Sequence[tuple[Node, int, Any]]) -> bool:
    """Whether one Tensor without axes was saved with one value: else it was written in between.

    What was saved as a number stays as it was, so the memory does not tell.
    """
    return len({array.tobytes() for *_, array in uses}) <= 1


def _keep_one_value(uses: Sequence[tuple[Node, int, Any]]) -> None:
    """Puts the value that rules need where others are: a backward knows one value of a Tensor."""
    needed = [(node, i, array) for node, i, array in uses if _is_needed(node, i)]
    if not _are_equal(needed):
        entries = [_written.get(id(memory_of(array))) for *_, array in needed]
        points = [entry.point for entry in entries if entry is not None and entry.point]
        change = _Change("changed", points[0] if points else None)
        raise BackwardError(_message(*needed[-1], change))
    for node, position, _ in uses if needed else ():
        if not _is_needed(node, position):
            _put(node, position, needed[0][2])


def _put(node: Node, position: int, array: Any) -> None:
    """A node keeps an array in the place of another: see `arrays_of`."""
    held = [*arrays_of(node)]
    held[position] = array
    count = len(node.values)
    node.values = tuple(held[:count])
    node.result = tuple(held[count:]) if type(node.result) is tuple else held[count]


@dataclass(frozen=True)
class _Change:
    """That an array was changed: what the user's line at `point` did with it."""

    did: str
    point: Point | None
    by_numpy: bool = False


def _change(array: Any, saved: float, held: Callable[[Any], int]) -> _Change | None:
    """What has changed an array since a time; None for nothing."""
    memory = memory_of(array)
    entry = _written.get(id(memory))
    if entry is not None and entry.memory() is memory and entry.stamp > saved:
        return _Change("changed", entry.point)
    if type(array) is Foreign:
        note = note_of(array, saved)
        whole = array if array.root is None else array.root
        if note is not None and held(whole) != note.digest:
            return _Change("read", note.point, by_numpy=True)
    point = exported_memory.change_of(array, saved, held)
    return None if point is None else _Change("handed out", point, by_numpy=True)


def _cached_digest() -> Callable[[Any], int]:
    """`digest`, which is asked for one array again and again."""
    known: dict[int, tuple[Any, int]] = {}

    def held(array: Any) -> int:
        if id(array) not in known:
            known[id(array)] = array, digest(array)
        return known[id(array)][1]

    return held


def _receiver(statement: str) -> str | None:
    """What a statement such as ``y.data.mul_(2)`` changes by a method, if it is one."""
    try:
        tree = ast.parse(statement).body[0]
    except (SyntaxError, IndexError):
        return None
    match tree:
        case ast.Expr(value=ast.Call(func=ast.Attribute(value=receiver, attr=name))):
            return ast.unparse(receiver) if name.endswith("_") else None
    return None


def _variable_of(array: Any) -> str | None:
    """The user's variable that has this memory, nearest to where the backward is asked for."""
    memory = memory_of(array)

    def has(value: Any) -> bool:
        slots = getattr(type(value), "__slots__", ())
        own = value._array if "_array" in slots else value
        return isinstance(own, np.ndarray) and memory_of(own) is memory

    return next(filter(None, variables(has)), None)


def _parameter(node: Node, position: int | None) -> str | None:
    """What a compiled function calls the operand of the node of a call."""
    names: tuple[str | None, ...] = getattr(node.attributes.get("function"), "names", ())
    return names[position] if position is not None and position < len(names) else None


def _message(node: Node, position: int | None, array: Any, change: _Change) -> str:
    which = "result" if position is None or position >= len(node.values) else f"operand {position}"
    what = f"the {which} of {node.name()}" if position is not None else f"saved by {node.name()}"
    what = f"{what}, of shape {np.shape(array)}"
    at = None if change.point is None else label(change.point)
    name = None if at is None or change.by_numpy else at.name or _receiver(at.text)
    name = name or _variable_of(array) or _parameter(node, position) or "a Tensor"
    by = ", by the owner of the NumPy array that it shares memory with" if change.by_numpy else ""
    where = (node.more or {}).get("where")
    saved = (
        f"  it was saved at {where.file}:{where.line}  {where.text}"
        if where is not None and where.line
        else "  tg.autograd.detect_anomaly() tells the line that saved it"
    )
    lines = [
        "one of the variables needed for gradient computation has been modified by an inplace "
        f"operation: {name} was changed after the backward had saved it ({what}){by}",
        saved if change.did == "changed" else "",
        "  write to a copy (x = x.clone(), or a = a.copy()), or after the backward",
        f"  {change.did} at {at.file}:{at.line}  {at.text}" if at is not None and at.line else "",
    ]
    return "\n".join(filter(None, lines))
