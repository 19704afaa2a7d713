"""Functions of `math` and `cmath` give numbers of Python's, which take the dtype of what they meet.

So ``x32 * math.sin(y[0])`` is float32, compiled as uncompiled, and ``1.0 / math.sqrt(0.0)`` raises.
"""

from __future__ import annotations

import cmath
import math
import warnings
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import tracegrad as tg


def scaled(w, y):
    return w * math.sin(y[0])


def arithmetic(w, y):
    return w * (math.exp(y[0]) * 2.0 + 1.0) - math.log(y[1], 3.0)


def of_its_own(w, y):
    return w / math.sqrt(w[0]) + math.fsum(w)


def in_a_short_loop(w, y):
    total = 0.0
    for i in range(len(y)):
        total += math.tanh(y[i]) * 0.5
    return w * total


def carried_on(w, y):
    factor = math.exp(-y[0])
    for _ in range(30):
        w = w * factor
        factor = 1.0 + 0.1 * math.cos(factor) * math.sin(y[1])
    return w


def in_both_arms(w, y):
    a, b = math.hypot(y[0], y[1]), math.atan2(y[0], y[1])
    if a > b:
        return w * a
    return w * b * 2.0


def beside_arrays(w, y):
    larger = np.maximum(w, math.sin(y[0]))
    return w ** math.exp(y[0] * 0.1) + larger + np.where(w > 1.0, w, math.cos(y[0]))


def written(w, y):
    z = np.zeros_like(w)
    z[0] = math.sin(y[0])
    z[1:] += math.cos(w[0])
    return z * w


def of_complex_numbers(w, y):
    return (w * cmath.exp(1j * y[0])).real


def cosine_schedule(w, step):
    return w - 0.1 * (1.0 + math.cos(math.pi * step[0] / 100.0)) * w


FUNCTIONS = [
    *(scaled, arithmetic, of_its_own, in_a_short_loop, in_both_arms, beside_arrays, written),
    *(carried_on, of_complex_numbers, cosine_schedule),
]
W, Y = np.array([0.7, 1.2, 2.0], np.float32), np.array([0.3, 0.8])


@pytest.mark.sampled(3)
@pytest.mark.parametrize("f", FUNCTIONS, ids=lambda f: f.__name__)
@pytest.mark.parametrize("backend", ["numpy", "numba", "jax"])
def test_numbers_take_the_dtype_of_arrays(f: Any, backend: str) -> None:
    if backend == "numba":
        pytest.importorskip("numba")
    compiled = tg.compile(f, backend=backend)
    for scale in (1.0, 2.0, 3.0):
        expected, found = f(W, Y * scale), np.asarray(compiled(W, Y * scale))
        assert found.dtype == expected.dtype == np.float32
        if backend == "jax":
            assert_allclose(found, expected, rtol=2e-6)
        else:
            assert_array_equal(found, expected)
    gradients = tg.grad(lambda w, y: f(w, y).sum(), argnums=(0, 1), backend=backend)(W, Y)
    assert [np.asarray(g).dtype for g in gradients] == [W.dtype, Y.dtype]
    wide = W.astype(float)
    for i in range(2):
        shift = 1e-6 * np.eye(2)[i]
        slope = (f(wide, Y + shift).sum() - f(wide, Y - shift).sum()) / 2e-6
        assert_allclose(gradients[1][i], slope, rtol=2e-5, atol=2e-5)


def test_of_float32_is_computed_in_double() -> None:
    x = np.array([0.5, 2.0], np.float32)
    for f in (lambda x: math.sin(x[0]), lambda x: math.log(x[1], 3.0), lambda x: math.fsum(x)):
        for way in (tg.compile(f), lambda x, f=f: tg.value_and_grad(f)(x)[0]):
            assert type(way(x)) is float
            assert way(x) == f(x)
    assert type(tg.compile(lambda x: cmath.exp(x[0]))(x)) is complex
    gradient = tg.grad(lambda x: math.exp(x[0]) * x[1])(x)
    assert gradient.dtype == np.float32
    assert_allclose(gradient, [2.0 * math.exp(0.5), math.exp(0.5)], rtol=1e-6)


