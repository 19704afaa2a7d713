"""Under fast math functions of all pairs are summed once: what is symmetric is known to be."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tracegrad as tg


@pytest.fixture(autouse=True)
def fast_math(monkeypatch):
    monkeypatch.setattr(tg.config, "fast_math", True)
    monkeypatch.setattr(tg.config, "check", True)


def energy(x: Any, m: Any) -> Any:
    apart = x[:, None, :] - x[None, :, :]
    distance = np.sqrt(np.sum(apart * apart, axis=2) + 0.01)
    return -0.5 * np.sum(m[:, None] * m[None, :] / distance)


def kernel(x: Any, m: Any) -> Any:
    apart = x[:, None, :] - x[None, :, :]
    k = np.exp(-0.5 * np.sum(apart**2, axis=-1))
    return m @ (k @ m)


def forces(x: Any, m: Any) -> Any:
    """Both axes of an array that changes its sign, and one that is neither."""
    apart = x[:, None] - x[None]
    odd = np.tanh(apart) * (m[:, None] * m)[:, :, None]
    neither = apart * m[:, None, None]
    return np.sum(odd.sum(axis=0) ** 2) + np.sum(neither.sum(axis=0) * neither.sum(axis=1))


def differences(x: Any, m: Any) -> Any:
    d = m[:, None] - m
    return np.sum((m @ d) * (d @ m)) + np.sum((d.T @ x) * x) + np.sum(x @ x.T @ (d * d))


def not_pairs(x: Any, m: Any) -> Any:
    """Looks alike, but two arrays: nothing is symmetric."""
    apart = x[:, None, :] - 2.0 * x[None, ::-1, :]
    s = np.sum(apart * apart, axis=2)
    return np.sum(m @ s) + np.sum((s.T @ m) * m) + np.sum(s.T * np.sin(s))


@pytest.mark.sampled(3)
@pytest.mark.parametrize("f", [energy, kernel, forces, differences, not_pairs])
@pytest.mark.parametrize("n", [1, 2, 7, 40])
def test_gradients(f: Any, n: int, monkeypatch: Any) -> None:
    random = np.random.default_rng(n)
    args = random.normal(size=(n, 3)), random.uniform(0.5, 2.0, n)
    value, gradients = tg.value_and_grad(f, (0, 1))(*args)
    slope = lambda *a: sum(np.sum(g**2) for g in tg.grad(f, (0, 1))(*a))
    second = tg.grad(slope, (0, 1))(*args)
    monkeypatch.setattr(tg.config, "fast_math", False)
    expected, slopes = tg.value_and_grad(f, (0, 1))(*args)
    np.testing.assert_allclose(value, expected, rtol=1e-12, atol=1e-12)
    for found, wanted in zip(gradients, slopes, strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-10, atol=1e-11)
    for found, wanted in zip(second, tg.grad(slope, (0, 1))(*args), strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-9, atol=1e-9)


def test_the_second_sum_is_the_first() -> None:
    random = np.random.default_rng(0)
    args = random.normal(size=(5, 3)), random.uniform(0.5, 2.0, 5)
    compiled = tg.value_and_grad(energy, (0, 1))
    compiled(*args)
    text = compiled.source(*args)
    assert text.count(" @ ") - text.count("np.ones") == 2  # the masses' sum and the positions'
    assert ".transpose(" not in text and ".T" not in text


def _broadcast(x: Any, y: Any) -> Any:
    apart = x[:, None] - y
    return np.sum(np.tanh(apart) * apart) + np.sum(np.sum(apart, axis=1) ** 3)


def _multiplied(x: Any, y: Any) -> Any:
    apart = x[:, None] - y
    turned = np.exp(-apart) @ (y.T @ y) * 1e-3
    return np.sum(np.tanh(turned) * apart)


@pytest.mark.parametrize("f", [_broadcast, _multiplied])
@pytest.mark.parametrize("columns", [1, 3, 40])
@pytest.mark.parametrize("turn", [np.asarray, np.asfortranarray, lambda x: np.repeat(x, 2, 0)[::2]])
def test_broadcast_rows_of_any_length(f: Any, columns: int, turn: Any) -> None:
    compiled = tg.value_and_grad(f, (0, 1))
    random = np.random.default_rng(columns)
    for n in (0, 1, 15, 17, 50):
        args = [turn(random.normal(size=(m, columns))) for m in (n, 20)]
        value, gradients = compiled(*args)
        np.testing.assert_allclose(value, f(*args), rtol=1e-11, atol=1e-11)
        tg.config.fast_math = False
        expected = tg.grad(f, (0, 1))(*args)
        tg.config.fast_math = True
        for found, wanted in zip(gradients, expected, strict=True):
            np.testing.assert_allclose(found, wanted, rtol=1e-9, atol=1e-9)
    text = compiled.source(*args)
    assert "columns_first(" in text
    assert ("product_of_columns(" in text) is (f is _multiplied)
