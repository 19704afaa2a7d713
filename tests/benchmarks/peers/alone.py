"""What is measured in a process of its own: a case's name comes in, JSON goes out.

    python -m tests.benchmarks.peers.alone first "chain 1e4 f64"
    python -m tests.benchmarks.peers.alone memory "chain 1e4 f64"

`first`: processor seconds of tracegrad's first call of the case (trace, differentiate, optimize,
emit, load, run), after a call of an unrelated small function, and of the best of three calls after
it; the number of ops that were traced; whether compiled equals eager with this process's threads.
`memory`: peak bytes by contestant in NumPy: what stays between calls (buffers) and what one call
adds to it at most, results included, arguments not.
"""

from __future__ import annotations

import gc
import json
import sys
import time
import tracemalloc
from collections.abc import Callable

import numpy as np

import tracegrad as tg
from tests.benchmarks.peers.check import bits
from tests.benchmarks.peers.contestants import IN_NUMPY, MAKERS, Missing, transformed
from tests.benchmarks.peers.workload import Case, cases
from tests.benchmarks.peers.workloads import WORKLOADS


def _processor_seconds(call: Callable[[], object]) -> float:
    """Of this process, whatever else the machine does."""
    start = time.process_time()
    call()
    return time.process_time() - start


def first(case: Case) -> dict[str, float | str]:
    inputs = case.inputs()
    warm = tg.value_and_grad(lambda x: np.sum(x * x))
    warm(np.ones(3))
    function = transformed(case)
    spent, *later = [_processor_seconds(lambda: function(*inputs)) for _ in range(4)]
    graph = function.graph(*inputs, stage="traced")
    ops = sum(type(node).__name__ == "Call" for node in graph.nodes)
    return {
        "seconds": spent,
        "again": min(later),
        "ops": ops,
        "lines": len(function.source(*inputs).splitlines()),
        "bits": bits(case),
    }


def peak(case: Case, name: str) -> int:
    case.inputs()  # imports and caches of NumPy are not the contestant's
    MAKERS[name](case)
    tracemalloc.start()
    try:
        contestant = MAKERS[name](case)
        arguments = sum(x.nbytes for x in case.inputs())
        with contestant.within():
            for _ in range(3):
                contestant.call()
        gc.collect()
        arrays = tracemalloc.DomainFilter(True, np.lib.tracemalloc_domain)
        kept = tracemalloc.take_snapshot().filter_traces([arrays])
        stays = sum(trace.size for trace in kept.traces) - arguments
        gc.collect()
        tracemalloc.reset_peak()
        before = tracemalloc.get_traced_memory()[0]
        with contestant.within():
            contestant.call()
        return max(0, stays) + tracemalloc.get_traced_memory()[1] - before
    finally:
        tracemalloc.stop()


def memory(case: Case) -> dict[str, int]:
    found = {}
    for name in IN_NUMPY:
        try:
            found[name] = peak(case, name)
        except Missing:
            continue
    return found


if __name__ == "__main__":
    what, wanted = sys.argv[1:]
    chosen = next(case for case in cases(WORKLOADS) if case.name == wanted)
    print(json.dumps({"first": first, "memory": memory}[what](chosen)))
