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
from types import MappingProxyType
from typing import NamedTuple

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
    with_blocks,
)
from codegen.loop_ownership import Turns, heads_before, may_be_overwritten, shown_by, turns_of
from codegen.memory_order import ordered_values
from codegen.memory_reads import memory_reads
from codegen.passes.client import NO_CLIENT, Client


def lifetime(graph: Graph, client: Client = NO_CLIENT, ordered: Iterable[Value] = ()) -> Graph:
    """Marks the operand that each elementwise call or update may overwrite.

    `ordered` are inputs that are known to be in C order.
    """
    known = ordered_values(graph, ordered).dense
    return graph.with_block(_marked(graph, graph.block, known, _Around()))


class _Around(NamedTuple):
    """Where a block stands.

    `kept` are owners of memory that foreign functions called before the block may keep, or that
    parameters may show. `turns` are the loops that it is in the turn of: what was made before such
    a turn is read again in the next, where the block leads to it. So it is with what is read
    `behind` the joins that it stands in the body of. `heads` are the loops and joins that it stands
    behind, with the turns that these stand in; None for one that it is in the turn of.
    """

    kept: frozenset[Value] = frozenset()
    turns: Turns = frozenset()
    behind: Mapping[object, Block] = MappingProxyType({})
    heads: tuple[tuple[Loop | Join, Turns] | None, ...] = ()

    def keeping(self, graph: Graph, values: Iterable[Value]) -> _Around:
        """As here, where the memory of some more values is kept."""
        owners = {graph.owner[value] for value in values}
        return self if owners <= self.kept else self._replace(kept=self.kept | owners)


def _marked(graph: Graph, block: Block, ordered: set[Value], around: _Around) -> Block:
    """The block with its calls marked.

    `ordered` are values whose memory is known to be in C order.
    """
    gone = around.turns - graph.leads[block]
    if gone:
        around = around._replace(turns=around.turns - gone)
        shown = _shown(graph, gone, around.turns)
        around = around.keeping(graph, [v for v in shown if not gone <= turns_of(graph)[v]])
    around = around.keeping(graph, kept_by(block.nodes))
    reads = memory_reads(graph)
    later = [reads.blocks[b] for join, b in around.behind.items() if join in graph.leads[block]]
    nodes: list[Node] = []
    for node in block.nodes:
        match node:
            case Call():
                choice = _choose(graph, node, ordered, around, [reads.behind(node, block), *later])
                if choice != node.reuse:
                    node = Call(node.op, node.operands, node.attributes, node.results, choice)
            case Branch():
                inner = [_marked(graph, b, ordered, around) for b in node.blocks]
                node = with_blocks(node, tuple(inner))
            case Loop():
                turns = around.turns | {node.label}
                inside = around._replace(turns=turns, heads=(*around.heads, None))
                inner = [_marked(graph, node.turn, ordered, inside)]
                if node.after:
                    inner.append(_marked(graph, node.after, ordered, _behind(graph, node, around)))
                node = with_blocks(node, tuple(inner))
            case Join():
                inside = around._replace(behind={**around.behind, node.label: node.after})
                body = _marked(graph, node.body, ordered, inside)
                after = _marked(graph, node.after, ordered, _behind(graph, node, around))
                node = with_blocks(node, (body, after))
        nodes.append(node)
    return block.with_nodes(tuple(nodes))


def _behind(graph: Graph, head: Loop | Join, around: _Around) -> _Around:
    """What is known behind a loop or join."""
    around = around._replace(heads=(*around.heads, (head, around.turns)))
    return around.keeping(graph, kept_by(walk(head.blocks[0].nodes)))


def _shown(graph: Graph, labels: Collection[object], turns: Turns) -> list[Value]:
    """What the parameters of loops may show, and what these gave to others who keep it."""
    heads = [graph.heads[label] for label in graph.heads if label in labels]
    shown = [value for head in heads for value in shown_by(graph, head, turns)]
    return [*shown, *(value for head in heads for value in kept_by(walk(head.blocks[0].nodes)))]


def _choose(
    graph: Graph, call: Call, ordered: set[Value], around: _Around, later: Sequence[range]
) -> int | None:
    """The position of the operand to overwrite; `later` is where memory is read after the call."""
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
            and operand.type.dtype == result.type.dtype
            and dims_of(graph.sizes, operand.type) == shape
            and (elementwise or call.operands.count(operand) == 1)
            and (not elementwise or _keeps_layout(call, position, ordered))
            and _is_read_last(graph, operand, around, later)
        ):
            return position
    return None


def _is_read_last(graph: Graph, value: Value, around: _Around, later: Sequence[range]) -> bool:
    """Whether nobody reads the memory of a value any more."""
    if graph.owner[value] is not value or value in around.kept:
        return False
    if not around.turns <= turns_of(graph)[value]:
        return False
    if any(memory_reads(graph).is_read(value, places) for places in later):
        return False
    heads = filter(None, around.heads[heads_before(graph)[value] :])
    return not any(value in shown_by(graph, head, turns) for head, turns in heads)


def _keeps_layout(call: Call, position: int, ordered: set[Value]) -> bool:
    mine = call.operands[position]
    others = [value for value in call.operands if value is not mine]
    return mine in ordered or all(value.type.ndim <= 1 for value in others)
