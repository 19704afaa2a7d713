"""Special functions: SciPy's, with derivatives.

The names and arguments are those of ``scipy.special``, and ``scipy.special.erf(tensor)`` works as
well. SciPy is an extra (``special``): it is asked for when a function is first called, and programs
import it only when they use it.

>>> import numpy as np
>>> import tracegrad as tg
>>> round(float(tg.grad(tg.special.gammaln)(3.0)), 6)
0.922784
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from operator import index as as_int
from typing import Any

import numpy as np

from codegen.ir import Trait
from codegen.sizes import Sizes
from codegen.spelling import Spelling, SpellingOf, spell
from codegen.types import BFLOAT16, ArrayType, broadcast, is_inexact, kind
from tracegrad.errors import ArgumentError, TracegradError, how_to_install
from tracegrad.ops.arguments import as_array
from tracegrad.ops.elementwise.activations import as_inexact
from tracegrad.ops.elementwise.ufuncs import astype, exp, log, logical_and, where
from tracegrad.ops.program_functions import needs
from tracegrad.ops.record import OpRecord, define
from tracegrad.ops.reductions import softmax as soft
from tracegrad.ops.special_cotangents import Undefined
from tracegrad.ops.type_rules import Operands, float_like, of_bfloat16
from tracegrad.runtime.missing_names import missing_names_of
from tracegrad.values.dispatch import dtype_of, is_number, type_of

DENSITY = 1.0 / math.sqrt(2.0 * math.pi)  # of the normal distribution at 0
SCIPY = {"numpy": {"special": "from scipy import special"}}


class MissingSciPyError(TracegradError, ImportError):
    """SciPy, on which this module runs, is not installed; the message says how to get it."""


@cache
def scipy_special() -> Any:
    """SciPy's module; raises where there is none."""
    try:
        from scipy import special  # type: ignore[import-untyped]
    except ImportError as error:
        raise MissingSciPyError(
            f"tg.special runs on SciPy, which is not installed: {how_to_install('scipy')}"
        ) from error
    return special


# -- records ------------------------------------------------------------------------------------


@cache
def loop_of(name: str, operands: Operands) -> tuple[str, ...]:
    """The dtypes of the operands and of the result of the loop that SciPy's ufunc takes."""
    alone = all(weak for _, weak in operands)
    python = {"bool": int, "int": int, "float": float, "complex": complex}
    dtypes = [
        python[kind(dtype)] if weak and not alone else np.dtype(dtype) for dtype, weak in operands
    ]
    try:
        found = getattr(scipy_special(), name).resolve_dtypes((*dtypes, None))
    except TypeError as error:
        shown = " and ".join(dtype for dtype, _ in operands)
        raise TypeError(f"{name} is not defined for {shown}") from error
    return tuple([str(dtype.name) for dtype in found])


def in_floats(name: str, operands: Sequence[Any]) -> list[Any]:
    """Operands of SciPy's ufunc, those of integers in the floats in which it computes."""
    several = [as_array(x) for x in operands]
    types = [type_of(x) for x in several]
    if all(is_inexact(t.dtype) for t in types) or any(t.dtype == BFLOAT16 for t in types):
        return [as_inexact(x) for x in several]
    loop = loop_of(name, tuple([(t.dtype, t.weak) for t in types]))
    return [
        float(x) if is_number(x) and not isinstance(x, float | complex) else _in_float(x, dtype)
        for x, dtype in zip(several, loop, strict=False)
    ]


def _in_float(x: Any, dtype: str) -> Any:
    if is_inexact(dtype_of(x)):
        return x
    return astype(x, dtype=dtype) if is_inexact(dtype) else as_inexact(x)


def of_ufunc(name: str) -> Callable[..., ArrayType]:
    """A type rule: what SciPy's ufunc itself says."""

    def resolved(operands: Operands) -> str:
        return loop_of(name, operands)[-1]

    def infer(sizes: Sizes, *types: ArrayType, **_: Any) -> ArrayType:
        operands = tuple([(t.dtype, t.weak) for t in types])
        narrow = any(t.dtype == BFLOAT16 for t in types)
        dtype = of_bfloat16(resolved, operands) if narrow else resolved(operands)
        return ArrayType(dtype, broadcast(sizes, [t.shape for t in types]))

    return infer


def _special(
    name: str,
    vjp: Any,
    operands: str = "x",
    text: str | SpellingOf | None = None,
    jax: str | SpellingOf | None = None,
    infer: Any = None,
    attributes: Mapping[str, Any] | None = None,
    domain: str = "real",
    needs: Mapping[str, Mapping[str, str]] = SCIPY,
) -> OpRecord:
    arguments = ", ".join(operands.split())
    return define(
        name,
        text or f"special.{name}({arguments})",
        jax=jax or f"jax.scipy.special.{name}({arguments})",
        operands=operands,
        infer=infer or of_ufunc(name),
        vjp=vjp,
        attributes=attributes,
        traits=(Trait.ELEMENTWISE,),
        needs=needs,
        domain=domain,
    )


