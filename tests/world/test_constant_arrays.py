"""Programs whose turns change arrays of plain numbers enter; they stay loops, bit for bit."""

from __future__ import annotations

import math

import numpy as np
import pytest
import scipy.linalg
from checks import assert_same_bits, run_eagerly, split

import tracegrad as tg

LOOPS = []
OTHERS = []


def loop(function):
    """One whose text does not depend on the number of turns."""
    LOOPS.append(function)
    return function


def other(function):
    """One that is unrolled, or runs eagerly, in some calls or always."""
    OTHERS.append(function)
    return function


class Holder:
    pass


@loop
def kalman(x):
    P = np.eye(2)
    A = np.array([[1.0, 0.1], [0.0, 0.9]])
    Q = np.eye(2) * 0.01
    m = x[:2] * 0.0
    s = 0.0
    for v in x:
        P = A @ P @ A.T + Q
        m = A @ m
        S = P[0, 0] + 0.1
        K = P[:, 0] / S
        r = v - m[0]
        m = m + K * r
        P = P - np.outer(K, P[0])
        s = s + r * r / S + np.log(S)
    return s


@loop
def kalman_with_matrices(x):
    P = np.eye(2)
    A = np.array([[1.0, 0.1], [0.0, 0.9]])
    Q = np.eye(2) * 0.01
    H = np.array([[1.0, 0.0]])
    R = np.array([[0.1]])
    m = np.zeros(2)
    s = 0.0
    for v in x:
        m = A @ m
        P = A @ P @ A.T + Q
        S = H @ P @ H.T + R
        K = P @ H.T @ np.linalg.inv(S)
        r = v - H @ m
        m = m + K @ r
        P = (np.eye(2) - K @ H) @ P
        s = s + (r @ np.linalg.solve(S, r)) + np.log(np.linalg.det(S))
    return s


@loop
def alias_before(x):
    P = np.eye(2)
    P0 = P
    s = 0.0
    for v in x:
        P = P * 0.9 + 0.1
        s = s + P[0, 0] * v
    return s + P0[0, 0] * x[0]


@other
def written_first(x):
    P = np.eye(2)
    P0 = P
    s = 0.0
    for v in x:
        P[0, 0] = P[0, 0] * 0.5
        P = P * 0.9 + 0.1
        s = s + P[0, 0] * v
    return s + P0[0, 0] * x[0]


@other
def written_alias(x):
    P = np.eye(2)
    P0 = P
    s = 0.0
    for v in x:
        P = P * 0.9 + 0.1
        P0[0, 0] += 0.5
        s = s + P[0, 0] * v
    return s + P0[0, 0] * x[0]


@loop
def looked(x):
    P = np.eye(2)
    s = 0.0
    for v in x:
        P = P * 0.9
        if P[0, 0] > 0.3:
            s = s + v
        else:
            s = s - v * P[0, 0]
    return s


@other
def read_as_an_int(x):
    P = np.eye(2)
    s = 0.0
    for v in x:
        P = P * 0.9
        s = s + v * int(P[0, 0] * 10)
    return s


@other
def in_scipy(x):
    P = np.eye(2) * 0.1
    s = 0.0
    for v in x:
        P = scipy.linalg.fractional_matrix_power(P, 0.5)
        s = s + v * P[0, 0]
    return s


@other
def a_root_of_scipy(x):
    P = np.eye(2) * 0.1
    s = 0.0
    for v in x:
        P = scipy.linalg.sqrtm(P) + 0.1
        s = s + v * P[0, 0]
    return s


@other
def of_two_arms(x):
    P = np.ones(3)
    s = 0.0
    for v in x:
        if v > 0:
            P = P * 0.9
        else:
            P = np.ones(3) * 2.0
        s = s + np.sum(P) * v
    return s


@loop
def rolled_ints(x):
    k = np.arange(5)
    s = 0.0
    for v in x:
        k = np.roll(k, 1)
        s = s + v * k[0]
    return s


@other
def rotating_index(x):
    k = np.arange(5)
    s = 0.0
    for v in x:
        k = (k + 1) % 5
        s = s + v * x[k[0]]
    return s


