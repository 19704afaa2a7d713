"""Reads slices along a later axis as rows, of the array with that axis first.

Sequences are often kept batch first. A view of them with the turns first costs nothing, and what is
made of it for all turns has a row for each.
"""

from __future__ import annotations

from codegen.ir import Call, Value
from codegen.spelling import Subscript
from tracegrad.fast_math.unrolled.block_edits import FEWEST, FLOATS, Changes
from tracegrad.ops.linear_algebra.contractions import matmul
from tracegrad.ops.shape.indexing import getitem_basic
from tracegrad.ops.shape.reshaping import transpose_axes


def turns_first(changes: Changes) -> None:
    """``x[:, t]`` for several t, of which products are made, as ``x.transpose(1, 0, 2)[t]``."""
    slices: dict[tuple[Value, int], dict[int, Value]] = {}
    for node in changes.block.nodes:
        found = _slice(node) if isinstance(node, Call) else None
        if found is not None and isinstance(node, Call):
            x, axis, i = found
            slices.setdefault((x, axis), {})[i] = node.results[0]
    for (x, axis), values in slices.items():
        if len(values) < FEWEST or not all(_in_a_product(changes, v) for v in values.values()):
            continue
        first = min(values.values(), key=changes.place.__getitem__)
        at, origin = changes.place[first], first.origin.named(x.origin.name)
        axes = (axis, *(a for a in range(x.type.ndim) if a != axis))
        array = changes.emit(at, transpose_axes, x, axes=axes, origin=origin)
        for i, value in values.items():
            here = changes.place[value]
            row = changes.emit(
                here, getitem_basic, array, index=Subscript((i,)), origin=value.origin
            )
            changes.instead[value] = row


def _slice(call: Call) -> tuple[Value, int, int] | None:
    """The array, axis and place of ``x[:, i]``."""
    if call.op is not getitem_basic or call.results[0].type.dtype not in FLOATS:
        return None
    items = call.attribute("index").items
    axis = next((a for a, item in enumerate(items) if item != slice(None)), 0)
    if not axis or type(items[axis]) is not int or items[axis] < 0:
        return None
    whole = all(type(item) is slice and item == slice(None) for item in items[axis + 1 :])
    return (call.operands[0], axis, items[axis]) if whole else None


def _in_a_product(changes: Changes, value: Value) -> bool:
    readers = changes.readers(value)
    return any(isinstance(node, Call) and node.op is matmul for node in readers)
