"""A graph enters; what tells it from graphs of another structure leaves, without its numbers."""

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
    Value,
    dims_of,
)
from codegen.sizes import Size, Sizes
from codegen.spelling import Subscript
from codegen.types import ArrayType


@once_for_each_graph
def graph_key(graph: Graph) -> tuple[Hashable, ...]:
    """Equal for graphs of which one program is made."""
    place: dict[Value, int] = {}
    parts: list[Hashable] = []
    for value in graph.inputs:
        place[value] = len(place)
        parts.append(type_key(graph.sizes, value.type))
    parts += _block_key(graph, graph.block, place)
    parts.append(graph.fast_math)
    return tuple(parts)


def _block_key(graph: Graph, block: Block, place: dict[Value, int]) -> list[Hashable]:
    """The parts of the key that a block adds; `place` numbers the values."""
    sizes = graph.sizes
    parts: list[Hashable] = []
    for node in block.nodes:
        match node:
            case Constant(number, result, slot):
                shown = (type(number).__name__, repr(number) if slot is None else slot)
                parts.append(("constant", shown, type_key(sizes, result.type)))
            case Call(op, operands, _, results):
                given = attributes_key(sizes, node)
                types = tuple(type_key(sizes, r.type) for r in results)
                parts.append((op.name, tuple(place[v] for v in operands), given, types))
            case Check(operand, look, outcome):
                parts.append(("check", place[operand], look, repr(outcome)))
            case Branch(operand, look, outcomes, blocks):
                inner = tuple(
                    (repr(outcome), *_block_key(graph, b, place), b.returns, b.names)
                    for outcome, b in zip(outcomes, blocks, strict=True)
                )
                parts.append(("branch", place[operand], look, inner))
            case Loop():
                parts.append(_loop_key(graph, node, place))
            case Join():
                parts.append(_join_key(graph, node, place))
            case Again(label, arguments):
                target = place[label]  # type: ignore[index]
                parts.append(("again", target, tuple(place[v] for v in arguments)))
        for result in node.results:
            place.setdefault(result, len(place))
    parts.append(tuple(place[output] for output in block.outputs))
    return parts


def _loop_key(graph: Graph, loop: Loop, place: dict[Value, int]) -> tuple[Hashable, ...]:
    """What a loop adds to the key; its label is numbered as values are."""
    operands = tuple(place[v] for v in loop.operands)
    for value in (loop.label, *loop.results):
        place[value] = len(place)  # type: ignore[index]
    types = tuple(type_key(graph.sizes, p.type) for p in loop.parameters)
    step = loop.counter and loop.counter.step
    blocks = tuple((*_block_key(graph, b, place), b.returns, b.names) for b in loop.blocks)
    return ("loop", operands, types, step, blocks)


def _join_key(graph: Graph, join: Join, place: dict[Value, int]) -> tuple[Hashable, ...]:
    """What a join adds to the key."""
    for value in (join.label, *join.results):
        place[value] = len(place)  # type: ignore[index]
    types = tuple(type_key(graph.sizes, p.type) for p in join.parameters)
    blocks = tuple((*_block_key(graph, b, place), b.returns, b.names) for b in join.blocks)
    return ("join", types, blocks)


def type_key(sizes: Sizes, type: ArrayType) -> tuple[Hashable, ...]:
    """A type with its lengths resolved, as part of a key."""
    return (type.dtype, type.weak, type.either, dims_of(sizes, type))


def attribute_key(sizes: Sizes, value: Hashable) -> Hashable:
    """An attribute as part of a key."""
    if value is None or type(value) is str:  # most are
        return value
    match value:
        case Subscript(items):
            return ("subscript", *[attribute_key(sizes, item) for item in items])
        case int():
            return (type(value).__name__, repr(value))
        case Size():
            dim = sizes.resolve(value)
            return dim if isinstance(dim, Size) else ("int", repr(dim))
        case tuple():
            return tuple(attribute_key(sizes, item) for item in value)
        case slice():
            return ("slice", value.start, value.stop, value.step)
        case float() | complex():
            return (type(value).__name__, repr(value))
    return value


def attributes_key(sizes: Sizes, call: Call) -> tuple[Hashable, ...]:
    """The attributes of a call as part of a key: 0.0 and -0.0, 1 and True are different."""
    return tuple((name, attribute_key(sizes, value)) for name, value in call.attributes)
