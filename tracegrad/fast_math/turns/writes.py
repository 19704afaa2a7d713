"""Rows that turns write into one array enter; they leave written at once, or as the array itself.

Cotangents of rows are put at their places one after the other, in an array of zeros.
"""

from __future__ import annotations

from typing import NamedTuple

from codegen.ir import Call, Value
from codegen.spelling import Subscript
from tracegrad.fast_math.turns.changes import FEWEST, FLOATS, Changes
from tracegrad.fast_math.turns.ops import rows_of
from tracegrad.fast_math.turns.rows import row_of
from tracegrad.ops.indexing import add_at, scattered


class Write(NamedTuple):
    """A row, where it is written, and by which call."""

    place: int
    value: Value
    call: Call


def write_at_once(changes: Changes) -> None:
    """Writes next to each other are one."""
    for node in changes.block.nodes:
        if isinstance(node, Call) and node.op is scattered:
            writes = sorted(_writes(changes, node), key=lambda write: write.place)
            places = [write.place for write in writes]
            if len(places) >= FEWEST and places == list(range(places[0], places[-1] + 1)):
                _write(changes, node, writes)


def _writes(changes: Changes, first: Call) -> list[Write]:
    """The writes to an array of zeros, each to a row of its own."""
    writes: list[Write] = []
    call: Call | None = first
    while call is not None:
        place = _place(call)
        value = call.operands[0 if call is first else 1]
        array = call.results[0]
        shape = changes.dims(array)[1:]
        alike = value.type.dtype == array.type.dtype and changes.dims(value) == shape
        if place is None or not alike or array.type.dtype not in FLOATS:
            return writes
        writes.append(Write(place, value, call))
        reader = changes.only_reader(array)
        call = reader if reader is not None and reader.op is add_at else None
        if call is not None and call.operands[0] is not array:
            return writes
    return writes if len({write.place for write in writes}) == len(writes) else []


def _place(call: Call) -> int | None:
    """The row that a call writes to."""
    items = call.attribute("index").items
    known = len(items) == 1 and type(items[0]) is int and items[0] >= 0
    return items[0] if known and not call.attribute("repeats") else None


def _write(changes: Changes, first: Call, writes: list[Write]) -> None:
    last = max((write.call for write in writes), key=lambda call: changes.place[call.results[0]])
    at, result = changes.place[last.results[0]], last.results[0]
    inner = result.origin.named(result.origin.name)
    start, count = writes[0].place, len(writes)
    whole = changes.dims(result)[0] == count
    rows = [row_of(changes, write.value) for write in writes]
    known = rows[0] is not None and rows == [(rows[0][0], rows[0][1] + i) for i in range(count)]
    if known and rows[0] is not None:
        array = changes.part(at, *rows[0], count, inner)
    else:
        name = writes[0].value.origin.name
        origin = result.origin if whole else inner.named(f"{name}s" if name else None)
        array = changes.emit(at, rows_of, *(write.value for write in writes), origin=origin)
    if not whole:
        attributes = dict(first.attributes)
        attributes["index"] = Subscript((slice(start or None, start + count),))
        array = changes.emit(at, scattered, array, origin=result.origin, **attributes)
    changes.instead[result] = array
