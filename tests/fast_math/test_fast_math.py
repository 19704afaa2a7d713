"""Fast math is a mode: switching it makes versions of their own, and exact programs stay exact."""

import re

import numpy as np
import pytest

import tracegrad as tg


@pytest.fixture
def fast_math(monkeypatch):
    monkeypatch.setattr(tg.config, "fast_math", True)


def loss(x, y):
    return np.sum(0.3 * np.tanh(x * y) ** 2)


def inputs():
    random = np.random.default_rng(3)
    return random.normal(size=7), random.normal(size=7)


def test_each_mode_has_its_versions(monkeypatch):
    f = tg.value_and_grad(loss)
    x, y = inputs()
    exact = f(x, y)
    monkeypatch.setattr(tg.config, "fast_math", True)
    fast = f(x, y)
    assert f.cache_info().versions == 2
    assert "Rounds otherwise than eager calls" in f.source(x, y)
    monkeypatch.setattr(tg.config, "fast_math", False)
    again = f(x, y)
    assert f.cache_info().versions == 2
    assert "Rounds" not in f.source(x, y)
    assert exact[0] == again[0] and np.array_equal(exact[1], again[1])
    np.testing.assert_allclose(fast[0], exact[0], rtol=1e-13)
    np.testing.assert_allclose(fast[1], exact[1], rtol=1e-13)
    assert "the first call on numpy with fast math" in f.explain()


def test_numbers_are_not_shared_between_programs(fast_math):
    """Passes see every number: programs that differ in one are two."""
    results = [tg.grad(lambda x, c=c: np.sum(c * x * 0.7))(np.ones(3)) for c in (0.3, 5.5)]
    np.testing.assert_allclose(results, [[0.21] * 3, [3.85] * 3], rtol=1e-15)


def test_calls_on_tensors_are_compiled_in_the_mode_too(fast_math):
    f = tg.compile(loss)
    x, y = (tg.tensor(a, requires_grad=True) for a in inputs())
    for _ in range(3):
        x.grad = None
        f(x, y).backward()
    expected = tg.value_and_grad(loss)(*inputs())
    np.testing.assert_allclose(x.grad.numpy(), expected[1], rtol=1e-13)


def test_xla_has_no_second_mode(fast_math):
    pytest.importorskip("jax")
    f = tg.value_and_grad(loss, backend="jax")
    f(*inputs())
    tg.config.fast_math = False
    f(*inputs())
    assert f.cache_info().versions == 1


def test_an_unknown_backend_is_said():
    with pytest.raises(tg.errors.ArgumentError, match="numpie"):
        tg.config.backend = "numpie"
    assert tg.config.backend == "numpy"


@pytest.mark.parametrize("start", [0.0, 0, np.float64(0.0)])
def test_nothing_is_added_to_the_first_turn(fast_math, start):
    def total(xs):
        found = start
        for x in xs:
            found = found + np.sum(np.tanh(x)) - 0.0
        return found

    f = tg.value_and_grad(total)
    xs = np.linspace(-1.0, 1.0, 8).reshape(2, 4)
    value, slope = f(xs)
    np.testing.assert_allclose(value, total(xs), rtol=1e-15)
    np.testing.assert_allclose(slope, 1.0 - np.tanh(xs) ** 2, rtol=1e-15)
    lines = [line for line in str(f.source(xs)).splitlines() if "#" not in line]
    assert not re.search(r"\b0(\.0)? \+|[+-] 0\.0\b", "\n".join(lines))


CANCELLING = [
    lambda x: x * x / x,
    lambda x: (x + 1) - 1 + x * x / x,
    lambda x: x * x / ((x + 1) - 1),
    lambda x: ((x + 1) - 1) / x,
    lambda x: np.where(x == 0, 0.0, x * x / x) + ((x + 1) - 1),
    lambda x: np.where(x > 0, x * x / x, (x + 1) - 1),
    lambda x: (x + 1) - 1 + np.maximum(x * x / x, 0),
    lambda x: (x * (x + 1) - x) / x,
    lambda x: 1 / ((x + 1) - x) + x / ((x + 2) - x),
    lambda x: (x * x - x) / (x * x - x + 1),
]


@pytest.mark.parametrize("f", CANCELLING)
def test_factors_that_are_0_cancel(f, monkeypatch):
    """Where eager calls give a number it stays; where they give nan there may be a number."""
    x = np.array([0.0, 1.0, 2.0, -3.0])
    for make in (lambda: tg.compile(f), lambda: tg.grad(lambda x: np.sum(f(x)))):
        with np.errstate(all="ignore"):
            monkeypatch.setattr(tg.config, "fast_math", False)
            exact = make()(x)
            monkeypatch.setattr(tg.config, "fast_math", True)
            fast = make()(x)
        known = np.isfinite(exact)
        np.testing.assert_allclose(fast[known], exact[known], rtol=1e-13, atol=1e-13)


def test_a_number_stands_where_0_was_divided_by_0(fast_math):
    assert tg.compile(CANCELLING[0])(np.zeros(1)).tolist() == [0.0]
