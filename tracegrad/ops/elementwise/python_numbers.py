"""Numbers of Python's, as functions of `math` and `cmath` give: they take the dtype of others."""

from __future__ import annotations

from typing import Any

from codegen.ir import Trait
from codegen.spelling import spell
from codegen.types import is_inexact, kind, weak
from tracegrad.errors import LostGradientError
from tracegrad.ops.elementwise.ufuncs import astype, real
from tracegrad.ops.record import OpRecord
from tracegrad.ops.special_cotangents import Undefined, flat
from tracegrad.values.dispatch import dtype_of, is_weak


def _conversion(name: str, to: str, dtype: str, **given: Any) -> OpRecord:
    """The op that is written ``to(x)``, and makes a number of Python's of what has no axes."""
    return OpRecord(
        name=name,
        operands=("x",),
        infer=lambda sizes, x, **_: weak(to),
        spelling={"numpy": spell(f"{to}(x)"), "jax": spell(f"jnp.asarray(x, {to})")},
        batch=lambda call: astype(*call.operands, dtype=dtype),
        traits=frozenset({Trait.ELEMENTWISE, Trait.CONVERTS}),
        **given,
    )


python_float = _conversion(
    "python_float",
    "float",
    "float64",
    vjp=lambda ct, y, x: (ct,),
    doc="A number as a float of Python's, which takes the dtype of what it meets.",
)
python_complex = _conversion(
    "python_complex",
    "complex",
    "complex128",
    vjp=lambda ct, y, x: (ct if kind(dtype_of(x)) == "complex" else real(ct),),
    doc="A number as a complex number of Python's.",
)
python_bool = _conversion(
    "python_bool",
    "bool",
    "bool",
    differentiable=False,
    doc="The truth of a comparison as a bool of Python's.",
)
whole_number = _conversion(
    "whole_number",
    "int",
    "int64",
    differentiable=False,
    raises="always",
    sound=lambda y, x: (abs(x) < 2.0**63,) if is_inexact(dtype_of(x)) else (),
    doc="A number, or the truth of a comparison, as an int of Python's; raises of NaN.",
)


def _lost(ct: Any, y: Any, x: Any, lost: str) -> tuple[Undefined | None]:
    return (Undefined(lost, LostGradientError) if lost else None,)


number_read = _conversion(
    "number",  # as it is called in sources: `number = float(v)`
    "float",
    "float64",
    attributes={"lost": ...},  # which gradient would be lost; empty where none would
    vjp=_lost,
    doc="What ``float(x)`` or ``x.item()`` reads, with which a gradient does not go on.",
)


python_round = OpRecord(
    name="python_round",
    operands=("x",),
    infer=lambda sizes, x, *, decimals: x,
    spelling={"numpy": spell("round(x, decimals)"), "jax": spell("jnp.round(x, decimals)")},
    vjp=flat,
    attributes={"decimals": ...},
    traits=frozenset({Trait.ELEMENTWISE}),
    doc="round() of a Python number: of its decimal digits, where NumPy rounds a product with 10.",
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
