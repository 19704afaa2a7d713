"""Linear algebra and Fourier transforms, as NumPy's users call them.

The ops are tried one by one in `test_ops`. Here: every function of NumPy finds its counterpart,
types of results, batches, matrices without an inverse or with values that repeat, errors.
"""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
import pytest
from checks import assert_close, assert_same_bits, leaves, slope, wide_jax

import tracegrad as tg
from tracegrad.errors import (
    ArgumentError,
    ArgumentValueError,
    MatrixError,
    NotDifferentiableError,
    RecompileWarning,
    ShapeError,
)
from tracegrad.values.pytree import map_tree

RANDOM = np.random.default_rng(0)
A = RANDOM.normal(size=(3, 3)) + 3.0 * np.eye(3)
BATCH = RANDOM.normal(size=(2, 3, 3)) + 3.0 * np.eye(3)
SPD = A @ A.T + np.eye(3)
TALL = RANDOM.normal(size=(4, 2))
WIDE = RANDOM.normal(size=(2, 4))
V = RANDOM.normal(size=3)
Z = RANDOM.normal(size=(3, 4)) + 1j * RANDOM.normal(size=(3, 4))
CUBE = RANDOM.normal(size=(4, 6, 8, 3))
SINGULAR = np.array([[1.0, 2.0], [2.0, 4.0]])


def tensors(arguments: Any) -> Any:
    """The arguments with Tensors for arrays."""
    return map_tree(lambda x: tg.tensor(x) if isinstance(x, np.ndarray) else x, arguments)


def along(f: Any, x: np.ndarray, v: np.ndarray) -> Any:
    """The derivative of `f` at x along v, by differences."""
    return slope(lambda h: f(x + h * v))


def check_gradient(f: Any, x: np.ndarray, rtol: float = 1e-7) -> None:
    """The gradient of a real function against differences along a random direction."""
    v = np.random.default_rng(1).normal(size=x.shape)
    if x.dtype.kind == "c":
        v = v + 1j * np.random.default_rng(2).normal(size=x.shape)
    found = np.real(np.sum(tg.grad(f)(x) * v))
    assert found == pytest.approx(float(along(f, x, v)), rel=rtol, abs=1e-8)


# -- every function of NumPy --------------------------------------------------------------------

CALLS: dict[str, list[tuple[Any, ...]]] = {
    "cholesky": [(SPD,)],
    "cond": [(A,), (A, 1), (A, -2), (A, "fro"), (BATCH, np.inf)],
    "cross": [(V, A), (A, BATCH)],
    "det": [(A,), (BATCH,), (np.zeros((0, 0)),)],
    "diagonal": [(A,), (BATCH,)],
    "eigh": [(SPD,), (SPD, "U")],
    "eigvalsh": [(SPD,)],
    "inv": [(A,), (BATCH,)],
    "matmul": [(A, BATCH)],
    "matrix_norm": [(A,), (BATCH,)],
    "matrix_power": [(A, n) for n in (-3, -1, 0, 1, 2, 3, 7)] + [(BATCH, 0), (BATCH, 5)],
    "matrix_rank": [(A,), (SINGULAR,), (V,), (SINGULAR, 10.0), (np.zeros((2, 3)),)],
    "matrix_transpose": [(BATCH,)],
    "multi_dot": [([A, A],), ([V, A, A, V],), ([A, A, TALL[:3], WIDE],), ([V, A, A],)],
    "norm": [(A, p) for p in (None, "fro", "nuc", 1, -1, 2, -2, np.inf, -np.inf)]
    + [(BATCH, "nuc", (1, 2)), (BATCH, 2, (0, 2)), (BATCH, -2, (2, 0), True), (V, 3)],
    "outer": [(V, V)],
    "pinv": [(TALL,), (WIDE,), (BATCH,), (np.array([[1, 2], [2, 4]]),)],
    "qr": [(TALL,), (WIDE,), (TALL, "complete"), (TALL, "r")],
    "slogdet": [(A,), (BATCH,), (SINGULAR,)],
    "solve": [(A, V), (BATCH, V), (BATCH, TALL[:3])],
    "svd": [(TALL,), (TALL, False), (WIDE, True), (BATCH, True, False)],
    "svdvals": [(TALL,)],
    "tensordot": [(A, BATCH.T)],
    "tensorinv": [(CUBE.reshape(24, 8, 3), 1), (CUBE.reshape(4, 6, 2, 12),)],
    "tensorsolve": [(CUBE.reshape(4, 6, 24), CUBE[:, :, 0, 0])],
    "trace": [(A,), (BATCH,)],
    "vecdot": [(Z, Z)],
    "vector_norm": [(Z,)],
}
FFT_CALLS: dict[str, list[tuple[Any, ...]]] = {
    **{name: [(Z,), (Z, 5), (Z, 3, 0, "ortho")] for name in ("fft", "ifft", "irfft", "hfft")},
    **{name: [(TALL,), (TALL, 5), (TALL, 3, 0, "forward")] for name in ("rfft", "ihfft")},
    **{name: [(Z,), (Z, (3, 5), (1, 0))] for name in ("fftn", "ifftn", "irfftn")},
    **{name: [(Z,), (Z, (2, 6))] for name in ("fft2", "ifft2", "irfft2")},
    "rfftn": [(TALL,), (BATCH, (4, -1), (0, 2), "ortho")],
    "rfft2": [(BATCH,)],
    "fftshift": [(Z,), (Z, 1)],
    "ifftshift": [(Z,), (Z, (0,))],
}
OTHERWISE = {"eig", "eigvals", "lstsq", "LinAlgError", "fftfreq", "rfftfreq", "test"}
"""Not as NumPy has it (tried below), or no function of arrays."""


