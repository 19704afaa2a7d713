"""Gradients of calls on Tensors whose arms do not all read each parameter.

Where the arm that was taken reads a parameter not at all, nothing flows to it: its gradient is
absent, and not that of the other arm.
"""

from __future__ import annotations

import numpy as np
import pytest
from checks import assert_same_bits

import tracegrad as tg

pytestmark = pytest.mark.usefixtures("fresh_loops")

W = np.array([1.0, -2.0, 0.5])
B = np.array([0.3, 0.4, -0.2])
C = np.array([-0.5, 0.25, 0.7])


def added_in_one_arm(w, b, c, x):
    y = x * w
    if x[0] > 0:
        y = y + b
    return y.sum()


def a_penalty_in_one_arm(w, b, c, x):
    loss = ((x * w + c) ** 2).sum()
    if x[0] > 0:
        loss = loss + 0.1 * abs(w).sum() + b.sum()
    return loss


def one_in_each_arm(w, b, c, x):
    if x[0] > 0:
        y = x - b
    else:
        y = x + c
    return (y * y).sum() + (x * w).sum()


def nothing_else_in_each_arm(w, b, c, x):
    if x[0] > 0:
        y = (x * w).sum()
    else:
        y = (b * 2.0).sum()
    return y


def two_ifs(w, b, c, x):
    y = (x * w).sum()
    if x[0] > 0:
        y = y + b.sum()
    else:
        y = y * 1.0
    if x[1] > 0:
        y = y + b.sum() * 2.0
    return y


def returned_early(w, b, c, x):
    y = x * w
    if x[0] > 0:
        return b.sum()
    return y[0] * y[1]


def one_cotangent_of_two(w, b, c, x):
    s = w + b
    y = x * c
    if x[0] > 0:
        y = y + s
    return y.sum()


def one_cotangent_of_two_that_arms_made(w, b, c, x):
    y = x * w
    if x[0] > 0:
        y = y + b
    elif x[1] > 0:
        y = y + b + c
    else:
        y = y - c
    return (y * x).sum()


def in_three_turns(w, b, c, x):
    y = x * w
    for _ in range(3):
        if x.sum() > b.sum():
            y = y + w[::-1]
        else:
            y = y + b.sum()
        y = y * 0.5
    if abs(y).max() > 2:
        return b.sum()
    return (y**2).sum()


def in_many_turns(w, b, c, x):
    y = (x * w).sum()
    for i in range(9):
        if x[0] > i * 0.2 - 0.5:
            y = y + b.sum() * 2.0
    return y


PROGRAMS = [
    added_in_one_arm,
    a_penalty_in_one_arm,
    one_in_each_arm,
    nothing_else_in_each_arm,
    two_ifs,
    returned_early,
    one_cotangent_of_two,
    one_cotangent_of_two_that_arms_made,
    in_three_turns,
    in_many_turns,
]


def inputs(seed: int) -> list[np.ndarray]:
    rng = np.random.default_rng(seed)
    return [rng.normal(size=3) * 2.0 for _ in range(8)]


def gradients(f, parameters, x):
    for p in parameters:
        p.grad = None
    f(*parameters, x).backward()
    return [None if p.grad is None else p.grad.numpy() for p in parameters]


@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_what_no_taken_arm_reads_has_no_gradient(f):
    parameters = [tg.tensor(p, requires_grad=True) for p in (W, B, C)]
    compiled = tg.compile(f)
    seen = set()
    for x in inputs(0):
        expected = gradients(f, parameters, tg.tensor(x))
        found = gradients(compiled, parameters, tg.tensor(x))
        absent = [g is None for g in expected]
        assert [g is None for g in found] == absent
        assert_same_bits(
            [g for g in found if g is not None], [g for g in expected if g is not None]
        )
        for i, one in enumerate(found):
            others = [g for g in (*found[:i], W, B, C, x) if g is not None]
            assert one is None or not any(np.shares_memory(one, other) for other in others)
        seen.add(tuple(absent))
    assert len(seen) > 1 or f is in_many_turns
    assert compiled.cache_info().hits > 2


@pytest.mark.parametrize("backend", ["numpy", "numba", "jax"])
@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_vjp_of_arrays_has_zeros_there(f, backend):
    gradient = tg.grad(f, argnums=(0, 1, 2))
    for x in inputs(1):
        expected = gradient(W, B, C, x)
        value, pull = tg.vjp(f, W, B, C, x, backend=backend)
        assert value == pytest.approx(f(W, B, C, x))
        for one, other in zip(pull(1.0), expected, strict=False):
            np.testing.assert_allclose(one, other, rtol=1e-13, atol=1e-15)


def test_a_length_that_an_array_of_one_arm_has_is_told_by_another():
    w = tg.tensor(np.eye(2) * 0.5, requires_grad=True)
    b = tg.tensor([0.1, 0.2], requires_grad=True)

    def through(x):
        if x.sum() > 0:
            return np.tanh(x @ w + b).mean()
        return (x @ w + b).mean()

    compiled = tg.compile(lambda x: through(x) * 1.0)
    for x in inputs(2):
        expected = gradients(lambda w, b, x: through(x), (w, b), tg.tensor(x[:2]))
        found = gradients(lambda w, b, x: compiled(x), (w, b), tg.tensor(x[:2]))
        assert_same_bits(found, expected)
    assert compiled.cache_info().hits == 6
