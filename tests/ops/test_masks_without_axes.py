"""Masks without axes in an index (``z[True]``, ``z[x[0] > 1.0]``): all of an array, or none."""

from __future__ import annotations

import numpy as np
import pytest
from checks import assert_close

import tracegrad as tg

X = np.arange(6.0).reshape(2, 3) / 3.0
PROGRAMS = []


def program(f):
    PROGRAMS.append(f)
    return f


@program
def written(x, y):
    z = x * 1.0
    z[False] = 0.3
    z[(True,)] *= y
    z[np.True_, 0] = y[1]
    z[..., np.array(True)] += 1.0
    z[False, [0]] = 2.0
    np.add.at(z, (True, [0, 0]), y[0])
    return np.sum(z**3)


@program
def read(x, y):
    z = np.concatenate([x[True, 0].ravel(), x[:, True].ravel(), x[None, True, [1, 1]].ravel()])
    return np.sum(z * z) + np.sum(x[False]) + len(y[True]) + len(y[False, [0]])


@program
def written_if_a_value_says_so(x, y):
    z = x * 1.0
    z[np.sum(y) > 0.0] = 0.5
    z[y[0, 0] > 0.0] += y * x
    z[y[0, 0] > 0.0, 0] = x[1]
    return np.sum(z**3)


@program
def read_if_a_value_says_so(x, y):
    chosen = x[y[0, 0] > 0.0]
    return len(chosen) * np.sum(x * y) + np.sum(chosen**2) + chosen.shape[0]


@program
def in_turns(x, y):
    z = np.zeros(3)
    for i in range(10):
        z[y[0, 0] * i > 4.0] = x[0] * i
        z[y[0, 1] > i, 1] = 7.0
    return np.sum(z**2)


@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
@pytest.mark.parametrize("backend", ["numpy", "jax"])
@pytest.mark.parametrize("first", [1.0, -1.0])
def test_masks_without_axes(f, backend, first, monkeypatch):
    """Whatever the outcome was in the first call."""
    slope = tg.value_and_grad(f, argnums=(0, 1), backend=backend)
    for sign in (first, -first, first, -first):
        y = sign * (X + 0.5)
        monkeypatch.setattr(tg.config, "compile", True)
        compiled = slope(X, y)
        monkeypatch.setattr(tg.config, "compile", False)
        eager = tg.value_and_grad(f, argnums=(0, 1))(X, y)
        assert_close(eager[0], f(X, y), rtol=1e-12)
        assert_close(compiled, eager, rtol=1e-12)


def test_inside_jax():
    jax = pytest.importorskip("jax")

    def f(x):
        y = x * 1.0
        y[x[0] > 1.0] = 0.5
        return np.sum(y)

    jitted = jax.jit(tg.compile(f))
    for x in (X[0], X[0] + 2.0):
        assert_close(np.asarray(jitted(x)), f(x), rtol=1e-6)
