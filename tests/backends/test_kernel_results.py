"""What kernels give is memory of their own, and what they are given stays as it is.

What follows a kernel writes into what that gave; what is around it may read what it was given. Here
NumPy source stands in for machine code, as it does in first calls and for large arrays, where the
results of a loop could be views of the caller's arrays.
"""

from __future__ import annotations

import numpy as np
import pytest
from checks import assert_same_bits

import tracegrad as tg
from tracegrad.backends import numba


@pytest.fixture(autouse=True)
def never_compiled(monkeypatch):
    monkeypatch.setattr(numba, "compiled", lambda kernel: None)


def a_row(x, A):
    t, c = 1.0, 0
    while c < 9:
        c += 1
        h = A @ (A[0] - A[0])
    p = (A @ h) * (A[0] * A[0])
    for _ in x:
        h = A[:, 1] + p
        t = np.abs(t) % 1.5
    return t + h.sum()


def exchanged_rows(x, A):
    a, b = A[0], A[1]
    for _ in x:
        a, b = b, a
    u = a * a + np.sin(a)
    w = b * b + np.sin(b)
    return (u * w).sum()


def a_row_or_a_new_array(x, A):
    h = A[0]
    for v in x:
        if v > 9.0:
            h = h * v + h
    return (h * h + np.sin(h) * h).sum() + A.sum()


def repeated_numbers(x, A):
    h, w = np.broadcast_to(A[0, 1], (3,)), A[0]
    for _ in x:
        h, w = w, h
    h = (h * h + w) * 0.5 - np.sqrt(np.abs(h))
    w = (w * w + h) * 0.5 - np.sqrt(np.abs(w))
    return (h * w).sum()


def the_same_array_twice(x, A):
    a = b = A[0] * 2.0
    for _ in x:
        a, b = b, a @ A
    u = a * a + np.sin(a)
    w = b * b + np.sin(a)
    return (u * w).sum()


def read_behind_what_a_loop_writes(x, A):
    w = np.cumsum(x)
    a = np.sin(w) * 2 + np.cos(w)
    z = np.sort(x)
    for i in range(1, len(x)):
        w[i] = w[i] * 0.5 + w[i - 1]
    k = np.sort(w)
    b = np.cos(w) * 2 + a
    return b.sum() + k.sum() * 2 + z.sum() + A.sum()


PROGRAMS = (
    *(a_row, exchanged_rows, a_row_or_a_new_array, repeated_numbers, the_same_array_twice),
    read_behind_what_a_loop_writes,
)


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize(
    "transform", [tg.compile, lambda f, **of: tg.value_and_grad(f, argnums=(0, 1), **of)]
)
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_arguments_and_values_are_those_of_numpy(program, transform, order):
    x, A = np.linspace(0.5, 2.0, 12), np.array(np.arange(1.0, 10.0).reshape(3, 3) / 20, order=order)
    wanted = transform(program)(x, A)
    run = transform(program, backend="numba")
    given = x.copy(), A.copy("K")
    for _ in range(2):
        assert_same_bits(run(*given), wanted)
        assert_same_bits(given, (x, A))


def test_files_leave_arguments_too(tmp_path):
    x, A = np.linspace(0.5, 2.0, 12), np.arange(1.0, 10.0).reshape(3, 3) / 20
    path = tmp_path / "rows.py"
    tg.compile(exchanged_rows, backend="numba").export(path, x, A)
    scope: dict = {}
    exec(compile(path.read_text(), str(path), "exec"), scope)
    given = x.copy(), A.copy("F")  # not in C order: no machine code
    assert_same_bits(scope["exchanged_rows"](*given), exchanged_rows(x, A))
    assert_same_bits(given, (x, A))
