"""Puts the backward of turns behind the turns computed once more.

The loop is gone through again from what its first turn had, without the ways that leave it, and
leaves lists of what the backward reads; nothing of them was kept by the forward. Where that is no
more than the states between turns, the last turn is left out: its state is the next segment's.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Set
from dataclasses import replace
from typing import Any

from codegen.ir import (
    Again,
    Block,
    Branch,
    Builder,
    Call,
    Constant,
    Graph,
    Join,
    Loop,
    Node,
    Origin,
    Value,
    inner_blocks,
    renamed,
    with_operands,
)
from codegen.types import LIST
from tracegrad.differentiation.loops.residuals import INT, Arms, Facts, Tapes
from tracegrad.ops.elementwise.ufuncs import add, subtract
from tracegrad.ops.python_lists import appended, first_items

BACKWARD = Origin(section="backward")


def made_again(
    graph: Graph,
    facts: Mapping[object, Facts],
    arms: Arms,
    loop: Loop,
    stop: Value | None,
    back: Block,
) -> Block:
    """The block that makes the turns of a loop, up to a number, and then goes back through them."""
    mine = facts[loop.label]
    read = set(_read(back))
    kept = replace(
        mine,
        saved={v: listed for v, listed in mine.saved.items() if listed in read},
        carried={v: listed for v, listed in mine.carried.items() if listed in read},
        which=mine.which if mine.which in read else None,
        count=None,
    )
    turn = _staying(graph, loop.turn, {loop.label})
    counter, builder = loop.counter, Builder(graph.sizes)
    assert counter is not None and stop is not None
    spared = is_of_states(kept)
    if spared:
        step, origin = builder.constant(counter.step, INT), BACKWARD.named("last")
        (stop,) = builder.call(subtract, (stop, step), origin)
    counter = replace(counter, stop=stop)
    again = replace(loop, blocks=(turn,), counter=counter)
    nodes = [*builder.nodes, *Tapes(graph, {**facts, loop.label: kept}, {}, arms).keeping(again)]
    new: dict[object, Any] = {}
    copies = [_copy(node, new) for node in nodes]
    whole = copies[-1]
    assert isinstance(whole, Loop)
    lists = {v: new[v] for v in (*kept.saved.values(), *kept.carried.values()) if v in new}
    if kept.which is not None:
        lists[kept.which] = new[kept.which]
    builder = Builder(graph.sizes)
    for parameter, listed in kept.carried.items():
        if spared and parameter in kept.later:
            (lists[listed],) = builder.call(
                appended, (lists[listed], parameter), replace(listed.origin, section="backward")
            )
    after = renamed(back, lists)
    after = after.with_nodes((*builder.nodes, *after.nodes))
    return Block((*copies[:-1], replace(whole, blocks=(*whole.blocks, after))))


def released(graph: Graph, facts: Facts, back: Loop, k: Value) -> Loop:
    """A backward over segments that drops what a segment began with, once it has passed it.

    It goes back through turn `k` of the loop that the `facts` are of.
    """
    read = set(_read(back.turn))
    listed = {v: name for v, name in {**facts.carried, **facts.saved}.items() if not v.type.weak}
    lists = {v: v not in facts.later for v in listed}
    new = {listed[v]: Value(LIST, replace(listed[v].origin, section="backward")) for v in lists}
    new = {old: name for old, name in new.items() if old in read}

    def dropping(again: Again) -> list[Node]:
        builder, rest = Builder(graph.sizes), list[Value]()
        for value, passed in lists.items():
            if (name := new.get(listed[value])) is None:
                continue
            count = k if passed else builder.call(add, (k, builder.constant(1, INT)), BACKWARD)[0]
            rest += builder.call(first_items, (name, count), name.origin)
        return [*builder.nodes, replace(again, arguments=(*again.arguments, *rest))]

    def within(block: Block) -> Block:
        last = block.nodes[-1] if block.nodes else None
        if isinstance(last, Again) and last.label is back.label:
            return block.with_nodes((*block.nodes[:-1], *dropping(last)))
        if isinstance(last, Branch | Loop | Join):
            last = replace(last, blocks=tuple([within(b) for b in last.blocks]))
            return block.with_nodes((*block.nodes[:-1], last))
        return block

    turn = within(renamed(back.turn, new))
    return replace(
        back,
        parameters=(*back.parameters, *new.values()),
        arguments=(*back.arguments, *new),
        blocks=(turn, *back.blocks[1:]),
    )


def is_of_states(kept: Facts) -> bool:
    """Whether a backward reads no more of turns than the states between them.

    The state after the last one is what the next segment begins with: that turn is not made again.
    """
    return not kept.saved and kept.which is None


def _staying(graph: Graph, block: Block, labels: Set[object]) -> Block:
    """The block without the ways that lead to no next turn of a loop, or of one in its turn."""
    last = block.nodes[-1]
    before = block.nodes[:-1]
    if isinstance(last, Loop | Join):
        inner = tuple([_staying(graph, b, labels | {last.label}) for b in last.blocks])
        return block.with_nodes((*before, replace(last, blocks=inner)))
    if isinstance(last, Branch):
        arms = zip(last.outcomes, last.blocks, strict=True)
        left = [(o, _staying(graph, b, labels)) for o, b in arms if labels & graph.leads[b]]
        if len(left) == 1:
            return block.with_nodes((*before, *left[0][1].nodes))
        outcomes, blocks = zip(*left, strict=True)
        branch = replace(last, outcomes=tuple(outcomes), blocks=tuple(blocks))
        return block.with_nodes((*before, branch))
    return block


def _copy(node: Node, new: dict[object, Any]) -> Node:
    """A node of new values, and of what was copied before."""
    moved: Any = with_operands(node, lambda value: new.get(value, value))
    for result in node.results:
        new[result] = Value(result.type, replace(result.origin, section="backward"))
    match moved:
        case Constant():
            return replace(moved, result=new[moved.result])
        case Call():
            return replace(moved, results=tuple([new[v] for v in moved.results]))
        case Again():
            origin = replace(moved.origin, section="backward")
            return replace(moved, label=new.get(moved.label, moved.label), origin=origin)
        case Join():
            new[moved.label] = object()
            moved = replace(
                moved,
                label=new[moved.label],
                parameters=tuple([new[v] for v in moved.parameters]),
                origin=replace(moved.origin, section="backward"),
            )
        case Loop():
            new[moved.label] = object()
            counter = moved.counter and replace(moved.counter, index=new[moved.counter.index])
            moved = replace(
                moved,
                label=new[moved.label],
                parameters=tuple([new[v] for v in moved.parameters]),
                counter=counter,
                origin=replace(moved.origin, section="backward"),
            )
    if inner_blocks(node):
        moved = replace(moved, blocks=tuple([_copied(b, new) for b in inner_blocks(node)]))
    return moved  # type: ignore[no-any-return]


def _copied(block: Block, new: dict[object, Any]) -> Block:
    nodes = tuple([_copy(node, new) for node in block.nodes])
    outputs = tuple([new.get(v, v) for v in block.outputs])
    return block.with_nodes(nodes, outputs)


def _read(block: Block) -> Iterable[Value]:
    for node in block.nodes:
        yield from node.operands
        for inner in inner_blocks(node):
            yield from _read(inner)
    yield from block.outputs
