"""Complex gradients beside those of the libraries whose convention they follow."""

from __future__ import annotations

import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from checks import assert_close, wide_jax

import tracegrad as tg
from tracegrad.errors import NonScalarError

PAGE = Path(__file__).parents[1] / "docs" / "complex.md"
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


def by_torch(function: Any, x: np.ndarray) -> np.ndarray:
    """What ``.grad`` is there."""
    torch = pytest.importorskip("torch")
    names = "abs angle conj dot exp fft imag linalg log prod real sqrt sum"
    module = SimpleNamespace(**{name: getattr(torch, name) for name in names.split()})
    module.array = lambda values: torch.tensor(values, dtype=torch.complex128)
    t = torch.tensor(x, requires_grad=True)
    function(module, t).backward()
    return t.grad.resolve_conj().numpy()


def tensor_gradient(function: Any, x: np.ndarray) -> np.ndarray:
    t = tg.tensor(x, requires_grad=True)
    function(np, t).backward()
    return t.grad.numpy()


def check_transforms(function: Any, x: np.ndarray) -> None:
    jax = pytest.importorskip("jax")
    found = tg.grad(lambda z: function(np, z))(x)
    with wide_jax():
        expected = jax.grad(lambda z: function(jax.numpy, z))(jax.numpy.asarray(x))
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
    hips, module = pytest.importorskip("autograd"), pytest.importorskip("autograd.numpy")
    function = FUNCTIONS[name]
    expected = hips.grad(lambda z: function(module, z))(Z)
    assert_close(tg.grad(lambda z: function(np, z))(Z), expected, 1e-10)


@every_function
def test_tensors_follow_pytorch(name):
    function = FUNCTIONS[name]
    assert_close(tensor_gradient(function, Z), by_torch(function, Z), 1e-10)


def test_cotangents_and_higher_orders_follow_pytorch():
    torch = pytest.importorskip("torch")
    t, other = tg.tensor(Z, requires_grad=True), torch.tensor(Z, requires_grad=True)
    (t**2 * t.conj()).backward(tg.tensor(CT))
    (other**2 * other.conj()).backward(torch.tensor(CT))
    assert_close(t.grad.numpy(), other.grad.resolve_conj().numpy(), 1e-12)

    seen: list[Any] = []

    def twice(grad, z, absolute):
        (first,) = grad((absolute(z) ** 4).sum(), z, create_graph=True)
        first.register_hook(seen.append)
        return grad((absolute(first * z * 1j + z) ** 2).sum(), z)[0]

    found = twice(tg.autograd.grad, t, abs)
    expected = twice(torch.autograd.grad, other, torch.abs)
    assert_close(found.numpy(), expected.resolve_conj().numpy(), 1e-12)
    assert_close(seen[0].numpy(), seen[1].resolve_conj().numpy(), 1e-12)


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
        expected = jax.grad(inner(jax.numpy, jax.grad))(jax.numpy.asarray(Z))
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


def test_the_page_says_what_is():
    """The code in docs/complex.md runs, top to bottom."""
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.S)
    assert len(blocks) == 4
    exec(compile("\n".join(blocks), str(PAGE), "exec"), {})
