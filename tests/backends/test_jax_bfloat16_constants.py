"""Arrays of bfloat16 that a function makes stay such beside Python's numbers, as in JAX."""

from __future__ import annotations

import numpy as np
import pytest

import tracegrad as tg

jax = pytest.importorskip("jax")
jnp = jax.numpy

X = jnp.array([1.5, 2.0], jnp.bfloat16)
OUTSIDE = np.array([0.5, 3.0], jnp.bfloat16)


def written_between(xp, x):
    y = xp.zeros(2, x.dtype)
    z = y * 0.5 + 1.0
    if xp is np:
        y[0] = 3.0
    else:
        y = y.at[0].set(3.0)
    return z * x + y * 2.0


def filled(xp, x):
    if xp is not np:
        return xp.ones(2, x.dtype).at[0].set(x[1]) * 0.5
    y = xp.zeros(2, x.dtype)
    y += 1
    y[0] = x[1]
    return y * 0.5


def carried(xp, x):
    s = xp.zeros(2, x.dtype)
    for _ in range(10):
        s = s * 0.5 + x
    return s.sum()


FUNCTIONS = (
    lambda xp, x: xp.zeros(2, x.dtype) * 0.5 + x,
    lambda xp, x: xp.zeros(2, x.dtype) * 0.5,
    lambda xp, x: xp.ones(2, x.dtype) + 1,
    lambda xp, x: xp.full(2, 0.5, x.dtype) * 2.0 * x,
    lambda xp, x: xp.array([1.0, 2.0], x.dtype) * 0.5 * x,
    lambda xp, x: 1.0 / xp.ones(2, x.dtype),
    lambda xp, x: -(xp.ones(2, x.dtype) ** 2) * x,
    lambda xp, x: xp.ones(2, x.dtype) + np.float32(1.0),
    lambda xp, x: xp.linspace(0.0, 1.0, 2, dtype=x.dtype),
    lambda xp, x: xp.asarray(OUTSIDE) * 0.5 + x,
    lambda xp, x: xp.zeros(2, x.dtype) * 0.5 < x,
    *(written_between, filled, carried),
)


@pytest.mark.parametrize("f", FUNCTIONS)
def test_they_stay_what_they_are_to_jax(f):
    wanted = f(jnp, X)
    compiled = tg.compile(lambda x: f(np, x), backend="jax")
    for found in (compiled(X), compiled(X), jax.jit(compiled)(X)):
        assert found.dtype == wanted.dtype
        assert np.array_equal(np.asarray(found, np.float32), np.asarray(wanted, np.float32))


def test_one_from_outside_is_read_again():
    held = np.array([0.5, 3.0], jnp.bfloat16)
    compiled = tg.compile(lambda x: held * 0.5 + x, backend="jax")
    for scale in (1.0, 2.0, 4.0):
        held[:] = [0.5 * scale, scale]
        found = np.asarray(compiled(X), np.float32)
        assert np.array_equal(found, held.astype(np.float32) * 0.5 + np.asarray(X, np.float32))