@loop
def twovars(x):
    a = np.ones(2)
    b = np.zeros(2)
    s = 0.0
    for v in x:
        a, b = b + 1.0, a * 0.5
        s = s + v * a[0]
    return s


@loop
def one_array_of_two_variables(x):
    a = np.ones(2)
    b = a
    s = 0.0
    for v in x:
        a = a * 0.5
        b = a
        s = s + v * b[0]
    return s


@other
def of_another_precision(x):
    a = np.ones(2, np.float32)
    s = 0.0
    for v in x:
        a = a * np.float32(0.5)
        s = s + v * a[0]
    return s


@loop
def a_number_of_numpy(x):
    beta = np.float64(1.0)
    s = 0.0
    for v in x:
        beta = np.sqrt(beta + 1.0)
        s = s + beta * v
    return s


@loop
def returned_array(x):
    P = np.eye(2)
    s = 0.0
    for v in x:
        P = P * 0.9
        s = s + P[0, 0] * v
    return s * P[1, 1] + np.sum(P @ np.ones(2)) * x[0]


@other
def of_a_view(x):
    B = np.ones((3, 2))
    P = B[0]
    s = 0.0
    for v in x:
        P = P * 0.9
        s = s + P[0] * v
    B[0, 0] = 5.0
    return s + B[0, 1] * P[0] * x[0]


@loop
def asked_for_its_class(x):
    P = np.eye(2)
    s = 0.0
    for v in x:
        P = P * 0.9
        if isinstance(P, np.ndarray):
            s = s + P[0, 0] * v
    return s


@other
def inner_loop(x):
    s = 0.0
    for v in x:
        P = np.eye(2)
        for _ in range(10):
            P = P * 0.9 + 0.01
        s = s + v * P[0, 0]
    return s


@loop
def outer_carried(x):
    P = np.eye(2)
    s = 0.0
    for v in x:
        for _ in range(10):
            P = P * 0.9 + 0.01
        s = s + v * P[0, 0]
    return s


@other
def turned(x):
    P = np.arange(6.0).reshape(2, 3)
    s = 0.0
    for v in x:
        P = (P.T * 0.9).T
        s = s + v * np.sum(P[0]) + np.sum(P.ravel()[1:3]) * v
    return s


@other
def that_grows(x):
    P = np.ones(1)
    s = 0.0
    for v in x:
        P = np.concatenate([P, P[:1] * 0.5])
        s = s + v * np.sum(P)
    return s


@loop
def in_math(x):
    P = np.ones(2)
    s = 0.0
    for v in x:
        P = P * 0.9
        s = s + v * math.sqrt(P[0])
    return s


@loop
def in_a_while(x):
    P = np.ones(2)
    s = 0.0
    i = 0
    while i < 12:
        P = P * 0.9
        s = s + x[i] * P[0]
        i += 1
    return s


@loop
def left_by_break(x):
    P = np.ones(2)
    s = 0.0
    for v in x:
        P = P * 0.9
        s = s + v * P[0]
        if s > 1.5:
            break
    return s * P[1]


@loop
def scaled_in_place(x):
    w = np.ones(3)
    s = 0.0
    for v in x:
        w *= 0.9
        s = s + np.sum(w) * v
    return s


@loop
def scaled_in_place_with_two_names(x):
    w = np.ones(3)
    u = w
    s = 0.0
    for v in x:
        w *= 0.9
        s = s + np.sum(u) * v
    return s + u[0] * x[0]


@other
def a_view_scaled_in_place(x):
    B = np.ones((2, 3))
    w = B[0]
    s = 0.0
    for v in x:
        w *= 0.9
        s = s + np.sum(B) * v
    return s


@other
def counts(x):
    n = np.zeros(2)
    s = 0.0
    for v in x:
        if v > 0:
            n[0] += 1.0
        else:
            n[1] += 1.0
        s = s + v * n[0]
    return s * n[1]


