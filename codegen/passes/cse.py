"""A graph enters; it leaves with every computation done once.

Two calls are the same when op, operands and attributes are; operands of a commutative op in any
order. Sharing between forward and backward falls out: ``tanh`` in the backward is the forward's.
New arrays that are written to (zeros, of which some elements are set) stay one for each writer: to
share one, each would have to copy it.

Before::                                   After::

    graph f(x: float64[n0]) {                  graph f(x: float64[n0]) {
      %a = exp(%x)                               %a = exp(%x)
      %b = exp(%x)                               %c = mul(%a, %a)
      %c = mul(%a, %b)                           return %c
      return %c                                }
    }
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from dataclasses import replace

from codegen.ir import (
    Block,
    Branch,
    Call,
    Check,
    Constant,
    Graph,
    Node,
    Trait,
    Value,
    attributes_key,
    type_key,
    walk,
)
from codegen.passes.client import NO_CLIENT, Client
from codegen.rewrite import Rewriter, sweep


def cse(graph: Graph, client: Client = NO_CLIENT) -> Graph:
    """Merges equal numbers, then equal calls."""
    graph = graph.with_block(_merge_numbers(graph, graph.block, {}, {}))
    order: dict[Value, int] = {}  # values by their first mention
    written = set(_made_to_be_written(graph))

    def merge(r: Rewriter, call: Call) -> tuple[Value, ...] | None:
        if Trait.EFFECT in call.op.traits or call.results[0] in written:
            return None
        operands = [order.setdefault(value, len(order)) for value in call.operands]
        if Trait.COMMUTATIVE in call.op.traits:
            operands.sort()
        key = (call.op.name, tuple(operands), attributes_key(graph.sizes, call))
        seen = r.facts.get(key)
        if seen is not None:
            return tuple(map(r.current, seen))
        r.facts[key] = call.results
        return None

    return sweep(graph, Rewriter(graph, (merge,)))


def _made_to_be_written(graph: Graph) -> Iterator[Value]:
    """The arrays made of nothing that updates begin with."""
    for node in walk(graph.nodes):
        if isinstance(node, Call) and Trait.UPDATE in node.op.traits:
            made = graph.producer.get(node.operands[0])
            if isinstance(made, Call) and not made.operands:
                yield node.operands[0]


def _merge_numbers(
    graph: Graph, block: Block, first: dict[Hashable, Value], same: dict[Value, Value]
) -> Block:
    """The block with one constant for each number of each type; `first` are those before it."""
    nodes: list[Node] = []

    def merged(values: tuple[Value, ...]) -> tuple[Value, ...]:
        return tuple(same.get(value, value) for value in values)

    for node in block.nodes:
        match node:
            case Constant(value, result, slot):
                shown = repr(value) if slot is None else slot
                key = (type(value), slot is None, shown, type_key(graph.sizes, result.type))
                same[result] = first.setdefault(key, result)
                if same[result] is result:
                    nodes.append(node)
            case Call(operands=operands):
                mapped = merged(operands)
                if mapped != operands:
                    node = Call(node.op, mapped, node.attributes, node.results, node.reuse)
                nodes.append(node)
            case Check(operand=operand):
                nodes.append(replace(node, operand=same.get(operand, operand)))
            case Branch(operand=operand, blocks=blocks):
                inner = tuple(_merge_numbers(graph, b, dict(first), same) for b in blocks)
                nodes.append(replace(node, operand=same.get(operand, operand), blocks=inner))
    return replace(block, nodes=tuple(nodes), outputs=merged(block.outputs))
