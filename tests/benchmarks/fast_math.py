"""What each pass of fast math brings: times without it, as multiples of those with all of them.

    python -m tests.benchmarks.fast_math [WORKLOAD ...] [--threads 2] [--rounds 31]

Workloads are those of `tests.benchmarks.peers`, by the beginning of a name, and a chain of three
matrices, "product". The programs of a workload take turns in one process; what is printed are
medians of ratios within a round. A pass that leaves a program as it is has no figure there.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from dataclasses import replace
from statistics import median
from typing import Any

import numpy as np

from tests.benchmarks.peers.__main__ import set_threads


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.fast_math")
    parser.add_argument("workloads", nargs="*", help="beginnings of names of cases")
    parser.add_argument("--threads", type=int, default=2, help="of BLAS, and cores")
    parser.add_argument("--rounds", type=int, default=31)
    parser.add_argument("--limit", type=float, default=4.0, help="seconds of timing a case")
    return parser.parse_args()


def product(a: Any, b: Any, c: Any, x: Any) -> Any:
    return np.sum((a @ b @ c @ x) ** 2)


def programs(wanted: Sequence[str]) -> Iterator[tuple[str, Any, tuple[Any, ...]]]:
    """Names, functions that make a compiled function anew, and arguments."""
    import tracegrad as tg
    from tests.benchmarks.peers.contestants import transformed
    from tests.benchmarks.peers.workload import cases
    from tests.benchmarks.peers.workloads import WORKLOADS

    for case in cases(WORKLOADS):
        if not wanted or case.name.lower().startswith(tuple(wanted)):
            yield case.name, lambda case=case: transformed(case), case.inputs()
    random = np.random.default_rng(0)
    for n in (10, 100, 400):
        name = f"product of 3 matrices, {n}"
        if not wanted or name.startswith(tuple(wanted)):
            args = *(random.normal(size=(n, n)) / n for _ in range(3)), random.normal(size=n)
            yield name, lambda: tg.value_and_grad(product, (0, 1, 2, 3)), args


def texts_and_contestants(make: Any, args: tuple[Any, ...]) -> dict[str, tuple[str, Any]]:
    """By what is left out: the text of the program, and the program made ready."""
    from tests.benchmarks.peers.contestants import Contestant, in_fast_math
    from tracegrad.execution import pipeline
    from tracegrad.fast_math import PASSES

    client = pipeline.CLIENTS["numpy"]
    found: dict[str, tuple[str, Any]] = {}
    ways = {"exact": (), "all": PASSES}
    ways |= {p.run.__name__: tuple(q for q in PASSES if q is not p) for p in PASSES}
    for name, passes in ways.items():
        pipeline.CLIENTS["numpy"] = replace(client, fast_math=passes)
        pipeline.forget()
        compiled = make()
        contestant = Contestant(lambda compiled=compiled: compiled(*args), within=in_fast_math)
        with contestant.within():
            for _ in range(2):
                contestant.call()
            found[name] = str(compiled.source(*args)), contestant
    pipeline.CLIENTS["numpy"] = client
    pipeline.forget()
    return found


def main() -> None:
    options = arguments()
    set_threads(options.threads)
    from tests.benchmarks.peers.measure import interleaved

    for name, make, args in programs([word.lower() for word in options.workloads]):
        found = texts_and_contestants(make, args)
        whole = found["all"][0]
        ready = {k: c for k, (text, c) in found.items() if k == "all" or text != whole}
        times = interleaved(ready, options.rounds, options.limit)
        ratios = {
            k: median(a / b for a, b in zip(t, times["all"], strict=True))
            for k, t in times.items()
            if k != "all"
        }
        print(f"{name}: " + ", ".join(f"{k} {r:.2f}" for k, r in ratios.items()), flush=True)


if __name__ == "__main__":
    main()
