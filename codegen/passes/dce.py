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

from codegen.ir import Call, Check, Graph, Node, Trait, Value, dims_of, symbols_printed
from codegen.passes.client import NO_CLIENT, Client
from codegen.sizes import Size


def dce(graph: Graph, client: Client = NO_CLIENT) -> Graph:
    """Removes dead nodes."""
    tell = _tellers(graph)
    live: set[Value] = set(graph.outputs)
    kept: list[Node] = []
    for node in reversed(graph.nodes):
        needed = isinstance(node, Check) or any(result in live for result in node.results)
        if needed or (isinstance(node, Call) and Trait.EFFECT in node.op.traits):
            kept.append(node)
            live.update(node.operands)
            live.update(tell[name] for name in symbols_printed(node, graph.sizes) if name in tell)
    if len(kept) == len(graph.nodes):
        return graph
    return graph.replace(nodes=tuple(reversed(kept)))


def _tellers(graph: Graph) -> dict[str, Value]:
    """The value that first tells each length which no input tells."""
    known = {
        dim.symbol()
        for value in graph.inputs
        for dim in dims_of(graph.sizes, value.type)
        if isinstance(dim, Size)
    }
    tell: dict[str, Value] = {}
    for node in graph.nodes:
        for result in node.results:
            for dim in dims_of(graph.sizes, result.type):
                name = dim.symbol() if isinstance(dim, Size) else None
                if name is not None and name not in known:
                    tell.setdefault(name, result)
    return tell
