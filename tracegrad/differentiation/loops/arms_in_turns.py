"""Goes back through the ifs in the turns of loops whose arms meet.

What a way back reads of an arm is left in a list of the loop by each turn, and what costs nothing
is computed again in the arm alone: other turns need not have it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence, Set
from dataclasses import replace
from typing import Any, TypeAlias

from codegen.ir import (
    Block,
    Branch,
    Builder,
    Call,
    Constant,
    Graph,
    Node,
    Origin,
    Value,
    renamed,
    walk,
)
from tracegrad.differentiation.joined_cotangents import Flow, JoinFacts, Path, Told
from tracegrad.differentiation.loops.list_reads import Cotangents
from tracegrad.differentiation.loops.optional_cotangents import Finish
from tracegrad.differentiation.loops.residual_reads import read_in
from tracegrad.differentiation.loops.residuals import Facts
from tracegrad.differentiation.loops.turn_lengths import TurnLengths
from tracegrad.differentiation.ways_back import (
    MOST_TOLD,
    Met,
    ReadTwice,
    Then,
    Unjoined,
    WaysBack,
    behind,
)
from tracegrad.ops.elementwise.ufuncs import logical_not
from tracegrad.ops.python_lists import filling, unset_like
from tracegrad.ops.shape.indexing import INDEXED

ThenMaybe: TypeAlias = "Callable[[Cotangents, Sequence[Value]], Block]"
"""Goes on with cotangents, some of which may not be there."""


def read_by_elements(graph: Graph) -> Iterator[Value]:
    """The arrays of a graph of which rows or elements are read."""
    for node in graph.all_nodes:
        if isinstance(node, Call) and node.op in INDEXED:
            yield node.operands[0]


class InTurns(WaysBack, TurnLengths):
    """What goes back through joins in turns."""

    facts: dict[object, Facts]
    lists: frozenset[Value]
    rows: set[Value]
    teller: dict[Value, Value]
    tells: dict[Value, Value]
    wanted: Sequence[Value]
    of_elements: set[Value]  # what is read by elements

    def _around(
        self, path: Path, at: int, cts: Cotangents, finish: Finish, maybe: Sequence[Value]
    ) -> Block:
        raise NotImplementedError

    def _call(self, op: Any, *operands: Value, origin: Origin | None = None) -> Value:
        raise NotImplementedError

    def _teller(self, value: Value) -> Value:
        raise NotImplementedError

    def _unchanging(self, value: Value, like: Value, of_rows: bool) -> Value:
        raise NotImplementedError

    def _through(self, nodes: Sequence[Node], cts: Cotangents) -> Cotangents:
        raise NotImplementedError

    def _is_free(self, facts: Facts, value: Value) -> bool:
        raise NotImplementedError

    def _is_of_rows(self, ct: Value) -> bool:
        raise NotImplementedError

    def _in_each(self, flow: Flow, finish: Finish) -> Block:
        """Goes on where there are some cotangents, and where there are not, each by itself."""
        numbers = [*dict.fromkeys(told.number for told in flow.told.values())]
        if len(numbers) > MOST_TOLD:
            raise Unjoined(None, "what gradients flow to depends on many looks")
        if not numbers:
            return finish(dict(flow.cts))
        return self._in_arms(numbers[0], flow, lambda flow: self._in_each(flow, finish))

    def _each(self, finish: Finish) -> Then:
        return lambda flow: self._in_each(flow, finish)

    def _in_arms(self, number: Value, flow: Flow, then: Then) -> Block:
        """Goes on where a number is true, and where it is not, each by itself."""
        blocks = []
        for holds in (True, False):
            with self.reverse.stage.apart(self.graph.sizes) as builder:
                block = then(flow.knowing(number, holds))
                blocks.append(behind(builder, block))
        origin = replace(number.origin, name=None, final=False, section="backward")
        return Block((Branch(number, "bool", (True, False), tuple(blocks), origin),))

    def _before_loop(self, path: Path, at: int, flow: Flow, finish: Then) -> Block:
        loop = path[at - 1].loop
        assert loop is not None
        own = self.facts[loop.label].own
        for node in (loop, *walk(loop.turn.nodes)) if self.shared else ():
            for value in self.shared.intersection(node.operands) - own:
                raise ReadTwice(None, {value})
        for value, told in flow.told.items():
            if value in self.wanted and value not in self.of_elements:
                return self._with_nothing(
                    flow, told.number, lambda flow: self._before_loop(path, at, flow, finish)
                )
        return self._with_tellers(
            flow,
            loop.parameters,
            lambda cts, maybe: self._of_other_turns(
                loop,
                cts,
                self._around(path, at, cts, lambda cts: finish(Flow(cts)), maybe),
            ),
        )

    def _as_told(self, cts: Cotangents, values: Sequence[Value]) -> Flow:
        """The cotangents as joins know them; of these values a number tells whether they are."""
        told = {v: Told(cts[self.teller[v]], True) for v in values if self.teller.get(v) in cts}
        keys = [self.teller[v] for v in told]
        return Flow({v: ct for v, ct in cts.items() if v not in keys}, told)

    def _with_tellers(self, flow: Flow, among: Collection[Value], then: ThenMaybe) -> Block:
        """Goes on with what tells of these values; for others in each case by itself."""
        numbers = {x.number for v, x in flow.told.items() if v not in among}
        if len(numbers) > MOST_TOLD:
            raise Unjoined(None, "what gradients flow to depends on many looks")
        for told in flow.told.values():
            if any(x.number is told.number and v not in among for v, x in flow.told.items()):
                break
        else:
            return then({**flow.cts, **self._tellers(flow.told)}, [*flow.told])
        return self._in_arms(told.number, flow, lambda flow: self._with_tellers(flow, among, then))

    def _with_nothing(self, flow: Flow, number: Value, then: Then) -> Block:
        """Goes on with -0.0 for what is wanted and has no cotangent as the number says.

        -0.0 changes no sum. What is read by elements is left: theirs are added to zeros.
        """
        told = {
            v: x
            for v, x in flow.told.items()
            if x.number is number and v in self.wanted and v not in self.of_elements
        }
        like = {v: flow.cts[v] for v in told}

        def filled(flow: Flow) -> Flow:
            lacking = {v: ct for v, ct in like.items() if v not in flow.cts}
            new = {v: self._unchanging(v, ct, False) for v, ct in lacking.items()}
            return replace(flow, cts={**flow.cts, **new})

        def with_tellers(after: Flow) -> Block:
            return then(replace(after, cts={**after.cts, **self._tellers(told)}))

        return self._split([number], flow, filled, with_tellers)

    def _tellers(self, told: Mapping[Value, Told]) -> Cotangents:
        """What tells of values, as cotangents are carried with it."""
        return {
            self._teller(v): x.number if x.where else self._call(logical_not, x.number)
            for v, x in told.items()
        }

    def _run(self, nodes: Sequence[Node], flow: Flow) -> Flow:
        plain = {v: ct for v, ct in flow.cts.items() if v not in flow.told}
        unsure = {v: ct for v, ct in flow.cts.items() if v in flow.told}
        found = replace(flow, cts={**unsure, **self._through(nodes, plain)})
        self._require_told(flow, found)
        return found

    def _in_arm(self, facts: JoinFacts, path: Path, block: Block) -> Block:
        """The way back through an arm, which computes again what costs nothing."""
        made, new = self._made_on(path), dict[Value, Value]()
        with self.reverse.stage.apart(self.graph.sizes) as builder:
            for value in dict.fromkeys(read_in(block)):
                if value in made and self._is_free(facts.turns[-1], value):
                    self._made_again(value, made, new)
        return behind(builder, renamed(block, new))

    def _made_again(self, value: Value, made: Set[Value], new: dict[Value, Value]) -> Value:
        """A value that costs nothing once more; new is what an arm has made."""
        node = self.graph.producer.get(value)
        if value in new or value not in made or not isinstance(node, Call | Constant):
            return new.get(value, value)
        operands = tuple([self._made_again(v, made, new) for v in node.operands])
        new[value] = Value(value.type, replace(value.origin, section="backward"))
        if isinstance(node, Call):
            again: Node = replace(node, operands=operands, results=(new[value],))
        else:
            again = replace(node, result=new[value])
        self.reverse.builder.append(again)
        return new[value]

    def _absent(self, builder: Builder, parameter: Value) -> Value:
        """What stands in the list of what turns keep."""
        return unset_like(builder, parameter, parameter.origin, filling)

    def _bar(self, value: Value) -> Origin:
        return value.origin if value in self.tells else super()._bar(value)

    def _leaves(self, flow: Flow) -> None:
        self.rows.update(filter(self._is_of_rows, flow.cts.values()))

    def _meets(self, flow: Flow, met: Met) -> None:
        for value, ct in flow.cts.items():
            given = [known.cts.get(value) for known in met.flows]
            if all(x is ct for x in given):
                continue
            if value in self.lists:
                raise Unjoined(None, "arms read items of a list")
            if any(x is not None and self._is_of_rows(x) for x in given):
                self.rows.add(ct)
