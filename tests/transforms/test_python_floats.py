"""Python's floats are differentiated as Python computes with them, compiled and eagerly.

They divide as Python's do (`ZeroDivisionError`), and take the dtype of arrays beside them.
"""

from __future__ import annotations

import contextlib

import numpy as np
import pytest
from checks import assert_same_bits

import tracegrad as tg


def caught(x):
    try:
        r = x / (x - 1.0)
    except ZeroDivisionError:
        r = x * 100
    return r * 2


def caught_remainder(x):
    try:
        r = x // (x - 1.0) + x % (x - 1.0)
    except ZeroDivisionError:
        r = x * 100
    return r * 2


def caught_divmod(x):
    try:
        r = sum(divmod(x, x - 1.0))
    except ZeroDivisionError:
        r = x * 100
    return r * 2


def suppressed(x):
    r = x * 100
    with contextlib.suppress(ZeroDivisionError):
        r = x / (x - 1.0)
    return r * 2


TRANSFORMS = {
    "grad": tg.grad,
    "value_and_grad": lambda f: lambda x: tg.value_and_grad(f)(x)[1],
    "jacobian": tg.jacobian,
    "jvp": lambda f: lambda x: tg.jvp(f, (x,), (1.0,))[1],
    "vjp": lambda f: lambda x: tg.vjp(f, x)[1](1.0)[0],
}
every_transform = pytest.mark.parametrize("transform", TRANSFORMS.values(), ids=TRANSFORMS)
compiled_or_not = pytest.mark.parametrize("compiled", [True, False])


@pytest.fixture(autouse=True)
def as_configured():
    yield
    tg.config.compile = True


@every_transform
@compiled_or_not
@pytest.mark.parametrize("function", [caught, caught_remainder, caught_divmod, suppressed])
def test_a_division_by_zero_is_caught_in_every_call(function, transform, compiled):
    tg.config.compile = compiled
    derivative = transform(function)
    elsewhere = derivative(2.5)
    for x in (1.0, 1.0, 2.5, 1.0):
        assert np.all(derivative(x) == (200.0 if x == 1.0 else elsewhere))


@every_transform
@compiled_or_not
def test_a_division_by_zero_is_raised_in_every_call(transform, compiled):
    tg.config.compile = compiled
    derivative = transform(lambda x: x / (x - 1.0))
    for x in (2.0, 1.0, 1.0, 2.0, 1.0):
        if x == 1.0:
            with pytest.raises(ZeroDivisionError):
                derivative(x)
        else:
            assert np.all(derivative(x) == -1.0)


def test_by_a_counter_of_an_object():
    class Steps:
        n = 0

    def decayed(x):
        Steps.n += 1
        return x / (Steps.n - 4)

    for transform in (tg.value_and_grad, tg.grad):  # which asks for no value
        Steps.n, derivative = 0, transform(decayed)
        for _ in range(3):
            derivative(2.0)
        with pytest.raises(ZeroDivisionError):
            derivative(2.0)


def products(x, a):
    return np.sum(x * a)


def sums_in_turns(x, a):
    total = 0.0
    for i in range(len(x)):
        total = total + x[i] * a
    return total


def powers(x, a):
    return np.sum(x**a + a**2.5 + a**-1)


@pytest.mark.parametrize("function", [products, sums_in_turns, powers])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_they_take_the_dtype_of_arrays(function, dtype):
    x = np.linspace(0.1, 1.0, 9).astype(dtype)
    derivative = tg.value_and_grad(function, (0, 1))
    value, gradients = derivative(x, 0.3)
    assert value == function(x, 0.3)
    assert value.dtype == gradients[0].dtype == function(x, 0.3).dtype
    tg.config.compile = False
    assert_same_bits(derivative(x, 0.3), (value, gradients))
