"""Numbers of Python's, as functions of `math` and `cmath` give: they take the dtype of others."""

from __future__ import annotations

from typing import Any

from codegen.ir import Trait
from codegen.spelling import spell
from codegen.types import is_inexact, kind, weak
from tracegrad.ops.elementwise.ufuncs import astype, real
from tracegrad.ops.record import OpRecord
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
    if is_weak(x) or not is_inexact(dtype):
        return x
    return python_complex(x) if kind(dtype) == "complex" else python_float(x)