def _bell(x: Any) -> Any:
    """The density of the normal distribution."""
    return DENSITY * exp(-0.5 * (x * x))


TWO_OVER_ROOT_PI = 2.0 / math.sqrt(math.pi)

_erf: OpRecord = _special("erf", lambda ct, y, x: (ct * (TWO_OVER_ROOT_PI * exp(-(x * x))),))
_erfc: OpRecord = _special("erfc", lambda ct, y, x: (ct * (-TWO_OVER_ROOT_PI * exp(-(x * x))),))
_erfinv: OpRecord = _special(
    "erfinv", lambda ct, y, x: (ct * (exp(y * y) / TWO_OVER_ROOT_PI),), domain="unit"
)
_ndtr: OpRecord = _special("ndtr", lambda ct, y, x: (ct * _bell(x),), domain="floating")
_log_ndtr: OpRecord = _special(
    "log_ndtr", lambda ct, y, x: (ct * (DENSITY * exp(-0.5 * (x * x) - y)),), domain="floating"
)
_expit: OpRecord = _special("expit", lambda ct, y, x: (ct * (y * _expit(-x)),))
_logit: OpRecord = _special("logit", lambda ct, y, x: (ct / (x * (1.0 - x)),), domain="probability")

_gammaln: OpRecord = _special("gammaln", lambda ct, y, x: (ct * _digamma(x),), domain="gamma")
_digamma: OpRecord = _special(
    "digamma", lambda ct, y, x: (ct * _polygamma(x, n=1),), domain="gamma"
)


def _polygamma_text(attributes: Mapping[str, Any]) -> Spelling:
    n = attributes["n"]
    factor = math.factorial(n) * (1 if n % 2 else -1)
    zeta = f"special.zeta({n + 1}, x)"
    return spell(zeta if factor == 1 else f"{factor}.0 * {zeta}")


def polygamma_jax(x, n):
    """The n-th derivative of digamma; JAX's own is wrong below 0, where this is by reflection."""
    left = x <= 0
    there = jax.scipy.special.zeta(n + 1, jnp.where(left, 1 - x, x))  # noqa: F821
    there = jnp.where(jnp.isinf(x), 0.0, there)  # noqa: F821
    place = jnp.where(jnp.isinf(x), 0.0, x - jnp.round(x))  # noqa: F821
    rest = jnp.copysign(0.5, place) - place  # noqa: F821
    near = jnp.abs(place) < 0.25  # noqa: F821
    cot = jnp.where(near, 1.0 / jnp.tan(jnp.pi * place), jnp.tan(jnp.pi * rest))  # noqa: F821
    terms = [0.0, 1.0]  # of the n-th derivative of cot, as a polynomial in it
    for k in range(n):
        there = there * (k + 1)
        slope = [-i * term for i, term in enumerate(terms)][1:]
        terms = [a + b for a, b in zip([*slope, 0.0, 0.0], [0.0, 0.0, *slope])]
    turn = jnp.polyval(jnp.array(terms[::-1], x.dtype), cot) * jnp.pi ** (n + 1)  # noqa: F821
    turn = jnp.where(place == 0, -jnp.inf if n % 2 else jnp.inf, turn)  # noqa: F821
    return jnp.where(left, -there - turn, there if n % 2 else -there)  # noqa: F821


_polygamma: OpRecord = _special(
    "polygamma",
    lambda ct, y, x, n: (ct * _polygamma(x, n=n + 1),),
    text=_polygamma_text,
    jax="polygamma(x, n)",
    infer=of_ufunc("digamma"),
    attributes={"n": ...},
    needs={**SCIPY, "jax": needs(jax=(polygamma_jax,))["jax"]},
    domain="gamma",
)


def _betaln_vjp(ct: Any, y: Any, a: Any, b: Any) -> tuple[Any, Any]:
    both = _digamma(a + b)
    return ct * (_digamma(a) - both), ct * (_digamma(b) - both)


_betaln: OpRecord = _special("betaln", _betaln_vjp, "a b", domain="gamma")


def _betainc_vjp(ct: Any, y: Any, a: Any, b: Any, x: Any) -> tuple[Any, ...]:
    density = exp(_xlogy(a - 1.0, x) + _xlogy(b - 1.0, 1.0 - x) - _betaln(a, b))
    refused = Undefined(
        "betainc: no derivative in its parameters a and b is known: pass tg.stop_gradient(a) if "
        "they are to be constants"
    )
    return refused, refused, ct * density


_betainc: OpRecord = _special("betainc", _betainc_vjp, "a b x", domain="betainc")


def _i1_vjp(ct: Any, y: Any, x: Any) -> tuple[Any]:
    """I0 - I1 / x, which is 1/2 at 0."""
    zero = x == 0
    return (ct * (_i0(x) - where(zero, 0.5, y / where(zero, 1.0, x))),)


