"""Reorders sums and products in a turn so that what is ready before the loop comes first."""

from __future__ import annotations

import operator
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from codegen.ir import Builder, Call, Graph, Node, Op, Value
from codegen.passes.dce import dce
from tracegrad.fast_math.loops.loop_body import Turn
from tracegrad.fast_math.loops.loop_rewriting import of_one_type, replaced
from tracegrad.ops.elementwise.ufuncs import add, divide, multiply, subtract

JOINS = ((add, subtract), (multiply, divide))
"""What is made of several in any order, and how one of them is taken away again."""


def ready_first(graph: Graph, turn: Turn) -> Graph | None:
    """The graph with ``(x[t] + b) + h`` for ``(x[t] + h) + b``, where h waits for its turn."""
    uses = Counter(v for node in (*turn.nodes, turn.again) for v in node.operands)
    changed = False
    for ops in JOINS:
        nodes = list(_rejoined(graph, turn, ops, uses))
        if len(nodes) != len(turn.nodes) or any(map(operator.is_not, nodes, turn.nodes)):
            changed = True
            body = turn.loop.turn.with_nodes((*nodes, turn.again))
            loop = replace(turn.loop, blocks=(body, *turn.loop.blocks[1:]))
            graph = graph.with_block(replaced(graph.block, turn.loop, (loop,)))
            turn = Turn(graph, loop, turn.span)
    return dce(graph) if changed else None


def _rejoined(
    graph: Graph, turn: Turn, ops: tuple[Op, Op], uses: Mapping[Value, int]
) -> Iterator[Node]:
    inside = {
        operand
        for node in turn.nodes
        if isinstance(node, Call) and node.op in ops
        for operand in node.operands
        if uses[operand] == 1
    }
    waiting = turn.waiting
    for node in turn.nodes:
        joins = isinstance(node, Call) and node.op in ops and node.results[0] in waiting
        new = None
        if joins and not inside.issuperset(node.results):
            new = _joined(graph, turn, ops, node.results[0], uses)
        yield from [node] if new is None else new


def _joined(
    graph: Graph, turn: Turn, ops: tuple[Op, Op], value: Value, uses: Mapping[Value, int]
) -> list[Node] | None:
    """The calls that join what is ready before the loop, and then the rest."""
    leaves = list(leaves_of(turn, value, uses, ops))
    early, waiting = {*turn.wide, *turn.reads}, turn.waiting
    ready = sorted((v for v in leaves if v[0] not in waiting), key=lambda leaf: leaf[1])
    rest = sorted((v for v in leaves if v[0] in waiting), key=lambda leaf: leaf[1])
    alike = all(leaf.type.dtype == value.type.dtype for leaf, _ in leaves)
    if not (alike and len(ready) > 1 and any(v in early for v, _ in ready)):
        return None
    builder = Builder(graph.sizes)
    origin = value.origin.named(value.origin.name)

    def join(leaves: Sequence[tuple[Value, bool]]) -> tuple[Value, bool]:
        """What they are together, and whether that is taken away."""
        (total, taken), *others = leaves
        for leaf, less in others:
            total = builder.call(ops[less ^ taken], (total, leaf), origin)[0]
        return total, taken

    begin, *others = sorted([join(ready), *rest], key=lambda leaf: leaf[1])
    total, taken = join([begin, *others])
    last = builder.nodes[-1]
    if taken or not of_one_type(graph, [total.type, value.type]) or not isinstance(last, Call):
        return None
    return [*builder.nodes[:-1], replace(last, results=(value,))]


def leaves_of(
    turn: Turn, value: Value, uses: Mapping[Value, int], ops: tuple[Op, Op]
) -> Iterator[tuple[Value, bool]]:
    """What is joined to a value, each with whether it is taken away."""
    waiting = [(value, False)]
    whole = value
    while waiting:
        value, negative = waiting.pop()
        node = turn.maker.get(value)
        once = uses[value] == 1 or value is whole
        if isinstance(node, Call) and node.op in ops and once:
            a, b = node.operands
            waiting += [(b, negative ^ (node.op is ops[1])), (a, negative)]
        else:
            yield value, negative
