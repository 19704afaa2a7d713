"""Elementwise programs on large arrays: whole, in place, in tiles, on one thread and on several.

    python -m tests.benchmarks.large_arrays [--threads 2] [--seconds 3]

The forms of one generated program take turns on the same arrays; what is printed are least times,
as multiples of those of the gradient tuned by hand (`tests.benchmarks.peers`).
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Sequence
from functools import partial
from time import perf_counter
from typing import Any

import numpy as np

import codegen
import tracegrad as tg
from codegen.load import load
from codegen.passes.fuse import LARGE, SPLIT, TILE
from tests.benchmarks.peers.workloads import black_scholes, chain

SIZES = (4_000, 10_000, 40_000, 100_000, 300_000, 1_000_000, 4_000_000)


class Library:
    """What the workloads ask of a library."""

    np = np


def forms(f: Any, args: Sequence[np.ndarray]) -> dict[str, Callable[..., Any]]:
    """The program for whole arrays, in place, and in tiles of several lengths."""
    source = codegen.emit(f.graph(*args), "numpy", whole=True)

    def form(large: str, split: str, tile: int = TILE) -> Callable[..., Any]:
        text = source.text.replace(f">= {LARGE}", f">= {large}")
        text = text.replace(f"< {SPLIT}", f"< {split}")
        text = text.replace(f"most = {TILE}", f"most = {tile}")
        return load(text, source.name, {"np": np})

    tiles = {f"tiles of {n} KiB": form("0", "0", n << 10) for n in (64, 128, 256, 512)}
    return {"whole": form("1e99", "0"), "in place": form("0", "1e99"), **tiles, "as it is": f}


def least(runs: dict[str, Callable[[], Any]], seconds: float) -> dict[str, float]:
    """The least time of each, taking turns for this long."""
    found = dict.fromkeys(runs, float("inf"))
    for run in runs.values():
        run()
    end = perf_counter() + seconds
    while perf_counter() < end:
        for name, run in runs.items():
            start = perf_counter()
            run()
            found[name] = min(found[name], perf_counter() - start)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=3.0, help="for all forms of a size")
    options = parser.parse_args()
    os.environ["OMP_NUM_THREADS"] = str(options.threads)
    for workload in (chain.CHAIN, black_scholes.BLACK_SCHOLES):
        for dtype in (np.float64, np.float32):
            f = tg.value_and_grad(workload.loss(Library), workload.wanted)
            for n in SIZES:
                random = np.random.default_rng(0)
                args = [np.asarray(a, dtype) for a in workload.inputs(random, n=n)]
                tuned = workload.tuned(*args)
                runs = {"tuned": tuned}
                runs |= {name: partial(run, *args) for name, run in forms(f, args).items()}
                times = least(runs, options.seconds)
                shown = ", ".join(f"{k} {t / times['tuned']:.2f}" for k, t in times.items())
                print(f"{workload.name} {dtype.__name__} {n:,}: {shown}", flush=True)


if __name__ == "__main__":
    main()
