"""Deques are read as lists are: arrays are made of their items, and calls read these anew."""

from __future__ import annotations

import warnings
from collections import deque
from functools import partial

import numpy as np
import pytest
from checks import assert_same_bits

import tracegrad as tg

X = np.array([0.5, 1.5])


def of_numbers(x, kind):
    found = kind()
    for i in range(4):
        found.append(np.sum(x ** (i + 1)))
    weights = np.arange(float(len(found)))
    return np.mean(np.array(found)) + np.max(found) + np.sum(np.asarray(found) * weights)


def of_arrays(x, kind):
    rows = kind([x, x * x, 2.0 * x])
    joined = np.sum(np.concatenate(rows)) + np.sum(np.vstack(rows) ** 2) + np.mean(rows)
    return joined + np.sum(np.stack(rows) * X) + np.sum(np.median(rows, axis=0))


def nested(x, kind):
    rows = kind([x, 2.0 * x])
    return np.sum(np.array(kind([rows, [x, x]])) ** 2) + np.sum(np.array([rows, rows]))


def beside_arrays(x, kind):
    row = kind([x[0], 2.0, x[1]])
    y = np.zeros(3)
    y[:] = row
    added = np.sum(x[0] * np.ones(3) + row) + np.dot(row, [1.0, 2.0, 3.0]) + y @ y
    return added + np.sum(np.where([True, False, True], row, 0.0)) + np.sum(np.outer(x, row))


def of_functions(x, kind):
    row = kind([x[0], 2.0, x[1]])
    return np.sum(np.exp(row) + np.multiply(row, row)) + np.linalg.norm(row) + np.polyval(row, 2.0)


def of_own(x, kind):
    row = kind([x[0], 2.0, x[1]])
    return np.sum(tg.stack(row)) + tg.sum(tg.asarray(row) ** 2)


MADE = (of_numbers, of_arrays, nested, beside_arrays, of_functions, of_own)


@pytest.mark.parametrize("compiles", [True, False])
@pytest.mark.parametrize("f", MADE, ids=lambda f: f.__name__)
def test_an_array_of_a_deque_is_that_of_the_list(f, compiles, monkeypatch):
    monkeypatch.setattr(tg.config, "compile", compiles)
    expected = tg.value_and_grad(lambda x: f(x, list))(X)
    for kind in (deque, partial(deque, maxlen=4)):
        gradient = tg.value_and_grad(lambda x, kind=kind: f(x, kind))
        for _ in range(2):
            assert_same_bits(gradient(X), expected)
        np.testing.assert_allclose(expected[0], np.asarray(f(X, kind)))


def test_the_last_losses_in_a_deque_from_outside():
    recent, plain = deque(maxlen=3), deque(maxlen=3)

    def loss(x, kept):
        found = np.sum(x**2)
        kept.append(found)
        return found + np.mean(np.array(kept))

    gradient = tg.value_and_grad(lambda x: loss(x, recent))
    for i in range(6):
        value, slope = gradient(X * i)
        np.testing.assert_allclose(value, loss(X * i, plain))
        np.testing.assert_allclose(slope, 2.0 * X * i * (1.0 + 1.0 / min(i + 1, 3)))
        assert all(type(x) is np.float64 for x in recent)
    np.testing.assert_allclose(recent, plain)


def stacked(x, rows):
    return np.mean(np.stack(rows) @ x)


def made(x, rows):
    return np.mean(np.array(rows) @ x) + np.sum(np.asarray(rows) * x)


def listed(x, rows):
    return np.mean(np.stack(list(rows)) @ x)


def gone_through(x, rows):
    total = 0.0
    for row in rows:
        total = total + row @ x
    return total


def counted(x, rows):
    return sum(i * (row @ x) for i, row in enumerate(rows)) + len(rows)


def indexed(x, rows):
    return rows[0] @ x + 2.0 * (rows[-1] @ x)


def backwards(x, rows):
    total = 0.0
    for row in reversed(rows):
        total = 0.5 * total + row @ x
    return total


READ = (stacked, made, listed, gone_through, counted, indexed, backwards)


@pytest.mark.usefixtures("fresh_loops")
@pytest.mark.parametrize("most", [3, None])
@pytest.mark.parametrize("f", READ, ids=lambda f: f.__name__)
def test_arrays_in_a_deque_from_outside_are_read_anew(f, most):
    rows = deque((X * i for i in range(3)), maxlen=most)
    gradient = tg.value_and_grad(lambda x: f(x, rows))
    for i in range(8):
        rows.append(np.sin(X * i))
        if most is None:
            rows.popleft()
        value, slope = gradient(X)
        np.testing.assert_allclose(value, f(X, rows))
        along = [f(X + step, rows) - f(X, rows) for step in np.eye(2)]  # it is linear
        np.testing.assert_allclose(slope, along)
    assert gradient.cache_info().versions == 1


@pytest.mark.parametrize("f", [np.mean, np.array, lambda x: np.asarray(x)[-1]])
def test_numbers_in_a_deque_from_outside_are_an_input(f):
    numbers = deque([0.0, 1.0, 2.0], maxlen=3)
    compiled = tg.compile(lambda x: np.sum(x) * f(numbers))
    for i in range(6):
        numbers.append(float(i * i))
        np.testing.assert_array_equal(compiled(X), np.sum(X) * f(numbers))
    assert compiled.cache_info().versions == 1


def test_a_deque_that_changes_between_reads():
    rows, plain = deque([X, 2.0 * X], maxlen=2), deque([X, 2.0 * X], maxlen=2)

    def moved(x, held):
        first = held[0] @ x
        held.append(held[-1] + 1.0)
        return first + np.sum(np.stack(held) @ x) + held[0] @ x

    compiled = tg.compile(lambda x: moved(x, rows))
    for _ in range(5):
        np.testing.assert_allclose(compiled(X), moved(X, plain))
        np.testing.assert_allclose(rows, plain)


def test_of_a_deque_that_the_function_makes_all_is_read_that_it_holds():
    rows = [X.copy(), 2.0 * X]
    compiled = tg.compile(lambda x: np.sum(np.array(deque([rows, rows]))) * x)
    for i in range(4):
        rows[i % 2] = X * (i + 3.0)
        np.testing.assert_allclose(compiled(X), np.sum(np.array([rows, rows])) * X)


def test_eager_tensors_in_a_deque():
    x = tg.tensor(X, requires_grad=True)
    (tg.stack(deque([x, 2.0 * x])).sum() + tg.asarray(deque([x[0], 1.0])).sum()).backward()
    np.testing.assert_allclose(x.grad.numpy(), [4.0, 3.0])


@pytest.mark.parametrize(
    "f",
    [
        lambda x: deque([x * 2.0, x]),
        lambda x: {"kept": deque([x[0], x * 2.0], maxlen=3)},
        lambda x: deque([x * v for v in x]),
        lambda x: [deque([(x[0], x * 2.0)])],
    ],
)
def test_a_deque_that_is_returned_holds_arrays(f):
    compiled = tg.compile(f)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it runs eagerly, and says so
        for size in (9, 9, 10):
            x = np.arange(1.0, size)
            assert repr(compiled(x)) == repr(f(x))
