"""Distributions of `scipy.stats` on Tensors: densities and distribution functions.

Of each, three functions of the standard distribution are written down: the logarithm of the
density, the distribution function and its complement; the others follow.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tracegrad import linalg, special
from tracegrad.ops.elementwise.arrays_and_scalars import as_scalar
from tracegrad.tensors import array_functions as tg
from tracegrad.tensors.tensor import Tensor
from tracegrad.traced_scipy.refusals import refused
from tracegrad.traced_scipy.special import gammainc, gammaincc, stdtr
from tracegrad.values.dispatch import is_number

Function = Callable[..., Any]


@dataclass(frozen=True)
class Standard:
    """A distribution with location 0 and scale 1.

    ``logpdf(z, *shapes)``; `cdf` and `sf` alike. `logcdf` and `logsf` where their logarithms are to
    be had exactly, `ppf` where that is known. ``valid(*shapes)`` are the conditions without which
    everything is NaN: by default shapes are positive.
    """

    logpdf: Function
    cdf: Function
    sf: Function
    logcdf: Function | None = None
    logsf: Function | None = None
    ppf: Function | None = None
    discrete: bool = False
    valid: Callable[..., Sequence[Any]] = lambda *shapes: [a > 0 for a in shapes]


def _but(outside: Any, logarithm: Any) -> Any:
    """A logarithm of a density, which is -inf where the density is 0; of NaN it is NaN."""
    return tg.where(outside, -math.inf, logarithm)


def _of_positive(function: Function, z: Any, otherwise: float) -> Any:
    """A function of positive arguments, which is constant for others; of NaN it is NaN."""
    outside = z <= 0.0
    return tg.where(outside, otherwise, function(tg.where(outside, 1.0, z)))


def _between(z: Any, inside: Any, below: float, above: float, low: float, high: float) -> Any:
    """A distribution function that is constant outside of an interval."""
    return tg.where(z < low, below, tg.where(z > high, above, inside))


def _clipped(z: Any, low: float, high: float) -> Any:
    """Arguments moved into an interval, where formulas and their derivatives hold."""
    return tg.where((z < low) | (z > high), 0.5 * (low + min(high, low + 1.0)), z)


# -- continuous ------------------------------------------------------------------------------------


def _norm_logpdf(z: Any) -> Any:
    return -0.5 * z * z - 0.5 * math.log(2.0 * math.pi)


def _gamma_logpdf(z: Any, a: Any) -> Any:
    return _but(z < 0.0, special.xlogy(a - 1.0, z) - z - special.gammaln(a))


def _gamma_cdf(z: Any, a: Any) -> Any:
    return _of_positive(lambda z: gammainc(a, z), z, 0.0)


def _gamma_sf(z: Any, a: Any) -> Any:
    return _of_positive(lambda z: gammaincc(a, z), z, 1.0)


def _beta_logpdf(z: Any, a: Any, b: Any) -> Any:
    inner = special.xlogy(a - 1.0, z) + special.xlogy(b - 1.0, 1.0 - z)
    return _but((z < 0.0) | (z > 1.0), inner - special.betaln(a, b))


def _beta_cdf(z: Any, a: Any, b: Any) -> Any:
    return _between(z, special.betainc(a, b, _clipped(z, 0.0, 1.0)), 0.0, 1.0, 0.0, 1.0)


def _beta_sf(z: Any, a: Any, b: Any) -> Any:
    return _between(z, special.betainc(b, a, 1.0 - _clipped(z, 0.0, 1.0)), 1.0, 0.0, 0.0, 1.0)


def _t_logpdf(z: Any, df: Any) -> Any:
    scale = special.gammaln((df + 1.0) / 2.0) - special.gammaln(df / 2.0)
    return scale - 0.5 * tg.log(df * math.pi) - (df + 1.0) / 2.0 * tg.log1p(z * z / df)


def _uniform_logpdf(z: Any) -> Any:
    return _but((z < 0.0) | (z > 1.0), z * 0.0)


def _laplace_cdf(z: Any) -> Any:
    half = 0.5 * tg.exp(-tg.abs(z))
    return tg.where(z < 0.0, half, 1.0 - half)


def _laplace_logcdf(z: Any) -> Any:
    below = tg.minimum(z, 0.0) - math.log(2.0)
    return tg.where(z < 0.0, below, tg.log1p(-0.5 * tg.exp(-tg.maximum(z, 0.0))))


def _logistic_logpdf(z: Any) -> Any:
    y = -tg.abs(z)
    return y - 2.0 * tg.log1p(tg.exp(y))


def _log_expit(z: Any) -> Any:
    return -tg.logaddexp(0.0, -z)


def _cauchy_cdf(z: Any) -> Any:
    """By the angle of (-z, 1), which is small exactly where the result is."""
    return tg.atan2(tg.ones_like(z), -z) / math.pi


def _expon_sf(z: Any) -> Any:
    return tg.exp(-tg.maximum(z, 0.0))


def _lognorm_logpdf(z: Any, s: Any) -> Any:
    def density(z: Any) -> Any:
        logarithm = tg.log(z)
        return _norm_logpdf(logarithm / s) - logarithm - tg.log(s)

    return _of_positive(density, z, -math.inf)


def _chi2_logpdf(z: Any, df: Any) -> Any:
    half = df / 2.0
    inner = special.xlogy(half - 1.0, z) - z / 2.0 - special.gammaln(half)
    return _but(z < 0.0, inner - half * math.log(2.0))


CONTINUOUS: dict[str, Standard] = {
    "norm": Standard(
        _norm_logpdf,
        special.ndtr,
        lambda z: special.ndtr(-z),
        special.log_ndtr,
        lambda z: special.log_ndtr(-z),
        lambda q: math.sqrt(2.0) * special.erfinv(2.0 * q - 1.0),
    ),
    "expon": Standard(
        lambda z: _but(z < 0.0, -z),
        lambda z: -tg.expm1(-tg.maximum(z, 0.0)),
        _expon_sf,
        logsf=lambda z: -tg.maximum(z, 0.0),
    ),
    "gamma": Standard(_gamma_logpdf, _gamma_cdf, _gamma_sf),
    "beta": Standard(_beta_logpdf, _beta_cdf, _beta_sf),
    "t": Standard(_t_logpdf, lambda z, df: stdtr(df, z), lambda z, df: stdtr(df, -z)),
    "uniform": Standard(
        _uniform_logpdf, lambda z: tg.clip(z, 0.0, 1.0), lambda z: 1.0 - tg.clip(z, 0.0, 1.0)
    ),
    "laplace": Standard(
        lambda z: -tg.abs(z) - math.log(2.0),
        _laplace_cdf,
        lambda z: _laplace_cdf(-z),
        _laplace_logcdf,
        lambda z: _laplace_logcdf(-z),
    ),
    "logistic": Standard(
        _logistic_logpdf,
        special.expit,
        lambda z: special.expit(-z),
        _log_expit,
        lambda z: _log_expit(-z),
    ),
    "cauchy": Standard(
        lambda z: -tg.log1p(z * z) - math.log(math.pi), _cauchy_cdf, lambda z: _cauchy_cdf(-z)
    ),
    "lognorm": Standard(
        _lognorm_logpdf,
        lambda z, s: _of_positive(lambda z: special.ndtr(tg.log(z) / s), z, 0.0),
        lambda z, s: _of_positive(lambda z: special.ndtr(-tg.log(z) / s), z, 1.0),
    ),
    "chi2": Standard(
        _chi2_logpdf,
        lambda z, df: _gamma_cdf(0.5 * z, 0.5 * df),
        lambda z, df: _gamma_sf(0.5 * z, 0.5 * df),
    ),
}


# -- discrete --------------------------------------------------------------------------------------


def _whole(k: Any) -> Any:
    return tg.floor(k * 1.0)


def _poisson_logpmf(k: Any, mu: Any) -> Any:
    inside = (k >= 0) & (_whole(k) == k)
    return _but(~inside, special.xlogy(k * 1.0, mu) - special.gammaln(k + 1.0) - mu)


def _poisson_cdf(k: Any, mu: Any) -> Any:
    count = _whole(k)
    return tg.where(count >= 0.0, gammaincc(tg.maximum(count, 0.0) + 1.0, mu), 0.0)


def _poisson_sf(k: Any, mu: Any) -> Any:
    count = _whole(k)
    return tg.where(count >= 0.0, gammainc(tg.maximum(count, 0.0) + 1.0, mu), 1.0)


def _log_ways(n: Any, *counts: Any) -> Any:
    """The logarithm of a multinomial coefficient."""
    total = special.gammaln(n + 1.0)
    for k in counts:
        total = total - special.gammaln(k + 1.0)
    return total


def _binom_logpmf(k: Any, n: Any, p: Any) -> Any:
    inside = (k >= 0) & (k <= n) & (_whole(k) == k)
    kept = tg.where(inside, k * 1.0, 0.0)
    powers = special.xlogy(kept, p) + special.xlogy(n - kept, 1.0 - p)
    return _but(~inside, _log_ways(n, kept, n - kept) + powers)


def _binom_cdf(k: Any, n: Any, p: Any) -> Any:
    count = tg.clip(_whole(k), 0.0, n - 1.0)
    inner = special.betainc(n - count, count + 1.0, 1.0 - p)
    return tg.where(k < 0.0, 0.0, tg.where(k >= n, 1.0, inner))


def _binom_sf(k: Any, n: Any, p: Any) -> Any:
    count = tg.clip(_whole(k), 0.0, n - 1.0)
    inner = special.betainc(count + 1.0, n - count, p)
    return tg.where(k < 0.0, 1.0, tg.where(k >= n, 0.0, inner))


def _is_probability(p: Any) -> tuple[Any, Any]:
    return p >= 0, p <= 1


DISCRETE: dict[str, Standard] = {
    "poisson": Standard(
        _poisson_logpmf, _poisson_cdf, _poisson_sf, discrete=True, valid=lambda mu: [mu >= 0]
    ),
    "binom": Standard(
        _binom_logpmf,
        _binom_cdf,
        _binom_sf,
        discrete=True,
        valid=lambda n, p: [n >= 0, _whole(n) == n, *_is_probability(p)],
    ),
    "bernoulli": Standard(
        lambda k, p: _binom_logpmf(k, 1.0, p),
        lambda k, p: _binom_cdf(k, 1.0, p),
        lambda k, p: _binom_sf(k, 1.0, p),
        discrete=True,
        valid=_is_probability,
    ),
}


# -- of vectors ------------------------------------------------------------------------------------


def _multinomial_logpmf(x: Any, n: Any, p: Any) -> Any:
    """As SciPy does, the last probability is taken for what the others leave."""
    x, p = tg.asarray(x), tg.asarray(p)
    first = p[..., :-1]
    p = tg.concat([first, 1.0 - tg.sum(first, axis=-1, keepdims=True)], axis=-1)
    inside = tg.all((x >= 0) & (_whole(x) == x), axis=-1) & (tg.sum(x, axis=-1) == n)
    terms = special.xlogy(x * 1.0, p) - special.gammaln(x + 1.0)
    found = _but(~inside, special.gammaln(n + 1.0) + tg.sum(terms, axis=-1))
    return _where_valid([n >= 0, tg.all((p >= 0) & (p <= 1), axis=-1)], found)


def _full_simplex(x: Any, alpha: Any) -> Any:
    """The points, with the last coordinate where SciPy lets it be left out."""
    x = tg.asarray(x)
    if np.shape(x)[0] + 1 == np.shape(alpha)[-1]:
        x = tg.concat([x, 1.0 - tg.sum(x, axis=0, keepdims=True)], axis=0)
    return x


def _dirichlet_logpdf(x: Any, alpha: Any) -> Any:
    x, alpha = _full_simplex(x, alpha), tg.asarray(alpha)
    scale = tg.sum(special.gammaln(alpha)) - special.gammaln(tg.sum(alpha))
    powers = alpha if x.ndim == 1 else tg.reshape(alpha, (-1, *[1] * (x.ndim - 1)))
    found = tg.sum(special.xlogy(powers - 1.0, x), axis=0) - scale
    off = tg.abs(tg.sum(x, axis=0) - 1.0) > 1e-10
    valid = _where_valid([tg.all(alpha > 0), tg.all(x >= 0, axis=0), ~off], found)
    return as_scalar(valid) if valid.ndim == 0 else valid


def _covariance(cov: Any, size: int) -> Any:
    """The matrix that a number, a vector of variances or a matrix stands for."""
    if np.ndim(cov) == 0:
        return cov * tg.eye(size)
    return tg.diag(cov) if np.ndim(cov) == 1 and size > 1 else tg.reshape(cov, (size, size))


def _multivariate_logpdf(
    x: Any, mean: Any = None, cov: Any = 1, allow_singular: bool = False
) -> Any:
    size = max(np.shape(mean)[-1:] + np.shape(cov)[-1:], default=1)
    x, mean, cov = (None if a is None else _in_float64(tg.asarray(a)) for a in (x, mean, cov))
    if x.ndim == 0:
        x = tg.reshape(x, (1,))
    elif x.ndim == 1 and size == 1:
        x = tg.reshape(x, (-1, 1))
    if mean is None and np.ndim(cov) == 0:
        size = np.shape(x)[-1]
    z = x if mean is None else x - mean
    matrix = _covariance(cov, size)
    if allow_singular:
        scaled, logdet, rank = _of_singular(z, matrix)
    else:
        factor = linalg.cholesky(matrix)
        rows = tg.reshape(z, (-1, size))
        white = linalg.solve_triangular(factor, tg.matrix_transpose(rows), lower=True)
        scaled = tg.reshape(tg.sum(white * white, axis=0), np.shape(z)[:-1])
        logdet, rank = 2.0 * tg.sum(tg.log(linalg.diagonal(factor))), size
    found = -0.5 * (scaled + logdet + rank * math.log(2.0 * math.pi))
    return found if np.shape(found) != (1,) or np.shape(z)[:-1] != (1,) else found[0]


def _of_singular(z: Any, matrix: Any) -> tuple[Any, Any, Any]:
    """Squared distances, the pseudo-determinant's logarithm and the rank of a covariance."""
    values, vectors = linalg.eigh(matrix)
    there = values > 1e6 * np.finfo(float).eps * tg.max(tg.abs(values))
    inverse = tg.where(there, 1.0 / tg.where(there, values, 1.0), 0.0)
    along = z @ vectors
    logdet = tg.sum(tg.where(there, tg.log(tg.where(there, values, 1.0)), 0.0))
    return tg.sum(along * along * inverse, axis=-1), logdet, tg.sum(there)


