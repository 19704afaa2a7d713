"""Random programs whose variables become one array, change places, and part again in branches.

``python tests/variable_programs.py FIRST LAST`` compares results and gradients of many, compiled,
with those of the plain function and of the tape.
"""

from __future__ import annotations

import random
import sys
import warnings
from typing import Any

import numpy as np
from checks import assert_same_bits, function_of

import tracegrad as tg

VARIABLES = "uvpq"
TESTS = (
    *("v[0] > 0.0", "u[0] > v[1]", "np.sum(v) > 0.0", "v[1] < 0.2 and u[0] > -0.3", "i % 3 == 0"),
    *("p[0] > 0.3 or q[1] < -0.2", "np.sum(p * q) > 0.1", "not (u[1] > 0.1 and q[0] < 0.5)"),
    "i > 5",
)
LOOPS = (
    ("for i in range(10):",),
    ("while i < 9:", "    i += 1"),
    ("while True:", "    i += 1", "    if i > 9: break"),
)
FIRST = "v = v * 0.9 + w * 0.15", "v = np.sin(v + w * 0.3)", "v = v + u * 0.1"
RESULTS = (
    "return np.sum(u * v) + np.sum(p * q * x)",
    "return np.sum(u * v) + np.sum(p)",
    "r = np.sum(u * v); v = v * 2.0; u = u + v; return r + np.sum(u * v * p * q)",
)


class Grower:
    """Grows the text of a function ``f(x, w)`` of two vectors of three; `rng` decides all."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self.lines = ["def f(x, w):", "    v = x * 1.0; u = w * 0.5; p = x + w; q = x * w; i = 0"]

    def text(self) -> str:
        loop = self.rng.choice(LOOPS)
        self.lines += [f"    {line}" for line in loop]
        self.lines.append(f"        {self.rng.choice(FIRST)}")
        self.block("        ", 0, self.rng.randint(2, 5))
        self.lines += [f"    {self.statement()}" for _ in range(self.rng.randint(0, 3))]
        self.lines.append(f"    {self.rng.choice(RESULTS)}")
        return "\n".join(self.lines) + "\n"

    def statement(self) -> str:
        a, b, c = (self.rng.choice(VARIABLES) for _ in range(3))
        makes = (
            (f"{a} = {b}", 7),
            (f"{a}, {b} = {b}, {a}" if a != b else f"{a} = {c}", 3),
            (f"{a} = {b} * 0.9 + {self.rng.choice(['w', 'x', c])} * 0.15", 5),
            (f"{a} = np.sin({b} + {c})", 2),
            (f"{a} = {a} + w * 0.1", 1),
            (f"{a} = {b} if {self.rng.choice(TESTS)} else {c}", 1),
            (f"{a} = x * 0.3", 1),
        )
        return self.rng.choices([m for m, _ in makes], [weight for _, weight in makes])[0]

    def block(self, indent: str, depth: int, count: int) -> None:
        inner = f"{indent}    "
        for _ in range(count):
            kind = self.rng.random()
            if kind < 0.5 or depth > 2:
                self.lines.append(f"{indent}{self.statement()}")
            elif kind < 0.85:
                self.lines.append(f"{indent}if {self.rng.choice(TESTS)}:")
                self.block(inner, depth + 1, self.rng.randint(1, 2))
                other = self.rng.random()
                if other < 0.5:
                    head = "else:" if other < 0.3 else f"elif {self.rng.choice(TESTS)}:"
                    self.lines.append(f"{indent}{head}")
                    self.block(inner, depth + 1, self.rng.randint(1, 2))
            elif kind < 0.9:
                limit = self.rng.choice(["> 3.0", "< -2.0", "> 1.0"])
                end = self.rng.choice(["break", "continue"])
                self.lines.append(f"{indent}if np.sum({self.rng.choice(VARIABLES)}) {limit}: {end}")
            elif depth == 0 and kind < 0.95:
                self.lines.append(f"{indent}for j in range({self.rng.choice([9, 10])}):")
                self.block(inner, depth + 1, self.rng.randint(1, 3))
            else:
                self.lines.append(f"{indent}{self.statement()}")


def inputs(seed: int, count: int):
    """Arguments of calls."""
    rng = np.random.default_rng(seed)
    return [(rng.normal(size=3), rng.uniform(0.5, 1.2, 3)) for _ in range(count)]


def check(f, given, **options: Any) -> None:
    """Asserts that results are the plain function's, and gradients those of the tape."""
    compiled = tg.compile(f, **options)
    for x, w in given:
        assert_same_bits(compiled(x.copy(), w.copy()), f(x.copy(), w.copy()))
    gradient = tg.value_and_grad(f, argnums=(0, 1), **options)
    got = [gradient(x.copy(), w.copy()) for x, w in given]
    compiles = tg.config.compile
    tg.config.compile = False
    try:
        eager = tg.value_and_grad(f, argnums=(0, 1))
        for (x, w), result in zip(given, got, strict=True):
            assert_same_bits(result, eager(x.copy(), w.copy()))
    finally:
        tg.config.compile = compiles


def main(first: int, last: int) -> None:
    warnings.simplefilter("ignore")
    tg.config.check = True
    wrong = 0
    for seed in range(first, last):
        text = Grower(seed).text()
        try:
            check(function_of(text), inputs(seed, 7))
        except Exception as error:
            wrong += 1
            print(f"seed {seed}: {error}\n{text}\n")
    print(f"{last - first} programs, {wrong} wrong")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
