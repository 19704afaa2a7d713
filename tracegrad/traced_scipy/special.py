"""Functions of `scipy.special` on Tensors: those of `tg.special`, and more of them for NumPy."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

from tracegrad import special
from tracegrad.ops.record import OpRecord
from tracegrad.ops.special_cotangents import Undefined
from tracegrad.tensors import array_functions as tg
from tracegrad.traced_scipy.op_records import scipy_op


def _record(name: str, vjp: Any, operands: str = "x", jax: str | None = None) -> OpRecord:
    given = ", ".join(operands.split())
    return scipy_op(
        name,
        f"special.{name}({given})",
        "special",
        infer=special.of_ufunc(name),
        vjp=vjp,
        operands=operands,
        jax=jax and f"{jax}({given})",
        elementwise=True,
    )


def _called(record: OpRecord) -> Callable[..., Any]:
    """A function of arrays and Tensors."""

    def function(*operands: Any) -> Any:
        special.scipy_special()
        return record(*special.in_floats(record.name, operands))

    function.__name__ = record.name
    return function


def _no(name: str, operand: str) -> Undefined:
    return Undefined(
        f"{name}: no derivative in {operand} is known: pass tg.stop_gradient(...) of it if it is "
        "to be a constant"
    )


def _polygamma(n: Any, x: Any) -> Any:
    """SciPy's, which computes in float64 whatever `x` is."""
    return special.polygamma(n, tg.astype(tg.asarray(x), tg.float64))


# -- the gamma function and its integrals --------------------------------------------------------


_gamma = _record(
    "gamma", lambda ct, y, x: (ct * y * special.digamma(x),), jax="jax.scipy.special.gamma"
)

_rgamma = _record("rgamma", lambda ct, y, x: (ct * _slope_of_rgamma(x),))
gamma, rgamma = _called(_gamma), _called(_rgamma)
gammasgn = _called(_record("gammasgn", None))


def _slope_of_rgamma(x: Any) -> Any:
    """Left of 1/2 by reflection: ``sin(pi x) gamma(1 - x) / pi``, which has no poles there."""
    left = x < 0.5
    a, b = tg.where(left, x, 0.0), tg.where(left, 1.0, x)
    turn = math.pi * (a - 2.0 * tg.round(0.5 * a))
    reflected = tg.cos(turn) - special.digamma(1.0 - a) * (tg.sin(turn) / math.pi)
    return tg.where(left, gamma(1.0 - a) * reflected, -special.digamma(b) / gamma(b))


def _density_of_gamma(a: Any, x: Any) -> Any:
    return tg.exp(special.xlogy(a - 1.0, x) - x - special.gammaln(a))


def _gammainc_vjp(sign: float, name: str, ct: Any, y: Any, a: Any, x: Any) -> tuple[Any, Any]:
    return _no(name, "a"), ct * (sign * _density_of_gamma(a, x))


gammainc = _called(
    _record(
        "gammainc",
        partial(_gammainc_vjp, 1.0, "gammainc"),
        "a x",
        jax="jax.scipy.special.gammainc",
    )
)
gammaincc = _called(
    _record(
        "gammaincc",
        partial(_gammainc_vjp, -1.0, "gammaincc"),
        "a x",
        jax="jax.scipy.special.gammaincc",
    )
)


def _beta_vjp(ct: Any, y: Any, a: Any, b: Any) -> tuple[Any, Any]:
    # Where a + b is a pole the function is 0, and its slope is that of 1 / gamma(a + b).
    zero = (y == 0.0) & (a + b <= 0.0)
    slope = gamma(a) * gamma(b) * _slope_of_rgamma(tg.where(zero, a + b, 1.0))
    both = tg.where(zero, -slope, y * special.digamma(tg.where(zero, 1.0, a + b)))
    return ct * (y * special.digamma(a) - both), ct * (y * special.digamma(b) - both)


_beta = _record("beta", _beta_vjp, "a b", jax="jax.scipy.special.beta")


def multigammaln(a: Any, d: int) -> Any:
    """The logarithm of the multivariate gamma function."""
    total: Any = d * (d - 1) / 4.0 * math.log(math.pi)
    a = tg.astype(tg.asarray(a), tg.float64)
    for j in range(d):
        total = total + special.gammaln(a - j / 2.0)
    return total


