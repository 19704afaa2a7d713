"""Does every computation once: common subexpression elimination.

Two calls are the same when op, operands and attributes are; operands of a commutative op in any
order. A length that the number of a turn tells is the same in that turn alone. Sharing between
forward and backward falls out: ``tanh`` in the backward is the forward's.
A call that has to raise is not left out for one that may go for want of a reader. New arrays that
are written to (zeros, of which some elements are set) stay one for each writer: to
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

from collections.abc import Hashable

from codegen.facts import once_for_each_graph
from codegen.ir import (
    Again,
    Block,
    Branch,
    Call,
    Check,
    Constant,
    Graph,
    Join,
    Loop,
    Node,
    Trait,
    Value,
    with_blocks,
    with_operands,
)
from codegen.keys import attributes_key, type_key
from codegen.passes.client import NO_CLIENT, Client
from codegen.rewrite import Rewriter, sweep
from codegen.told_lengths import symbols_of_attributes, told_by_turns
from codegen.types import LIST


def cse(graph: Graph, client: Client = NO_CLIENT) -> Graph:
    """Merges equal numbers, then equal calls."""
    graph = graph.with_block(_merge_numbers(graph, graph.block, {}, {}))
    order: dict[Value, int] = {}  # values by their first mention
    written = made_to_be_written(graph)
    counted = {name for node in graph.leading if (name := told_by_turns(node)) is not None}

    def merge(r: Rewriter, call: Call) -> tuple[Value, ...] | None:
        if Trait.EFFECT in call.op.traits or call.results[0] in written:
            return None
        operands = [order.setdefault(value, len(order)) for value in call.operands]
        key = call_key(graph, call, operands)
        if counted:  # lengths that a turn tells are others in turns of another loop
            told = sorted(counted & symbols_of_attributes(call, graph.sizes))
            key = (*key, *[r.facts.get(("turn", name)) for name in told])
        seen = r.facts.get(key)
        if seen is not None and (seen[0].origin.raises or not call.raises):
            return tuple(map(r.current, seen))
        r.learn(key, call.results)
        return None

    return sweep(graph, Rewriter(graph, (merge,)))


@once_for_each_graph
def made_to_be_written(graph: Graph) -> frozenset[Value]:
    """The arrays of numbers alone, and lists, that updates begin with, or loops may write to."""
    calls = [node for node in graph.all_nodes if isinstance(node, Call)]
    first = [call.operands[0] for call in calls if Trait.UPDATE in call.op.traits]
    for node in graph.leading:
        if isinstance(node, Loop | Again):
            first += node.arguments
    return frozenset(value for value in first if _is_made_of_numbers(graph, value))


def _is_made_of_numbers(graph: Graph, value: Value) -> bool:
    made = graph.producer.get(value)
    if not isinstance(made, Call):
        return False
    return value.type == LIST or all(graph.constant(v) for v in made.operands)


def number_key(graph: Graph, constant: Constant) -> Hashable:
    """Equal for numbers that may stand for each other."""
    value, slot = constant.value, constant.slot
    shown = repr(value) if slot is None else slot
    return (type(value), slot is None, shown, type_key(graph.sizes, constant.result.type))


def call_key(graph: Graph, call: Call, operands: list[int]) -> tuple[Hashable, ...]:
    """Equal for calls that make the same, where `operands` tell equal values by equal numbers."""
    if call.commutes:
        operands = sorted(operands)
    return (call.op.name, tuple(operands), attributes_key(graph.sizes, call))


def _merge_numbers(
    graph: Graph, block: Block, first: dict[Hashable, Value], same: dict[Value, Value]
) -> Block:
    """The block with one constant for each number of each type; `first` are those before it."""
    nodes: list[Node] = []

    def now(value: Value) -> Value:
        return same.get(value, value)

    for node in block.nodes:
        match node:
            case Constant(result=result):
                same[result] = first.setdefault(number_key(graph, node), result)
                if same[result] is result:
                    nodes.append(node)
            case Call() | Check() | Again():
                nodes.append(with_operands(node, now))
            case Branch() | Loop() | Join():
                inner = tuple([_merge_numbers(graph, b, dict(first), same) for b in node.blocks])
                nodes.append(with_blocks(with_operands(node, now), inner))
    return block.with_nodes(tuple(nodes), tuple(map(now, block.outputs)))
