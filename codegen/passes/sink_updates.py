"""Moves updates behind the last reader of the array as it was.

An update in place needs a copy where somebody reads the old elements afterwards. Where that is
only in the same block, and before anybody reads the result, the update waits until then.

Before::                                    After::

    graph f(x: float64[n0]) {                   graph f(x: float64[n0]) {
      %s = constant(0.0)                          %s = constant(0.0)
      %a = exp(%x)                                %a = exp(%x)
      %b = setitem(%a, %s, index=Subscript(()))   %c = sin(%a)
      %c = sin(%a)                                %b = setitem(%a, %s, index=Subscript(()))
      return %b, %c                               return %b, %c
    }                                           }
"""

from __future__ import annotations

from bisect import bisect
from collections.abc import Iterator, Mapping, Sequence
from typing import TypeAlias

from codegen.ir import (
    Block,
    Branch,
    Call,
    Constant,
    Graph,
    Join,
    Loop,
    Node,
    Trait,
    Value,
    with_blocks,
)
from codegen.passes.client import NO_CLIENT, Client

Reader: TypeAlias = "tuple[Node, Call | None]"
"""A reader of memory; of a number that is taken out of it for this reader alone, what takes it."""

Place: TypeAlias = tuple[int, ...]
"""Where a node stands in its block; one that moves stands between the places of others."""


def sink_updates(graph: Graph, client: Client = NO_CLIENT) -> Graph:
    """Moves updates behind the last reader of what they change."""
    made = graph.producer.values()
    if not any(isinstance(node, Call) and Trait.UPDATE in node.op.traits for node in made):
        return graph
    return graph.with_block(_moved(graph, graph.block))


def _moved(graph: Graph, block: Block) -> Block:
    place: dict[Node, Place] = {node: (i,) for i, node in enumerate(block.nodes)}
    stops = [i for i, node in enumerate(block.nodes) if not isinstance(node, Call | Constant)]
    readers = _readers(graph, block)
    for i, node in enumerate(block.nodes):
        if isinstance(node, Call) and Trait.UPDATE in node.op.traits:
            until = bisect(stops, i)
            stop = (stops[until],) if until < len(stops) else (len(block.nodes),)
            last = _last_reader(graph, node, stop, readers, place)
            if last is not node:
                place[node] = (*place[last], -i)  # before those that moved there earlier
    nodes = sorted(block.nodes, key=place.__getitem__)
    if nodes and isinstance(end := nodes[-1], Branch | Loop | Join):
        nodes[-1] = with_blocks(end, tuple([_moved(graph, b) for b in end.blocks]))
    return block.with_nodes(tuple(nodes))


def _readers(graph: Graph, block: Block) -> Mapping[Value, Sequence[Reader]]:
    """The calls of a block that read the memory of each owner."""
    table: dict[Value, list[Reader]] = {}
    for node in block.nodes:
        if not isinstance(node, Call):
            continue
        readers: list[Reader] = [(node, None)]
        for user in _takers(graph, node):
            readers.append((user, node))
        for owner in {graph.owner[v] for v in node.operands}:
            table.setdefault(owner, []).extend(readers)
    return table


def _takers(graph: Graph, node: Node | None) -> Iterator[Call]:
    """Who takes a number that a call gives, for itself alone; who takes what is made of it."""
    while isinstance(node, Call) and len(node.results) == 1 and not node.results[0].type.shape:
        users = graph.users.get(node.results[0], ())
        node = users[0] if len(users) == 1 else None
        if isinstance(node, Call):
            yield node


def _last_reader(
    graph: Graph,
    update: Call,
    stop: Place,
    readers: Mapping[Value, Sequence[Reader]],
    place: Mapping[Node, Place],
) -> Node:
    """The last call that reads what an update changes, or the update itself.

    Nothing may read the result before, and what is not a call stops it.
    """
    at = place[update]
    reading = [node for v in update.results for node in graph.users.get(v, ()) if node in place]
    stop = min([stop, *(place[node] for node in reading)])
    found: Node = update
    for node, taken in readers[graph.owner[update.operands[0]]]:
        if node in place and at < place[node] < stop and (taken is None or place[taken] < at):
            found = max(found, node, key=place.__getitem__)
    return found
