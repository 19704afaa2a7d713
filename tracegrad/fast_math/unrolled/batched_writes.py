"""Writes rows that turns write into one array at once, or replaces the array.

Cotangents of rows are put at their places one after the other, in an array of zeros.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import NamedTuple

from codegen.errors import CodegenError
from codegen.ir import Call, Origin, Value
from codegen.spelling import Subscript
from tracegrad.fast_math.unrolled.batched_calls import row_of
from tracegrad.fast_math.unrolled.block_edits import FEWEST, FLOATS, Changes
from tracegrad.fast_math.unrolled.row_ops import rows_of
from tracegrad.ops.elementwise.ufuncs import add, negative, subtract
from tracegrad.ops.shape.indexing import add_at, scattered, set_at, subtract_at


class Write(NamedTuple):
    """A row that is added at a place, or taken away there, and the call that does."""

    place: int
    value: Value
    negative: bool
    call: Call


def write_at_once(changes: Changes) -> None:
    """Writes next to each other are one."""
    for node in changes.block.nodes:
        if isinstance(node, Call) and node.op is scattered:
            writes = list(_writes(changes, node))
            parts = [part for part in _apart(writes) if _is_stretch(part)]
            if parts:
                with suppress(CodegenError):  # lengths that nothing shows to be equal
                    _write(changes, node, writes, parts)


def _writes(changes: Changes, first: Call) -> Iterator[Write]:
    """The writes of rows to an array of zeros, one after the other; each adds to what was there."""
    call: Call | None = first
    written: set[int] = set()
    while call is not None:
        place = _place(call)
        value = call.operands[0 if call is first else 1]
        array = call.results[0]
        shape = changes.dims(array)[1:]
        alike = value.type.dtype == array.type.dtype and changes.dims(value) == shape
        if place is None or not alike or array.type.dtype not in FLOATS:
            return
        if call.op is set_at and place in written:
            return
        written.add(place)
        yield Write(place, value, call.op is subtract_at, call)
        reader = changes.only_reader(array)
        adds = reader is not None and reader.op in (set_at, add_at, subtract_at)
        call = reader if adds and reader is not None and reader.operands[0] is array else None


def _apart(writes: Sequence[Write]) -> list[list[Write]]:
    """The writes of one sign in parts, within which none is to the place of another, in order."""
    parts: list[list[Write]] = []
    for taken in (False, True):
        places: set[int] = set()
        for write in writes:
            if write.negative == taken:
                if not places or write.place in places:
                    parts.append([])
                    places = set()
                parts[-1].append(write)
                places.add(write.place)
    return [sorted(part, key=lambda write: write.place) for part in parts]


def _is_stretch(part: Sequence[Write]) -> bool:
    places = [write.place for write in part]
    return len(part) >= FEWEST and places == list(range(places[0], places[-1] + 1))


def _place(call: Call) -> int | None:
    """The row that a call writes to."""
    items = call.attribute("index").items
    known = len(items) == 1 and type(items[0]) is int and items[0] >= 0
    return items[0] if known and not call.attribute("repeats") else None


def _write(
    changes: Changes, first: Call, writes: Sequence[Write], parts: Sequence[Sequence[Write]]
) -> None:
    """Puts the parts, and behind them the other writes, in the place of what the last one makes."""
    result = writes[-1].call.results[0]
    at, origin = changes.place[result], result.origin
    stretches: dict[tuple[int, int], Value] = {}
    for part in parts:
        rows, where = _rows(changes, at, part, origin), (part[0].place, part[-1].place + 1)
        if where in stretches:
            op = subtract if part[0].negative else add
            rows = changes.emit(at, op, stretches[where], rows, origin=_inner(origin))
        elif part[0].negative:
            rows = changes.emit(at, negative, rows, origin=_inner(origin))
        stretches[where] = rows
    total: Value | None = None
    for (start, stop), rows in stretches.items():
        places = {"index": Subscript((slice(start or None, stop),)), "counts": (), "repeats": False}
        if total is not None:
            total = changes.emit(at, add_at, total, rows, origin=origin, **places)
        elif changes.dims(result)[0] == stop - start:
            total = rows
        else:
            attributes = {**dict(first.attributes), **places}
            total = changes.emit(at, scattered, rows, origin=origin, **attributes)
    assert total is not None
    done = {write.call for part in parts for write in part}
    for write in writes:
        if write.call not in done:
            op = subtract_at if write.negative else add_at
            places = {"index": Subscript((write.place,)), "counts": (), "repeats": False}
            total = changes.emit(at, op, total, write.value, origin=origin, **places)
    changes.instead[result] = total


def _rows(changes: Changes, at: int, part: Sequence[Write], origin: Origin) -> Value:
    """What is written, as one array."""
    found = [row_of(changes, write.value) for write in part]
    if found[0] is not None:
        array, start = found[0]
        if found == [(array, start + i) for i in range(len(part))]:
            return changes.part(at, array, start, len(part), _inner(origin))
    name = part[0].value.origin.name
    named = origin.named(f"{name}s" if name else None)
    return changes.emit(at, rows_of, *(write.value for write in part), origin=named)


def _inner(origin: Origin) -> Origin:
    return origin.named(origin.name)
