"""Loops over lists of arrays, and lists that turns make: beside the same loops unrolled.

``python tests/benchmarks/lists.py`` prints a table of first calls, lines of source and later calls.
The unrolled form is what there is where no loop is tried; it is measured up to a hundred turns.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Sequence
from types import FunctionType
from typing import Any
from unittest import mock

import numpy as np

import tracegrad as tg
from tracegrad.world.loops.recording import Loops

MOST_UNROLLED = 100


def perceptron(params, x):
    for w, b in params:
        x = np.tanh(x @ w + b)
    return x.sum()


def table(x, w):
    rows = []
    for i in range(len(x)):
        row = []
        for j in range(len(w)):
            row.append(np.sin(x[i] * w[j]))
        rows.append(np.stack(row))
    return (np.stack(rows) ** 2).sum()


def sums(x, w):
    s = 0.0
    for i in range(len(x)):
        u = 0.0
        for j in range(len(w)):
            u = u + np.sin(x[i] * w[j] + s)
        s = u / 9
    return s


def inputs_of(function: Callable[..., Any], turns: int) -> Sequence[Any]:
    random = np.random.default_rng(0)
    if function is perceptron:
        params = [(random.normal(size=(64, 64)) / 8, np.zeros(64)) for _ in range(turns)]
        return params, random.normal(size=(32, 64))
    return random.normal(size=turns), random.normal(size=10)


def compiled(function: Any, args: Sequence[Any], loops: bool) -> tuple[Any, float, int]:
    """The gradient's function, the seconds of its first call, and lines of its source."""
    again = FunctionType(function.__code__.replace(), function.__globals__, function.__name__)
    gradient = tg.value_and_grad(again)
    with mock.patch.object(Loops, "_may_loop", Loops._may_loop if loops else lambda *_: False):
        begin = time.process_time()
        gradient(*args)
        first = time.process_time() - begin
        lines = len(gradient.source(*args).splitlines())
    return gradient, first, lines


def main() -> None:
    warnings.simplefilter("ignore")
    print("| | turns | first, ms | lines | later, ms | unrolled: first, ms | lines | later, ms |")
    print("|---|---|---|---|---|---|---|---|")
    print_rows((perceptron, table, sums), (10, 100, 1000), inputs_of, MOST_UNROLLED)


def print_rows(
    functions: Sequence[Callable[..., Any]],
    lengths: Sequence[int],
    inputs_of: Callable[..., Sequence[Any]],
    most_unrolled: int,
) -> None:
    """Prints a row for each function and number of turns."""
    for function in functions:
        for turns in lengths:
            args, kinds = inputs_of(function, turns), [True, False][: 1 + (turns <= most_unrolled)]
            if function is perceptron and turns > most_unrolled:
                continue
            made = [compiled(function, args, loops) for loops in kinds]
            least = [np.inf] * len(made)
            for _ in range(15):
                for i, (gradient, *_) in enumerate(made):
                    begin = time.process_time()
                    gradient(*args)
                    least[i] = min(least[i], time.process_time() - begin)
            cells = [
                f"{first * 1e3:.0f} | {lines} | {later * 1e3:.2f}"
                for (_, first, lines), later in zip(made, least, strict=True)
            ]
            print(f"| {function.__name__} | {turns} |", " | ".join(cells), "|", flush=True)


if __name__ == "__main__":
    main()
