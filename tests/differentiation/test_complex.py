"""Complex gradients beside those of the libraries whose convention they follow."""

from __future__ import annotations

import math
from typing import Any

import autograd
import autograd.numpy
import numpy as np
import pytest
from checks import assert_close, run_in_jax, wide_jax

import tracegrad as tg
from tracegrad.errors import DTypeError, NonScalarError

Z = np.array([1.0 + 2.0j, -0.5 + 0.3j, 2.0 - 1.0j])
W = [0.5 - 1.0j, 1.0 + 1.0j, 2.0 + 0.0j]
C = Z * Z[:, None].conj() + np.diag([3.0, 4.0j, 5.0 + 1.0j])
CT = np.array([1.0j, 2.0 + 0.0j, 1.0 - 1.0j])

FUNCTIONS: dict[str, Any] = {
    "square": lambda np, z: np.sum(np.real(z * np.conj(z))),
    "length": lambda np, z: np.sum(np.abs(z)),
    "exponential": lambda np, z: np.real(np.sum(np.exp(z) * np.array(W))),
    "product": lambda np, z: np.imag(np.prod(z)),
    "angle": lambda np, z: np.sum(np.angle(z)),
    "spectrum": lambda np, z: np.sum(np.abs(np.fft.fft(z)) ** 3),
    "back": lambda np, z: np.sum(np.abs(np.fft.ifft(z * z)) ** 3),
    "real signal": lambda np, z: np.sum(np.fft.irfft(z) ** 3),
    "norm": lambda np, z: np.linalg.norm(z),
    "dot": lambda np, z: np.abs(np.dot(z, np.array(W))),
    "powers": lambda np, z: np.real(np.sum(z**3 + 1 / z + np.sqrt(z) + np.log(z))),
}
MATRIX_FUNCTIONS: dict[str, Any] = {
    "det": lambda np, z: np.abs(np.linalg.det(z)),
    "inv": lambda np, z: np.real(np.sum(np.linalg.inv(z) ** 2)),
    "solve": lambda np, z: np.imag(np.sum(np.linalg.solve(z, np.array(W)) ** 2)),
    "slogdet": lambda np, z: np.linalg.slogdet(z)[1] + np.real(np.linalg.slogdet(z)[0]),
    "cholesky": lambda np, z: np.imag(np.sum(np.linalg.cholesky(z @ np.conj(z.T)) ** 3)),
    "svd": lambda np, z: np.sum(np.linalg.svd(z, compute_uv=False) ** 3),
    "qr": lambda np, z: np.imag(np.sum(np.linalg.qr(z)[0] ** 2)),
}
every_function = pytest.mark.parametrize("name", FUNCTIONS)
every_matrix_function = pytest.mark.parametrize("name", MATRIX_FUNCTIONS)


PYTORCH = {
    "square": [(2 + 4j), (-1 + 0.6j), (4 - 2j)],
    "length": [
        (0.4472135954999579 + 0.8944271909999159j),
        (-0.8574929257125443 + 0.5144957554275266j),
        (0.8944271909999159 - 0.4472135954999579j),
    ],
    "exponential": [
        (1.9061244801264121 - 2.367067719759223j),
        (0.40019880509218886 - 0.7586829369016209j),
        (7.984648096882544 + 12.435352624735936j),
    ],
    "product": [
        (1.1000000000000003 - 0.7000000000000001j),
        (3.0000000000000004 + 4.000000000000001j),
        (-0.7000000000000001 - 1.1000000000000003j),
    ],
    "angle": [
        (-0.3999999999999999 + 0.19999999999999996j),
        (-0.8823529411764708 - 1.470588235294118j),
        (0.19999999999999996 + 0.3999999999999999j),
    ],
    "spectrum": [
        (38.26344429117209 + 75.41980852902722j),
        (-42.36962003694342 - 2.317035846967901j),
        (67.50668836199549 - 40.13450612162275j),
    ],
    "back": [
        (29.89100373670013 + 58.834510768086275j),
        (-0.6236675811879058 + 0.5085989482104246j),
        (56.74002068752773 - 27.862662391232455j),
    ],
    "real signal": [(1.065 + 0j), (-1.125 - 0.22500000000000003j), (0.8099999999999999 + 0j)],
    "norm": [
        (0.3109852067855614 + 0.6219704135711228j),
        (-0.1554926033927807 + 0.09329556203566843j),
        (0.6219704135711228 - 0.3109852067855614j),
    ],
    "dot": [
        (0.8265371590728117 + 0.7528853330168185j),
        (0.5728475359910575 - 1.2929987240941014j),
        (1.8658462600851589 - 0.7201511881030438j),
    ],
    "powers": [
        (-8.395567759497109 - 11.58421120787293j),
        (-2.1998865497756332 + 5.008536986522971j),
        (9.605425413017322 + 11.883177480921967j),
    ],
    "a cotangent": [(4 + 13j), (1.68 - 0.6j), (17 - 11j)],
    "twice": [
        (15682.000000000005 + 31164.000000000015j),
        (-1.8834559999999996 + 0.20527359999999983j),
        (32324.000000000015 - 16362.000000000007j),
    ],
    "on the way": [
        (200 + 390.0000000000001j),
        (-0.4623999999999999 - 0.40256000000000003j),
        (400.0000000000001 - 210.00000000000003j),
    ],
}
"""What ``.grad`` is in PyTorch 2.13, at `Z`."""


