"""``x[i] += v`` is one op on `x`, whoever has the number `i`: one order of sums, in all modes."""

from __future__ import annotations

import numpy as np
import pytest
from checks import assert_same_bits, function_of

import tracegrad as tg

pytestmark = pytest.mark.usefixtures("fresh_loops")

PLACES = np.array([3, 1, 0, 7, 2, 5, 6, 4, 8])

ELEMENTS = {
    "counter": "for i in range(9):",
    "counter_of_a_while": "i = -1\nwhile i < 8:\n    i += 1",
    "few_turns": "for i in range(5):",
    "array_from_outside": "for i in PLACES:",
    "argument": "for i in places:",
    "int_of_an_argument": "for t in range(9):\n    i = int(places[t])",
    "place_of_the_largest": "for t in range(9):\n    i = np.argmax(x)",
    "int_of_that": "for t in range(9):\n    i = int(np.argmax(x))",
}
UPDATES = {
    "adds": "x[i] += b[i] - A[i] @ x - x[i]",
    "subtracts": "x[i] -= np.sin(A[i] @ x) * x[i - 1]",
    "adds_to_a_row": "X[i] += b - np.tanh(A[i] @ X) - X[i]",
    "subtracts_from_a_column": "X[:, i] -= b - np.tanh(X @ A[i]) - X[:, i]",
    "adds_to_an_element": "X[i, 2] += b[i] - np.tanh(X[i] @ X[2]) - X[2, i] * X[i, 2]",
    "adds_to_a_part_of_a_row": "X[i, 1:4] += b[1:4] - np.tanh(A[i] @ X)[:3] - X[i, :3]",
    "adds_to_a_row_by_name": "row = X[i]\nrow += b - np.tanh(A[i] @ X) - X[i]",
    "multiplies_a_row": "X[i] *= b - np.tanh(A[i] @ X) - X[i]",
}


def made(head: str, update: str):
    head = head.replace("\n", "\n    ")
    lines = "".join(f"        {line}\n" for line in update.splitlines())
    text = f"""
PLACES = np.array({PLACES.tolist()})
def f(A, b, places):
    x = b.copy()
    X = A.copy()
    {head}
{lines}    return x @ b + np.sum(X @ b)
"""
    return function_of(text)


def inputs(n: int):
    for seed in range(n):
        random = np.random.default_rng(seed)
        yield random.normal(size=(9, 9)) * 0.5, random.normal(size=9), random.permutation(9)


@pytest.mark.parametrize("update", UPDATES)
@pytest.mark.parametrize("head", ELEMENTS)
def test_bits_are_those_of_eager_calls(head, update, monkeypatch):
    f = made(ELEMENTS[head], UPDATES[update])
    compiled = tg.value_and_grad(f, argnums=(0, 1))
    for args in inputs(4):
        found = compiled(*args)
        with monkeypatch.context() as patch:
            patch.setattr(tg.config, "compile", False)
            expected = tg.value_and_grad(f, argnums=(0, 1))(*args)
        assert_same_bits(found, expected)


@pytest.mark.parametrize("update", UPDATES)
@pytest.mark.parametrize("mode", ["hessian", "tangent", "tensors"])
def test_other_derivatives_are_those_of_eager_calls(update, mode, monkeypatch):
    f = made(ELEMENTS["counter"], UPDATES[update])

    def of_tensors(g):
        def call(A, b, places):
            leaves = [tg.tensor(a, requires_grad=True) for a in (A, b)]
            value = g(*leaves, places)
            value.backward()
            return value.item(), *[leaf.grad.numpy() for leaf in leaves]

        return call

    modes = {
        "hessian": lambda: tg.hessian(f, argnums=1),
        "tangent": lambda: lambda A, b, p: tg.jvp(lambda A, b: f(A, b, p), (A, b), (A, b)),
        "tensors": lambda: of_tensors(tg.compile(f)),
    }
    compiled = modes[mode]()
    for args in inputs(2):
        found = compiled(*args)
        with monkeypatch.context() as patch:
            patch.setattr(tg.config, "compile", False)
            expected = modes[mode]()(*args)
        assert_same_bits(found, expected)


def test_the_program_adds_where_the_function_does():
    f = made(ELEMENTS["counter"], UPDATES["adds_to_a_row"])
    A, b, places = next(inputs(1))
    assert "X[i] +=" in tg.compile(f).source(A, b, places)


def test_a_number_put_elsewhere_is_no_addition():
    """What was added to one element is assigned to another one."""

    def f(x):
        y = x * 2.0
        for i in range(9):
            v = y[i]
            v += x[i] * y[i - 1]
            y[i - 1] = v
        return np.sum(y * y)

    x = np.random.default_rng(0).normal(size=9)
    step = 1e-6 * np.eye(9)
    slopes = [(f(x + h) - f(x - h)) / 2e-6 for h in step]
    for _ in range(2):
        np.testing.assert_allclose(tg.grad(f)(x), slopes, rtol=1e-6)


def test_two_places_of_an_argument_are_told_apart():
    """The number that is read and the number that is written at are two values, equal or not."""

    def f(x, i, j):
        y = x * 2.0
        for _ in range(9):
            v = y[i[0]]
            v += np.sin(y[0])
            y[j[0]] = v
        return np.sum(y * y)

    x = np.random.default_rng(0).normal(size=3)
    gradient = tg.value_and_grad(f)
    for a, b in ((1, 1), (1, 2), (0, 0), (2, 0), (2, 2)):
        i, j = np.array([a]), np.array([b])
        value, found = gradient(x, i, j)
        assert value == f(x, i, j)
        slopes = [(f(x + h, i, j) - f(x - h, i, j)) / 2e-6 for h in 1e-6 * np.eye(3)]
        np.testing.assert_allclose(found, slopes, rtol=1e-5)