def _multivariate_entropy(mean: Any = None, cov: Any = 1) -> Any:
    size = max(np.shape(mean)[-1:] + np.shape(cov)[-1:], default=1)
    logdet = linalg.slogdet(_covariance(cov, size))[1]
    return 0.5 * (size * (math.log(2.0 * math.pi) + 1.0) + logdet)


def _refused(name: str) -> Function:
    def method(*args: Any, **kwargs: Any) -> Any:
        raise refused(f"scipy.stats.{name}")

    return method


# -- the table -------------------------------------------------------------------------------------


def _shapes_of(function: Function) -> tuple[str, ...]:
    code = function.__code__
    return code.co_varnames[1 : code.co_argcount]


def _moved(of: Standard, function: Function, after: Function | None = None) -> Function:
    """``function(x, *shapes, loc=0, scale=1)`` from that of the standard distribution."""
    shapes = _shapes_of(of.logpdf)
    names = ("k", *shapes, "loc") if of.discrete else ("x", *shapes, "loc", "scale")

    def method(*parameters: Any, **named: Any) -> Any:
        given = dict(zip(names, parameters, strict=False)) | named
        loc, scale = given.pop("loc", 0), given.pop("scale", None if of.discrete else 1)
        if len(parameters) > len(names) or set(given) != {names[0], *shapes}:
            raise TypeError(f"expected the arguments {', '.join(names)}")
        z = _placed(given[names[0]], loc, scale)
        own = [given[name] for name in shapes]
        found = function(z, *own)
        if after is not None:  # a density, of which the logarithm of a negative scale is NaN
            found = after(found, loc, scale)
        elif not of.discrete:
            found = _where_valid([scale > 0], found)
        return _where_valid(of.valid(*own), found)

    return method


