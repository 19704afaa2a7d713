"""NumPy's ufuncs: elementwise ops on operands that are broadcast.

Arithmetic, comparison, logic, rounding, roots, exponentials, logarithms, trigonometric and
hyperbolic functions, and choice (`where`, `maximum`, `clip`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

from codegen.ir import Trait
from codegen.sizes import Sizes
from codegen.spelling import Spelling, spell
from codegen.types import ArrayType, broadcast, is_inexact, kind, promote, weak
from tracegrad.ops.arguments import as_array, refuse_out
from tracegrad.ops.masking import keep_where, zero_and_halve, zero_inside, zero_where
from tracegrad.ops.program_functions import needs
from tracegrad.ops.record import OpRecord, define
from tracegrad.ops.special_cotangents import ZERO, Masked, Negated, flat
from tracegrad.ops.type_rules import (
    angular,
    clipped,
    float_like,
    operator,
    real_part,
    rounded,
    same,
    select,
    ufunc,
)
from tracegrad.values.dispatch import dtype_of, is_number, is_weak, ndim_of, same_shape, type_of

ELEMENTWISE = (Trait.ELEMENTWISE, Trait.OUT)


def unary(
    name: str,
    vjp: Callable[..., Any] | None,
    *,
    infer: Callable[..., Any] | None = None,
    numpy: str | None = None,
    traits: tuple[Trait, ...] = (),
    **more: Any,
) -> OpRecord:
    """A record of one operand spelled as a NumPy function of the same name."""
    return define(
        name,
        numpy or f"np.{name}(x)",
        infer=infer or ufunc(name),
        vjp=vjp if vjp is None or vjp is flat else (lambda ct, y, x: (vjp(ct, y, x),)),
        traits=(*ELEMENTWISE, *traits),
        **more,
    )


def binary(
    name: str,
    vjp: Callable[..., Any] | None,
    symbol: str | None = None,
    *,
    traits: tuple[Trait, ...] = (),
    **more: Any,
) -> OpRecord:
    """A record of two operands spelled with an operator, or as a NumPy function of its name."""
    return define(
        name,
        f"a {symbol} b" if symbol else f"np.{name}(a, b)",
        operands="a b",
        infer=operator(name) if symbol else ufunc(name),
        vjp=vjp,
        traits=(*ELEMENTWISE, *((Trait.NUMERIC,) if symbol else ()), *traits),
        **more,
    )


# -- arithmetic ---------------------------------------------------------------------------------

add = binary(
    "add",
    lambda ct, y, a, b: (ct, ct),
    "+",
    traits=(Trait.COMMUTATIVE,),
    identities=((0, -0.0), (1, -0.0)),
)
subtract = binary("subtract", lambda ct, y, a, b: (ct, Negated(ct)), "-", identities=((1, 0.0),))
multiply = binary(
    "multiply",
    lambda ct, y, a, b: (ct * b, ct * a),
    "*",
    traits=(Trait.COMMUTATIVE, Trait.COMPLEX_IN_ORDER),
    identities=((0, 1), (1, 1)),
)


def _divide_vjp(ct: Any, y: Any, a: Any, b: Any) -> tuple[Any, Any]:
    ct_a = ct / b
    return ct_a, Negated(ct_a * y)


def _by_no_zero(y: Any, a: Any, b: Any) -> tuple[Any, ...]:
    """Of Python's numbers, which are not divided by 0."""
    return (not_equal(b, 0),) if is_weak(a) and is_weak(b) else ()


