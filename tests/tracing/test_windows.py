"""Slices whose ends turns count stay slices in loops: ``x[i : i + 4]``.

Their width is the same in all turns, and nothing is cut off at the ends of the array. Bits are
those of eager runs, signs of zeros too.
"""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from checks import assert_same_bits

import tracegrad as tg

W = np.array([0.5, -0.25, -0.0, 0.3])
NONE = np.array([-0.0, 0.0, -0.0, -0.0])


def moving(x):
    total = 0.0
    for i in range(len(x) - 4):
        total = total + np.sum(x[i : i + 4]) ** 2
    return total


def gathered(x):
    means = []
    for i in range(len(x) - 3):
        means.append(np.mean(x[i : i + 4] * W))
    return np.sum(np.array(means) ** 2)


def comprehension(x):
    return np.sum(np.array([np.max(x[i : i + 5]) for i in range(len(x) - 4)]) ** 2)


def convolution(x):
    k = len(W)
    y = np.zeros(len(x) - k + 1)
    for i in range(len(x) - k + 1):
        y[i] = np.dot(x[i : i + k], W)
    return np.sum(y**2)


def regression(x):
    total = 0.0
    for t in range(4, len(x)):
        total = total + (x[t] - np.dot(W, x[t - 4 : t][::-1])) ** 2
    return total


def backwards(x):
    total = 0.0
    for t in range(4, len(x)):
        total = total + np.sin(x[t] - np.dot(W[:3], x[t - 1 : t - 4 : -1]))
    return total


def generated(x):
    y = np.zeros(len(x))
    y[:3] = x[:3]
    for t in range(3, len(x)):
        y[t] = 0.1 * (y[t - 3 : t] @ W[:3]) + x[t]
    return np.sum(y**2)


def written(x):
    y = np.zeros(len(x) * 2)
    for i in range(len(x)):
        y[2 * i : 2 * i + 2] = np.sin(x[i])
    return np.sum(y**3)


def overlapping(x):
    y = np.zeros(len(x) + 3)
    for i in range(len(x)):
        y[i : i + 4] += x[i] * W
    return np.sum(y**3)


def taken_away(x):
    y = x * 2.0
    for i in range(len(x) - 4):
        y[i : i + 3] -= y[i + 1 : i + 4] * x[i]
    return np.sum(np.sin(y))


def shifted(x):
    y = x * 1.0
    for i in range(len(x) - 4):
        y[i + 2 : i + 4] = np.tanh(y[i : i + 2]) + x[i + 1 : i + 3]
    return np.sum(y**2)