def functions_of(module: Any) -> set[str]:
    return {name for name in module.__all__ if not inspect.ismodule(getattr(module, name))}


@pytest.mark.parametrize("calls, module", [(CALLS, np.linalg), (FFT_CALLS, np.fft)])
def test_every_function_of_numpy_is_tried(calls, module):
    assert functions_of(module) <= {*calls, *OTHERWISE}


@pytest.mark.parametrize(
    "module, name, arguments",
    [
        (module, name, arguments)
        for module, calls in ((np.linalg, CALLS), (np.fft, FFT_CALLS))
        for name, several in calls.items()
        for arguments in several
    ],
    ids=lambda x: x if isinstance(x, str) else None,
)
def test_numpys_functions_take_tensors(module, name, arguments):
    """NumPy's own function of Tensors gives what it gives of arrays, in the same structure."""
    function = getattr(module, name)
    expected = function(*arguments)
    found = function(*tensors(arguments))
    assert type(found) is (tg.Tensor if not isinstance(expected, tuple) else type(expected))
    assert_close(found, expected, 1e-12, atol=1e-13)
    for a, b in zip(leaves(found), leaves(expected), strict=True):
        assert np.asarray(a).dtype == np.asarray(b).dtype
    ours = getattr(getattr(tg, module.__name__.partition(".")[2]), name)
    assert_close(ours(*arguments), expected, 1e-12, atol=1e-13)


def test_complex_eigenvalues_always():
    turn = np.array([[0.0, -1.0], [1.0, 0.0]])
    for x in (turn, SPD, BATCH, turn + 1j):
        w, v = np.linalg.eig(tg.tensor(x))
        assert w.dtype == v.dtype == np.complex128
        assert_close(x @ v.numpy(), v.numpy() * w.numpy()[..., None, :], 1e-12)
        assert_close(np.linalg.eigvals(tg.tensor(x)), w, 1e-12)


@pytest.mark.parametrize("kind", [np.float32, np.float64, np.complex64, np.complex128])
@pytest.mark.parametrize("shape", [(2, 2), (40, 3, 3), (5, 2, 8, 8), (0, 3, 3), (2, 0, 0)])
def test_eigenvalues_in_the_order_of_numpy(shape, kind):
    x = np.random.default_rng(len(shape)).normal(size=shape).astype(kind)
    expected, vectors = np.linalg.eig(x)
    w, v = np.linalg.eig(tg.tensor(x))
    wide = np.result_type(kind, np.complex64)
    assert w.dtype == v.dtype == wide
    assert_same_bits(w, expected.astype(wide))
    assert_same_bits(v, vectors.astype(wide))
    alone = np.linalg.eigvals(x).astype(wide)
    assert np.array_equal(np.linalg.eigvals(tg.tensor(x)), alone)
    assert np.array_equal(tg.compile(np.linalg.eigvals)(x), alone)


def _turned(w):
    """A matrix with these eigenvalues."""
    basis = np.random.default_rng(7).normal(size=(len(w), len(w)))
    return basis @ np.diag(w) @ np.linalg.inv(basis)


