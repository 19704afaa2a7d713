"""Takes the backward part of a graph with gradients out, as a graph of its own."""

from __future__ import annotations

from collections.abc import Sequence, Set
from dataclasses import replace
from typing import Any

from codegen import sizes as sz
from codegen.errors import CodegenError
from codegen.ir import (
    Again,
    Block,
    Branch,
    Call,
    Constant,
    Frame,
    Graph,
    Join,
    Loop,
    Node,
    Origin,
    Trait,
    Value,
    ends,
    walk,
)
from codegen.passes.dce import dce
from codegen.sizes import Size
from codegen.told_lengths import lengths_told
from codegen.types import LIST


def backward_graph(
    joint: Graph,
    forward: Graph,
    cotangents: Sequence[Value],
    absent: Set[Value] = frozenset(),
) -> tuple[Graph, list[Value]]:
    """The backward nodes of `joint` as a graph from residuals and cotangents to gradients.

    Residuals are the values of `forward` (inputs or results) that the backward reads, or whose
    shape it needs; they are the first inputs, in that order. Where the forward branches the
    backward branches on the same value; what is read on one path only is None on the others. So
    are values that are `absent` on some path, and tell no length.
    """
    numbers = {result for node in forward.all_nodes if is_told(node) for result in node.results}
    results = {result for node in forward.all_nodes for result in node.results} - numbers
    made = results | set(forward.inputs)
    block = _without_dead(_without_forward(joint.block, results), joint)
    residuals: dict[Value, None] = {}
    nodes = list(walk(block.nodes))
    for node in nodes:
        residuals.update((v, None) for v in node.operands if v in made)
    gradients = [v for end in ends(block) for v in end.outputs]
    residuals.update((v, None) for v in gradients if v in made)
    needed = {s for node in nodes for s in _symbols(node, joint)} - joint.sizes.counters.keys()
    needed |= {s for v in gradients for dim in v.type.shape for s in _names(dim, joint)}
    known = {
        name
        for value in (*residuals, *cotangents)
        if value.type != LIST and value not in absent
        for name in lengths_told(joint, value)
    }
    telling = [v for v in (*forward.inputs, *sorted_made(forward)) if v not in absent]
    for symbol in sorted(needed - known):
        residuals.setdefault(_with_symbol(symbol, joint, telling))
    names = _names_of([*residuals, *cotangents], forward)
    whole = joint.whole_numbers
    frame = Frame(
        tuple(names),
        tuple(names),
        returns=joint.frame.returns,
        names=joint.frame.names,
        origin=joint.frame.origin,
        lengths=tuple([(i, whole[v]) for i, v in enumerate(residuals) if v in whole]),
    )
    graph = joint.replace(inputs=(*residuals, *cotangents), frame=frame).with_block(block)
    return graph, list(residuals)


def is_told(node: Node) -> bool:
    """Whether a node is a number, or a length, which a backward has as well as the forward."""
    if isinstance(node, Constant):
        return True
    return isinstance(node, Call) and not node.operands and Trait.EXTENT in node.op.traits


def _without_forward(block: Block, results: set[Value]) -> Block:
    """The block with its numbers, branches and backward alone."""
    nodes: list[Node] = []
    for node in block.nodes:
        match node:
            case Branch(blocks=blocks) | Join(blocks=blocks):
                inner = tuple(_without_forward(b, results) for b in blocks)
                nodes.append(replace(node, blocks=inner))
            case Again() | Loop():  # a loop of the backward
                nodes.append(node)
            case Call() if node.results[0] not in results:
                nodes.append(node)
            case Constant():
                nodes.append(node)
    return block.with_nodes(tuple(nodes))


def _without_dead(block: Block, joint: Graph) -> Block:
    return dce(joint.with_block(block)).block


def sorted_made(graph: Graph) -> list[Value]:
    """The values of a graph in the order in which they are made."""
    return [result for node in graph.all_nodes for result in node.results]


def _symbols(node: Node, graph: Graph) -> set[str]:
    if not isinstance(node, Call):
        return set()
    return {s for _, value in node.attributes for s in _names(value, graph)}


def _names(value: Any, graph: Graph) -> set[str]:
    match value:
        case Size():
            return sz.symbols(graph.sizes.resolve(value))
        case tuple():
            return {s for item in value for s in _names(item, graph)}
    return set()


def _with_symbol(symbol: str, graph: Graph, values: Sequence[Value]) -> Value:
    for value in values:
        if symbol in lengths_told(graph, value):
            return value
    raise CodegenError(f"no value has an axis of length {symbol}")


def _names_of(values: Sequence[Value], forward: Graph) -> list[str]:
    """A parameter name for each value: the user's where there is one, else what made it."""
    captures = dict(zip(reversed(forward.inputs), reversed(forward.frame.captures), strict=False))
    names: dict[str, None] = {}
    counts: dict[str, int] = {}  # how many have been asked for by each stem
    for value in values:
        origin: Origin = value.origin
        made = forward.producer.get(value)
        stem = captures.get(value) or origin.name
        if stem is None:
            stem = f"{made.op.name}_" if isinstance(made, Call) else "saved"
        elif not origin.final and value not in captures:
            stem = f"{stem}_1"
        count = counts.get(stem, 0) + 1
        name = stem if count == 1 else f"{stem}_{count}"
        while name in names:
            count += 1
            name = f"{stem}_{count}"
        counts[stem], names[name] = count, None
    return [*names]
