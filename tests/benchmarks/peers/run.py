"""One case comes in, a record of everything measured goes out.

The record is a plain dict, so that it can be written as JSON and judged or drawn later.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from statistics import median
from typing import Any

from tests.benchmarks.peers.check import agree, bits, reference
from tests.benchmarks.peers.contestants import MAKERS, PEERS, Contestant, Missing
from tests.benchmarks.peers.measure import interleaved
from tests.benchmarks.peers.workload import Case

Record = dict[str, Any]


def run(case: Case, rounds: int, limit: float, without: tuple[str, ...] = ()) -> Record:
    """Checks, then times, a case; what is measured alone runs in processes before that."""
    record: Record = {
        "name": case.name,
        "workload": case.workload.name,
        "about": case.workload.about,
        "size": case.size,
        "dtype": case.dtype,
        "elements": case.elements,
        "first": (first := _alone("first", case, threads=1)),
        "bytes": _alone("memory", case),
        "bits": {"one thread": first["bits"], "the threads asked for": bits(case)},
        "errors": {},
        "first_calls": {},
        "missing": {name: "left out" for name in without},
    }
    ready = _ready(case, record)
    times = interleaved(ready, rounds, limit)
    record["rounds"] = len(times["tracegrad"])
    record["seconds"] = {name: median(t) for name, t in times.items()}
    record["least"] = {name: min(t) for name, t in times.items()}
    for ours, ratios in (("tracegrad", "of_tracegrad"), ("fast math", "of_fast_math")):
        record[ratios] = {
            name: median(theirs / own for theirs, own in zip(t, times[ours]))
            for name, t in times.items()
        }
    return record


def _ready(case: Case, record: Record) -> dict[str, Contestant]:
    """The contestants that can run the case; their first calls are timed and compared."""
    expected = reference(case)
    ready = {}
    for name, make in MAKERS.items():
        if name in record["missing"]:
            continue
        start = time.perf_counter()
        try:
            contestant = make(case)
            with contestant.within():
                contestant.call()
        except Missing as reason:
            record["missing"][name] = str(reason)
            continue
        except Exception as error:
            if name not in PEERS:
                raise
            record["missing"][name] = f"{type(error).__name__}: {error}"[:500]
            continue
        record["first_calls"][name] = time.perf_counter() - start
        record["errors"][name] = agree(case, name, contestant, expected)
        ready[name] = contestant
    return ready


def _alone(what: str, case: Case, threads: int | None = None) -> Any:
    """What `alone` tells of the case, with this process's threads or so many."""
    command = [sys.executable, "-m", "tests.benchmarks.peers.alone", what, case.name]
    environment = dict(os.environ)
    if threads is not None:
        environment |= {f"{name}_NUM_THREADS": str(threads) for name in ("OMP", "OPENBLAS", "MKL")}
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    return json.loads(done.stdout)
