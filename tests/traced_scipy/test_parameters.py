"""Functions of SciPy with all their parameters: values on traced arrays are SciPy's own.

Each call is made on plain arrays, which is SciPy's answer, and on Tensors, compiled and eagerly:
these answer the same, or refuse by name; where SciPy raises, so do they. That each parameter of
each function is among the calls is a test too, so that one of a later SciPy is not forgotten.
"""

from __future__ import annotations

import contextlib
import inspect
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest

import tracegrad as tg

pytest.importorskip("scipy")
from scipy import integrate, interpolate, linalg, signal, sparse, special, stats
from scipy.sparse import linalg as sparse_linalg

from tracegrad.transforms.scipy_solvers import TABLES as SOLVERS
from tracegrad.world.scipy_table import distributions, functions

pytestmark = [
    pytest.mark.filterwarnings("ignore::RuntimeWarning"),
    pytest.mark.filterwarnings("ignore::scipy.linalg.LinAlgWarning"),
    pytest.mark.filterwarnings("ignore::tracegrad.errors.RecompileWarning"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
]
Function = Callable[..., Any]


@dataclass
class Call:
    """A call of a function: its floating arrays are what is traced."""

    function: Function
    args: tuple[Any, ...]
    named: dict[str, Any] = field(default_factory=dict)

    def traced(self) -> tuple[list[Any], Function]:
        """The arrays, and the call as a function of them."""
        given = [*self.args, *self.named.values()]
        places = [i for i, x in enumerate(given) if _is_floating(x)]
        places = places or [i for i, x in enumerate(given) if isinstance(x, np.ndarray)]
        count, names = len(self.args), list(self.named)

        def called(*arrays: Any) -> Any:
            whole = list(given)
            for place, x in zip(places, arrays, strict=True):
                whole[place] = x
            rest = dict(zip(names, whole[count:], strict=True))
            return self.function(*whole[:count], **rest)

        return [given[i].copy() for i in places], called


def _is_floating(x: Any) -> bool:
    return isinstance(x, np.ndarray) and x.dtype.kind == "f"


CALLS: dict[str, list[Call]] = {}


def call(name: str, function: Function, *args: Any, **named: Any) -> None:
    """Adds a call to those of a name."""
    CALLS.setdefault(name, []).append(Call(function, args, named))


RANDOM = np.random.default_rng(0)
A, B = RANDOM.normal(size=(3, 3)), RANDOM.normal(size=(3, 2))
Q = A @ A.T + 3.0 * np.eye(3)
b, several, tall = RANDOM.normal(size=3), np.stack([Q, Q + np.eye(3)]), RANDOM.normal(size=(4, 3))
x, y = RANDOM.normal(size=7), RANDOM.normal(size=3)
X, Y = RANDOM.normal(size=(4, 5)), RANDOM.normal(size=(3, 2))


# -- linear algebra --------------------------------------------------------------------------------

STRUCTURES = (None, "gen", "general", "sym", "symmetric", "her", "hermitian", "pos", "banded") + (
    *("positive definite", "diagonal", "tridiagonal", "upper triangular", "lower triangular"),
)
for structure in STRUCTURES:
    matrix = {"diagonal": np.diag(b + 3.0), "upper triangular": np.triu(Q)}.get(str(structure), Q)
    matrix = np.tril(Q) if structure == "lower triangular" else matrix
    call("linalg.solve", linalg.solve, matrix, b, assume_a=structure)
    call("linalg.solve", linalg.solve, matrix, B, assume_a=structure, lower=True)
    call("linalg.inv", linalg.inv, matrix, assume_a=structure)
    call("linalg.inv", linalg.inv, matrix, assume_a=structure, lower=True)
for structure in ("sym", "pos"):
    for lower in (False, True):
        call("linalg.solve", linalg.solve, Q + np.triu(A, 1), b, lower, assume_a=structure)
call("linalg.solve", linalg.solve, A, b, transposed=True)
call("linalg.solve", linalg.solve, A, b, True, True, True, False, "gen", False)
call("linalg.solve", linalg.solve, Q, b, overwrite_a=True, overwrite_b=True, check_finite=False)
for other in (b, B, B[:2], several):
    call("linalg.solve", linalg.solve, several, other)
call("linalg.solve", linalg.solve, A, b[:2])
call("linalg.inv", linalg.inv, several, overwrite_a=True, check_finite=False)
call("linalg.inv", linalg.inv, tall)
for lower in (False, True):
    call("linalg.cholesky", linalg.cholesky, Q, lower=lower)
    call("linalg.cholesky", linalg.cholesky, Q + A, lower, True, False)
    call("linalg.cholesky", linalg.cholesky, several, lower=lower)
    part = np.tril if lower else np.triu
    call("linalg.cho_factor", lambda q, k=lower, p=part: p(linalg.cho_factor(q, k)[0]), Q)
    call(
        "linalg.cho_factor",
        lambda q, k=lower: linalg.cho_factor(q, lower=k, overwrite_a=True, check_finite=False)[1],
        Q,
    )
    for right in (b, B):
        call("linalg.cho_solve", lambda q, r, k=lower: linalg.cho_solve((q, k), r), Q, right)
    call("linalg.cho_solve", linalg.cho_solve, (Q, lower), b, overwrite_b=True, check_finite=False)
    for trans in (0, 1, 2, "N", "T", "C"):
        for unit in (False, True):
            call("linalg.solve_triangular", linalg.solve_triangular, Q, b, trans, lower, unit)
            call(
                "linalg.solve_triangular",
                *(linalg.solve_triangular, Q, B),
                **{"trans": trans, "lower": lower, "unit_diagonal": unit},
            )
call(
    "linalg.solve_triangular",
    *(linalg.solve_triangular, several, B),
    **{"overwrite_b": True, "check_finite": False},
)
call("linalg.det", linalg.det, A, overwrite_a=True, check_finite=False)
call("linalg.det", linalg.det, several)
call("linalg.det", linalg.det, tall)
for array in (b, A, several):
    for order in (None, 1, 2, -1, -2, np.inf, -np.inf, "fro", "nuc", 0, 3):
        for axis in (None, 0, (0, 1), -1):
            call("linalg.norm", linalg.norm, array, order, axis=axis)
            call("linalg.norm", linalg.norm, array, ord=order, axis=axis, keepdims=True)
call("linalg.norm", linalg.norm, A, "fro", None, True, False)
EIGEN: list[dict[str, Any]] = [
    *({}, {"lower": False}, {"eigvals_only": True}, {"subset_by_index": [0, 1]}, {"type": 2}),
    *({"subset_by_value": (0, 5)}, {"driver": "ev"}, {"driver": "evd"}, {"driver": "evr"}),
    *({"b": np.eye(3) + 0.1}, {"driver": None}, {"overwrite_a": True, "overwrite_b": True}),
    {"check_finite": False},
]
for options in EIGEN:
    for matrix in (Q, np.tril(A)):
        call("linalg.eigh", linalg.eigh, matrix, **options)
        if "eigvals_only" not in options:
            call("linalg.eigvalsh", linalg.eigvalsh, matrix, **options)
call("linalg.eigh", linalg.eigh, Q, np.eye(3) + 0.1)
call("linalg.eigh", linalg.eigh, several)
for full in (False, True):
    for vectors in (False, True):
        call("linalg.svd", linalg.svd, tall, full_matrices=full, compute_uv=vectors)
        call("linalg.svd", linalg.svd, tall.T, full, vectors, True, False)
        call("linalg.svd", linalg.svd, tall, full, vectors, lapack_driver="gesvd")
call("linalg.svd", linalg.svd, several)
call("linalg.svdvals", linalg.svdvals, tall, overwrite_a=True, check_finite=False)
call("linalg.svdvals", linalg.svdvals, several)
for mode in ("full", "r", "economic", "raw"):
    for pivoting in (False, True):
        call("linalg.qr", linalg.qr, tall, mode=mode, pivoting=pivoting)
        call("linalg.qr", linalg.qr, tall.T, False, None, mode, pivoting, False)
for name in ("expm", "logm", "sqrtm"):
    for matrix in (Q, several, A, tall):
        call(f"linalg.{name}", getattr(linalg, name), matrix)
call("linalg.logm", linalg.logm, Q, disp=False)
call("linalg.sqrtm", linalg.sqrtm, Q, disp=False, blocksize=3)
call("linalg.solve_sylvester", linalg.solve_sylvester, A, Q, A)
call("linalg.solve_sylvester", linalg.solve_sylvester, several, several, several)
call("linalg.block_diag", linalg.block_diag, A, b, tall, 2.0)
call("linalg.block_diag", linalg.block_diag, several, several)
call("linalg.block_diag", linalg.block_diag, several, A)
call("linalg.block_diag", linalg.block_diag, np.zeros((0, 2)), A)
bands = RANDOM.normal(size=(3, 5)) + np.array([[0.0], [5.0], [0.0]])
for diagonals, rows in (((1, 1), bands), ((0, 2), bands[[0, 2, 1]]), ((2, 0), bands[[1, 0, 2]])):
    for right in (np.arange(5.0), np.ones((5, 2))):
        call("linalg.solve_banded", linalg.solve_banded, diagonals, rows, right)
call(
    "linalg.solve_banded",
    *(linalg.solve_banded, (0, 0), bands[1:2], np.arange(5.0)),
    **{"overwrite_ab": True, "overwrite_b": True, "check_finite": False},
)

# -- signals, integrals and interpolation ----------------------------------------------------------

for mode in ("full", "same", "valid"):
    for method in ("auto", "direct", "fft"):
        for first, second in ((x, y), (X, Y), (y, x), (X.T[:2], X[:2].T)):
            call("signal.convolve", signal.convolve, first, second, mode, method)
            call("signal.convolve", signal.convolve, first, second, mode=mode, method=method)
    for name in ("fftconvolve", "oaconvolve"):
        for axes in (None, 0, 1, -1, (0, 1), [0], (1,)):
            call(f"signal.{name}", getattr(signal, name), X, X[:2], mode=mode, axes=axes)
            call(f"signal.{name}", getattr(signal, name), X, Y, mode, axes)
        call(f"signal.{name}", getattr(signal, name), x, y, mode, 0)
    for boundary in ("fill", "wrap", "symm"):
        for value in (0, 1.5):
            call("signal.convolve2d", signal.convolve2d, X, Y, mode, boundary, value)
            call(
                "signal.convolve2d",
                *(signal.convolve2d, Y, X),
                **{"mode": mode, "boundary": boundary, "fillvalue": value},
            )
call("signal.convolve", signal.convolve, X, x)
call("signal.convolve", signal.convolve, x, y, "none")
call("signal.convolve", signal.convolve, np.zeros(0), y)
call("signal.convolve2d", signal.convolve2d, x, y)
call("integrate.trapezoid", integrate.trapezoid, x)
call("integrate.trapezoid", integrate.trapezoid, x, np.arange(7.0) ** 2)
call("integrate.trapezoid", integrate.trapezoid, X, dx=0.3, axis=0)
call("integrate.trapezoid", integrate.trapezoid, X, x=np.arange(5.0) ** 2, axis=1)
call("integrate.trapezoid", integrate.trapezoid, X, X**3, 1.0, 0)

knots, heights = np.array([0.0, 1.0, 2.5, 3.0, 4.2]), RANDOM.normal(size=5)
places = np.array([-0.5, 0.3, 2.7, 5.0])
ENDS = ("not-a-knot", "natural", "clamped", "periodic", ((1, 0.3), (2, 0.1)), ("natural",) * 2)


def cubic(*args: Any, **named: Any) -> Any:
    return interpolate.CubicSpline(*args, **named)


def spline(*args: Any, **named: Any) -> None:
    call("interpolate.CubicSpline", *args, **named)


for ends in ENDS:
    spline(lambda k, v, at, e=ends: cubic(k, v, bc_type=e)(at), knots, heights, places)
    spline(lambda k, v, at, e=ends: cubic(k, v, 0, e)(at), knots, heights, places)
for beyond in (None, True, False, "periodic"):
    spline(lambda k, v, at, e=beyond: cubic(k, v, extrapolate=e)(at), knots, heights, places)
    spline(lambda k, v, at, e=beyond: cubic(k, v)(at, 0, e), knots, heights, places)
    for kind in ("CubicSpline", "PchipInterpolator", "Akima1DInterpolator"):
        table = getattr(interpolate, kind)(knots, heights, extrapolate=beyond)
        spline(table, places)
        spline(lambda at, t=table, e=beyond: t(at, 1, e), places)
        spline(lambda at, t=table: t(at, nu=4), places)
for method in ("derivative", "antiderivative"):
    spline(lambda k, v, at, m=method: getattr(cubic(k, v), m)()(at), knots, heights, places)
for order in (1, 2, 3, 4):
    spline(lambda k, v, at, n=order: cubic(k, v).derivative(n)(at), knots, heights, places)
    spline(lambda k, v, at, n=order: cubic(k, v)(at, nu=n), knots, heights, places)
spline(lambda k, v: cubic(k, v).integrate(0.3, 2.0), knots, heights)
spline(lambda k, v: cubic(k, v).c, knots, heights)
CURVES = np.stack([heights, heights**2, np.cos(heights)], axis=1)
SEVERAL = np.stack([CURVES, CURVES[::-1]])
OF_CURVES: list[Function] = [
    *(lambda s, at: s(at), lambda s, at: s(np.stack([at, at])), lambda s, at: s(at[0])),
    *(lambda s, at: s(at, 1), lambda s, at: s(at, 4), lambda s, at: s(at, extrapolate=False)),
    *(lambda s, at: s.derivative(2)(at), lambda s, at: s.antiderivative()(at)),
    *(lambda s, at: s.integrate(0.3, 2.0), lambda s, at: s.integrate(at[2], at[1])),
    *(
        lambda s, at: s.integrate(-9.0, 7.7, "periodic"),
        lambda s, at: s.integrate(-9.0, 0.3, False),
    ),
    *(lambda s, at: s.antiderivative(2)(at), lambda s, at: s.c),
]
for used in OF_CURVES:
    spline(lambda k, v, at, u=used: u(cubic(k, v), at), knots, heights, places)
    for curves, axis in ((CURVES, 0), (CURVES.T, 1), (CURVES.T, -1), (SEVERAL, 1)):
        spline(lambda k, v, at, u=used, n=axis: u(cubic(k, v, n), at), knots, curves, places)
        table = interpolate.PchipInterpolator(knots, curves, axis=axis)
        spline(lambda at, u=used, t=table: u(t, at), places)
for ends in ("natural", "clamped"):
    spline(lambda k, v, at, e=ends: cubic(k, v, bc_type=e)(at), knots, CURVES, places)
spline(lambda k, v: cubic(k, v)(np.ones((2, 2))), knots, heights)
spline(lambda k, v: cubic(k[:3], v[:3])(1.5), knots, heights)
spline(lambda k, v, at: cubic(k[::-1], v)(at), knots, heights, places)
TABLES: list[dict[str, Any]] = [
    *({}, {"bounds_error": False}, {"fill_value": "extrapolate"}, {"axis": 0}, {"copy": False}),
    *({"bounds_error": False, "fill_value": 7.0}, {"assume_sorted": True}),
    {"bounds_error": False, "fill_value": (1.0, 2.0)},
    *[{"kind": kind} for kind in ("nearest", "cubic", "previous", "zero", 0, 1, 2, "quadratic")],
]
for options in TABLES:
    for at in (places, places[1:3]):
        call("interpolate.interp1d", interpolate.interp1d(knots, heights, **options), at)
call("interpolate.interp1d", lambda v, at: interpolate.interp1d(knots, v)(at), heights, places[1:3])

# -- special functions -----------------------------------------------------------------------------

for axis in (None, 0, 1, (0, 1), -1):
    call("special.softmax", special.softmax, X, axis=axis)
    call("special.log_softmax", special.log_softmax, X, axis=axis)
    for keep in (False, True):
        call("special.logsumexp", special.logsumexp, X, axis=axis, keepdims=keep)
        for weights in (X[0], np.abs(X[0]), np.array([1.0, 0.0, 2.0, 0.0, 1.0])):
            call("special.logsumexp", special.logsumexp, X, axis, weights, keep)
            call("special.logsumexp", special.logsumexp, 100.0 * X, axis=axis, b=weights)
    call("special.logsumexp", special.logsumexp, X, axis=axis, b=X, return_sign=True)
inside = np.array([0.06, 0.21, 0.42])
DOMAIN = (inside, -inside, np.array([0.0, 1.0, 2.0]), np.array([np.nan, np.inf, -np.inf, 1e-20]))
for name in functions()["scipy.special"]:
    ufunc = getattr(special, name)
    if not isinstance(ufunc, np.ufunc):
        continue
    for first in DOMAIN:
        if ufunc.nin == 1:
            call(f"special.{name}", ufunc, first)
            call(f"special.{name}", ufunc, first.astype(np.float32))
        elif ufunc.nin == 2:
            for second in (first, first[::-1] + 0.1, 2, 1e-20):
                call(f"special.{name}", ufunc, first, second)
                call(f"special.{name}", ufunc, second, first)
        else:
            call(f"special.{name}", ufunc, first, 0.3, first[::-1])
            call(f"special.{name}", ufunc, 2.0, 3.0, first)
    call(f"special.{name}", ufunc, *[inside] * ufunc.nin, out=np.zeros(3))
call("special.multigammaln", special.multigammaln, inside + 3.0, 2)
call("special.multigammaln", special.multigammaln, a=inside + 3.0, d=2)
call("special.polygamma", special.polygamma, 1, inside)
call("special.polygamma", special.polygamma, n=2, x=inside)

# -- sparse matrices -------------------------------------------------------------------------------

numbers = np.array([1.1, 2.0, 3.3, 4.0])
lines, columns = np.array([2, 0, 1, 0]), np.array([0, 0, 1, 0])


def use_sparse(kind: str) -> None:
    name = f"sparse.{kind}"

    def make(*args: Any, **named: Any) -> Any:
        return getattr(sparse, kind)(*args, **named)

    def made(of: Function, **options: Any) -> None:
        call(
            name,
            lambda d, v: of(make((d, (lines, columns)), **{"shape": (3, 3), **options}), v),
            numbers,
            b,
        )

    made(lambda m, v: m @ v)
    made(lambda m, v: v @ m)
    made(lambda m, v: m.dot(v))
    made(lambda m, v: m.T @ v)
    made(lambda m, v: m * v)
    made(lambda m, v: (m * 2.0) @ v)
    made(lambda m, v: (m + m) @ v)
    made(lambda m, v: -m @ v)
    made(lambda m, v: m.sum() * v)
    made(lambda m, v: m.toarray() @ v)
    made(lambda m, v: m[0, 0] * v)
    for options in ({"dtype": "float32"}, {"copy": True}, {"maxprint": 3}, {"shape": None}):
        made(lambda m, v: m @ v[: m.shape[1]], **options)
    for place in ((lines, -columns - 1), (lines + 5, columns), (lines, columns + 3)):
        call(name, lambda d, v, p=place: make((d, p), shape=(3, 3)) @ v, numbers, b)
    parts = (np.array([0, 1, 0, 1]), np.array([0, 2, 3, 4]))
    call(name, lambda d, v: make((d, *parts), (3, 3)) @ v, numbers, b)
    call(name, lambda d, v: make(d.reshape(2, 2)) @ v[:2], numbers, b)
    whole = make(Q)
    for of in (
        *(lambda v: whole @ v, lambda v: v @ whole, lambda v: whole * v, lambda v: 2 * whole @ v),
        *(lambda v: whole @ (whole @ v), lambda v: whole.multiply(v)),
        *(lambda v: whole @ v[:2], lambda v: (whole @ whole) @ v, lambda v: whole + v),
    ):
        call(name, of, b)
    call("sparse.linalg.spsolve", lambda v: sparse_linalg.spsolve(whole, v), b)
    call(
        "sparse.linalg.spsolve", lambda v: sparse_linalg.spsolve(whole, v, permc_spec="NATURAL"), B
    )
    call("sparse.linalg.spsolve", lambda v: sparse_linalg.spsolve(whole, v, use_umfpack=False), b)


for kind in ("csr_array", "csr_matrix", "csc_array", "csc_matrix", "coo_array"):
    use_sparse(kind)

# -- distributions ---------------------------------------------------------------------------------

SHAPES: dict[str, tuple[Any, ...]] = {
    **{"t": (3.5,), "gamma": (2.3,), "beta": (1.4, 2.2), "chi2": (3.0,), "lognorm": (0.8,)},
    **{"poisson": (2.1,), "binom": (5, 0.3), "bernoulli": (0.3,)},
}
VECTORS = ("multinomial", "dirichlet", "multivariate_normal")
EACH = np.array([-1.0, 0.0, 0.5, 2.0, 1.0])


def use_distribution(name: str, method: str) -> None:
    of, shapes = getattr(stats, name), SHAPES.get(name, ())
    continuous = hasattr(of, "pdf")
    points = np.array([0.0, 0.3, 0.8, 1.0, -0.5, np.nan]) if continuous else np.arange(-1, 8)
    f = getattr(of, method)

    def used(*args: Any, **named: Any) -> None:
        call(f"stats.{name}.{method}", *args, **named)

    if method == "ppf":
        for options in ({}, {"loc": 0.5}, {"scale": np.array([1.0, -1.0])}):
            used(f, np.array([0.2, 0.6]), *shapes, **options)
        return
    used(f, points, *shapes)
    used(f, points, *shapes, 0.2 if continuous else 1)
    used(f, points, *shapes, loc=0.2 if continuous else 1)
    used(f, points + 0.5, *shapes)
    named = dict(zip((of.shapes or "").replace(" ", "").split(","), shapes, strict=False))
    used(f, **{"x" if continuous else "k": points}, **named)
    if method != "logcdf" or continuous:  # of discrete ones SciPy's is 0 where others are NaN
        for bad in (tuple(-s for s in shapes), tuple(0 * s for s in shapes)):
            used(f, points, *bad)
        used(f, points, *[s + 0.3 for s in shapes])
        for i in range(len(shapes)):
            used(f, points[:5], *shapes[:i], EACH, *shapes[i + 1 :])
    if continuous:
        for scale in (1.3, -1.3, 0.0, EACH):
            used(f, points[:5], *shapes, loc=0.2, scale=scale)
    used(lambda x: getattr(of(*shapes, loc=0), method)(x), points)
    used(lambda x: getattr(of(*shapes, x[1]), method)(1), np.array(points[:3], float))


for name, method in distributions():
    if name not in VECTORS:
        use_distribution(name, method)
for method in ("pdf", "logpdf", "cdf", "logcdf"):
    normal = getattr(stats.multivariate_normal, method)
    for mean, spread in ((b, 2.0), (b, b**2), (b, Q), (None, Q), (None, 1)):
        at = 0.4 * b if np.ndim(spread) or mean is not None else np.array(0.4)
        name = f"stats.multivariate_normal.{method}"
        call(name, normal, at, mean, spread)
        call(name, normal, np.stack([at, 2.0 * at]), mean=mean, cov=spread)
        call(name, normal, at, mean, spread, allow_singular=True)
call("stats.multivariate_normal.entropy", stats.multivariate_normal.entropy, b, Q)
simplex, alpha = np.array([0.2, 0.3, 0.5]), np.array([0.2, 0.7, 1.4])
for method in ("pmf", "logpmf"):
    multinomial = getattr(stats.multinomial, method)
    for counts in (np.array([1, 2, 0]), np.array([[1, 2, 0], [0, 0, 3]]), np.array([1, 2, -1])):
        call(f"stats.multinomial.{method}", multinomial, counts, 3, simplex)
        call(f"stats.multinomial.{method}", multinomial, counts, n=3, p=simplex)
        call(f"stats.multinomial.{method}", multinomial, counts, 3, np.array([0.2, 0.3, 0.9]))
for method in ("pdf", "logpdf"):
    dirichlet = getattr(stats.dirichlet, method)
    call(f"stats.dirichlet.{method}", dirichlet, simplex, alpha)
    call(f"stats.dirichlet.{method}", dirichlet, simplex[:2], alpha=alpha)
    call(f"stats.dirichlet.{method}", dirichlet, np.stack([simplex, simplex], axis=1), alpha)

# -- the tests -------------------------------------------------------------------------------------

RANDOM_RESULTS = {"stats.multivariate_normal.cdf", "stats.multivariate_normal.logcdf"}
"""SciPy draws random numbers for these: where they run, they are near."""


def _leaves(found: Any) -> Iterator[np.ndarray]:
    if isinstance(found, tuple | list):
        for part in found:
            yield from _leaves(part)
    else:
        yield np.asarray(found.toarray() if sparse.issparse(found) else found)


def _compare(name: str, each: Call) -> None:
    arrays, function = each.traced()
    try:
        wanted = function(*[array.copy() for array in arrays])
    except Exception:
        with pytest.raises(Exception):  # noqa: B017
            tg.compile(function)(*arrays)
        return
    try:
        found = tg.compile(function)(*arrays)
    except tg.errors.TracegradError:
        return
    rough = name in RANDOM_RESULTS
    for ours, theirs in zip(_leaves(found), _leaves(wanted), strict=True):
        assert ours.shape == theirs.shape
        assert ours.dtype == theirs.dtype
        rtol = 1e-3 if rough else 2e-5 if ours.dtype == np.float32 else 1e-9
        np.testing.assert_allclose(ours, theirs, rtol=rtol, atol=1e-12)


@pytest.mark.sampled(5)
@pytest.mark.parametrize("compiled", [True, False], ids=["compiled", "eager"])
@pytest.mark.parametrize("name", CALLS)
def test_values_are_those_of_scipy_or_are_refused(name, compiled, monkeypatch):
    monkeypatch.setattr(tg.config, "compile", compiled)
    for each in CALLS[name]:
        _compare(name, each)


ELSEWHERE = {name for table in SOLVERS.values() for name in table}
"""Their parameters are those of test_ode_parameters.py and test_roots_and_integrals.py."""
NAMES = [
    f"{module}.{name}"
    for module, table in functions().items()
    for name in table
    if name not in ELSEWHERE and not isinstance(getattr(sys.modules[module], name), np.ufunc)
]


@pytest.mark.parametrize("name", NAMES)
def test_each_parameter_of_scipy_is_among_the_calls(name, monkeypatch):
    module, _, function = name.rpartition(".")
    theirs = getattr(sys.modules[module], function)
    signature = inspect.signature(theirs)
    used: set[str] = set()

    def seen(*args: Any, **named: Any) -> Any:
        used.update(signature.bind(*args, **named).arguments)
        return theirs(*args, **named)

    monkeypatch.setattr(sys.modules[module], function, seen)
    for each in CALLS[name.removeprefix("scipy.")]:
        plain = Call(seen if each.function is theirs else each.function, each.args, each.named)
        arrays, called = plain.traced()
        with contextlib.suppress(Exception):  # some calls are wrong on purpose
            called(*arrays)
    assert used == set(signature.parameters)
