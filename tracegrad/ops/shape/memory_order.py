"""The order of elements in memory: NumPy's functions say in which they give their results.

It decides which reshape of a result is a view, and in which order its elements are added.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from codegen.ir import Call, Op, Trait, Value
from codegen.spelling import spell
from codegen.types import ArrayType
from tracegrad.ops import batching_rules
from tracegrad.ops.program_functions import needs
from tracegrad.ops.record import OpRecord, define
from tracegrad.ops.shape.creation import LIKE
from tracegrad.ops.type_rules import same
from tracegrad.values.dispatch import ndim_of

in_rows: OpRecord = define(
    "in_rows",
    "np.ascontiguousarray(x)",
    jax="x",  # without an order
    infer=same,
    vjp=lambda ct, y, x: (ct,),
    traits=(Trait.VIEW, Trait.CONTIGUOUS),
    batch=batching_rules.elementwise,
    doc="x where its elements lie in C order in memory, else a copy in it; it has axes.",
)


def _like(sizes: Any, x: ArrayType, like: ArrayType) -> ArrayType:
    return x


lying_like: OpRecord = define(
    "lying_like",
    'np.asarray(x, order="F" if like.flags.fnc else "C")',
    jax="x",
    operands="x like",
    infer=_like,
    vjp=lambda ct, y, x, *_: (ct, None),
    traits=(Trait.VIEW, Trait.LIES_LIKE),
    batch=lambda batch: in_rows(batch.front(0)),
    doc="x in C order, or in that of Fortran where another array lies so and not in C order.",
)


def with_axes_like(x, like):
    """An array whose axes lie in memory in the order of those of another one of its shape."""
    out = np.empty_like(like, dtype=x.dtype)
    if out.strides == x.strides:
        return x
    out[...] = x
    return out


in_place_of: OpRecord = define(
    "in_place_of",
    "with_axes_like(x, like)",
    jax="x",
    operands="x like",
    infer=_like,
    vjp=lambda ct, y, x, *_: (ct, None),
    traits=(Trait.VIEW, Trait.LIES_LIKE),
    needs=needs(numpy=(with_axes_like,)),
    batch=lambda batch: batch.front(0),
    doc="x in the memory order of the array that it was written into, in place.",
)


written_part = OpRecord(
    name="written_part",
    operands=("x", "part"),
    infer=_like,
    spelling={"numpy": spell("x"), "jax": spell("x")},
    traits=frozenset({Trait.ELEMENTWISE, Trait.VIEW, Trait.KEEPS_ORDER}),
    vjp=lambda ct, y, x, part: (None, ct),
    batch=batching_rules.fronted,
    doc="What was written to a part of an array: the part, to which its cotangent goes.",
)


ORDER_OF: Mapping[Op, int] = {
    lying_like: 1,
    in_place_of: 1,
    **dict.fromkeys(LIKE.values(), 0),
}
"""The operand that an op asks for its shape and order alone: it reads no element of it."""


def elements_read(call: Call) -> tuple[Value, ...]:
    """The operands of which a call reads elements."""
    place = ORDER_OF.get(call.op)
    return tuple([v for i, v in enumerate(call.operands) if i != place])


def row_after_row(x: Any) -> Any:
    """`x`, which is new, copied where its elements lie otherwise: NumPy makes it in C order."""
    return x if ndim_of(x) < 2 or _is_in_rows(x) else in_rows(x)


def lies_as(x: Any, like: Any) -> Any:
    """`x`, which is new, in C order, or column after column where `like` lies so."""
    return x if ndim_of(x) < 2 or (_is_in_rows(x) and _is_in_rows(like)) else lying_like(x, like)


def _is_in_rows(x: Any) -> bool:
    """Whether an array is in C order now; of values in a trace no call tells that of the next."""
    array = getattr(x, "_array", x) if getattr(x, "_traced", None) is None else None
    return isinstance(array, np.ndarray) and array.flags.c_contiguous
