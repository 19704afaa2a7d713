"""SciPy's sparse matrices and splines beside traced values, against dense ones and differences."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from checks import assert_close

import tracegrad as tg

sparse = pytest.importorskip("scipy.sparse")
integrate = pytest.importorskip("scipy.integrate")
interpolate = pytest.importorskip("scipy.interpolate")
ndimage = pytest.importorskip("scipy.ndimage")
optimize = pytest.importorskip("scipy.optimize")
stats = pytest.importorskip("scipy.stats")
special = pytest.importorskip("scipy.special")
sparse_linalg = pytest.importorskip("scipy.sparse.linalg")
spsolve = sparse_linalg.spsolve
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


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", CASES)
def test_sparse_matrices_in_programs_for_jax(name):
    pytest.importorskip("jax")
    ours, theirs = (lambda x, f=f: np.sum(f(x) ** 3) for f in CASES[name])
    assert_close(tg.compile(ours, backend="jax")(X), theirs(X), 1e-12)
    assert_close(tg.grad(ours, backend="jax")(X), tg.grad(theirs)(X), 1e-11)
    assert_close(tg.hessian(ours, backend="jax")(X), tg.hessian(theirs)(X), 1e-10)
    several, batch = np.stack([X, X**2]), tg.vmap(CASES[name][0], backend="jax")
    assert_close(batch(several), np.stack([CASES[name][1](x) for x in several]), 1e-12)


SOLVERS = {
    "minimize": (
        lambda x: np.sum(optimize.minimize(lambda t: np.sum((t - x) ** 2), np.ones(3)).x),
        "custom_vjp",
    ),
    "least_squares": (
        lambda x: np.sum(optimize.least_squares(lambda t: t - x, np.ones(3)).x),
        "custom_vjp",
    ),
    "curve_fit": (lambda x: optimize.curve_fit(lambda t, a: a * t, X, x)[0][0], "custom_vjp"),
}


@pytest.mark.parametrize("compiled", [True, False])
@pytest.mark.parametrize("name", SOLVERS)
def test_solvers_are_refused_by_name_with_what_to_write(name, compiled, monkeypatch):
    monkeypatch.setattr(tg.config, "compile", compiled)
    f, instead = SOLVERS[name]
    with pytest.raises(tg.errors.TracegradError, match=f"{name}.*{instead}"):
        tg.grad(f)(np.abs(X) + 0.1)


EAGER = {
    **SOLVERS,
    "quad": (lambda x: integrate.quad(lambda t: t * x[0], 0.0, 1.0)[0], "tracegrad.scipy.int"),
    "brentq": (lambda x: optimize.brentq(lambda t: t**2 - x[0], 0.0, 9.0), "tracegrad.scipy.opt"),
    "fsolve": (lambda x: np.sum(optimize.fsolve(lambda t: t**2 - x, np.ones(3))), "scipy.optimize"),
    "root": (lambda x: np.sum(optimize.root(lambda t: t**2 - x, np.ones(3)).x), "scipy.optimize"),
    "quad_vec": (lambda x: integrate.quad_vec(lambda t: t, 0.0, x[0])[0], "tracegrad.scipy"),
    "dblquad": (
        lambda x: integrate.dblquad(lambda s, t: s * x[0], 0.0, 1.0, 0.0, 1.0)[0],
        "leggauss",
    ),
    "bisect": (lambda x: optimize.bisect(lambda t, a: t - a, 0.0, 9.0, (x[0],)), "scipy.opt"),
    "newton": (lambda x: optimize.newton(lambda t: t**2 - 1.0, x[0]), "scipy.optimize"),
    "leastsq": (lambda x: np.sum(optimize.leastsq(lambda t: t - x, np.ones(3))[0]), "custom_vjp"),
    "generic_filter": (
        lambda x: np.sum(ndimage.generic_filter(X, lambda v: v[0] * x[0], 2)),
        "x.detach",
    ),
    "RK45": (lambda x: integrate.RK45(lambda t, y: -x * y, 0.0, np.ones(3), 1.0).y[0], "x.detach"),
}


C_ROOT_FINDERS = ("brentq", "bisect")
"""Their C code goes on after an error, with -1 for both ends of the interval. If Python code then
handles an exception, which clears the error, theirs about the signs is the only one."""


@pytest.mark.parametrize("name", EAGER)
def test_solvers_that_make_numbers_of_eager_tensors_are_refused_by_name(name, capsys):
    f, instead = EAGER[name]
    x = tg.tensor(np.abs(X) + 0.1, requires_grad=True)
    # Some C code raises another error after it.
    with pytest.raises(Exception, match=r"\w") as refused:
        f(x)
    chain, error = [capsys.readouterr().err], refused.value
    while error is not None:
        chain.append(f"{type(error).__name__} {error}")
        error = error.__cause__
    message = "\n".join(chain)
    if name in C_ROOT_FINDERS and "ValueError f(a) and f(b) must have different signs" in message:
        return
    assert re.search(f"(LostGradient|Conversion)Error.*{name}.* a Tensor.*{instead}", message)
    assert "test_scipy_objects.py" in message
    f(x.detach())


def test_scipy_may_decide_by_numbers_of_eager_tensors():
    a = tg.tensor(1.3, requires_grad=True)
    integrate.quad_vec(lambda t: np.sin(t * a), 0.0, 1.0)[0].backward()
    assert_close(a.grad, (1.3 * np.sin(1.3) - (1.0 - np.cos(1.3))) / 1.3**2, 1e-12)
    b = tg.tensor(2.0, requires_grad=True)
    optimize.newton(lambda t: t**2 - b, 1.0).backward()
    assert_close(b.grad, 0.5 / np.sqrt(2.0), 1e-6)
    assert integrate.quad(lambda t: float(t * a), 0.0, 1.0)[0] == 0.65


@pytest.mark.parametrize("compiled", [True, False])
def test_solutions_with_constant_right_sides(compiled, monkeypatch):
    monkeypatch.setattr(tg.config, "compile", compiled)
    matrix = sparse.csc_array(np.diag([1.0, 2.0, 4.0]))
    places = matrix.indices, matrix.indptr

    def solved(d):
        return np.sum(spsolve(sparse.csc_array((d, *places), shape=(3, 3)), np.ones(3)))

    assert_close(tg.grad(solved)(matrix.data), -1.0 / matrix.data**2, 1e-14)


def of_diagonal(f):
    """A function of a sparse matrix, as one of the numbers on its diagonal."""
    return lambda x: f(sparse.csc_array((x, np.arange(3), np.arange(4)), shape=(3, 3)))


FACTORED = sparse_linalg.splu(sparse.csc_array(np.eye(3) + DENSE[:1].T @ DENSE[:1]))
OF_SPARSE = {
    "sparse.linalg.splu .*spsolve": of_diagonal(lambda A: sparse_linalg.splu(A).solve(X)),
    "sparse.linalg.spilu .*spsolve": of_diagonal(lambda A: sparse_linalg.spilu(A).solve(X)),
    "sparse.linalg.factorized .*spsolve": of_diagonal(lambda A: sparse_linalg.factorized(A)(X)),
    "sparse.linalg.inv .*spsolve": of_diagonal(lambda A: sparse_linalg.inv(A) @ X),
    "sparse.linalg.minres .*spsolve": of_diagonal(lambda A: sparse_linalg.minres(A, X)[0]),
    "sparse.linalg.SuperLU.solve .*spsolve": FACTORED.solve,
    "sparse.linalg.eigsh ": of_diagonal(lambda A: sparse_linalg.eigsh(A, k=1)[0]),
    "sparse.linalg.norm ": of_diagonal(sparse_linalg.norm),
    "sparse.hstack ": of_diagonal(lambda A: sparse.hstack([A, A])),
    "np.sum of ": of_diagonal(np.sum),
    "np.exp of ": of_diagonal(np.exp),
}


@pytest.mark.parametrize("compiled", [True, False])
@pytest.mark.parametrize("written", OF_SPARSE)
def test_functions_of_sparse_matrices_are_refused_by_name(written, compiled, monkeypatch):
    monkeypatch.setattr(tg.config, "compile", compiled)
    with pytest.raises(tg.errors.ConversionError, match=written):
        tg.grad(lambda x: np.sum(OF_SPARSE[written](x)))(np.abs(X) + 1.0)


@pytest.mark.parametrize("compiled", [True, False])
def test_an_integral_that_scipy_computes_in_python_has_its_gradient(compiled, monkeypatch):
    monkeypatch.setattr(tg.config, "compile", compiled)
    f = tg.grad(lambda x: integrate.quad_vec(lambda t: np.sin(t * x[0]), 0.0, 1.0)[0])
    for a in (1.3, 2.6, 1.3):
        wanted = (a * np.sin(a) - (1.0 - np.cos(a))) / a**2
        assert_close(f(np.array([a, 0.5])), np.array([wanted, 0.0]), 1e-12)


def test_what_to_write_is_right():
    s, w = np.polynomial.legendre.leggauss(20)

    def area(x):
        return np.sum(0.5 * w * np.sin(x[0] * 0.5 * (s + 1.0)))

    def root(x):
        r = tg.stop_gradient(x)
        r = np.sqrt(r[0])  # whatever solves r * r = x
        return r - (r * r - x[0]) / (2.0 * r)

    x = np.array([1.3])
    assert_close(tg.grad(area)(x), (np.sin(x) * x - (1.0 - np.cos(x))) / x**2, 1e-12)
    assert_close(tg.grad(root)(x), 0.5 / np.sqrt(x), 1e-12)


POPULATION = np.array([0.3, 0.5, 0.7])
TIMES = np.linspace(0.0, 2.0, 5)


@pytest.mark.parametrize(
    ("f", "exact"),
    [
        (
            lambda x: integrate.solve_ivp(lambda t, y: -0.5 * y, (0.0, 2.0), x, t_eval=TIMES).y,
            lambda x: x[:, None] * np.exp(-0.5 * TIMES),
        ),
        (
            lambda x: integrate.odeint(lambda y, t: -0.5 * y, x, TIMES).T,
            lambda x: x[:, None] * np.exp(-0.5 * TIMES),
        ),
        (
            lambda x: (
                integrate.solve_ivp(
                    lambda t, y, k, n: -k[0] * n * y,
                    (0.0, 2.0),
                    POPULATION,
                    t_eval=TIMES,
                    args=(x, 2),
                ).y
            ),
            lambda x: POPULATION[:, None] * np.exp(-2.0 * x[0] * TIMES),
        ),
        (
            lambda x: (
                integrate.solve_ivp(
                    lambda t, y, p: -p["k"] * y + p["n"] * 0,
                    (0.0, 2.0),
                    x,
                    t_eval=TIMES,
                    args=({"k": x[0], "n": 3},),
                ).y
            ),
            lambda x: x[:, None] * np.exp(-x[0] * TIMES),
        ),
    ],
)
@pytest.mark.filterwarnings("error::tracegrad.errors.RecompileWarning")
def test_equations_with_and_without_further_arguments(f, exact):
    """Only some of the further arguments, or none, may be differentiated; the adjoint compiles."""
    assert_close(f(POPULATION), exact(POPULATION), 1e-2)
    found = tg.grad(lambda x: np.sum(f(x) ** 2))(POPULATION)
    assert_close(found, tg.grad(lambda x: np.sum(exact(x) ** 2))(POPULATION), 1e-2)


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


OF_ROWS = sparse.csr_matrix(DENSE)
NEAREST = {
    "np.logaddexp": lambda x: special.log_expit(x).sum(),
    "multivariate_normal.logpdf": lambda x: stats.multivariate_normal(x, np.eye(3)).logpdf(X),
    "csr_array": lambda x: (sparse.diags(x) @ X).sum(),
    "x * A.data": lambda x: ((OF_ROWS * x[0]) @ X).sum(),
    "multiply its numbers": lambda x: ((x[0] * OF_ROWS) @ X).sum(),
    "CubicSpline": lambda x: interpolate.PchipInterpolator(np.arange(3.0), x)(0.5),
    "args=": lambda x: integrate.solve_ivp(Falling(x).slope, (0, 1), [1.0]).y[0, -1],
}


class Falling:
    def __init__(self, rates):
        self.rates = rates

    def slope(self, t, y):
        return -self.rates[0] * y


@pytest.mark.parametrize("written", NEAREST)
def test_an_error_says_what_to_write(written):
    with pytest.raises(tg.errors.ConversionError, match=re.escape(written)):
        tg.grad(NEAREST[written])(X)


def test_what_is_not_known_is_refused_by_name():
    for f, match in (
        (lambda x: np.sum(sparse.coo_array(DENSE) @ x), "format coo.*tocsr"),
        (lambda x: np.sum(A * x), r"csr_array\.multiply"),
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
        (lambda y: interpolate.CubicSpline(KNOTS, y).integrate(0.3, 2.7), VALUES),
        (lambda y: interpolate.CubicSpline(KNOTS, y).integrate(-4.0, 9.1, "periodic"), VALUES),
        (lambda y: interpolate.CubicSpline(KNOTS, y).antiderivative()(PLACES), VALUES),
        (lambda a: CUBIC.integrate(a[0], a[1]), PLACES),
        (lambda a: PCHIP.integrate(a[0], a[1]), PLACES),
        (lambda y: interpolate.CubicSpline(KNOTS, curves(y))(PLACES), VALUES),
        (lambda y: interpolate.CubicSpline(KNOTS, curves(y).T, axis=1)(PLACES, 1), VALUES),
        (lambda y: interpolate.CubicSpline(KNOTS, curves(y)).integrate(0.3, 2.7), VALUES),
        (lambda k: interpolate.CubicSpline(k, curves(VALUES))(PLACES), KNOTS),
        (lambda x: interpolate.CubicSpline(KNOTS, curves(VALUES).T, axis=1)(x), PLACES),
    ],
)
def test_splines(f, x):
    def total(x):
        return np.sum(f(x) ** 2)

    assert_close(tg.compile(total)(x), total(x), 1e-12)
    assert_close(tg.grad(total)(x), slopes(total, x), 1e-6)


def curves(y):
    return np.stack([y, np.sin(y), y**2], axis=1)


def test_splines_in_programs_for_jax():
    pytest.importorskip("jax")

    def area(y):
        spline = interpolate.CubicSpline(KNOTS, curves(y))
        return np.sum(spline.integrate(0.3, y[0]) ** 2) + np.sum(spline(PLACES))

    assert_close(tg.grad(area, backend="jax")(VALUES), slopes(area, VALUES), 1e-6)
    assert_close(tg.hessian(area)(VALUES), slopes(tg.grad(area), VALUES), 1e-6)
    for spline in (CUBIC, PCHIP, LINES):
        gradient = tg.grad(lambda x, spline=spline: np.sum(spline(x) ** 2), backend="jax")
        assert_close(gradient(PLACES), slopes(lambda x, s=spline: np.sum(s(x) ** 2), PLACES), 1e-6)


def test_a_spline_that_is_replaced_is_seen():
    spline = interpolate.CubicSpline(KNOTS, VALUES)
    f = tg.compile(lambda x: spline(x))
    for scale in (1.0, 2.0, 3.0):
        assert_close(f(PLACES), spline(PLACES), 1e-12)
        spline.c = spline.c * scale
    with pytest.raises(ValueError, match="outside of the interpolation range"):
        tg.grad(lambda x: np.sum(interpolate.interp1d(KNOTS, VALUES)(x)))(PLACES + 5.0)


def test_a_frozen_distribution_from_outside_is_read_by_every_call():
    means = np.array([0.0, 1.0, 2.0])
    frozen = stats.norm(means, 1.3)
    logpdf = tg.compile(lambda x: frozen.logpdf(x))
    slope = tg.grad(lambda x: np.sum(frozen.logpdf(x)))

    def check():
        assert_close(logpdf(X), frozen.logpdf(X), 1e-12)
        assert_close(slope(X), -(X - frozen.mean()) / frozen.std() ** 2, 1e-12)

    check()
    means[:] = 5.0
    check()
    frozen.args = (means * 2.0, 0.7)
    check()
    frozen.args, frozen.kwds = (1.0,), {"scale": 2.0}
    check()
    of_scale = tg.grad(lambda s: np.sum(stats.norm(0.0, s).logpdf(X)))
    assert_close(of_scale(0.7), np.sum(X**2) / 0.7**3 - 3.0 / 0.7, 1e-12)


def test_settings_of_a_solver_from_outside_are_read_by_every_call():
    rate, times, jacobian = {"k": 0.5}, [0.5, 1.0], -np.eye(3)
    tolerances = {"rtol": 1e-8, "atol": np.full(3, 1e-9)}

    def slope(t, y):
        return -rate["k"] * y

    def states(y):
        return integrate.solve_ivp(slope, (0, 1), y, "BDF", times, jac=jacobian, **tolerances).y

    compiled, gradient = tg.compile(states), tg.grad(lambda y: np.sum(states(y)))

    def check():
        assert_close(compiled(X), states(X), 1e-13)
        wanted = np.sum(np.exp(-rate["k"] * np.array(times)))
        assert_close(gradient(X), np.full(3, wanted), 1e-3)

    check()
    rate["k"] = 2.0
    check()
    times[0], jacobian[:] = 0.25, -2.0 * np.eye(3)
    check()
    tolerances["rtol"] = 1e-4
    tolerances["atol"][1] = 1e-6
    check()
