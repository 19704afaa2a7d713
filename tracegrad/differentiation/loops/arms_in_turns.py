"""Goes back through the ifs in the turns of loops whose arms meet.

What a way back reads of an arm is left in a list of the loop by each turn, and what costs nothing
is computed again in the arm alone: other turns need not have it.
"""

from __future__ import annotations

from collections.abc import Sequence, Set
from dataclasses import replace

from codegen.ir import Block, Branch, Builder, Call, Constant, Node, Origin, Value, renamed
from tracegrad.differentiation.joined_cotangents import Flow, JoinFacts, Path
from tracegrad.differentiation.loops.list_reads import Cotangents
from tracegrad.differentiation.loops.optional_cotangents import Finish
from tracegrad.differentiation.loops.residual_reads import read_in
from tracegrad.differentiation.loops.residuals import Facts
from tracegrad.differentiation.ways_back import MOST_TOLD, Met, Unjoined, WaysBack, behind
from tracegrad.ops.python_lists import filling, unset_like


class InTurns(WaysBack):
    """What goes back through joins in turns."""

    lists: frozenset[Value]
    rows: set[Value]
    tells: dict[Value, Value]

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
        blocks = []
        for holds in (True, False):
            with self.reverse.stage.apart(self.graph.sizes) as builder:
                block = self._in_each(flow.knowing(numbers[0], holds), finish)
                blocks.append(behind(builder, block))
        origin = replace(numbers[0].origin, name=None, final=False, section="backward")
        return Block((Branch(numbers[0], "bool", (True, False), tuple(blocks), origin),))

    def _run(self, nodes: Sequence[Node], flow: Flow) -> Flow:
        plain = {v: ct for v, ct in flow.cts.items() if v not in flow.told}
        unsure = {v: ct for v, ct in flow.cts.items() if v in flow.told}
        return replace(flow, cts={**unsure, **self._through(nodes, plain)})

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