DIVIDES: dict[str, Any] = {"raises": "numbers", "sound": _by_no_zero, "domain": "nonzero"}
divide = binary("divide", _divide_vjp, "/", identities=((1, 1),), **DIVIDES)
floor_divide = binary("floor_divide", flat, "//", **DIVIDES)
floor_divide_integers = define(
    "floor_divide_integers",
    "a // b",
    jax="jnp.where(b == 0, 0, a // b)",
    operands="a b",
    infer=operator("floor_divide"),
    vjp=flat,
    traits=(Trait.ELEMENTWISE,),
    domain="integer",
    doc="a // b of integers, 0 where b is 0: what `floor_divide` is in JAX, which has -1 there.",
)
remainder = binary(
    "remainder",
    lambda ct, y, a, b: (ct, Negated(ct * floor_divide(a, b))),
    "%",
    **DIVIDES,
)
fmod = binary("fmod", lambda ct, y, a, b: (ct, Negated(ct * trunc(a / b))), domain="nonzero")
negative = unary(
    "negative",
    lambda ct, y, x: Negated(ct),
    infer=operator("negative"),
    numpy="-x",
    traits=(Trait.INVOLUTION,),
)
positive = unary("positive", lambda ct, y, x: ct, infer=operator("positive"), numpy="+x")
reciprocal = unary("reciprocal", lambda ct, y, x: Negated(ct * (y * y)), domain="nonzero")


def is_complex(x: Any) -> bool:
    """True for operands of a complex dtype."""
    return kind(dtype_of(x)) == "complex"


def _absolute_vjp(ct: Any, y: Any, x: Any) -> Any:
    if is_complex(x):
        return ct * (conj(x) / where(y == 0, 1.0, y))
    return ct * sign_of(x)


def _direction_vjp(ct: Any, y: Any, x: Any) -> Any:
    length = absolute(x)
    across = ct - real(ct * y) * conj(y)
    return where(length == 0, 0.0, across / where(length == 0, 1.0, length))


absolute = unary(
    "absolute",
    _absolute_vjp,
    numpy="np.abs(x)",
    traits=(Trait.IDEMPOTENT,),
    domain="nonzero",
)
python_absolute = OpRecord(
    name="python_absolute",
    operands=("x",),
    infer=operator("absolute"),
    spelling={"numpy": spell("abs(x)"), "jax": spell("abs(x)")},
    vjp=lambda ct, y, x: (_absolute_vjp(ct, y, x),),
    traits=frozenset({Trait.ELEMENTWISE}),
    doc="abs() of a Python number: a Python number still.",
)


fabs = unary("fabs", lambda ct, y, x: ct * sign_of(x), domain="nonzero")
sign_of: OpRecord = unary("sign", flat, domain="ordered")
direction = unary(
    "direction",
    _direction_vjp,
    infer=ufunc("sign"),
    numpy="np.sign(x)",
    domain="nonzero",
    doc="x / |x| of complex x: unlike the sign of a real x it turns with x.",
)
conj: OpRecord = unary(
    "conj",
    lambda ct, y, x: conj(ct) if is_complex(x) else ct,
    infer=ufunc("conjugate"),
    traits=(Trait.INVOLUTION,),
)


def sign(x: Any) -> Any:
    """-1, 0 or 1; of complex numbers ``x / abs(x)``."""
    return direction(x) if is_complex(x) else sign_of(x)


def _copysign_vjp(ct: Any, y: Any, a: Any, b: Any) -> tuple[Any, Any]:
    return ct * (sign_of(a) * copysign(1.0, b)), ZERO  # 0 where a is 0


copysign = binary("copysign", _copysign_vjp, domain="nonzero")
nextafter = binary("nextafter", lambda ct, y, a, b: (ct, ZERO))  # a step of no size beside a

# -- roots and squares ----------------------------------------------------------------------------

sqrt = unary("sqrt", lambda ct, y, x: 0.5 * ct / y, domain="positive")
square = unary("square", lambda ct, y, x: ct * 2.0 * x)
cbrt = unary("cbrt", lambda ct, y, x: ct / (3.0 * (y * y)), domain="positive")

# -- exponentials and logarithms ----------------------------------------------------------------

LN2, LN10 = math.log(2.0), math.log(10.0)  # Python floats: they take the dtype of what they meet

