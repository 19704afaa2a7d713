"""Measure what the first call of a function costs: trace, differentiate, optimize, emit, load.

In: value-and-gradient functions of 5 to 5,000 traced operations, each written anew for every run.
Out: a Markdown table of milliseconds by stage and a traced operation, and one of later misses.

    python -m tests.benchmarks.first_call [--rounds 5] [--only chain rnn] [--fresh] [--auto]

Every run compiles a text that the process has not seen, under names that it has not seen, so that
no program, label or parsed file is found again. Times are the least of the rounds. With ``--fresh``
each row is measured in processes of its own as well, where the call also pays for what the library
imports and makes when it is used first; importing the library is not part of it. With ``--auto``
there is one table alone: wall time of first calls with ``backend="auto"``, beside the default's.

misses
    What a function that has been called pays later: a path that its program does not have is
    grafted, a length that the trace looked at differs, another rank, another global.
"""

import argparse
import json
import linecache
import platform
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from unittest import mock

import numpy as np

import codegen.passes
import tracegrad as tg
from codegen.ir import Call, walk
from codegen.passes import PIPELINE
from tracegrad.compiled import version
from tracegrad.execution import pipeline
from tracegrad.transforms import call

RNG = np.random.default_rng(0)


# -- programs: the text of a function named ``program`` and its arguments -----------------------

STEPS = ("{a} = np.tanh({a} * {b})", "{b} = {b} + np.sin({a})", "{a} = {a} / (1.5 + {b} * {b})")


def chain(lines: int) -> str:
    """Straight code on two vectors, 7 operations in 3 lines."""
    body = [STEPS[i % 3].format(a="a#", b="b#") for i in range(lines)]
    return "\n    ".join(["def program(a#, b#):", *body, "return np.sum(a# * b#)"])


def looped(turns: int) -> str:
    """The same code in a loop."""
    body = [step.format(a="a#", b="b#") for step in STEPS]
    lines = [
        "def program(a#, b#):",
        f"    for _ in range({turns}):",
        *(f"        {b}" for b in body),
    ]
    return "\n".join([*lines, "    return np.sum(a# * b#)"])


RNN = """
def program(w#, u#, b#, xs):
    h# = np.zeros_like(b#)
    total# = 0.0
    for x in xs:
        h# = np.tanh(x @ w# + h# @ u# + b#)
        total# = total# + np.sum(h# * h#)
    return total# / len(xs)
"""

MLP = """
def program(params#, x, labels):
    h# = x
    for w, b in params#[:-1]:
        h# = np.tanh(h# @ w + b)
    w, b = params#[-1]
    logits# = h# @ w + b
    picked# = logits#[np.arange(len(labels)), labels]
    return np.mean(tg.logsumexp(logits#, axis=1) - picked#)
"""

MIXTURE = """
def program(weights#, means#, scales#, x):
    lower# = np.tril(scales#, -1) + np.eye(3) * np.exp(scales#)
    logs# = []
    for k in range(4):
        z# = (x - means#[k]) @ lower#[k]
        scale# = np.sum(np.log(np.abs(np.diag(lower#[k]))))
        logs#.append(weights#[k] - 0.5 * np.sum(z# * z#, axis=1) + scale#)
    return -np.mean(tg.logsumexp(np.stack(logs#), axis=0) - tg.logsumexp(weights#))
"""

LOOKS = """
def program(x#):
    y# = x# * 2.0
    if y#[0] > 0:
        y# = np.tanh(y#) + x#
    else:
        y# = np.exp(-y#) * x#
    if y#[1] > 0.3:
        y# = y# * y# - np.sin(x#)
    else:
        y# = np.cos(y#) + 2.5 * x#
    if y#[2] > 0.1:
        return np.sum(y# * x#)
    return np.sum(np.sqrt(y# * y# + 1.0))
"""


