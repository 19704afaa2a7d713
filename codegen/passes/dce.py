"""A graph enters; it leaves without the nodes that no output, check or effect depends on.

Before::                                   After::

    graph f(x: float64[n0]) {                  graph f(x: float64[n0]) {
      %a = exp(%x)                               %b = sin(%x)
      %b = sin(%x)                               return %b
      return %b                                }
    }
"""

from __future__ import annotations

from codegen.ir import Call, Check, Graph, Node, Trait, Value
from codegen.passes.client import NO_CLIENT, Client


def dce(graph: Graph, client: Client = NO_CLIENT) -> Graph:
    """Removes dead nodes."""
    live: set[Value] = set(graph.outputs)
    kept: list[Node] = []
    for node in reversed(graph.nodes):
        needed = isinstance(node, Check) or any(result in live for result in node.results)
        if needed or (isinstance(node, Call) and Trait.EFFECT in node.op.traits):
            kept.append(node)
            live.update(node.operands)
    if len(kept) == len(graph.nodes):
        return graph
    return graph.replace(nodes=tuple(reversed(kept)))