@other
def intcounts(x):
    n = np.zeros(2, dtype=int)
    s = 0.0
    for v in x:
        n[1 if v > 0 else 0] += 1
        s = s + v * n[0]
    return s * n[1]


@other
def slice_assign(x):
    P = np.eye(2)
    s = 0.0
    for v in x:
        P[:] = P @ P.T * 0.5 + 0.1
        s = s + P[0, 1] * v
    return s


@loop
def filled(x):
    P = np.ones(2)
    s = 0.0
    k = 1.0
    for v in x:
        k = k * 0.9
        P.fill(k)
        s = s + P[0] * v
    return s


@other
def given_as_out(x):
    P = np.ones(2)
    s = 0.0
    for v in x:
        np.multiply(P, 0.9, out=P)
        s = s + P[0] * v
    return s


@other
def dtype_change(x):
    P = np.arange(3)
    s = 0.0
    for v in x:
        P = P * 0.5
        s = s + v * P[2]
    return s


@other
def of_drawn_numbers(x):
    r = np.random.default_rng(0)
    P = r.normal(size=2)
    s = 0.0
    for v in x:
        P = P * 0.9 + r.normal(size=2)
        s = s + v * P[0]
    return s


@other
def in_a_helper(x):
    def step(P):
        P = P * 0.9
        P[0] += 0.1
        return P

    P = np.ones(2)
    s = 0.0
    for v in x:
        P = step(P)
        s = s + v * P[0]
    return s


@other
def of_an_object(x):
    o = Holder()
    o.P = np.ones(2)
    s = 0.0
    for v in x:
        o.P = o.P * 0.9
        s = s + v * o.P[0]
    return s


@other
def in_a_dictionary(x):
    d = {"P": np.ones(2)}
    s = 0.0
    for v in x:
        d["P"] = d["P"] * 0.9
        s = s + v * d["P"][0]
    return s


@loop
def decomposed(x):
    P = np.eye(2) + 0.1
    s = 0.0
    for v in x:
        P = P * 0.9
        w, _ = np.linalg.eigh(P)
        s = s + v * w[0]
    return s


@loop
def factorised(x):
    P = np.eye(2) + 0.1
    s = 0.0
    for v in x:
        P = P * 0.9 + np.eye(2)
        s = s + v * np.linalg.cholesky(P)[0, 0]
    return s


@other
def as_a_list(x):
    P = np.ones(2)
    s = 0.0
    for v in x:
        P = P * 0.9
        s = s + v * sum(P.tolist())
    return s


@loop
def array_of(x):
    P = np.ones(2)
    s = 0.0
    for v in x:
        P = np.array([P[1], P[0] * 0.5])
        s = s + v * P[0]
    return s


def drawn(n, seed=0):
    return np.random.default_rng(seed).normal(size=n)


@pytest.mark.parametrize("backend", ["numpy", "numba"])
@pytest.mark.parametrize("function", [*LOOPS, *OTHERS], ids=lambda f: f.__name__)
def test_values_and_gradients_are_those_of_eager_calls(function, backend):
    compiled = tg.value_and_grad(function, backend=backend)
    for n, seed in ((12, 0), (12, 1), (25, 2), (12, 3)):
        x = drawn(n, seed)
        assert_same_bits(split(compiled(x)), run_eagerly(function, (x,)), f"{n}, {seed}")


@pytest.mark.parametrize("function", LOOPS, ids=lambda f: f.__name__)
def test_the_text_is_one_for_all_numbers_of_turns(function):
    lines = [tg.value_and_grad(function).source(drawn(n)) for n in (40, 41)]
    assert lines[0] == lines[1]


@pytest.mark.parametrize(
    "function", [kalman, scaled_in_place, a_number_of_numpy, outer_carried, a_root_of_scipy]
)
def test_programs_for_jax_give_the_same(function):
    x = drawn(20)
    value, gradient = tg.value_and_grad(function, backend="jax")(x)
    expected = run_eagerly(function, (x,))
    np.testing.assert_allclose(value, expected[0][0], rtol=1e-12)
    np.testing.assert_allclose(gradient, expected[1][0], rtol=1e-12)
