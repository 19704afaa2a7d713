"""Finds which rows the backward of a loop has met that reads lists filled by loops.

The cotangent of a list is an array with a row for each item. It begins as -0.0, which changes no
sum, and what comes to an item is added to what its row has by then: so sums are in a tape's order.
"No cotangent" is not zero: a loop that filled a list goes back with the cotangents of those rows
alone that are known to have one (`Rows`), by the numbers that other loops count with.
"""

from __future__ import annotations

from collections import Counter as Counted
from collections.abc import Callable, Container, Iterable, Iterator, Sequence, Set
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import Any

from codegen.ir import (
    Block,
    Branch,
    Builder,
    Call,
    Graph,
    Join,
    Loop,
    Node,
    Origin,
    Value,
    ends,
    inner_blocks,
    walk,
    with_operands,
)
from codegen.rewrite import substituted
from codegen.size_bounds import at_least
from codegen.sizes import Dim, mul
from codegen.sizes import add as add_dims
from codegen.spelling import Subscript
from codegen.types import LIST
from tracegrad.differentiation.loops.cotangent_flow import has_one_reader, with_cotangents
from tracegrad.differentiation.loops.growing_lists import (
    Begun,
    Cotangents,
    GrowingLists,
    items_in,
    row_at,
)
from tracegrad.differentiation.loops.negative_zeros import Unchanged
from tracegrad.differentiation.loops.residual_reads import Number
from tracegrad.differentiation.loops.residuals import INT as COUNT
from tracegrad.differentiation.loops.residuals import Facts, FirstTurn, Unrollable
from tracegrad.differentiation.loops.row_numbers import Row, Span, joined, row_of, span_of
from tracegrad.differentiation.reverse_mode import Reverse
from tracegrad.ops.elementwise.ufuncs import add, subtract
from tracegrad.ops.python_lists import (
    AT_ROW,
    FILLING,
    array_list,
    length,
    list_item,
    new_list,
    row_list,
)
from tracegrad.ops.shape.creation import full_of
from tracegrad.ops.shape.indexing import (
    add_at,
    element,
    getitem_basic,
    set_at,
)


def without_repeats(graph: Graph) -> Graph:
    """The graph where an item that is read again, under the same number, is the one read first."""
    counters = counters_of(graph)
    stands: dict[Value, Value] = {}

    def read(block: Block, known: dict[tuple[Value, Row], Value]) -> None:
        for node in block.nodes:
            row = row_of(graph.producer, node.operands[1], counters) if items_in([node]) else None
            if row is not None:
                first = known.setdefault((node.operands[0], row), node.results[0])
                if first is not node.results[0]:
                    stands[node.results[0]] = first
            for inner in inner_blocks(node):
                read(inner, dict(known))

    read(graph.block, {})
    if not stands:
        return graph
    return graph.with_block(substituted(graph.block, lambda v: stands.get(v, v)))


def counters_of(graph: Graph) -> frozenset[Value]:
    """The numbers that loops count with."""
    loops = (node for node in graph.all_nodes if isinstance(node, Loop))
    return frozenset(loop.counter.index for loop in loops if loop.counter is not None)


def lists_in(nodes: Iterable[Node]) -> list[Call]:
    """The lists of arrays that are made."""
    return [n for n in walk(nodes) if isinstance(n, Call) and n.op in (array_list, row_list)]


def through_lists(graph: Graph) -> Graph:
    """The graph where arrays in a list that turns read are read from that list, behind it.

    So all cotangents of such an array go to its row, one after the other, as a tape adds them up.
    """
    counters = counters_of(graph)
    read = {
        node.operands[0]
        for node in items_in(graph.all_nodes)
        if (row := row_of(graph.producer, node.operands[1], counters)) is None or row.times
    }
    if all(node.results[0] not in read for node in lists_in(graph.nodes)):
        return graph

    def rewritten(block: Block, known: dict[Value, tuple[Value, int]]) -> Block:
        builder = Builder(graph.sizes)

        def now(value: Value) -> Value:
            if value not in known:
                return value
            rows, k = known[value]
            return builder.call(list_item, (rows, builder.constant(k, COUNT)), value.origin)[0]

        for node in block.nodes:
            node = with_operands(node, now)
            if isinstance(node, Branch | Loop | Join):
                node = replace(node, blocks=tuple([rewritten(b, dict(known)) for b in node.blocks]))
            builder.append(node)
            listed = isinstance(node, Call) and node.op is array_list
            if listed and node.results[0] in read:
                known.update((v, (node.results[0], k)) for k, v in enumerate(node.operands))
        outputs = tuple(map(now, block.outputs))
        return block.with_nodes(tuple(builder.nodes), outputs)

    return graph.with_block(rewritten(graph.block, {}))


