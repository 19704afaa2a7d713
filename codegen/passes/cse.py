"""A graph enters; it leaves with every computation done once.

Two calls are the same when op, operands and attributes are; operands of a commutative op in any
order. Sharing between forward and backward falls out: ``tanh`` in the backward is the forward's.

Before::                                   After::

    graph f(x: float64[n0]) {                  graph f(x: float64[n0]) {
      %a = exp(%x)                               %a = exp(%x)
      %b = exp(%x)                               %c = mul(%a, %a)
      %c = mul(%a, %b)                           return %c
      return %c                                }
    }
"""

from __future__ import annotations

from collections.abc import Hashable

from codegen.ir import Call, Constant, Graph, Trait, Value, attribute_key, type_key
from codegen.passes.client import NO_CLIENT, Client
from codegen.rewrite import Rewriter, sweep


def cse(graph: Graph, client: Client = NO_CLIENT) -> Graph:
    """Merges equal calls, and equal numbers."""
    seen: dict[Hashable, tuple[Value, ...]] = {}
    numbers: dict[Value, Value] = {}

    def key_of(call: Call) -> Hashable:
        operands = [id(numbers.get(value, value)) for value in call.operands]
        if Trait.COMMUTATIVE in call.op.traits:
            operands.sort()
        shown = tuple((name, attribute_key(graph.sizes, v)) for name, v in call.attributes)
        return (call.op.name, tuple(operands), shown)

    def merge(r: Rewriter, call: Call) -> tuple[Value, ...] | None:
        key = key_of(call)
        if key in seen:
            return seen[key]
        seen[key] = call.results
        return None

    equal: dict[Hashable, Value] = {}
    for node in graph.nodes:
        if isinstance(node, Constant):
            shown = node.slot if node.slot is not None else repr(node.value)
            key = (type(node.value), shown, node.slot is None, type_key(graph.sizes, node.result.type))
            numbers[node.result] = equal.setdefault(key, node.result)
    return sweep(graph, Rewriter(graph, (merge,)))

