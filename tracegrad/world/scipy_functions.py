"""Functions of SciPy on Tensors: a table of what computes the same here, with gradients.

SciPy's Python reads plain arrays, which a traced value cannot become. So a call of one of these
functions with Tensors is a call of the function in the table; any other is refused by its name.
SciPy is never imported here: a function is known by where it stands in the modules that the user
has imported.
"""

from __future__ import annotations

import inspect
import math
import sys
from collections.abc import Callable
from functools import cache, partial
from types import FunctionType, MethodType
from typing import Any

import numpy as np

from tracegrad import linalg, special
from tracegrad import namespace as tg
from tracegrad.errors import ConversionError

Table = dict[str, Callable[..., Any]]
LINALG = "scipy.linalg"


def _plain(allowed: dict[str, Any], given: dict[str, Any], name: str) -> None:
    """Raises for an option whose effect is not written here; checks and overwriting are none."""
    for option, value in given.items():
        ignored = option in ("check_finite", "lapack_driver") or option.startswith("overwrite")
        if not ignored and not (option in allowed and value == allowed[option]):
            raise refused(f"scipy.linalg.{name} with {option}={value!r}")


def refused(name: str) -> ConversionError:
    """The error for a function that has no counterpart."""
    return ConversionError(
        f"{name} has no counterpart in tracegrad that takes a traced value, its computation would "
        "be lost: write it with tg, tg.special or tg.linalg, or as a tg.autograd.Function with a "
        "backward of its own; where no gradient is due, pass tg.stop_gradient(x) or "
        "x.detach().numpy() outside of compiled functions"
    )


# -- linear algebra -------------------------------------------------------------------------------


def _solve(a: Any, b: Any, lower: bool = False, **options: Any) -> Any:
    given = {k: v for k, v in options.items() if k != "assume_a"}
    if options.get("assume_a") not in (None, "gen", "general"):
        raise refused(f"scipy.linalg.solve with assume_a={options['assume_a']!r}")
    _plain({"transposed": False}, given, "solve")
    return linalg.solve(a, b)


def _cholesky(a: Any, lower: bool = False, **options: Any) -> Any:
    _plain({}, options, "cholesky")
    return linalg.cholesky(a, upper=not lower)


def _cho_factor(a: Any, lower: bool = False, **options: Any) -> Any:
    """The factor, with zeros where SciPy leaves what stood there."""
    _plain({}, options, "cho_factor")
    return linalg.cholesky(a, upper=not lower), lower


def _cho_solve(c_and_lower: Any, b: Any, **options: Any) -> Any:
    _plain({}, options, "cho_solve")
    factor, lower = c_and_lower
    first = linalg.solve_triangular(factor, b, trans=0 if lower else 1, lower=lower)
    return linalg.solve_triangular(factor, first, trans=1 if lower else 0, lower=lower)


def _solve_triangular(
    a: Any, b: Any, trans: Any = 0, lower: bool = False, unit_diagonal: bool = False, **options: Any
) -> Any:
    _plain({}, options, "solve_triangular")
    return linalg.solve_triangular(a, b, trans=trans, lower=lower, unit_diagonal=unit_diagonal)


def _inv(a: Any, **options: Any) -> Any:
    _plain({"assume_a": None, "lower": False}, options, "inv")
    return linalg.inv(a)


def _det(a: Any, **options: Any) -> Any:
    _plain({}, options, "det")
    return linalg.det(a)


def _norm(a: Any, ord: Any = None, axis: Any = None, keepdims: bool = False, **options: Any) -> Any:
    _plain({}, options, "norm")
    return linalg.norm(a, ord, axis, keepdims)


_EIGEN = {"b": None, "type": 1, "subset_by_index": None, "subset_by_value": None, "driver": None}


def _eigh(a: Any, *, lower: bool = True, eigvals_only: bool = False, **options: Any) -> Any:
    _plain(_EIGEN, options, "eigh")
    triangle = "L" if lower else "U"
    if eigvals_only:
        return linalg.eigvalsh(a, triangle)
    return tuple(linalg.eigh(a, triangle))


