"""Loops that keep all turns beside the same loops with a budget: memory, turns made, time.

``python -m tests.benchmarks.budgets`` prints a table: the gradient of 10,000 turns (1,000 of the
gated one) of a state of 2,000 numbers. The peak is that of NumPy's arrays while a call runs,
results included. Times are the least of some calls in turns, of the processor, as a multiple of the
time without a budget.
"""

from __future__ import annotations

import re
import time
import tracemalloc
from collections.abc import Callable
from typing import Any

import numpy as np

import tracegrad as tg

ROUNDS = 3


def decay(x, w):
    for _ in range(10_000):
        x = x - 0.01 * np.sin(x)
    return np.sum(x)


def recurrent(x, w):
    for _ in range(10_000):
        x = np.tanh(w * x + 0.1)
    return np.sum(x)


def gated(x, w):
    for _ in range(1_000):
        i = 1 / (1 + np.exp(-x * w))
        x = i * np.tanh(x + w) + (1 - i) * x
    return np.sum(x * x)


CASES = [(decay, 2_000_000), (recurrent, 2_000_000), (recurrent, 500_000), (gated, 1_000_000)]


def seconds(call: Callable[[], Any]) -> float:
    began = time.process_time()
    call()
    return time.process_time() - began


def peak(call: Callable[[], Any]) -> int:
    """Bytes, of a function that was called before."""
    tracemalloc.start()
    try:
        call()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def main() -> None:
    x = np.random.default_rng(0).normal(size=2_000)
    w = 0.9 * x
    print("| | budget, MB | peak, MB | without, MB | turns made | same bits | time |")
    print("| --- | --: | --: | --: | --: | --- | --: |")
    for function, budget in CASES:
        whole = tg.grad(function, argnums=(0, 1))
        bounded = tg.grad(tg.checkpoint(function, max_bytes=budget), argnums=(0, 1))
        pairs = zip(whole(x, w), bounded(x, w), strict=True)
        same = all(a.tobytes() == b.tobytes() for a, b in pairs)
        peaks = [peak(lambda f=f: f(x, w)) / 1e6 for f in (bounded, whole)]
        times = [[seconds(lambda f=f: f(x, w)) for f in (bounded, whole)] for _ in range(ROUNDS)]
        ratio = min(t[0] for t in times) / min(t[1] for t in times)
        header = " ".join(bounded.source(x, w).replace("\n#", " ").split())
        runs, turns = map(int, re.findall(r"(\d+) runs of (\d+) turns", header)[0])
        cells = [function.__name__, f"{budget / 1e6:g}", *[f"{p:.2f}" for p in peaks]]
        cells += [f"{runs / turns:.3f}", "yes" if same else "no", f"{ratio:.2f}"]
        print("|", " | ".join(cells), "|", flush=True)


if __name__ == "__main__":
    main()
