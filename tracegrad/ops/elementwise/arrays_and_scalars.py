"""Makes NumPy scalars of arrays without axes, and such arrays of scalars, as programs need them."""

from __future__ import annotations

from dataclasses import replace

from codegen.ir import Trait
from codegen.spelling import spell
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