@pytest.mark.parametrize("n", [3, 200])
def test_eigenvalues_in_another_order_than_with_vectors(n):
    """Of large matrices NumPy's `eigvals` has another order than its `eig`."""
    x = np.random.default_rng(0).normal(size=(n, n)) / np.sqrt(n)
    places = np.arange(1.0, n + 1) / n
    f = lambda x: (places * np.abs(np.linalg.eigvals(x) - 2.0) ** 2).sum()
    gradient, way = tg.grad(f)(x), np.random.default_rng(1).normal(size=x.shape)
    alone, (w, v) = np.linalg.eigvals(x), np.linalg.eig(x)
    turns = np.diag(np.linalg.inv(v) @ way @ v)[np.abs(alone[:, None] - w).argmin(axis=1)]
    slope = (places * 2.0 * (np.conj(alone - 2.0) * turns).real).sum()
    assert np.vdot(gradient, way) == pytest.approx(slope, rel=1e-9)


@pytest.mark.parametrize("x", [np.eye(3), np.zeros((2, 2)), _turned([2.0, 2.0, 5.0])])
def test_equal_eigenvalues_share_their_gradient(x):
    squares = tg.grad(lambda x: (np.linalg.eigvals(x) ** 2).real.sum())(x)
    assert_close(squares, 2.0 * x.T, 1e-9, atol=1e-12)


def test_least_squares():
    b = RANDOM.normal(size=(4, 3))
    for a, y in ((TALL, b), (TALL, b[:, 0]), (TALL * [1.0, 0.0], b), (WIDE, b[:2, 0])):
        x, residuals, rank, s = np.linalg.lstsq(tg.tensor(a), tg.tensor(y))
        expected = np.linalg.lstsq(a, y, rcond=None)
        assert_close([x, s], [expected[0], expected[3]], 1e-12, atol=1e-14)
        assert rank.item() == expected[2]
        assert_close(residuals, np.atleast_1d(np.sum((y - a @ x.numpy()) ** 2, axis=0)), 1e-12)
        if len(expected[1]):
            assert_close(residuals, expected[1], 1e-12)


def test_frequencies():
    for n, d in ((5, 0.5), (4, 1.0)):
        assert_same_bits(tg.fft.fftfreq(n, d), np.fft.fftfreq(n, d))
        assert_same_bits(tg.fft.rfftfreq(n, d), np.fft.rfftfreq(n, d))
    assert tg.fft.fftfreq(4, dtype=tg.float32).dtype == np.float32


def test_pytorchs_names_of_arguments():
    t = tg.tensor(Z)
    assert_same_bits(tg.fft.fft(t, dim=0), np.fft.fft(Z, axis=0))
    assert_same_bits(tg.fft.hfft(t, n=5, dim=0), np.fft.hfft(Z, 5, axis=0))
    assert_same_bits(tg.linalg.matrix_norm(t, keepdim=True), np.linalg.norm(Z, keepdims=True))


def test_results_have_names():
    @tg.compile
    def f(x):
        return np.linalg.slogdet(x), np.linalg.svd(x), np.linalg.qr(x), np.linalg.eigh(x)

    sign, svd, qr, eigh = f(SPD)
    assert (sign.sign, sign.logabsdet) == pytest.approx(tuple(np.linalg.slogdet(SPD)))
    assert_close([svd.U * svd.S @ svd.Vh, qr.Q @ qr.R], [SPD, SPD], 1e-12)
    assert_close(eigh.eigenvectors * eigh.eigenvalues @ eigh.eigenvectors.T, SPD, 1e-12)
    assert type(svd) is type(np.linalg.svd(SPD))


def test_one_program_serves_all_orders():
    """Nothing about a square matrix is a constant of its program."""

    def f(k, y):
        factor = np.linalg.cholesky(k)
        alpha = tg.linalg.solve_triangular(factor, y, lower=True)
        w, v = np.linalg.eigh(k)
        spectrum = np.fft.irfft(np.fft.rfft(y) * 2.0)
        return (
            alpha @ alpha
            + np.linalg.slogdet(k)[1]
            + np.linalg.det(k)
            + (v * np.sqrt(w) @ v.T @ y).sum()
            + np.linalg.norm(k, "nuc")
            + (np.linalg.qr(k).R ** 2).sum()
            + (spectrum**2).sum()
        )

    gradient = tg.value_and_grad(f, argnums=(0, 1))
    for n in (4, 2, 6):
        x = RANDOM.normal(size=(n, n))
        k, y = x @ x.T + np.diag(np.arange(1.0, n + 1)), RANDOM.normal(size=n)
        _, (k_bar, y_bar) = gradient(k, y)
        v = RANDOM.normal(size=(n, n))
        v, u = v + v.T, RANDOM.normal(size=n)
        expected = slope(lambda h, k=k, v=v, y=y, u=u: f(k + h * v, y + h * u))
        assert np.sum(k_bar * v) + y_bar @ u == pytest.approx(expected, rel=1e-6)
    assert gradient.cache_info().traces == 1


