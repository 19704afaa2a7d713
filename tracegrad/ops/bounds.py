"""An array and an index enter; how many axes the index stands for, whether it names places that
there are, or all of them, leaves."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from codegen.spelling import Slot, Subscript
from codegen.types import ArrayType
from tracegrad.dispatch import shape_of, type_of
from tracegrad.ops.record import define


def width(item: object, arrays: Sequence[ArrayType]) -> int:
    """How many axes an item of an index stands for (of Ellipsis that depends on the others)."""
    if isinstance(item, Slot) and arrays[item.position].dtype == "bool":
        return arrays[item.position].ndim
    return 0 if item is None or item is Ellipsis else 1


def axes_used(arrays: Sequence[ArrayType], index: Subscript) -> int:
    """How many axes the items of an index stand for, the Ellipsis aside."""
    return sum(width(item, arrays) for item in index.items)


all_within = define(
    "all_within",
    "out = x.astype(np.int64)\nout = ((-length <= out) & (out < length)).all()",
    infer=lambda sizes, x, length: ArrayType("bool"),
    attributes={"length": ...},
    differentiable=False,
    doc="Whether all numbers are indices of an axis of this length.",
)


def inside(x: Any, arrays: Sequence[Any], index: Subscript) -> Iterator[Any]:
    """For each array of ints in an index of `x` whether it names places that there are."""
    types = [type_of(array) for array in arrays]
    shape, axis = shape_of(x), 0
    rest = len(shape) - axes_used(types, index)
    for item in index.items:
        if isinstance(item, Slot) and types[item.position].dtype != "bool":
            yield all_within(arrays[item.position], length=shape[axis])
        axis += rest if item is Ellipsis else width(item, types)


def may_be_whole(index: Subscript) -> bool:
    """Whether an index without numbers may name every place, as ``[:2]`` does of two."""
    return all(
        item is None or item is Ellipsis or (isinstance(item, slice) and _from_the_first(item))
        for item in index.items
    )


def _from_the_first(item: slice) -> bool:
    """Whether a slice may be a whole axis: ``[:2]``, ``[-2:]``, not ``[1:]`` or ``[::2]``."""
    return item.step in (None, 1) and (item.start or 0) <= 0 <= (item.stop or 0)
