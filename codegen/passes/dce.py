"""A graph enters; it leaves without the nodes that no output, check or effect depends on.

What a loop hands from turn to turn goes away where it is all that reads it. A loop itself stays: it
may decide which path is taken, or never end.

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
from typing import Any

from codegen.ir import (
    Again,
    Block,
    Branch,
    Call,
    Constant,
    Graph,
    Loop,
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
    outside = dict.fromkeys(_lengths(graph, graph.inputs))
    block, _ = _live_part(graph, graph.block, outside, {})
    return graph if _extent(block) == _extent(graph.block) else graph.with_block(block)


def _extent(block: Block) -> int:
    return sum(1 + len(node.operands) for node in walk(block.nodes))


def _live_part(
    graph: Graph, block: Block, outside: Mapping[str, Value | None], needed: dict[object, set[int]]
) -> tuple[Block, set[Value]]:
    """The block without its dead nodes, and what it reads.

    `outside` has the value that tells each length which is known before the block, None where that
    is an input. `needed` has the positions of the parameters that somebody needs, of the loops
    around by label.
    """
    tell: Mapping[str, Value | None] | None = None  # as `outside`, once it is asked for
    live: set[Value] = set(block.outputs)
    kept: list[Node] = []
    for node in reversed(block.nodes):
        match node:
            case Branch():
                tell = tell or _told(graph, block, outside)
                node, read = _live_blocks(graph, node, tell, needed)
                live |= read
            case Loop():
                tell = tell or _told(graph, block, outside)
                node, read = _live_loop(graph, node, tell, needed)
                live |= read
            case Again(label, arguments):
                node = replace(node, arguments=_at(needed[label], arguments))
        leads = not isinstance(node, Constant | Call)
        called = isinstance(node, Call) and Trait.EFFECT in node.op.traits
        if leads or called or any(result in live for result in node.results):
            kept.append(node)
            live.update(node.operands)
            printed = symbols_printed(node, graph.sizes)
            if not outside.keys() >= printed:
                tell = tell or _told(graph, block, outside)
            values = map((tell or outside).get, printed)
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


def _live_blocks(
    graph: Graph,
    node: Branch | Loop,
    tell: Mapping[str, Value | None],
    needed: dict[object, set[int]],
) -> tuple[Any, set[Value]]:
    """The node with the live parts of its blocks, and what these read."""
    parts = [_live_part(graph, inner, tell, needed) for inner in node.blocks]
    return replace(node, blocks=tuple(p for p, _ in parts)), set().union(*(r for _, r in parts))


def _live_loop(
    graph: Graph, loop: Loop, tell: Mapping[str, Value | None], needed: dict[object, set[int]]
) -> tuple[Loop, set[Value]]:
    """The loop with the parameters that its blocks need, and what these read.

    The next turn needs of a turn what is found to be needed in any: looked for from nothing on.
    """
    after, later = _live_part(graph, loop.after, tell, needed) if loop.after else (None, set())
    positions: set[int] = set()
    while True:
        needed[loop.label] = positions
        turn, read = _live_part(graph, loop.turn, tell, needed)
        read |= later
        found = {i for i, parameter in enumerate(loop.parameters) if parameter in read}
        if found == positions:
            break
        positions = found
    parameters, arguments = (_at(positions, v) for v in (loop.parameters, loop.arguments))
    blocks = (turn,) if after is None else (turn, after)
    return replace(loop, parameters=parameters, arguments=arguments, blocks=blocks), read


def _at(positions: set[int], values: tuple[Value, ...]) -> tuple[Value, ...]:
    return tuple(value for i, value in enumerate(values) if i in positions)


def _lengths(graph: Graph, values: Iterable[Value]) -> Iterator[str]:
    """The lengths that the shapes of values tell as they are."""
    for value in values:
        for dim in dims_of(graph.sizes, value.type):
            name = dim.symbol() if isinstance(dim, Size) else None
            if name is not None:
                yield name
