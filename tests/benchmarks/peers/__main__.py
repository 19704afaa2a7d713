"""The command of the package: workloads by name come in; tables, verdicts and a plot go out.

    python -m tests.benchmarks.peers [WORKLOAD ...] [--threads 2] [--rounds 31] [--dtype float64]
        [--table FILE.md] [--plot FILE.svg] [--json FILE] [--judge] [--without torch.compile ...]

A workload is given by the beginning of a case's name, in any case of letters ("chain", "mlp batch
32", "chain 1e6 f64"). `--read FILE` judges, writes and draws what an earlier `--json` kept, and
runs nothing.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from pathlib import Path


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.peers")
    parser.add_argument("workloads", nargs="*", help="beginnings of names of cases")
    parser.add_argument("--threads", type=int, default=2, help="of BLAS and PyTorch, and cores")
    parser.add_argument("--rounds", type=int, default=31)
    parser.add_argument("--limit", type=float, default=4.0, help="seconds of timing a case")
    parser.add_argument("--dtype", choices=["float64", "float32"])
    parser.add_argument("--table", type=Path, metavar="FILE")
    parser.add_argument("--plot", type=Path, metavar="FILE")
    parser.add_argument("--json", type=Path, metavar="FILE")
    parser.add_argument("--read", type=Path, metavar="FILE")
    parser.add_argument("--judge", action="store_true")
    parser.add_argument("--without", nargs="+", default=[], metavar="CONTESTANT")
    return parser.parse_args()


def set_threads(threads: int) -> None:
    """For every library alike; NumPy reads the environment when it is imported."""
    for name in ("OMP", "OPENBLAS", "MKL"):
        os.environ[f"{name}_NUM_THREADS"] = str(threads)
    if hasattr(os, "sched_setaffinity"):  # XLA takes as many threads as it sees cores
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:threads])


def measure(options: argparse.Namespace) -> dict[str, object]:
    from tests.benchmarks.peers.run import run
    from tests.benchmarks.peers.table import conditions, table, time_of, times
    from tests.benchmarks.peers.workload import cases
    from tests.benchmarks.peers.workloads import WORKLOADS

    wanted = [name.lower() for name in options.workloads]
    chosen = [
        case
        for case in cases(WORKLOADS)
        if (not wanted or case.name.lower().startswith(tuple(wanted)))
        and options.dtype in (None, case.dtype)
    ]
    if not chosen:
        sys.exit(f"no case is called that; there are: {[c.name for c in cases(WORKLOADS)]}")
    about = conditions(options.threads, options.rounds)
    records, failed = [], []
    for case in chosen:
        start = time.perf_counter()
        try:
            record = run(case, options.rounds, options.limit, tuple(options.without))
        except Exception as error:  # the other cases are still worth measuring
            failed.append(f"{case.name}: {type(error).__name__}: {error}")
            print(failed[-1], file=sys.stderr, flush=True)
            continue
        records.append(record)
        ratios = [f"{n} {times(r)}" for n, r in record["of_tracegrad"].items() if n != "tracegrad"]
        shown = f"{case.name}: {time_of(record['seconds']['tracegrad'])}; {', '.join(ratios)}"
        print(f"{shown}  [{time.perf_counter() - start:.0f} s]", file=sys.stderr, flush=True)
    print(f"\n{about}\n\n{table(records)}\n")
    return {"conditions": about, "records": records, "failed": failed}


def main() -> None:
    options = arguments()
    if options.read:
        found = json.loads(options.read.read_text())
    else:
        set_threads(options.threads)
        found = measure(options)
    if options.json:
        options.json.write_text(json.dumps(found, indent=1) + "\n")
    if options.table:
        from tests.benchmarks.peers.table import page

        text = page(found["conditions"], found["records"])
        options.table.write_text(text)
    if options.plot:
        from tests.benchmarks.peers.plot import plot

        plot(found["records"], options.plot)
    if options.judge:
        from tests.benchmarks.peers.judge import report, verdicts

        print(report(verdicts(found["records"])))
    if found["failed"]:
        sys.exit("\n".join(["these cases failed:", *found["failed"]]))


if __name__ == "__main__":
    main()
