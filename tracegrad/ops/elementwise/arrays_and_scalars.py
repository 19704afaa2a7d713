"""Makes NumPy scalars of arrays without axes, and such arrays of scalars, as programs need them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from codegen.ir import Trait
from codegen.spelling import spell
from tracegrad.ops.program_functions import needs
from tracegrad.ops.record import OpRecord
from tracegrad.ops.type_rules import same

copy_number = OpRecord(
    name="copy_number",
    operands=("x",),
    infer=same,
    spelling={"numpy": spell("np.array(x)[()]"), "jax": spell("x")},
    vjp=lambda ct, y, x: (ct,),
    traits=frozenset({Trait.COPY}),
    doc="What has no axes, as a NumPy scalar. Not in the table: programs alone return it.",
)
copy_if_set = replace(
    copy_number,
    name="copy_if_set",
    spelling={"numpy": spell("x if x is None else np.array(x)"), "jax": spell("x")},
    traits=frozenset({Trait.COPY, Trait.MAYBE_UNSET}),
    doc="A copy of what some paths do not have. Not in the table: programs alone return it.",
)


def copy_as_it_lies(x):
    """A copy with the strides of an array, on which last bits of sums and products depend.

    Large gaps are closed, but for one element; what is repeated stands there as often, apart.
    """
    if x.flags.forc or not x.size:
        return np.array(x)
    sizes = [abs(stride) for stride in x.strides]
    strides = x.strides
    room = x.itemsize + sum(size * (n - 1) for size, n in zip(sizes, x.shape))
    repeats = any(not size and n > 1 for size, n in zip(sizes, x.shape))
    if repeats or room < x.nbytes or room > 2 * x.nbytes + 4096:
        strides, step = [*strides], x.itemsize
        for axis in sorted(range(x.ndim), key=sizes.__getitem__):
            step += x.itemsize if sizes[axis] != step else 0
            strides[axis] = -step if strides[axis] < 0 else step
            step *= x.shape[axis]
        room = step
    start = sum((1 - n) * stride for n, stride in zip(x.shape, strides) if stride < 0)
    copied = np.ndarray(x.shape, x.dtype, np.empty(room, np.uint8), start, strides)
    copied[...] = x
    return copied


copy_lying = replace(
    copy_number,
    name="copy_lying",
    spelling={"numpy": spell("copy_as_it_lies(x)"), "jax": spell("x")},
    needs=needs(numpy=(copy_as_it_lies,)),
    traits=frozenset({Trait.LOOSE}),
    doc="A copy that lies in memory as x does. Not in the table: programs alone keep it.",
)
copy_lying_if_set = replace(
    copy_lying,
    name="copy_lying_if_set",
    spelling={"numpy": spell("x if x is None else copy_as_it_lies(x)"), "jax": spell("x")},
    traits=frozenset({Trait.LOOSE, Trait.MAYBE_UNSET}),
)
as_scalar = OpRecord(
    name="as_scalar",
    operands=("x",),
    infer=same,
    spelling={"numpy": spell("x[()]"), "jax": spell("x")},
    vjp=lambda ct, y, x: (ct,),
    batch=lambda call: call.operands[0],
    traits=frozenset({Trait.ELEMENTWISE}),
    doc="An array without axes as a NumPy scalar, where a function of NumPy's gives that.",
)
returned_array = OpRecord(
    name="returned_array",
    operands=("x",),
    infer=same,
    spelling={"numpy": spell("np.array(x)"), "jax": spell("x")},
    vjp=lambda ct, y, x: (ct,),
    batch=lambda call: call.operands[0],
    doc="What has no axes, as an array of its own. Not in the table: programs alone return it.",
)
returned_scalar = replace(
    as_scalar,
    name="returned_scalar",
    traits=frozenset(),
    doc="An array without axes as a NumPy scalar. Not in the table: programs alone return it.",
)
