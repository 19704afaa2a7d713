"""Numbers of Python's, as functions of `math` and `cmath` give: they take the dtype of others."""

from __future__ import annotations

from typing import Any

from codegen.ir import Trait
from codegen.spelling import spell
from codegen.types import is_inexact, kind, weak
from tracegrad.errors import LostGradientError
from tracegrad.ops.elementwise.ufuncs import astype, real
from tracegrad.ops.record import OpRecord
from tracegrad.ops.special_cotangents import Undefined
from tracegrad.values.dispatch import dtype_of, is_weak

python_float = OpRecord(
    name="python_float",
    operands=("x",),
    infer=lambda sizes, x: weak("float"),
    spelling={"numpy": spell("float(x)"), "jax": spell("x.astype(float)")},
    vjp=lambda ct, y, x: (ct,),
    batch=lambda call: astype(*call.operands, dtype="float64"),
    traits=frozenset({Trait.ELEMENTWISE}),
    doc="A number as a float of Python's, which takes the dtype of what it meets.",
)
read_number = OpRecord(
    name="number",
    operands=("x",),
    infer=lambda sizes, x, lost: weak("float"),
    spelling={"numpy": spell("float(x)"), "jax": spell("x.astype(float)")},
    attributes={"lost": ...},  # what to say where a gradient would go on; nothing of a constant
    vjp=lambda ct, y, x, lost: (Undefined(lost, LostGradientError) if lost else None,),
    batch=lambda call: astype(*call.operands, dtype="float64"),
    traits=frozenset({Trait.ELEMENTWISE}),
    doc="What ``float(x)`` or ``x.item()`` reads, with which a gradient does not go on.",
)
python_int = OpRecord(
    name="whole_number",
    operands=("x",),
    infer=lambda sizes, x: weak("int"),
    spelling={"numpy": spell("int(x)"), "jax": spell("x.astype(int)")},
    differentiable=False,
    sound=lambda y, x: (abs(x) < 2.0**63,) if is_inexact(dtype_of(x)) else (),
    batch=lambda call: astype(*call.operands, dtype="int64"),
    traits=frozenset({Trait.ELEMENTWISE}),
    doc="A number, or the truth of a comparison, as an int of Python's; raises of NaN.",
)
python_bool = OpRecord(
    name="python_bool",
    operands=("x",),
    infer=lambda sizes, x: weak("bool"),
    spelling={"numpy": spell("bool(x)"), "jax": spell("x.astype(bool)")},
    differentiable=False,
    batch=lambda call: astype(*call.operands, dtype="bool"),
    traits=frozenset({Trait.ELEMENTWISE}),
    doc="The truth of a comparison as a bool of Python's.",
)
python_complex = OpRecord(
    name="python_complex",
    operands=("x",),
    infer=lambda sizes, x: weak("complex"),
    spelling={"numpy": spell("complex(x)"), "jax": spell("x.astype(complex)")},
    vjp=lambda ct, y, x: (ct if kind(dtype_of(x)) == "complex" else real(ct),),
    batch=lambda call: astype(*call.operands, dtype="complex128"),
    traits=frozenset({Trait.ELEMENTWISE}),
    doc="A number as a complex number of Python's.",
)


def as_python_number(x: Any) -> Any:
    """What functions of `math` and `cmath` give: a number of Python's."""
    dtype = dtype_of(x)
    if is_weak(x):
        return x
    if dtype == "bool":
        return python_bool(x)
    if not is_inexact(dtype):
        return x
    return python_complex(x) if kind(dtype) == "complex" else python_float(x)
