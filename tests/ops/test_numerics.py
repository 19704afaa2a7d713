"""Derivatives where digits are easily lost: near singular points, of large numbers, at infinity.

What is right is computed exactly (fractions) or by power series whose terms are summed exactly.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

import tracegrad as tg


@pytest.fixture(autouse=True)
def quiet():
    with np.errstate(all="ignore"):
        yield


def derivatives(f, order):
    """The derivatives of a function of numbers, elementwise, up to an order."""
    found = [f]
    for _ in range(order):
        last = found[-1]
        found.append(tg.grad(lambda x, last=last: np.sum(last(x))))
    return found[1:]


def sinc_series(x: float, order: int) -> float:
    """A derivative of sin(pi x) / (pi x), by 40 terms of its series."""
    terms = []
    for j in range((order + 1) // 2, 40):
        size = math.perm(2 * j, order) / math.factorial(2 * j + 1)
        terms.append((-1) ** j * math.pi ** (2 * j) * size * x ** (2 * j - order))
    return math.fsum(terms)


@pytest.mark.parametrize("backend", ["numpy", "jax"])
def test_sinc_near_zero(backend):
    if backend == "jax":
        pytest.importorskip("jax")
    places = np.array([0.0, 1e-300, 1e-12, -1e-8, 1e-5, 1e-3, 0.1, -0.2499, 0.2501, 0.5, 1.0])
    for order, derivative in enumerate(derivatives(np.sinc, 3), 1):
        found = tg.compile(lambda x, f=derivative: f(x), backend=backend)(places)
        expected = [sinc_series(x, order) for x in places]
        assert np.asarray(found) == pytest.approx(expected, rel=1e-13, abs=1e-13), order
        single = derivative(places.astype(np.float32))
        assert np.asarray(single).dtype == np.float32
        assert np.asarray(single) == pytest.approx(expected, rel=2e-4, abs=2e-4), order


def test_inverse_functions_near_their_ends():
    """1 - x * x has lost digits there that (1 - x) (1 + x) has."""
    for dtype, tolerance in (("float64", 1e-15), ("float32", 4e-7)):
        below = np.array([1 - 1e-6, -1 + 1e-4, 0.5, 0.999], dtype)
        exact = [1 - Fraction(float(x)) ** 2 for x in below]
        found = tg.grad(lambda x: np.sum(np.arctanh(x)))(below)
        assert found == pytest.approx([float(1 / y) for y in exact], rel=tolerance)
        roots = [1 / math.sqrt(y) for y in exact]
        found = tg.grad(lambda x: np.sum(np.arcsin(x)))(below)
        assert found == pytest.approx(roots, rel=tolerance)
        found = tg.grad(lambda x: np.sum(np.arccos(x)))(below)
        assert found == pytest.approx([-y for y in roots], rel=tolerance)
        above = np.array([1 + 1e-6, 1.0001, 2.0], dtype)
        found = tg.grad(lambda x: np.sum(np.arccosh(x)))(above)
        exact = [1 / math.sqrt(Fraction(float(x)) ** 2 - 1) for x in above]
        assert found == pytest.approx(exact, rel=tolerance)


@pytest.mark.parametrize("function, base", [(np.logaddexp, math.e), (np.logaddexp2, 2.0)])
def test_shares_of_large_numbers(function, base):
    """The derivatives of logaddexp are shares: they add up to 1, whatever the numbers are."""
    a = np.array([800.0, 1e4, -1e4, 0.0, math.inf, -math.inf, math.inf, 5.0, 3.0], np.float32)
    b = np.array([800.0, 1e4, -1e4, 900.0, 1.0, 1.0, math.inf, -math.inf, 1.0], np.float32)
    share = 1 / (1 + base**-2.0)
    expected = [0.5, 0.5, 0.5, 0.0, 1.0, 0.0, 0.5, 1.0, share]
    left, right = tg.grad(lambda a, b: np.sum(function(a, b)), argnums=(0, 1))(a, b)
    assert left == pytest.approx(expected, rel=1e-6)
    assert right == pytest.approx([1 - x for x in expected], rel=1e-6)
    none = np.full(2, -math.inf)
    assert np.all(tg.grad(lambda a: np.sum(function(a, none)))(none) == 0.5)
    (second,) = derivatives(lambda x: derivatives(lambda y: function(y, 700.0), 1)[0](x), 1)
    assert second(np.array([700.0, 690.0])) == pytest.approx(
        [math.log(base) / 4, math.log(base) * base**-10.0 / (1 + base**-10.0) ** 2], rel=1e-12
    )


def test_powers_of_numbers_beyond_pythons_range():
    """Where Python raises, or leaves the real numbers, a number is inf or NaN, as of an array."""
    f = tg.value_and_grad(lambda r, x: np.sum(r**3 * x), argnums=(0, 1))
    assert f(1e200, np.ones(2))[0] == math.inf
    root = tg.value_and_grad(lambda r, x: np.sum(r**0.5 * x))
    assert np.isnan(root(-8.0, np.ones(2))[0]) and root(4.0, np.ones(2)) == (4.0, 0.5)
    own = tg.value_and_grad(lambda r, x: np.sum(r**r * x))
    assert own(2.0, np.ones(1))[1] == pytest.approx(4 * (math.log(2.0) + 1))
    assert tg.grad(lambda r: r**-1)(0.0) == -math.inf


@pytest.mark.parametrize("compiled", [True, False])
def test_powers_of_python_numbers_have_pythons_bits(compiled, monkeypatch):
    """Python raises numbers by the C library, NumPy arrays by loops of its own."""

    def powers(base, exponent, x):
        total = 0.0
        for t in range(1, 12):
            total = total + 0.9**t * x + base**t
        return total + base**exponent + 2.5**exponent + exponent**0.37 + (1 + base) ** -3

    monkeypatch.setattr(tg.config, "compile", compiled)
    value_and_grad = tg.value_and_grad(powers)
    for base, exponent, x in np.random.default_rng(0).uniform(0.1, 3.0, (40, 3)).tolist():
        assert value_and_grad(base, exponent, x)[0] == powers(base, exponent, x)