_erfcinv = _record("erfcinv", lambda ct, y, x: (ct * (-0.5 * math.sqrt(math.pi) * tg.exp(y * y)),))


def _density_of_t(df: Any, x: Any) -> Any:
    scale = special.gammaln((df + 1.0) / 2.0) - special.gammaln(df / 2.0)
    return tg.exp(scale - 0.5 * tg.log(df * math.pi) - (df + 1.0) / 2.0 * tg.log1p(x * x / df))


stdtr = _called(
    _record("stdtr", lambda ct, y, df, x: (_no("stdtr", "df"), ct * _density_of_t(df, x)), "df x")
)


# -- entropies and logarithms ----------------------------------------------------------------------


_entr = _record("entr", lambda ct, y, x: (-ct * (tg.log(x) + 1.0),), jax="jax.scipy.special.entr")
_rel_entr = _record(
    "rel_entr",
    lambda ct, y, x, z: (ct * (tg.log(x / z) + 1.0), -ct * (x / z)),
    "x z",
    jax="jax.scipy.special.rel_entr",
)
_kl_div = _record(
    "kl_div",
    lambda ct, y, x, z: (ct * tg.log(x / z), ct * (1.0 - x / z)),
    "x z",
    jax="jax.scipy.special.kl_div",
)


def _xlog1py_vjp(ct: Any, y: Any, x: Any, z: Any) -> tuple[Any, Any]:
    """Where x is 0 the function is 0 whatever z is; so is its derivative in z."""
    nothing = x == 0
    at_zero = nothing & (z == -1.0)
    slope = tg.where(at_zero, 0.0, tg.log1p(tg.where(at_zero, 0.0, z)))
    return ct * slope, ct * tg.where(nothing, 0.0, x / tg.where(nothing, 1.0, 1.0 + z))


_xlog1py = _record("xlog1py", _xlog1py_vjp, "x z", jax="jax.scipy.special.xlog1py")


# -- Bessel functions ------------------------------------------------------------------------------


def _bessel(name: str, below: float, above: float, scaled: bool = False) -> OpRecord:
    """By order and argument; the derivative is a sum of those of neighbouring orders."""

    def vjp(ct: Any, y: Any, v: Any, x: Any) -> tuple[Any, Any]:
        slope = below * record(v - 1.0, x) + above * record(v + 1.0, x)
        if scaled:
            slope = slope - tg.sign(x) * y
        return _no(name, "the order"), ct * slope

    record = _record(name, vjp, "v x")
    return record


_jv = _bessel("jv", 0.5, -0.5)
_yv = _bessel("yv", 0.5, -0.5)
_yn = _bessel("yn", 0.5, -0.5)
_iv = _bessel("iv", 0.5, 0.5)
_kv = _bessel("kv", -0.5, -0.5)
_ive = _bessel("ive", 0.5, 0.5, scaled=True)
_j1 = _record("j1", lambda ct, y, x: (ct * (0.5 * (_jv(0.0, x) - _jv(2.0, x))),))
_j0 = _record("j0", lambda ct, y, x: (-ct * _j1(x),))
_y1 = _record("y1", lambda ct, y, x: (ct * (0.5 * (_yv(0.0, x) - _yv(2.0, x))),))
_y0 = _record("y0", lambda ct, y, x: (-ct * _y1(x),))


# -- the table -------------------------------------------------------------------------------------


TABLE: dict[str, Callable[..., Any]] = {
    **{name: getattr(special, name) for name in special.__all__ if name != "psi"},
    "psi": special.digamma,
    "polygamma": _polygamma,
    "entr": _called(_entr),
    "rel_entr": _called(_rel_entr),
    "kl_div": _called(_kl_div),
    "xlog1py": _called(_xlog1py),
    "beta": _called(_beta),
    "gamma": gamma,
    "rgamma": rgamma,
    "gammasgn": gammasgn,
    "gammainc": gammainc,
    "gammaincc": gammaincc,
    "multigammaln": multigammaln,
    "erfcinv": _called(_erfcinv),
    "stdtr": stdtr,
    "j0": _called(_j0),
    "j1": _called(_j1),
    "y0": _called(_y0),
    "y1": _called(_y1),
    "jn": _called(_jv),
    "jv": _called(_jv),
    "yn": _called(_yn),
    "yv": _called(_yv),
    "iv": _called(_iv),
    "ive": _called(_ive),
    "kv": _called(_kv),
}