def _placed(x: Any, loc: Any, scale: Any) -> Any:
    """The arguments of the standard distribution: SciPy computes on in float64."""
    z = tg.asarray(x)
    z = z - _beside(loc, z)
    return _in_float64(z if scale is None else z / _beside(scale, z))


def _beside(number: Any, x: Any) -> Any:
    """A parameter, of which SciPy makes an array: beside float32 a number of Python's is wider."""
    return np.asarray(number)[()] if is_number(number) and x.dtype != np.float64 else number


def _in_float64(x: Any) -> Any:
    return x if x.dtype == np.float64 else tg.astype(x, tg.float64)


def _where_valid(conditions: Sequence[Any], found: Any) -> Any:
    """A result, and NaN where parameters are none of the distribution."""
    for condition in conditions:
        if isinstance(condition, Tensor) or not np.all(condition):
            found = tg.where(condition, found, np.nan)
    return found


def _through(last: Function, method: Function) -> Function:
    return lambda *args, **kwargs: last(method(*args, **kwargs))


def table() -> dict[tuple[str, str], Function]:
    """By name of a distribution in `scipy.stats` and of its method."""
    found: dict[tuple[str, str], Function] = {}
    for name, of in (CONTINUOUS | DISCRETE).items():

        def add(method: str, function: Function, after: Function | None = None) -> Function:
            made = _moved(of, function, after)  # noqa: B023
            found[name, method] = made  # noqa: B023
            return made

        density = "pmf" if of.discrete else "pdf"
        after = None if of.discrete else (lambda y, loc, scale: y - tg.log(scale))
        found[name, density] = _through(tg.exp, add(f"log{density}", of.logpdf, after))
        for method, function, logarithm in (("cdf", of.cdf, of.logcdf), ("sf", of.sf, of.logsf)):
            plain = add(method, function)
            if logarithm is None:
                found[name, f"log{method}"] = _through(tg.log, plain)
            else:
                add(f"log{method}", logarithm)
        if of.ppf is not None:
            found[name, "ppf"] = _ppf(of.ppf)
    for name, method, function in (
        ("multinomial", "logpmf", _multinomial_logpmf),
        ("dirichlet", "logpdf", _dirichlet_logpdf),
        ("multivariate_normal", "logpdf", _multivariate_logpdf),
    ):
        found[name, method] = function
        found[name, method.removeprefix("log")] = _through(tg.exp, function)
    found["multivariate_normal", "entropy"] = _multivariate_entropy
    found["multivariate_normal", "cdf"] = _refused("multivariate_normal.cdf")
    found["multivariate_normal", "logcdf"] = _refused("multivariate_normal.logcdf")
    return found


def _ppf(function: Function) -> Function:
    def method(q: Any, loc: Any = 0, scale: Any = 1) -> Any:
        q = tg.asarray(q)
        moved = _beside(loc, q) + _beside(scale, q) * function(q)
        return _where_valid([scale > 0], _in_float64(moved))

    return method
