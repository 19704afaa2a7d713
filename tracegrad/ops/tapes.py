"""Lists that the turns of a loop leave for its backward: ops on Python lists.

A list is a value like any other: appending gives a new one, which takes over the memory of the old
where nobody reads that any more (as an update of an array does). No public function has these ops.
"""

from __future__ import annotations

from typing import Any

from codegen.ir import Trait
from codegen.sizes import Sizes
from codegen.spelling import Spelling, spell
from codegen.types import LIST, ArrayType
from tracegrad.ops.record import OpRecord


def _item_type(
    sizes: Sizes, saved: ArrayType, k: ArrayType, *, dtype: str, shape: Any, weak: bool
) -> ArrayType:
    return ArrayType(dtype, shape, weak)


new_list = OpRecord(
    name="new_list",
    operands=("*values",),
    infer=lambda sizes, *values: LIST,
    spelling={"numpy": spell("[*values]")},
    traits=frozenset({Trait.HOLDS}),
    differentiable=False,
    doc="A list of values.",
)
appended = OpRecord(
    name="append",
    operands=("saved", "value"),
    infer=lambda sizes, saved, value: LIST,
    spelling={"numpy": Spelling("saved + [value]", "saved.append(value)")},
    traits=frozenset({Trait.UPDATE, Trait.HOLDS}),
    differentiable=False,
    doc="The list with a value at its end.",
)
item = OpRecord(
    name="item",
    operands=("saved", "k"),
    infer=_item_type,
    spelling={"numpy": spell("saved[k]")},
    attributes={"dtype": ..., "shape": ..., "weak": ...},
    traits=frozenset({Trait.VIEW}),
    differentiable=False,
    doc="One value of a list.",
)
