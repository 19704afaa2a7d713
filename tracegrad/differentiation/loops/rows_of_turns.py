"""Carries cotangents of rows through straight code and loops: where they are not 0 by then."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from codegen.ir import Block, Call, Constant, Graph, Node, Value
from tracegrad.differentiation.loops.growing_lists import Cotangents
from tracegrad.differentiation.loops.residual_reads import Number
from tracegrad.differentiation.loops.row_cotangents import Turns, met_by, set_once, without_resets
from tracegrad.differentiation.reverse_mode import Reverse
from tracegrad.differentiation.scattered_places import Places
from tracegrad.ops.shape.indexing import set_at


class RowsOfTurns:
    """What writes cotangents of rows as a tape does it: the first of a row is set, others added."""

    graph: Graph
    reverse: Reverse
    empty: set[Value]
    segmented: set[Value]  # of these, those of which turns of other segments have met other rows
    places: dict[Value, Places]  # where cotangents of rows may be other than 0

    def _written(self, number: Number) -> Value:
        raise NotImplementedError

    def _straight_through(
        self, nodes: Sequence[Node], asked: Sequence[Value], cts: Cotangents
    ) -> Cotangents:
        """Cotangents before calls, of those after them."""
        seeds = {value: self.reverse.staged(ct) for value, ct in cts.items()}
        known = ((value, self.places.get(ct)) for value, ct in cts.items())
        rows: dict[Any, Places] = {value: places.copy() for value, places in known if places}
        found = self.reverse.run(nodes, seeds, asked, rows)
        self.places.update((found[v].value, places) for v, places in rows.items() if v in found)
        return {value: ct.value for value, ct in found.items()}

    def _met_in_turns(
        self, turn: Turns, parameters: Cotangents, mine: Cotangents
    ) -> Iterator[tuple[Value, Places]]:
        """Where cotangents behind the turns may be other than 0, as far as that is known."""
        for value, parameter in parameters.items():
            if mine[value] in self.empty - self.segmented:
                places, met = Places(), met_by(turn, parameter, self.graph.sizes)
                for index in met:
                    places.take(index)
                if met:
                    yield parameter, places

    def _by_rows(
        self, turn: Turns, count: Number, parameters: Cotangents, mine: Cotangents, after: Block
    ) -> tuple[Node, ...]:
        """The nodes of a turn that goes back, which write rows as a tape does it."""

        def ahead(parameter: Value, update: Call, n: int, as_there: bool) -> None:
            (value,) = [v for v, p in parameters.items() if p is parameter]
            builder = self.reverse.builder
            none = builder.constant(-0.0, replace(mine[value].type, shape=()))
            number = self._written(count + (turn.lowest - 1 + n))
            places = [number]
            if as_there:
                places = [turn.at(number, v, builder) for v in update.operands[2:]]
            given, origin = dict(update.attributes), mine[value].origin
            (mine[value],) = builder.call(set_at, (mine[value], none, *places), origin, **given)

        known = {r: node for node in turn.nodes for r in node.results}

        def is_zero(value: Value) -> bool:
            made = known.get(value) or self.reverse.builder.producer.get(value)
            return isinstance(made, Constant) and made.value == 0

        empty = {
            p: mine[v] in self.segmented for v, p in parameters.items() if mine[v] in self.empty
        }
        nodes = set_once(turn, empty, self.graph.sizes, ahead)
        turn = replace(turn, nodes=nodes)
        return without_resets(turn, list(parameters.values()), after, is_zero)