def _eigvalsh(a: Any, *, lower: bool = True, **options: Any) -> Any:
    _plain(_EIGEN, options, "eigvalsh")
    return linalg.eigvalsh(a, "L" if lower else "U")


def _svd(a: Any, full_matrices: bool = True, compute_uv: bool = True, **options: Any) -> Any:
    _plain({}, options, "svd")
    found = linalg.svd(a, full_matrices, compute_uv)
    return tuple(found) if compute_uv else found


def _svdvals(a: Any, **options: Any) -> Any:
    _plain({}, options, "svdvals")
    return linalg.svdvals(a)


def _qr(a: Any, *, mode: str = "full", **options: Any) -> Any:
    _plain({"pivoting": False, "lwork": None}, options, "qr")
    if mode not in ("full", "economic"):
        raise refused(f"scipy.linalg.qr with mode={mode!r}")
    return tuple(linalg.qr(a, {"full": "complete", "economic": "reduced"}[mode]))


# -- distributions --------------------------------------------------------------------------------


def _within(inside: Any, logarithm: Any) -> Any:
    """A logarithm of a density, which is -inf where the density is 0."""
    return tg.where(inside, logarithm, -math.inf)


def _standard(logpdf: Callable[..., Any]) -> Callable[..., Any]:
    """``logpdf(x, *shapes, loc=0, scale=1)`` of that of the standard distribution."""
    count = logpdf.__code__.co_argcount - 1
    shapes = logpdf.__code__.co_varnames[1 : count + 1]

    def moved(x: Any, *parameters: Any, loc: Any = 0.0, scale: Any = 1.0, **named: Any) -> Any:
        given = [*parameters, *(named[name] for name in shapes[len(parameters) :] if name in named)]
        if len(given) > count:
            loc, *more = given[count:]
            scale = more[0] if more else scale
        return logpdf((x - loc) / scale, *given[:count]) - tg.log(scale)

    return moved


def _norm_logpdf(z: Any) -> Any:
    return -0.5 * z * z - 0.5 * math.log(2.0 * math.pi)


def _expon_logpdf(z: Any) -> Any:
    return _within(z >= 0.0, -z)


def _gamma_logpdf(z: Any, a: Any) -> Any:
    return _within(z >= 0.0, special.xlogy(a - 1.0, z) - z - special.gammaln(a))


def _beta_logpdf(z: Any, a: Any, b: Any) -> Any:
    inner = special.xlogy(a - 1.0, z) + special.xlogy(b - 1.0, 1.0 - z)
    return _within((z >= 0.0) & (z <= 1.0), inner - special.betaln(a, b))


def _t_logpdf(z: Any, df: Any) -> Any:
    scale = special.gammaln((df + 1.0) / 2.0) - special.gammaln(df / 2.0)
    return scale - 0.5 * tg.log(df * math.pi) - (df + 1.0) / 2.0 * tg.log1p(z * z / df)


def _uniform_logpdf(z: Any) -> Any:
    return _within((z >= 0.0) & (z <= 1.0), z * 0.0)


def _laplace_logpdf(z: Any) -> Any:
    return -tg.abs(z) - math.log(2.0)


def _logistic_logpdf(z: Any) -> Any:
    y = -tg.abs(z)
    return y - 2.0 * tg.log1p(tg.exp(y))


def _cauchy_logpdf(z: Any) -> Any:
    return -tg.log1p(z * z) - math.log(math.pi)


def _lognorm_logpdf(z: Any, s: Any) -> Any:
    logarithm = tg.log(tg.where(z > 0.0, z, 1.0))
    return _within(z > 0.0, _norm_logpdf(logarithm / s) - logarithm - tg.log(s))


def _chi2_logpdf(z: Any, df: Any) -> Any:
    half = df / 2.0
    inner = special.xlogy(half - 1.0, z) - z / 2.0 - special.gammaln(half)
    return _within(z >= 0.0, inner - half * math.log(2.0))


