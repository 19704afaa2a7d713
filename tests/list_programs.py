"""Random programs whose turns fill lists with their states, and read both behind the loop.

``python tests/list_programs.py FIRST LAST`` compares gradients of many with those of the tape.
"""

from __future__ import annotations

import random
import sys
import warnings

import numpy as np
from checks import assert_same_bits

import tracegrad as tg

STATES = (
    *("np.tanh(w * h + x)", "np.sin(w * h) + h * x * 0.1", "h * 0.9 + x"),
    *("np.sin(h) * w - h * h * 0.1", "np.cos(h * w) + c * 0.1"),
)
CELLS = "np.cos(w * c + h)", "c * 0.5 + x", "np.sin(c) * c + h"
READS = (
    *("np.sum(h * 0.3)", "np.sum(np.exp(h * 0.7))", "np.sum(c * h)", "np.sum(hs[-1] * w)"),
    *("np.sum(np.stack(hs) ** 2)", "np.sum(np.stack(hs)[1:] * 0.7)", "np.sum(hs[2] * hs[0])"),
    *("np.sum(np.cos(h) * hs[-1])", "np.sum(hs[-2] * 0.1)", "sum(np.sum(v * v) for v in hs)"),
)


def program(seed: int) -> str:
    """The text of a function ``f(h, w, xs)`` of two vectors of one length and of numbers."""
    rng = random.Random(seed)
    two, begins = rng.random() < 0.4, rng.random() < 0.4
    lines = [
        "def f(h, w, xs):",
        "    c, total = h * 0.5, 0.0",
        f"    hs = [{'h' if begins else ''}]",
    ]
    turn = [f"h = {rng.choice(STATES)}"]
    if two:
        lines.append("    cs = []")
    if two or rng.random() < 0.3:
        turn.insert(0, f"c = {rng.choice(CELLS)}")
    if rng.random() < 0.3:
        turn.append("total = total + np.sum(h * w)")
    turn.append("hs.append(h)")
    if two:
        turn.append("cs.append(c)")
    if rng.random() < 0.3:
        turn.append("total = total + np.sum(h)")
    if begins and rng.random() < 0.25:
        turn.insert(0, "total = total + np.sum(hs[-1] * x)")
    lines += ["    for x in xs:", *(f"        {line}" for line in turn)]
    reads = [*READS, "np.sum(np.stack(cs) * 0.4)"] if two else [*READS]
    if two and not begins:
        reads += ["np.sum(np.stack(hs) * np.stack(cs))"]
    names = [f"a{i}" for i in range(rng.randint(2, 5))]
    lines += [f"    {name} = {rng.choice(reads)}" for name in names]
    rng.shuffle(names)
    lines.append(f"    return total + {rng.choice([' + ', ' * ']).join(names)}")
    return "\n".join(lines)


def function(seed: int):
    """The function."""
    scope: dict = {"np": np}
    exec(compile(program(seed), f"<lists {seed}>", "exec"), scope)
    return scope["f"]


def inputs(seed: int):
    """Arguments of three calls with one program, and of a fourth."""
    rng = np.random.default_rng(seed)
    for n in (12, 12, 12, 9):
        yield rng.normal(size=3), rng.normal(size=3), rng.normal(size=n)


def check(seed: int) -> bool:
    """Asserts that compiled gradients are those of the tape; whether the loops stay loops."""
    compiled = tg.value_and_grad(function(seed), argnums=(0, 1, 2))
    got = [compiled(*given) for given in inputs(seed)]
    compiles = tg.config.compile
    tg.config.compile = False
    try:
        eager = tg.value_and_grad(function(seed), argnums=(0, 1, 2))
        for given, result in zip(inputs(seed), got, strict=True):
            assert_same_bits(result, eager(*given))
    finally:
        tg.config.compile = compiles
    return "loops that are unrolled" not in compiled.explain()


def main(first: int, last: int) -> None:
    warnings.simplefilter("ignore")
    loops = wrong = 0
    for seed in range(first, last):
        try:
            loops += check(seed)
        except Exception as error:
            wrong += 1
            print(f"seed {seed}: {error}\n{program(seed)}\n")
    print(f"{last - first} programs, {wrong} wrong, {loops} with all loops as loops")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
