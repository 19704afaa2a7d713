"""Names in programs for JAX: a function inside of another hides none that it reads from around.

Python takes a name that a function assigns for its own from the first line. What a function inside
is called takes no name that its call reads, and nobody asks for lengths by a name that stands for
something else by then.
"""

from __future__ import annotations

import jax
import numpy as np
import pytest
from numpy.testing import assert_allclose

import tracegrad as tg


def awaited(x):
    s = 0.0
    v = np.sin(x[0] + s)
    while v < 0.9:
        s = s + 0.1
        v = np.sin(x[0] + s)
    return v


def awaited_product(x):
    s = 1.0
    v = np.sin(x[0] * s)
    while v < 0.9:
        s = s + 0.1
        v = np.sin(x[0] * s)
    return v


def awaited_where_it_is_named(x):
    s = 0.0
    while (v := np.sin(x.sum() + s)) < 0.9:
        s = s + 0.1
    return v


def left_where_it_is_tested(x):
    s = 0.0
    while True:
        v = np.sin(x[0] + s)
        if v >= 0.9:
            break
        s = s + 0.1
    return v


AWAITED = [awaited, awaited_product, awaited_where_it_is_named, left_where_it_is_tested]


@pytest.mark.parametrize("f", AWAITED, ids=lambda f: f.__name__)
def test_what_a_test_reads_from_before_the_loop(f):
    x = np.array([0.3, 0.4])
    found, expected = (tg.value_and_grad(f, backend=b)(x) for b in ("jax", "numpy"))
    jax.tree.map(lambda a, b: assert_allclose(a, b, rtol=1e-12), found, expected)


def trained(p, x, n):
    for _ in range(n):
        p = p - 0.1 * tg.grad(lambda w: np.sum(np.tanh(x @ w)[:, 0] ** 2))(p)
    return p


def trained_on_rows(p, x, n):
    for _ in range(n):
        p = p - 0.1 * tg.grad(lambda w: np.sum(np.tanh(x @ w)[[0, 0, 1]]))(p)
    return p


def trained_in_arms(p, x, n):
    for _ in range(n):
        if p[0, 0] > 0.5:
            p = p - 0.1 * tg.grad(lambda w: np.sum(np.tanh(x @ w)[:, 0] ** 2))(p)
        else:
            p = p + 0.2 * tg.grad(lambda w: np.sum(np.tanh(x @ w)[:, 0]))(p)
    return p


def length_of_turn(p, x, n):
    turn = np.tanh(x @ p)
    p = p + np.sum(np.cos(turn))
    for _ in range(n):
        p = p - 0.1 * tg.grad(lambda w: np.sum(np.tanh(x @ w)[:, 0] ** 2))(p)
    return p


def length_of_left(p, x, n):
    left = np.tanh(x @ p)
    p = p + np.sum(np.cos(left))
    for _ in range(n):
        p = np.sin(p) - 0.1 * np.sum(np.ones_like(x @ p)[:, 0] * p[0, 0])
        if p[0, 0] < -0.4:
            p = p * 2.0
            break
    return p


TRAINED = [trained, trained_on_rows, trained_in_arms, length_of_turn, length_of_left]


@pytest.mark.parametrize("f", TRAINED, ids=lambda f: f.__name__)
def test_what_is_read_for_its_length_alone(f):
    x = np.random.default_rng(1).normal(size=(5, 3))
    for_jax, for_numpy = (tg.compile(f, backend=b) for b in ("jax", "numpy"))
    for start in (1.0, -1.0, 1.0):
        p = np.full((3, 2), start)
        assert_allclose(for_jax(p, x, 12), for_numpy(p, x, 12), rtol=1e-10)


def carries_turn(x, n):
    turn = np.sin(x)
    s = turn
    for _ in range(n):
        s = np.sin(s) + 1.0
    return s


def carries_going(x, n):
    going = np.sin(x)
    s = going
    while s[0] < 3.0 * n:
        s = s + np.cos(s) + 1.5
    return s


def asks_taken(x, n):
    for _ in range(n):
        taken = x[0] > 1.0
        if taken:
            x = np.sin(x)
        else:
            x = x + 1.0
    return x


def asks_otherwise(x, n):
    for _ in range(n):
        otherwise = x[0] > 1.0
        if otherwise:
            x = np.sin(x)
        else:
            x = x + 1.0
    return x


def carries_left(x, n):
    left = np.sin(x)
    s = left
    for _ in range(n):
        s = s + np.cos(s) + 1.5
        if s[0] > 10.0:
            s = s * 2.0
            break
    return s


def counts_to_left(x, n):
    for k in range(n):
        left = n - k
        for j in range(left):
            x = np.sin(x) + 0.1 * j
            if x[0] > 1.2:
                x = x - 1.0
                break
    return x


def reads_carry(x, n):
    carry, s, u = np.cos(x), x, x
    for _ in range(n):
        s, u = np.sin(u) * carry, s + carry
    return s + u


def counts_carry(x, n):
    s, u = x, x
    for carry in range(n):
        s, u = np.sin(u) + carry, s * 0.5
    return s + u


NAMED = [
    reads_carry,
    counts_carry,
    carries_turn,
    carries_going,
    asks_taken,
    asks_otherwise,
    carries_left,
    counts_to_left,
]


@pytest.mark.parametrize("f", NAMED, ids=lambda f: f.__name__)
def test_variables_that_are_called_as_functions_are(f):
    def total(x, n):
        return np.sum(f(x, n))

    for_jax, for_numpy = (tg.value_and_grad(total, backend=b) for b in ("jax", "numpy"))
    for sign in (1.0, -1.0, 1.0):
        x = sign * np.array([0.3, 0.9])
        found, expected = for_jax(x, 12), for_numpy(x, 12)
        jax.tree.map(lambda a, b: assert_allclose(a, b, rtol=1e-10), found, expected)