exp = unary("exp", lambda ct, y, x: ct * y)
exp2 = unary("exp2", lambda ct, y, x: ct * (LN2 * y))
expm1 = unary("expm1", lambda ct, y, x: ct * (y + 1.0))
log = unary("log", lambda ct, y, x: ct / x, domain="positive")
log2 = unary("log2", lambda ct, y, x: ct / (x * LN2), domain="positive")
log10 = unary("log10", lambda ct, y, x: ct / (x * LN10), domain="positive")
log1p = unary("log1p", lambda ct, y, x: ct / (1.0 + x), domain="positive")

# -- trigonometric and hyperbolic ---------------------------------------------------------------

sin = unary("sin", lambda ct, y, x: ct * cos(x))
cos: OpRecord = unary("cos", lambda ct, y, x: Negated(ct * sin(x)))
tan = unary("tan", lambda ct, y, x: ct * (1.0 + y * y))
# (1 - x) (1 + x) has the digits of 1 - x * x that are lost near 1
arcsin = unary("arcsin", lambda ct, y, x: ct / sqrt((1.0 - x) * (1.0 + x)), domain="unit")
arccos = unary("arccos", lambda ct, y, x: Negated(ct / sqrt((1.0 - x) * (1.0 + x))), domain="unit")
arctan = unary("arctan", lambda ct, y, x: ct / (1.0 + x * x))
sinh = unary("sinh", lambda ct, y, x: ct * cosh(x))
cosh: OpRecord = unary("cosh", lambda ct, y, x: ct * sinh(x))
tanh = unary("tanh", lambda ct, y, x: ct * (1.0 - y * y))
arcsinh = unary("arcsinh", lambda ct, y, x: ct / sqrt(x * x + 1.0))
arccosh = unary("arccosh", lambda ct, y, x: ct / sqrt((x - 1.0) * (x + 1.0)), domain="above_one")
arctanh = unary("arctanh", lambda ct, y, x: ct / ((1.0 - x) * (1.0 + x)), domain="unit")
deg2rad: OpRecord = unary("deg2rad", lambda ct, y, x: deg2rad(ct))
rad2deg: OpRecord = unary("rad2deg", lambda ct, y, x: rad2deg(ct))


def in_dtype(x: Any, y: Any) -> Any:
    """An integer operand in the dtype of the result, where arithmetic on it cannot overflow."""
    dtype = dtype_of(y)
    if is_inexact(dtype_of(x)) or type_of(x).weak or not is_inexact(dtype):
        return x
    return astype(x, dtype=dtype)


def _arctan2_vjp(ct: Any, y: Any, a: Any, b: Any) -> tuple[Any, Any]:
    a, b = in_dtype(a, y), in_dtype(b, y)
    scaled = ct / (a * a + b * b)
    return scaled * b, Negated(scaled * a)


arctan2 = binary("arctan2", _arctan2_vjp)


def _hypot_vjp(ct: Any, y: Any, a: Any, b: Any) -> tuple[Any, Any]:
    scaled = ct / where(y == 0, 1.0, y)  # the subgradient 0 at the origin
    return scaled * a, scaled * b


hypot = binary("hypot", _hypot_vjp, traits=(Trait.COMMUTATIVE,))


def _sinc_text(attributes: Mapping[str, Any]) -> Spelling:
    """The derivatives g1, g2, ... of sinc by x g_k = -(k g_k-1 + pi^2 (x g_k-2 + (k-2) g_k-3)).

    Near 0, where the terms cancel, by their power series.
    """
    order = attributes["order"]
    if order == 0:
        return spell("np.sinc(x)")

    def text(k: int) -> str:
        match k:
            case 0:
                return "np.sinc(out)"
            case 1:
                return "(np.cos(np.pi * out) - np.sinc(out)) / out"
            case 2:
                return f"-(2 * ({text(1)}) + np.pi**2 * out * {text(0)}) / out"
        inner = f"out * ({text(k - 2)}) + {k - 2} * ({text(k - 3)})"
        return f"-({k} * ({text(k - 1)}) + np.pi**2 * ({inner})) / out"

    return spell(
        f"out = np.where(np.abs(x) < {NEAR_ZERO}, 1.0, x)\n"
        f"out = np.where(np.abs(x) < {NEAR_ZERO}, {_sinc_series(order)}, {text(order)})"
    )


