"""Arrays that the caller overwrites between a call and its backward: the gradient is of the call.

A call keeps what its backward reads. Of the caller's own arrays it keeps copies, wherever they are:
in lists of what iterations save, too.
"""

from __future__ import annotations

import numpy as np
import pytest
from checks import assert_same_bits

import tracegrad as tg

pytestmark = pytest.mark.usefixtures("fresh_loops")

OUTSIDE = np.full((2, 3), 0.3)


def begins_with_a_row(w, x):
    h = x[0]
    for _ in range(9):
        h = np.tanh(h * w)
    return h.sum()


def begins_with_an_argument(w, x):
    h = x
    for _ in range(9):
        h = np.tanh(h * w)
    return h.sum()


def begins_with_an_array_from_outside(w, x):
    h = OUTSIDE[0]
    for _ in range(9):
        h = np.tanh(h * w + x[0])
    return h.sum()


def row_after_row(w, x):
    h = w
    for row in x:
        h = np.tanh(row * h)
    return h.sum()


def rows_in_a_list(w, x):
    h, rows = w, []
    for i in range(9):
        rows.append(x[i])
        h = np.tanh(rows[-1] * h)
    return h.sum()


def a_row_of_either_arm(w, x):
    h = x[0]
    for _ in range(9):
        if h[0] > 0.5:
            h = h * w
        else:
            h = x[1]
    return (h * w).sum()


def without_a_loop(w, x):
    h = x[0] if x[0, 0] > 0 else x[1]
    return (np.tanh(w * h) * h).sum()


PROGRAMS = [
    begins_with_a_row,
    begins_with_an_argument,
    begins_with_an_array_from_outside,
    row_after_row,
    rows_in_a_list,
    a_row_of_either_arm,
    without_a_loop,
]


def gradients(call):
    w = tg.tensor([1.0, 0.5, 0.3], requires_grad=True)
    found = []
    for k in range(3):
        x = np.full((9, 3), 0.7 + 0.01 * k)
        x[1] *= 0.5
        OUTSIDE[:] = 0.3
        w.grad = None
        loss = call(w, x)
        x[...] = 5.0
        OUTSIDE[...] = 4.0
        loss.backward()
        found.append(w.grad.numpy())
    return found


@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_gradients_are_of_what_the_call_was_given(f):
    compiled = tg.compile(f)
    assert_same_bits(gradients(compiled), gradients(f))
    assert compiled.cache_info().hits
