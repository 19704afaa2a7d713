"""Tells which lengths keep the constant indices of a graph within their axes."""

from __future__ import annotations

from codegen.ir import Call, Graph
from codegen.sizes import Dim, Size, slice_length
from tracegrad.ops.shape.indexing import INDEXED, constant_items


def bounds_of_constants(graph: Graph) -> tuple[tuple[Dim, Dim], ...]:
    """Guards that constant indices are within their axes: NumPy raises, JAX would clamp them.

    ``x[5]`` needs ``len(x[5:6]) == 1``, and ``x[-5]`` that ``len(x[4:5]) == 1``.
    """
    found: dict[tuple[Dim, Dim], None] = {}
    for node in graph.all_nodes:
        if isinstance(node, Call) and node.op in INDEXED:
            x, *others = (value.type for value in node.operands)
            arrays = others[len(node.op.operands) - 2 :]
            for axis, item in constant_items(x, arrays, node.attribute("index")):
                length = graph.sizes.resolve(x.shape[axis])
                least = item if item >= 0 else -item - 1
                if isinstance(length, Size):
                    found[slice_length(length, slice(least, least + 1)), 1] = None
    return tuple(found)