# -- gradients of composites --------------------------------------------------------------------


@pytest.mark.parametrize("ord", [None, "fro", "nuc", 1, -1, 2, -2, np.inf, -np.inf])
def test_gradients_of_matrix_norms(ord):
    check_gradient(lambda x: np.linalg.norm(x, ord), A)
    check_gradient(lambda x: np.linalg.norm(x, ord, axis=(2, 0)).sum(), BATCH)
    check_gradient(lambda x: np.linalg.cond(x, ord), A)


@pytest.mark.parametrize("n", [-2, -1, 0, 1, 2, 3, 6])
def test_gradients_of_matrix_powers(n):
    check_gradient(lambda x: (np.linalg.matrix_power(x, n) * BATCH[0]).sum(), A)


def test_gradients_of_products_and_tensors():
    check_gradient(lambda x: np.linalg.multi_dot([V, x, A, x, V]), A)
    check_gradient(lambda x: (np.linalg.tensorinv(x, 1) ** 2).sum(), CUBE.reshape(24, 8, 3))
    b = CUBE[:, :, 0, 0]
    check_gradient(lambda x: (np.linalg.tensorsolve(x, b) ** 2).sum(), CUBE.reshape(4, 6, 24))
    a = CUBE.reshape(24, 4, 6)
    check_gradient(lambda b: (np.linalg.tensorsolve(a, b) ** 3).sum(), V.repeat(8))
    check_gradient(
        lambda b: np.linalg.tensorsolve(a.transpose(1, 0, 2), b, (0, 2)).sum(), a[:, 0, 0]
    )


@pytest.mark.parametrize("name", ["hfft", "ihfft", "fft2", "ifft2", "rfft2", "irfft2"])
def test_gradients_of_transforms_made_of_others(name):
    transform = getattr(np.fft, name)
    x = TALL if name in ("ihfft", "rfft2") else Z
    weights = np.random.default_rng(3).normal(size=transform(x).shape)
    check_gradient(lambda x: np.sum(weights * np.abs(transform(x)) ** 2), x)
    check_gradient(lambda x: np.sum(np.abs(transform(x, norm="ortho"))), x)


@pytest.mark.parametrize("shape", [(4, 2), (2, 4), (3, 3)])
def test_gradients_of_pseudoinverses_of_deficient_matrices(shape):
    """Along directions that keep the rank."""
    u, v = RANDOM.normal(size=(shape[0], 1)), RANDOM.normal(size=(1, shape[1]))
    b = RANDOM.normal(size=shape[0])
    for f in (
        lambda u, v: (np.linalg.pinv(u @ v) ** 3).sum(),
        lambda u, v: (np.linalg.lstsq(u @ v, b, None)[0] ** 3).sum(),
    ):
        check_gradient(lambda u, f=f: f(u, v), u, 1e-6)
        check_gradient(lambda v, f=f: f(u, v), v, 1e-6)


# -- values that repeat, ranks that are not full ------------------------------------------------

ONE = np.eye(3)
TWICE = np.linalg.qr(A)[0] * [2.0, 2.0, 5.0] @ np.linalg.qr(A)[0].T
TWICE = (TWICE + TWICE.T) / 2


@pytest.mark.parametrize("x", [ONE, TWICE], ids=["one", "twice"])
def test_sums_over_repeated_eigenvalues(x):
    """Functions of all eigenvalues alike have their gradient, also of all vectors of a space."""
    assert_close(tg.grad(lambda a: np.exp(np.linalg.eigvalsh(a)).sum())(x), _exp(x), 1e-12)
    assert_close(tg.grad(lambda a: np.exp(np.linalg.eigh(a)[0]).sum())(x), _exp(x), 1e-12)
    weights = V * V[:, None]

    def projection(a):
        v = np.linalg.eigh(a)[1][:, :2] if x is TWICE else np.linalg.eigh(a)[1]
        return (weights * (v @ v.T)).sum()

    found = tg.grad(projection)(x)
    direction = A + A.T
    assert np.sum(found * direction) == pytest.approx(
        float(along(projection, x, direction)), abs=1e-6
    )


def _exp(x: np.ndarray) -> np.ndarray:
    w, v = np.linalg.eigh(x)
    return v * np.exp(w) @ v.T


