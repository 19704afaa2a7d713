"""Arrays that have been written enter; a tape that has saved one of them is refused by name.

A write stamps the memory (the array that owns it, held weakly) with the time, and counts. A
backward asks only when anything was written since its oldest node (`tape.WRITES.last`), and then
which of the arrays that its rules read are younger than the nodes that saved them.
"""

from __future__ import annotations

import ast
import weakref
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from tracegrad.autograd.foreign import Foreign, is_changed
from tracegrad.autograd.tape import WRITES, Node, needed_from, next_stamp
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
    """The array that owns an array's memory."""
    while isinstance(base := getattr(array, "base", None), np.ndarray):
        array = base
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


def damaged(nodes: Iterable[Node]) -> bool:
    """Whether anything that the nodes hold was written since; raises if a rule reads it."""
    found = False
    for node in nodes:
        for position, array in _saved(node):
            change = _change(array, node.stamp)
            if change is None:
                continue
            found = True
            needed = needed_from(node)
            if needed is None or position in needed:
                raise GradientError(_message(node, position, array, change))
    return found


def _saved(node: Node) -> Iterator[tuple[int, Any]]:
    yield from enumerate(node.values)
    results = node.result if type(node.result) is tuple else (node.result,)
    for result in results:
        yield len(node.values), result


def _change(array: Any, saved: int) -> Label | str | None:
    """Who has changed an array since a time; None for nobody."""
    if not hasattr(array, "nbytes"):  # a number or a shape
        return None
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
    which = "result" if position == len(node.values) else f"operand {position}"
    what = f"the {which} of {node.name()}, of shape {np.shape(array)}"
    if isinstance(change, str):
        name, who = "a Tensor", f"by {change}"
    else:
        name = change.name or _receiver(change.text) or "a Tensor"
        who = f"at {change.file}:{change.line}  {change.text}" if change.line else "in place"
    where = (node.more or {}).get("where")
    saved = (
        f"it was saved at {where.file}:{where.line}  {where.text}"
        if where is not None and where.line
        else "tg.autograd.detect_anomaly() tells the line that saved it"
    )
    return (
        f"{name} was changed after the backward had saved it ({what})\n"
        f"  changed {who}\n"
        f"  {saved}\n"
        "write to a copy (x = x.clone()), or after the backward"
    )
