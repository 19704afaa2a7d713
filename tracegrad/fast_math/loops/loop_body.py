"""The turns of a loop over a range as rows of arrays, where lengths tell how many."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from codegen import sizes as sz
from codegen.ir import Again, Builder, Call, Constant, Graph, Loop, Node, Origin, Trait, Value
from codegen.sizes import Dim, Size, Sizes, SliceLength
from codegen.spelling import Slot, Subscript
from codegen.told_lengths import number_in_lengths
from codegen.types import LIST, weak
from tracegrad.differentiation.batched_values import batching_rule, on_each
from tracegrad.ops.elementwise.ufuncs import add, subtract
from tracegrad.ops.python_lists import collected
from tracegrad.ops.shape.indexing import gather, getitem_basic
from tracegrad.ops.shape.joining import part_of

FIRST = Subscript((Slot(0),))
INT = weak("int")


@dataclass(frozen=True)
class Span:
    """The numbers that count the turns of a loop: from `first` on, as many as there are `turns`.

    That is ``max(0, of - without)``: `of` is a sum of lengths, from which the first rows and the
    last ones are missing.
    """

    first: int
    of: Dim
    without: int

    @property
    def turns(self) -> Dim:
        return sz.slice_length(self.of, slice(self.without or None, None))

    def behind(self, sizes: Sizes, rows: Dim, start: int) -> int | None:
        """How many of so many rows are behind those of the turns, the first of which is `start`.

        None where nothing shows that all of these are there.
        """
        for turns in (sz.add(self.of, -self.without), self.turns):
            rest = sizes.resolve(sz.add(sz.minus(_whole(rows), _whole(turns)), -start))
            if isinstance(rest, int) and rest >= 0 <= start:
                return rest
        return None


def _whole(dim: Dim) -> Dim:
    """The length of ``x[k:]`` as that of x less k, which it is where that has more."""
    atom = dim.atom() if isinstance(dim, Size) else None
    if isinstance(atom, SliceLength) and (atom.stop, atom.step) == (None, None):
        return sz.add(atom.of, -(atom.start or 0))
    return dim


def span_of(graph: Graph, loop: Loop) -> Span | None:
    """The numbers of a loop that counts up or down by 1, where its ends are known from lengths."""
    counter = loop.counter
    if counter is None or counter.step not in (1, -1):
        return None
    ends = [number_in_lengths(graph, value) for value in (counter.start, counter.stop)]
    if counter.step < 0:
        ends = [None if end is None else sz.add(end, 1) for end in reversed(ends)]
    first, stop = (end if end is None else graph.sizes.resolve(end) for end in ends)
    if stop is None or not isinstance(first, int) or first < 0:
        return None
    if isinstance(stop, int):
        return Span(first, max(stop, first), first)
    factors = dict(stop.terms)
    less = min(factors.pop((), 0), 0)
    if any(factor < 0 for factor in factors.values()):
        return None
    return Span(first, sz.add(stop, -less), first - less)


@dataclass(frozen=True)
class Read:
    """A row that a turn reads: of these rows, the first turn the one at `start`."""

    rows: Value
    start: int
    rest: int


class Turn:
    """The nodes of a turn, by what they need: nothing of it, its number, or what turns carry on.

    `alike` do the same in every turn. `reads` are rows of arrays that were there before the loop;
    `wide` is what is computed of such rows, and alike values, alone. All else waits for its turn.
    """

    def __init__(self, graph: Graph, loop: Loop, span: Span) -> None:
        self.graph = graph
        self.loop = loop
        self.span = span
        self.nodes = loop.turn.nodes[:-1]
        self.again: Again = loop.turn.nodes[-1]  # type: ignore[assignment]
        assert loop.counter is not None
        self.index = loop.counter.index
        self.places: dict[Value, int] = {self.index: 0}  # numbers, as the turn's and so many more
        self.alike: set[Value] = set()
        self.reads: dict[Value, Read] = {}
        self.wide: set[Value] = set()
        self.maker: dict[Value, Node] = {r: node for node in self.nodes for r in node.results}
        self.made = {*self.maker, *loop.results}
        for node in self.nodes:
            self._learn(node)

    def _learn(self, node: Node) -> None:
        inside = [v for v in node.operands if v in self.made and v not in self.alike]
        if not inside:
            self.alike.update(node.results)
        elif isinstance(node, Call) and not self._is_place(node):
            read = self._read(node)
            if read is not None:
                self.reads[node.results[0]] = read
            elif is_batched(node) and all(v in self.wide or v in self.reads for v in inside):
                self.wide.update(node.results)

    def _is_place(self, call: Call) -> bool:
        """Notes ``i + 1``."""
        if call.op not in (add, subtract) or call.operands[0] not in self.places:
            return False
        by = self.graph.constant(call.operands[1])
        if by is None or type(by.value) is not int:
            return False
        more = by.value if call.op is add else -by.value
        self.places[call.results[0]] = self.places[call.operands[0]] + more
        return True

    def _read(self, call: Call) -> Read | None:
        """``x[i + 1]`` of an array from before the loop, which has it in every turn."""
        if call.op is not gather or call.attribute("index") != FIRST:
            return None
        rows, place = call.operands
        return None if rows in self.made else self.rows_of(rows, place)

    def rows_of(self, rows: Value, place: Value) -> Read | None:
        """The rows of an array at a number of each turn, if there are as many."""
        if place not in self.places:
            return None
        start = self.span.first + self.places[place]
        rest = self.span.behind(self.graph.sizes, rows.type.shape[0], start)
        return None if rest is None else Read(rows, start, rest)

    def behind(self, values: set[Value]) -> set[Value]:
        """The values and all of the turn that they are made of."""
        found = set(values)
        for node in reversed(self.nodes):
            if found.intersection(node.results):
                found.update(v for v in node.operands if v in self.maker)
        return found

    @property
    def waiting(self) -> set[Value]:
        """What is made in the turn and waits for others."""
        return {v for v in self.made if v not in self.alike | self.wide | self.reads.keys()}

    @property
    def filled(self) -> Mapping[Value, Read]:
        """The values that a turn puts at a row of an array that it hands on, and these rows."""
        table: dict[Value, Read] = {}
        given = dict(zip(self.again.arguments, self.loop.parameters, strict=True))
        for node in self.nodes:
            if not isinstance(node, Call) or node.op is not collected:
                continue
            rows, value, place = node.operands
            read = self.rows_of(rows, place)
            if given.get(node.results[0]) is rows and read is not None:
                table[value] = read
        return table


def turn_of(graph: Graph, loop: Loop) -> Turn | None:
    """The turn of a loop that goes on straight to the next one, in any case, and only computes."""
    span, nodes = span_of(graph, loop), loop.turn.nodes
    if span is None or not nodes or not isinstance(nodes[-1], Again) or loop.after is None:
        return None
    computes = (
        isinstance(n, Constant) or (isinstance(n, Call) and Trait.EFFECT not in n.op.traits)
        for n in nodes[:-1]
    )
    if nodes[-1].label is not loop.label or not all(computes):
        return None
    if loop.counter is not None and loop.counter.length is not None:  # rows are not of one length
        return None
    return Turn(graph, loop, span)


def is_batched(call: Call) -> bool:
    """Whether a call can be done for all turns at once, and gives arrays."""
    values = (*call.operands, *call.results)
    if any(v.type == LIST for v in values) or any(v.type.weak for v in call.results):
        return False
    return batching_rule(call.op) is not on_each


def rows_at(builder: Builder, read: Read, span: Span, origin: Origin) -> Value:
    """The rows of an array that the turns read, in the order of their numbers."""
    rows, start, rest = read.rows, read.start, read.rest
    if not start and not rest:
        return rows
    cut = slice(start or None, -rest or None)
    if sz.slice_length(builder.sizes.resolve(rows.type.shape[0]), cut) == span.turns:
        return builder.call(getitem_basic, (rows,), origin, index=Subscript((cut,)))[0]
    stop = sz.add(span.turns, start) if rest else None
    known = {"axis": 0, "start": start, "stop": stop, "length": span.turns}
    return builder.call(part_of, (rows,), origin, **known)[0]


def place_of(builder: Builder, index: Value, first: int) -> Value:
    """The number of the row that the turn has in an array with one for each turn."""
    if not first:
        return index
    op = subtract if first > 0 else add
    return builder.call(op, (index, builder.constant(abs(first), INT)))[0]
