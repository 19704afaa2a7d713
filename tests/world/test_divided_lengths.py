"""Lengths that Python divides, or counts elements by: a program is for all of them."""

from __future__ import annotations

import numpy as np
import pytest
from checks import assert_close, assert_same_bits, run_eagerly, split

import tracegrad as tg


def halves(x, y):
    h = len(x) // 2
    return (x[:h] * x[h : 2 * h]).sum() - x[h:].sum()


def thirds(x, y):
    q, r = divmod(len(x), 3)
    return x[q] * x[2 * q] + r * x[-1]


def rows_of_four(x, y):
    n = len(x) // 4
    return (x[: 4 * n].reshape(n, 4).sum(axis=1) ** 2).sum()


def odd_or_even(x, y):
    return x.sum() if len(x) % 2 else 2.0 * x.sum()


def middle(x, y):
    s, n = np.sort(x), len(x)
    return s[n // 2] if n % 2 == 1 else (s[n // 2 - 1] + s[n // 2]) / 2


def as_many_as(x, y):
    return (x[: len(y)] * y).sum() if len(y) <= len(x) else (x * y[: len(x)]).sum()


def shorter_of_both(x, y):
    n = min(len(x), len(y))
    return x[:n] @ y[:n]


def last_ones(x, y):
    return (x[len(x) - len(y) :] ** 2).sum() if len(x) >= len(y) else y.sum()


def behind_the_end(x, y):
    return x[: len(x) + 3].sum() * y[: 2 * len(y) + 1].sum()


def at_a_length(x, y):
    return x[len(x) // 3] * y[len(y) - 1] + x[0]


def batches(x, y):
    total, size = 0.0, len(y)
    for i in range(len(x) // size):
        total = total + (x[i * size : (i + 1) * size] * y).sum() ** 2
    return total


def quotient_of_lengths(x, y):
    return x.sum() * (len(x) // len(y)) + (len(x) % len(y)) * y.sum()


def written(x, y):
    out = tg.zeros(len(x) + len(y))
    out[: len(x)] = x
    out[len(x) :] = y * 2.0
    return (out * out).sum()


def signs_of_zeros(x, y):
    h = len(x) // 2
    return x[:h].sum() * -0.0 + x[h:].sum() * -0.0 + x[h] * -0.0 + y.sum()


def signs_of_elements(x, y):
    q = len(x) // 3
    return x[q] * -0.0 + x[2 * q] * -0.0 + x[0] * -0.0 + x[: len(y)].sum() * -0.0


PROGRAMS = {
    halves: 2,
    thirds: 1,
    rows_of_four: 1,
    odd_or_even: 2,
    middle: 2,
    as_many_as: 3,
    shorter_of_both: 3,
    last_ones: 3,
    behind_the_end: 1,
    at_a_length: 1,
    quotient_of_lengths: 1,
    written: 1,
    signs_of_zeros: 3,
    signs_of_elements: 16,
}
"""With how many programs each may have for 120 pairs of lengths."""

LENGTHS = [(n, m) for n in (3, 4, 5, 8, 9, 13, 30, 31) for m in (1, 2, 3, 4, 5, 7, 8, 12, 20)]


def arrays(n, m):
    rng = np.random.default_rng(100 * n + m)
    return rng.normal(size=n), rng.normal(size=m)


@pytest.mark.parametrize("f", [*PROGRAMS, batches], ids=lambda f: f.__name__)
def test_one_program_is_for_all_lengths(f):
    made, value = tg.value_and_grad(f, (0, 1)), tg.compile(f)
    for n, m in np.random.default_rng(0).permutation(LENGTHS):
        x, y = arrays(n, m)
        assert_same_bits(split(made(x, y)), run_eagerly(f, (x, y), (0, 1)))
        assert_same_bits(value(x, y), f(x, y))
    if f in PROGRAMS:
        assert made.cache_info().versions <= PROGRAMS[f]
        assert value.cache_info().versions <= PROGRAMS[f]


@pytest.mark.parametrize("f", [f for f in PROGRAMS if f is not middle], ids=lambda f: f.__name__)
def test_source_for_jax_knows_them_too(f):
    made = tg.value_and_grad(f, (0, 1), backend="jax")
    for n, m in [(9, 4), (4, 9), (8, 8), (30, 7)]:
        x, y = arrays(n, m)
        found, expected = split(made(x, y)), run_eagerly(f, (x, y), (0, 1))
        for one, other in zip(found, expected, strict=True):
            assert_close(one, other, 1e-12)


@pytest.mark.parametrize("f", [halves, thirds, middle, as_many_as, written])
def test_what_is_exported_knows_them(f, tmp_path):
    path = tmp_path / "exported.py"
    tg.value_and_grad(f, (0, 1)).export(path, *arrays(9, 4))
    exported = tg.load(path, f)
    for n, m in [(9, 4), (13, 3), (31, 12)]:
        x, y = arrays(n, m)
        assert_same_bits(split(exported(x, y)), run_eagerly(f, (x, y), (0, 1)))


def test_second_derivatives():
    def f(x):
        h = len(x) // 2
        return (x[:h] ** 3).sum() * x[h:].sum()

    made = tg.hessian(f)
    for n in (4, 5, 9):
        x = np.arange(1.0, n + 1)
        step = 1e-6
        differences = [
            (tg.grad(f)(x + step * e) - tg.grad(f)(x - step * e)) / (2 * step) for e in np.eye(n)
        ]
        assert_close(made(x), np.array(differences), 1e-6)


def test_an_index_behind_the_end_raises_as_in_the_function():
    def f(x, y):
        return x[len(y)] * 2.0

    made = tg.value_and_grad(f)
    assert_close(made(np.ones(5), np.ones(4))[0], 2.0, 0)
    for _ in range(2):
        with pytest.raises(IndexError):
            made(np.ones(4), np.ones(4))
    assert_close(made(np.ones(9), np.ones(3))[0], 2.0, 0)
    assert_close(made(np.ones(3), np.ones(0))[0], 2.0, 0)


def test_division_by_a_length_of_zero_raises_as_in_the_function():
    def f(x, y):
        return x.sum() * (len(x) // len(y))

    made = tg.value_and_grad(f)
    assert_close(made(np.ones(5), np.ones(2))[0], 10.0, 0)
    with pytest.raises(ZeroDivisionError):
        made(np.ones(5), np.ones(0))
    assert_close(made(np.ones(7), np.ones(2))[0], 21.0, 0)
