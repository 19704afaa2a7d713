"""Loops whose inner range, or the width of whose slices, follows a counter, beside unrolled ones.

``python tests/benchmarks/inner_ranges.py`` prints a table of value and gradient, like `lists.py`.
"""

from __future__ import annotations

import warnings

import numpy as np
from lists import print_rows


def pair_energies(x):
    energy = 0.0
    for i in range(len(x)):
        for j in range(i + 1, len(x)):
            energy = energy + np.sin(x[i] - x[j])
    return energy


def triangular_solve(a):
    n, y = a.shape[0], np.zeros(a.shape[0])
    for i in range(n):
        s = a[0, i]
        for j in range(i):
            s = s - a[i, j] * y[j]
        y[i] = s / a[i, i]
    return np.sum(y * y)


def elimination(a):
    n, u = a.shape[0], a.copy()
    for k in range(n):
        for i in range(k + 1, n):
            u[i, k] = u[i, k] / u[k, k]
            for j in range(k + 1, n):
                u[i, j] -= u[i, k] * u[k, j]
    return np.sum(np.log(np.abs(np.diag(u))))


def cholesky(a):
    n, low = a.shape[0], np.zeros((a.shape[0], a.shape[0]))
    for i in range(n):
        for j in range(i + 1):
            s = a[i, j]
            for k in range(j):
                s = s - low[i, k] * low[j, k]
            low[i, j] = np.sqrt(s) if i == j else s / low[j, j]
    return np.sum(np.log(np.diag(low)))


def convolution(x):
    total = 0.0
    for i in range(len(x)):
        j = 0
        while j < i:
            total = total + x[j] * x[i - j]
            j += 1
    return total


def back_substitution(a):
    n, x = a.shape[0], np.zeros(a.shape[0])
    for i in range(n - 1, -1, -1):
        x[i] = (a[0, i] - a[i, i + 1 :] @ x[i + 1 :]) / a[i, i]
    return np.sum(x * x)


def elimination_of_rows(a):
    n, u = a.shape[0], a.copy()
    for k in range(n - 1):
        u[k + 1 :, k:] -= np.outer(u[k + 1 :, k] / u[k, k], u[k, k:])
    return np.sum(np.log(np.abs(np.diag(u))))


def cholesky_of_rows(a):
    n, low = a.shape[0], np.zeros((a.shape[0], a.shape[0]))
    for i in range(n):
        for j in range(i):
            low[i, j] = (a[i, j] - low[i, :j] @ low[j, :j]) / low[j, j]
        low[i, i] = np.sqrt(a[i, i] - np.sum(low[i, :i] ** 2))
    return np.sum(np.log(np.diag(low)))


def causal_attention(a):
    out = np.zeros(a.shape)
    for t in range(len(a)):
        scores = a[: t + 1] @ a[t]
        weights = np.exp(scores - np.max(scores))
        out[t] = (weights / np.sum(weights)) @ a[: t + 1]
    return np.sum(out**2)


OF_MATRICES = {
    *(triangular_solve, elimination, cholesky, back_substitution, elimination_of_rows),
    *(cholesky_of_rows, causal_attention),
}


def inputs_of(function, n):
    m = np.random.default_rng(0).normal(size=(n, n))
    return (m @ m.T + n * np.eye(n) if function in OF_MATRICES else m[0],)


def main():
    warnings.simplefilter("ignore")
    print("| | length | first, ms | lines | later, ms | unrolled: first, ms | lines | later, ms |")
    print("|---|---|---|---|---|---|---|---|")
    functions = (pair_energies, triangular_solve, convolution, elimination, cholesky)
    of_slices = (back_substitution, elimination_of_rows, cholesky_of_rows, causal_attention)
    print_rows((*functions, *of_slices), (10, 20, 100), inputs_of, 20)


if __name__ == "__main__":
    main()