def test_no_derivative_where_eigenvectors_are_any():
    """A function of one vector of a common space: its gradient is infinite, never a silent 0."""
    with np.errstate(all="ignore"):
        found = tg.grad(lambda a: (V @ np.linalg.eigh(a)[1][:, 0]) ** 2)(TWICE)
        assert not np.isfinite(found).all()
        found = tg.grad(lambda a: (V @ np.linalg.svd(a)[0][:, 1]) ** 2)(TWICE)
        assert not np.isfinite(found).all()


def test_functions_of_matrices_that_repeated_eigenvalues_do_not_tell():
    """Their derivative has a share that the factors do not know: infinite, never without it."""
    weights = V * V[:, None]

    def root(a):
        w, v = np.linalg.eigh(a)
        return (weights * (v * np.sqrt(w) @ v.T)).sum()

    def product(a):
        u, s, vh = np.linalg.svd(a)
        return (weights * (u * s @ vh)).sum()

    for x in (ONE, TWICE):
        for f in (root, product):
            with np.errstate(all="ignore"):
                assert not np.isfinite(tg.grad(f)(x)).all()
    apart = TWICE + np.diag([0.0, 0.1, 0.3])
    assert_close(tg.grad(product)(apart), weights, 1e-10)
    found, direction = tg.grad(root)(apart), A + A.T
    assert np.sum(found * direction) == pytest.approx(
        float(along(root, apart, direction)), rel=1e-6
    )


def test_repeated_singular_values():
    def entropy(x):
        s = np.linalg.svd(x)[1]
        return (s**3).sum()

    for x in (ONE, TWICE, np.zeros((3, 3))):
        u, s, vh = np.linalg.svd(x)
        assert_close(tg.grad(entropy)(x), u * (3 * s**2) @ vh, 1e-12, atol=1e-14)
    found = tg.grad(lambda x: _polar(x)[0, 1])(ONE)
    assert_close(found, np.diag([0.5, 0.0], 1) - np.diag([0.5, 0.0], -1), 1e-12, atol=1e-14)


def _polar(x: Any) -> Any:
    """The nearest orthogonal matrix: smooth where all singular values are equal, too."""
    u, _, vh = np.linalg.svd(x, full_matrices=False)
    return u @ vh


def test_gradients_of_deficient_matrices_are_finite():
    x = np.outer([1.0, 2.0, 3.0], [1.0, -1.0])

    def space(x):  # of the only direction in which x is long
        u = np.linalg.svd(x, full_matrices=False)[0][:, :1]
        return (V * V[:, None] * (u @ u.T)).sum()

    direction = np.outer([1.0, 0.0, -1.0], [1.0, -1.0])
    found = tg.grad(space)(x)
    assert np.isfinite(found).all()
    assert np.sum(found * direction) == pytest.approx(float(along(space, x, direction)), rel=1e-6)
    assert_close(tg.grad(lambda x: np.linalg.norm(x, "nuc"))(np.zeros((2, 3))), np.zeros((2, 3)), 0)


def test_determinants_of_singular_matrices():
    """Cofactors, and their derivatives, are polynomials."""
    for x in (
        SINGULAR,
        np.zeros((2, 2)),
        ONE,
        np.outer(V, V),
        np.outer(V, V) + 1j,
        TWICE - 2 * ONE,
    ):
        f = np.linalg.det if x.dtype.kind == "f" else lambda x: np.real(np.linalg.det(x))
        check_gradient(f, x, 1e-6)
        check_gradient(lambda x, f=f: np.real((tg.grad(f)(x) ** 2).sum()), x, 1e-6)
    assert tg.grad(lambda x: np.linalg.det(x))(np.zeros((1, 1))) == 1.0
    assert tg.grad(lambda x: np.linalg.det(x) + x.sum())(np.zeros((0, 0))).shape == (0, 0)


def test_singular_matrices_are_refused():
    for f in (
        lambda x: np.linalg.inv(x).sum(),
        lambda x: np.linalg.solve(x, np.ones(2)).sum(),
        lambda x: np.linalg.slogdet(x)[1],
        lambda x: np.linalg.cholesky(-x).sum(),
    ):
        for _ in range(2):
            with pytest.raises(np.linalg.LinAlgError):
                tg.grad(f)(SINGULAR)
    with pytest.raises(np.linalg.LinAlgError, match=r"Singular matrix\n  at .*test_linalg.py:\d+"):
        np.linalg.inv(tg.tensor(SINGULAR))


