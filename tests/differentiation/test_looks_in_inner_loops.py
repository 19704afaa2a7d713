"""Looks in the turns of inner loops decide which gradients flow through those of outer ones."""

import numpy as np
import pytest
from checks import assert_close, assert_same_bits

import tracegrad as tg


def largest(b):
    n, m = b.shape
    best = 0.0
    for i in range(n):
        for j in range(m):
            best = max(best, b[i, j] * 2.0)
    return best


def largest_and_where_it_was_met(b):
    n, m = b.shape
    best, at, total = 0.0, 0, 0.0
    for i in range(n):
        for j in range(m):
            if b[i, j] > best:
                best, at = b[i, j], i
            total = total + b[i, j] * best
    return best * at + total


def table_and_largest_change(b):
    n, m = b.shape
    u = np.zeros((n, m))
    change = 0.0
    for i in range(1, n - 1):
        for j in range(1, m - 1):
            r = 0.25 * (u[i - 1, j] + u[i + 1, j] - b[i, j]) - u[i, j]
            u[i, j] += r
            change = max(change, abs(r))
    return (u * b).sum() + change


def sweeps(b):
    n, m = b.shape
    u = np.zeros((n, m))
    for _ in range(9):
        change = 0.0
        for i in range(1, n - 1):
            for j in range(1, m - 1):
                r = 0.25 * (u[i - 1, j] + u[i + 1, j] - b[i, j]) - u[i, j]
                u[i, j] += r
                change = max(change, abs(r))
    return (u * b).sum() + change


def smallest_of_largest(b):
    smallest = np.inf
    for row in b:
        top = -np.inf
        for v in row:
            if v > top:
                top = v
        if top < smallest:
            smallest = top
    return smallest * smallest


PROGRAMS = [
    *(largest, largest_and_where_it_was_met, table_and_largest_change),
    *(sweeps, smallest_of_largest),
]


def inputs():
    rng = np.random.default_rng(3)
    yield rng.normal(size=(10, 11))
    yield rng.normal(size=(10, 11))
    yield -np.abs(rng.normal(size=(10, 11)))
    yield np.round(rng.normal(size=(11, 10)))  # with ties


@pytest.mark.parametrize("program", PROGRAMS)
def test_bits_are_those_of_eager_and_loops_stay_loops(program, monkeypatch):
    compiled = tg.value_and_grad(program)
    for b in inputs():
        with monkeypatch.context() as context:
            context.setattr(tg.config, "compile", False)
            expected = tg.value_and_grad(program)(b)
        assert_same_bits(compiled(b), expected)
        assert_same_bits(compiled(b), expected)
    for b in inputs():
        assert len(compiled.source(b)) < 8000
    assert compiled.cache_info().versions <= 4


@pytest.mark.parametrize("program", [largest, table_and_largest_change])
def test_jax_has_the_same_numbers(program):
    pytest.importorskip("jax")
    b = next(inputs())
    assert_close(tg.grad(program, backend="jax")(b), tg.grad(program)(b), 1e-12)


def test_second_derivatives(monkeypatch):
    def curved(b):
        best = 0.0
        for row in b:
            for v in row:
                best = max(best, v * v * v)
        return best * best

    b = next(inputs())[:9, :9]
    found = tg.hvp(curved)(b, np.ones_like(b))
    monkeypatch.setattr(tg.config, "compile", False)
    assert_same_bits(found, tg.hvp(curved)(b, np.ones_like(b)))


def test_a_loop_that_gives_no_gradient_is_not_gone_back_through():
    """The rows that are not the widest get none."""

    def widest(table, weights):
        best, at = 0.0, 0
        for i in range(len(table)):
            low, high = table[i, 0], table[i, 0]
            for j in range(table.shape[1]):
                v = table[i, j] * weights[j]
                low, high = min(low, v), max(high, v)
            if high - low > best:
                best, at = high - low, i
        return best * (1.0 + 0.1 * at)

    gradient = tg.grad(widest)
    gradient(next(inputs()), np.ones(11))
    backward = gradient.source(next(inputs()), np.ones(11)).partition("# backward")[2]
    assert backward.count("in reversed(range(table.shape[1]))") == 1