_CONTINUOUS: Table = {
    "norm": _norm_logpdf,
    "expon": _expon_logpdf,
    "gamma": _gamma_logpdf,
    "beta": _beta_logpdf,
    "t": _t_logpdf,
    "uniform": _uniform_logpdf,
    "laplace": _laplace_logpdf,
    "logistic": _logistic_logpdf,
    "cauchy": _cauchy_logpdf,
    "lognorm": _lognorm_logpdf,
    "chi2": _chi2_logpdf,
}


def _density(logpdf: Callable[..., Any]) -> Callable[..., Any]:
    return lambda *operands, **keywords: tg.exp(logpdf(*operands, **keywords))


def _z(x: Any, loc: Any = 0.0, scale: Any = 1.0) -> Any:
    return (x - loc) / scale


def _ppf(q: Any, loc: Any = 0.0, scale: Any = 1.0) -> Any:
    return loc + scale * math.sqrt(2.0) * special.erfinv(2.0 * q - 1.0)


def _poisson_logpmf(k: Any, mu: Any, loc: Any = 0.0) -> Any:
    k = tg.asarray(k) - loc
    inside = (k >= 0) & (tg.floor(k * 1.0) == k)
    return _within(inside, special.xlogy(k, mu) - special.gammaln(k + 1.0) - mu)


def _binom_logpmf(k: Any, n: Any, p: Any, loc: Any = 0.0) -> Any:
    k = tg.asarray(k) - loc
    inside = (k >= 0) & (k <= n) & (tg.floor(k * 1.0) == k)
    gammaln, xlogy = special.gammaln, special.xlogy
    ways = gammaln(n + 1.0) - gammaln(k + 1.0) - gammaln(n - k + 1.0)
    return _within(inside, ways + xlogy(k, p) + special.xlogy(n - k, 1.0 - p))


def _bernoulli_logpmf(k: Any, p: Any, loc: Any = 0.0) -> Any:
    return _binom_logpmf(k, 1, p, loc)


def _multivariate_logpdf(
    x: Any, mean: Any = None, cov: Any = 1, allow_singular: bool = False
) -> Any:
    if allow_singular or np.ndim(cov) != 2:
        raise refused("scipy.stats.multivariate_normal.logpdf without a regular matrix cov")
    z = x if mean is None else x - mean
    factor = linalg.cholesky(cov)
    rows = z if np.ndim(z) > 1 else tg.reshape(z, (1, -1))
    white = linalg.solve_triangular(factor, tg.matrix_transpose(rows), lower=True)
    size = np.shape(cov)[0]
    constant = tg.sum(tg.log(linalg.diagonal(factor))) + 0.5 * size * math.log(2.0 * math.pi)
    found = -0.5 * tg.sum(white * white, axis=0) - constant
    return found if np.ndim(z) > 1 else found[0]


# -- the tables -----------------------------------------------------------------------------------


def _logsumexp(
    a: Any, axis: Any = None, b: Any = None, keepdims: bool = False, return_sign: bool = False
) -> Any:
    if return_sign:
        raise refused("scipy.special.logsumexp with return_sign=True")
    return special.logsumexp(a, axis, b, keepdims)


@cache
def functions() -> dict[str, Table]:
    """By module and name, what computes the same."""
    return {
        "scipy.special": {
            **{name: getattr(special, name) for name in special.__all__ if name != "psi"},
            "logsumexp": _logsumexp,
            "psi": special.digamma,
            "entr": lambda x: -special.xlogy(x, x),
            "rel_entr": lambda x, y: special.xlogy(x, x / y),
            "kl_div": lambda x, y: special.xlogy(x, x / y) - x + y,
            "xlog1py": lambda x, y: special.xlogy(x, 1.0 + y),
        },
        LINALG: {
            "solve": _solve,
            "cholesky": _cholesky,
            "cho_factor": _cho_factor,
            "cho_solve": _cho_solve,
            "solve_triangular": _solve_triangular,
            "inv": _inv,
            "det": _det,
            "norm": _norm,
            "eigh": _eigh,
            "eigvalsh": _eigvalsh,
            "svd": _svd,
            "svdvals": _svdvals,
            "qr": _qr,
        },
        "scipy.integrate": {"trapezoid": tg.trapezoid},
    }


