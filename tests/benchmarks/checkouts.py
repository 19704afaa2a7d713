"""Measure this library beside another checkout of it: first calls, later calls, guards, frames.

In: directories of two checkouts, each with a ``tracegrad`` and a ``codegen``.
Out: a Markdown table of both and their ratio.

    python -m tests.benchmarks.checkouts BEFORE [AFTER] [--rounds 15] [--only first]

Each round starts a process for either checkout, one after the other, the order alternating. Of
first calls the medians are shown, and that of the ratios within rounds; of later calls, which can
be repeated, the least times of all rounds. What runs in these processes is this file, whichever
checkout it measures.

first call
    Trace, differentiate, optimize, emit, load and run, in a process that has compiled another
    function. Each repetition compiles a text that the process has not seen, under names of its own;
    the median of them. "In a fresh process" is the first of all. Functions entered, Python's and
    those in C, tell on a busy machine what milliseconds do not.
later call
    The least time of a call that finds its program.
guards
    What a later call of a training step asks of the Python state around it, and all that it does
    beside its program, which is replaced by an empty function; see `looks.py`.
frames
    How many Python functions a later call enters until its program runs, that one among them.
loops
    First and later calls of loops of 1,000 iterations: one computes in each what none changes, the
    other makes an array in each, writes to it and reads it.
numbers
    100 calls, each with another whole number, compiling included: a step of Adam with its count,
    and an integration with a number of steps; of this also 30 calls.
state
    100 calls of functions that change state, compiling included: a step of Adam that changes
    dictionaries among its arguments, a record that is replaced by a copy, and a solver that counts
    the steps that it rejects.
anew
    Transforms that are made for each call, of 8 numbers; `make_vjp` with its pull.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from time import thread_time

CHAIN = """
def program(x#, y#):
    a# = np.tanh(x# * y#)
    b# = np.exp(np.sin(a# + x#))
    c# = b# / (np.abs(y#) + 1.0)
    d# = a# - c#
    return np.sum(np.sqrt(d# * d# + 1.0))
"""
SAME = """
def program(x, c, w):
    s = 0.0
    for t in range(len(x)):
        s = s + np.tanh(0.1 * np.max(c) * x[t] + np.sum(np.exp(c) * 0.5)) + np.sum(w @ w) * x[t]
    return s
"""
OWN = """
def program(x, c, w):
    s = 0.0
    for t in range(len(x)):
        y = np.zeros(16)
        y[0] = x[t]
        y += c
        s = s + np.sum(y * c)
    return s
"""
REPETITIONS = 7


def texts() -> dict[str, tuple[str, tuple]]:
    """By title: a program's text, and the arguments of a call."""
    import numpy as np
    from first_call import MLP, chain

    random = np.random.default_rng(0)
    x, y = random.normal(size=(2, 100))
    layers = [(random.normal(0, 0.1, (n, m)), np.zeros(m)) for n, m in ((8, 16), (16, 16), (16, 4))]
    return {
        "chain of 12 operations": (CHAIN, (x, y)),
        "MLP, 3 layers in a list": (MLP, (layers, random.normal(size=(5, 8)), np.arange(5) % 4)),
        "straight code, 60 operations": (chain(25), (x, y)),
    }


def first_calls() -> Iterator[tuple[str, float]]:
    """Milliseconds of the calling thread that first calls take."""
    from first_call import compiled

    def took(text, arguments):
        f = compiled(text)
        began = thread_time()
        f(*arguments)
        return 1e3 * (thread_time() - began)

    programs = texts()
    (title, program), *_ = programs.items()
    yield f"{title}, in a fresh process, ms", took(*program)
    for title, program in programs.items():
        yield f"{title}, ms", median(took(*program) for _ in range(REPETITIONS))
        yield f"{title}, 1000 functions entered", entered(*program) / 1000


def entered(text, arguments) -> int:
    """How many functions a first call enters, of Python and of C: the same wherever it runs."""
    from first_call import compiled

    f, count = compiled(text), 0

    def note(frame, event, _):
        nonlocal count
        count += event in ("call", "c_call")

    sys.setprofile(note)
    try:
        f(*arguments)
    finally:
        sys.setprofile(None)
    return count


def later_calls() -> Iterator[tuple[str, float]]:
    """Microseconds of later calls, and what a step spends beside its program."""
    from first_call import compiled
    from looks import emptied, guards_of, microseconds, training_steps

    for title, (text, arguments) in texts().items():
        f = compiled(text)
        f(*arguments)
        yield f"{title}, us", microseconds(lambda: f(*arguments), 25)  # noqa: B023
    (_, function, args), *_ = training_steps()
    _, version, _ = emptied(function, args)
    yield "guards of a training step's state, us", microseconds(version.unchanged, 25)
    yield "all guards of a training step, us", guards_of(function, args, 25)
    yield "frames of a later call", float(frames_of(function, args))


def frames_of(function, args) -> int:
    """How many Python functions a later call enters, up to its program."""
    from looks import emptied

    step, version, _ = emptied(function, args)
    program, entered = version.program.run.__code__, []

    def note(frame, event, _):
        if event == "call" and program not in entered:
            entered.append(frame.f_code)

    sys.setprofile(note)
    try:
        step(*args)
    finally:
        sys.setprofile(None)
    return len(entered)


def loops() -> Iterator[tuple[str, float]]:
    """Milliseconds of the calling thread that calls of loops take."""
    import numpy as np
    from first_call import compiled
    from looks import microseconds

    random = np.random.default_rng(0)
    args = random.normal(size=1000), random.normal(size=16), random.normal(size=(16, 16))
    for title, text in (("the same in each iteration", SAME), ("an array in each", OWN)):
        f = compiled(text)
        began = thread_time()
        f(*args)
        yield f"{title}, first call, ms", 1e3 * (thread_time() - began)
        yield f"{title}, later calls, ms", microseconds(lambda: f(*args), 25) / 1e3  # noqa: B023


def anew() -> Iterator[tuple[str, float]]:
    """Microseconds of transforms that are made for each call."""
    import numpy as np
    from looks import microseconds

    import tracegrad as tg

    def f(x):
        return np.sin(x) * x

    def total(x):
        return np.sum(f(x))

    def pulled():
        pull, _ = tg.make_vjp(f)(x)
        return pull(v)

    x, v = np.random.default_rng(0).normal(size=8), np.ones(8)
    calls = {
        "make_vjp": pulled,
        "elementwise_grad": lambda: tg.elementwise_grad(f)(x),
        "hessian_vector_product": lambda: tg.hessian_vector_product(total)(x, v),
        "grad of a lambda": lambda: tg.grad(lambda z: np.sum(f(z)))(x),
    }
    for title, call in calls.items():
        for _ in range(30):
            call()
        yield f"{title}, us", microseconds(call, 25)


ADAM = """
def program(w, x, y, m, v, step):
    g = x.T @ (x @ w - y) / len(y)
    m = 0.9 * m + 0.1 * g
    v = 0.999 * v + 0.001 * g * g
    rate = 0.01 * (1.0 - 0.999**step) ** 0.5 / (1.0 - 0.9**step)
    return np.sum((w - rate * m / (np.sqrt(v) + 1e-8)) ** 2)
"""
STEPS = """
def program(y, k, steps):
    h = 1.0 / steps
    for _ in range(steps):
        a = -k * y
        y = y + 0.5 * h * (a - k * (y + h * a))
    return np.sum(y)
"""


def numbers() -> Iterator[tuple[str, float]]:
    """Milliseconds of the calling thread that 100 calls take, each with another whole number."""
    import numpy as np
    from first_call import compiled

    random = np.random.default_rng(0)
    x, y = random.normal(size=(64, 8)), random.normal(size=64)
    of_adam = (np.zeros(8), x, y, np.zeros(8), np.zeros(8))
    of_steps = (random.normal(size=8), np.ones(8))
    for title, text, args, values in (
        ("a step of Adam", ADAM, of_adam, range(1, 101)),
        ("20 to 119 steps", STEPS, of_steps, range(20, 120)),
        ("20 to 49 steps", STEPS, of_steps, range(20, 50)),
    ):
        f = compiled(text)
        began = thread_time()
        for number in values:
            f(*args, number)
        yield f"{title}, all calls, ms", 1e3 * (thread_time() - began)


STATES = """
from types import SimpleNamespace
from typing import NamedTuple

import numpy as np
import tracegrad as tg

random = np.random.default_rng(0)
x, y = random.normal(size=(64, 8)), random.normal(size=64)
params = {"w": np.zeros(8), "b": np.zeros(1)}
state = {"t": 0, **{k: {n: np.zeros_like(v) for n, v in params.items()} for k in "mv"}}


def loss(p):
    return np.mean((x @ p["w"] + p["b"] - y) ** 2)


def adam(p, s):
    value, g = tg.value_and_grad(loss)(p)
    s["t"] += 1
    for k in p:
        s["m"][k] = 0.9 * s["m"][k] + 0.1 * g[k]
        s["v"][k] = 0.999 * s["v"][k] + 0.001 * g[k] ** 2
        m, v = s["m"][k] / (1 - 0.9 ** s["t"]), s["v"][k] / (1 - 0.999 ** s["t"])
        p[k] = p[k] - 0.01 * m / (np.sqrt(v) + 1e-8)
    return value


class Averages(NamedTuple):
    mean: float
    square: float


kept = SimpleNamespace(a=Averages(0.0, 1.0), rejected=0)


def average(z):
    a = kept.a._replace(mean=0.9 * kept.a.mean + 0.1 * np.mean(z))
    kept.a = a._replace(square=0.9 * a.square + 0.1 * np.mean(z * z))
    return np.tanh((z - a.mean) / np.sqrt(a.square))


def solve(k, end):
    t, z, h = 0.0, np.ones(2), 0.1
    while t < end:
        new = z - h * k * z
        if np.max(np.abs(new - z)) < 1e-2:
            t, z, h = t + h, new, h * 1.5
        else:
            kept.rejected += 1
            h = h * 0.5
    return z[0]


CALLS = {
    "a step of Adam over dictionaries": (tg.compile(adam), lambda i: (params, state)),
    "a named tuple that is replaced": (tg.compile(average), lambda i: (x[i % 64],)),
    "a solver that counts": (tg.compile(solve), lambda i: (1.0 + i % 7, 0.6 + 0.1 * (i % 3))),
}
"""


def states() -> Iterator[tuple[str, float]]:
    """Milliseconds of the calling thread that 100 calls take, each of which changes state."""
    import linecache
    import warnings

    warnings.simplefilter("ignore")
    linecache.cache["states.py"] = (
        len(STATES),
        None,
        STATES.splitlines(keepends=True),
        "states.py",
    )
    names = {"__name__": "states"}
    exec(compile(STATES, "states.py", "exec"), names)
    for title, (f, given) in names["CALLS"].items():
        began = thread_time()
        for i in range(100):
            f(*given(i))
        yield f"{title}, all calls, ms", 1e3 * (thread_time() - began)


KINDS = {
    "first": first_calls,
    "later": later_calls,
    "loops": loops,
    "numbers": numbers,
    "state": states,
    "anew": anew,
}


def measured(checkout: Path, kind: str) -> dict[str, float]:
    """What a process measures that uses one of the checkouts."""
    command = [sys.executable, __file__, "--measure", kind]
    environment = {**os.environ, "PYTHONPATH": str(checkout), "OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        command, check=True, capture_output=True, text=True, env=environment, cwd=checkout
    )
    return json.loads(done.stdout.splitlines()[-1])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("before", nargs="?", type=Path)
    parser.add_argument("after", nargs="?", type=Path, default=Path(__file__).parents[2])
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--only", choices=KINDS, action="append")
    parser.add_argument("--measure", choices=KINDS, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.measure:
        print(json.dumps(dict(KINDS[args.measure]())))
        return

    sides = [args.before.resolve(), args.after.resolve()]
    print(f"| {args.rounds} rounds | before | after | after / before |\n| --- | --- | --- | --- |")
    for kind in args.only or KINDS:
        rounds = []
        for r in range(args.rounds):
            both = {side: measured(side, kind) for side in (sides if r % 2 else sides[::-1])}
            rounds.append([both[side] for side in sides])
        for title in rounds[0][0]:
            pairs = [(before[title], after[title]) for before, after in rounds]
            of = median if kind == "first" else min
            a, b = (of(side) for side in zip(*pairs, strict=True))
            ratio = median(y / x for x, y in pairs) if kind == "first" else b / a
            print(f"| {kind} call: {title} | {a:.2f} | {b:.2f} | {ratio:.2f} |")


if __name__ == "__main__":
    main()
