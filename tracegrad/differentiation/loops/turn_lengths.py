"""Lengths that only the data of a turn tell, as how many elements a mask picks in it.

A graph has one symbol for such a length, for all turns. A backward may go through some turns one
by one, and through the others in a loop behind that, or behind the turn in which the loop was
left: what is another length there gets another symbol, or it would be read of the turn before.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
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
    Value,
    dims_of,
    inner_blocks,
    renamed,
    walk,
)
from codegen.sizes import Dim, Size, Sizes, substitute, symbols
from tracegrad.differentiation.reverse_mode import Reverse


def lengths_of_turns(graph: Graph) -> dict[object, set[str]]:
    """The symbols that turns of each loop tell, and that nothing before the loop has."""
    found: dict[object, set[str]] = {}
    sizes = graph.sizes
    if not sizes.data.keys() <= sizes.counters.keys():
        _find(sizes, graph.block, _symbols_of(sizes, graph.inputs), found)
    return found


def _find(sizes: Sizes, block: Block, before: set[str], found: dict[object, set[str]]) -> None:
    for node in block.nodes:
        here = before | _symbols_of(sizes, node.results)
        if isinstance(node, Loop):
            made = _symbols_of(sizes, [r for inner in walk(node.turn.nodes) for r in inner.results])
            found[node.label] = (made & sizes.data.keys()) - sizes.counters.keys() - here
        for inner in inner_blocks(node):
            _find(sizes, inner, here, found)
        before = here


def _symbols_of(sizes: Sizes, values: Any) -> set[str]:
    return {name for v in values for dim in dims_of(sizes, v.type) for name in symbols(dim)}


class TurnLengths:
    """What writes backwards of loops whose turns have lengths of their own."""

    graph: Graph
    reverse: Reverse
    dry: bool

    @cached_property
    def lengths(self) -> dict[object, set[str]]:
        return lengths_of_turns(self.graph)

    def _of_other_turns(self, loop: Loop | None, block: Block) -> Block:
        """A block that goes back through turns of a loop, behind code of other turns of it."""
        names = self.lengths.get(loop.label) if loop is not None else None
        if not names or self.dry:
            return block
        sizes = self.graph.sizes
        new = {name: sizes.new(sizes.seen[name], sizes.data[name]) for name in sorted(names)}
        block, values = with_symbols(sizes, block, new)
        names_now = self.reverse.names
        names_now.update({values[v]: names_now[v] for v in values.keys() & names_now.keys()})
        return block


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