def pairs(x):
    total = 0.0
    for i in range(len(x) // 2):
        a = x[2 * i : 2 * i + 2]
        total = total + a[0] * a[1]
    return total


def rows(x):
    table, total = np.outer(x, W[:3]), 0.0
    for i in range(len(x) - 2):
        total = total + np.sum(table[i : i + 2, :] * table[i : i + 2] ** 2)
    return total


def columns(x):
    table, total = np.outer(W[:3], x), 0.0
    for i in range(len(x) - 2):
        total = total + np.sum(table[:, i : i + 2]) ** 2 + np.sum(table[1, i : i + 2])
    return total


def minibatches(x):
    b, w = 4, np.ones(1)
    data = x.reshape(-1, 1)
    for k in range(len(data) // b):
        batch = data[k * b : (k + 1) * b]
        w = w - 0.01 * batch.T @ (batch @ w - 1.0)
    return np.sum(w**2)


def epochs(x):
    w = x[0] * 0 + 1.0
    for _ in range(9):
        for k in range(0, len(x) - len(x) % 4, 4):
            batch = x[k : k + 4]
            w = w - 0.01 * np.mean(batch * (batch * w - 1.0))
    return w**2


def image(x):
    table, kernel = np.outer(x[:10], x[10:20]), np.arange(9.0).reshape(3, 3)
    out = np.zeros((8, 8))
    for i in range(8):
        for j in range(8):
            out[i, j] = np.sum(table[i : i + 3, j : j + 3] * kernel)
    return np.sum(out**2)


def state(x):
    h = np.zeros(3)
    for t in range(3, len(x)):
        h = np.tanh(0.5 * h + x[t - 3 : t])
    return np.sum(h)


def every_second(x):
    total = 0.0
    for i in range(len(x) - 6):
        total = total + np.sum(np.sin(x[i : i + 6 : 2]))
    return total


def downwards(x):
    total = 0.0
    for t in range(len(x) - 1, 3, -1):
        total = 0.9 * total + np.sum(x[t - 3 : t] * x[t])
    return total


def halved(x):
    total = 0.0
    for i in range(len(x)):
        total = total + np.sum(x[i // 2 : i // 2 + 2] * x[i % 3 : i % 3 + 2])
    return total


def helped(x):
    def part(i, n):
        return x[i : i + n]

    total = 0.0
    for i in range(len(x) - 3):
        total = total + np.prod(part(i, 2) + part(i + 1, 2))
    return total


def of_own_arrays(x):
    y, weights, places = np.zeros(50), np.arange(30.0), np.arange(50)
    for i in range(20):
        y[i : i + 4] += x[i] * weights[i : i + 4]
        y[places[i : i + 2]] = 0.25
        y[i : i + 1] = 0.5
    return np.sum(y**2)


def derived(x):
    table, total = np.outer(x, x), 0.0
    for i in range(len(x) - 3):
        total = total + np.sum(tg.grad(lambda a, i=i: np.sum(a[i, i : i + 3] ** 2))(table))
    return total


def in_arms(x):
    total = 0.0
    for t in range(4, len(x)):
        if x[t] > 0:
            total = total + np.dot(x[t - 4 : t], W)
        else:
            total = total * 0.5 - np.prod(x[t - 2 : t])
    return total


def left_early(x):
    total = 0.0
    for i in range(len(x) - 3):
        total = total + np.sum(x[i : i + 4] * W)
        if total > 1.5:
            break
    return total


def no_weight(x):
    total = 0.0
    for i in range(len(x) - 3):
        total = total + np.sum(x[i : i + 4] * NONE)
    return total


def no_weight_apart(x):
    total = 0.0
    for i in range(len(x) // 4):
        total = total + np.sum(x[4 * i : (i + 1) * 4] * NONE)
    return total


def no_weight_of_several(x):
    total = 0.0
    for t in range(4, len(x) - 4):
        total = total - 0.0 * x[t + 3] + np.dot(x[t - 4 : t], NONE) + np.dot(x[t : t + 4], NONE)
    return total


def no_weight_of_columns(x):
    table, total = np.outer(W[:2], x), 0.0
    for t in range(len(x) - 2):
        total = total + np.sum(table[:, t : t + 2] * -0.0) + np.sum(table[:, t] * -0.0)
    return total


LOOPS = [
    *(moving, gathered, comprehension, convolution, regression, backwards, generated, written),
    *(overlapping, taken_away, shifted, pairs, rows, columns, minibatches, epochs, image, state),
    *(every_second, downwards, halved, helped, in_arms, left_early),
    *(of_own_arrays, derived),
    *(no_weight, no_weight_apart, no_weight_of_several, no_weight_of_columns),
]


def cut_at_the_end(x):
    total = 0.0
    for i in range(len(x)):
        total = total + np.mean(x[i : i + 4]) ** 2
    return total


def rest_in_the_last(x):
    total = 0.0
    for i in range(0, len(x), 7):
        total = total + np.sum(np.sin(x[i : i + 7])) ** 2
    return total


def from_before_the_first(x):
    total = 0.0
    for i in range(len(x)):
        total = total + np.sum(x[i - 2 : i + 1]) ** 2
    return total


def up_to_the_first(x):
    total = 0.0
    for i in range(2, len(x)):
        total = total + np.sum(x[i : i - 3 : -1]) ** 2
    return total


def growing(x):
    total = 0.0
    for i in range(1, len(x)):
        total = total + np.mean(x[i // 2 : i]) if i > 1 else total
    return total


OTHERS = [cut_at_the_end, rest_in_the_last, from_before_the_first, up_to_the_first, growing]


@pytest.fixture(autouse=True)
def quiet():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def eagerly(transformed, *args):
    before, tg.config.compile = tg.config.compile, False
    try:
        return transformed(*args)
    finally:
        tg.config.compile = before


def given(n, seed=0):
    return np.random.default_rng([n, seed]).normal(size=n)


def is_loop(function):
    return "loops that are unrolled" not in str(function.explain())


def assert_same_as_eager(compiled, function, lengths):
    for seed, n in enumerate(lengths):
        x = given(n, seed)
        expected = eagerly(tg.value_and_grad(function), x)
        for a, b in zip(compiled(x), expected, strict=True):
            assert_same_bits(a, b)


@pytest.mark.parametrize("function", LOOPS)
def test_loops_over_windows_stay_loops_with_the_bits_of_eager_runs(function):
    compiled = tg.value_and_grad(function)
    assert_same_as_eager(compiled, function, (28, 36))
    assert is_loop(compiled), compiled.explain()
    assert_same_as_eager(compiled, function, (24, 28))


@pytest.mark.parametrize("function", OTHERS)
def test_windows_of_several_widths_have_the_bits_of_eager_runs(function):
    assert_same_as_eager(tg.value_and_grad(function), function, (15, 14))


def test_a_window_stands_in_the_source_as_the_user_wrote_it():
    source = tg.value_and_grad(moving).source(given(40))
    assert "x[i : i + 4].sum()" in source
    assert "x_bar[i : i + 4]" in source
    source = tg.grad(written).source(given(40))
    assert "y[2 * i : 2 * i + 2] = np.sin(x[i])" in source
    assert "y_bar[2 * i : 2 * i + 2] = 0.0" in source
    source = tg.grad(overlapping).source(given(40))
    assert "y_bar[i : i + 4] * W" in source
    assert "copy" not in source
    source = tg.grad(columns).source(given(40))
    assert "table_bar[:, i : i + 2]" in source and "table_bar[1, i : i + 2]" in source


def test_a_window_that_a_shorter_array_cuts_off_is_seen():
    def first(x):
        total = 0.0
        for i in range(10):
            total = total + np.sum(x[i : i + 4]) ** 2
        return total

    assert_same_as_eager(tg.value_and_grad(first), first, (20, 13, 12, 11, 30, 13))


def test_windows_are_differentiated_twice_and_batched():
    x, v = given(24), given(24, 1)
    for function in (regression, overlapping, columns):
        for transform in (tg.hvp, tg.jvp):
            expected = eagerly(transform, function, (x,), (v,))
            found = transform(function, (x,), (v,))
            np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-14)
        both = np.stack([x, v])
        expected = np.stack([eagerly(tg.grad(function), x), eagerly(tg.grad(function), v)])
        np.testing.assert_allclose(tg.vmap(tg.grad(function))(both), expected, rtol=1e-12)


@pytest.mark.parametrize(
    "function",
    [moving, backwards, overlapping, shifted, columns, minibatches, image, every_second, in_arms],
)
def test_windows_are_slices_of_a_scan_in_jax(function):
    pytest.importorskip("jax")
    compiled = tg.value_and_grad(function, backend="jax")
    x = given(36)
    value, gradient = compiled(x)
    expected = eagerly(tg.value_and_grad(function), x)
    np.testing.assert_allclose(value, expected[0], rtol=1e-12)
    np.testing.assert_allclose(gradient, expected[1], rtol=1e-10, atol=1e-14)
    assert is_loop(compiled), compiled.explain()
    assert "dynamic_slice_in_dim" in compiled.source()


@pytest.mark.parametrize("function", [moving, overlapping])
def test_windows_have_the_bits_of_eager_runs_with_numba(function):
    pytest.importorskip("numba")
    compiled = tg.value_and_grad(function, backend="numba")
    assert_same_as_eager(compiled, function, (24,))
    assert is_loop(compiled)
