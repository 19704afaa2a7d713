"""Tells every call whose memory its result may take over.

An elementwise result may overwrite an operand that nobody reads later, in this turn of a loop or
the next, when that operand was made by this program (not an input, not a number, not a view) or is
a parameter of a loop that was handed such arrays alone, has the same dtype and shape and at
least one axis, and when writing there gives the result the memory layout that it would have
had on its own (reductions add in the order of memory, so layout decides bits).

Before::                                   After::

    graph f(x: float64[n0], y: float64[]) {    graph f(x: float64[n0], y: float64[]) {
      %a = exp(%x)                               %a = exp(%x)
      %b = mul(%y, %a)                           %b = mul(%y, %a, reuse=1)
      %c = neg(%b)                               %c = neg(%b, reuse=0)
      return %c                                  return %c
    }                                          }
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace

from codegen.ir import (
    Block,
    Branch,
    Call,
    Graph,
    Join,
    Loop,
    Node,
    Trait,
    Value,
    dims_of,
    kept_by,
    walk,
)
from codegen.loop_ownership import Turns, may_be_overwritten, shown_by, turns_of
from codegen.memory_order import ordered_values
from codegen.passes.client import NO_CLIENT, Client


def lifetime(graph: Graph, client: Client = NO_CLIENT, ordered: Iterable[Value] = ()) -> Graph:
    """Marks the operand that each elementwise call or update may overwrite.

    `ordered` are inputs that are known to be in C order.
    """
    known = ordered_values(graph, ordered).dense
    return graph.with_block(_marked(graph, graph.block, known, (), frozenset(), {}))


def _marked(
    graph: Graph,
    block: Block,
    ordered: set[Value],
    kept: tuple[Value, ...],
    turns: Turns,
    behind: Mapping[object, Sequence[Value]],
) -> Block:
    """The block with its calls marked.

    `ordered` are values whose memory is known to be in C order, `kept` those that foreign functions
    called before the block may keep, or that parameters may show. `turns` are the loops that the
    block is in the turn of: what was made before such a turn is read again in the next, where the
    block leads to it. So it is with what is read `behind` the joins that it stands in the body of.
    """
    gone = turns - graph.leads[block]
    if gone:
        turns -= gone
        before = (v for v in _shown(graph, gone, turns) if not gone <= turns_of(graph)[v])
        kept = (*kept, *before)
    later = [v for label, read in behind.items() if label in graph.leads[block] for v in read]
    last_read = graph.last_reads(block, (*kept, *later))
    nodes: list[Node] = []
    for index, node in enumerate(block.nodes):
        if isinstance(node, Call):
            last = {v for v in node.operands if last_read.get(v) == index}
            mine = {v for v in last if turns <= turns_of(graph)[v]}
            choice = _choose(graph, node, mine, ordered)
            if choice != node.reuse:
                node = Call(node.op, node.operands, node.attributes, node.results, choice)
        elif isinstance(node, Branch):
            held = (*kept, *kept_by(block.nodes))
            inner = (_marked(graph, b, ordered, held, turns, behind) for b in node.blocks)
            node = replace(node, blocks=tuple(inner))
        elif isinstance(node, Loop):
            shown = _shown(graph, {node.label}, turns)
            held = (*kept, *kept_by(block.nodes))
            around = turns | {node.label}
            blocks = [_marked(graph, node.turn, ordered, held, around, behind)]
            if node.after:
                shown = [*held, *shown]
                blocks.append(_marked(graph, node.after, ordered, tuple(shown), turns, behind))
            node = replace(node, blocks=tuple(blocks))
        elif isinstance(node, Join):
            held = (*kept, *kept_by(block.nodes))
            shown = _shown(graph, {node.label}, turns)
            read = {**behind, node.label: [*graph.reads_in(node.after)]}
            body = _marked(graph, node.body, ordered, held, turns, read)
            after = _marked(graph, node.after, ordered, (*held, *shown), turns, behind)
            node = replace(node, blocks=(body, after))
        nodes.append(node)
    return block.with_nodes(tuple(nodes))


def _shown(graph: Graph, labels: Collection[object], turns: Turns) -> list[Value]:
    """What the parameters of loops or joins may show, and what these gave to others who keep it."""
    heads = [graph.heads[label] for label in graph.heads if label in labels]
    shown = [value for head in heads for value in shown_by(graph, head, turns)]
    return [*shown, *(value for head in heads for value in kept_by(walk(head.blocks[0].nodes)))]


def _choose(graph: Graph, call: Call, mine: set[Value], ordered: set[Value]) -> int | None:
    """The position of the operand to overwrite; `mine` are those that are read here last."""
    elementwise = Trait.ELEMENTWISE in call.op.traits
    if not call.op.traits & {Trait.OUT, Trait.UPDATE} or len(call.results) != 1:
        return None
    candidates = call.operands if elementwise else call.operands[:1]
    result = call.results[0]
    shape = dims_of(graph.sizes, result.type)
    for position, operand in enumerate(candidates):
        if (
            shape
            and may_be_overwritten(graph, operand)
            and operand in mine
            and operand.type.dtype == result.type.dtype
            and dims_of(graph.sizes, operand.type) == shape
            and (elementwise or call.operands.count(operand) == 1)
            and (not elementwise or _keeps_layout(call, position, ordered))
        ):
            return position
    return None


def _keeps_layout(call: Call, position: int, ordered: set[Value]) -> bool:
    mine = call.operands[position]
    others = [value for value in call.operands if value is not mine]
    return mine in ordered or all(value.type.ndim <= 1 for value in others)
