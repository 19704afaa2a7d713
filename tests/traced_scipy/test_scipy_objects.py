"""SciPy's sparse matrices and splines beside traced values, against dense ones and differences."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from checks import assert_close

import tracegrad as tg

sparse = pytest.importorskip("scipy.sparse")
interpolate = pytest.importorskip("scipy.interpolate")
spsolve = pytest.importorskip("scipy.sparse.linalg").spsolve
pytestmark = pytest.mark.filterwarnings("ignore::tracegrad.errors.RecompileWarning")

X = np.array([0.3, 0.5, 0.7])
DENSE = np.array([[1.0, 0.0, 2.0], [0.0, 3.0, 0.0], [4.0, 0.0, 5.0]])
A = sparse.csr_array(DENSE)
ROWS, COLUMNS = np.array([2, 0, 1, 0]), np.array([0, 0, 1, 0])  # one place twice, out of order


def filled(x: Any, by: Any = sparse.csr_array) -> Any:
    numbers = np.concatenate([x, x[:1]])
    return by((numbers, (ROWS, COLUMNS)), shape=(3, 3))


def dense(x: Any) -> Any:
    return np.array([[x[1] + x[0], 0.0, 0.0], [0.0, x[2], 0.0], [x[0], 0.0, 0.0]])


SHIFT = sparse.eye_array(3, format="csc")
CASES: dict[str, tuple[Any, Any]] = {
    "A @ x": (lambda x: A @ x, lambda x: DENSE @ x),
    "x @ A": (lambda x: x @ A, lambda x: x @ DENSE),
    "A.dot": (lambda x: A.dot(x), lambda x: DENSE @ x),
    "A.T @ x": (lambda x: A.T @ x, lambda x: DENSE.T @ x),
    "csc": (lambda x: A.tocsc() @ x, lambda x: DENSE @ x),
    "matrix * x": (lambda x: sparse.csr_matrix(A) * x, lambda x: DENSE @ x),
    "several": (lambda x: A @ np.outer(x, x * x), lambda x: DENSE @ np.outer(x, x * x)),
    "spsolve": (lambda x: spsolve(A, x * x), lambda x: np.linalg.solve(DENSE, x * x)),
    "spsolve of several": (
        lambda x: spsolve(A.tocsc(), np.outer(x, x)),
        lambda x: np.linalg.solve(DENSE, np.outer(x, x)),
    ),
    "matrices": (
        lambda x: filled(x, sparse.csr_matrix) @ filled(x, sparse.csc_matrix).T.dot(x),
        lambda x: dense(x) @ (dense(x).T @ x),
    ),
    "data": (lambda x: filled(x) @ (x * x), lambda x: dense(x) @ (x * x)),
    "data by columns": (
        lambda x: (x * x) @ filled(x, sparse.csc_array).T,
        lambda x: dense(x) @ (x * x),
    ),
    "solved": (
        lambda x: spsolve(
            sparse.csr_array((np.tile(x, 1), np.arange(3), np.arange(4)), shape=(3, 3)), x**3
        ),
        lambda x: x * x,
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_sparse_matrices_are_what_dense_ones_are(name):
    ours, theirs = (lambda x, f=f: np.sum(f(x) ** 3) for f in CASES[name])
    assert_close(tg.compile(ours)(X), theirs(X), 1e-12)
    assert_close(tg.grad(ours)(X), tg.grad(theirs)(X), 1e-11)
    assert_close(tg.hessian(ours)(X), tg.hessian(theirs)(X), 1e-10)
    assert_close(tg.jacfwd(CASES[name][0])(X), tg.jacfwd(CASES[name][1])(X), 1e-11)


def test_a_sparse_matrix_from_outside_is_read_by_every_call():
    matrix = sparse.csr_array(DENSE)
    gradient = tg.grad(lambda x: np.sum(matrix @ x))
    assert "sparse.csc_array" in gradient.source(X)
    for _ in range(3):
        assert_close(gradient(X), matrix.toarray().sum(axis=0), 1e-15)
        matrix.data *= 2.0
    assert gradient.cache_info().traces == 1
    matrix = sparse.csr_array(np.ones((2, 3)))
    assert_close(gradient(X), np.full(3, 2.0), 1e-15)


def test_what_is_not_known_is_refused_by_name():
    for f, match in (
        (lambda x: np.sum(sparse.coo_array(DENSE) @ x), "format coo.*tocsr"),
        (lambda x: np.sum(A * x), "csr_array by elements"),
        (lambda x: np.sum(sparse.linalg.expm_multiply(A, x)), "scipy.sparse.linalg.expm_multiply"),
    ):
        with pytest.raises(tg.errors.TracegradError, match=match):
            tg.grad(f)(X)


KNOTS = np.array([0.0, 0.7, 1.5, 2.5, 3.0])
VALUES = np.array([1.0, 2.0, 0.0, -1.0, 0.5])
PLACES = np.array([0.3, 1.2, 2.7, 2.0])
CUBIC = interpolate.CubicSpline(KNOTS, VALUES)
PCHIP = interpolate.PchipInterpolator(KNOTS, VALUES)
LINES = interpolate.interp1d(KNOTS, VALUES)


def slopes(f: Any, x: np.ndarray, h: float = 1e-6) -> np.ndarray:
    return np.array([(f(x + h * e) - f(x - h * e)) / (2 * h) for e in np.eye(len(x))])


@pytest.mark.parametrize(
    ("f", "x"),
    [
        (lambda x: CUBIC(x), PLACES),
        (lambda x: CUBIC(x, 1), PLACES),
        (lambda x: PCHIP(x), PLACES),
        (lambda x: LINES(x), PLACES),
        (lambda y: interpolate.CubicSpline(KNOTS, y)(PLACES), VALUES),
        (lambda y: interpolate.CubicSpline(KNOTS, y, bc_type="natural")(PLACES), VALUES),
        (lambda y: interpolate.CubicSpline(KNOTS, y, bc_type="clamped")(PLACES), VALUES),
        (lambda k: interpolate.CubicSpline(k, VALUES)(PLACES), KNOTS),
    ],
)
def test_splines(f, x):
    def total(x):
        return np.sum(f(x) ** 2)

    assert_close(tg.compile(total)(x), total(x), 1e-12)
    assert_close(tg.grad(total)(x), slopes(total, x), 1e-6)


def test_a_spline_that_is_replaced_is_seen():
    spline = interpolate.CubicSpline(KNOTS, VALUES)
    f = tg.compile(lambda x: spline(x))
    for scale in (1.0, 2.0, 3.0):
        assert_close(f(PLACES), spline(PLACES), 1e-12)
        spline.c = spline.c * scale
    with pytest.raises(ValueError, match="outside of the interpolation range"):
        tg.grad(lambda x: np.sum(interpolate.interp1d(KNOTS, VALUES)(x)))(PLACES + 5.0)
