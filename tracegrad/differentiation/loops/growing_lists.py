"""Cotangents of lists that loops fill to a length that the data tell.

Behind the loop such a list is an array (`listed_rows`), whose cotangent is that of the list all the
time: a turn that goes back takes from it the rows of what the turn has appended. A tape adds up
cotangents reader by reader, the last reader first; where rows could come in another order, the loop
has no such form.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence, Set
from dataclasses import dataclass
from typing import Any, TypeAlias

from codegen.ir import Builder, Call, Graph, Loop, Node, Origin, Value, walk
from codegen.types import LIST
from tracegrad.differentiation.loops.cotangent_flow import handed_on, has_one_reader
from tracegrad.differentiation.loops.residuals import Unrollable
from tracegrad.differentiation.loops.row_numbers import Row, Span
from tracegrad.differentiation.reverse_mode import Reverse
from tracegrad.ops.elementwise.ufuncs import add, subtract, where
from tracegrad.ops.python_lists import (
    AT_ROW,
    FILLING,
    length,
    list_item,
    listed_rows,
    row_before,
)
from tracegrad.ops.shape.indexing import add_at, gather, set_at, subtract_at

Cotangents: TypeAlias = "dict[Value, Value]"

SUMS = frozenset({add, subtract, add_at, subtract_at, set_at, where})
"""Ops that may have put a cotangent together of several."""


@dataclass(frozen=True)
class Begun:
    """Parameters that are the items before: that of the turn before, of the one before that, ...

    What comes to an item from its readers in turns is added, one by one, to what its row has. The
    turn that reads it last begins with the row.
    """

    parameters: tuple[Value, ...]
    rows: Value
    first: int  # the number of the row of the first turn
    before: int  # so many of them begin with the items before that

    @property
    def lowest(self) -> int | None:
        """The number of the first row that a turn begins with, if some begin with none."""
        return None if self.before == len(self.parameters) else self.first - self.before


def items_in(nodes: Iterable[Node]) -> list[Call]:
    """The reads of items of lists."""
    return [node for node in nodes if isinstance(node, Call) and node.op is list_item]


def row_at(ct: Value, k: Value, builder: Builder, origin: Origin) -> Value:
    """One row of the cotangent of a list."""
    return builder.call(gather, (ct, k), origin, **AT_ROW)[0]


class GrowingLists:
    """What goes back through turns that append to such lists."""

    graph: Graph
    reverse: Reverse
    active: set[Value]
    flowing: Set[Value]
    met: dict[Value, tuple[Row | Span, ...]]
    teller: dict[Value, Value]

    def _call(self, op: Any, *operands: Value, origin: Origin | None = None) -> Value:
        raise NotImplementedError

    def _number(self, value: int) -> Value:
        raise NotImplementedError

    def _named(self, value: Value, ct: Value) -> Origin:
        raise NotImplementedError

    def _has_rows(self, ct: Value, needed: Span | None) -> bool:
        raise NotImplementedError

    def _put_in(self, array: Value) -> tuple[Value, Value] | None:
        """What was put last into the array of a list, and where."""
        made = self.graph.producer.get(array)
        known = isinstance(made, Call) and made.op in FILLING
        return (made.operands[1], made.operands[2]) if known else None  # type: ignore[union-attr]

    def _put_in_turn(self, array: Value) -> Value:
        """The list that a call has appended to."""
        return self.graph.producer[array].operands[0]

    def _appended(self, rows: Value) -> Iterator[Value]:
        """What turns append to a list that grows."""
        for array in self.graph.given[rows][1:]:
            while (put := self._put_in(array)) is not None:
                yield put[0]
                array = self._put_in_turn(array)

    def _flows(self, node: Node) -> bool:
        """Whether what a node reads may get a cotangent from it."""
        return not isinstance(node, Call) or not self.flowing.isdisjoint(node.results)

    def _require_order(self, loop: Loop, cts: Cotangents) -> None:
        """Raises `Unrollable` where cotangents of a list that grows would be added up otherwise.

        What is appended is made in that turn; where it goes on, one reader at most adds to it.
        """
        lists = [p for p in loop.parameters if p.type == LIST and p in cts]
        if not lists:
            return
        nodes = [*walk(loop.turn.nodes)]
        made = {r for node in nodes if isinstance(node, Call) for r in node.results}
        for rows in lists:
            put = [v for v in self._appended(rows) if v in self.active]
            if not made.issuperset(put):
                raise Unrollable("turns append to a list what they have not made")
            known = {begun.parameters[0] for begun in self._last_of(loop, rows)}
            others = handed_on(loop, nodes, put) - known
            if not cts.keys().isdisjoint(others):
                self._require_one_term(rows)
            for parameter in others:
                if parameter in self.active and not has_one_reader(loop, parameter, self.flowing):
                    raise Unrollable("an item of a list goes on to turns, which read it often")

    def _last_of(self, loop: Loop, rows: Value) -> list[Begun]:
        """The parameters that are the last item of a list that grows, and are read often."""
        found = []
        first = self.graph.producer[self.graph.given[rows][0]].operands
        ways = [self._put_in(array) for array in self.graph.given[rows][1:]]
        alone = all(
            array is rows or (put is not None and self._put_in_turn(array) is rows)
            for array, put in zip(self.graph.given[rows][1:], ways, strict=True)
        )
        for parameter in loop.parameters if alone else ():
            begin, *given = self.graph.given[parameter]
            is_last = given == [parameter if put is None else put[0] for put in ways]
            if not is_last or parameter not in self.active:
                continue
            if not has_one_reader(loop, parameter, self.flowing):
                held = int(bool(first) and first[-1] is begin)
                found.append(Begun((parameter,), rows, len(first), held))
        return found

    def _listed(self, nodes: Sequence[Node]) -> tuple[int, Call] | None:
        """Where straight code makes an array of a list that grows, last."""
        for at in reversed(range(len(nodes))):
            node = nodes[at]
            if isinstance(node, Call) and node.op is listed_rows and node.results[0] in self.active:
                return at, node
        return None

    def _as_listed(self, node: Call, before: Sequence[Node], cts: Cotangents) -> Cotangents:
        """Cotangents of the rows of such an array as those of the list's items of this turn.

        These come from the list, and from one reader behind it at most.
        """
        found, (rows,), (saved,) = dict(cts), node.results, node.operands
        ct = found.pop(rows, None)
        if ct is None:
            return found
        if rows in self.teller and found.pop(self.teller[rows], None) is not None:
            raise Unrollable("nobody knows whether gradients flow to items of a list")
        if not self._has_rows(ct, (0, rows.type.shape[0])):
            raise Unrollable("nobody knows which items of a list gradients flow to")
        self.met.pop(ct, None)
        size = rows.type.shape[0]
        (k,) = self.reverse.builder.call(length, (), Origin(section="backward"), size=size)
        appended = self._put_in(saved) is not None
        while self._put_in(saved) is not None:
            saved, value, k = self.graph.producer[saved].operands
            if value in self.active:
                row = row_at(ct, k, self.reverse.builder, self._named(value, ct))
                found[value] = self._with_row(row, found.get(value), node)
        if saved in found:
            raise Unrollable("a list is an array in two places")
        loop = self.graph.producer.get(saved)
        for begun in self._last_of(loop, saved) if isinstance(loop, Loop) else ():
            (parameter,) = begun.parameters
            always = begun.lowest is None or not (appended or begun.first)
            if not always and not any(parameter in n.operands and self._flows(n) for n in before):
                raise Unrollable("gradients flow to some items of a list alone")
            row = self._row_before(ct, k, begun, parameter)
            found[parameter] = self._with_row(row, found.get(parameter), node)
        return {**found, saved: ct}

    def _row_before(self, ct: Value, k: Value, begun: Begun, parameter: Value) -> Value:
        """What the parameter begins with: the row of the item that it is, before the k-th."""
        given = {"first": begun.lowest, "axes": ct.type.ndim > 1}
        origin = self._named(parameter, ct)
        return self.reverse.builder.call(row_before, (ct, k), origin, **given)[0]

    def _with_row(self, row: Value, other: Value | None, listed: Call) -> Value:
        """The row of an item, with what flows to it from behind the list: one term of each."""
        if other is None:
            return row
        made = self.reverse.builder.producer.get(other)
        is_sum = not isinstance(made, Call) or made.op in SUMS
        if is_sum or not self._has_one_term(listed.results[0]):
            raise Unrollable("an item of a list is read often behind the loop")
        return self._call(add, other, row, origin=other.origin)

    def _require_one_term(self, rows: Value) -> None:
        """Raises `Unrollable` where several terms flow to rows of a list that grows."""
        for node in self.graph.all_nodes:
            if isinstance(node, Call) and node.op is listed_rows:
                (saved,) = node.operands
                while self._put_in(saved) is not None:
                    saved = self._put_in_turn(saved)
                if saved is rows and not self._has_one_term(node.results[0]):
                    raise Unrollable("an item of a list is read often behind the loop")

    def _has_one_term(self, rows: Value) -> bool:
        """Whether one reader at most adds to the cotangent of a row."""
        readers = [node for node in self.graph.users.get(rows, ()) if self._flows(node)]
        items = [node for node in readers if items_in([node])]
        of_items = [n for r in items for n in self.graph.users.get(r.results[0], ())]
        return len(readers) <= 1 and sum(map(self._flows, of_items)) <= 1

    def _unlist_first(
        self, made: Call, ct: Value, kept: Cotangents, known_by_now: Set[Value]
    ) -> None:
        """Cotangents of what a list begins with that grows."""
        for k, value in enumerate(made.operands):
            if value not in self.active or value in known_by_now:
                continue
            if value in kept:
                raise Unrollable("one array stands in two lists")
            kept[value] = row_at(ct, self._number(k), self.reverse.builder, self._named(value, ct))
