"""Loops over numbers compute with Python's floats: same bits, types, exceptions and warnings."""

import warnings

import numpy as np
import pytest

import tracegrad as tg

X = np.linspace(-1.0, 1.5, 23)


def smoothed(x):
    level, total = x[0], 0.0
    for t in range(1, len(x)):
        err = x[t] - level
        total = total + err * err
        level = level + 0.3 * err
    return total


def divided(x):
    s = 1.0
    for v in x:
        s = s / v if v > 0.0 else s - v / (s * s + 1.0)
    return s


def chosen(x):
    s = x[0]
    for v in x:
        s = np.where(v > s, v * s, abs(v) - s)
        s = np.maximum(s, -2.0) + np.sqrt(s * s + 0.1)
    return s


def left_early(x):
    s = 0.0
    for v in x:
        s = s + np.sin(v) * v
        if s * s > 1.0:
            break
    return s


def kept(x):
    s, seen = x[0] * 0.0, []
    for v in x:
        s = 0.5 * s + v * v
        seen.append(s)
    return np.sum(np.stack(seen) ** 2) + seen[3]


def nested(x):
    s = 0.0
    for i in range(len(x)):
        u = x[i]
        for j in range(i):
            u = u * 0.5 + x[j] * np.sin(s)
        s = s + u * u
    return s


LOOPS = {f.__name__: f for f in (smoothed, divided, chosen, left_early, kept, nested)}


def bits(value):
    return type(value), np.asarray(value).tobytes()


@pytest.mark.parametrize("name", LOOPS)
def test_values_and_gradients_have_the_bits_of_eager_calls(name):
    compiled, gradient = tg.compile(LOOPS[name]), tg.value_and_grad(LOOPS[name])
    for x in (X, X[:11], -X, X[::-1].copy(), X * 3.0):
        assert bits(compiled(x)) == bits(LOOPS[name](x))
        t = tg.tensor(x, requires_grad=True)
        eager = LOOPS[name](t)
        eager.backward()
        value, ct = gradient(x)
        assert bits(value) == bits(eager.detach().numpy()[()])
        np.testing.assert_array_equal(ct, t.grad.numpy())  # signs of zeros aside
    text = gradient.source(-X)
    assert name == "left_early" or any(
        python in text for python in ("float(", ".tolist()", ".item(")
    )


@pytest.mark.parametrize("name", ["smoothed", "chosen", "kept", "nested"])
def test_second_derivatives_are_those_of_differences(name):
    x = np.linspace(0.2, 1.1, 9)
    found = tg.hessian(LOOPS[name])(x)
    step = 1e-6
    gradient = tg.grad(LOOPS[name])
    for i in range(0, 9, 4):
        e = np.zeros(9)
        e[i] = step
        column = (gradient(x + e) - gradient(x - e)) / (2 * step)
        np.testing.assert_allclose(found[:, i], column, rtol=1e-4, atol=1e-4)


def test_a_division_by_zero_is_numpys():
    compiled = tg.compile(divided)
    compiled(X)
    x = np.where(np.arange(23) == 7, 0.0, np.abs(X))
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        assert bits(compiled(x)) == bits(divided(x))
    assert np.isfinite(divided(x)) or told

    def always(x):
        s = 1.0
        for v in x:
            s = s / v
        return s

    compiled = tg.compile(always)
    compiled(X)
    with pytest.warns(RuntimeWarning, match="divide by zero"):
        assert compiled(np.zeros(9)) == np.inf
    assert isinstance(compiled(X), np.float64)


@pytest.mark.parametrize("name", ["smoothed", "divided", "nested"])
def test_where_numpy_raises_for_overflow_compiled_calls_do(name):
    compiled = tg.compile(LOOPS[name])
    compiled(X)
    huge = np.where(np.arange(23) % 2 == 0, 1e200, -1e200)
    for function in (LOOPS[name], compiled):
        with np.errstate(all="raise"), pytest.raises(FloatingPointError):
            function(huge)
    with np.errstate(all="ignore"):
        assert bits(compiled(huge)) == bits(LOOPS[name](huge))
    with np.errstate(over="raise"):
        assert bits(compiled(X)) == bits(LOOPS[name](X))


def test_a_few_turns_and_arrays_alone_are_left_as_they_are():
    def few(x):
        s = x[0]
        for i in range(3):
            s = s * x[i] + 1.0
        return s

    def rows(x):
        h = x[0]
        for row in x:
            h = np.tanh(h * 0.5 + row)
        return h.sum()

    assert "float(" not in tg.compile(few).source(X)
    assert "float(" not in tg.compile(rows).source(np.ones((23, 3)))
