"""Which values of a graph with loops get cotangents, and from how many readers."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence, Set

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
    ends,
    inner_blocks,
    walk,
)
from tracegrad.differentiation.steps import moves
from tracegrad.ops.python_lists import listed_rows, new_list


def active_values(graph: Graph, wanted: Iterable[Value]) -> set[Value]:
    """The values that depend on what is wanted by a differentiable path."""
    active, size = set(wanted), -1
    heads = {node.label: node for node in graph.all_nodes if isinstance(node, Loop | Join)}
    grown = any(isinstance(node, Call) and node.op is listed_rows for node in graph.all_nodes)
    while size != len(active):
        size = len(active)
        for node in graph.all_nodes:
            begins = grown and isinstance(node, Call) and node.op is new_list
            if begins or (isinstance(node, Call) and node.op.differentiable):  # type: ignore[attr-defined]
                if not active.isdisjoint(node.operands):
                    active.update(filter(moves, node.results))
            elif isinstance(node, Loop | Again):
                for p, a in zip(heads[node.label].parameters, node.arguments, strict=True):
                    if a in active and moves(p):
                        active.add(p)
    return active


def handed_on(loop: Loop, nodes: Sequence[Node], values: Collection[Value]) -> set[Value]:
    """The parameters of a loop, and of joins in its turn, that these values become."""
    heads = {n.label: n.parameters for n in (loop, *nodes) if isinstance(n, Loop | Join)}
    ends = [node for node in nodes if isinstance(node, Again)]
    return {
        parameter
        for node in ends
        for parameter, value in zip(heads.get(node.label, ()), node.arguments, strict=False)
        if value in values
    }


def with_cotangents(graph: Graph) -> frozenset[Value]:
    """The values from which something that is returned is computed by differentiable operations."""
    found = {value for end in ends(graph.block) for value in end.outputs}
    heads = {n.label: n.parameters for n in graph.all_nodes if isinstance(n, Loop | Join)}
    size = -1
    while size < len(found):
        size = len(found)
        for node in reversed(graph.all_nodes):
            if isinstance(node, Call):
                if node.op.differentiable and not found.isdisjoint(node.results):  # type: ignore[attr-defined]
                    found.update(node.operands)
            elif isinstance(node, Loop | Again):
                pairs = zip(heads[node.label], node.arguments, strict=False)
                found.update(value for parameter, value in pairs if parameter in found)
    return frozenset(v for v in found if moves(v))


def has_one_reader(loop: Loop, parameter: Value, flowing: Set[Value]) -> bool:
    """Whether one call at most adds to the cotangent of what becomes a parameter, on each way.

    What goes on from turn to turn is read behind the loop alone. Those in `flowing` have one.
    """
    nodes = [*walk(loop.turn.nodes)]
    known: set[Value] = set()
    new = {parameter}
    while new - known:
        known |= new
        new = handed_on(loop, nodes, new)
    stays = parameter in handed_on(loop, nodes, known)
    counts = [readers(loop, value, flowing) for value in known]
    return sum(turn for turn, _ in counts) <= (not stays) and sum(x for _, x in counts) <= 1


def readers(loop: Loop, value: Value, flowing: Set[Value]) -> tuple[int, int]:
    """How many calls and returns add to the cotangent of a value: in a turn, and behind the loop.

    That is on one way, the one with most. What goes on in the loop itself is not counted.
    """
    nodes = walk(loop.turn.nodes)
    inside = {loop.label, *(node.label for node in nodes if isinstance(node, Loop | Join))}

    def count(block: Block) -> int:
        found = block.outputs.count(value)
        for node in block.nodes:
            inner = [count(b) for b in inner_blocks(node)]
            found += max(inner, default=0) if isinstance(node, Branch) else sum(inner)
            if isinstance(node, Loop):  # in each of its turns
                found += inner[0] + 2 * node.arguments.count(value)
            elif isinstance(node, Again) and node.label not in inside:  # nobody knows how many
                found += 2 * node.arguments.count(value)
            elif isinstance(node, Call) and not flowing.isdisjoint(node.results):
                found += node.operands.count(value)
        return found

    return count(loop.turn), count(loop.after) if loop.after else 0
