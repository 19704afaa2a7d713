"""Finds where the elements of an input are only moved about before anything is computed with them.

What is computed with are *parts*: slices, gathered rows, the input itself. Derivatives in the parts
are sparser than those in the input, for each part is read once: of what is gathered
(``x[places]``), every place has elements of its own. Which elements of the input these are is known
from the indices.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from codegen.ir import Builder, Call, Check, Constant, Graph, Value, with_operands
from codegen.types import LIST, kind
from tracegrad.ops.elementwise.ufuncs import alias

SELECTING = frozenset({
    "alias", "broadcast_to", "diagonal", "element", "expand_dims", "flip", "gather", "getitem",
    "getitem_copy", "list_item", "part", "repeat", "reshape", "roll", "split", "squeeze", "tile",
    "transpose", "unstack", "windows",
})  # fmt: skip
"""Ops whose results hold elements of their first operand, and nothing else."""


@dataclass(frozen=True)
class Moved:
    """What holds elements of an input, and the parts of that which anything is computed with."""

    values: frozenset[Value]
    parts: tuple[Value, ...]


def moved_elements(graph: Graph, target: Value, output: Value) -> Moved | None:
    """Where the elements of an input are, up to an output; None for a graph that has several ways.

    Only whole numbers that are inputs decide where elements go, and what is made of them alone.
    """
    fixed = {v for v in graph.inputs if v.type != LIST and kind(v.type.dtype) in ("int", "bool")}
    moved, parts = {target}, dict[Value, None]()
    for node in graph.nodes:
        match node:
            case Constant(_, result):
                fixed.add(result)
            case Call(_, operands, _, results) if fixed.issuperset(operands):
                fixed.update(results)
            case Call(_, _, _, results) if _selects(node, moved, fixed):
                moved.update(results)
            case Call(_, operands):
                parts |= dict.fromkeys(v for v in operands if v in moved)
            case Check():
                pass
            case _:
                return None
    if output in moved:
        parts[output] = None
    return Moved(frozenset(moved), tuple(parts))


def _selects(call: Call, moved: set[Value], fixed: set[Value]) -> bool:
    first, *indices = call.operands
    return call.op.name in SELECTING and first in moved and fixed.issuperset(indices)


def with_parts_apart(
    graph: Graph, target: Value, output: Value
) -> tuple[Graph, Sequence[Value], Value]:
    """The graph in which a value of its own stands for each part where anything is computed with.

    Returns these values besides, in the order of `moved_elements`, and what stands for the output.
    """
    found = moved_elements(graph, target, output)
    assert found is not None, "the graph has several ways"
    builder = Builder(graph.sizes)
    apart: dict[Value, Value] = {}

    def separate(values: Sequence[Value]) -> None:
        for value in values:
            if value in found.parts:
                (apart[value],) = builder.call(alias, (value,), value.origin)

    separate([target])
    for node in graph.nodes:
        moves = isinstance(node, Call) and found.values.issuperset(node.results)
        builder.append(node if moves else with_operands(node, lambda v: apart.get(v, v)))
        if moves:
            separate(node.results)
    block = replace(graph.block, nodes=tuple(builder.nodes))
    return graph.with_block(block), [apart[v] for v in found.parts], apart.get(output, output)