_i0: OpRecord = _special("i0", lambda ct, y, x: (ct * _i1(x),))
_i1: OpRecord = _special("i1", _i1_vjp)
_numpy_i0: OpRecord = _special(
    "numpy_i0",
    lambda ct, y, x: (ct * i1(x),),
    text="np.i0(x)",
    jax="jax.scipy.special.i0(x)",
    infer=float_like,
    needs={},
)


def _xlogy_vjp(ct: Any, y: Any, x: Any, z: Any) -> tuple[Any, Any]:
    """Where x is 0 the function is 0 whatever z is; so is its derivative in z."""
    nothing = x == 0
    at_zero = logical_and(nothing, z == 0)
    slope = where(at_zero, 0.0, log(where(at_zero, 1.0, z)))
    return ct * slope, ct * where(nothing, 0.0, x / where(nothing, 1.0, z))


_xlogy: OpRecord = _special("xlogy", _xlogy_vjp, "x z", domain="positive")


# -- what users call ----------------------------------------------------------------------------


def _call(record: OpRecord, *operands: Any, **attributes: Any) -> Any:
    scipy_special()
    given = (
        in_floats(record.name, operands) if record is not _polygamma else map(as_inexact, operands)
    )
    return record(*given, **attributes)


def erf(x: Any) -> Any:
    """The error function, ``2 / sqrt(pi)`` times the integral of ``exp(-t**2)`` from 0 to `x`."""
    return _call(_erf, x)


def erfc(x: Any) -> Any:
    """``1 - erf(x)``, exact where that is small."""
    return _call(_erfc, x)


def erfinv(y: Any) -> Any:
    """The inverse of `erf` on [-1, 1]."""
    return _call(_erfinv, y)


def gammaln(x: Any) -> Any:
    """The logarithm of the absolute value of the gamma function."""
    return _call(_gammaln, x)


def digamma(x: Any) -> Any:
    """The derivative of `gammaln`."""
    return _call(_digamma, x)


psi = digamma


def polygamma(n: int, x: Any) -> Any:
    """The n-th derivative of `digamma`."""
    try:
        order = as_int(n)
    except TypeError:
        raise ArgumentError(f"polygamma: the order n={n!r} must be an int") from None
    if order < 0:
        raise ArgumentError(f"polygamma: the order n={n} must not be negative")
    return digamma(x) if order == 0 else _call(_polygamma, x, n=order)


def betaln(a: Any, b: Any) -> Any:
    """The logarithm of the absolute value of the beta function."""
    return _call(_betaln, a, b)


def betainc(a: Any, b: Any, x: Any) -> Any:
    """The regularised incomplete beta function; differentiable in `x`."""
    return _call(_betainc, a, b, x)


def logit(x: Any) -> Any:
    """``log(x / (1 - x))``, the inverse of `expit`."""
    return _call(_logit, x)


def expit(x: Any) -> Any:
    """``1 / (1 + exp(-x))``."""
    return _call(_expit, x)


def ndtr(x: Any) -> Any:
    """The distribution function of the normal distribution."""
    return _call(_ndtr, x)


def log_ndtr(x: Any) -> Any:
    """The logarithm of `ndtr`, exact where that underflows."""
    return _call(_log_ndtr, x)


def i0(x: Any) -> Any:
    """The modified Bessel function of order 0."""
    return _call(_i0, x)


def numpy_i0(x: Any) -> Any:
    """NumPy's ``np.i0``: another polynomial than SciPy's, so the last bits may differ."""
    return _numpy_i0(as_inexact(x))


def i1(x: Any) -> Any:
    """The modified Bessel function of order 1."""
    return _call(_i1, x)


def xlogy(x: Any, y: Any) -> Any:
    """``x * log(y)``, 0 where `x` is 0."""
    return _call(_xlogy, x, y)


def logsumexp(a: Any, axis: Any = None, b: Any = None, keepdims: bool = False) -> Any:
    """``log(sum(b * exp(a)))`` over `axis` without overflow; NaN where that sum is negative."""
    if b is None:
        return soft.logsumexp(as_inexact(a), axis=axis, keepdims=keepdims)
    return soft.weighted_logsumexp(a, b, axis, keepdims)


def softmax(x: Any, axis: Any = None) -> Any:
    """``exp(x)`` over its sum along `axis`: an axis, several, or all of them."""
    return soft.softmax(x, axis)


def log_softmax(x: Any, axis: Any = None) -> Any:
    """``log(softmax(x))``, exact where the softmax underflows."""
    return soft.log_softmax(x, axis)


__getattr__ = missing_names_of(__name__)

__all__ = [
    "betainc",
    "betaln",
    "digamma",
    "erf",
    "erfc",
    "erfinv",
    "expit",
    "gammaln",
    "i0",
    "i1",
    "log_ndtr",
    "log_softmax",
    "logit",
    "logsumexp",
    "ndtr",
    "polygamma",
    "psi",
    "softmax",
    "xlogy",
]
