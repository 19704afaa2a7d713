"""Powers, of arrays and of Python numbers among themselves."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from codegen.ir import Trait
from codegen.spelling import Spelling, spell
from codegen.types import ArrayType, kind, weak, weak_of
from tracegrad.ops.elementwise.ufuncs import (
    absolute,
    astype,
    binary,
    in_dtype,
    is_complex,
    log,
    logical_and,
    real,
    where,
)
from tracegrad.ops.record import OpRecord, define
from tracegrad.ops.reductions.sums_and_extremes import all as all_of
from tracegrad.ops.special_cotangents import ZERO, Masked
from tracegrad.ops.type_rules import operator, ufunc_dtype
from tracegrad.values.dispatch import dtype_of, is_weak, ndim_of, type_of, with_plain_numbers


def _power_text(attributes: Mapping[str, Any]) -> Spelling:
    exponent = attributes["exponent"]
    return spell("x * x" if exponent == 2 and isinstance(exponent, int) else "x ** exponent")


def _power_vjp(ct: Any, y: Any, x: Any, exponent: float) -> tuple[Any]:
    if exponent == 0:
        return (ZERO,)
    if exponent == 1:
        return (ct,)
    if exponent == 2:
        return (ct * 2.0 * x,)
    return (ct * exponent * raised(x, exponent - 1),)


def _power_type(sizes: Any, x: ArrayType, exponent: Any) -> ArrayType:
    if isinstance(exponent, int) and exponent == 2:
        return operator("multiply")(sizes, x, x)
    if isinstance(exponent, int) and exponent < 0 and x.weak and kind(x.dtype) == "int":
        return weak("float")
    return operator("power")(sizes, x, weak_of(exponent))


number_power = define(
    "number_power",
    _power_text,
    infer=_power_type,
    vjp=_power_vjp,
    attributes={"exponent": ...},
    traits=(Trait.ELEMENTWISE,),
    domain="positive",
    doc="x ** exponent for an exponent that is a number and not differentiated.",
)


def _base_vjp(ct: Any, y: Any, x: Any, base: float) -> tuple[Any]:
    if base == 0:  # 0 ** x is 0 wherever it is finite
        return (ZERO,)
    return (ct * ((math.log(base) if base > 0 else math.nan) * y),)


number_base_power = define(
    "number_base_power",
    "base ** x",
    infer=lambda sizes, x, base: operator("power")(sizes, weak_of(base), x),
    vjp=_base_vjp,
    attributes={"base": ...},
    traits=(Trait.ELEMENTWISE,),
    raises="caught",
    doc="base ** x for a base that is a number and not differentiated.",
)


def _general_power_vjp(
    raised: Callable[..., Any], ct: Any, y: Any, a: Any, b: Any
) -> tuple[Any, Any]:
    """a ** b, with PyTorch's choices at a == 0: 0 ** b (b >= 0) is flat in b, x ** 0 flat in x.

    Where b is a whole number x ** 0 is flat whatever x is; where it is not, the slope in x has one
    in b there, 1 / x, and x ** 0 is flat where that is infinite.
    """
    whole = kind(dtype_of(b)) in ("int", "bool")
    one_less = where(b == 0, 1, b) - 1
    a, b = in_dtype(a, y), in_dtype(b, y)
    if not whole:
        steep = logical_and(absolute(a) < np.finfo(dtype_of(y)).tiny, b == 0)
        one_less = where(steep, 1, b) - 1
    by_a = ct * b * raised(a, one_less)
    flat = logical_and(a == 0, (real(b) if is_complex(b) else b) >= 0)
    slope = y * log(where(flat, 1, a))
    return Masked(by_a, b == 0, False) if whole else by_a, ct * slope


def _is_whole(y: Any, a: Any, b: Any) -> tuple[Any, ...]:
    """Of integers: NumPy has no powers of them that are not whole."""
    integers = kind(dtype_of(a)) == kind(dtype_of(b)) == "int"
    if not integers or dtype_of(b).startswith("u"):
        return ()
    return (all_of(b >= 0) if ndim_of(b) else b >= 0,)


power: OpRecord = binary(
    "power",
    lambda ct, y, a, b: _general_power_vjp(power, ct, y, a, b),
    "**",
    domain="positive",
    sound=_is_whole,
)
float_power: OpRecord = binary(
    "float_power",
    lambda ct, y, a, b: _general_power_vjp(float_power, ct, y, a, b),
    domain="positive",
)
python_power = OpRecord(
    name="python_power",
    operands=("a", "b"),
    infer=lambda sizes, *_, **__: weak("float"),
    spelling={"numpy": spell("(np.float64(a) ** b).item()"), "jax": spell("a ** b")},
    vjp=lambda ct, y, a, b: _general_power_vjp(raised, ct, y, a, b),
    traits=frozenset({Trait.ELEMENTWISE}),
    doc="A Python number to a Python number: a Python float, but inf and NaN as NumPy has them.",
)
python_number_power = OpRecord(
    name="python_number_power",
    operands=("x",),
    attributes={"exponent": ...},
    infer=lambda sizes, *_, **__: weak("float"),
    spelling={"numpy": spell("(np.float64(x) ** exponent).item()"), "jax": spell("x ** exponent")},
    vjp=_power_vjp,
    traits=frozenset({Trait.ELEMENTWISE}),
    doc="`python_power` for an exponent that is not differentiated.",
)
python_square = OpRecord(
    name="python_square",
    operands=("x",),
    infer=lambda sizes, x: operator("multiply")(sizes, x, x),
    spelling={"numpy": spell("x * x"), "jax": spell("x * x")},
    vjp=lambda ct, y, x: _power_vjp(ct, y, x, 2),
    traits=frozenset({Trait.ELEMENTWISE}),
    doc="``x**2`` of a Python number.",
)
python_base_power = OpRecord(
    name="python_base_power",
    operands=("x",),
    attributes={"base": ...},
    infer=lambda sizes, *_, **__: weak("float"),
    spelling={"numpy": spell("(np.float64(base) ** x).item()"), "jax": spell("base ** x")},
    vjp=_base_vjp,
    traits=frozenset({Trait.ELEMENTWISE}),
    doc="`python_power` for a base that is not differentiated.",
)


def raised(x: Any, exponent: Any) -> Any:
    """``x ** exponent`` by the cheapest op; of Python numbers a Python number, as in Python.

    Where Python itself has an error (``1e200**2.0``) or a complex number (``(-8.0) ** 0.5``), the
    number is inf or NaN, as that of an array is.
    """
    x, exponent = with_plain_numbers((x, exponent))
    fixed = _is_constant(exponent)
    array = getattr(x, "_array", x)
    if fixed and type(array) is np.ndarray and array.dtype.kind in "fc":  # the usual case
        return number_power(x, exponent=exponent)
    if not (is_weak(x) and is_weak(exponent)):
        if dtype_of(x) == "bool":
            x = _counted(x, exponent)
        elif fixed:
            return number_power(x, exponent=exponent)
        return number_base_power(exponent, base=x) if _is_constant(x) else power(x, exponent)
    kinds = {kind(dtype_of(x)), kind(dtype_of(exponent))}
    if fixed and exponent == 2 and isinstance(exponent, int):
        return python_square(x)
    if "complex" in kinds or ("float" not in kinds and not (fixed and exponent < 0)):
        return power(x, exponent)
    if fixed:  # as a float: NumPy has no negative powers of integers
        whole = isinstance(exponent, int) and exponent >= 0
        return python_number_power(x, exponent=exponent if whole else float(exponent))
    return python_base_power(exponent, base=x) if _is_constant(x) else python_power(x, exponent)


def _counted(x: Any, exponent: Any) -> Any:
    """Bools under the exponent 2, which for the operator would square them, in their power's dtype.

    (``x * x`` is a bool of them.)
    """
    if not isinstance(exponent, int | np.integer) or isinstance(exponent, bool) or exponent != 2:
        return x
    of_exponent = type_of(exponent)
    dtype = ufunc_dtype("power", (("bool", False), (of_exponent.dtype, of_exponent.weak)))
    return astype(x, dtype=dtype)


def _is_constant(x: Any) -> bool:
    return isinstance(x, int | float) and not isinstance(x, bool | np.generic)


__all__ = ["float_power"]
