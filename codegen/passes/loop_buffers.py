"""Gives loops that fill arrays an array of their own to begin with.

A loop that sets elements of an array which somebody else reads would copy it in each turn; it
copies it once instead, before the first. Where a list keeps a row of it, that row is copied.

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

from codegen.ir import (
    Block,
    Branch,
    Builder,
    Call,
    Graph,
    Join,
    Loop,
    Op,
    Trait,
    Value,
)
from codegen.loop_ownership import own_parameters
from codegen.memory_order import ordered_values
from codegen.passes.client import NO_CLIENT, Client
from codegen.spelling import Slot, Subscript
from codegen.types import LIST


def loop_buffers(graph: Graph, client: Client = NO_CLIENT) -> Graph:
    """Copies the first arguments of parameters that then may be overwritten; outer loops first."""
    if client.copy is None:
        return graph
    loops = [head for head in graph.heads.values() if isinstance(head, Loop)]
    changed = _written(graph) - own_parameters(graph) if loops else set()
    for loop in loops:
        arrays = {p for p in loop.parameters if p.type.shape and p.type != LIST}  # no op copies one
        wanted = arrays & changed
        if wanted:
            graph = _begun(graph, loop.label, wanted, client.copy)
            changed = _written(graph) - own_parameters(graph)
    return graph


def _begun(graph: Graph, label: object, wanted: set[Value], copy: Op) -> Graph:
    """The graph with copies before one loop."""
    loop = next(n for n in graph.all_nodes if isinstance(n, Loop) and n.label == label)
    copied = _copied(graph, loop, wanted, (), copy)
    own = wanted & own_parameters(copied)  # what another reads in the turns is not helped
    if own == wanted:
        return copied
    rows = _kept_rows(graph)
    more = wanted & own_parameters(_copied(graph, loop, wanted, rows, copy))
    if not more > own:
        return _copied(graph, loop, own, (), copy)
    enough = own_parameters(_copied(graph, loop, (), rows, copy))
    return _copied(graph, loop, more - enough, rows, copy)


def _kept_rows(graph: Graph) -> set[Value]:
    """The rows of arrays of which elements are set that are put into lists.

    They lie in memory as their copies do, which decides bits.
    """
    written = _written(graph) & ordered_values(graph, ()).dense
    calls = [n for n in graph.all_nodes if isinstance(n, Call) and Trait.HOLDS in n.op.traits]
    waiting = [v for call in calls for v in call.operands if v.type != LIST and v.type.shape]
    kept: set[Value] = set()
    while waiting:
        value = waiting.pop()
        if value not in kept:
            kept.add(value)
            waiting += graph.given.get(value, ())
    return {v for v in kept if graph.owner[v] in written and _is_row(graph, v)}


def _is_row(graph: Graph, value: Value) -> bool:
    """Whether a value is what numbers name along the first axes of an array."""
    made = graph.producer.get(value)
    index = dict(made.attributes).get("index") if isinstance(made, Call) else None
    if not isinstance(made, Call) or not isinstance(index, Subscript):
        return False
    numbers = all(type(item) in (int, Slot) for item in index.items)
    return numbers and len(index.items) + value.type.ndim == made.operands[0].type.ndim


def _written(graph: Graph) -> set[Value]:
    """The values of which elements are set, in a loop that they are handed to as well."""
    written = {
        node.operands[0]
        for node in graph.all_nodes
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
    graph: Graph,
    loop: Loop,
    parameters: Collection[Value],
    rows: Collection[Value],
    copy: Op,
) -> Graph:
    """The graph with copies of what a loop begins with, and of some rows where they are taken."""

    def again(block: Block) -> Block:
        builder = Builder(graph.sizes)
        for node in block.nodes:
            if node is loop:
                given = zip(loop.parameters, loop.arguments, strict=True)
                arguments = [
                    builder.call(copy, (a,), p.origin)[0] if p in parameters else a
                    for p, a in given
                ]
                node = replace(loop, arguments=tuple(arguments))
            if isinstance(node, Branch | Loop | Join):
                node = replace(node, blocks=tuple([again(b) for b in node.blocks]))
            row = next((v for v in node.results if v in rows), None)
            if isinstance(node, Call) and row is not None:
                shown = Value(row.type, replace(row.origin, final=False))
                builder.append(replace(node, results=(shown,)))
                builder.call(copy, (shown,), row.origin)
                made = builder.nodes.pop()
                assert isinstance(made, Call)
                node = replace(made, results=(row,))
            builder.append(node)
        return block.with_nodes(tuple(builder.nodes))

    return graph.with_block(again(graph.block))