class Listing(GrowingLists):
    """What reads items of lists, and what a backward knows of rows that have a cotangent.

    `met` are the rows of a list's cotangent that are known to have one; an array that is not there
    has one in each row. Those of `fresh` have none yet where a turn reads, those of `vague` may
    have more. `read` are the values that anything reads.
    """

    graph: Graph
    reverse: Reverse
    dry: bool
    active: set[Value]
    counted: dict[Value, int]
    counters: frozenset[Value]
    lists: frozenset[Value]
    met: dict[Value, tuple[Row | Span, ...]]
    fresh: set[Value]
    vague: set[Value]
    read: set[Value]
    flowing: Set[Value]
    begun: dict[object, list[Begun]]  # of loops that go back

    def _call(self, op: Any, *operands: Value, origin: Origin | None = None) -> Value:
        raise NotImplementedError

    def _dry(self) -> AbstractContextManager[Builder]:
        raise NotImplementedError

    def _number(self, value: int) -> Value:
        raise NotImplementedError

    def _named(self, value: Value, ct: Value) -> Origin:
        raise NotImplementedError

    def _written(self, number: Number) -> Value:
        raise NotImplementedError

    def _teller(self, value: Value) -> Value:
        raise NotImplementedError

    def _carried(self, facts: Facts) -> set[Value]:
        raise NotImplementedError

    def _flowing(
        self, facts: Facts, turn: int, mine: Cotangents, sure: bool = False
    ) -> list[Cotangents]:
        raise NotImplementedError

    def _looked_at(
        self, facts: Facts, turn: int, mine: Cotangents, without: Value | None = None
    ) -> tuple[Block, list[Value]]:
        raise NotImplementedError

    def _is_unchanged(self, facts: Facts, turn: int, mine: Cotangents, new: Cotangents) -> bool:
        raise NotImplementedError

    def _learn_lists(self) -> None:
        self.counters = counters_of(self.graph)
        self.read = {v for node in self.graph.all_nodes for v in node.operands}
        self.read.update(v for end in ends(self.graph.block) for v in end.outputs)
        loops = [node for node in self.graph.all_nodes if isinstance(node, Loop)]
        parameters = (p for loop in loops for p in loop.parameters)
        filled = (p for p in parameters if any(map(self._is_filled, self.graph.given[p][1:])))
        self.lists = frozenset((*filled, *(n.results[0] for n in lists_in(self.graph.nodes))))
        self.flowing = with_cotangents(self.graph)
        self.met, self.fresh, self.vague, self.begun = {}, set(), set(), {}

    def _is_collected(self, value: Value) -> bool:
        made = self.graph.producer.get(value)
        begins = isinstance(made, Call) and made.op is new_list and bool(made.operands)
        return begins or (isinstance(made, Call) and made.op in FILLING)

    def _is_filled(self, value: Value) -> bool:
        """Whether it is an array of a list, to which a turn puts an item, or arms that meet do."""
        return any(map(self._is_collected, self._on_each_way(value)))

    def _on_each_way(self, value: Value) -> Iterator[Value]:
        """What a value is on the ways through arms that meet, as far as it is a parameter there."""
        waiting, seen = [value], set[Value]()
        while waiting:
            value = waiting.pop()
            if isinstance(self.graph.producer.get(value), Join):
                waiting += [v for v in self.graph.given[value] if v not in seen]
                seen.add(value)
            else:
                yield value

    def _row(self, value: Value) -> Row | None:
        return row_of(self.graph.producer, value, self.counters)

    def _items(self, nodes: Sequence[Node]) -> list[Call]:
        """The items that straight code reads of lists, to which cotangents may flow."""
        found = [
            node
            for node in items_in(nodes)
            if node.operands[0] in self.active and node.results[0] in self.read
        ]
        by_list: dict[Value, list[Row | None]] = {}
        for node in found:
            by_list.setdefault(node.operands[0], []).append(self._row(node.operands[1]))
        for rows in by_list.values():
            fixed = {r for r in rows if r is not None and r.index is None and type(r.plus) is int}
            others = [row for row in rows if row not in fixed]
            if len(others) + len(fixed) < len(rows):
                raise Unrollable("items of a list are read that may be one")
            for i, one in enumerate(others):
                for other in (*fixed, *others[:i]):
                    self._require_apart(one, other)
        return found

    def _require_apart(self, a: Row | None, b: Row | None) -> None:
        distance = None if a is None or b is None else a.minus(b)
        if distance is not None:
            sizes = self.graph.sizes
            if at_least(distance, 1, sizes) or at_least(0, add_dims(distance, 1), sizes):
                return
        raise Unrollable("items of a list are read that may be one")

    def _read_whole(
        self, nodes: Sequence[Node], items: Sequence[Call], cts: Container[Value]
    ) -> tuple[int, list[Call]] | None:
        """Where a list is read as a whole last, before items are; and those of them from there.

        What flows to these is added before what flows to the list there, as a tape does it. So is
        that before what flows to an item which several read before.
        """
        known = {item.results[0]: item for item in items}
        read = {value for value in known if value in cts}
        for at in reversed(range(len(nodes))):
            node = nodes[at]
            if not items_in([node]):
                of_it = [item for item in items if item.operands[0] in node.operands]
                behind = [item for item in of_it if item.results[0] in read]
                if behind or any(_is_read_often(item, nodes[:at]) for item in of_it):
                    return at, [item for item in behind if item in nodes[:at]]
            read.update(node.operands)
        return None

    def _loaded(
        self,
        items: Sequence[Call],
        cts: Cotangents,
        nodes: Sequence[Node],
        flowing: Callable[[], Container[Value]],
    ) -> Cotangents:
        """What items have by now, to which several readers add one by one: see `_stored`."""
        read = Counted(v for node in nodes if isinstance(node, Call) for v in node.operands)
        items = [node for node in items if node.operands[0] in cts]
        items = [n for n in items if n.results[0] in cts or read[n.results[0]] > 1]
        if not items:
            return {}
        with self._dry():
            reached = flowing()
        begun: Cotangents = {}
        for node in items:
            (rows, k), (item,) = node.operands, node.results
            ct = cts.get(rows)
            if ct is None or item not in reached or not self._may_be_met(ct, k):
                continue
            if item in cts:
                raise Unrollable("an item of a list goes on to turns, and is read again there")
            begun[item] = row_at(ct, k, self.reverse.builder, self._named(item, ct))
        return begun

    def _may_be_met(self, ct: Value, k: Value) -> bool:
        """Whether a row may have a cotangent."""
        return ct not in self.fresh and self._row_may_be_met(ct, self._row(k))

    def _row_may_be_met(self, ct: Value, row: Row | None) -> bool:
        sizes = self.graph.sizes
        if ct not in self.met or ct in self.vague or row is None or row.index is not None:
            return True
        return not all(
            isinstance(span, tuple)
            and (
                at_least(row.plus, span[1], sizes)
                or at_least(span[0], add_dims(row.plus, 1), sizes)
            )
            for span in self.met[ct]
        )

    def _stored(
        self, items: Sequence[Call], found: Cotangents, begun: Container[Value]
    ) -> Cotangents:
        """The cotangents with those of items in the rows of their lists.

        Those that were `begun` with their rows are the rows, others are added.
        """
        for node in sorted(items, key=lambda node: node.results[0] not in begun):
            (rows, k), (item,) = node.operands, node.results
            ct = found.pop(item, None)
            if ct is None:
                continue
            before = found.get(rows) or self._nothing(rows)
            origin = self._named(rows, before)
            put = add_at if item not in begun and self._may_be_met(before, k) else set_at
            (after,) = self.reverse.builder.call(put, (before, ct, k), origin, **AT_ROW)
            row = self._row(k)
            if before in self.met:
                self.met[after] = (*self.met[before], *((row,) if row is not None else ()))
            if before in self.vague or row is None:
                self.vague.add(after)
            found[rows] = after
        return found

    def _unlisted(self, node: Call, cts: Cotangents) -> Cotangents:
        """Cotangents of the rows of a list of arrays as those of the arrays."""
        found, (rows,) = dict(cts), node.results
        ct = found.pop(rows, None)
        if ct is None:
            return found
        if rows in self.teller and found.pop(self.teller[rows], None) is not None:
            raise Unrollable("nobody knows whether gradients flow to arrays of a list")
        if node.op is row_list:
            if not self._has_rows(ct, (0, rows.type.shape[0])):
                raise Unrollable("nobody knows to which arrays of a list gradients flow")
            return {**found, node.operands[0]: ct}
        read = element if rows.type.ndim == 1 else getitem_basic
        for k, value in enumerate(node.operands):
            if value not in self.active:
                continue
            if self._has_rows(ct, (k, k + 1)):
                if value in found:
                    raise Unrollable("an array of a list is read by others too")
                origin, place = self._named(value, ct), Subscript((k,))
                (found[value],) = self.reverse.builder.call(read, (ct,), origin, index=place)
            elif self._row_may_be_met(ct, Row(0, k, None)):
                raise Unrollable("nobody knows to which arrays of a list gradients flow")
        return found

    def _nothing(self, rows: Value) -> Value:
        """The cotangent of a list of which no item has one."""
        none = self.reverse.builder.constant(-0.0, replace(rows.type, shape=()))
        self.reverse.stage.origin = self._named(rows, none)
        staged = self.reverse.staged(none)
        whole: Value = full_of(staged, shape=rows.type.shape, dtype=rows.type.dtype).value
        self.met[whole] = ()
        return whole

    # -- loops ------------------------------------------------------------------------------------

    def _begun_with_rows(self, loop: Loop, cts: Cotangents) -> list[Begun]:
        """The parameters to which several readers in turns add, on top of the rows of a list."""
        read = Counted(v for node in walk(loop.turn.nodes) for v in node.operands)
        found: list[Begun] = []
        for rows in loop.parameters:
            if rows not in self.lists or rows not in cts or loop.counter is None:
                continue
            ways = [self._put_in(array) for array in self.graph.given[rows][1:]]
            start, row = self._row(loop.counter.start), self._row(ways[0][1]) if ways[0] else None
            if None in ways or start is None or row is None or row.times * loop.counter.step != 1:
                continue
            first = add_dims(mul([row.times, start.plus]), row.plus)
            first = self.graph.sizes.resolve(first)
            put = [way[0] for way in ways if way is not None]
            for parameter in loop.parameters:
                items = self._items_before(loop, parameter, put)
                readers = sum(read[p] for p in items) - (len(items) - 1)
                if readers >= 2 and self.active.issuperset(items) and type(first) is int:
                    found.append(Begun(items, rows, first, self._held_before(rows, items)))
        return found

    def _items_before(
        self, loop: Loop, parameter: Value, put: Sequence[Value]
    ) -> tuple[Value, ...]:
        """A parameter that is what the turn before has put into a list, and those it goes on to."""
        items: tuple[Value, ...] = ()
        following = [parameter]
        while (
            len(following) == 1
            and following[0] not in items  # it stays what it is
            and self.graph.given[following[0]][1:] == [*put]
        ):
            items = (*items, following[0])
            put = [following[0]] * len(put)
            following = [p for p in loop.parameters if self.graph.given[p][1:] == [*put]]
        return items

    def _held_before(self, rows: Value, items: Sequence[Value]) -> int:
        """How many of these parameters begin with the items that were put into a list last."""
        array = self.graph.given[rows][0]
        for i, parameter in enumerate(items):
            last = self._put_in(array)
            if last is None or last[0] is not self.graph.given[parameter][0]:
                return i
            array = self.graph.producer[array].operands[0]
        return len(items)

    def _enter_rows(self, loop: Loop, rows: Value, ct: Value, parameter: Value) -> None:
        """A loop begins to go back, with the cotangent of a list."""
        if ct not in self.met:
            return
        self.met[parameter] = ()
        read = [node for node in items_in(walk(loop.turn.nodes)) if node.operands[0] is rows]
        row = self._row(read[0].operands[1]) if len(read) == 1 else None
        counts = loop.counter is not None and row is not None and row.index is loop.counter.index
        if counts and self.met[ct] == () and ct not in self.vague:
            self.fresh.add(parameter)
        else:
            self.vague.add(parameter)

    def _leave_rows(
        self, loop: Loop, count: Dim | None, ct: Value, parameter: Value, after: Sequence[Value]
    ) -> None:
        """A loop has gone back through so many turns: the rows that it has met."""
        self.fresh.discard(parameter)
        self.vague.discard(parameter)
        if ct not in self.met or any(value not in self.met for value in after):
            self.met.pop(parameter, None)
            return
        ways = [self._spans(loop, count, self.met[value]) for value in after]
        always = [span for span in ways[0] if all(span in way for way in ways)] if ways else []
        known = {span for way in ways for span in way} <= {*always}
        whole = all(len(way) == len(self.met[v]) for way, v in zip(ways, after, strict=True))
        vague = ct in self.vague or any(value in self.vague - {parameter} for value in after)
        if vague or not known or not whole:
            self.vague.add(parameter)
        self.met[parameter] = (*self.met[ct], *always)

    def _spans(self, loop: Loop, count: Dim | None, met: Sequence[Row | Span]) -> list[Span]:
        """The rows that all turns have met which met these."""
        found: list[Span] = []
        for row in met:
            if not isinstance(row, Row):
                found.append(row)
            elif row.index is None:
                found.append((row.plus, add_dims(row.plus, 1)))
            elif count is not None and loop.counter and row.index is loop.counter.index:
                start = self._row(loop.counter.start)
                if start is not None and start.index is None:
                    stop = add_dims(start.plus, mul([count, loop.counter.step]))
                    span = span_of(row, start.plus, stop, loop.counter.step)
                    found += [] if span is None else [span]
        return found

    def _dim(self, count: Any) -> Dim | None:
        """A number of turns as a length."""
        if count.value is None:
            return count.plus  # type: ignore[no-any-return]
        made = self.reverse.builder.producer.get(count.value)
        if count.minus is not None or not isinstance(made, Call) or made.op is not length:
            return None
        return add_dims(made.attribute("size"), count.plus)

    def _has_rows(self, ct: Value, needed: Span | None) -> bool:
        """Whether the cotangent of a list is known to have one in each of these rows."""
        if ct not in self.met:
            return True
        sizes = self.graph.sizes
        spans = [span for span in self.met[ct] if not isinstance(span, Row)]
        spans += [(r.plus, add_dims(r.plus, 1)) for r in self.met[ct] if isinstance(r, Row)]
        return needed is not None and any(
            at_least(needed[0], low, sizes) and at_least(high, needed[1], sizes)
            for low, high in joined(spans, sizes)
        )

    def _lacking(
        self, facts: Facts, turns: tuple[Dim | None, Dim | None], mine: Cotangents
    ) -> list[Value]:
        """The lists to which these turns have put items that may have no cotangent, and need one.

        Where something flows to an item besides, as it does where its row is added to, -0.0 in that
        is no other than none.
        """
        loop, found = facts.loop, []
        added = {begun.rows for begun in self.begun.get(loop.label, ())}
        for rows in loop.parameters:
            if rows in added or rows not in self.lists or rows not in mine:
                continue
            if not self._have_rows(loop, rows, turns, mine):
                less = {v: ct for v, ct in mine.items() if v is not rows}
                for way in range(len(facts.turns)):
                    with_them = self._looked_at(facts, way, mine, rows)
                    without = self._looked_at(facts, way, less, rows)
                    same = Unchanged(self.graph.sizes, {mine[rows]})
                    if with_them[1] != without[1] or not same.by(with_them[0], without[0]):
                        found.append(rows)
                        break
        return found

    def _have_rows(
        self, loop: Loop, rows: Value, turns: tuple[Dim | None, Dim | None], mine: Cotangents
    ) -> bool:
        """Whether each item that these turns have put into a list is known to have a cotangent."""
        if mine[rows] not in self.met:
            return True
        return all(self._has_rows(mine[rows], span) for span in self._put(loop, rows, turns))

    def _put(
        self, loop: Loop, rows: Value, turns: tuple[Dim | None, Dim | None]
    ) -> Iterator[Span | None]:
        """The rows that these turns have put into a list; None where nobody knows which."""
        counter = loop.counter
        start = None if counter is None else self._row(counter.start)
        given = [v for value in self.graph.given[rows][1:] for v in self._on_each_way(value)]
        for argument in dict.fromkeys(given):
            put = self._put_in(argument)
            row = None if put is None else self._row(put[1])
            if row is None or start is None or turns[0] is None or turns[1] is None:
                yield None
                continue
            assert counter is not None
            first, last = (
                add_dims(start.plus, mul([n, counter.step])) for n in turns if n is not None
            )
            yield span_of(row, first, last, counter.step)

    def _require_none(
        self, loop: Loop, rows: Value, turns: tuple[Dim | None, Dim | None], ct: Value
    ) -> None:
        """Raises `Unrollable` where what these turns have put into a list may have a cotangent."""
        sizes = self.graph.sizes
        met = [span for span in self.met[ct] if not isinstance(span, Row)]
        met += [(r.plus, add_dims(r.plus, 1)) for r in self.met[ct] if isinstance(r, Row)]
        for put in self._put(loop, rows, turns):
            apart = put is not None and all(
                at_least(low, put[1], sizes) or at_least(put[0], high, sizes) for low, high in met
            )
            if not apart:
                raise Unrollable("nobody knows whether gradients flow to an item of a list")

    def _uncollect(
        self, rows: Value, array: Value, ct: Value, kept: Cotangents, known_by_now: Set[Value]
    ) -> None:
        """Cotangents of what stands in the rows of an array, as of items of a list: first of all.

        They come from behind the loop, where the list is read. Those `known_by_now` are in the
        cotangents of parameters.
        """
        made = self.graph.producer.get(array)
        if isinstance(made, Call) and made.op is new_list:
            self._unlist_first(made, ct, kept, known_by_now)
        while isinstance(made, Call) and made.op in FILLING:
            array, value, k = made.operands
            row = self._row(k)
            first = None if row is None or row.index is not None else span_of(row, 0, 0, 1)
            known = first is None or self._has_rows(ct, first)
            if value in known_by_now:
                pass
            elif value in self.active and known:
                if value in kept:
                    raise Unrollable("one array stands in two lists")
                kept[value] = row_at(ct, k, self.reverse.builder, self._named(value, ct))
            elif not known and self._may_be_met(ct, k):
                raise Unrollable("nobody knows which items of a list gradients flow to")
            made = self.graph.producer.get(array)
        if array is rows:
            kept[rows] = ct

    def _require_one_begin(self, loop: Loop, cts: Cotangents) -> None:
        """Raises `FirstTurn` where what a list begins with goes to a parameter that is read often.

        What flows to the row comes before what flows to each of the readers in the first turn.
        """
        pairs = zip(loop.parameters, loop.arguments, strict=True)
        given, begins = [pair for pair in pairs if pair[0] in cts], set[Value]()
        for _, array in given:
            while (put := self._put_in(array)) is not None:
                begins.add(put[0])
                array = self._put_in_turn(array)
            made = self.graph.producer.get(array)
            begins.update(made.operands if isinstance(made, Call) and made.op is new_list else ())
        begun = self.begun.get(loop.label, ())
        known = {p for one in begun for p in one.parameters[: one.before]}
        for parameter, argument in given:
            if argument not in begins & self.active or parameter in known:
                continue
            if self._is_read_by_rows(loop, parameter):
                continue
            if not has_one_reader(loop, parameter, self.flowing):
                raise FirstTurn(loop.label)

    def _is_read_by_rows(self, loop: Loop, parameter: Value) -> bool:
        """Whether turns read a parameter once, by numbers that an inner loop counts."""
        reads = [node for node in walk(loop.turn.nodes) if parameter in node.operands]
        if len(reads) != 1 or not isinstance(reads[0], Call) or len(reads[0].operands) < 2:
            return False
        row = self._row(reads[0].operands[1])
        counts = row is not None and row.index is not None
        return counts and reads[0].operands[0] is parameter

    def _begin_with_rows(self, facts: Facts, count: Number, cts: Cotangents) -> Cotangents:
        """The cotangents behind the last turn, with those of items in parameters: see `Begun`."""
        loop = facts.loop
        self._require_order(loop, cts)
        self.begun.pop(loop.label, None)
        growing = [
            begun
            for p in loop.parameters
            if p.type == LIST and p in cts
            for begun in self._last_of(loop, p)
        ]
        mine = {v: ct for v, ct in cts.items() if v in self._carried(facts)}
        counted = self._begun_with_rows(loop, cts)
        found = [*counted, *growing]
        items = [p for begun in found for p in begun.parameters]
        for way in range(len(facts.turns)) if found else ():
            held = {**mine, **{p: mine.get(p, Value(p.type)) for p in items}}
            flowing = self._flowing(facts, way, held)
            found = [b for b in found if all({*b.parameters} <= flow.keys() for flow in flowing)]
        if any(begun not in found for begun in growing):
            raise Unrollable("gradients flow to some items of a list alone")
        for begun in found:
            if not self._have_last_rows(facts, begun, count, cts, mine):
                raise Unrollable("gradients flow to some items of a list alone")
        if not found:
            return cts
        self.begun[loop.label] = found
        behind = dict(cts)
        for begun in found:
            if begun in growing:  # see `_as_listed`
                continue
            for back, parameter in enumerate(begun.parameters):
                last = self._written(count + (begun.first - back))
                ct = self._row_before(cts[begun.rows], last, begun, parameter)
                if parameter in cts:
                    ct = self._call(add, ct, cts[parameter], origin=cts[parameter].origin)
                behind[parameter] = ct
                behind.pop(self._teller(parameter), None)
        return behind

    def _have_last_rows(
        self, facts: Facts, begun: Begun, count: Number, cts: Cotangents, mine: Cotangents
    ) -> bool:
        """Whether something flows to each item behind the last turn, or does in that turn."""
        last = self._dim(count + -len(begun.parameters)), self._dim(count)
        if cts.keys() >= {*begun.parameters}:
            return True
        if self._have_rows(facts.loop, begun.rows, last, cts):
            return True
        new = {p: Value(p.type, p.origin) for p in begun.parameters if p not in cts}
        return all(self._is_unchanged(facts, way, mine, new) for way in range(len(facts.turns)))

    def _begin_turn_with_rows(
        self, loop: Loop, arguments: Sequence[Value], mine: Cotangents, cts: Cotangents
    ) -> None:
        """Gives parameters, behind a turn, the cotangents of items that they are: see `Begun`."""
        for begun in self.begun.get(loop.label, ()):
            made = self._put_in(arguments[loop.parameters.index(begun.rows)])
            if made is None:  # the list is as it was, and so is its last item
                continue
            if begun.rows not in mine:  # it is looked at what a turn does without them
                assert self.dry
                continue
            parameter, ct = begun.parameters[-1], mine[begun.rows]
            if parameter in cts:
                raise Unrollable("an item of a list goes on to later turns in some")
            k = made[1]
            if len(begun.parameters) > 1:
                k = self._call(subtract, k, self._number(len(begun.parameters) - 1))
            cts[parameter] = self._row_before(ct, k, begun, parameter)


def _is_read_often(item: Call, nodes: Sequence[Node]) -> bool:
    """Whether several of these nodes read an item."""
    return sum(node.operands.count(item.results[0]) for node in nodes) > 1
