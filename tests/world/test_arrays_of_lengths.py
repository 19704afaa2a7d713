"""Functions that make arrays as long as their arguments enter; one program serves all lengths.

Values have the bits of NumPy, gradients those of the eager tape. What needs arrays of numbers gets
them: then there is a program for each length, and the values are right all the same.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from checks import assert_same_bits

import tracegrad as tg

LENGTHS = (20, 23, 26, 9, 32, 20)


# -- one program ----------------------------------------------------------------------------------


def recurrence(x):
    y = np.zeros(len(x))
    y[0] = x[0]
    for i in range(1, len(x)):
        y[i] = 0.5 * y[i - 1] + x[i]
    return np.sum(y * y)


def rows_filled(x):
    y = np.zeros((x.shape[0], 2))
    for i in range(x.shape[0]):
        y[i] = x[i]
    return np.sum(y * y)


def one_longer(x):
    y = np.zeros(len(x) + 1)
    for i in range(len(x)):
        y[i + 1] = y[i] + x[i]
    return y[-1] ** 2 + np.sum(y)


def differences(x):
    out = np.zeros(len(x) - 1)
    for i in range(len(x) - 1):
        out[i] = x[i + 1] - x[i]
    return np.sum(out**2)


def kernel_matrix(x):
    n = len(x)
    k = np.zeros((n, n))
    for i in range(n):
        for j in range(n):
            k[i, j] = np.exp(-((x[i] - x[j]) ** 2))
    return np.sum(k)


def weights(x):
    w = np.ones(len(x))
    w[0] = w[-1] = 0.5
    w = w / len(x)
    total = 0.0
    for i in range(len(x)):
        total = total + w[i] * x[i] ** 2
    return total


def neighbours(x):
    total = 0.0
    for a, b in zip(x, x[1:]):  # noqa: RUF007
        total = total + (a - b) ** 2 * a
    return total


def neighbours_in_pairs(x):
    total = 0.0
    for a, b in pairwise(x):
        total = total + (a - b) ** 2 * a
    return total


def backwards(x):
    total = 0.0
    for i in range(len(x) - 1, -1, -1):
        total = total * 0.5 + x[i]
    return total


def backwards_from_the_last_but_one(x):
    total = 0.0
    for i in range(len(x) - 2, -1, -1):
        total = total * 0.5 + x[i] * x[i + 1]
    return total


def reversed_numbers(x):
    total = 0.0
    for i in reversed(range(len(x))):
        total = total * 0.5 + x[i]
    return total


def times(x):
    return np.sum(x * np.arange(len(x))) + np.sum(x[1:] * np.arange(1, len(x)))


def of_every_maker(x):
    n = len(x)
    y = np.eye(n) @ x + np.identity(n) @ x + np.full(n, 2.0) * x + np.full(x.shape, x[0])
    return np.sum(y * np.ones(x.shape[0])) + np.sum(np.empty((n,)) * 0 + x)


def masked(x):
    mask = np.zeros(len(x), dtype=bool)
    mask[::2] = True
    return np.sum(x[mask])


def even_places(x):
    at = np.arange(len(x))
    at = at[at % 2 == 0]
    return np.sum(x[at])


def two_names(x):
    a = np.zeros(len(x))
    b = a
    b[0] = 1
    a[1] = x[1]
    return np.sum(a * x) + np.sum(b)


def skew(x):
    n = len(x)
    a, i = np.zeros((n, n)), np.arange(n - 1)
    a[i, i + 1] = 1.0
    a[i + 1, i] = -1.0
    return x @ a @ x**2


def single_precision(x):
    y = np.empty(len(x), dtype=np.float32)
    y[:] = x
    return np.sum(y * y)


def from_the_end(x):
    n = len(x)
    y = np.zeros(n)
    y[: n - 1] = x[1:n]
    y[n - 1] = x[0]
    return np.sum(y * x) + np.sum(x[1:n] - x[: n - 1]) + x[n - 1] * x[n - 2] + np.sum(x[n - 3 :])


def columns_from_the_end(x):
    n = x.shape[0]
    y = x[:, None] * np.ones((n, 3))
    return np.sum(y[: n - 2, 1] * y[2:n, 0]) + y[n - 1, 2]


def longer_by_one(x):
    n = len(x)
    y = np.zeros(n + 1)
    y[1 : n + 1] = np.cumsum(x)
    return np.sum(y[:n] * x)


ONE = [
    *(from_the_end, columns_from_the_end, longer_by_one),
    *(recurrence, rows_filled, one_longer, differences, kernel_matrix, weights, neighbours),
    neighbours_in_pairs,
    *(backwards, backwards_from_the_last_but_one, reversed_numbers, times, of_every_maker, masked),
    *(even_places, two_names, skew, single_precision),
]


def check(f: Callable[..., Any], compiled: Any) -> None:
    for n in LENGTHS:
        x = np.linspace(0.1, 1.0, n) ** 2
        value, gradient = compiled(x)
        assert value == f(x), n
        tg.config.compile = False
        try:
            expected = tg.value_and_grad(f)(x)
        finally:
            tg.config.compile = True
        assert_same_bits([value, gradient], list(expected), f"{n}")


@pytest.mark.parametrize("f", ONE, ids=lambda f: f.__name__)
def test_one_program_for_all_lengths(f: Any) -> None:
    compiled = tg.value_and_grad(f)
    check(f, compiled)
    assert compiled.cache_info().traces == 1


def test_what_is_returned_is_an_array() -> None:
    compiled = tg.compile(
        lambda x: (np.zeros(len(x)), np.arange(len(x)), np.eye(len(x), dtype=int))
    )
    for n in LENGTHS:
        for found, expected in zip(
            compiled(np.ones(n)), (np.zeros(n), np.arange(n), np.eye(n, dtype=int)), strict=True
        ):
            assert type(found) is np.ndarray and found.dtype == expected.dtype
            assert np.array_equal(found, expected)
    assert compiled.cache_info().traces == 1


def test_labels_are_looked_up_in_batches_of_any_size() -> None:
    def loss(w, x, labels):
        h = np.tanh(x @ w)
        return -np.mean(h[np.arange(len(labels)), labels])

    compiled, random = tg.value_and_grad(loss), np.random.default_rng(0)
    for n in (32, 7, 20):
        args = random.normal(size=(3, 4)), random.normal(size=(n, 3)), random.integers(4, size=n)
        assert compiled(*args)[0] == loss(*args)
    assert compiled.cache_info().traces == 1


def test_more_from_the_end_than_there_is() -> None:
    def f(x):
        n = len(x)
        return np.sum(x[: n - 12]) + x[0]

    compiled = tg.value_and_grad(f)
    for n in (20, 15, 12, 11, 5, 20):
        x = np.linspace(1.0, 2.0, n)
        assert compiled(x)[0] == f(x)


# -- arrays of numbers ----------------------------------------------------------------------------


def shuffled(x):
    places = np.arange(len(x))
    np.random.default_rng(0).shuffle(places)
    return np.sum(x[places] * np.arange(1.0, len(x) + 1))


def as_a_list(x):
    out = np.zeros(len(x)).tolist()
    for i, v in enumerate(x):
        out[i] = v * i
    return sum(out)


def keys_of_a_dict(x):
    known = {int(k): k for k in np.arange(len(x))}
    return np.sum(x) * len(known)


def in_columns(x):
    k = np.zeros((len(x), len(x)), order="F")
    return np.sum((np.eye(len(x)) + k) @ x)


def in_c_code(x):
    weights = np.frombuffer(np.ones(len(x)).tobytes())
    return np.sum(weights * x)


@pytest.mark.filterwarnings("ignore::tracegrad.errors.RecompileWarning")
@pytest.mark.parametrize(
    "f", [shuffled, as_a_list, keys_of_a_dict, in_columns, in_c_code], ids=lambda f: f.__name__
)
def test_what_needs_numbers_has_them(f: Any) -> None:
    check(f, tg.value_and_grad(f))


def test_a_function_that_raised_once_is_as_before() -> None:
    def f(x, y):
        return np.sum((np.zeros(len(x)) + x) * y)

    compiled = tg.value_and_grad(f)
    with pytest.raises(ValueError):
        compiled(np.ones(20), np.ones(21))
    for n in LENGTHS:
        compiled(np.ones(n), np.ones(n))
    assert compiled.cache_info().versions == 1


class Raises:
    def __call__(self, x, y=None):
        raise ValueError(f"no {len(x)} of them")


@pytest.mark.parametrize("f", [Raises(), partial(Raises(), y=2), partial(Raises().__call__, y=2)])
def test_the_error_of_a_function_without_code_is_its_own(f):
    for transform in (tg.grad, tg.compile):
        with pytest.raises(ValueError, match="no 3 of them"):
            transform(f)(np.ones(3))
