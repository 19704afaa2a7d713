"""Has the arms of an ``if`` meet where they end the turns of a loop.

Where nothing follows an ``if`` in the turns of a loop, each of its arms leads to the next turn. Its
backward begins with one of them, and what a turn does before the ``if`` would stand behind each. Of
arms that meet behind a join first, it stands there once.

What a list was given gets the cotangent of its item before all others, as a tape adds them up: the
list was read behind the loop. Behind a join it would be added where the list was given it. That is
the same sum where there is one other cotangent, and no more.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence, Set
from dataclasses import replace

from codegen.ir import (
    Again,
    Block,
    Branch,
    Call,
    Graph,
    Join,
    Loop,
    Node,
    Value,
    inner_blocks,
    walk,
)
from codegen.types import is_inexact
from tracegrad.differentiation.loops.cotangent_flow import (
    handed_on,
    has_one_reader,
    with_cotangents,
)
from tracegrad.ops.python_lists import FILLING


def with_meeting_arms(graph: Graph) -> Graph:
    """The graph with a join around each branch whose arms all lead straight to the next turn.

    It is one whose arms append to lists: others meet where they are traced, as far as that pays.
    Where a turn computes nothing before that is differentiated, it stays as it is.
    """
    block = _block(graph.block, None, False, with_cotangents(graph))
    return graph if block is graph.block else graph.with_block(block)


def _block(block: Block, loop: Loop | None, computes: bool, flowing: Set[Value]) -> Block:
    """A block, with which the turn of a `loop` ends, or of none; the same where nothing changes.

    `computes` tells whether the turn does before what has a backward.
    """
    if not block.nodes:
        return block
    last = block.nodes[-1]
    computes = computes or _has_backward(block.nodes)
    ways = [(b, *_end_of_turn(last, b, loop, computes)) for b in inner_blocks(last)]
    inner = [_block(*way, flowing) for way in ways]
    if any(new is not old for new, old in zip(inner, inner_blocks(last), strict=True)):
        assert isinstance(last, Branch | Loop | Join)
        last = replace(last, blocks=tuple(inner))
        block = block.with_nodes((*block.nodes[:-1], last))
    if loop is None or not computes or not isinstance(last, Branch):
        return block
    appends = any(isinstance(n, Call) and n.op in FILLING for n in walk([last]))
    if not appends or not all(_adds_in_any_order(loop, arm, flowing) for arm in last.blocks):
        return block
    ends = [end for arm in last.blocks for end in _ends(arm)]
    if not last.complete or any(end is None or end.label != loop.label for end in ends):
        return block
    join = _joined(loop, last, [end for end in ends if end is not None])
    return block.with_nodes((*block.nodes[:-1], join))


def _end_of_turn(
    node: Node, block: Block, loop: Loop | None, computes: bool
) -> tuple[Loop | None, bool]:
    """The loop whose turn ends with a block of a node, and whether that computes before."""
    if isinstance(node, Loop) and block is node.turn:
        return node, False
    if isinstance(node, Join) and block is node.after:
        return loop, computes or _has_backward(node.body.nodes)
    return None, False


def _has_backward(nodes: Sequence[Node]) -> bool:
    """Whether calls among nodes, or what joins give, are numbers that are differentiated."""
    made = [result for node in nodes if isinstance(node, Call | Join) for result in node.results]
    return any(is_inexact(result.type.dtype) for result in made)


def _adds_in_any_order(loop: Loop, arm: Block, flowing: Set[Value]) -> bool:
    """Whether each value that lists are given in a turn is made in it, and has one reader besides.

    That is on the way through an arm. Where it goes on to the next turn, it has one reader there.
    """
    nodes = [*walk(loop.turn.nodes)]
    items = [n.operands[1] for n in nodes if isinstance(n, Call) and n.op in FILLING]
    if not items:
        return True
    made = {result for node in nodes if isinstance(node, Call) for result in node.results}
    inside = [*walk(arm.nodes)]
    others = {id(node) for block in _arms_of(nodes) for node in walk(block.nodes)}
    way = [node for node in nodes if id(node) not in others] + inside
    read = Counter(
        value
        for node in way
        if not isinstance(node, Call) or any(is_inexact(r.type.dtype) for r in node.results)
        for value in node.operands
    )
    if not all(has_one_reader(loop, p, flowing) for p in handed_on(loop, nodes, items)):
        return False
    return all(item in made and read[item] <= 2 for item in items)


def _arms_of(nodes: Sequence[Node]) -> list[Block]:
    return [block for node in nodes if isinstance(node, Branch) for block in node.blocks]


def _ends(arm: Block) -> list[Again | None]:
    """Where an arm leads, through ifs of its own; None for what is neither."""
    last = arm.nodes[-1] if arm.nodes else None
    if isinstance(last, Branch) and last.complete:
        return [end for block in last.blocks for end in _ends(block)]
    return [last if isinstance(last, Again) else None]


def _joined(loop: Loop, branch: Branch, ends: Sequence[Again]) -> Join:
    """The branch in a join, behind which is the next turn; what is the same in all arms stays."""
    label, first = object(), ends[0].arguments
    varying = [i for i, x in enumerate(first) if any(end.arguments[i] is not x for end in ends)]
    made = {i: Value(loop.parameters[i].type, loop.parameters[i].origin) for i in varying}

    def meeting(block: Block) -> Block:
        last = block.nodes[-1]
        if isinstance(last, Branch):
            last = replace(last, blocks=tuple(map(meeting, last.blocks)))
        elif isinstance(last, Again):
            last = replace(last, label=label, arguments=tuple([last.arguments[i] for i in varying]))
        return block.with_nodes((*block.nodes[:-1], last))

    body = Block((replace(branch, blocks=tuple(map(meeting, branch.blocks))),))
    again = replace(ends[0], arguments=tuple([made.get(i, x) for i, x in enumerate(first)]))
    return Join(label, tuple(made.values()), (body, Block((again,))), branch.origin)
