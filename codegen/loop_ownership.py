"""Finds which parameters of a graph's loops are arrays of their own, which may be overwritten.

A loop is handed an array where the program made it, it is no view, and nobody else reads its memory
from there on. A parameter that is handed every argument, the first and those of the next turns, is
an array that may be overwritten, as what a call made is (so is that of a join): a buffer is filled
place by place without a copy in each turn. All parameters are supposed to be so, until one is seen
not to.
"""

from __future__ import annotations

from collections.abc import Mapping, Set
from typing import NamedTuple, TypeAlias

from codegen.facts import once_for_each_graph
from codegen.ir import (
    Again,
    Block,
    Branch,
    Call,
    Graph,
    Join,
    Loop,
    Trait,
    Value,
    kept_by,
)
from codegen.memory_reads import memory_reads
from codegen.types import LIST

Turns = frozenset[object]
"""The loops that something stands in the turn of, by label."""


class _Edge(NamedTuple):
    """A node that gives a loop its arguments, and where it stands."""

    node: Loop | Again
    target: Loop | Join
    turns: Turns
    heads: Heads  # the loops and joins whose parameters can be read there
    later: tuple[Block, ...]  # what is behind the joins that it stands in the body of, and leads to


Heads: TypeAlias = "tuple[Loop | Join, ...]"


@once_for_each_graph
def turns_of(graph: Graph) -> Mapping[Value, Turns]:
    """The loops in whose turn each value is made; a parameter is made in the turn of its loop."""
    table: dict[Value, Turns] = dict.fromkeys(graph.inputs, frozenset())

    def note(block: Block, turns: Turns) -> None:
        for node in block.nodes:
            own = turns | {node.label} if isinstance(node, Loop) else turns
            table.update(dict.fromkeys(node.results, own))
        last = block.nodes[-1] if block.nodes else None
        if isinstance(last, Branch | Loop | Join):
            for inner in last.blocks:
                note(inner, own if isinstance(last, Loop) and inner is last.turn else turns)

    note(graph.block, frozenset())
    return table


@once_for_each_graph
def heads_before(graph: Graph) -> Mapping[Value, int]:
    """How many loops and joins there are whose parameters can be read where a value is made.

    None of these parameters shows it.
    """
    table: dict[Value, int] = dict.fromkeys(graph.inputs, 0)

    def note(block: Block, heads: int) -> None:
        for node in block.nodes:
            table.update(dict.fromkeys(node.results, heads))
        last = block.nodes[-1] if block.nodes else None
        if isinstance(last, Loop | Join):
            table.update(dict.fromkeys(last.results, heads + 1))
        if isinstance(last, Branch | Loop | Join):
            for inner in last.blocks:
                is_body = isinstance(last, Join) and inner is last.body
                note(inner, heads if is_body or isinstance(last, Branch) else heads + 1)

    note(graph.block, 0)
    return table


@once_for_each_graph
def own_parameters(graph: Graph) -> frozenset[Value]:
    """The parameters that are arrays of their own: of loops in every turn and after the last."""
    own = {p for p in graph.given if p.type.shape}
    if not own:
        return frozenset()
    edges: list[_Edge] = []
    _find_edges(graph, graph.block, frozenset(), (), {}, edges)
    kept = _kept(graph)
    own -= kept
    for edge in edges:
        given = zip(edge.target.parameters, edge.node.arguments, strict=True)
        own -= {p for p, a in given if p in own and (a in kept or not _is_alone(graph, edge, a))}
    while True:
        lost = {
            parameter
            for edge in edges
            for parameter, a in zip(edge.target.parameters, edge.node.arguments, strict=True)
            if parameter in own and not (_is_made(graph, a) or a in own)
        }
        if not lost:
            return frozenset(own)
        own -= lost


def may_be_overwritten(graph: Graph, value: Value) -> bool:
    """Whether a value is an array that the program made, which lies as a new one does.

    That is so in the turn of a loop that it was made in, of inner loops it is read again.
    """
    made = graph.producer.get(value)
    if isinstance(made, Loop | Join):
        return value in own_parameters(graph)
    if not isinstance(made, Call):
        return value in graph.spent
    return made.memory is None and Trait.EXTENT not in made.op.traits