def with_jitter(k):
    """As people write it: more on the diagonal where the factorization fails."""
    try:
        factor = np.linalg.cholesky(k)
    except np.linalg.LinAlgError:
        factor = np.linalg.cholesky(k + 100.0 * tg.eye(len(k)))
    return np.log(np.diagonal(factor)).sum()


def test_an_exception_caught_is_a_path_of_its_own():
    """Compiled before or after the first failure, the function does what it says."""
    good, bad = SPD[:2, :2], -SPD[:2, :2]

    def expected(k):
        return np.linalg.inv(k).T / 2

    gradient = tg.grad(lambda k: with_jitter(k))
    for k, made in ((good, good), (bad, bad + 100.0 * np.eye(2)), (2.0 * good, 2.0 * good)) * 2:
        assert_close(gradient(k), expected(made), 1e-12)
    assert gradient.cache_info().traces == 1

    gradient = tg.grad(lambda k: with_jitter(k))
    assert_close(gradient(bad), expected(bad + 100.0 * np.eye(2)), 1e-12)
    with pytest.warns(RecompileWarning, match="an exception in cholesky"):
        assert_close(gradient(bad), expected(bad + 100.0 * np.eye(2)), 1e-12)
    assert_close(gradient(good), expected(good), 1e-12)


# -- complex matrices ---------------------------------------------------------------------------

C = RANDOM.normal(size=(3, 3)) + 1j * RANDOM.normal(size=(3, 3)) + 3.0 * ONE
WEIGHTS = RANDOM.normal(size=(3, 3))


def test_complex_eigenvectors_up_to_their_phase():
    def hermitian(x):
        w, v = np.linalg.eigh(x + np.conj(x.T))
        return (WEIGHTS * np.abs(v) ** 2 * w).sum()

    def general(x):
        w, v = np.linalg.eig(x)
        return (WEIGHTS * np.abs(v) ** 2 * np.abs(w)).sum()

    for f in (hermitian, general):
        check_gradient(f, C, 1e-6)
        check_gradient(f, A, 1e-6)


@pytest.mark.parametrize("shape", [(3, 3), (4, 2), (2, 4)])
def test_complex_singular_vectors_up_to_their_phase(shape):
    x = RANDOM.normal(size=shape) + 1j * RANDOM.normal(size=shape)
    left, right = RANDOM.normal(size=(shape[0], 1)), RANDOM.normal(size=shape[1])

    def f(x):
        u, s, vh = np.linalg.svd(x, full_matrices=False)
        phases_cancel = np.real((left * u).sum(axis=0) * (vh * right).sum(axis=1))
        return (np.abs(u * left) ** 2 * s).sum() + (phases_cancel * s**2).sum()

    check_gradient(f, x, 1e-6)


def test_complex_factors():
    for x, f in (
        (C, lambda x: np.linalg.cholesky(x @ np.conj(x.T) + ONE)),
        (C, lambda x: np.linalg.qr(x).Q),
        (C[:, :2], lambda x: np.linalg.qr(x).R),
        (C[:2], lambda x: np.linalg.pinv(x)),
        (C, lambda x: tg.linalg.solve_triangular(x, V, trans="C")),
        (C, lambda x: np.linalg.slogdet(x).sign),
    ):
        check_gradient(lambda x, f=f: np.real(f(x)).sum() + (np.imag(f(x)) ** 2).sum(), x, 1e-6)


# -- triangles ----------------------------------------------------------------------------------


@pytest.mark.parametrize("trans", [0, 1, 2, "N", "T", "C"])
@pytest.mark.parametrize("lower", [False, True])
@pytest.mark.parametrize("unit_diagonal", [False, True])
def test_triangular_solves_are_scipys(trans, lower, unit_diagonal):
    linalg = pytest.importorskip("scipy.linalg")
    how = {"trans": trans, "lower": lower, "unit_diagonal": unit_diagonal}
    for b in (V, TALL[:3] + 1j):
        found = tg.linalg.solve_triangular(tg.tensor(C), tg.tensor(b), **how)
        assert_close(found, linalg.solve_triangular(C, b, **how), 1e-12)


