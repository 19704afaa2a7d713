"""Functions that read numbers of arrays: calls for value and gradient, compiling included.

``python tests/benchmarks/numbers_read.py`` prints, for 40 calls with other values and lengths, the
processor time and the versions. Run it in two checkouts, in turns, to compare them.
"""

from __future__ import annotations

import time
import warnings

import numpy as np

import tracegrad as tg

history: list[float] = []


def logged(w, x):
    loss = np.sum((x @ w) ** 2) / len(x)
    history.append(float(loss))
    return loss


def counted(x):
    n = 0
    for v in x:
        n += int(v > 0.5)
    return np.sum(x) * n


def largest(x):
    k = int(np.argmax(x))
    return x[k] * np.sum(x)


def forward(start, move, emit, seen):
    alpha = start + emit[:, seen[0]]
    for t in range(1, len(seen)):
        new = np.empty(len(start))
        for j in range(len(start)):
            s = alpha + move[:, j]
            m = np.max(s)
            new[j] = m + np.log(np.sum(np.exp(s - m))) + emit[j, seen[t]]
        alpha = new
    return np.sum(alpha)


def main() -> None:
    rng = np.random.default_rng(0)
    rows, sizes = rng.normal(size=(20, 3)), rng.integers(8, 30, 40)
    calls = {
        logged: [(rng.normal(size=3), rows) for _ in sizes],
        counted: [(rng.random(n),) for n in sizes],
        largest: [(rng.random(30),) for _ in sizes],
        forward: [
            (rng.random(5), rng.random((5, 5)), rng.random((5, 4)), rng.integers(0, 4, n))
            for n in sizes
        ],
    }
    warnings.simplefilter("ignore")
    for function, arguments in calls.items():
        compiled = tg.value_and_grad(function)
        began = time.process_time()
        for given in arguments:
            compiled(*given)
        took = 1e3 * (time.process_time() - began)
        print(f"{function.__name__:8} {took:7.0f} ms  {compiled.cache_info().versions} versions")


if __name__ == "__main__":
    main()
