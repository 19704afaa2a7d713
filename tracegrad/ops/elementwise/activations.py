"""Ops of network layers on each element, and saturating functions."""

from __future__ import annotations

from typing import Any

from codegen.ir import Trait
from codegen.spelling import spell
from codegen.types import is_inexact, weak
from tracegrad.ops.arguments import as_array
from tracegrad.ops.elementwise.ufuncs import (
    LN2,
    astype,
    binary,
    exp,
    is_complex,
    isinf,
    kept,
    log1p,
    logical_and,
    where,
)
from tracegrad.ops.record import define
from tracegrad.ops.type_rules import ufunc
from tracegrad.values.dispatch import dtype_of

relu_of = define(
    "relu",
    spell("np.maximum(x, 0)", "np.maximum(x, 0, out=x)"),
    jax="jnp.maximum(x, 0)",
    infer=lambda sizes, x: ufunc("maximum")(sizes, x, weak("int")),
    vjp=lambda ct, y, x: (kept(ct, y > 0),),
    traits=(Trait.ELEMENTWISE, Trait.OUT),
    domain="ordered",
)
sigmoid_of = define(
    "sigmoid",
    "np.exp(np.minimum(x, 0.0)) / (1.0 + np.exp(-np.abs(x)))",
    infer=lambda sizes, x: ufunc("minimum")(sizes, x, weak("float")),
    vjp=lambda ct, y, x: (ct * (y * (1.0 - y)),),
    traits=(Trait.ELEMENTWISE,),
    domain="ordered",
    doc="1 / (1 + exp(-x)) of real x: nothing overflows, small values keep their digits.",
)
softplus_of = define(
    "softplus",
    "np.maximum(x, 0.0) + np.log1p(np.exp(-np.abs(x)))",
    infer=lambda sizes, x: ufunc("maximum")(sizes, x, weak("float")),
    vjp=lambda ct, y, x: (ct * sigmoid_of(x),),
    traits=(Trait.ELEMENTWISE,),
    domain="ordered",
    doc="log(1 + exp(x)) of real x: nothing overflows, small values keep their digits.",
)


def _share(a: Any, b: Any, unit: float = 1.0) -> Any:
    """exp(a) / (exp(a) + exp(b)): by the difference, for that of `a` and the result is rounded."""
    alike = logical_and(a == b, isinf(a))  # inf - inf is nan
    return where(alike, 0.5, sigmoid_of((a - b) * unit if unit != 1.0 else a - b))


logaddexp = binary(
    "logaddexp",
    lambda ct, y, a, b: (ct * _share(a, b), ct * _share(b, a)),
    traits=(Trait.COMMUTATIVE,),
)
logaddexp2 = binary(
    "logaddexp2",
    lambda ct, y, a, b: (ct * _share(a, b, LN2), ct * _share(b, a, LN2)),
    traits=(Trait.COMMUTATIVE,),
)


def as_inexact(x: Any) -> Any:
    """An array of floating or complex dtype: integers become float64."""
    x = as_array(x)
    return x if is_inexact(dtype_of(x)) else astype(x, dtype="float64")


def relu(x: Any) -> Any:
    """``max(x, 0)``; the derivative at 0 is 0."""
    return relu_of(x)


def sigmoid(x: Any) -> Any:
    """``1 / (1 + exp(-x))``, accurate for all x."""
    x = as_inexact(x)
    return 1.0 / (1.0 + exp(-x)) if is_complex(x) else sigmoid_of(x)


def softplus(x: Any) -> Any:
    """``log(1 + exp(x))``, accurate for all x."""
    x = as_inexact(x)
    return log1p(exp(x)) if is_complex(x) else softplus_of(x)


__all__ = [
    "logaddexp",
    "logaddexp2",
    "relu",
    "sigmoid",
    "softplus",
]
