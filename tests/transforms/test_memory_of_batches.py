"""Jacobians of loops have the bits of eager ones: sums add in the order of memory.

Where a loop begins with no tangent or cotangent, it is given a batch of zeros, which lies as what
eager calls begin with: row after row.
"""

from __future__ import annotations

import numpy as np
import pytest
from checks import assert_same_bits

import tracegrad as tg

TRANSFORMS = [tg.jacrev, tg.jacfwd]
LENGTHS = [3, 8, 9, 13]


def cholesky(x):
    n = len(x)
    A, L = np.outer(x, x) + np.eye(n) * 3, np.zeros((n, n))
    for i in range(n):
        for j in range(i + 1):
            s = np.sum(L[i, :j] * L[j, :j])
            if i == j:
                L[i, j] = np.sqrt(A[i, i] - s)
            else:
                L[i, j] = (A[i, j] - s) / L[j, j]
    return L.sum(axis=0)


def rows_written(x):
    L = np.zeros((len(x), len(x)))
    for i in range(len(x)):
        L[i] = np.sin(x * x[i]) + np.sum(L, axis=0) * 0.1
    return L @ x


def rows_of_ones(x):
    L = np.ones((len(x), len(x)))
    for i in range(len(x)):
        L[i] = L[i] * x[i] + np.cos(x)
    return np.sum(L * L, axis=1)


def products(x):
    h, total = np.eye(len(x)), np.zeros(len(x))
    for v in x:
        h = h @ (np.eye(len(x)) * 0.5 + 0.01 * v)
        total = total + h @ x
    return total


@pytest.mark.parametrize("transform", TRANSFORMS)
@pytest.mark.parametrize(
    "f", [cholesky, rows_written, rows_of_ones, products], ids=lambda f: f.__name__
)
def test_jacobians_have_the_bits_of_eager_ones(f, transform, monkeypatch):
    points = [np.random.default_rng(k).normal(size=n) for k in range(2) for n in LENGTHS]
    made = transform(f)
    found = [made(x) for x in points]
    monkeypatch.setattr(tg.config, "compile", False)
    assert_same_bits(found, [made(x) for x in points])


def test_hessians_have_the_bits_of_eager_ones(monkeypatch):
    made = tg.hessian(lambda x: np.sum(cholesky(x) ** 2))
    points = [np.random.default_rng(k).normal(size=n) for k in range(2) for n in LENGTHS]
    found = [made(x) for x in points]
    monkeypatch.setattr(tg.config, "compile", False)
    assert_same_bits(found, [made(x) for x in points])


def test_a_loop_begins_with_zeros_of_the_batch():
    made = tg.jacfwd(cholesky)
    made(np.arange(9.0))
    assert "broadcast_to" not in made.source()
