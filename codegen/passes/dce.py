"""Removes nodes that no output, check or effect depends on: dead code elimination.

What a loop hands from turn to turn goes away where it is all that reads it. A loop goes where a
counter ends it and its turns do nothing; others may decide which path is taken, or never end. A
join goes where all its paths go on alike.

A node may depend on another by a length alone: ``x[mask]`` stays when something of its length is
made, although nobody reads its elements. A call stays whose origin tells that the program has to
raise what it raises.

Before::                                   After::

    graph f(x: float64[n0]) {                  graph f(x: float64[n0]) {
      %a = exp(%x)                               %b = sin(%x)
      %b = sin(%x)                               return %b
      return %b                                }
    }
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from itertools import compress
from typing import Any, TypeVar

from codegen.ir import (
    Again,
    Block,
    Branch,
    Call,
    Check,
    Constant,
    Counter,
    Graph,
    Join,
    Loop,
    Node,
    Trait,
    Value,
    inner_blocks,
    with_blocks,
)
from codegen.passes.client import NO_CLIENT, Client
from codegen.told_lengths import lengths_told, symbols_printed

Handing = TypeVar("Handing", Loop, Join, Again)


def dce(graph: Graph, client: Client = NO_CLIENT) -> Graph:
    """Removes dead nodes."""
    block = _Live(graph, client).part(graph.block)
    if block is graph.block:
        return graph
    # Where a join goes, what it returns behind is what the program returns.
    frame = replace(graph.frame, returns=block.returns, names=block.names, origin=block.origin)
    return graph.replace(frame=frame).with_block(block)


class _Scope:
    """Which value tells a length in a block."""

    def __init__(self, graph: Graph, values: Iterable[Value], around: _Scope | None) -> None:
        self.graph = graph
        self.values = values
        self.around = around
        self.told: dict[str, Value | None] | None = None

    def find(self, name: str) -> Value | None:
        """The value, the first in the graph that is known at the end of the block."""
        found = self.around.find(name) if self.around else None
        if found is None:
            if self.told is None:
                self.told = {}
                for value in self.values:
                    for told in lengths_told(self.graph, value):
                        self.told.setdefault(told, value)
            found = self.told.get(name)
        return found


class _Live:
    """What is read, from the returns backwards: a parameter is where its next turns' are."""

    def __init__(self, graph: Graph, client: Client) -> None:
        self.graph = graph
        self.client = client
        self.values: set[Value] = set()
        self.scopes: dict[Node, _Scope] = {}
        self.waiting: list[Value] = []
        self._begin(graph.block, _Scope(graph, graph.inputs, None))
        while self.waiting:
            value = self.waiting.pop()
            if value not in self.values:
                self.values.add(value)
                self._read(value)

    def _begin(self, block: Block, around: _Scope) -> None:
        """What is read whoever reads the results: returns, looks, effects."""
        scope = _Scope(self.graph, [r for node in block.nodes for r in node.results], around)
        self.waiting += block.outputs
        for node in block.nodes:
            self.scopes[node] = scope
            match node:
                case Call():
                    if self._does_more(node):
                        self._needs(node)
                case Check() | Branch():
                    self.waiting.append(node.operand)
                case Loop(counter=Counter(_, start, stop)):
                    self.waiting += (start, stop)
        for inner in inner_blocks(block.nodes[-1]) if block.nodes else ():
            self._begin(inner, scope)

    def _read(self, value: Value) -> None:
        made = self.graph.producer.get(value)
        if isinstance(made, Call):
            self._needs(made)
        elif isinstance(made, Loop | Join):
            self.waiting += self.graph.given.get(value, ())

    def _needs(self, call: Call) -> None:
        """What a call reads, and what tells the lengths in its source."""
        self.waiting += call.operands
        scope = self.scopes[call]
        told = map(scope.find, symbols_printed(call, self.graph.sizes))
        self.waiting += [value for value in told if value is not None]

    def part(self, block: Block) -> Block:
        """A block without its dead nodes."""
        kept: list[Node] = []
        for node in block.nodes:
            match node:
                case Constant() | Call():
                    called = isinstance(node, Call) and self._does_more(node)
                    if not called and self.values.isdisjoint(node.results):
                        continue
                case Branch(blocks=blocks):
                    node = with_blocks(node, tuple(map(self.part, blocks)))
                case Loop(blocks=blocks):
                    blocks = tuple(map(self.part, blocks))
                    node = with_blocks(self._alive(node, node.label), blocks)
                    if node.after is not None and not node.parameters:
                        turn, after = blocks
                        if self._only_meets(turn, node.label):
                            return after.with_nodes((*kept, *after.nodes))
                case Join(blocks=blocks):
                    body, after = blocks = tuple(map(self.part, blocks))
                    node = with_blocks(self._alive(node, node.label), blocks)
                    if not node.parameters and self._only_meets(body, node.label):
                        return after.with_nodes((*kept, *after.nodes))
                case Again():
                    node = self._alive(node, node.label)
            kept.append(node)
        return block.with_nodes(tuple(kept))

    def _alive(self, node: Handing, label: object) -> Handing:
        """A node that hands on what is read alone, or takes it."""
        parameters = self.graph.heads[label].parameters
        alive = [p in self.values for p in parameters]
        if all(alive):
            return node
        taken: dict[str, Any] = {}
        if not isinstance(node, Again):
            taken["parameters"] = tuple(compress(parameters, alive))
        if not isinstance(node, Join):
            taken["arguments"] = tuple(compress(node.arguments, alive))
        return replace(node, **taken)

    def _only_meets(self, body: Block, label: object) -> bool:
        """Whether all paths of a body go on at its label, and do nothing but to look at values."""
        last = body.nodes[-1] if body.nodes else None
        for node in body.nodes[:-1]:
            if not isinstance(node, Constant | Call):
                return False
            if isinstance(node, Call) and self._does_more(node):
                return False
        if isinstance(last, Branch):
            return last.complete and all(self._only_meets(b, label) for b in last.blocks)
        return isinstance(last, Again) and last.label == label

    def _does_more(self, call: Call) -> bool:
        """Whether a call has an effect, or may raise what the program has to raise."""
        return Trait.EFFECT in call.op.traits or (call.raises and self.client.raises)