def test_division_by_zero_raises_as_in_python() -> None:
    for transform in (tg.compile, tg.grad):
        g = transform(lambda x: 1.0 / math.sqrt(x[0]))
        assert np.isfinite(g(np.array([4.0]))).all()
        with pytest.raises(ZeroDivisionError):
            g(np.zeros(1))


def test_on_tensors() -> None:
    @tg.compile
    def f(x):
        return math.log(x[0]) * math.sin(x[1])

    for _ in range(3):
        x = tg.tensor([2.0, 0.5], requires_grad=True)
        y = f(x)
        (y * 2.0).backward()
        assert_allclose(x.grad.numpy(), [math.sin(0.5), 2 * math.log(2) * math.cos(0.5)])


COUNTED = [
    "k.bit_length() * 1.0",
    "getattr(k, 'ndim', -1)",
    "float(hasattr(k, 'shape')) + hasattr(k, 'numerator') + hasattr(k, '__len__')",
    "k.real + k.numerator",
    "abs(complex(k))",
]


@pytest.mark.parametrize("backend", ["numpy", "jax"])
@pytest.mark.parametrize("text", COUNTED)
def test_numbers_of_loops_have_the_attributes_of_numbers(text: str, backend: str) -> None:
    body = "    while np.sum(x) > 1:\n        x = x * 0.5\n        k += 1\n"
    scope: dict = {"np": np}
    exec(f"def f(x):\n    k = 0\n{body}    return {text}", scope)
    compiled = tg.compile(scope["f"], backend=backend)
    for scale in (1.0, 2.0, 8.0, 1.0):
        x = np.linspace(0.0, 1.0, 12) * scale
        assert compiled(x) == scope["f"](x)


def test_floats_that_are_computed_have_no_shape() -> None:
    f = lambda a: (a * 2.0 + hasattr(a * 2.0, "shape")) + (a * 2.0).is_integer()
    compiled = tg.compile(f)
    for a in (1.5, 1.25, 3.0):
        assert compiled(a) == f(a)


# -- objects of the user's that are numbers to Python ---------------------------------------------


class Held:
    """Something with a number, which Python asks for by special methods."""

    def __init__(self, number):
        self.number = number

    def __bool__(self):
        return self.number > 0

    def __float__(self):
        return self.number


def asked_for_truth(x, a):
    held = Held(a)
    return x * 2 if held and not Held(-a) else x * 3 if bool(held) else x


def asked_for_a_float(x, a):
    return x * float(Held(a)) + math.sqrt(Held(a * a)) * math.atan2(Held(a), 2.0)


@pytest.mark.parametrize("f", [asked_for_truth, asked_for_a_float], ids=lambda f: f.__name__)
def test_objects_that_are_numbers(f):
    made, x = tg.compile(f), np.array([0.5, 0.25])
    for a in (3.0, -2.0, 0.5, -0.25):
        assert_allclose(made(x, a), f(x, a), rtol=1e-15)


def test_a_float_of_an_object_has_its_gradient():
    slope = tg.grad(lambda x: np.sum(x * math.sqrt(Held(x[1] * 2.0))))
    x = np.array([0.5, 0.25])
    expected = np.sqrt(0.5) + np.array([0.0, 0.75 / np.sqrt(0.5)])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of NumPy's floats, as Python has it
        assert_allclose(slope(x), expected, rtol=1e-14)


OF_ELEMENTS = [
    "float(x[0].is_integer())",
    "len(x[0].hex())",
    "x[0].as_integer_ratio()[0]",
    "float(Fraction(x[0]))",
    "float(hasattr(x[0], 'is_integer')) + hasattr(x[0], 'no_such_name')",
]


@pytest.mark.parametrize("text", OF_ELEMENTS)
def test_elements_have_the_attributes_of_numpys_floats(text):
    scope = {"Fraction": Fraction}
    exec(f"def f(x):\n    return x * {text}", scope)
    made = tg.compile(scope["f"])
    for first in (0.5, 3.0, 0.25):
        x = np.array([first, 2.0])
        assert_array_equal(made(x), scope["f"](x))
