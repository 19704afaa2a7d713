"""Differentiates a graph with joins: the gradient at each of its returns.

A path to a return goes through joins, each by one of several ways, and its backward goes the same
way back (`ways_back.py`). What a way back reads that an arm has made is unset where another arm was
taken.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence, Set
from dataclasses import replace
from types import MappingProxyType

from codegen.ir import (
    Again,
    Block,
    Branch,
    Call,
    Graph,
    Join,
    Node,
    Value,
    renamed,
    walk,
    with_blocks,
)
from tracegrad.differentiation.joined_cotangents import Flow, JoinFacts, Path, Stretch
from tracegrad.differentiation.loops.cotangent_flow import active_values
from tracegrad.differentiation.loops.gradients import Seeds, giving
from tracegrad.differentiation.reverse_mode import Reverse
from tracegrad.differentiation.scattered_places import Mixed
from tracegrad.differentiation.ways_back import (
    Apart,
    Unjoined,
    WaysBack,
    behind,
    cotangents_of,
    with_shared,
)
from tracegrad.ops.checkpoint_markers import regions_of
from tracegrad.ops.python_calls import hooked
from tracegrad.ops.python_lists import unset_like
from tracegrad.ops.shape.creation import zeros_of


def joined_gradients(graph: Graph, wanted: Sequence[Value], seeds: Seeds | None = None) -> Graph:
    """The graph whose every return gives the cotangents of `wanted` besides.

    `seeds` writes the cotangents of what a return gives, by its number in the order of the graph
    and by its outputs; without it that of the first output is 1.
    Raises `Unjoined` for a join whose backward has no such form.
    """
    _require_plain(graph)
    try:
        return with_shared(lambda shared: _Writer(graph, wanted, seeds, shared=shared).whole())
    except Mixed as error:
        raise Unjoined(None, str(error)) from error


def joined_backwards_apart(
    graph: Graph,
    wanted: Sequence[Value],
    some: Mapping[int, Collection[Value]] = MappingProxyType({}),
) -> Apart:
    """As `joined_gradients`, of all outputs; forward and backwards are no one graph.

    Of the returns in `some`, by number, only these outputs have cotangents.
    """
    _require_plain(graph)
    try:
        return with_shared(
            lambda shared: _Writer(graph, wanted, zeros=False, shared=shared).apart(some)
        )
    except Mixed as error:
        raise Unjoined(None, str(error)) from error


def _require_plain(graph: Graph) -> None:
    calls = [node for node in graph.all_nodes if isinstance(node, Call)]
    if any(call.op is hooked for call in calls) or regions_of(calls):
        raise Unjoined(None, "hooks and checkpoints are of one path")


class _Writer(WaysBack):
    def __init__(
        self,
        graph: Graph,
        wanted: Sequence[Value],
        seeds: Seeds | None = None,
        zeros: bool = True,
        shared: Set[Value] = frozenset(),
    ) -> None:
        self.graph = graph
        self.seeds = seeds
        self.zeros = zeros  # what stands where no cotangent has flowed; else nothing
        self.wanted = tuple(wanted)
        self.reverse = Reverse(graph)
        self.joins: dict[object, JoinFacts] = {}
        self.known, self.shared = {}, shared
        self._learn(graph.block, ())
        self.active = active_values(self.graph, self.wanted)

    def whole(self) -> Graph:
        found = self._backwards()
        given = {end: giving(block, end) for end, block in found.items()}
        block = renamed(self._rebuilt(self.graph.block, given), self._renamed())
        return self.graph.with_block(block)

    def apart(self, some: Mapping[int, Collection[Value]]) -> Apart:
        cts = cotangents_of(self.graph, self.active, some)
        self.seeds = lambda _, number, outputs: cts[number]
        found = self._backwards()
        names = self._renamed()
        backwards = [
            renamed(giving(block, replace(end, outputs=())), names) for end, block in found.items()
        ]
        plain = {end: end.with_nodes(()) for end in found}
        forward = self.graph.with_block(self._rebuilt(self.graph.block, plain))
        absent = {p for facts in self.joins.values() for p in facts.further.values()}
        return Apart(forward, tuple(backwards), tuple(cts), absent)

    def _backwards(self) -> dict[Block, Block]:
        """The backward behind each return."""
        paths: list[tuple[Block, Path]] = []
        self._collect(self.graph.block, (), (), {}, paths)
        found = {}
        for number, (end, path) in enumerate(paths):
            with self.reverse.stage.apart(self.graph.sizes) as builder:
                if self.seeds is None:
                    cts = {end.outputs[0]: self.reverse.one(end.outputs[0])}
                else:
                    cts = self.seeds(self.reverse.stage, number, end.outputs)
                block = self._from_end(path, Flow(cts), self._returned)
            found[end] = behind(builder, block)
        return found

    def _renamed(self) -> dict[Value, Value]:
        return {v: Value(v.type, origin) for v, origin in self.reverse.names.items()}

    # -- what there is ----------------------------------------------------------------------------

    def _learn(self, block: Block, around: tuple[JoinFacts, ...]) -> None:
        """Finds the joins of a block, which stands in the bodies of those around."""
        for node in block.nodes:
            if isinstance(node, Join):
                made = {r for inner in walk(node.body.nodes) for r in inner.results}
                facts = self.joins[node.label] = JoinFacts(node, around, made)
                self._learn(node.body, (*around, facts))
                self._learn(node.after, around)
            elif isinstance(node, Branch):
                for inner in node.blocks:
                    self._learn(inner, around)

    def _collect(
        self,
        block: Block,
        before: Path,
        nodes: tuple[Node, ...],
        begun: Mapping[object, int],
        paths: list[tuple[Block, Path]],
    ) -> None:
        """Finds the paths to all returns, and through the body of each join."""
        last = block.nodes[-1] if block.nodes else None
        match last:
            case Branch():
                for inner in last.blocks:
                    self._collect(inner, before, (*nodes, *block.nodes[:-1]), begun, paths)
            case Join():
                here = (*nodes, *block.nodes[:-1])
                inside = (*before, Stretch(here, join=last, in_body=True))
                known = {**begun, last.label: len(inside)}
                self._collect(last.body, inside, (), known, paths)
                self._collect(last.after, (*before, Stretch(here, join=last)), (), begun, paths)
            case Again():
                path = (*before, Stretch((*nodes, *block.nodes[:-1])))
                self.joins[last.label].ways[last] = path[begun[last.label] :]
            case _:
                paths.append((block, (*before, Stretch((*nodes, *block.nodes)))))

    # -- going back -------------------------------------------------------------------------------

    def _returned(self, flow: Flow) -> Block:
        """The end of the backward: gradients, and what stands where nothing has flowed."""
        told = [v for v in self.wanted if v in flow.told]
        # What stands where there is none: zeros for elements, else what is unset.
        unsure = [v for v in told if flow.is_of_rows(v) is not self.zeros]
        if unsure:
            number = flow.told[unsure[0]].number
            return self._split([number], flow, self._with_others, self._returned)
        gradients = [self._gradient(value, flow) for value in self.wanted]
        return Block((), tuple(gradients))

    def _with_others(self, flow: Flow) -> Flow:
        cts = {v: self._gradient(v, flow) for v in self.wanted}
        return replace(flow, cts={**flow.cts, **cts})

    def _gradient(self, value: Value, flow: Flow) -> Value:
        if value in flow.cts:
            return flow.cts[value]
        self.reverse.stage.origin = self._bar(value)
        if self.zeros:
            return zeros_of(self.reverse.staged(value)).value  # type: ignore[no-any-return]
        like = Value(replace(value.type, weak=False))
        return unset_like(self.reverse.builder, like, self._bar(value))

    def _run(self, nodes: Sequence[Node], flow: Flow) -> Flow:
        """Cotangents before straight code, of those after it; nothing in it depends on numbers."""
        made = {result for node in nodes for result in node.results}
        calls = [node for node in nodes if isinstance(node, Call)]
        read = [self.reverse.array_of(v) for call in calls for v in call.operands]
        kept = dict.fromkeys(v for v in (*flow.cts, *read) if v not in made and v in self.active)
        here = {v: ct for v, ct in flow.cts.items() if v in made or v in read}
        asked = [v for v in kept if v in read]
        seeds = {value: self.reverse.staged(ct) for value, ct in here.items()}
        places = {v: known.copy() for v, known in flow.places.items() if v in here}
        given = self.reverse.run(nodes, seeds, asked, places)
        cts = {v: ct for v, ct in flow.cts.items() if v not in here}
        cts.update((value, ct.value) for value, ct in given.items())
        cts = {v: cts[v] for v in dict.fromkeys((*flow.cts, *cts)) if v in cts}
        rows = {v: known for v, known in flow.places.items() if v not in here}
        rows.update((v, known) for v, known in places.items() if v in cts)
        maybe = {v: table for v, table in flow.maybe.items() if v in rows}
        told = {v: x for v, x in flow.told.items() if cts.get(v) is flow.cts[v]}
        found = Flow(cts, told, rows, maybe)
        self._require_told(flow, found)
        return found

    def _rebuilt(self, block: Block, ends: Mapping[Block, Block]) -> Block:
        """The forward, whose joins keep what is read behind them, with the backwards."""
        last = block.nodes[-1] if block.nodes else None
        nodes = block.nodes[:-1]
        match last:
            case Branch():
                inner = tuple([self._rebuilt(b, ends) for b in last.blocks])
                return block.with_nodes((*nodes, with_blocks(last, inner)))
            case Join():
                inner = tuple([self._rebuilt(b, ends) for b in last.blocks])
                return block.with_nodes((*nodes, self.keeping(last, inner)))
            case Again():
                return block.with_nodes((*nodes, *self.leaving(last)))
        return replace(ends[block], nodes=(*block.nodes, *ends[block].nodes))