NEAR_ZERO, TERMS = 0.25, 9
"""Where the series of sinc is used, and how many of its terms then reach double precision."""


def _sinc_series(order: int) -> str:
    """The derivative of sum((-1)^j (pi x)^2j / (2j + 1)!), by Horner's rule in x * x."""
    first = (order + 1) // 2
    terms = [
        (-1) ** j * math.pi ** (2 * j) * math.perm(2 * j, order) / math.factorial(2 * j + 1)
        for j in range(first, first + TERMS)
    ]
    found = repr(terms[-1])
    for term in reversed(terms[:-1]):
        found = f"({found} * (x * x) + {term!r})"
    return f"x * {found}" if order % 2 else found


sinc_of: OpRecord = define(
    "sinc",
    _sinc_text,
    infer=lambda sizes, x, order: float_like(sizes, x),
    vjp=lambda ct, y, x, order: (ct * sinc_of(x, order=order + 1),),
    attributes={"order": 0},
    traits=(Trait.ELEMENTWISE,),
    doc="sin(pi x) / (pi x), or its derivative of some order.",
)


def sinc(x: Any) -> Any:
    """``sin(pi x) / (pi x)``, and 1 at 0."""
    return sinc_of(x, order=0)


# -- comparison and logic -----------------------------------------------------------------------