@cache
def distributions() -> dict[tuple[str, str], Callable[..., Any]]:
    """By name of a distribution in `scipy.stats` and of its method."""
    found: dict[tuple[str, str], Callable[..., Any]] = {}
    for name, logpdf in _CONTINUOUS.items():
        found[name, "logpdf"] = _standard(logpdf)
        found[name, "pdf"] = _density(_standard(logpdf))
    found["norm", "cdf"] = lambda x, loc=0.0, scale=1.0: special.ndtr(_z(x, loc, scale))
    found["norm", "sf"] = lambda x, loc=0.0, scale=1.0: special.ndtr(-_z(x, loc, scale))
    found["norm", "logcdf"] = lambda x, loc=0.0, scale=1.0: special.log_ndtr(_z(x, loc, scale))
    found["norm", "ppf"] = _ppf
    for name, logpmf in (
        ("poisson", _poisson_logpmf),
        ("binom", _binom_logpmf),
        ("bernoulli", _bernoulli_logpmf),
    ):
        found[name, "logpmf"] = logpmf
        found[name, "pmf"] = _density(logpmf)
    found["multivariate_normal", "logpdf"] = _multivariate_logpdf
    found["multivariate_normal", "pdf"] = _density(_multivariate_logpdf)
    return found


def counterpart(callee: Any, operands: tuple[Any, ...]) -> Callable[..., Any] | None:
    """What computes the same as a function of SciPy, called with these operands."""
    name = getattr(callee, "__name__", "")
    if type(callee) is MethodType or (operands and _is_distribution(operands[0])):
        owner = callee.__self__ if type(callee) is MethodType else operands[0]
        found = _of_distribution(owner, name)
        if found is None or type(callee) is MethodType:
            return found
        return lambda _, *rest, **keywords: found(*rest, **keywords)
    for module, table in functions().items():
        if name in table and getattr(sys.modules.get(module), name, None) is callee:
            return partial(_by_name, callee, table[name]) if module == LINALG else table[name]
    return None


def _by_name(callee: Any, function: Callable[..., Any], *operands: Any, **keywords: Any) -> Any:
    """A function with SciPy's arguments by their names: checks and copies may be given by place."""
    return function(**inspect.signature(callee).bind(*operands, **keywords).arguments)


def _of_distribution(owner: Any, method: str) -> Callable[..., Any] | None:
    stats = sys.modules.get("scipy.stats")
    for (name, of), function in distributions().items():
        if of == method and getattr(stats, name, None) is owner:
            return function
    return None


def _is_distribution(x: Any) -> bool:
    return (type(x).__module__ or "").startswith("scipy.stats")


def is_of_scipy(callee: Any) -> bool:
    """Whether a function is of SciPy: its own, a method of its objects, or one of its ufuncs."""
    if isinstance(callee, np.ufunc):
        return getattr(sys.modules.get("scipy.special"), callee.__name__, None) is callee
    if type(callee) is MethodType:
        callee = callee.__func__
    module = callee.__module__ if isinstance(callee, FunctionType | type) else ""
    return (module or type(callee).__module__ or "").partition(".")[0] == "scipy"


def name_of(callee: Any, operands: tuple[Any, ...]) -> str:
    """A function as users import it: ``scipy.linalg.expm``, ``scipy.stats.gumbel_r.logpdf``."""
    module = "scipy.special" if isinstance(callee, np.ufunc) else callee.__module__ or "scipy"
    public = [part for part in module.split(".") if not part.startswith("_")]
    owner = callee.__self__ if type(callee) is MethodType else (*operands, None)[0]
    owners = [getattr(owner, "name", None) or type(owner).__name__] * _is_distribution(owner)
    return ".".join([*public, *owners, getattr(callee, "__name__", type(callee).__name__)])
