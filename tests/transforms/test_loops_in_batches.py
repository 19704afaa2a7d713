"""Loops of functions that run for all examples, or for all directions of a derivative, at once."""

from __future__ import annotations

import numpy as np
import pytest

import tracegrad as tg

pytestmark = pytest.mark.usefixtures("fresh_loops")


def with_a_loop_that_nothing_reads(p, x):
    u = x[0]
    for _ in range(9):
        u = np.sin(u)
    return np.sum(p * x)


def whose_gradient_needs_no_loop(p, x):
    path, v = [], x[0]
    for t in range(len(x)):
        v = 0.9 * v + x[t]
        path.append(v)
    return np.sum(p**2) + v


@pytest.mark.parametrize("in_axes", [(None, 0), (0, None), (0, 0)])
@pytest.mark.parametrize("f", [with_a_loop_that_nothing_reads, whose_gradient_needs_no_loop])
def test_results_of_loops_that_go_are_arrays(f, in_axes):
    rng = np.random.default_rng(0)
    p, x = (rng.normal(size=(10,) if axis is None else (4, 10)) for axis in in_axes)
    for function in (f, tg.grad(f)):
        found = tg.vmap(function, in_axes=in_axes)(p, x)
        one_by_one = [
            function(
                *(a if axis is None else a[k] for a, axis in zip((p, x), in_axes, strict=True))
            )
            for k in range(4)
        ]
        assert type(found) is np.ndarray
        assert np.allclose(found, one_by_one)


def oscillator(p, y):
    states = []
    for t in range(10):
        place, speed = y
        y = np.array([place + 0.1 * speed, speed - 0.1 * p[t] * place])
        states.append(y)
    return np.stack(states)[:, 0]


def scaled(p, y):
    states = []
    for _ in range(12):
        y = np.array([p[0] * y[0], y[1] * p[0] + 0.1 * y[0]])
        states.append(y)
    return np.sum(np.stack(states) ** 2)


def test_derivatives_of_states_that_are_made_of_elements():
    p, y = np.linspace(0.5, 1.5, 12), np.array([1.0, 2.0])
    for argnum in (0, 1):
        rows = tg.jacrev(oscillator, argnums=argnum)(p, y)
        assert np.allclose(rows, tg.jacfwd(oscillator, argnums=argnum)(p, y))
        whole = tg.hessian(scaled, argnums=argnum)(p, y)
        other = tg.jacrev(tg.grad(scaled, argnums=argnum), argnums=argnum)(p, y)
        assert np.allclose(whole, other)
    batch = np.stack([y, -y, 2.0 * y])
    found = tg.vmap(tg.grad(scaled, argnums=1), in_axes=(None, 0))(p, batch)
    assert np.allclose(found, [tg.grad(scaled, argnums=1)(p, one) for one in batch])