@pytest.mark.parametrize("n", [0, 1, 64, 65, 150])
def test_triangular_solves_block_by_block(n):
    a = np.random.default_rng(n).normal(size=(2, n, n)) + 2.0 * np.sqrt(n) * np.eye(n)
    b = np.random.default_rng(n).normal(size=(2, n, 3))
    for lower in (False, True):
        half = np.tril if lower else np.triu
        for unit in (False, True):
            strict = half(a, -1 if lower else 1) / max(n, 1)
            given = strict + 7.0 * np.eye(n) if unit else a  # the diagonal is not read
            whole = strict + np.eye(n) if unit else half(a)
            found = tg.linalg.solve_triangular(tg.tensor(given), b, 0, lower, unit)
            assert_close(whole @ found.numpy(), b, 1e-10)
            alone = tg.linalg.solve_triangular(tg.tensor(given[0]), b[0], 0, lower, unit)
            assert_close(alone, found[0], 1e-10)
            vector = tg.linalg.solve_triangular(tg.tensor(given[0]), b[0, :, 0], 0, lower, unit)
            assert_close(vector, alone[:, 0], 1e-10)


def test_triangular_solves_of_batches():
    lower = np.tril(BATCH)
    for a, b in ((BATCH, V), (BATCH, TALL[:3]), (A, BATCH), (BATCH[:, None], BATCH)):
        found = tg.linalg.solve_triangular(tg.tensor(a), tg.tensor(b), lower=True)
        assert_close(found, np.linalg.solve(np.tril(a), b), 1e-12)
        check_gradient(lambda a, b=b: (tg.linalg.solve_triangular(a, b, lower=True) ** 2).sum(), a)
    gradient = tg.grad(lambda a: tg.linalg.solve_triangular(a, V, lower=True).sum())(BATCH)
    assert_same_bits(gradient, np.tril(gradient))
    assert_same_bits(
        gradient, tg.grad(lambda a: tg.linalg.solve_triangular(a, V, 0, True).sum())(lower)
    )


def test_the_other_triangle_of_cholesky():
    upper = np.linalg.cholesky(tg.tensor(C @ np.conj(C.T)), upper=True).numpy()
    assert_close(np.conj(upper.T) @ upper, C @ np.conj(C.T), 1e-12)
    assert np.array_equal(upper, np.triu(upper))
    check_gradient(lambda x: (np.linalg.cholesky(x @ x.T, upper=True) ** 3).sum(), A)


# -- what is refused ----------------------------------------------------------------------------


def test_vectors_that_the_matrix_does_not_determine():
    for f, words in (
        (lambda x: np.linalg.svd(x)[0].sum(), "full_matrices=False"),
        (lambda x: np.linalg.svd(x)[2].sum(), "full_matrices=False"),
        (lambda x: np.linalg.qr(x, "complete")[0].sum(), 'mode="reduced"'),
    ):
        with pytest.raises(NotDifferentiableError, match=words):
            tg.grad(f)(TALL)
    check_gradient(lambda x: (np.linalg.svd(x)[1] ** 3).sum(), TALL)
    check_gradient(lambda x: (np.linalg.qr(x, "complete")[1] ** 3).sum(), WIDE)


@pytest.mark.parametrize(
    "call, error, words",
    [
        (lambda: tg.linalg.inv(tg.tensor(TALL)), MatrixError, r"not square: \(4, 2\)"),
        (lambda: tg.linalg.cholesky(tg.tensor(V)), MatrixError, "two axes or more, not 1"),
        (lambda: tg.linalg.solve(tg.tensor(A), V[:2]), ShapeError, r"\(3, 3\) and \(2,\)"),
        (lambda: tg.linalg.multi_dot([tg.tensor(A), TALL, A]), ShapeError, "cannot multiply"),
        (lambda: tg.linalg.norm(tg.tensor(A), 3), ArgumentValueError, "ord=3 of a matrix"),
        (lambda: tg.linalg.norm(tg.tensor(BATCH), 2), ArgumentValueError, "a matrix two"),
        (lambda: tg.linalg.eigh(tg.tensor(A), "X"), ArgumentValueError, "UPLO='X'"),
        (lambda: tg.linalg.qr(tg.tensor(A), "raw"), ArgumentError, "mode='raw'"),
        (lambda: tg.linalg.pinv(tg.tensor(A), V), ShapeError, "or one for each matrix"),
        (lambda: tg.linalg.outer(tg.tensor(A), V), ShapeError, "takes two vectors"),
        (lambda: tg.fft.rfft(tg.tensor(Z)), TypeError, "rfft transforms real signals"),
        (lambda: tg.fft.fft(tg.tensor(Z), norm="half"), ArgumentValueError, "norm='half'"),
        (lambda: tg.fft.fft(tg.tensor(Z), 0), ShapeError, "1 point or more"),
        (lambda: tg.fft.fftn(tg.tensor(Z), (2,), (0, 1)), ArgumentValueError, "lengths for 1 of 2"),
        (lambda: tg.fft.fftn(tg.tensor(Z), axes=(0, 0)), ShapeError, "named twice"),
        (lambda: tg.linalg.inv(tg.tensor(np.float16(A))), TypeError, "use float32"),
    ],
)
def test_errors_say_what_to_write(call, error, words):
    with pytest.raises(error, match=words):
        call()


