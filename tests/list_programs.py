"""Random programs whose turns fill lists with their states, and read both behind the loop.

In those of `growing` some turns alone append, or the loop is left early. ``python
tests/list_programs.py FIRST LAST`` compares gradients of many with those of the tape.
"""

from __future__ import annotations

import random
import sys
import warnings

import numpy as np
from checks import assert_same_bits, function_of

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


STEPS = {
    "h": ("np.tanh(w * h + x)", "np.sin(w * h) + h * x * 0.1", "h * 0.9 + x", "h + x * w"),
    "c": ("c * 0.8 + x", "np.cos(c) * x + h"),
    "y": ("w * x", "np.sin(h * x)"),
}
HEADS = ("for x in xs:",) * 2 + ("for _, x in enumerate(xs):", "while k < len(xs):", "while True:")
GROWN = (
    *("np.sum(np.array(hs) ** 2)", "np.mean(np.stack(hs))", "sum(np.sum(np.sin(v)) for v in hs)"),
    *("np.sum(hs[-1])", "np.sum(hs[0] * hs[-1])", "len(hs) * np.sum(h)", "np.sum(hs[-2])"),
    *("np.sum(np.exp(-np.stack(hs) ** 2))", "np.sum(np.stack(hs) * 0.3) / len(hs)"),
)
LOOKS = "x > 0.0", "np.sum({v}) > 0.0", "x * x < 1.5", "np.sum({v} * {v}) > 1.0"
EXITS = "np.sum(h) > 2.0", "np.sum(h * h) < 0.3", "np.sum(c) < -1.0", "x > 1.3"


def growing(seed: int) -> str:
    """The text of such a function whose lists have a length that the data tell."""
    rng = random.Random(seed)
    head = rng.choice(HEADS)
    lines = ["def f(h, w, xs):", "    c, total, k = h * 0.5, 0.0, 0"]
    lines += [f"    hs = [{rng.choice(['', '', '', 'h * w'])}]", f"    {head}"]
    name = rng.choice("hhcy")
    turn = ["x = xs[k]", "k += 1"] if head[0] == "w" else []
    turn.append(f"{name} = {rng.choice(STEPS[name])}")
    item = rng.choice([name, name, f"{name} * 0.5"])
    if rng.random() < 0.3:
        turn += [
            f"q = np.sin({name})",
            "hs.append(q)",
            rng.choice(["c = q", "total = total + np.sum(q)"]),
        ]
    elif rng.random() < 0.5:
        turn += [f"if {rng.choice(LOOKS).format(v=name)}:", f"    hs.append({item})"]
        others = ["total = total + np.sum(h)", "h = h * 0.5", "total = total - 0.1 * np.sum(c)"]
        turn += ["else:", f"    {rng.choice(others)}"] if rng.random() < 0.6 else []
    else:
        turn.append(f"hs.append({item})")
    if rng.random() < 0.3:
        turn.append("total = total + np.sum(h * c)")
    if head == "while True:" or (head[0] == "f" and rng.random() < 0.6):
        ends = " or k >= len(xs)" if head[0] == "w" else ""
        turn += [f"if {rng.choice(EXITS)}{ends}:", "    break"]
        turn += ["c = c * 0.9"] if rng.random() < 0.25 else []
    lines += [f"        {line}" for line in turn]
    lines.append("    q = 0.0")
    names = [f"a{i}" for i in range(rng.randint(1, 4))]
    for name in names:
        read = rng.choice([*GROWN, *READS[:3]])
        lines.append(f"    {name} = {read}" + (" if hs else total" if rng.random() < 0.4 else ""))
        if rng.random() < 0.2:
            lines += ["    for v in hs:", "        q = q * 0.5 + np.sum(v * w)"]
    rng.shuffle(names)
    lines.append(f"    return total + q + {rng.choice([' + ', ' * ']).join(names)}")
    return "\n".join(lines)


def inputs(seed: int, lengths):
    """Arguments of calls."""
    rng = np.random.default_rng(seed)
    for n in lengths:
        yield rng.normal(size=3), rng.normal(size=3), rng.normal(size=n)


def answers(function, given):
    """What calls give, or the types of what they raise."""
    for arguments in given:
        try:
            yield function(*arguments)
        except (IndexError, ValueError) as error:
            yield type(error)


def check(text: str, seed: int, lengths=(12, 12, 12, 9)) -> bool:
    """Asserts that compiled gradients are those of the tape; whether the loops stay loops."""
    compiled = tg.value_and_grad(function_of(text), argnums=(0, 1, 2))
    got = [*answers(compiled, inputs(seed, lengths))]
    compiles = tg.config.compile
    tg.config.compile = False
    try:
        eager = tg.value_and_grad(function_of(text), argnums=(0, 1, 2))
        for result, expected in zip(got, answers(eager, inputs(seed, lengths)), strict=True):
            if isinstance(expected, type):
                assert result is expected
            else:
                assert_same_bits(result, expected)
    finally:
        tg.config.compile = compiles
    return "loops that are unrolled" not in compiled.explain()


def main(first: int, last: int) -> None:
    warnings.simplefilter("ignore")
    for kind, lengths in ((program, (12, 12, 12, 9)), (growing, (12, 12, 15, 9, 20) * 2)):
        loops = wrong = 0
        for seed in range(first, last):
            try:
                loops += check(kind(seed), seed, lengths)
            except Exception as error:
                wrong += 1
                print(f"seed {seed}: {error}\n{kind(seed)}\n")
        of = last - first
        print(f"{kind.__name__}: {of} programs, {wrong} wrong, {loops} with all loops as loops")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
