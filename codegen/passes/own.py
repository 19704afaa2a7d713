"""A graph enters; it leaves with every output in memory of its own.

What is returned belongs to the caller: an output that is an input, a view of one, a repeated
number or shared with another output becomes a copy (of a repeated number: a full array).

Before::                                   After::

    graph f(x: float64[n0, n1]) {              graph f(x: float64[n0, n1]) {
      %a = transpose(%x, axes=None)              %a = transpose(%x, axes=None)
      return %a                                  %b = copy(%a)
    }                                            return %b
                                               }
"""

from __future__ import annotations

from codegen.ir import Call, Graph, Trait, Value
from codegen.passes.client import NO_CLIENT, Client
from codegen.rewrite import Rewriter


def own(graph: Graph, client: Client = NO_CLIENT) -> Graph:
    """Copies the outputs that share memory."""
    copy, full = client.copy, client.full
    if copy is None or full is None:
        return graph
    root: dict[Value, Value] = {}
    for node in graph.nodes:
        for result in node.results:
            shared = isinstance(node, Call) and node.op.traits & {Trait.VIEW, Trait.SPLAT}
            root[result] = root.get(node.operands[0], node.operands[0]) if shared else result
    taken: set[Value] = set(graph.inputs)
    builder = Rewriter(graph, ())
    for node in graph.nodes:
        builder.append(node)
    outputs = []
    for output in graph.outputs:
        owner, made = root.get(output, output), graph.producer.get(output)
        builder.origin = output.origin
        if not output.type.shape and made is not None and owner not in taken:
            pass  # NumPy scalars are immutable
        elif isinstance(made, Call) and Trait.SPLAT in made.op.traits:
            number = made.operands[0]
            if number.type.shape:
                output = builder.emit(copy, output)
            else:
                shape, dtype = output.type.shape, output.type.dtype
                output = builder.emit(full, number, shape=shape, dtype=dtype)
        elif owner in taken or owner is not output:
            output = builder.emit(copy, output)
        taken.add(owner)
        outputs.append(output)
    return graph.replace(nodes=tuple(builder.nodes), outputs=tuple(outputs))
