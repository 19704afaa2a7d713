"""Random programs of ifs enter as numbers, plain functions leave: their arms meet, or do not."""

from __future__ import annotations

import random
from collections.abc import Callable
from textwrap import indent
from typing import Any

import numpy as np

HELPERS = """
def part(v):
    if v > 0.5:
        return v
    if v < -0.5:
        return -1.0
    return 0.0

def clipped(v):
    if v > 1.0:
        return v * 0.5
    return v

def bent(v, w):
    if v > w:
        r = v - w
    else:
        r = w * v
    return r

def ways(v, w):
    if v > w:
        return v, w * 0.5
    if v < 0 or w > 0.5:
        w = np.sin(w)
        return w, v
    return v * w, v
"""


class Writer:
    """Writes one program over a vector `x` of six numbers and a matrix `w` with six columns."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.names = ["a", "b", "p", "q"]
        self.arrays = ["x", "u"]
        self.odd = False  # an array has another dtype

    def number(self) -> str:
        pick = self.random.random()
        if pick < 0.35:
            return f"x[{self.random.randrange(6)}]"
        if pick < 0.8:
            return self.random.choice(self.names)
        return self.random.choice(["0.5", "-1.5", "2.0", "0.0", "k", "x[k]"])

    def value(self, depth: int = 0) -> str:
        r, pick = self.random, self.random.random()
        if pick < 0.27 or depth > 2:
            return self.number()
        if pick < 0.3:
            return f"({self.number()} if on else {self.number()})"
        if pick < 0.6:
            return f"({self.value(depth + 1)} {r.choice('+-*')} {self.value(depth + 1)})"
        if pick < 0.75:
            return f"np.{r.choice(['sin', 'tanh', 'exp'])}({self.value(depth + 1)} * 0.25)"
        if pick < 0.82:
            return f"np.sum({self.array()})"
        if pick < 0.88:
            return f"{r.choice(['clipped', 'part'])}({self.value(depth + 1)})"
        if pick < 0.94:
            return f"bent({self.value(depth + 1)}, {self.number()})"
        return f"({self.value(depth + 1)} if {self.test()} else {self.value(depth + 1)})"

    def array(self) -> str:
        r, pick = self.random, self.random.random()
        name = r.choice(self.arrays)
        if pick < 0.4:
            return name
        if pick < 0.6:
            return f"{name} * {r.choice(self.arrays)}"
        if pick < 0.7:
            return "(w @ x)"
        if pick < 0.72:
            return f"(np.arange(6) * {self.number()})"
        if pick < 0.74 and self.odd:
            return f"(x * np.float32({r.choice(['0.1', '0.3'])}) + half * {self.number()})"
        return f"{name} * {self.number()}"

    def test(self) -> str:
        pick = self.random.random()
        if pick < 0.8:
            return self.comparison()
        return f"{self.comparison()} {self.random.choice(['and', 'or'])} {self.comparison()}"

    def comparison(self) -> str:
        left = f"x[{self.random.randrange(6)}]" if self.random.random() < 0.7 else self.number()
        if left in ("0.5", "-1.5", "2.0", "0.0"):
            left = "x[0]"
        return f"{left} {self.random.choice('><')} {self.random.choice(['0', '0.5', 'x[1]', 'a'])}"

    def of_numbers(self) -> str:
        """A statement that gives a variable a number of Python, or one that is computed of it."""
        r = self.random
        texts = ["p = 0.0", "p = -p", "p = 1.5", "q = 2", "q = q * 3.0", "k = 2", "on = True"]
        texts += ["k = (k + 1) % 6", "on = not on", f"p = p + {self.number()}"]
        texts += [f"p = {self.value(1)}", f"q = q + {self.number()}", "p = float(k)"]
        texts += [f"p = max(0.0, {self.number()}, {self.number()})", "k = 5 - k"]
        return r.choice(texts)

    def statement(self, depth: int) -> str:
        r, pick = self.random, self.random.random()
        if r.random() < 0.25:
            return self.of_numbers()
        if depth > 2 or pick < 0.4:
            if r.random() < 0.25:
                return f"u = {self.array()}"
            if r.random() < 0.15:
                return f"a, b = ways({self.value(1)}, {self.number()})"
            name = r.choice(["a", "b", "c", "d"])
            text = f"{name} = {self.value()}"
            if name not in self.names and depth == 0:
                self.names.append(name)
            return text
        if pick < 0.44 and depth:
            return f"return {self.value()}"
        if pick < 0.48:
            return f"for i in range(3):\n{indent(self.block(depth + 1, 1), '    ')}"
        text = f"if {self.test()}:\n{indent(self.block(depth + 1), '    ')}"
        if r.random() < 0.3:
            text += f"\nelif {self.test()}:\n{indent(self.block(depth + 1), '    ')}"
        if r.random() < 0.55:
            text += f"\nelse:\n{indent(self.block(depth + 1), '    ')}"
        return text

    def block(self, depth: int, most: int = 3) -> str:
        return "\n".join(self.statement(depth) for _ in range(self.random.randint(1, most)))

    def program(self) -> str:
        self.odd = self.random.random() < 0.2
        body = ["a = x[0] * 1.0", "b = np.sum(x)", "u = x * 2.0"]
        body += ["p = 0.0", "q = 0", "k = 1", "on = False"]
        body += ["half = x.astype(np.float32)"] * self.odd
        body += [self.statement(0) for _ in range(self.random.randint(3, 8))]
        body.append(f"return {self.value()} + a * b + np.sum(u)")
        return f"{HELPERS}\ndef f(x, w):\n{indent(chr(10).join(body), '    ')}\n"


def program(seed: int) -> tuple[Callable[..., Any], str]:
    """A program and its text."""
    text = Writer(seed).program()
    names: dict[str, Any] = {"np": np}
    exec(compile(text, f"<ifs {seed}>", "exec"), names)
    return names["f"], text


def inputs(seed: int, count: int) -> list[tuple[np.ndarray, np.ndarray]]:
    """Arguments, with zeros of both signs among them."""
    numbers = np.random.default_rng(seed)
    found = []
    for _ in range(count):
        x = numbers.normal(size=6)
        x[numbers.random(6) < 0.15] = 0.0
        x[numbers.random(6) < 0.1] = -0.0
        found.append((x, numbers.normal(size=(6, 6))))
    return found