def programs() -> dict[str, tuple[str, tuple]]:
    """By title: the text, and the arguments of a call."""
    a, b = RNG.normal(size=(2, 10))
    rnn = (*RNG.normal(0, 0.1, (2, 16, 16)), np.zeros(16))
    layers = [(RNG.normal(0, 0.1, (n, m)), np.zeros(m)) for n, m in ((8, 16), (16, 16), (16, 4))]
    mixture = (np.zeros(4), RNG.normal(size=(4, 3)), RNG.normal(size=(4, 3, 3)))
    found = {f"chain, {n} lines": (chain(n), (a, b)) for n in (2, 8, 25, 84, 428, 1714)}
    found |= {f"loop, {n} turns": (looped(n), (a, b)) for n in (28, 142, 571)}
    found |= {
        f"rnn, {t} steps": (RNN, (*rnn, list(RNG.normal(size=(t, 8, 16))))) for t in (10, 50, 100)
    }
    found["mlp, 3 layers"] = (MLP, (layers, RNG.normal(size=(5, 8)), np.arange(5) % 4))
    found["mixture of 4 Gaussians"] = (MIXTURE, (*mixture, RNG.normal(size=(20, 3))))
    found["three looks"] = (LOOKS, (np.array([1.0, 1.0, 1.0]),))
    return found


_written = 0


def compiled(text: str, backend: str = "numpy") -> Callable:
    """The value and gradient of a program that no one has seen, in the first argument."""
    global _written
    _written += 1
    text = text.replace("#", f"_{_written}")
    filename = f"<first call {_written}>"
    linecache.cache[filename] = (len(text), None, text.splitlines(keepends=True), filename)
    scope = {"np": np, "tg": tg, "__name__": "__main__"}
    exec(compile(text, filename, "exec"), scope)
    return tg.value_and_grad(scope["program"], backend=backend)


# -- the clock at each stage --------------------------------------------------------------------


