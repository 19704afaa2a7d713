"""Makes one call on the whole array of the calls that turns make on its rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Hashable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeAlias

from codegen.errors import CodegenError
from codegen.ir import (
    Call,
    Op,
    Origin,
    Value,
    attributes_key,
)
from tracegrad.fast_math.unrolled.block_edits import FEWEST, FLOATS, Changes, elementwise
from tracegrad.ops.elementwise.ufuncs import add
from tracegrad.ops.linear_algebra.contractions import matmul
from tracegrad.ops.shape.indexing import element, getitem_basic
from tracegrad.ops.shape.joining import unstacked
from tracegrad.ops.shape.reshaping import transpose_axes

SLOPES = "slopes"
"""What functions of states are called in the backward: factors of cotangents."""


def row_of(changes: Changes, value: Value) -> tuple[Value, int] | None:
    """The array and which of its rows the value is."""
    node = changes.made_by(value)
    if node is None:
        return None
    if node.op is unstacked and node.attribute("axis") == 0:
        return node.operands[0], node.results.index(value)
    if node.op is not getitem_basic and not (node.op is element and value.type.ndim == 0):
        return None
    x, items = node.operands[0], node.attribute("index").items
    if not (items and x.type.shape):
        return None
    first, *rest = items
    length = changes.dims(x)[0]
    if type(first) is not int or any(type(i) is int or i != slice(None) for i in rest):
        return None
    if isinstance(length, int):
        return x, first % length
    return (x, first) if first >= 0 else None


class Run(NamedTuple):
    """The rows from `start` on, so many, as one array."""

    start: int
    length: int
    array: Value


@dataclass(eq=False)
class Parts:
    """What an array is put together from: all that its rows depend on, and where all are made."""

    behind: set[Value]
    ready: int


@dataclass(eq=False)
class Family:
    """The same call in several turns (`op` None: rows themselves), by the row that the turn reads.

    `runs` are the arrays that hold rows next to each other, once they are made: of all `parts`, on
    which no call may depend that is done at once with them.
    """

    op: Op | None
    operands: tuple[Value | Family, ...]
    attributes: dict[str, Any]
    members: dict[int, Value]
    name: str | None
    parts: tuple[Parts, ...] = ()
    runs: list[Run] = field(default_factory=list)

    def run_with(self, row: int) -> Run:
        """The array that has the row."""
        for run in self.runs:
            if run.start <= row < run.start + run.length:
                return run
        raise CodegenError(f"no array was made that has row {row}")

    def in_stretches(self) -> Iterator[int]:
        """The rows that are next to each other, where that are enough."""
        for start, count in stretches(self.members):
            yield from range(start, start + count)


def arrays_of_rows(changes: Changes) -> Iterator[Family]:
    """The arrays of which the block reads several rows."""
    rows: dict[Value, dict[int, Value]] = {}
    for node in changes.block.nodes:
        for result in node.results:
            found = row_of(changes, result)
            if found is not None and result.type.dtype in FLOATS:
                rows.setdefault(found[0], {}).setdefault(found[1], result)
    for array, members in rows.items():
        if len(members) >= FEWEST:
            family = Family(None, (), {}, members, array.origin.name)
            family.runs = [Run(0, max(members) + 1, array)]
            yield family


def families(changes: Changes, bases: Sequence[Family]) -> list[Family]:
    """What the block does, turn by turn, with rows of the bases and of what it makes of them."""
    of: dict[Value, tuple[Family, int]] = {}
    for family in bases:
        of.update((value, (family, i)) for i, value in family.members.items())
    known: dict[Hashable, Family] = {}
    for index, node in enumerate(changes.block.nodes):
        if not isinstance(node, Call) or not (elementwise(node) or node.op is matmul):
            continue
        rows = [of.get(v) for v in node.operands]
        places = {row[1] for row in rows if row is not None}
        if len(places) != 1 or not _stay_rows(changes, node, rows):
            continue
        operands = tuple(
            value if row is None else row[0] for row, value in zip(rows, node.operands, strict=True)
        )
        parts = dict.fromkeys(part for row in rows if row is not None for part in row[0].parts)
        if any(result in part.behind for part in parts for result in node.results):
            continue
        if changes.strict and any(index < part.ready for part in parts):
            continue
        key = (node.op, attributes_key(changes.sizes, node), operands)
        if key not in known:
            name = _name_of(node, operands)
            attributes = dict(node.attributes)
            known[key] = Family(node.op, operands, attributes, {}, name, tuple(parts))
        (i,) = places
        known[key].members[i] = node.results[0]
        of[node.results[0]] = known[key], i
    return list(known.values())


def _stay_rows(changes: Changes, call: Call, rows: Sequence[tuple[Family, int] | None]) -> bool:
    """Whether the call does to the whole array what it does to a row."""
    result = call.results[0]
    if call.op is matmul:
        (a, b), (of_a, of_b) = call.operands, rows
        if {a.type.dtype, b.type.dtype} != {result.type.dtype} or (of_a and of_b):
            return False
        if result.type.dtype not in FLOATS or a.type.ndim > 2 or b.type.ndim > 2:
            return False
        return of_a is not None or b.type.ndim == 1
    shape = changes.dims(result)
    return all(
        v.type.ndim <= len(shape) if row is None else changes.dims(v) == shape
        for v, row in zip(call.operands, rows, strict=True)
    )


def _name_of(call: Call, operands: Sequence[Value | Family]) -> str | None:
    """What the array is called that holds the results of all turns."""
    origin = call.results[0].origin
    if origin.final and origin.name:
        return f"{origin.name}s"
    if call.op is matmul:
        names = [o.name if isinstance(o, Family) else o.origin.name for o in operands]
        return "_".join(name for name in names if name)
    if not origin.section:
        return None
    rows = [operand for operand in operands if isinstance(operand, Family)]
    states = all(not v.origin.section for row in rows for v in row.members.values())
    if states or any(row.name == SLOPES for row in rows):
        return SLOPES
    return f"{origin.name}s" if origin.name else None


def stretches(places: Collection[int]) -> Iterator[tuple[int, int]]:
    """Start and length of every stretch of places next to each other, where that are enough."""
    ordered = sorted(places)
    begin = 0
    for end in range(1, len(ordered) + 1):
        if end == len(ordered) or ordered[end] != ordered[end - 1] + 1:
            if end - begin >= FEWEST:
                yield ordered[begin], end - begin
            begin = end


def make_at_once(changes: Changes, found: Sequence[Family]) -> None:
    """The arrays of the families, and rows of them for what the turns made."""
    lifted = {family.members[i] for family in found for i in family.in_stretches()}
    rows: list[tuple[Value, Value, int]] = []
    for family in found:
        for start, count in stretches(family.members):
            values = [family.members[i] for i in range(start, start + count)]
            with suppress(CodegenError):  # lengths that nothing shows to be equal
                array = _made(changes, family, start, values, lifted)
                _leave_out_terms(changes, values, lifted)
                family.runs.append(Run(start, count, array))
                rows += [(value, array, i) for i, value in enumerate(values)]
    for value, array, i in rows:
        at = changes.place[value]
        changes.instead[value] = changes.row(at, array, i, changes.named.get(value, value.origin))


def _made(
    changes: Changes, family: Family, start: int, values: Sequence[Value], lifted: Collection[Value]
) -> Value:
    """The call of a family on all rows of a stretch, where the first of the turns has its own."""
    first, count = min(values, key=changes.place.__getitem__), len(values)
    at, origin = changes.place[first], first.origin.named(family.name, family.name is not None)
    arrays = []
    terms = _common_terms(changes, values, lifted)
    for operand in family.operands:
        if isinstance(operand, Family):
            run = operand.run_with(start)
            part = origin.named(operand.name)
            operand = changes.part(at, run.array, start - run.start, count, part)
        arrays.append(operand)
    assert family.op is not None
    if family.op is not matmul:
        array = changes.emit(at, family.op, *arrays, origin=origin, **family.attributes)
        return _with_terms(changes, at, array, terms, origin)
    a, b = arrays
    inner = origin.named(origin.name)
    if isinstance(family.operands[1], Family):  # vectors on the right
        a, b = b, a
        if b.type.ndim == 2:
            b = changes.emit(at, transpose_axes, b, axes=None, origin=inner)
    array = changes.emit(
        at, matmul, changes.flat(at, a, inner.named(a.origin.name)), b, origin=origin
    )
    flat = [term for term in terms if term.type.ndim < array.type.ndim]
    array = _with_terms(changes, at, array, flat, origin)
    if a.type.ndim > 2:
        shape = (*a.type.shape[:-1], *array.type.shape[1:])
        array = changes.reshaped(at, array, shape, origin)
    return _with_terms(changes, at, array, [t for t in terms if t not in flat], origin)


def _with_terms(
    changes: Changes, at: int, array: Value, terms: Sequence[Value], origin: Origin
) -> Value:
    for term in terms:
        array = changes.emit(at, add, array, term, origin=origin)
    return array


def _common_terms(
    changes: Changes, values: Sequence[Value], lifted: Collection[Value]
) -> list[Value]:
    """What every turn adds to its row: b in ``x_t @ w + h_t @ u + b``."""
    first = min(changes.place[value] for value in values)
    sums = _sums_apart(changes, values)
    for found in sums:
        for call, _, _ in found:
            if call.results[0] in changes.instead or call.results[0] in lifted:
                return []
    shared = set.intersection(*({term for _, term, _ in found} for found in sums))
    terms = [term for _, term, _ in sums[0] if term in shared]
    return [term for term in terms if changes.place.get(term, -1) < first]


def _leave_out_terms(changes: Changes, values: Sequence[Value], lifted: Collection[Value]) -> None:
    """What the array has already is added no more."""
    terms = _common_terms(changes, values, lifted)
    for found in _sums_apart(changes, values):
        for call, term, rest in found:
            if term in terms:
                changes.leave_out(call.results[0], rest)


Addition: TypeAlias = "tuple[Call, Value, Value]"


def _sums_apart(changes: Changes, values: Sequence[Value]) -> list[list[Addition]]:
    """The additions that each of the values goes through, and no other one with it.

    What is added once to the sum of all turns is added to none of them.
    """
    sums = [list(_sums_of(changes, value)) for value in values]
    met = Counter(call for found in sums for call, _, _ in found)
    return [[addition for addition in found if met[addition[0]] == 1] for found in sums]


def _sums_of(changes: Changes, value: Value) -> Iterator[Addition]:
    """The additions that a value goes through unread: each with what is added, and to what."""
    shape = changes.dims(value)
    while (call := changes.only_reader(value)) is not None and call.op is add:
        result = call.results[0]
        other = call.operands[1 - call.operands.index(value)]
        if changes.dims(result) != shape or result.type.dtype != value.type.dtype:
            return
        yield call, other, value
        value = result
