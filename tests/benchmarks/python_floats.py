"""Loops that compute with Python's floats, beside the same loops with scalars of NumPy's.

``python -m tests.benchmarks.python_floats`` prints a table: value and gradient, processor time, the
least of some calls in turns. While NumPy prints floating-point errors, calls run the source that
has its scalars (`codegen.emit.target.Source.of_numpys`).
"""

from __future__ import annotations

from collections.abc import Iterator
from time import process_time
from typing import Any

import numpy as np

import tracegrad as tg
from tests.benchmarks.kernels import garch, lotka_volterra, newton, van_der_pol

ROUNDS = 15


def smoothed(a, x):
    level, total = x[0], 0.0
    for t in range(1, len(x)):
        error = x[t] - level
        total = total + error * error
        level = level + a * error
    return total


def clipped(a, x):
    s = 0.0
    for v in x:
        s = a * s + (v if v > 0.0 else 0.1 * v)
        if s > 1.0:
            s = 1.0 + 0.5 * (s - 1.0)
    return s


def garch_by_places(p, r):
    s, total = np.var(r), 0.0
    for t in range(1, len(r)):
        s = p[0] + p[1] * r[t - 1] ** 2 + p[2] * s
        total = total + np.log(s) + r[t] ** 2 / s
    return total


def state_in_an_array(p, x):
    y = np.zeros(3)
    for v in x:
        y[0] = p[0] * y[1] + v
        y[1] = np.tanh(y[0] - p[1] * y[2])
        y[2] += 0.1 * y[1]
    return y[0] * y[2]


def autoregression(p, x):
    total = 0.0
    for t in range(2, len(x)):
        error = x[t] - p[0] * x[t - 1] - p[1] * x[t - 2]
        total = total + error * error
    return total


def cases() -> Iterator[tuple[str, Any, tuple[Any, ...]]]:
    """Names, functions and arguments."""
    r = np.random.default_rng(0).standard_normal(1_000)
    p, u = np.array([1.1, 0.4, 0.4, 0.1]), np.array([10.0, 5.0])
    yield "exponential smoothing, 1,000 numbers", smoothed, (0.3, r)
    yield "two ifs in each turn, 1,000 numbers", clipped, (0.9, r)
    yield "GARCH, 100", garch, (np.array([0.1, 0.1, 0.8]), r[:100])
    yield "GARCH, 1,000", garch, (np.array([0.1, 0.1, 0.8]), r)
    thetas = np.array([0.1, 0.1, 0.8])
    yield "GARCH, parameters by place, 1,000", garch_by_places, (thetas, r)
    yield "a state in an array, 1,000", state_in_an_array, (thetas, r)
    yield "autoregression, 1,000", autoregression, (thetas, r)
    yield "Lotka-Volterra, RK4, 1,000", lotka_volterra, (p, u)
    yield "Newton's method, left by `break`", newton, (np.array(2.0), np.array(1.0))
    yield "Heun's method with an error estimate", van_der_pol, (np.array(5.0), np.array(2.0))


def spent(gradient: Any, arguments: tuple[Any, ...]) -> float:
    """Microseconds of a call."""
    began = process_time()
    gradient(*arguments)
    return 1e6 * (process_time() - began)


def main() -> None:
    print("| | Python's floats, us | NumPy's scalars, us | ratio |\n| --- | --: | --: | --: |")
    for name, function, arguments in cases():
        gradient = tg.value_and_grad(function)
        times: dict[str, list[float]] = {"warn": [], "print": []}
        for mode in times:
            with np.errstate(under=mode):
                gradient(*arguments)
        for _ in range(ROUNDS):
            for mode, found in times.items():
                with np.errstate(under=mode):
                    found.append(spent(gradient, arguments))
        python, numpys = map(min, times.values())
        print(f"| {name} | {python:,.0f} | {numpys:,.0f} | {python / numpys:.2f} |", flush=True)


if __name__ == "__main__":
    main()
