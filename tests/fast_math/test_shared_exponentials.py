"""Under fast math a softmax is computed once, in the forward, and is right where elements are
infinite."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tracegrad as tg

INF = np.inf


@pytest.fixture(autouse=True)
def fast_math(monkeypatch):
    monkeypatch.setattr(tg.config, "fast_math", True)
    monkeypatch.setattr(tg.config, "check", True)


LOSSES: dict[str, Any] = {
    "rows": lambda x: np.sum(tg.logsumexp(x, axis=1)),
    "columns": lambda x: np.sum(tg.logsumexp(x, axis=0) ** 2),
    "all": lambda x: tg.logsumexp(x),
    "axes": lambda x: np.sum(tg.logsumexp(x[None], axis=(0, 2)) ** 2),
    "kept": lambda x: np.sum(3.0 * tg.logsumexp(x, axis=0, keepdims=True)),
    "weighted": lambda x: np.sum(tg.logsumexp(x, axis=1) * x[:, 0]),
    "mean": lambda x: np.mean(tg.logsumexp(x, axis=1) - x[:, 1]),
    "log_softmax": lambda x: np.sum(tg.log_softmax(x, axis=1) * x),
    "log_softmax of columns": lambda x: np.sum(tg.log_softmax(x, axis=0)[:2] * x[:2]),
    "by hand": lambda x: np.sum(np.exp(x - tg.logsumexp(x, axis=1, keepdims=True)) * x),
}


def exact(f: Any, x: Any, monkeypatch: Any) -> Any:
    monkeypatch.setattr(tg.config, "fast_math", False)
    found = tg.value_and_grad(f)(x)
    monkeypatch.setattr(tg.config, "fast_math", True)
    return found


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("f", LOSSES.values(), ids=LOSSES)
def test_values_and_gradients(f: Any, dtype: str, monkeypatch: Any) -> None:
    compiled = tg.value_and_grad(f)
    for shape in [(3, 4), (2, 1), (300, 20), (20, 300)]:
        x = (3 * np.random.default_rng(1).normal(size=shape)).astype(dtype)
        if shape[1] == 1 and f is LOSSES["mean"]:
            continue
        wide = exact(f, x.astype("float64"), monkeypatch)
        value, gradient = compiled(x)
        eps = np.finfo(dtype).eps
        np.testing.assert_allclose(value, wide[0], rtol=1e3 * eps)
        np.testing.assert_allclose(gradient, wide[1], rtol=1e3 * eps, atol=1e3 * eps)
        assert gradient.dtype == dtype


@pytest.mark.parametrize("f", LOSSES.values(), ids=LOSSES)
def test_exponentials_are_computed_once(f: Any) -> None:
    x = np.random.default_rng(0).normal(size=(3, 4))
    compiled = tg.value_and_grad(f)
    compiled(x)
    lines = compiled.source(x).splitlines()
    code = [line for line in lines if not line.lstrip().startswith("#")]
    assert "\n".join(code).count("np.exp(") == 1


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("name", ["rows", "kept", "all", "columns"])
def test_infinite_elements(name: str, monkeypatch: Any) -> None:
    rows = [[-INF, -INF, -INF], [1.0, 2.0, -INF], [INF, 1.0, 2.0], [np.nan, 1.0, 0.0], [7e5, 0, 0]]
    compiled = tg.value_and_grad(LOSSES[name])
    for chosen in ([0, 1], [1, 4], [0], [0, 2], [1, 2], [3, 1]):
        x = np.array([rows[i] for i in chosen])
        expected, found = exact(LOSSES[name], x, monkeypatch), compiled(x)
        np.testing.assert_allclose(found[0], expected[0], rtol=1e-14)
        np.testing.assert_allclose(found[1], expected[1], rtol=1e-10)


def test_second_order(monkeypatch: Any) -> None:
    def slope(x: Any) -> Any:
        return np.sum(tg.grad(LOSSES["weighted"])(x) ** 2)

    x = np.random.default_rng(2).normal(size=(4, 3))
    expected, found = exact(slope, x, monkeypatch), tg.value_and_grad(slope)(x)
    np.testing.assert_allclose(found[0], expected[0], rtol=1e-13)
    np.testing.assert_allclose(found[1], expected[1], rtol=1e-12, atol=1e-14)