# -- source -------------------------------------------------------------------------------------


def test_source_needs_numpy_alone():
    """What is printed runs by itself, to the same bits."""

    def f(x, y):
        u, s, vh = np.linalg.svd(x, full_matrices=False)
        factor = np.linalg.cholesky(x @ x.T)
        white = tg.linalg.solve_triangular(factor, y, lower=True)
        w, v = np.linalg.eig(x)
        return (
            (u * s @ vh).sum()
            + white @ white
            + np.linalg.det(x)
            + np.abs(np.fft.fft(y) @ v @ w)
            + (np.linalg.qr(x)[0] @ np.linalg.pinv(x)).sum()
        )

    compiled = tg.value_and_grad(f, argnums=(0, 1))
    text = compiled.source(A, V)
    assert [line for line in text.splitlines() if "import" in line] == ["import numpy as np"]
    scope: dict[str, Any] = {}
    exec(text, scope)
    assert_same_bits(scope["f_value_and_grad"](A, V), compiled(A, V))


def test_triangles_of_factors_are_not_cut_out_again():
    def f(x, y):
        factor = np.linalg.cholesky(x)
        white = tg.linalg.solve_triangular(factor, y, lower=True)
        return (
            tg.linalg.solve_triangular(factor, white, trans="T", lower=True).sum() + white @ white
        )

    gradient = tg.grad(f, argnums=(0, 1))
    x, y = tg.tensor(SPD, requires_grad=True), tg.tensor(V, requires_grad=True)
    for _ in range(3):
        x.grad = y.grad = None
        f(x, y).backward()
        assert_same_bits([x.grad, y.grad], list(gradient(SPD, V)))
    text = gradient.source(SPD, V)
    assert "inverted_blocks(factor, clean=True)" in text and text.count("inverted_blocks(") == 2
    text = tg.grad(lambda x: tg.linalg.solve_triangular(x, V, 0, True).sum()).source(A)
    assert "inverted_blocks(x)" in text


def test_triangles_of_one_matrix():
    def f(x, i):
        solved = tg.linalg.solve_triangular(x, i)
        return (solved * tg.linalg.solve_triangular(x, solved, lower=True) * i).sum()

    gradient = tg.value_and_grad(f, argnums=(0, 1))
    expected = slope(lambda h: f(A + h * BATCH[0], V + h))
    _, (to_x, to_i) = gradient(A, V)
    assert np.sum(to_x * BATCH[0]) + to_i.sum() == pytest.approx(expected, rel=1e-7)


# -- JAX ----------------------------------------------------------------------------------------


def test_composites_on_jax():
    jax = pytest.importorskip("jax")

    def f(x, np=np):
        power = np.linalg.matrix_power(x, 5)
        product = np.linalg.multi_dot([x, power, x])
        spectrum = np.fft.fft2(np.linalg.pinv(x[:, :2]))
        return (
            np.linalg.norm(x, "nuc")
            + product.sum()
            + np.linalg.cond(x)
            + np.abs(spectrum).sum()
            + np.linalg.det(x)
        )

    value, gradient = tg.value_and_grad(f, backend="jax")(A)
    with wide_jax():
        expected = jax.jit(jax.value_and_grad(lambda x: f(x, jax.numpy)))(jax.numpy.asarray(A))
    assert_close([value, gradient], list(map(np.asarray, expected)), 1e-10)
    assert_close([value, gradient], list(tg.value_and_grad(f)(A)), 1e-10)


@pytest.mark.parametrize("other", [2, 3])
def test_cross_products_of_vectors_of_two_components_are_refused_everywhere(other) -> None:
    x, y = np.ones((4, 2)), np.ones((4, other))
    for given in (tg.tensor(x), tg.tensor(x, requires_grad=True)):
        with pytest.raises(ShapeError, match="vectors have 3 components"):
            np.cross(given, y)
    for f in (tg.compile(np.cross), tg.grad(lambda x, y: np.sum(np.cross(x, y)))):
        with pytest.raises(ShapeError, match="vectors have 3 components"):
            f(x, y)
