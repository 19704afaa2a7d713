"""A graph enters; it leaves without the nodes that no output, check or effect depends on.

A node may depend on another by a length alone: ``x[mask]`` stays when something of its length is
made, although nobody reads its elements.

Before::                                   After::

    graph f(x: float64[n0]) {                  graph f(x: float64[n0]) {
      %a = exp(%x)                               %b = sin(%x)
      %b = sin(%x)                               return %b
      return %b                                }
    }
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from codegen.ir import (
    Block,
    Branch,
    Call,
    Check,
    Graph,
    Node,
    Trait,
    Value,
    dims_of,
    symbols_printed,
    walk,
)
from codegen.passes.client import NO_CLIENT, Client
from codegen.sizes import Size


def dce(graph: Graph, client: Client = NO_CLIENT) -> Graph:
    """Removes dead nodes."""
    block, _ = _live_part(graph, graph.block, dict.fromkeys(_lengths(graph, graph.inputs)))
    if sum(1 for _ in walk(block.nodes)) == sum(1 for _ in walk(graph.nodes)):
        return graph
    return graph.with_block(block)


def _live_part(
    graph: Graph, block: Block, outside: Mapping[str, Value | None]
) -> tuple[Block, set[Value]]:
    """The block without its dead nodes, and what it reads.

    `outside` has the value that tells each length which is known before the block, None where that
    is an input.
    """
    tell: Mapping[str, Value | None] | None = None  # as `outside`, once it is asked for
    live: set[Value] = set(block.outputs)
    kept: list[Node] = []
    for node in reversed(block.nodes):
        if isinstance(node, Branch):
            tell = tell or _told(graph, block, outside)
            parts = [_live_part(graph, inner, tell) for inner in node.blocks]
            node = replace(node, blocks=tuple(part for part, _ in parts))
            live.update(*(read for _, read in parts))
        looked = isinstance(node, Check | Branch)
        called = isinstance(node, Call) and Trait.EFFECT in node.op.traits
        if looked or called or any(result in live for result in node.results):
            kept.append(node)
            live.update(node.operands)
            needed = symbols_printed(node, graph.sizes)
            if not outside.keys() >= needed:
                tell = tell or _told(graph, block, outside)
            values = map((tell or outside).get, needed)
            live.update(value for value in values if value is not None)
    return replace(block, nodes=tuple(reversed(kept))), live


def _told(
    graph: Graph, block: Block, outside: Mapping[str, Value | None]
) -> dict[str, Value | None]:
    """The value that tells each length which is known at the end of a block."""
    tell = dict(outside)  # arms of a branch may each make what tells one length
    for node in block.nodes:
        for result in node.results:
            for name in _lengths(graph, (result,)):
                tell.setdefault(name, result)
    return tell


def _lengths(graph: Graph, values: Iterable[Value]) -> Iterator[str]:
    """The lengths that the shapes of values tell as they are."""
    for value in values:
        for dim in dims_of(graph.sizes, value.type):
            name = dim.symbol() if isinstance(dim, Size) else None
            if name is not None:
                yield name
