"""Makes the operands of several turns rows of one array."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from codegen.ir import (
    Call,
    Origin,
    Value,
)
from codegen.types import ArrayType
from tracegrad.fast_math.unrolled.batched_calls import (
    Family,
    Parts,
    Run,
    arrays_of_rows,
    families,
    make_at_once,
    row_of,
    stretches,
)
from tracegrad.fast_math.unrolled.block_edits import Changes, elementwise
from tracegrad.fast_math.unrolled.row_ops import ROW_OPS, rows_of, written
from tracegrad.fast_math.unrolled.sum_terms import Member, Term
from tracegrad.ops.shape.reshaping import transpose_axes


@dataclass(eq=False)
class Stack:
    """Operands of several turns that are to be the rows of one array.

    They can be from `ready` on; the array is made before the node at `at`, and must be by `latest`.
    """

    members: list[Member]
    ready: int
    at: int
    latest: int
    used: bool = True
    array: Value | None = None
    rows: tuple[Value, int] | None = None  # of the array that they are rows of, from which on

    @property
    def name(self) -> str | None:
        """What the array is called: after what all its rows are called."""
        names = {member.value.origin.name for member in self.members}
        name = names.pop() if len(names) == 1 else None
        return f"{name}s" if name else None


class Part(NamedTuple):
    """Rows, next to each other, of a stack or of an array that is there."""

    whole: Stack | Value
    start: int
    length: int


@dataclass(eq=False)
class Total:
    """A sum, the values that take the place of some of its terms, and the terms that are left."""

    result: Value
    at: int
    latest: int
    terms: list[Term]
    batches: list[tuple[Term, Part, Part | None]] = field(default_factory=list)


class Stacks:
    """The stacks of a block, and which values are in one."""

    def __init__(self, changes: Changes) -> None:
        self.changes = changes
        self.all: list[Stack] = []
        self.where: dict[Member, tuple[Stack, int]] = {}
        self._written()

    def _written(self) -> None:
        """Rows that were written over are stacked already."""
        changes = self.changes
        rows: dict[Value, dict[int, Value]] = {}
        row_ops = set(ROW_OPS.values())
        for node in changes.block.nodes:
            if isinstance(node, Call) and node.op in row_ops:
                rows.setdefault(node.operands[0], {})[node.attribute("index")] = node.results[0]
        last = changes.first_reader(Value(ArrayType("bool")))
        for array, values in rows.items():
            for start, count in stretches(values):
                members = [Member(values[i]) for i in range(start, start + count)]
                ready = max(changes.place[member.value] for member in members) + 1
                stack = Stack(members, ready, last, last, False, None, (array, start))
                self.all.append(stack)
                self.where.update((member, (stack, i)) for i, member in enumerate(members))

    def find(self, member: Member) -> tuple[Stack | Value, int] | None:
        """The stack or array that the member is a row of, and which one."""
        if member in self.where:
            return self.where[member]
        return None if member.turned else row_of(self.changes, member.value)

    def order(self, members: Sequence[Member]) -> list[int] | None:
        """The order in which members are rows next to each other of one thing, if they are."""
        found = [self.find(member) for member in members]
        rows = [row for row in found if row is not None]
        if len(rows) < len(found) or len({whole for whole, _ in rows}) != 1:
            return None
        places = [place for _, place in rows]
        order = sorted(range(len(places)), key=places.__getitem__)
        lowest = places[order[0]]
        if [places[i] for i in order] != list(range(lowest, lowest + len(order))):
            return None
        return order

    def largest(self, members: Sequence[Member]) -> set[int]:
        """Which of the members are rows next to each other of one thing: of that with the most."""
        parts: dict[Stack | Value, list[int]] = {}
        for i, member in enumerate(members):
            found = self.find(member)
            if found is not None:
                parts.setdefault(found[0], []).append(i)
        largest = max(parts.values(), key=len, default=[])
        return set(largest) if self.order([members[i] for i in largest]) else set()

    def part(self, members: Sequence[Member], total: Total) -> Part:
        """The members in order as rows of one array: one that there is, or a new one."""
        first = self.find(members[0])
        if first is not None and self.order(members) == list(range(len(members))):
            whole, start = first
            if not isinstance(whole, Stack):
                return Part(whole, start, len(members))
            if whole.ready <= total.latest:
                total.at = max(total.at, whole.ready)
                whole.used = True
                whole.at, whole.latest = min(whole.at, total.at), min(whole.latest, total.latest)
                return Part(whole, start, len(members))
        place = self.changes.place
        ready = max(place.get(member.value, -1) for member in members) + 1
        stack = Stack(list(members), ready, total.at, total.latest)
        self.all.append(stack)
        for i, member in enumerate(members):
            self.where.setdefault(member, (stack, i))
        return Part(stack, 0, len(members))


def extend(changes: Changes, stacks: Stacks, stack: Stack) -> None:
    """Takes in the state of the last turn, with which the block does what it does with the others.

    Sums of products have the states before each turn; slopes are of those after.
    """
    last = stack.members[-1]
    readers = [node for node in changes.readers(last.value) if isinstance(node, Call)]
    ops = {node.op for node in readers if elementwise(node)}
    origin, shape = last.value.origin, changes.dims(last.value)
    if last.turned or not origin.final or not ops or stack.rows is not None:
        return
    for node in changes.block.nodes[stack.ready : stack.latest]:
        if not isinstance(node, Call) or node.op not in ops:
            continue
        for value in node.operands:
            here = changes.place.get(value, -1)
            alike = _variable(value.origin) == _variable(origin)
            if (
                alike
                and changes.place.get(last.value, -1) < here < stack.at
                and Member(value) not in stacks.where
                and value.type.dtype == last.value.type.dtype
                and changes.dims(value) == shape
            ):
                stacks.where[Member(value)] = stack, len(stack.members)
                stack.members.append(Member(value))
                stack.ready = max(stack.ready, here + 1)
                return


def _variable(origin: Origin) -> tuple[Hashable, ...]:
    """The statement and the variable that a value is of."""
    return origin.name, origin.final, origin.section, origin.file, origin.line


def lift_rows(changes: Changes) -> None:
    """Work on rows of an array that depends on nothing else of the turn, done on the array."""
    lift(changes, Stacks(changes))


def lift(changes: Changes, stacks: Stacks) -> None:
    """Work on rows of arrays and of stacks that no other turn decides, done on the whole."""
    bases = list(arrays_of_rows(changes))
    stacked = []
    for stack in stacks.all:
        start = stack.rows[1] if stack.rows is not None else 0
        members = {start + i: m.value for i, m in enumerate(stack.members) if not m.turned}
        parts = Parts(changes.behind(m.value for m in stack.members), stack.ready)
        stacked.append(Family(None, (), {}, members, stack.name, (parts,)))
    found = families(changes, [*bases, *stacked])
    for stack, base in zip(stacks.all, stacked, strict=True):
        readers = [f.members[i] for f in found if base in f.operands for i in f.in_stretches()]
        first = min([stack.at, *(changes.place[value] for value in readers)])
        stack.at = max(first, stack.ready)
        if stack.used or readers:
            stack.array = put_together(changes, stack)
            start = stack.rows[1] if stack.rows is not None else 0
            base.runs = [Run(start, len(stack.members), stack.array)]
    make_at_once(changes, found)


def put_together(changes: Changes, stack: Stack) -> Value:
    """The array of a stack."""
    nodes = changes.block.nodes[stack.at : stack.at + 1]
    results = [result for node in nodes for result in node.results]
    origin = results[0].origin if results else stack.members[-1].value.origin
    name = stack.name
    at = stack.at
    if stack.rows is not None:
        array, start = stack.rows
        part = changes.part(at, array, start, len(stack.members), origin)
        named = origin.named(name, name is not None)
        return changes.emit(at, written, part, *(m.value for m in stack.members), origin=named)
    values = [
        changes.emit(
            at, transpose_axes, m.value, axes=None, origin=origin.named(m.value.origin.name)
        )
        if m.turned
        else m.value
        for m in stack.members
    ]
    named = origin.named(name or "stack", True)
    return changes.emit(at, rows_of, *values, origin=named)
