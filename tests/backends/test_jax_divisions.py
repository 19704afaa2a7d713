"""Python's numbers divide and shift as Python's do in programs for JAX: what that raises is raised.

A division by zero that the function catches is a way of its own, inside JAX's transforms too.
"""

from __future__ import annotations

import contextlib

import numpy as np
import pytest
from checks import assert_same_bits, wide_jax

import tracegrad as tg

jax = pytest.importorskip("jax")


def ratio(x):
    n, m = int((x > 0).sum()), int((x < 0).sum())
    try:
        r = n / m
    except ZeroDivisionError:
        r = -1.0
    return x.sum() * r


def suppressed(x):
    v = 7.0
    with contextlib.suppress(ZeroDivisionError):
        v = 1.0 / float(x[0])
    return x * v


def remainders(x):
    try:
        v = 7 // int(x[0]) + 10 % int(x[0]) + x[0].item() % x[1].item()
    except ZeroDivisionError:
        v = 7
    return x * v


def both_parts(x):
    try:
        a, b = divmod(9.5, float(x[1]))
    except ZeroDivisionError:
        return x * 2.0
    return x * a + b


def in_a_helper(x):
    def quotient(a, b):
        return a / b

    try:
        return x * quotient(2.0, float(x[0])) * quotient(3.0, float(x[1]))
    except ArithmeticError:
        return -x


def shifted(x):
    try:
        return x * (1 << int(x[0])) + (64 >> int(x[1]))
    except ValueError:
        return -x


CAUGHT = (ratio, suppressed, remainders, both_parts, in_a_helper, shifted)
ARRAYS = (np.array([1.0, -2.0]), np.array([0.0, 3.0]), np.array([2.0, 0.0]), np.array([3.0, 1.0]))


@pytest.mark.parametrize("backend", ["numpy", "jax"])
@pytest.mark.parametrize("f", CAUGHT)
def test_what_is_caught_is_a_way_of_its_own(f, backend):
    for arrays in (ARRAYS, ARRAYS[::-1]):
        compiled = tg.compile(f, backend=backend)
        for x in (*arrays, *arrays):
            assert_same_bits(compiled(x), f(x))
        assert "eager" not in str(compiled.explain())


@pytest.mark.parametrize("f", CAUGHT)
def test_both_ways_are_in_programs_inside_jax(f):
    with wide_jax():
        inside = jax.jit(tg.compile(f))
        for x in ARRAYS:
            assert_same_bits(np.asarray(inside(x)), np.asarray(f(x)))
        rows = jax.vmap(tg.compile(f))(np.stack(ARRAYS))
        assert_same_bits(np.asarray(rows), np.stack([f(x) for x in ARRAYS]))


def by_an_element(x, c):
    return x * (1.0 / float(x[0]))


def by_an_argument(x, c):
    return x + 2.0 * (1.0 / c)


def by_itself(x, c):
    t = float(x[0])
    return x * (t // t)


def of_integers(x, c):
    return x * (5 // int(x[0]))


def remaining(x, c):
    return x * (10 % int(x[0]))


def by_less_than_nothing(x, c):
    return x * (4 << int(x[0] - 1.0))


def behind_another_handler(x, c):
    try:
        return x * (1.0 / float(x[0]))
    except KeyError:
        return x


def where_errors_are_ignored(x, c):
    with np.errstate(all="ignore"):
        return x * (1.0 / float(x[0]))


def that_nobody_reads(x, c):
    1.0 / float(x[0])
    return x * 2.0


UNCAUGHT = (
    *(by_an_element, by_an_argument, by_itself, of_integers, remaining, by_less_than_nothing),
    *(behind_another_handler, where_errors_are_ignored, that_nobody_reads),
)


@pytest.mark.parametrize("first", [0.0, 2.0])
@pytest.mark.parametrize("f", UNCAUGHT)
def test_what_nothing_catches_is_raised_in_each_call(f, first):
    compiled = tg.compile(f, backend="jax")
    for v in (first, 2.0, 0.0, 1.0, 0.0, 4.0):
        x = np.array([v, 3.0])
        if v:
            assert_same_bits(compiled(x, v), f(x, v))
            continue
        with pytest.raises((ZeroDivisionError, ValueError)) as expected:
            f(x, v)
        with pytest.raises(expected.type):
            compiled(x, v)


@pytest.mark.parametrize("f", UNCAUGHT)
def test_what_nothing_catches_is_nan_inside_jax(f):
    with wide_jax():
        inside = jax.jit(lambda x: tg.compile(f)(x, 2.0))
        x = np.array([2.0, 3.0])
        assert_same_bits(np.asarray(inside(x)), f(x, 2.0))
        if f is not by_an_argument:
            assert np.isnan(inside(np.array([0.0, 3.0]))).all()


def test_no_look_where_the_divisor_is_known():
    def f(x, c):
        s = c / 2.5 + 1.0 / len(x)
        for t in range(20):
            s = s + x[0] * (1.0 / (t + 1))
        return x.sum() / c * s + int(x[0]) % 3

    compiled = tg.compile(f, backend="jax")
    x = np.array([1.0, 2.0])
    assert np.allclose(compiled(x, 3.0), f(x, 3.0))
    assert "!= 0" not in str(compiled.source())


def test_a_derivative_of_what_is_caught():
    gradient = tg.grad(lambda x: suppressed(x).sum(), backend="jax")
    expected = tg.grad(lambda x: suppressed(x.copy()).sum())
    for x in (*ARRAYS, *ARRAYS):
        try:
            wanted = expected(x)
        except tg.errors.LostGradientError:
            with pytest.raises(tg.errors.LostGradientError):
                gradient(x)
        else:
            assert_same_bits(gradient(x), wanted)
