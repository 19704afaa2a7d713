"""Loops: the first call, the length of the source and later calls, beside the same loop unrolled.

``python tests/benchmarks/loops.py [names]`` prints a table. The unrolled form goes through a
list of the same numbers, which no loop stays one for; it is measured up to a thousand turns.
"""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Callable, Sequence
from statistics import median
from typing import Any

import numpy as np

import tracegrad as tg

MOST_UNROLLED = 1_000


def rnn(h, w, xs, numbers):
    for t in numbers:
        h = np.tanh(h @ w + xs[t])
    return (h * h).sum()


def garch(p, r, numbers):
    s = 1.0
    loss = 0.0
    for t in numbers:
        s = p[0] + p[1] * s + p[2] * r[t - 1] ** 2
        loss = loss + 0.5 * (np.log(s) + r[t] ** 2 / s)
    return loss


def leapfrog(q, p, numbers):
    for _ in numbers:
        p = p - 0.005 * q
        q = q + 0.01 * p
        p = p - 0.005 * q
    return (q * q + p * p).sum()


def lstm(w, u, b, x, numbers):
    h, c, out = np.zeros(8), np.zeros(8), []
    for t in numbers:
        z = x[t] @ w + h @ u + b
        i, f = 1 / (1 + np.exp(-z[:8])), 1 / (1 + np.exp(-z[8:16]))
        c = f * c + i * np.tanh(z[16:24])
        h = np.tanh(c) / (1 + np.exp(-z[24:]))
        out.append(h)
    return (np.stack(out) ** 2).sum()


def rk4(y, k, numbers):
    def f(y):
        return -k * y + np.sin(y)

    h = 0.01
    for _ in numbers:
        k1 = f(y)
        k2 = f(y + h / 2 * k1)
        k3 = f(y + h / 2 * k2)
        k4 = f(y + h * k3)
        y = y + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
    return (y * y).sum()


def kalman(q, z, numbers):
    m, p, loss = np.zeros(2), np.eye(2), 0.0
    f, h = np.array([[1.0, 0.1], [0.0, 1.0]]), np.array([1.0, 0.0])
    for t in numbers:
        m, p = f @ m, f @ p @ f.T + q[0] * np.eye(2)
        s = h @ p @ h + q[1]
        e = z[t] - h @ m
        gain = p @ h / s
        m, p = m + gain * e, p - np.outer(gain, h @ p)
        loss = loss + 0.5 * (np.log(s) + e * e / s)
    return loss


def hmm(a, b, numbers):
    s = np.log(np.ones(3) / 3)
    for t in numbers:
        s = np.log(np.exp(s) @ a) + b[t]
        s = s - s.max()
    return s.sum()


def ctc(x, places, skips, numbers):
    a = np.full(len(places), -1e30)
    a = a + np.array([1e30, 1e30] + [0.0] * (len(places) - 2))
    for t in numbers:
        one = np.concatenate([np.array([-1e30]), a[:-1]])
        two = np.concatenate([np.array([-1e30, -1e30]), a[:-2]]) + skips
        a = np.logaddexp(np.logaddexp(a, one), two) + x[t][places]
    return -np.logaddexp(a[-1], a[-2])


def varied(w, x, lengths, numbers):
    loss = 0.0
    for b in numbers:
        h = np.zeros(8)
        for t in range(int(lengths[b])):
            h = np.tanh(w @ h + x[b, t])
        loss = loss + (h * h).sum()
    return loss


def inputs_of(function: Callable[..., Any], turns: int) -> Sequence[Any]:
    random = np.random.default_rng(0)
    if function is rnn:
        weights = random.normal(size=(16, 16)) / 4
        return random.normal(size=16), weights, random.normal(size=(turns, 16))
    if function is garch:
        return np.array([0.1, 0.8, 0.05]), random.normal(size=turns)
    if function is lstm:
        weights = random.normal(size=(4, 32)) / 3, random.normal(size=(8, 32)) / 3
        return *weights, random.normal(size=32), random.normal(size=(turns, 4))
    if function is ctc:
        skips = np.where(np.arange(7) % 2, 0.0, -1e30)
        return random.normal(size=(turns, 4)), np.array([0, 1, 0, 2, 0, 3, 0]), skips
    if function is varied:
        lengths = random.integers(10, 40, turns)
        return random.normal(size=(8, 8)) / 3, random.normal(size=(turns, 40, 8)), lengths
    if function is kalman:
        return np.array([0.1, 0.5]), random.normal(size=turns)
    if function is hmm:
        return random.uniform(size=(3, 3)) / 2, random.normal(size=(turns, 3))
    return random.normal(size=16), random.normal(size=16)


def measured(function: Callable[..., Any], turns: int, unrolled: bool) -> tuple[float, float, int]:
    """Seconds of the first call, of later ones, and lines of the source."""
    args = inputs_of(function, turns)
    if unrolled:
        gradient = tg.value_and_grad(lambda *given: function(*given, list(range(turns))))
    else:
        gradient = tg.value_and_grad(lambda *given: function(*given, range(turns)))
    began = time.perf_counter()
    gradient(*args)
    first = time.perf_counter() - began
    later = []
    for _ in range(7):
        began = time.perf_counter()
        gradient(*args)
        later.append(time.perf_counter() - began)
    return first, median(later), len(gradient.source(*args).splitlines())


def main() -> None:
    warnings.simplefilter("ignore")
    every = {f.__name__: f for f in (rnn, garch, leapfrog, lstm, rk4, kalman, hmm, ctc, varied)}
    measured(leapfrog, 10, False)
    print(
        "| | turns | first call, ms | later, ms | lines | unrolled: first, ms | later, ms | lines |"
    )
    print("|---|---|---|---|---|---|---|---|")
    for function in [every[name] for name in sys.argv[1:] or every]:
        for turns in (10, 100, 1_000, 10_000):
            cells = [function.__name__, str(turns)]
            for unrolled in (False, True):
                if unrolled and turns > MOST_UNROLLED:
                    cells += ["", "", ""]
                    continue
                first, later, lines = measured(function, turns, unrolled)
                cells += [f"{first * 1e3:.0f}", f"{later * 1e3:.3f}", str(lines)]
            print("|", " | ".join(cells), "|")


if __name__ == "__main__":
    main()
