"""Operands of broadcastable shapes enter, a result of the broadcast shape leaves: ufuncs.

Arithmetic, comparison, logic, rounding, powers, exponentials, logarithms, trigonometric and
hyperbolic functions, and choice (`where`, `maximum`, `clip`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from codegen.ir import Trait
from codegen.spelling import Spelling, spell
from codegen.types import is_inexact, weak
from tracegrad.dispatch import dtype_of
from tracegrad.ops.record import OpRecord, define
from tracegrad.ops.rules import (
    arithmetic,
    boolean,
    inexact,
    quotient,
    real_part,
    same,
    select,
    strong,
)

ELEMENTWISE = (Trait.ELEMENTWISE, Trait.OUT)


class Masked:
    """A cotangent that is exactly 0 wherever `condition` is not `keep`, whatever stands there.

    The walker carries the mask to the end of a chain of elementwise rules, so that a branch of a
    `where` that was not taken contributes 0 and not ``0 * inf``.
    """

    __slots__ = ("condition", "ct", "keep")

    def __init__(self, ct: Any, condition: Any, keep: bool) -> None:
        self.ct = ct
        self.condition = condition
        self.keep = keep


def unary(
    name: str,
    vjp: Callable[..., Any] | None,
    *,
    infer: Callable[..., Any] = inexact,
    numpy: str | None = None,
    traits: tuple[Trait, ...] = (),
    **more: Any,
) -> OpRecord:
    """A record of one operand spelled as a NumPy function of the same name."""
    return define(
        name,
        numpy or f"np.{name}(x)",
        infer=infer,
        vjp=vjp and (lambda ct, y, x: (vjp(ct, y, x),)),
        traits=(*ELEMENTWISE, *traits),
        **more,
    )


def binary(
    name: str,
    spelling: str,
    vjp: Callable[..., Any] | None,
    *,
    infer: Callable[..., Any] = arithmetic,
    traits: tuple[Trait, ...] = (),
    **more: Any,
) -> OpRecord:
    """A record of two operands ``a`` and ``b``."""
    return define(
        name,
        spelling,
        operands="a b",
        infer=infer,
        vjp=vjp,
        traits=(*ELEMENTWISE, *traits),
        **more,
    )


# -- arithmetic ---------------------------------------------------------------------------------

add = binary(
    "add",
    "a + b",
    lambda ct, y, a, b: (ct, ct),
    traits=(Trait.COMMUTATIVE,),
    identities=((0, -0.0), (1, -0.0)),
)
subtract = binary("subtract", "a - b", lambda ct, y, a, b: (ct, -ct), identities=((1, 0.0),))
multiply = binary(
    "multiply",
    "a * b",
    lambda ct, y, a, b: (ct * b, ct * a),
    traits=(Trait.COMMUTATIVE,),
    identities=((0, 1), (1, 1)),
)


def _divide_vjp(ct: Any, y: Any, a: Any, b: Any) -> tuple[Any, Any]:
    ct_a = ct / b
    return ct_a, -(ct_a * y)


divide = binary("divide", "a / b", _divide_vjp, infer=quotient, identities=((1, 1),), domain="nonzero")
floor_divide = binary("floor_divide", "a // b", None, differentiable=False, domain="nonzero")
remainder = binary(
    "remainder",
    "a % b",
    lambda ct, y, a, b: (ct, -(ct * floor_divide(a, b))),
    domain="nonzero",
)
negative = unary("negative", lambda ct, y, x: -ct, infer=arithmetic, numpy="-x", traits=(Trait.INVOLUTION,))
positive = unary("positive", lambda ct, y, x: ct, infer=arithmetic, numpy="+x")
reciprocal = unary("reciprocal", lambda ct, y, x: -(ct * (y * y)), infer=strong, domain="nonzero")


def _sign_vjp(ct: Any, y: Any, x: Any) -> Any:
    unit = sign(x)
    return ct * (conj(unit) if dtype_of(x).startswith("complex") else unit)


absolute = unary("absolute", _sign_vjp, numpy="np.abs(x)", infer=real_part, domain="nonzero")
sign = unary("sign", None, infer=strong, differentiable=False)
conj = unary("conj", lambda ct, y, x: conj(ct), infer=strong, traits=(Trait.INVOLUTION,), numpy="np.conj(x)")


# -- powers -------------------------------------------------------------------------------------


def _power_text(attributes: Mapping[str, Any]) -> Spelling:
    match attributes["exponent"]:
        case 1:
            return spell("+x")
        case 2:
            return spell("x * x")
    return spell("x ** exponent")


def _power_vjp(ct: Any, y: Any, x: Any, exponent: float) -> tuple[Any]:
    if exponent == 0:
        return (ct * 0.0,)
    if exponent == 1:
        return (ct,)
    if exponent == 2:
        return (ct * 2.0 * x,)
    return (ct * exponent * number_power(x, exponent=exponent - 1),)


def _power_type(sizes: Any, x: Any, exponent: Any) -> Any:
    return arithmetic(sizes, x, weak(type(exponent).__name__))


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


def _general_power_vjp(ct: Any, y: Any, a: Any, b: Any) -> tuple[Any, Any]:
    at_zero = where(a == 0, 1.0, a)  # 0 ** b has the derivative 0 in b, not log(0) * 0
    return ct * b * power(a, b - 1), where(a == 0, 0.0, ct * y * log(at_zero))


power = binary("power", "a ** b", _general_power_vjp, domain="positive")
sqrt = unary("sqrt", lambda ct, y, x: 0.5 * ct / y, domain="positive")
square = unary("square", lambda ct, y, x: ct * 2.0 * x, infer=strong, numpy="x * x")
cbrt = unary("cbrt", lambda ct, y, x: ct / (3.0 * (y * y)), jax="jnp.cbrt(x)", domain="positive")

# -- exponentials and logarithms ----------------------------------------------------------------

exp = unary("exp", lambda ct, y, x: ct * y)
exp2 = unary("exp2", lambda ct, y, x: ct * (np.log(2.0) * y))
expm1 = unary("expm1", lambda ct, y, x: ct * (y + 1.0))
log = unary("log", lambda ct, y, x: ct / x, domain="positive")
log2 = unary("log2", lambda ct, y, x: ct / (x * np.log(2.0)), domain="positive")
log10 = unary("log10", lambda ct, y, x: ct / (x * np.log(10.0)), domain="positive")
log1p = unary("log1p", lambda ct, y, x: ct / (1.0 + x), domain="positive")
logaddexp = binary(
    "logaddexp",
    "np.logaddexp(a, b)",
    lambda ct, y, a, b: (ct * exp(a - y), ct * exp(b - y)),
    infer=inexact,
    traits=(Trait.COMMUTATIVE,),
)

# -- trigonometric and hyperbolic ---------------------------------------------------------------

sin = unary("sin", lambda ct, y, x: ct * cos(x))
cos = unary("cos", lambda ct, y, x: -(ct * sin(x)))
tan = unary("tan", lambda ct, y, x: ct * (1.0 + y * y))
arcsin = unary("arcsin", lambda ct, y, x: ct / sqrt(1.0 - x * x), domain="unit")
arccos = unary("arccos", lambda ct, y, x: -(ct / sqrt(1.0 - x * x)), domain="unit")
arctan = unary("arctan", lambda ct, y, x: ct / (1.0 + x * x))
sinh = unary("sinh", lambda ct, y, x: ct * cosh(x))
cosh = unary("cosh", lambda ct, y, x: ct * sinh(x))
tanh = unary("tanh", lambda ct, y, x: ct * (1.0 - y * y))
arcsinh = unary("arcsinh", lambda ct, y, x: ct / sqrt(x * x + 1.0))
arccosh = unary("arccosh", lambda ct, y, x: ct / sqrt(x * x - 1.0), domain="above_one")
arctanh = unary("arctanh", lambda ct, y, x: ct / (1.0 - x * x), domain="unit")


def _arctan2_vjp(ct: Any, y: Any, a: Any, b: Any) -> tuple[Any, Any]:
    scaled = ct / (a * a + b * b)
    return scaled * b, -(scaled * a)


arctan2 = binary("arctan2", "np.arctan2(a, b)", _arctan2_vjp, infer=inexact)


def _hypot_vjp(ct: Any, y: Any, a: Any, b: Any) -> tuple[Any, Any]:
    scaled = ct / where(y == 0, 1.0, y)  # the subgradient 0 at the origin
    return scaled * a, scaled * b


hypot = binary("hypot", "np.hypot(a, b)", _hypot_vjp, infer=inexact, traits=(Trait.COMMUTATIVE,))

# -- comparison and logic -----------------------------------------------------------------------


def _comparison(name: str, symbol: str, traits: tuple[Trait, ...] = ()) -> OpRecord:
    return define(
        name,
        f"a {symbol} b",
        operands="a b",
        infer=boolean,
        traits=(Trait.ELEMENTWISE, *traits),
        differentiable=False,
    )


equal = _comparison("equal", "==", (Trait.COMMUTATIVE,))
not_equal = _comparison("not_equal", "!=", (Trait.COMMUTATIVE,))
less = _comparison("less", "<")
less_equal = _comparison("less_equal", "<=")
greater = _comparison("greater", ">")
greater_equal = _comparison("greater_equal", ">=")


def _logical(name: str, operands: str, **more: Any) -> OpRecord:
    arguments = ", ".join(operands.split())
    return define(
        name,
        f"np.{name}({arguments})",
        operands=operands,
        infer=boolean,
        traits=(Trait.ELEMENTWISE,),
        differentiable=False,
        **more,
    )


logical_and = _logical("logical_and", "a b")
logical_or = _logical("logical_or", "a b")
logical_xor = _logical("logical_xor", "a b")
logical_not = _logical("logical_not", "x")
isnan = _logical("isnan", "x")
isinf = _logical("isinf", "x")
isfinite = _logical("isfinite", "x")
signbit = _logical("signbit", "x")


def _bitwise(name: str, symbol: str, traits: tuple[Trait, ...] = ()) -> OpRecord:
    return binary(
        name, f"a {symbol} b", None, traits=traits, differentiable=False, domain="integer"
    )


bitwise_and = _bitwise("bitwise_and", "&", (Trait.COMMUTATIVE,))
bitwise_or = _bitwise("bitwise_or", "|", (Trait.COMMUTATIVE,))
bitwise_xor = _bitwise("bitwise_xor", "^", (Trait.COMMUTATIVE,))
bitwise_left_shift = _bitwise("bitwise_left_shift", "<<")
bitwise_right_shift = _bitwise("bitwise_right_shift", ">>")
bitwise_invert = unary(
    "bitwise_invert", None, infer=same, numpy="~x", differentiable=False, domain="integer",
    traits=(Trait.INVOLUTION,),
)

# -- rounding: the derivative is 0 wherever there is one ----------------------------------------

floor = unary("floor", None, infer=strong, differentiable=False)
ceil = unary("ceil", None, infer=strong, differentiable=False)
trunc = unary("trunc", None, infer=strong, differentiable=False)
rint = unary("rint", None, infer=strong, differentiable=False)

# -- choice -------------------------------------------------------------------------------------

where = define(
    "where",
    "np.where(condition, a, b)",
    operands="condition a b",
    infer=select,
    vjp=lambda ct, y, condition, a, b: (
        None,
        Masked(ct, condition, True),
        Masked(ct, condition, False),
    ),
    traits=(Trait.ELEMENTWISE,),
    domain="choice",
)


def _larger_vjp(ct: Any, y: Any, a: Any, b: Any) -> tuple[Any, Any]:
    half = where(a == b, ct * 0.5, 0.0)  # ties are split evenly
    return where(a > b, ct, half), where(a < b, ct, half)


def _smaller_vjp(ct: Any, y: Any, a: Any, b: Any) -> tuple[Any, Any]:
    half = where(a == b, ct * 0.5, 0.0)
    return where(a < b, ct, half), where(a > b, ct, half)


maximum = binary("maximum", "np.maximum(a, b)", _larger_vjp, infer=strong, traits=(Trait.COMMUTATIVE,))
minimum = binary("minimum", "np.minimum(a, b)", _smaller_vjp, infer=strong, traits=(Trait.COMMUTATIVE,))
fmax = binary("fmax", "np.fmax(a, b)", _larger_vjp, infer=strong, traits=(Trait.COMMUTATIVE,))
fmin = binary("fmin", "np.fmin(a, b)", _smaller_vjp, infer=strong, traits=(Trait.COMMUTATIVE,))


def _clip_vjp(ct: Any, y: Any, x: Any, low: Any, high: Any) -> tuple[Any, Any, Any]:
    inside = logical_and(x >= low, x <= high)
    return where(inside, ct, 0.0), where(x < low, ct, 0.0), where(x > high, ct, 0.0)


clip_between = define(
    "clip_between",
    "np.clip(x, low, high)",
    operands="x low high",
    infer=strong,
    vjp=_clip_vjp,
    traits=(Trait.ELEMENTWISE, Trait.OUT),
    domain="ordered",
)

# -- dtype, parts, identity ---------------------------------------------------------------------


def _cast_vjp(ct: Any, y: Any, x: Any, dtype: str) -> tuple[Any]:
    return (ct,)  # the walker casts a cotangent to the dtype of its operand


astype = define(
    "astype",
    "x.astype(dtype)",
    infer=lambda sizes, x, dtype: x.with_dtype(dtype),
    vjp=_cast_vjp,
    attributes={"dtype": ...},
    traits=(Trait.ELEMENTWISE,),
    domain="cast",
)
real = define(
    "real",
    "x.real",
    infer=real_part,
    vjp=lambda ct, y, x: (ct,),
    traits=(Trait.ELEMENTWISE, Trait.VIEW),
)
imag = define(
    "imag",
    "x.imag",
    infer=real_part,
    vjp=lambda ct, y, x: (ct * -1j if dtype_of(x).startswith("complex") else None,),
    traits=(Trait.ELEMENTWISE, Trait.VIEW),
)
copy = define(
    "copy",
    "np.array(x)",
    infer=same,
    vjp=lambda ct, y, x: (ct,),
    traits=(Trait.ELEMENTWISE, Trait.COPY),
)
strengthen = define(
    "strengthen",
    "np.asarray(x)",
    infer=same,
    vjp=lambda ct, y, x: (ct,),
    traits=(Trait.ELEMENTWISE,),
    doc="A Python number as an array, for ops that call methods of their operand.",
)
alias = define(
    "alias",
    "x",
    infer=lambda sizes, x: x,
    vjp=lambda ct, y, x: (ct,),
    traits=(Trait.ELEMENTWISE, Trait.VIEW),
    doc="x under another name: what an inner derivative is taken in.",
)
stop_gradient = define(
    "stop_gradient",
    "x",
    infer=lambda sizes, x: x,
    differentiable=False,
    traits=(Trait.ELEMENTWISE, Trait.VIEW),
    doc="x, through which no gradient flows.",
)


def differentiable_dtype(dtype: str) -> bool:
    """True for dtypes that carry gradients."""
    return is_inexact(dtype)


__all__ = [
    "absolute",
    "add",
    "arccos",
    "arccosh",
    "arcsin",
    "arcsinh",
    "arctan",
    "arctan2",
    "arctanh",
    "cbrt",
    "ceil",
    "conj",
    "cos",
    "cosh",
    "divide",
    "equal",
    "exp",
    "exp2",
    "expm1",
    "floor",
    "floor_divide",
    "fmax",
    "fmin",
    "greater",
    "greater_equal",
    "hypot",
    "isfinite",
    "isinf",
    "isnan",
    "less",
    "less_equal",
    "log",
    "log10",
    "log1p",
    "log2",
    "logaddexp",
    "logical_and",
    "logical_not",
    "logical_or",
    "logical_xor",
    "maximum",
    "minimum",
    "multiply",
    "negative",
    "not_equal",
    "positive",
    "reciprocal",
    "remainder",
    "rint",
    "sign",
    "signbit",
    "sin",
    "sinh",
    "sqrt",
    "square",
    "stop_gradient",
    "subtract",
    "tan",
    "tanh",
    "trunc",
    "where",
]
