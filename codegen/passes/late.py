"""A graph enters; it leaves with updates behind what still reads the array as it was.

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

from collections.abc import Sequence
from dataclasses import replace

from codegen.ir import Block, Branch, Call, Constant, Graph, Join, Loop, Node, Trait, Value
from codegen.passes.client import NO_CLIENT, Client


def late(graph: Graph, client: Client = NO_CLIENT) -> Graph:
    """Moves updates behind the last reader of what they change."""
    made = graph.producer.values()
    if not any(isinstance(node, Call) and Trait.UPDATE in node.op.traits for node in made):
        return graph
    return graph.with_block(_moved(graph, graph.block))


def _moved(graph: Graph, block: Block) -> Block:
    nodes = list(block.nodes)
    for node in block.nodes:
        if isinstance(node, Call) and Trait.UPDATE in node.op.traits:
            at = nodes.index(node)
            to = _last_reader(graph, nodes, at)
            nodes.insert(to, nodes.pop(at))
    if nodes and isinstance(nodes[-1], Branch | Loop | Join):
        inner = tuple([_moved(graph, b) for b in nodes[-1].blocks])
        nodes[-1] = replace(nodes[-1], blocks=inner)
    return replace(block, nodes=tuple(nodes))


def _last_reader(graph: Graph, nodes: Sequence[Node], at: int) -> int:
    """The place of the last call that reads what an update changes, or its own place.

    Nothing may read the result before. A number that is taken out is read where it is used once.
    """
    update, place = nodes[at], at
    old = graph.owner[update.operands[0]]
    taken = {v for node in nodes[:at] for v in node.results if _is_taken_out(graph, node, old)}
    for i in range(at + 1, len(nodes)):
        node = nodes[i]
        if not isinstance(node, Call | Constant) or not {*update.results}.isdisjoint(node.operands):
            break
        if any(graph.owner[v] is old or v in taken for v in node.operands):
            place = i
    return place


def _is_taken_out(graph: Graph, node: Node, old: Value) -> bool:
    """Whether a node takes a number out of an array, for one reader."""
    if not isinstance(node, Call) or node.results[0].type.shape:
        return False
    (result, *others) = node.results
    reads = any(graph.owner[v] is old for v in node.operands)
    return reads and not others and len(graph.users.get(result, ())) == 1
