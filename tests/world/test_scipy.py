"""Functions of SciPy called on traced values: SciPy's values, and gradients; others by name."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tracegrad as tg

special = pytest.importorskip("scipy.special")
import scipy.integrate as integrate  # noqa: E402
import scipy.linalg as linalg  # noqa: E402
import scipy.stats as stats  # noqa: E402

from tracegrad.world import scipy_table  # noqa: E402

X = np.array([0.2, 0.45, 0.7])
P = np.array([1.3, 0.6, 2.1])
A = np.array([[2.0, 0.5, 0.1], [0.5, 3.0, 0.7], [0.1, 0.7, 1.5]])
L = np.tril(A)


def symmetric(a):
    return (a + a.T) / 2.0


ROWS: dict[str, tuple[Any, Any]] = {
    **{
        f"scipy.special.{name}": (lambda x, name=name: getattr(special, name)(x), X)
        for name in (
            *("erf", "erfc", "erfinv", "gammaln", "digamma", "psi", "logit", "expit", "ndtr"),
            *("log_ndtr", "i0", "i1", "entr", "softmax", "log_softmax", "logsumexp"),
        )
    },
    "scipy.special.polygamma": (lambda x: special.polygamma(1, x), X),
    "scipy.special.betaln": (lambda x: special.betaln(x, P), X),
    "scipy.special.betainc": (lambda x: special.betainc(2.0, 1.5, x), X),
    "scipy.special.xlogy": (lambda x: special.xlogy(x, x + 1.0), X),
    "scipy.special.xlog1py": (lambda x: special.xlog1py(x, x), X),
    "scipy.special.rel_entr": (lambda x: special.rel_entr(x, P * x**2), X),
    "scipy.special.kl_div": (lambda x: special.kl_div(x, P * x**2), X),
    "scipy.special.logsumexp axis": (
        lambda a: special.logsumexp(a, axis=0, b=np.full(3, 2.0), keepdims=True),
        A,
    ),
    "scipy.linalg.solve": (lambda a: linalg.solve(a, X), A),
    "scipy.linalg.inv": (linalg.inv, A),
    "scipy.linalg.det": (linalg.det, A),
    "scipy.linalg.norm": (lambda a: linalg.norm(a, axis=1), A),
    "scipy.linalg.cholesky": (lambda a: linalg.cholesky(symmetric(a), lower=True), A),
    "scipy.linalg.cholesky upper": (lambda a: linalg.cholesky(symmetric(a)), A),
    "scipy.linalg.cho_factor": (
        lambda a: linalg.cho_solve(linalg.cho_factor(symmetric(a), lower=True), X),
        A,
    ),
    "scipy.linalg.cho_solve": (lambda a: linalg.cho_solve(linalg.cho_factor(symmetric(a)), X), A),
    "scipy.linalg.solve_triangular": (lambda a: linalg.solve_triangular(a, X, lower=True), A),
    "scipy.linalg.eigh": (lambda a: linalg.eigh(symmetric(a))[1] ** 2, A),
    "scipy.linalg.eigh values": (lambda a: linalg.eigh(symmetric(a), eigvals_only=True), A),
    "scipy.linalg.eigvalsh": (lambda a: linalg.eigvalsh(symmetric(a)), A),
    "scipy.linalg.svd": (lambda a: linalg.svd(a, full_matrices=False)[0] ** 2, A),
    "scipy.linalg.svdvals": (linalg.svdvals, A),
    "scipy.linalg.qr": (lambda a: linalg.qr(a, mode="economic")[1], A),
    "scipy.integrate.trapezoid": (lambda x: integrate.trapezoid(x, P), X),
    "norm.logpdf": (lambda x: stats.norm.logpdf(x, x * 0.5, x + 1.0), X),
    "norm.pdf": (lambda x: stats.norm.pdf(x, loc=0.3, scale=x), X),
    "norm.cdf": (lambda x: stats.norm.cdf(x, x**2, 1.5), X),
    "norm.sf": (lambda x: stats.norm.sf(x, loc=0.5), X),
    "norm.logcdf": (lambda x: stats.norm.logcdf(x, scale=x), X),
    "norm.ppf": (lambda x: stats.norm.ppf(x, x, 2.0), X),
    "multivariate_normal.logpdf": (
        lambda x: stats.multivariate_normal.logpdf(x, P * x, A + np.outer(x, x)),
        X,
    ),
    "multivariate_normal.pdf": (lambda a: stats.multivariate_normal.pdf(a, X, A), A),
}
SHAPES = {"gamma": (1.7,), "beta": (1.4, 2.2), "t": (3.5,), "lognorm": (0.8,), "chi2": (3.0,)}


def moved(name, method):
    function, shapes = getattr(getattr(stats, name), method), SHAPES.get(name, ())
    return lambda x: function(x, *[v + 0.1 * x for v in shapes], loc=0.1 * x, scale=1.1)


def counted(name, method, *shapes):
    function, k = getattr(getattr(stats, name), method), np.array([0, 2, 1])
    return lambda x: function(k, *shapes, x)


for _method in ("logpdf", "pdf"):
    for _name in ("expon", "uniform", "laplace", "logistic", "cauchy", *SHAPES):
        ROWS[f"{_name}.{_method}"] = moved(_name, _method), X
for _method in ("logpmf", "pmf"):
    ROWS[f"poisson.{_method}"] = counted("poisson", _method), X
    ROWS[f"binom.{_method}"] = counted("binom", _method, 4), X
    ROWS[f"bernoulli.{_method}"] = counted("bernoulli", _method), X


@pytest.mark.parametrize("name", ROWS)
def test_values_are_those_of_scipy(name):
    f, x = ROWS[name]
    made = tg.compile(f)
    for _ in range(2):
        np.testing.assert_allclose(made(x), f(x), rtol=1e-12, atol=1e-14)
    assert made.cache_info().hits == 1


@pytest.mark.parametrize("name", ROWS)
def test_gradients_are_those_of_differences(name):
    f, x = ROWS[name]
    weights = np.cos(np.arange(np.size(f(x)))).reshape(np.shape(f(x)))

    def loss(x):
        found = f(x)
        return np.sum(np.where(np.isfinite(found), found, 0.0) * weights)

    gradient, slopes = tg.grad(loss)(x), np.zeros(x.shape)
    for i in np.ndindex(x.shape):
        up, down = x.copy(), x.copy()
        up[i] += 1e-6
        down[i] -= 1e-6
        slopes[i] = (loss(up) - loss(down)) / 2e-6
    np.testing.assert_allclose(gradient, slopes, rtol=1e-5, atol=1e-6)


def test_every_row_of_the_table_is_tried():
    """Here, or by its name in the tests of `tracegrad.scipy`."""
    known = {key.split()[0] for key in ROWS}
    tests = Path(__file__).parents[1] / "traced_scipy"
    files = ["test_scipy_stats.py", "test_scipy_objects.py", "test_roots_and_integrals.py"]
    words = {w for file in files for w in re.findall(r"\w+", (tests / file).read_text())}
    for module, table in scipy_table.functions().items():
        names = [name for name in table if f"{module}.{name}" not in known]
        assert set(names) <= words
    for distribution, method in scipy_table.distributions():
        assert f"{distribution}.{method}" in known or {distribution, method} <= words


@pytest.mark.parametrize(
    ("f", "name"),
    [
        (linalg.cosm, "scipy.linalg.cosm"),
        (lambda a: linalg.lu(a)[0], "scipy.linalg.lu"),
        (lambda a: special.kve(1.0, a), "scipy.special.kve"),
        (stats.gumbel_r.logpdf, "gumbel_r.logpdf"),
        (lambda a: linalg.qr(a, pivoting=True)[0], "pivoting"),
    ],
)
def test_others_are_refused_by_name(f, name):
    for made in (tg.compile(f), tg.grad(lambda a: np.sum(f(a)))):
        with pytest.raises(tg.errors.ConversionError, match=name):
            made(A)


def test_of_plain_arrays_they_are_scipys():
    made = tg.compile(lambda x: x * linalg.expm(A)[0])
    for _ in range(2):
        np.testing.assert_array_equal(made(X), X * linalg.expm(A)[0])


def test_scipy_is_not_imported():
    code = (
        "import sys, numpy as np, tracegrad as tg\n"
        "tg.grad(lambda x: np.sum(np.sin(x)))(np.ones(3))\n"
        "assert not any(name.partition('.')[0] == 'scipy' for name in sys.modules)\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