class Clock:
    """Seconds by stage; a stage inside another one is not counted as part of it."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self._inner = [0.0]

    def timed(self, stage: str, f: Callable) -> Callable:
        """The function, with its time added to a stage."""

        def run(*args, **kwargs):
            self._inner.append(0.0)
            began = time.thread_time()
            try:
                return f(*args, **kwargs)
            finally:
                took = time.thread_time() - began
                own = took - self._inner.pop()
                self._inner[-1] += took
                self.seconds[stage] = self.seconds.get(stage, 0.0) + own

        return run

    @contextmanager
    def everywhere(self) -> Iterator[None]:
        """Times the stages of the calls inside."""
        from tracegrad import machine, world

        places = [
            (call, "traced_run", "trace"),
            (machine.Machine, "call", "machine"),
            (world.World, "check", "guards"),
            (call, "make_version", "version"),
            (version, "joint_graph", "differentiate"),
            (version, "compile_graph", "keys"),
            (pipeline.codegen, "emit", "emit"),
            (pipeline, "load", "load"),
            (call, "entry", "guards"),
        ]
        passes = []
        for step in PIPELINE:
            name = step.run.__name__
            passes.append(step._replace(run=self.timed(name, step.run)))
        patches = [mock.patch.object(codegen.passes, "PIPELINE", tuple(passes))]
        for owner, name, stage in places:
            patches.append(mock.patch.object(owner, name, self.timed(stage, getattr(owner, name))))
        for patch in patches:
            patch.start()
        try:
            yield
        finally:
            for patch in reversed(patches):
                patch.stop()


STAGES = (
    "trace",
    "machine",
    "version",
    "differentiate",
    "keys",
    "dce",
    "simplify",
    "cse",
    "own",
    "lifetime",
    "emit",
    "load",
    "guards",
    "rest",
)


def first_call(text: str, arguments: tuple) -> tuple[int, dict[str, float]]:
    """The number of traced operations, and milliseconds by stage."""
    f = compiled(text)
    clock = Clock()
    with clock.everywhere():
        clock.timed("rest", f)(*arguments)
    (one,) = f._every
    count = sum(isinstance(node, Call) for node in walk(one.traced.nodes))
    return count, {stage: 1e3 * s for stage, s in clock.seconds.items()}


def least(runs: list[dict[str, float]]) -> dict[str, float]:
    """The run that took the least time."""
    return min(runs, key=lambda run: sum(run.values()))


def in_fresh_process(title: str) -> dict[str, float]:
    """The stages of a first call in a process of its own."""
    command = [sys.executable, "-m", "tests.benchmarks.first_call", "--json", title]
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def beside_auto(text: str, arguments: tuple, rounds: int) -> list[float]:
    """Milliseconds of first calls, in turns: by default, and with ``backend="auto"``."""
    least = [float("inf")] * 2
    for _ in range(rounds):
        for i, backend in enumerate(("numpy", "auto")):
            f = compiled(text, backend)
            began = time.perf_counter()
            f(*arguments)
            least[i] = min(least[i], 1e3 * (time.perf_counter() - began))
    return least


# -- misses -------------------------------------------------------------------------------------

SHAPES = """
scale# = 2.0
def program(x#, y#):
    n# = x#.shape[0]
    z# = np.tanh(x# * y#) + n# * scale#
    return np.sum(z# * z#)
"""


def misses() -> Iterator[tuple[str, float]]:
    """Yield what happened, and the milliseconds of that call."""

    def timed(f, *args):
        began = time.thread_time()
        f(*args)
        return 1e3 * (time.thread_time() - began)

    f = compiled(LOOKS)
    signs = [np.array([i, j, k], float) for i in (1, -1) for j in (1, -3) for k in (1, -2)]
    for x in signs:
        traces = f.cache_info().traces
        took = timed(f, x)
        if f.cache_info().traces > traces:
            yield "first path" if not traces else f"path {traces + 1} grafted", took
    f = compiled(SHAPES)
    x, y = RNG.normal(size=(2, 5))
    yield "first call", timed(f, x, y)
    yield "a length that Python looked at", timed(f, x[:4], y[:4])
    yield "another rank", timed(f, x, np.ones((5, 5)))
    scope = f._function.__globals__
    scope[next(name for name in scope if name.startswith("scale_"))] = 3.0
    yield "another global", timed(f, x, y)


# -- tables -------------------------------------------------------------------------------------


def show(title: str, count: int, times: dict[str, float]) -> None:
    total = sum(times.values())
    stages = [f"{times.get(stage, 0.0):.2f}" for stage in STAGES]
    print(f"| {title} | {count} | {total:.1f} | {total / count:.3f} | {' | '.join(stages)} |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--only", nargs="*", default=[""], help="beginnings of titles")
    parser.add_argument("--fresh", action="store_true", help="in fresh processes as well")
    parser.add_argument("--auto", action="store_true", help='backend="auto" alone')
    parser.add_argument("--json", metavar="TITLE", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.json:
        print(json.dumps(first_call(*programs()[args.json])))
        return

    print(f"Python {platform.python_version()}, NumPy {np.__version__}, {args.rounds} rounds.\n")
    if args.auto:
        print('| program | default, ms | `backend="auto"`, ms | ratio |')
        print("| --- | --: | --: | --: |")
        for title, (text, arguments) in programs().items():
            if title.startswith(tuple(args.only)):
                by, auto = beside_auto(text, arguments, args.rounds)
                print(f"| {title} | {by:.1f} | {auto:.1f} | {auto / by:.2f} |", flush=True)
        return
    print(f"| value and gradient | ops | ms | ms an op | {' | '.join(STAGES)} |")
    print(f"| --- {'| --- ' * (3 + len(STAGES))}|")
    chosen = {t: p for t, p in programs().items() if t.startswith(tuple(args.only))}
    for title, (text, arguments) in chosen.items():
        if args.fresh:
            runs = [in_fresh_process(title) for _ in range(args.rounds)]
            show(f"{title}, fresh process", runs[0][0], least([run for _, run in runs]))
        with suppress(RecursionError):
            runs = [first_call(text, arguments) for _ in range(args.rounds)]
            show(title, runs[0][0], least([run for _, run in runs]))

    print("\n| a later miss | ms |\n| --- | --- |")
    rows = [list(misses()) for _ in range(args.rounds)]
    for i, (title, _) in enumerate(rows[0]):
        print(f"| {title} | {min(row[i][1] for row in rows):.2f} |")


if __name__ == "__main__":
    main()