def _comparison(name: str, symbol: str, traits: tuple[Trait, ...] = ()) -> OpRecord:
    return define(
        name,
        f"a {symbol} b",
        operands="a b",
        infer=operator(name),
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
        infer=ufunc(name),
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


def _bitwise(name: str, symbol: str, traits: tuple[Trait, ...] = (), **more: Any) -> OpRecord:
    given = {"traits": traits, "differentiable": False, "domain": "integer", **more}
    return binary(name, None, symbol, **given)


def _by_a_count(y: Any, a: Any, b: Any) -> tuple[Any, ...]:
    """Of Python's numbers, which are not shifted by less than nothing."""
    return (greater_equal(b, 0),) if is_weak(a) and is_weak(b) else ()


SHIFTS: dict[str, Any] = {"raises": "numbers", "sound": _by_a_count}


bitwise_and = _bitwise("bitwise_and", "&", (Trait.COMMUTATIVE,))
bitwise_or = _bitwise("bitwise_or", "|", (Trait.COMMUTATIVE,))
bitwise_xor = _bitwise("bitwise_xor", "^", (Trait.COMMUTATIVE,))
bitwise_left_shift = _bitwise("bitwise_left_shift", "<<", **SHIFTS)
bitwise_right_shift = _bitwise("bitwise_right_shift", ">>", **SHIFTS)
bitwise_invert = unary(
    "bitwise_invert",
    None,
    infer=operator("bitwise_invert"),
    numpy="~x",
    differentiable=False,
    domain="integer",
    traits=(Trait.INVOLUTION,),
)

# -- rounding: the derivative is 0 wherever there is one ----------------------------------------

floor = unary("floor", flat, traits=(Trait.IDEMPOTENT,))
ceil = unary("ceil", flat, traits=(Trait.IDEMPOTENT,))
trunc: OpRecord = unary("trunc", flat, traits=(Trait.IDEMPOTENT,))
rint = unary("rint", flat, traits=(Trait.IDEMPOTENT,))


def _round_in_jax(attributes: Mapping[str, Any]) -> Spelling:
    """As NumPy does it before the point, where JAX takes no integers."""
    if attributes["decimals"] >= 0:
        return spell("jnp.round(x, decimals=decimals)")
    power = f"1e{-attributes['decimals']}"
    return spell(f"(jnp.rint(x / {power}) * {power}).astype(x.dtype)")


round_to = define(
    "round",
    "np.round(x, decimals=decimals)",
    jax=_round_in_jax,
    infer=rounded,
    vjp=flat,
    attributes={"decimals": 0},
    traits=(Trait.ELEMENTWISE,),
)


def round(x: Any, decimals: int = 0, out: None = None) -> Any:
    """`x` rounded to so many decimals, halves to the even digit."""
    refuse_out("round", out)
    return round_to(x, decimals=int(decimals))


heaviside = binary("heaviside", lambda ct, y, a, b: (ZERO, where(a == 0, ct, 0.0)))

# -- choice -------------------------------------------------------------------------------------

where: OpRecord = define(
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


def kept(ct: Any, mask: Any, keep: bool = True) -> Any:
    """A cotangent where a mask is true (or false, unless `keep`), and exactly 0 elsewhere."""
    plain = ndim_of(ct) and ndim_of(mask) and dtype_of(mask) == "bool"
    if plain and dtype_of(ct) in ("float32", "float64"):
        return (keep_where if keep else zero_where)(mask, ct)
    return where(mask, ct, 0.0) if keep else where(mask, 0.0, ct)


def _halved_type(sizes: Sizes, x: ArrayType, zero: ArrayType, half: ArrayType) -> ArrayType:
    dtype, _ = promote((x, weak("float")))
    return ArrayType(dtype, broadcast(sizes, [x.shape, zero.shape, half.shape]))


def _halved_vjp(ct: Any, y: Any, x: Any, zero: Any, half: Any) -> tuple[Any, None, None]:
    return Masked(where(half, 0.5 * ct, ct), zero, False), None, None


halve_where: OpRecord = define(
    "halve_where",
    "zero_and_halve(x, zero, half)",
    jax="jnp.where(zero, 0.0, jnp.where(half, 0.5 * x, x))",
    operands="x zero half",
    infer=_halved_type,
    vjp=_halved_vjp,
    traits=(Trait.ELEMENTWISE,),
    needs=needs((zero_inside, zero_and_halve)),
    scratch=0,
    domain="tied",
    doc="x, but 0 where one mask is true and half of it where the other is.",
)


def _share(ct: Any, lost: Any, tied: Any) -> Any:
    """A cotangent where a choice was won: exactly 0 where it was lost, and ties split it evenly."""
    if ndim_of(ct) and same_shape(ct, lost) and dtype_of(ct) in ("float32", "float64"):
        return halve_where(ct, lost, tied)
    return kept(where(tied, ct * 0.5, ct), lost, False)


def _larger_vjp(ct: Any, y: Any, a: Any, b: Any) -> tuple[Any, Any]:
    tied = a == b
    return _share(ct, a < b, tied), _share(ct, a > b, tied)


def _smaller_vjp(ct: Any, y: Any, a: Any, b: Any) -> tuple[Any, Any]:
    tied = a == b
    return _share(ct, a > b, tied), _share(ct, a < b, tied)


def _ignoring_nan(rule: Callable[..., tuple[Any, Any]]) -> Callable[..., tuple[Any, Any]]:
    """The rule of `fmax` and `fmin`: the operand that is NaN gets nothing."""

    def vjp(ct: Any, y: Any, a: Any, b: Any) -> tuple[Any, Any]:
        ct_a, ct_b = rule(ct, y, a, b)
        return kept(ct_a, isnan(a), False), kept(ct_b, isnan(b), False)

    return vjp


# Not commutative to the bit: of zeros of two signs, the order of the operands decides.
maximum = binary("maximum", _larger_vjp)
minimum = binary("minimum", _smaller_vjp)
fmax = binary("fmax", _ignoring_nan(_larger_vjp))
fmin = binary("fmin", _ignoring_nan(_smaller_vjp))


def _clip_vjp(ct: Any, y: Any, x: Any, low: Any, high: Any) -> tuple[Any, Any, Any]:
    """A bound that is met passes the gradient to x; `high` wins over `low`."""
    below, above = x < low, x > high
    return (
        kept(ct, logical_or(below, above), False),
        None if is_number(low) else kept(ct, logical_and(below, low <= high)),
        None if is_number(high) else kept(ct, logical_or(above, low > high)),
    )


clip_between = define(
    "clip_between",
    "np.clip(x, low, high)",
    operands="x low high",
    infer=clipped,
    vjp=_clip_vjp,
    traits=(Trait.ELEMENTWISE, Trait.OUT),
    domain="ordered",
)
clip_below = define(
    "clip_below",
    "np.maximum(x, bound)",
    operands="x bound",
    infer=ufunc("maximum"),
    vjp=lambda ct, y, x, bound: (kept(ct, x < bound, False), kept(ct, x < bound)),
    traits=ELEMENTWISE,
    doc="The larger of x and a lower bound; a bound that is met passes the gradient to x.",
)
clip_above = define(
    "clip_above",
    "np.minimum(x, bound)",
    operands="x bound",
    infer=ufunc("minimum"),
    vjp=lambda ct, y, x, bound: (kept(ct, x > bound, False), kept(ct, x > bound)),
    traits=ELEMENTWISE,
    doc="The smaller of x and an upper bound; a bound that is met passes the gradient to x.",
)


def clip(
    x: Any,
    min: Any = None,
    max: Any = None,
    out: None = None,
    *,
    a_min: Any = None,
    a_max: Any = None,
) -> Any:
    """`x` within bounds, either of which may be left out; a bound that is met has gradient 1.

    The bounds are `min` and `max`, or by NumPy's older names `a_min` and `a_max`.
    """
    refuse_out("clip", out)
    low = as_array(a_min if min is None else min)
    high = as_array(a_max if max is None else max)
    x = as_array(x)
    if low is None:
        return positive(x) if high is None else clip_above(x, high)
    return clip_below(x, low) if high is None else clip_between(x, low, high)


# -- NaN and infinity as numbers ----------------------------------------------------------------

replace_nonfinite = define(
    "nan_to_num",
    "np.nan_to_num(x, nan=nan, posinf=posinf, neginf=neginf)",
    infer=same,
    vjp=lambda ct, y, x, nan, posinf, neginf: (kept(ct, isfinite(x)),),
    attributes={"nan": 0.0, "posinf": None, "neginf": None},
    traits=(Trait.ELEMENTWISE,),
)


def nan_to_num(
    x: Any,
    copy: bool = True,
    nan: float = 0.0,
    posinf: float | None = None,
    neginf: float | None = None,
) -> Any:
    """`x` with NaN and the infinities replaced by numbers (by default 0 and the largest ones).

    With ``copy=False`` they are replaced in `x` itself, where that is an array.
    """
    found = replace_nonfinite(as_array(x), nan=nan, posinf=posinf, neginf=neginf)
    if copy or not ndim_of(x):
        return found
    x[...] = found
    return x


# -- dtype, parts, identity ---------------------------------------------------------------------


def _cast_vjp(ct: Any, y: Any, x: Any, dtype: str) -> tuple[Any]:
    """Integers have no derivative; the walker casts a cotangent to the dtype of its operand."""
    return (ct if is_inexact(dtype) else None,)


astype = define(
    "astype",
    "x.astype(dtype)",
    infer=lambda sizes, x, dtype: x.with_dtype(dtype),
    vjp=_cast_vjp,
    attributes={"dtype": ...},
    traits=(Trait.ELEMENTWISE, Trait.NUMERIC),
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
    vjp=lambda ct, y, x: (ct * -1j if is_complex(x) else ZERO,),
    traits=(Trait.ELEMENTWISE, Trait.VIEW),
)


def _angle_vjp(ct: Any, y: Any, x: Any, deg: bool) -> tuple[Any]:
    if not is_complex(x):
        return (ZERO,)
    return ((rad2deg(ct) if deg else ct) * (-1j / x),)


angle_of = define(
    "angle",
    "np.angle(x, deg=deg)",
    infer=angular,
    vjp=_angle_vjp,
    attributes={"deg": False},
    traits=(Trait.ELEMENTWISE,),
    domain="nonzero",
)


def angle(z: Any, deg: bool = False) -> Any:
    """The angle of complex numbers, in (-pi, pi]."""
    return angle_of(z, deg=bool(deg))


copy = define(
    "copy",
    "np.array(x)",
    jax="x",  # immutable
    infer=same,
    vjp=lambda ct, y, x: (ct,),
    traits=(Trait.ELEMENTWISE, Trait.COPY),
)
copy_in_order = define(
    "copy_in_order",
    "x.copy()",
    jax="x",
    infer=same,
    vjp=lambda ct, y, x: (ct,),
    traits=(Trait.ELEMENTWISE, Trait.COPY, Trait.CONTIGUOUS),
    doc="A copy in C order: which reshape of an array is a view is decided by its layout.",
)
strengthen = define(
    "strengthen",
    "np.asarray(x)[()]",
    jax="jnp.asarray(x)",
    infer=same,
    vjp=lambda ct, y, x: (ct,),
    traits=(Trait.ELEMENTWISE,),
    memory=lambda x: None if x.weak else Trait.VIEW,
    doc="A Python number as one of NumPy's, for ops that call methods of their operand.",
)
alias = define(
    "alias",
    "x",
    infer=lambda sizes, x: x,
    vjp=lambda ct, y, x: (ct,),
    traits=(Trait.ELEMENTWISE, Trait.VIEW, Trait.KEEPS_ORDER),
    doc="x under another name: what an inner derivative is taken in.",
)
stop_gradient = define(
    "stop_gradient",
    "x",
    infer=lambda sizes, x: x,
    differentiable=False,
    jax="jax.lax.stop_gradient(x)",  # JAX may differentiate the program
    traits=(Trait.ELEMENTWISE, Trait.VIEW, Trait.KEEPS_ORDER),
    doc="The values of `x`, without a gradient.",
)


__all__ = [
    "absolute",
    "add",
    "angle",
    "arccos",
    "arccosh",
    "arcsin",
    "arcsinh",
    "arctan",
    "arctan2",
    "arctanh",
    "bitwise_and",
    "bitwise_invert",
    "bitwise_left_shift",
    "bitwise_or",
    "bitwise_right_shift",
    "bitwise_xor",
    "cbrt",
    "ceil",
    "clip",
    "conj",
    "copysign",
    "cos",
    "cosh",
    "deg2rad",
    "divide",
    "equal",
    "exp",
    "exp2",
    "expm1",
    "fabs",
    "floor",
    "floor_divide",
    "fmax",
    "fmin",
    "fmod",
    "greater",
    "greater_equal",
    "heaviside",
    "hypot",
    "imag",
    "isfinite",
    "isinf",
    "isnan",
    "less",
    "less_equal",
    "log",
    "log1p",
    "log2",
    "log10",
    "logical_and",
    "logical_not",
    "logical_or",
    "logical_xor",
    "maximum",
    "minimum",
    "multiply",
    "nan_to_num",
    "negative",
    "nextafter",
    "not_equal",
    "positive",
    "rad2deg",
    "real",
    "reciprocal",
    "remainder",
    "rint",
    "round",
    "sign",
    "signbit",
    "sin",
    "sinc",
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