def shown_by(graph: Graph, head: Loop | Join, turns: Turns) -> Set[Value]:
    """The owners of the memory that parameters may show, themselves or through other parameters.

    What the parameter of a loop shows in one of its `turns` was made before that turn, and what one
    parameter shows of another of its own loop was that in a turn before.
    """
    known = _shown(graph)
    if (head, turns) not in known:
        known[head, turns] = _found_shown(graph, head, turns)
    return known[head, turns]


@once_for_each_graph
def _shown(graph: Graph) -> dict[tuple[Loop | Join, Turns], Set[Value]]:
    """What was asked of it so far."""
    return {}


def _found_shown(graph: Graph, head: Loop | Join, turns: Turns) -> Set[Value]:
    shown: set[Value] = set()
    waiting = [graph.owner[value] for p in head.parameters for value in graph.given[p]]
    while waiting:
        value = waiting.pop()
        if value in shown or value in head.parameters:
            continue
        shown.add(value)
        made = graph.producer.get(value)
        if isinstance(made, Join) or (isinstance(made, Loop) and made.label not in turns):
            waiting += [graph.owner[given] for given in graph.given.get(value, ())]
    return shown


def _kept(graph: Graph) -> set[Value]:
    """What others keep, and what parameters that they keep may show.

    Who keeps an item of a list does not keep the list.
    """
    kept: set[Value] = set()
    waiting = list(kept_by(graph.all_nodes))
    while waiting:
        value = graph.owner[waiting.pop()]
        if value not in kept and value.type != LIST:
            kept.add(value)
            waiting += graph.given.get(value, ())
    return kept


def _find_edges(
    graph: Graph,
    block: Block,
    turns: Turns,
    heads: Heads,
    later: Mapping[object, Block],
    found: list[_Edge],
) -> None:
    turns &= graph.leads[block]
    later = {label: after for label, after in later.items() if label in graph.leads[block]}
    match block.nodes[-1] if block.nodes else None:
        case Branch() as branch:
            for inner in branch.blocks:
                _find_edges(graph, inner, turns, heads, later, found)
        case Loop() as loop:
            found.append(_Edge(loop, loop, turns, heads, tuple(later.values())))
            for inner in loop.blocks:
                own = turns | {loop.label} if inner is loop.turn else turns
                _find_edges(graph, inner, own, (*heads, loop), later, found)
        case Join() as join:
            behind = {**later, join.label: join.after}
            _find_edges(graph, join.body, turns, heads, behind, found)
            _find_edges(graph, join.after, turns, (*heads, join), later, found)
        case Again() as again:
            target = graph.heads[again.label]
            found.append(_Edge(again, target, turns, heads, tuple(later.values())))


def _is_made(graph: Graph, value: Value) -> bool:
    """Whether a value is a new array that a call made, or an input that nobody else reads."""
    given = isinstance(graph.producer.get(value), Loop | Join)
    return not given and may_be_overwritten(graph, value)


def _is_alone(graph: Graph, edge: _Edge, value: Value) -> bool:
    """Whether nobody else reads the memory of an argument, which is no view, from here on."""
    node, target, owner = edge.node, edge.target, graph.owner
    if sum(owner[a] is value for a in node.arguments) > 1:
        return False
    own, reads = turns_of(graph)[value], memory_reads(graph)
    older = [h for h in edge.heads[heads_before(graph)[value] :] if h.label not in own]
    if any(value in shown_by(graph, head, own) for head in older):
        return False  # a parameter shows it: maybe the one that it is handed to
    if any(reads.is_read(value, reads.blocks[inner]) for inner in edge.later):
        return False
    if isinstance(target, Join):
        return edge.turns <= own
    if isinstance(node, Again):
        return True  # the next turn reads nothing that this one made
    if not edge.turns <= own:
        return False
    return not any(reads.is_read(value, reads.blocks[inner]) for inner in node.blocks)
