"""Jacobians of loops whose turns branch: each mode gives what the others, and differences, give."""

from __future__ import annotations

import numpy as np
import pytest
from checks import assert_close

import tracegrad as tg

pytestmark = pytest.mark.usefixtures("fresh_loops")

RNG = np.random.default_rng(0)
W = np.array([0.3, 0.5, 0.2])
SERIES = [RNG.normal(size=n) for n in (10, 10, 12, 9, 15)]


def last_positive(w, y):
    a = s = 0.1
    for r in y:
        if r > 0:
            a = np.tanh(r + np.sum(w))
    return np.array([s, a * w[1]])


def impulses(w, y):
    s, t = np.zeros(2), 0
    while t < len(y):
        s = s * w[0]
        if y[t] > 0:
            s = s + w[1]
        t += 1
    return s * w[2]


def standardized(w, y):
    """Residuals of a GARCH model with leverage."""
    v, out = 0.1, np.zeros(len(y))
    for t in range(len(y)):
        v = w[0] + w[1] * v
        if y[t] < 0:
            v = v + w[2] * y[t] ** 2
        out[t] = y[t] / v
    return out


def appended(w, y):
    out, v = [], 1.0
    for r in y:
        if r > 0.3:
            v = v * w[0] + r
        elif r < -0.3:
            v = np.sin(v) * w[1]
        out.append(v * w[2])
    return np.stack(out)


def rows(w, y):
    total = np.zeros(3)
    for r in y:
        e = w * w
        if r > 0:
            total = total + w[1] * e
    return total


def left(w, y):
    s = 0.1 * w
    for r in y:
        s = s * 0.9 + w * r
        if s[0] > 0.4:
            break
    else:
        s = s * 2.0
    return s


PROGRAMS = [last_positive, impulses, standardized, appended, rows, left]


def loss(f):
    return lambda w, y: np.sum(f(w, y) ** 2 * 0.5 + f(w, y))


def differences(f, w, step=1e-6):
    columns = [(f(w + step * e) - f(w - step * e)) / (2 * step) for e in np.eye(len(w))]
    return np.stack(columns, axis=-1)


@pytest.mark.parametrize("backend", ["numpy", "jax"])
@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_modes_agree(f, backend):
    made = [t(f, backend=backend) for t in (tg.jacrev, tg.jacfwd, tg.jacobian)]
    for y in SERIES:
        expected = differences(lambda w, y=y: f(w, y), W)
        for jacobian in made:
            assert_close(np.asarray(jacobian(W, y)), expected, rtol=1e-7)


@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_products_and_batches(f):
    transposed = tg.jacobian(f, argnums=1)
    for y in SERIES:
        jacobian = differences(lambda y: f(W, y), y)
        assert_close(transposed(W, y), jacobian, rtol=1e-6)
    ys = np.stack(SERIES[:2])
    batched = tg.vmap(tg.jacrev(f), in_axes=(None, 0))(W, ys)
    assert_close(batched, np.stack([tg.jacfwd(f)(W, y) for y in ys]), rtol=1e-10)


@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_second_derivatives(f):
    scalar = loss(f)
    for y in SERIES[:3]:
        expected = tg.hessian(scalar)(W, y)
        for outer, inner in [(tg.jacfwd, tg.jacrev), (tg.jacobian, tg.jacobian)]:
            assert_close(outer(inner(scalar))(W, y), expected, rtol=1e-10)
        assert_close(tg.compile(tg.jacfwd(tg.jacrev(scalar)))(W, y), expected, rtol=1e-10)
