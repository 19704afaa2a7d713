"""Loops whose ranges depend on the number of a loop around have the bits of eager runs.

Of ``for i in range(n): for j in range(i)`` inner loops make none, one or many turns, from call to
call and within one.
"""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from checks import assert_same_bits

import tracegrad as tg


def pair_energies(x):
    n, energy = len(x), 0.0
    for i in range(n - 1):
        for j in range(i + 1, n):
            energy += (x[i] - x[j]) ** 2
    return energy


def below(x):
    total = 0.0
    for i in range(x.shape[0]):
        for j in range(i):
            total = total + np.sin(x[i] - x[j])
    return total


def rest(x):
    n, y = len(x), np.zeros(len(x))
    for i in range(n):
        for k in range(n - i):
            y[i + k] += x[i] * x[k]
    return np.sum(y**3)


def downward(x):
    total = 0.0
    for i in range(len(x)):
        for j in range(i, -1, -1):
            total = 0.9 * total + x[j] * x[i - j]
    return total


def in_steps(x):
    total = 0.0
    for i in range(0, len(x), 2):
        for j in range(i % 2, i, 3):
            total = total * 0.5 + x[i] * x[j]
        for j in range(len(x) - 1, i, -2):
            total = total + np.cos(x[j])
    return total


def turned_round(x):
    total = 0.0
    for i in range(len(x)):
        for j in reversed(range(i)):
            total = 0.8 * total + x[i] * x[j]
    return total


def none_at_first(x):
    total = 0.0
    for i in range(len(x)):
        for j in range(i - 4):
            total = total + x[i] * x[j]
    return total


def none_at_last(x):
    total = 0.0
    for i in range(len(x)):
        for j in range(i, 5):
            total = total + x[i] * x[j]
    return total


def two_in_a_turn(x):
    total = 0.0
    for i in range(len(x)):
        part = 1.0
        for j in range(i):
            part = part * np.cos(x[j])
        for j in range(i + 1, len(x)):
            part = part + np.sin(x[j])
        total = total + part * x[i]
    return total


def branching(x):
    total = 0.0
    for i in range(len(x)):
        for j in range(i + 1, len(x)):
            d = x[i] - x[j]
            if d > 0.1:
                total = total + d * d
            else:
                total = total - np.sin(d)
    return total


def behind_a_look(x):
    total = 0.0
    for i in range(len(x)):
        if x[i] > 0:
            for j in range(i):
                total = total + x[i] * x[j]
    return total


def left_inside(x):
    total = 0.0
    for i in range(len(x)):
        for j in range(i):
            if x[j] * x[i] > 1.0:
                break
            total = total + x[i] * x[j]
    return total


def taken_over_at_times(x):
    total, other = 0.0, 0.5
    for i in range(len(x) - 1):
        for j in range(i + 1, len(x)):
            total += np.sin(x[j] - x[i])
            for _ in range(i % 3):
                other = total
        total, other = other, total * 0.9
    return total + other


def last_of_each(x):
    total = 0.0
    for i in range(len(x)):
        last, part = x[i], 0.0
        for j in range(i, len(x)):
            last = np.sin(x[j] * x[i])
            part = np.tanh(part + x[j])
        total = total + last * part
    return total


def from_the_end(x):
    total = 0.0
    for i in range(len(x)):
        part = 1.0
        for j in range(i - 5, i):
            part = part * np.cos(x[j]) + x[j]
        total = total + part
    return total


def counting(x):
    total, pairs = 0.0, 0
    for i in range(len(x)):
        for j in range(i):
            if x[j] > x[i]:
                pairs += 1
            total = total + x[i] * x[j]
    return total / (1.0 + pairs)


def bound_in_turns(x):
    total, turns = 0.0, 0
    for i in range(len(x) - 1, -1, -1):
        turns = turns + 1
        total = total + 0.01 * turns
        for j in range(1, i + 1):
            total = total + x[j] * 0.3
            last = total  # the last turn of i has none of j
    return total + last


def table(x):
    n = len(x)
    ways = np.zeros((n + 1, n + 1))
    ways[0, 0] = 1.0
    for i in range(1, n + 1):
        for j in range(1, i + 1):
            ways[i, j] = ways[i - 1, j - 1] * x[i - 1] + ways[i - 1, j]
    return np.sum(ways[n])


def by_rows(x):
    total = 0.0
    for i, row in enumerate(x):
        for j in range(i):
            total = total + row * x[j]
    return total


def forces(r):
    force = np.zeros(r.shape)
    for i in range(len(r)):
        for j in range(i):
            d = r[i] - r[j]
            d = d / (np.sum(d * d) + 0.1)
            force[i] += d
            force[j] -= d
    return np.sum(force * force * r)


def cholesky(a):
    n = a.shape[0]
    low = np.zeros((n, n))
    for i in range(n):
        for j in range(i + 1):
            s = a[i, j]
            for k in range(j):
                s = s - low[i, k] * low[j, k]
            if i == j:
                low[i, j] = np.sqrt(s)
            else:
                low[i, j] = s / low[j, j]
    return np.sum(np.sin(low))


def elimination(a):
    n, u = a.shape[0], a * 1.0
    for k in range(n):
        for i in range(k + 1, n):
            m = u[i, k] / u[k, k]
            for j in range(k, n):
                u[i, j] = u[i, j] - m * u[k, j]
    return np.sum(np.log(np.abs(u[0])))


def gram_schmidt(a):
    n, q = a.shape[0], np.zeros(a.shape)
    for i in range(n):
        v = a[i]
        for j in range(i):
            v = v - (q[j] @ v) * q[j]
        q[i] = v / np.sqrt(v @ v)
    return np.sum(np.cos(q))


def solved_upward(a):
    n, y = a.shape[0], np.zeros(a.shape[0])
    for i in range(n - 1, -1, -1):
        s = 0.0
        for j in range(i + 1, n):
            s += a[i, j] * y[j]
        y[i] = (1.0 - s) / a[i, i]
    return np.sum(y * y)


OF_VECTORS = [
    *(pair_energies, below, rest, downward, in_steps, turned_round, none_at_first, none_at_last),
    *(two_in_a_turn, branching, table, by_rows, last_of_each, from_the_end, counting),
    *(behind_a_look, left_inside, taken_over_at_times, bound_in_turns),
]
OF_MATRICES = [forces, cholesky, elimination, gram_schmidt, solved_upward]
LENGTHS = (2, 0, 1, 9, 2)


def given(function, n):
    random = np.random.default_rng(n)
    if function not in OF_MATRICES:
        return random.standard_normal(n)
    m = random.standard_normal((n, n))
    return m @ m.T + n * np.eye(n)


@pytest.fixture(autouse=True)
def quiet():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def eagerly(transformed, x):
    before, tg.config.compile = tg.config.compile, False
    try:
        return transformed(x)
    finally:
        tg.config.compile = before


def outcome(transformed, x):
    """What a call returns, or the class of what it raises."""
    try:
        return transformed(x)
    except (IndexError, ZeroDivisionError, UnboundLocalError) as error:
        return type(error)


@pytest.mark.parametrize("function", [*OF_VECTORS, *OF_MATRICES])
def test_ranges_of_any_length_have_the_bits_of_eager_runs(function):
    compiled = tg.value_and_grad(function)
    for n in LENGTHS:
        x = given(function, n)
        expected = outcome(lambda x: eagerly(tg.value_and_grad(function), x), x)
        found = outcome(compiled, x)
        if isinstance(expected, type):
            assert found is expected
        else:
            assert_same_bits(found[0], function(x.copy()))
            assert_same_bits(found[1], expected[1])
