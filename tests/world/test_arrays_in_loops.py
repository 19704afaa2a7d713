"""Loops whose variables are views, or products with matrices that the function makes itself."""

from __future__ import annotations

import numpy as np
import pytest
from checks import assert_same_bits, run_eagerly, split

import tracegrad as tg


def matrix_made_in_turns(m, x):
    for v in x:
        if v > 0:
            m = m * 0.5 + v
        m = np.array([[1.0, 1.0], [0.0, 0.9]]) @ m
    return m.sum()


def matrix_made_before(m, x):
    a, b = np.array([[1.0, 0.1], [0.0, 0.9]]), np.array([[0.5, 0.1], [0.3, 0.8]])
    for v in x:
        m = np.tanh(a @ m if v > 0 else b @ m)
    return m.sum()


def identity_made_in_turns(m, x):
    for v in x:
        if v > 0:
            m = m * 0.5
        m = np.eye(2) @ m + np.ones(2) * v
    return m.sum()


def another_array_of_its_length(m, x):
    s, y = 0.0, m * 2
    for v in x:
        s = s + (y * y).sum() * v
        y = m[::-1] * v
    return s


def begins_with_views(m, x):
    a, b = m[:2], m[::-1]
    for v in x:
        a = a * 0.9 + v
        if v > 0:
            b, a = b * 0.5 + a, a * 0.5
    return (a * b).sum()


def has_a_view_of_what_turns_change(m, x):
    p = np.outer(m, m)
    for v in x:
        row = p[0]
        p = p * 0.9 + row * v
        if v > 0:
            row = p[:, 1]
            p = p - row
    return p.sum() + row.sum()


def row_before(m, x):
    rows = np.outer(x, m)
    s, last = 0.0, rows[0]
    for row in rows:
        s = s + (last * row).sum()
        last = row
    return s


def filter_of_vectors(m, x):
    state, p = m[:2], np.eye(2) * m[0] ** 2
    f, h = np.array([[1.0, 1.0], [0.0, 1.0]]), np.array([1.0, 0.0])
    s = 0.0
    for v in x:
        state, p = f @ state, f @ p @ f.T + np.eye(2) * m[1] ** 2
        if v > -1:
            variance = h @ p @ h + 0.3
            k, e = p @ h / variance, v - h @ state
            s = s + 0.5 * (np.log(variance) + e**2 / variance)
            state, p = state + k * e, p - np.outer(k, h @ p)
    return s


LOOPS = [
    *(matrix_made_in_turns, matrix_made_before, identity_made_in_turns),
    another_array_of_its_length,
    *(begins_with_views, has_a_view_of_what_turns_change, row_before, filter_of_vectors),
]


def written_behind(m, x):
    a = m * 1.0
    p = a[:2]
    for v in x:
        p = p * 0.9 + v
    p[0] = 1.0
    a[1] = 2.0
    return p.sum() + (a * a).sum()


def view_written_behind(m, x):
    p = m * 1.0
    for v in x:
        p = p * 0.9 + v
        row = p[:1]
    row[0] = 3.0
    return (p * p).sum()


def base_written_behind(m, x):
    p = m * 1.0
    row = p[1:]
    for v in x:
        p = p * 0.9 + v
        row = p[:1]
    p[0] = 3.0
    return (p * p).sum() + row.sum()


def base_written_in_turns(m, x):
    a = m * 1.0
    s, p = 0.0, a[:1]
    for v in x:
        s = s + p.sum() * v
        a[0] = v + 0.1 * s
        p = a[:1]
    return s + a.sum()


def view_written_in_an_arm(m, x):
    p, s = m * 1.0, 0.0
    row = p[:1]
    for v in x:
        s = s + (row * row).sum()
        if v > 0.5:
            row[0] = v
        p = p * 0.9
        row = p[1:]
    return (p * p).sum() + s


def last_row_written_behind(m, x):
    rows = np.outer(x, m)
    s, last = 0.0, rows[0]
    for row in rows:
        s = s + (last * row).sum()
        last = row
    last[0] = 1.0
    return s + rows.sum()


def swapped_views(m, x):
    y, s = m * 1.0, 0.0
    a, b = y[:1], y[1:]
    for v in x:
        s = s + (a * v).sum()
        a, b = b, a
    a[0] = 2.0
    return (a * b).sum() + s + y.sum()


def view_written_where_no_turn_was_made(m, x):
    y = m * 1.0
    p = y[:1]
    while p.sum() > x[0] ** 2:
        p = p * 0.5 - 0.01
    p[0] = 7.0
    return (y * y).sum() + p.sum()


WRITTEN = [
    *(written_behind, view_written_behind, base_written_behind, base_written_in_turns),
    *(view_written_in_an_arm, last_row_written_behind, swapped_views),
    view_written_where_no_turn_was_made,
]


def calls():
    random = np.random.default_rng(5)
    lengths = (24, 24, 10, 40, 24)
    return [
        (np.array([0.4, 0.7]) + random.normal(size=2) / 9, random.normal(size=n)) for n in lengths
    ]


def compared(function, given):
    f, plain = tg.value_and_grad(function, argnums=(0, 1)), tg.compile(function)
    for args in given:
        assert_same_bits(split(f(*args)), run_eagerly(function, args, (0, 1)))
        assert_same_bits(plain(*args), function(*args))
    return f


@pytest.mark.parametrize("function", LOOPS, ids=[f.__name__ for f in LOOPS])
def test_they_stay_loops(function):
    f = compared(function, calls())
    assert "loops that are unrolled" not in f.explain()


@pytest.mark.parametrize("function", WRITTEN, ids=[f.__name__ for f in WRITTEN])
def test_writes_show_in_views(function):
    compared(function, calls())


def test_another_length_than_that_of_the_array_before():
    def function(y, z, x):
        s = 0.0
        for v in x:
            s = s + (y * y).sum() * v
            y = z * v
        return s

    f = tg.value_and_grad(function, argnums=(0, 1))
    random = np.random.default_rng(2)
    for size, turns in ((3, 12), (4, 20), (3, 9), (5, 12)):
        args = random.normal(size=size), random.normal(size=3), random.normal(size=turns)
        assert_same_bits(split(f(*args)), run_eagerly(function, args, (0, 1)))
