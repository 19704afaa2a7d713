"""Gives loops that fill arrays an array of their own to begin with.

A loop that sets elements of an array which somebody else reads would copy it in each turn; it
copies it once instead, before the first.

Before::                                       After::

    graph f(x: float64[n0], c: bool[]) {           graph f(x: float64[n0], c: bool[]) {
      %s = constant(0.0)                             %s = constant(0.0)
      loop %y = %x as L1                             %y = copy(%x)
        turn                                         loop %y.1 = %y as L1
          %a = setitem(%y, %s, index=Subscript(()))    turn
          branch %c bool                                 %a = setitem(%y.1, %s, index=Subscript(()))
            case True                                    branch %c bool
              return %a                                    case True
            case False                                       return %a
              again L1 %a                                  case False
    }                                                        again L1 %a
                                                   }
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from codegen.ir import Block, Branch, Builder, Call, Graph, Join, Loop, Op, Trait, Value, walk
from codegen.loop_ownership import own_parameters
from codegen.passes.client import NO_CLIENT, Client
from codegen.types import LIST


def loop_buffers(graph: Graph, client: Client = NO_CLIENT) -> Graph:
    """Copies the first arguments of parameters that then may be overwritten; outer loops first."""
    if client.copy is None:
        return graph
    for label in [node.label for node in walk(graph.nodes) if isinstance(node, Loop)]:
        graph = _begun(graph, label, client.copy)
    return graph


def _begun(graph: Graph, label: object, copy: Op) -> Graph:
    """The graph with copies before one loop."""
    loop = next(n for n in walk(graph.nodes) if isinstance(n, Loop) and n.label == label)
    wanted = {p for p in loop.parameters if p.type.shape and p not in own_parameters(graph)}
    wanted = {p for p in wanted & _written(graph) if p.type != LIST}  # which no op copies
    if not wanted:
        return graph
    copied = graph.with_block(_copied(graph, graph.block, loop, wanted, copy))
    own = wanted & own_parameters(copied)  # what another reads in the turns is not helped
    return (
        copied if own == wanted else graph.with_block(_copied(graph, graph.block, loop, own, copy))
    )


def _written(graph: Graph) -> set[Value]:
    """The values of which elements are set, in a loop that they are handed to as well."""
    written = {
        node.operands[0]
        for node in walk(graph.nodes)
        if isinstance(node, Call) and Trait.UPDATE in node.op.traits
    }
    before = -1
    while len(written) > before:
        before = len(written)
        for parameter, given in graph.given.items():
            if parameter in written:
                written.update(given)
    return written


def _copied(
    graph: Graph, block: Block, loop: Loop, parameters: Collection[Value], copy: Op
) -> Block:
    builder = Builder(graph.sizes)
    for node in block.nodes:
        if node is loop:
            given = zip(loop.parameters, loop.arguments, strict=True)
            arguments = [
                builder.call(copy, (a,), p.origin)[0] if p in parameters else a for p, a in given
            ]
            node = replace(loop, arguments=tuple(arguments))
        elif isinstance(node, Branch | Loop | Join):
            inner = tuple(_copied(graph, b, loop, parameters, copy) for b in node.blocks)
            node = replace(node, blocks=inner)
        builder.append(node)
    return replace(block, nodes=tuple(builder.nodes))
