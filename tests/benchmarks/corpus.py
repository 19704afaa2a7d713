"""Compare the programs of the corpus beside another checkout: lines of source, later calls.

In: the directory of another checkout, with a ``tracegrad`` and ``tests/programs.py``.
Out: a line for each program that differs, and the median ratio of all.

    python -m tests.benchmarks.corpus BEFORE [--rounds 3]

Both checkouts run the programs that BEFORE has, each round in a process of its own, the order
alternating. Times are wall times, the least of all rounds; lines hold code.
"""

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path
from statistics import median
from time import perf_counter

SECONDS = 0.05  # of calls, for each program


def measure(programs: Path) -> dict:
    """Lines of code and least microseconds of a later call, by program."""
    sys.path.insert(0, str(programs))
    import numpy as np
    from programs import PROGRAMS, Draw

    import tracegrad as tg

    found = {}
    for program in PROGRAMS:
        arguments = program.draw(Draw(0))
        f = tg.value_and_grad(program.make(np), argnums=program.argnums, has_aux=program.has_aux)
        for _ in range(3):
            f(*arguments)
        texts = map(str.strip, f.source(*arguments).splitlines())
        lines = sum(bool(text) and not text.startswith("#") for text in texts)
        times, until = [], perf_counter() + SECONDS
        while perf_counter() < until or len(times) < 5:
            began = perf_counter()
            f(*arguments)
            times.append(perf_counter() - began)
        found[program.name] = lines, 1e6 * min(times)
    return found


def measured(checkout: Path, programs: Path) -> dict:
    """What a process measures that uses one of the checkouts."""
    command = [sys.executable, "-W", "ignore", __file__, str(programs), "--measure"]
    environment = {**os.environ, "PYTHONPATH": str(checkout), "OMP_NUM_THREADS": "1"}
    done = subprocess.run(command, check=True, capture_output=True, text=True, env=environment)
    return json.loads(done.stdout.splitlines()[-1])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("before", type=Path)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--measure", action="store_true", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.measure:
        print(json.dumps(measure(args.before)))
        return
    sides = [args.before.resolve(), Path(__file__).parents[2]]
    rounds = {side: [] for side in sides}
    for r in range(args.rounds):
        for side in sides if r % 2 else sides[::-1]:
            rounds[side].append(measured(side, sides[0] / "tests"))
    before, after = (rounds[side] for side in sides)
    ratios = []
    print("| program | lines before | after | us before | after | ratio |")
    print("| --- | --: | --: | --: | --: | --: |")
    for name, (lines, _) in before[0].items():
        least = [min(run[name][1] for run in side) for side in (before, after)]
        ratios.append(least[1] / least[0])
        now = after[0][name][0]
        if now != lines or not 0.9 < ratios[-1] < 1.1:
            print(
                f"| {name} | {lines} | {now} | {least[0]:.1f} | {least[1]:.1f} | {ratios[-1]:.2f} |"
            )
    print(f"\n{len(ratios)} programs, median ratio {median(ratios):.3f}")


if __name__ == "__main__":
    main()
