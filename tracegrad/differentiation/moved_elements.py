"""Finds where elements of inputs are only moved about before anything is computed with them.

What is computed with are *parts*: slices, gathered rows, an input itself. Derivatives in the parts
are sparser than those in the inputs, for each part is read once: of what is gathered
(``x[places]``), every place has elements of its own. Which elements of the inputs these are is
known from the indices.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from codegen.ir import Builder, Call, Check, Constant, Graph, Value, with_operands
from codegen.types import LIST, kind
from tracegrad.ops.elementwise.ufuncs import alias
from tracegrad.ops.shape.memory_order import elements_read

SELECTING = frozenset({
    "alias", "broadcast_to", "diagonal", "diagonal_view", "element", "expand_dims", "flip",
    "gather", "getitem", "getitem_copy", "in_place_of", "in_rows", "list_item", "lying_like",
    "part", "repeat", "reshape", "roll", "split", "spread", "squeeze", "tile", "transpose",
    "unstack", "windows", "written_part",
})  # fmt: skip
"""Ops whose results hold elements of their first operand, and nothing else."""


@dataclass(frozen=True)
class Moved:
    """What holds elements of inputs, and the parts of that which anything is computed with."""

    values: frozenset[Value]
    parts: tuple[Value, ...]


def moved_elements(
    graph: Graph, targets: Sequence[Value], outputs: Sequence[Value]
) -> Moved | None:
    """Where the elements of inputs are, up to outputs; None for a graph that has several ways.

    Only whole numbers that are inputs decide where elements go, and what is made of them alone.
    """
    fixed = {v for v in graph.inputs if v.type != LIST and kind(v.type.dtype) in ("int", "bool")}
    moved, parts = {*targets}, dict[Value, None]()
    for node in graph.nodes:
        match node:
            case Constant(_, result):
                fixed.add(result)
            case Call(_, _, _, results) if fixed.issuperset(elements_read(node)):
                fixed.update(results)
            case Call(_, _, _, results) if _selects(node, moved, fixed):
                moved.update(results)
            case Call():
                parts |= dict.fromkeys(v for v in elements_read(node) if v in moved)
            case Check():
                pass
            case _:
                return None
    parts |= dict.fromkeys(v for v in outputs if v in moved)
    return Moved(frozenset(moved), tuple(parts))


def _selects(call: Call, moved: set[Value], fixed: set[Value]) -> bool:
    first, *indices = elements_read(call)
    return call.op.name in SELECTING and first in moved and fixed.issuperset(indices)


def with_parts_apart(
    graph: Graph, targets: Sequence[Value], outputs: Sequence[Value]
) -> tuple[Graph, Sequence[Value], Sequence[Value]]:
    """The graph in which a value of its own stands for each part where anything is computed with.

    Returns these values besides, in the order of `moved_elements`, and what stands for the outputs.
    """
    found = moved_elements(graph, targets, outputs)
    assert found is not None, "the graph has several ways"
    builder = Builder(graph.sizes)
    apart: dict[Value, Value] = {}

    def separate(values: Sequence[Value]) -> None:
        for value in values:
            if value in found.parts:
                (apart[value],) = builder.call(alias, (value,), value.origin)

    separate(targets)
    for node in graph.nodes:
        moves = isinstance(node, Call) and found.values.issuperset(node.results)
        builder.append(node if moves else with_operands(node, lambda v: apart.get(v, v)))
        if moves:
            separate(node.results)
    block = graph.block.with_nodes(tuple(builder.nodes))
    stands_for = [apart.get(v, v) for v in outputs]
    return graph.with_block(block), [apart[v] for v in found.parts], stands_for
