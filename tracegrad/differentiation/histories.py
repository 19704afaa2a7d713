"""Numbers of a program that tell which of its outputs require grad, as those of eager calls do.

A variable that a turn overwrites, or that an arm sets, may depend on what is differentiated by or
not: only the run tells. Loops and joins that hand such a value on hand on a number with it, 1 or 0
(of Python, as kernels know no bools)::

    loop %h = %first, %h_requires_grad = 0 as L1
      turn
        %next = matmul(%h, %w)
        again L1 %next, 1
      after
        return %h, %h_requires_grad
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from typing import TypeVar

from codegen.ir import (
    Again,
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
)
from codegen.unset import is_unset
from tracegrad.differentiation.loops.cotangent_flow import active_values
from tracegrad.differentiation.loops.residuals import INT
from tracegrad.ops.elementwise.ufuncs import bitwise_or

Head = TypeVar("Head", Loop, Join)


@dataclass(frozen=True)
class Histories:
    """What is known of the outputs of one return.

    One of which it does not tell it depends on what is wanted always, or never.
    """

    places: Mapping[Value, int]  # at which further outputs it tells whether outputs depend on it
    behind: Set[Value]  # of what is wanted that on which some output may depend


def with_histories(graph: Graph, wanted: Sequence[Value]) -> tuple[Graph, list[Histories]]:
    """The graph whose returns tell besides which outputs depend on what is `wanted`."""
    writer = _Writer(graph, wanted)
    return graph.with_block(writer.written(graph.block)), writer.found


class _Writer:
    def __init__(self, graph: Graph, wanted: Sequence[Value]) -> None:
        self.graph = graph
        self.active = active_values(graph, wanted)
        self.wanted = {*wanted}
        self.sure = self._sure()
        self.found: list[Histories] = []
        self.tellers = dict[Value, Value]()
        """For what depends on it or not, the number that tells it, once that is written."""
        outputs = [v for end in ends(graph.block) for v in end.outputs]
        self.decisive = self._behind(outputs, self.active - self.sure)
        self.handed = dict[object, dict[Value, Value]]()
        """For each loop or join, parameters whose history it hands on, with these numbers."""
        one = dict[Hashable, Value]()
        for value, known in self._alike().items():
            if known not in one:
                name = f"{value.origin.name or 'value'}_requires_grad"
                one[known] = Value(INT, Origin(name, True))
                self.handed.setdefault(known[0], {})[value] = one[known]
            self.tellers[value] = one[known]

    def _sources(self, value: Value) -> Sequence[Value]:
        """What a value is on some path, or what it is computed from."""
        if value in self.graph.given:
            return [v for v in self.graph.given[value] if not is_unset(self.graph, v)]
        made = self.graph.producer.get(value)
        return made.operands if made is not None else ()

    def _sure(self) -> set[Value]:
        """The values that depend on what is wanted on all paths."""
        sure, size = {*self.active}, -1
        made = [result for node in self.graph.all_nodes for result in node.results]
        while size != len(sure):
            size = len(sure)
            for value in made:
                if value in sure and value not in self.wanted:
                    every = all if value in self.graph.given else any
                    if not every(v in sure for v in self._sources(value)):
                        sure.remove(value)
        return sure

    def _behind(self, asked: Iterable[Value], among: Set[Value]) -> set[Value]:
        """Values with those that they are on some path, or are computed from, `among` some."""
        found, waiting = set[Value](), [*asked]
        while waiting:
            value = waiting.pop()
            if value in among and value not in found:
                found.add(value)
                waiting += self._sources(value)
        return found

    def _alike(self) -> dict[Value, tuple[object, int]]:
        """Parameters, with the same for those of a loop or join that are told of alike."""
        heads = self.graph.heads.items()
        label = {parameter: label for label, head in heads for parameter in head.parameters}
        found = {p: (label[p], 0) for p in self.graph.given if p in self.decisive}
        size = -1
        while size != len(set(found.values())):
            size = len(set(found.values()))
            told = {p: frozenset[object]([known]) for p, known in found.items()}
            for node in self.graph.all_nodes:
                if isinstance(node, Call) and not self.decisive.isdisjoint(node.results):
                    of = frozenset[object]().union(*[told.get(v, ()) for v in node.operands])
                    told.update(dict.fromkeys(node.results, of))
            keys = {
                p: (found[p], *[told.get(v, v in self.sure) for v in self.graph.given[p]])
                for p in found
            }
            numbers = {key: k for k, key in enumerate(dict.fromkeys(keys.values()))}
            found = {p: (label[p], numbers[key]) for p, key in keys.items()}
        return found

    def written(self, block: Block) -> Block:
        """The block with what tells it, where it is decided."""
        builder = Builder(self.graph.sizes)
        for node in block.nodes:
            builder.append(self._telling(builder, node))
            if isinstance(node, Call) and not self.decisive.isdisjoint(node.results):
                self._compute(builder, node)
        last = block.nodes[-1] if block.nodes else None
        if isinstance(last, Branch | Loop | Join | Again):
            return block.with_nodes(tuple(builder.nodes))
        asked = {v: self.tellers[v] for v in block.outputs if v in self.tellers}
        outputs = (*block.outputs, *dict.fromkeys(asked.values()))
        at = {teller: place for place, teller in enumerate(outputs)}
        behind = self._behind(block.outputs, self.active) & self.wanted
        self.found.append(Histories({v: at[teller] for v, teller in asked.items()}, behind))
        return block.with_nodes(tuple(builder.nodes), outputs)

    def _telling(self, builder: Builder, node: Node) -> Node:
        """The node, which hands on what tells it of what it hands on."""
        if isinstance(node, Branch):
            return replace(node, blocks=tuple(map(self.written, node.blocks)))
        if isinstance(node, Again):
            told = self._told(builder, self.graph.heads[node.label], node.arguments)
            return replace(node, arguments=(*node.arguments, *told))
        if isinstance(node, Loop):
            told = self._told(builder, node, node.arguments)
            return self._head(replace(node, arguments=(*node.arguments, *told)))
        return self._head(node) if isinstance(node, Join) else node

    def _head(self, node: Head) -> Head:
        told: Mapping[Value, Value] = self.handed.get(node.label, {})
        blocks = tuple(map(self.written, node.blocks))
        return replace(node, parameters=(*node.parameters, *told.values()), blocks=blocks)

    def _told(self, builder: Builder, head: Loop | Join, arguments: Sequence[Value]) -> list[Value]:
        """What tells it of the arguments of a loop or join that it is handed on of."""
        given = dict(zip(head.parameters, arguments, strict=True))
        asked = [given[parameter] for parameter in self.handed.get(head.label, {})]
        return [
            self.tellers[v] if v in self.tellers else builder.constant(int(v in self.sure), INT)
            for v in asked
        ]

    def _compute(self, builder: Builder, call: Call) -> None:
        """A result depends on it where an operand does."""
        first, *others = dict.fromkeys(self.tellers[v] for v in call.operands if v in self.tellers)
        for other in others:
            (first,) = builder.call(bitwise_or, (first, other), first.origin)
        self.tellers.update((v, first) for v in call.results if v in self.decisive)
