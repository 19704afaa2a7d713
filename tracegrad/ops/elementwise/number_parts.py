"""Parts of numbers: signs, exponents, common divisors, kinds of infinity."""

from __future__ import annotations

from typing import Any

import numpy as np

from codegen.types import is_inexact
from tracegrad.ops.arguments import as_array
from tracegrad.ops.elementwise.ufuncs import (
    absolute,
    astype,
    binary,
    copysign,
    fmod,
    imag,
    is_complex,
    isinf,
    logical_and,
    logical_not,
    real,
    signbit,
    trunc,
    unary,
    where,
)
from tracegrad.ops.record import OpRecord
from tracegrad.ops.reductions.sums_and_extremes import all as all_of
from tracegrad.ops.shape.creation import ones_like, zeros_like
from tracegrad.ops.special_cotangents import flat
from tracegrad.ops.type_rules import ufunc_dtype
from tracegrad.values.dispatch import dtype_of

gcd = binary("gcd", None, differentiable=False, domain="integer")
lcm = binary("lcm", None, differentiable=False, domain="integer")
spacing = unary("spacing", flat, domain="nonzero")
bitwise_count = unary("bitwise_count", None, differentiable=False, domain="integer")
scaled: OpRecord = binary(
    "ldexp", lambda ct, y, a, b: (scaled(ct, b), None), domain="exponent", doc="``a * 2 ** b``."
)


def ldexp(x1: Any, x2: Any) -> Any:
    """``x1 * 2 ** x2``, of whole numbers `x2`."""
    return scaled(as_array(x1), as_array(x2))


def modf(x: Any) -> tuple[Any, Any]:
    """The fractional and the integral parts of numbers, both with the sign of the number."""
    x = as_array(x)
    if not is_inexact(dtype_of(x)):
        x = astype(x, dtype=ufunc_dtype("sqrt", ((dtype_of(x), False),)))
    return where(isinf(x), copysign(0.0, x), fmod(x, 1.0)), trunc(x)


def isposinf(x: Any) -> Any:
    """Where `x` is positive infinity."""
    return logical_and(isinf(x), logical_not(signbit(x)))


def isneginf(x: Any) -> Any:
    """Where `x` is negative infinity."""
    return logical_and(isinf(x), signbit(x))


def isreal(x: Any) -> Any:
    """Where the imaginary part is 0: everywhere, of real numbers."""
    x = as_array(x)
    return imag(x) == 0 if is_complex(x) else ones_like(x, "bool", order="A")


def iscomplex(x: Any) -> Any:
    """Where the imaginary part is not 0."""
    x = as_array(x)
    return imag(x) != 0 if is_complex(x) else zeros_like(x, "bool", order="C")


def real_if_close(x: Any, tol: float = 100) -> Any:
    """The real part if every imaginary part is below `tol`: a look at the imaginary parts.

    `tol` counts in the machine precision of the dtype; below 1 it is the bound itself.
    """
    x = as_array(x)
    if not is_complex(x):
        return x
    bound = tol * float(np.finfo(dtype_of(x)).eps) if tol > 1 else tol
    return real(x) if bool(all_of(absolute(imag(x)) < bound)) else x


__all__ = [
    "bitwise_count",
    "gcd",
    "iscomplex",
    "isneginf",
    "isposinf",
    "isreal",
    "lcm",
    "ldexp",
    "modf",
    "real_if_close",
    "spacing",
]
