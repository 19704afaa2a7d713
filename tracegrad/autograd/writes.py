"""Arrays that have been written enter; a tape that has saved one of them is refused by name.

A write stamps the memory (the array that owns it, held weakly) with the time, and counts. A
backward asks only when anything was written since its oldest node (`tape.WRITES.last`), and then
which of the arrays that its rules read are younger than the nodes that saved them.
"""

from __future__ import annotations

import ast
import weakref
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tracegrad.autograd.foreign import Foreign, is_changed
from tracegrad.autograd.tape import WRITES, Node, Output, needed_from, next_stamp
from tracegrad.errors import GradientError
from tracegrad.points import Label, Point, capture, label


@dataclass(slots=True)
class _Written:
    """What happened to one piece of memory: how often it was written, and the last time."""

    memory: weakref.ref[Any]
    count: int = 0
    stamp: int = 0
    point: Point | None = None


_written: dict[int, _Written] = {}  # by id of the memory


def memory_of(array: Any) -> Any:
    """The array that owns an array's memory; anything else as it is."""
    while isinstance(array, np.ndarray) and isinstance(array.base, np.ndarray):
        array = array.base
    return array


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
        made = _written[key] = _Written(weakref.ref(memory, forget))
    except TypeError:  # a number
        return None
    return made


def stamp(array: Any) -> None:
    """Says that the memory of an array is being written, at the user's line."""
    entry = _entry(memory_of(array))
    if entry is not None:
        entry.count += 1
        entry.point = capture(None)
        entry.stamp = next_stamp()
        WRITES.last = max(WRITES.last, entry.stamp)


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
    found = False
    for node in nodes:
        for position, array in enumerate(_held(node)):
            if isinstance(array, np.ndarray | np.generic) and not array.ndim:
                numbers.setdefault(_name(node, position), []).append((node, position, array))
            change = _change(array, node.stamp)
            if change is not None:
                found = True
                if _is_needed(node, position):
                    raise GradientError(_message(node, position, array, change))
    several = [uses for uses in numbers.values() if not _are_equal(uses)]
    for uses in several:
        _keep_one_value(uses)
    return found or bool(several)


def _held(node: Node) -> tuple[Any, ...]:
    """The arrays of a node: operands, then results."""
    return (*node.values, *(node.result if type(node.result) is tuple else (node.result,)))


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
        raise GradientError(_message(*needed[-1], label(points[0]) if points else "a write"))
    for node, position, _ in uses if needed else ():
        if not _is_needed(node, position):
            held = [*_held(node)]
            held[position] = needed[0][2]
            count = len(node.values)
            node.values = tuple(held[:count])
            node.result = tuple(held[count:]) if type(node.result) is tuple else held[count]


def _change(array: Any, saved: int) -> Label | str | None:
    """Who has changed an array since a time; None for nobody."""
    memory = memory_of(array)
    entry = _written.get(id(memory))
    if entry is not None and entry.memory() is memory and entry.stamp > saved:
        return label(entry.point) if entry.point is not None else "a write"
    if type(array) is Foreign and is_changed(array, saved):
        return "the owner of the NumPy array that it was made from"
    return None


def _receiver(statement: str) -> str | None:
    """What a statement such as ``y.data.mul_(2)`` calls a method of, if it is one."""
    try:
        tree = ast.parse(statement).body[0]
    except (SyntaxError, IndexError):
        return None
    match tree:
        case ast.Expr(value=ast.Call(func=ast.Attribute(value=receiver))):
            return ast.unparse(receiver)
    return None


def _message(node: Node, position: int, array: Any, change: Label | str) -> str:
    """What was changed, and the lines: the one that saved it, where known; last the one to mend."""
    which = "result" if position >= len(node.values) else f"operand {position}"
    what = f"the {which} of {node.name()}, of shape {np.shape(array)}"
    name, changed, at_a_line = "a Tensor", f"changed by {change}", False
    if not isinstance(change, str):
        name, at_a_line = change.name or _receiver(change.text) or name, bool(change.line)
        changed = f"changed {_at(change)}" if at_a_line else "changed in place"
    where = (node.more or {}).get("where")
    lines = ["tg.autograd.detect_anomaly() tells the line that saved it", changed]
    if where is not None and where.line:
        saved = f"saved {_at(where)}"
        lines = [saved, changed] if at_a_line else [changed, saved]
    return "\n  ".join(
        [
            f"{name} was changed after the backward had saved it ({what}): one of the variables "
            "needed for gradient computation has been modified by an inplace operation. Write to "
            "a copy (x = x.clone()), or after the backward",
            *lines,
        ]
    )


def _at(place: Label) -> str:
    return f"at {place.file}:{place.line}  {place.text}"