def tensor_gradient(function: Any, x: np.ndarray) -> np.ndarray:
    t = tg.tensor(x, requires_grad=True)
    function(np, t).backward()
    return t.grad.numpy()


def check_transforms(function: Any, x: np.ndarray) -> None:
    jax = pytest.importorskip("jax")
    found = tg.grad(lambda z: function(np, z))(x)
    with wide_jax():
        expected = run_in_jax(jax.grad(lambda z: function(jax.numpy, z)), jax.numpy.asarray(x))
    assert_close(found, np.asarray(expected), 1e-10)
    assert_close(tensor_gradient(function, x), np.conj(found), 1e-12)


@every_function
def test_transforms_follow_jax(name):
    check_transforms(FUNCTIONS[name], Z)


@every_matrix_function
def test_transforms_of_matrices_follow_jax(name):
    check_transforms(MATRIX_FUNCTIONS[name], C)


@every_function
def test_transforms_follow_hips_autograd(name):
    function = FUNCTIONS[name]
    expected = autograd.grad(lambda z: function(autograd.numpy, z))(Z)
    assert_close(tg.grad(lambda z: function(np, z))(Z), expected, 1e-10)


@every_function
def test_tensors_follow_pytorch(name):
    function = FUNCTIONS[name]
    assert_close(tensor_gradient(function, Z), np.array(PYTORCH[name]), 1e-10)


def test_cotangents_and_higher_orders_follow_pytorch():
    t = tg.tensor(Z, requires_grad=True)
    (t**2 * t.conj()).backward(tg.tensor(CT))
    assert_close(t.grad.numpy(), np.array(PYTORCH["a cotangent"]), 1e-12)

    seen: list[Any] = []
    (first,) = tg.autograd.grad((abs(t) ** 4).sum(), t, create_graph=True)
    first.register_hook(seen.append)
    (second,) = tg.autograd.grad((abs(first * t * 1j + t) ** 2).sum(), t)
    assert_close(second.numpy(), np.array(PYTORCH["twice"]), 1e-12)
    assert_close(seen[0].numpy(), np.array(PYTORCH["on the way"]), 1e-12)


def test_cotangents_of_transforms_follow_jax():
    jax = pytest.importorskip("jax")
    _, pullback = tg.vjp(lambda z: z**2 * np.conj(z), Z)
    with wide_jax():
        _, theirs = jax.vjp(lambda z: z**2 * z.conj(), jax.numpy.asarray(Z))
        assert_close(pullback(CT)[0], np.asarray(theirs(jax.numpy.asarray(CT))[0]), 1e-12)

    def inner(np, grad):
        return lambda z: np.sum(np.abs(grad(lambda z: np.sum(np.abs(z) ** 4))(z)) ** 2)

    found = tg.grad(inner(np, tg.grad))(Z)
    with wide_jax():
        expected = run_in_jax(jax.grad(inner(jax.numpy, jax.grad)), jax.numpy.asarray(Z))
    assert_close(found, np.asarray(expected), 1e-12)


def test_complex_results_are_refused():
    """Their derivative would be right for holomorphic functions alone."""
    for f in (lambda z: z**2, np.conj):
        with pytest.raises(NonScalarError, match="returns a complex number"):
            tg.grad(f)(1.0 + 2.0j)
        with pytest.raises(NonScalarError, match="complex"):
            tg.grad(lambda x, f=f: np.real(tg.grad(f)(x + 1j)))(1.0)
        with pytest.raises(NonScalarError, match="complex128 number has no gradient"):
            f(tg.tensor(1.0 + 2.0j, dtype="complex128", requires_grad=True)).backward()


# -- as numbers of Python's -----------------------------------------------------------------------


@pytest.mark.parametrize(
    "read", [lambda z: float(z[0]), lambda z: int(z[0]), lambda z: math.atan(z[1])]
)
def test_a_number_is_read_as_its_real_part_with_numpys_warning(read, monkeypatch):
    f = tg.compile(lambda z: z * read(z))
    with pytest.warns(np.exceptions.ComplexWarning, match="discards the imaginary part"):
        expected = Z * read(Z)
    for compiled in (True, False):
        monkeypatch.setattr(tg.config, "compile", compiled)
        with pytest.warns(np.exceptions.ComplexWarning, match="discards the imaginary part"):
            found = f(Z)
        assert_close(found, expected, 0)
    monkeypatch.setattr(tg.config, "compile", True)
    assert_close(f(2 * Z), 2 * Z * read((2 * Z).real), 1e-15)


def test_arrays_and_tensors_are_not_read_as_their_real_part():
    for use in (lambda z: float(np.array(z[0])) * z, lambda z: math.sqrt(np.array(z[0])) * z):
        with pytest.raises(DTypeError, match=r"of a complex array.*write \w+\(x\.real\)"):
            tg.compile(use)(Z)
    with pytest.raises(DTypeError, match=r"write float\(x\.real\) or float\(abs\(x\)\)"):
        float(tg.tensor(1.0 + 2.0j))
