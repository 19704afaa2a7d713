"""Lengths that only the data of a turn tell, as how many elements a mask picks in it.

A graph has one symbol for such a length, for all turns. A backward may go through some turns one
by one, and through the others in a loop behind that, or behind the turn in which the loop was
left: what is another length there gets another symbol, or it would be read of the turn before.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from functools import cached_property
from typing import Any

from codegen.ir import (
    Block,
    Branch,
    Call,
    Graph,
    Join,
    Loop,
    Node,
    Value,
    dims_of,
    inner_blocks,
    renamed,
    walk,
)
from codegen.sizes import Dim, Size, Sizes, substitute, symbols
from tracegrad.differentiation.loops.list_reads import Cotangents
from tracegrad.differentiation.loops.residuals import Facts, Unrollable
from tracegrad.differentiation.reverse_mode import Reverse


class TurnLengths:
    """What writes backwards of loops whose turns have lengths of their own."""

    graph: Graph
    reverse: Reverse
    facts: dict[object, Facts]
    dry: bool

    @cached_property
    def lengths(self) -> dict[object, set[str]]:
        """The symbols that whole turns of each loop tell, and that nothing before the loop has."""
        found: dict[object, set[str]] = {}
        sizes = self.graph.sizes
        if not sizes.data.keys() <= sizes.counters.keys():
            self._find(self.graph.block, symbols_of(sizes, self.graph.inputs), found)
        return found

    def _find(self, block: Block, before: set[str], found: dict[object, set[str]]) -> None:
        sizes = self.graph.sizes
        for node in block.nodes:
            before = before | symbols_of(sizes, node.results)
            if isinstance(node, Loop):
                told = symbols_of(sizes, self._made_in_turns(self.facts[node.label]))
                found[node.label] = (told & sizes.data.keys()) - sizes.counters.keys() - before
            for inner in inner_blocks(node):
                self._find(inner, before, found)

    def _made_in_turns(self, facts: Facts) -> Iterator[Value]:
        """What whole turns make."""
        for stretch in (stretch for _, path in facts.turns for stretch in path):
            nodes: Iterable[Node] = stretch.nodes
            if stretch.join is not None and not stretch.in_body:
                nodes = (*nodes, *walk(stretch.join.body.nodes))
            for node in nodes:
                yield from node.results
            if stretch.loop is not None:
                yield from stretch.loop.parameters
                yield from self._made_in_turns(self.facts[stretch.loop.label])

    def _of_other_turns(self, loop: Loop, cts: Cotangents, block: Block) -> Block:
        """A block that goes back through turns of a loop, behind code of other turns of it.

        It was written for these cotangents.
        """
        names, sizes = self.lengths.get(loop.label), self.graph.sizes
        if names and not names.isdisjoint(symbols_of(sizes, cts.values())):
            raise Unrollable("a gradient has a length that each turn tells anew")
        if not names or self.dry:
            return block
        new = {name: sizes.new(sizes.seen[name], sizes.data[name]) for name in sorted(names)}
        block, values = with_symbols(sizes, block, new)
        known = self.reverse.names
        known.update({values[v]: known[v] for v in values.keys() & known.keys()})
        return block


def symbols_of(sizes: Sizes, values: Iterable[Value]) -> set[str]:
    """The symbols in the lengths of values."""
    return {name for v in values for dim in dims_of(sizes, v.type) for name in symbols(dim)}


def with_symbols(
    sizes: Sizes, block: Block, new: Mapping[str, Dim]
) -> tuple[Block, dict[Value, Value]]:
    """The block with other symbols in the lengths of what it makes; and what is made anew."""
    made: dict[Value, Value] = {}
    for value in (r for node in walk(block.nodes) for r in node.results):
        dims = dims_of(sizes, value.type)
        if any(not new.keys().isdisjoint(symbols(dim)) for dim in dims):
            shape = tuple([substitute(dim, new) for dim in dims])
            made[value] = Value(value.type.with_shape(shape), value.origin)

    def change(dim: Dim) -> Dim:
        return substitute(sizes.resolve(dim), new)

    return _with_attributes(renamed(block, made), change), made


def _with_attributes(block: Block, change: Callable[[Dim], Dim]) -> Block:
    nodes: list[Any] = []
    for node in block.nodes:
        if isinstance(node, Call):
            given = tuple([(name, with_lengths(x, change)) for name, x in node.attributes])
            node = node if given == node.attributes else replace(node, attributes=given)
        elif isinstance(node, Branch | Loop | Join):
            inner = tuple([_with_attributes(b, change) for b in node.blocks])
            node = replace(node, blocks=inner)
        nodes.append(node)
    return block.with_nodes(tuple(nodes))


def with_lengths(x: Any, change: Callable[[Dim], Dim]) -> Any:
    """An attribute with its lengths changed."""
    if type(x) is tuple:
        return tuple([with_lengths(item, change) for item in x])
    return change(x) if type(x) is Size else x
