"""Gradients through loops have the zeros that a tape gives: 0.0 where nothing flows."""

from __future__ import annotations

import numpy as np
import pytest
from checks import assert_same_bits

import tracegrad as tg

X = np.array([1.2, 1.8, -1.6, 1.8, -0.4, 1.2, 0.1, -2.3, 0.2, 1.9])


def a_list_by_arms(x):
    return [q if q > 0 else 0.1 * q for q in x][3]


def a_list_of_roots(x):  # of what is not read, the derivative is infinite
    return [np.sqrt(q) if q >= 0 else 0.1 * q for q in x][3]


def a_list_in_arms(x):
    found = []
    for q in x:
        if q > 0:
            found.append(q * 3.0)
        else:
            found.append(0.1 * q)
    return found[2] - found[5]


def a_list_added_up(x):
    return sum([q if q > 0 else 0.1 * q for q in x])


def overwritten(x):
    b = np.zeros(3)
    for v in x:
        b[2] = np.sin(v)
    return b.sum()


def overwritten_behind_the_first(x):
    b = np.zeros(3)
    for v in x[1:]:
        b[2] = np.sin(v)
    return b.sum()


def overwritten_by_number(x):
    b = np.zeros(3)
    for i in range(1, len(x)):
        b[2] = np.sin(x[i]) * x[i - 1]
    return b.sum()


def overwritten_by_distant_numbers(x):
    b = np.zeros(3)
    for i in range(2, len(x)):
        b[2] = np.sin(x[i]) * x[i - 2]
    return b.sum()


def one_place(x):
    z = 0.0
    for _ in x:
        z = np.tanh(x[1] + z)
    return z


def two_places(x):
    z = 0.0
    for _ in x:
        z = np.tanh(x[1] + x[2] * z)
    return z


def a_slice(x):
    z = np.zeros(2)
    for _ in x:
        z = np.tanh(x[1:3] + z)
    return z.sum()


def places_of_a_matrix(x):
    m, z = np.outer(x, x), 0.0
    for _ in x:
        z = np.tanh(m[1, 2] * z + m[2, 1])
    return z


FUNCTIONS = (
    *(a_list_by_arms, a_list_of_roots, a_list_in_arms, a_list_added_up),
    *(overwritten, overwritten_behind_the_first, overwritten_by_number),
    *(overwritten_by_distant_numbers, one_place, two_places, a_slice, places_of_a_matrix),
)
ARRAYS = (X, -X, np.where(X > 1.5, 0.0, X), np.ones(8))


def eager(make, x):
    before, tg.config.compile = tg.config.compile, False
    try:
        return make()(x)
    finally:
        tg.config.compile = before


@pytest.mark.filterwarnings("ignore:divide by zero:RuntimeWarning")
@pytest.mark.parametrize("seed", [1.0, -1.0, -0.0])
@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
def test_zeros_have_the_signs_of_a_tape(function, seed):
    def made():
        return lambda x: tg.vjp(function, x)[1](seed)

    for x in ARRAYS:
        expected = eager(made, x)
        for _ in range(2):
            assert_same_bits(made()(x), expected)


@pytest.mark.filterwarnings("ignore:divide by zero:RuntimeWarning")
@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
def test_so_have_gradients(function):
    for x in ARRAYS:
        expected = eager(lambda: tg.grad(function), x)
        gradient = tg.grad(function)
        for _ in range(2):
            assert_same_bits(gradient(x), expected)
