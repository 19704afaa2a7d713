"""Does elementwise work on rows of a new array in the memory of those rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from codegen.ir import (
    Call,
    Trait,
    Value,
)
from tracegrad.fast_math.unrolled.batched_calls import row_of
from tracegrad.fast_math.unrolled.block_edits import FEWEST, Changes, elementwise
from tracegrad.fast_math.unrolled.row_ops import apart, row_op, rows_of, written
from tracegrad.ops.linear_algebra.contractions import matmul


class Step(NamedTuple):
    """A call that may be done in place: on a row and another operand, or on a row alone."""

    call: Call
    position: int
    other: Value | None


def work_in_rows(changes: Changes) -> None:
    """Elementwise work on a row that nobody else reads is done in the memory of that row.

    The array must be made here and be read row by row; so whoever is to see a row as it was comes
    before what writes over it by its operands alone, and rows that were written over are the rows
    of one array without a copy.
    """
    done: set[Call] = set()
    places: dict[Value, tuple[Value, int]] = {}
    for node in changes.block.nodes:
        for array in node.results:
            worked = False
            for row, i in _own_rows(changes, array).items():
                steps = [s for s in _steps(changes, row) if s.call not in done]
                if steps and steps[0].call.operands[steps[0].position] is row:
                    done.update(step.call for step in steps)
                    places[_worked(changes, array, i, steps)] = array, i
                    worked = True
            if worked:
                _set_apart(changes, array)
    for index, node in enumerate(changes.block.nodes):
        if not isinstance(node, Call) or node.op is not rows_of:
            continue
        rows = tuple(map(changes.now, node.operands))
        found = [places.get(row) for row in rows]
        array, start = found[0] or (rows[0], 0)
        if found == [(array, start + i) for i in range(len(rows))]:
            origin = node.results[0].origin
            part = changes.part(index, array, start, len(rows), origin.named(origin.name))
            now = changes.emit(index, written, part, *rows, origin=origin)
            changes.instead[node.results[0]] = now


def _own_rows(changes: Changes, array: Value) -> dict[Value, int]:
    """The rows of an array of which nothing else is read, and whose memory nobody else has."""
    if array.type.ndim < 2:  # rows of a vector are numbers, which have no memory to write to
        return {}
    owner, readers = changes.graph.owner[array], changes.readers(array)
    made = changes.made_by(owner)
    if (
        made is None
        or owner not in changes.place
        or array in changes.outputs
        or not _fresh(made)
        or len(readers) < FEWEST
    ):
        return {}
    while array is not owner:  # what lies between is read by the next alone
        view = changes.made_by(array)
        if view is None or changes.only_reader(view.operands[0]) is not view:
            return {}
        array = view.operands[0]
    rows = {}
    for reader in readers:
        found = row_of(changes, reader.results[0]) if reader.results else None
        if found is None or reader.results[0] not in changes.place:
            return {}
        rows[reader.results[0]] = found[1]
    return rows if len(set(rows.values())) == len(readers) else {}


def _set_apart(changes: Changes, array: Value) -> None:
    """Nobody else may come to read the memory of the array as it was."""
    owner = changes.graph.owner[array]
    made = changes.made_by(owner)
    assert made is not None
    at, attributes = changes.place[owner], dict(made.attributes)
    new = changes.emit(at, apart(made.op), *made.operands, origin=owner.origin, **attributes)
    changes.instead[owner] = new


def _fresh(call: Call) -> bool:
    """Whether the result of a call has memory of its own, and floats in it."""
    return call.op is matmul or (elementwise(call) and Trait.OUT in call.op.traits)


def _steps(changes: Changes, row: Value) -> Iterator[Step]:
    """What is done to a row elementwise, as long as each result is read by the next alone."""
    shape, value = changes.dims(row), row
    while (call := changes.only_reader(value)) is not None and not call.attributes:
        result = call.results[0]
        spelled = call.op.spelled("numpy", {})
        if (
            Trait.OUT not in call.op.traits
            or len(call.results) > 1
            or len(call.operands) > 2
            or not (spelled.operator(call.op.operands) or spelled.call)
            or result in changes.outputs
            or result.type.dtype != row.type.dtype
            or changes.dims(result) != shape
        ):
            return
        position = call.operands.index(value)
        other = call.operands[1 - position] if len(call.operands) == 2 else None
        yield Step(call, position, other)
        value = result


def _worked(changes: Changes, array: Value, i: int, steps: Sequence[Step]) -> Value:
    """The row after the steps, in its memory; it stands for the last result."""
    last = steps[-1].call.results[0]
    op = row_op(tuple((step.call.op, step.position, step.other is not None) for step in steps))
    others = [step.other for step in steps if step.other is not None]
    new = changes.emit(changes.place[last], op, array, *others, index=i, origin=last.origin)
    changes.instead[last] = new
    return new
