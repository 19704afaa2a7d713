"""Random programs of nested loops over arrays enter; what differs from plain Python leaves, small.

A program is a tree of statements made from a seed. `faults` runs it as plain Python over NumPy, as
`tg.compile` has it, and differentiated, with and without compiling, on inputs that take different
branches, make different numbers of turns and have different lengths. `shortened` drops statements
while the program stays faulty. By hand: ``python tests/loop_programs.py --count N --seed S``, with
`--inputs` many calls of each program in each mode and `--jobs` processes. It counts calls, loops,
and what was unrolled or ran eagerly with the reasons.
"""

from __future__ import annotations

import argparse
import linecache
import re
import signal
import sys
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import partial
from multiprocessing import get_context
from random import Random
from types import SimpleNamespace
from typing import Any
from unittest import mock

import numpy as np
from checks import assert_same_bits

import tracegrad as tg
from tracegrad.world.loops.recording import Loops

PRELUDE = """
from functools import reduce
def clip(u, v):
    if u > v:
        return u - v
    return u * 0.5 + 0.25


def relax(u, n):
    for k in range(n):
        u = 0.7 * np.tanh(u) + 0.01 * k
        if u > 0.6:
            return u
    return u * 2.0


def decays(u):
    n = 0
    while u * u > 0.01:
        u = u * 0.6
        n += 1
    return n


class Thing:
    def __init__(self, v):
        self.v = v
"""

# -- programs -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Line:
    """One statement; where `fixed`, shortening keeps it."""

    text: str
    fixed: bool = False


@dataclass(frozen=True)
class Compound:
    """``if`` with its arms, a loop with its ``else``, or ``try``: headers with their statements."""

    parts: tuple[tuple[str, tuple[Line | Compound, ...]], ...]
    first: str = ""  # what the first body begins with, which ends the loop


Body = tuple[Line | Compound, ...]


def text_of(body: Body, depth: int = 1) -> str:
    lines: list[str] = []
    pad = "    " * depth
    for statement in body:
        if isinstance(statement, Line):
            lines.append(pad + statement.text)
            continue
        for i, (header, inner) in enumerate(statement.parts):
            lines.append(pad + header)
            first = statement.first if i == 0 else ""
            if first:
                lines.append(pad + "    " + first)
            lines.append(text_of(inner, depth + 1) if inner else "")
            if not inner and not first:
                lines.append(pad + "    pass")
    return "\n".join(line for line in lines if line)


def program_text(body: Body) -> str:
    return f"{PRELUDE}\n\ndef f(x, w, c):\n{text_of(body)}\n"


INITIAL = {
    "s": "s = c",
    "r": "r = 0.0",
    "a": "a = w * 1.0",
    "b": "b = np.zeros(3)",
    "y": "y = np.zeros(len(x) + 1)",
    "h": "h = x * 0.5",
    "out": "out = []",
    "d": "d = {'v': x[0]}",
    "o": "o = Thing(x[1])",
    "p": "p = (0.0, x[2])",
    "q": "q = None",
    "z": "z = 0.0",
    "n": "n = 0",
    "m": "m = 0",
    "us": f"us = [{', '.join(f'x[{i}:{i + 3}] * w' for i in range(9))}]\nu = w * 0.5",
    "ps": "ps = [" + ", ".join(f"(w * {i + 1}, x[{i}] + {i})" for i in range(8)) + "]",
}
TABLE = {"g": "g = np.zeros((len(x), len(x)))"}
"""What programs have whose loops' ranges depend on the numbers of loops around them."""
FINAL = {
    "s": "s",
    "r": "r",
    "a": "(a * a).sum()",
    "b": "b.sum()",
    "y": "(y * y).sum()",
    "h": "(h * h).sum()",
    "out": "(np.stack(out).sum() if len(out) > 3 else sum(out))",
    "d": "d['v']",
    "o": "o.v",
    "p": "p[0] * p[1]",
    "q": "(0.0 if q is None else np.sum(q))",
    "z": "np.sum(z)",
    "n": "n * 0.5",
    "m": "m",
    "us": "(us[1] * us[-1]).sum() + u.sum()",
    "ps": "ps[2][1]",
    "g": "(g * g).sum()",
}


class Writer:
    """Writes one program; numbers stay small because products go through tanh or sin."""

    def __init__(self, random: Random, has_ifs: bool = False, counted: bool = False) -> None:
        self.random = random
        self.has_ifs = has_ifs  # several of them one after another in a turn
        self.counted = counted  # ranges depend on the numbers of loops around
        self.loops: list[str] = []  # the numbers of the loops around
        self.made = 0
        chosen = ["s", "r", *random.sample(list(INITIAL)[2:], random.randint(1, 4))]
        self.has = {*chosen, *(TABLE if counted else ())}
        self.late: set[str] = set()  # variables that loops bind first

    def any(self, *options: Any) -> Any:
        return self.random.choice(options)

    def number(self) -> str:
        return str(round(self.random.uniform(-0.6, 0.6), 2))

    def body(self) -> Body:
        initial = {**INITIAL, **TABLE}
        chosen = [name for name in initial if name in self.has]
        start = tuple(Line(text) for name in chosen for text in initial[name].split("\n"))
        if "out" in self.has and self.random.random() < 0.5:
            start += (Line("out.append(s * x[1])"),)
        middle: Body = ()
        for _ in range(self.random.randint(1, 2)):
            middle += (self.loop(2),)
            if self.random.random() < 0.3:
                middle += self.statements(0)
        late = [
            f"total = total + {name}" for name in sorted(self.late) if self.random.random() < 0.5
        ]
        ends = [f"total = total + {FINAL[name]}" for name in chosen[1:]]
        lines = [f"total = {FINAL[chosen[0]]}", *ends, *late]
        return (*start, *middle, *map(Line, lines), Line("return total", True))

    # -- statements

    def statements(self, budget: int, fewest: int = 1) -> Body:
        found: Body = ()
        for _ in range(self.random.randint(fewest, 3)):
            found += self.statement(budget)
        return found

    def statement(self, budget: int) -> Body:
        kinds = ["assign"] * 4
        if self.loops and self.has_ifs:
            kinds += ["ifs"] * 3
        if budget > 0:
            kinds += ["if", "if", "loop", "try"] if self.random.random() < 0.5 else ["if"]
        if self.loops:
            kinds += ["leave"]
        if len(self.loops) == 1:  # in deeper ones programs are too long where they are unrolled
            kinds += ["rows"]
        match self.any(*kinds):
            case "assign":
                return tuple(Line(text) for text in self.assignment().split("\n"))
            case "if":
                parts = [(f"if {self.condition()}:", self.statements(budget - 1))]
                if self.random.random() < 0.5:
                    parts.append(("else:", self.statements(budget - 1)))
                return (Compound(tuple(parts)),)
            case "ifs":
                return self.ifs()
            case "loop":
                return (self.loop(budget - 1),)
            case "rows":
                return self.rows(budget)
            case "try":
                inner = self.statements(budget - 1)
                return (
                    Compound(
                        (
                            ("try:", inner),
                            (self.any("finally:", "except ValueError:"), self.statements(0)),
                        )
                    ),
                )
        word = self.any("break", "break", "continue", f"return {self.scalar()} * 2")
        before = self.statements(0) if self.random.random() < 0.3 else ()
        return (Compound(((f"if {self.condition()}:", (*before, Line(word))),)),)

    def ifs(self) -> Body:
        """Ifs one after another, whose arms assign to a few variables, and write to an array."""
        found: Body = (Line(f"v = {self.scalar()}"),)
        for _ in range(self.random.randint(1, 4)):
            parts = [(f"if {self.look()}:", self.arm())]
            if self.random.random() < 0.3:
                parts.append((f"elif {self.look()}:", self.arm()))
            if self.random.random() < 0.4:
                parts.append(("else:", self.arm()))
            found += (Compound(tuple(parts)),)
        return (*found, Line(self.any("s = 0.5 * s + v", "r = r + v", "s = np.tanh(s * v)")))

    def look(self) -> str:
        return str(self.any(f"v > {self.number()}", f"v * s < {self.number()}", self.condition()))

    def arm(self) -> Body:
        k = self.number()
        options = [
            *(f"v = v * {k}", "v = np.sin(v)", f"v = v + {self.scalar()}", "v = s * r"),
            *(f"s = s * 0.5 + {k}", "s = np.exp(-s * s) * np.cos(v)", "r = v", "s = r"),
            *(f"v = np.tanh(v * x[{self.index()}])", f"s, v = v, s * {k}", "v = 1.0 * v"),
        ]
        if "n" in self.has:
            options.append("n += 1")
        if "a" in self.has:
            options += [f"a = {self.vector()}", "a = a * v", "v = (a * w).sum()"]
        if "y" in self.has:
            at = self.index()
            options += [f"y[{at}] = v", f"y[{at}] += v * {k}", f"v = v + y[{at}]"]
        inner = (Line(self.any(*options)),)
        if self.random.random() < 0.3:
            inner += (Line(self.any(*options)),)
        if self.random.random() < 0.2:
            inner += (Compound(((f"if {self.look()}:", (Line(self.any(*options)),)),)),)
        if self.random.random() < 0.05:
            inner += (Line(self.any("break", "continue")),)
        return inner

    def rows(self, budget: int) -> Body:
        """A list that a turn makes and a loop in it fills, and what becomes of it."""
        name = "tijkl"[len(self.loops)]
        self.loops.append(name)
        before = self.statements(budget - 1) if self.random.random() < 0.6 else ()
        body = (*before, Line(f"row.append({self.scalar()})"))
        if self.random.random() < 0.2:
            body += self.statements(0)
        self.loops.pop()
        turns = self.any(
            "range(9)", "range(len(x))", "range(1, 10)", "range(8, -1, -1)", "range(3)"
        )
        begins = self.any("row = []", "row = []", "row = [s]", "row = [r, s]")
        ends: Body = (
            Line(self.any("s = 0.5 * s + np.tanh(np.stack(row)).sum()", "r = sum(row) / 9")),
        )
        if self.random.random() < 0.4:
            ends = (Compound((("for v in row:", (Line("s = 0.5 * s + np.sin(v) * r"),)),)),)
        elif "out" in self.has and self.random.random() < 0.5:
            ends += (Line("out.append(np.stack(row).sum())"),)
        if self.random.random() < 0.3:
            ends = (Line("s = s + row[-1]"), *ends)
        return (Line(begins), Compound(((f"for {name} in {turns}:", body),)), *ends)

    def loop(self, budget: int) -> Compound:
        self.made += 1
        name = "tijkl"[len(self.loops)] if self.random.random() < 0.7 else f"t{self.made}"
        first = ""
        if self.random.random() < 0.65:
            turns = self.any(
                *("range(12)", "range(12)", "range(1, 12)", "range(11, 0, -1)", "range(0, 12, 1)"),
                *(
                    "range(1, 24, 2)",
                    "range(len(x))",
                    "range(x.shape[0])",
                    "range(3)",
                    "range(-2, 9)",
                ),
                *(
                    "range(1, len(x))",
                    "range(9)",
                    "range(n, n + 9)" if "n" in self.has else "range(8)",
                ),
            )
            if self.counted and (self.random.random() < 0.7 if self.loops else budget > 1):
                turns = self.counted_range()
            header = f"for {name} in {turns}:"
            if "us" in self.has and self.random.random() < 0.5:
                header = f"for {name}, u in enumerate({self.any('us', 'us', 'us[:8]')}):"
            elif "ps" in self.has and self.random.random() < 0.5:
                header = f"for {name}, (u, v) in {self.any('enumerate(ps)', 'zip(range(9), ps)')}:"
        else:
            header = self.any(
                f"while {name} < 10:",
                f"while {name} < 25 and s * s < 1.5:",
                f"while {name} < 15 and {self.condition()}:",
                f"while {name} < 20 and abs(s - r) > 0.05:",
                "while True:",
            )
            first = f"{name} += 1"
            if header == "while True:":
                first += f"; {name} = 99 if {name} > 20 else {name}"
                inner = Compound(((f"if {name} > 14 or {self.condition()}:", (Line("break"),)),))
        self.loops.append(name)
        if header == "while True:":
            header = f"while {name} < 40:"
            body = (inner, *self.statements(budget, 2))
        else:
            body = self.statements(budget, 2)
            if self.counted and budget > 0:
                body = (*body, self.loop(budget - 1), *self.statements(0))
        self.loops.pop()
        parts = [(header, body)]
        if self.random.random() < 0.15:
            parts.append(("else:", self.statements(0)))
        if first:  # the counter is set before
            return Compound(
                (
                    (
                        f"if True:  # {name}",
                        (Line(f"{name} = 0", True), Compound(tuple(parts), first)),
                    ),
                )
            )
        return Compound(tuple(parts), first)

    def counted_range(self) -> str:
        """A range that depends on the number of a loop around, or has a step."""
        if not self.loops:
            return str(self.any("range(len(x))", "range(len(x) - 1)", "range(0, len(x), 2)"))
        t, n = self.any(*self.loops), self.any("len(x)", "len(x)", "12", "x.shape[0]")
        k = self.random.randint(1, 4)
        return str(
            self.any(
                *(f"range({t})", f"range({t} + 1, {n})", f"range({n} - {t})", f"range({t} + {k})"),
                *(f"range({t}, -1, -1)", f"range({t} - {k})", f"range(1, {t} + 1)"),
                *(f"range(0, {t}, {k})", f"range({t}, {n}, {k})", f"range({n} - 1, {t}, -1)"),
                *(f"reversed(range({t}))", f"range({t} // 2, {t} + 2)", f"range({n}, {t}, -{k})"),
                *(f"range({t} % {k})", f"range({k} * {t} - {n}, {t})", f"range({t}, {t} + 3)"),
            )
        )

    def assignment(self) -> str:
        u, v = self.scalar(), self.vector()
        at = self.index()
        options = [f"s = {u}", f"r = {u}", f"s += {u}", "s, r = r, s * 0.9", f"r = s\ns = {u}"]
        options += [f"e = {u}", "r = s"] * bool(self.loops)
        further = {
            "a": (f"a = {v}", f"a = {v}", f"a *= {self.number()}", f"a = a + {u}", f"a[1] = {u}"),
            "b": (f"b = {v}", "b = a" if "a" in self.has else f"b = {v}", f"b = b + {v}"),
            "y": (
                f"y[{at}] = {u}",
                f"y[{at}] += {u}",
                f"y = y * 0.9\ny[{at}] = {u}",
                f"y[{self.window()}] = {u}",
                f"y[{self.window()}] += {u}",
            ),
            "h": (
                f"h[{self.window()}] *= {self.number()}",
                f"h[{at}] = {u}",
                f"v = h[1:4]\nv[0] = {u}",
                f"v = h[2:]\nv *= {self.number()}",
            ),
            "out": (f"out.append({u})", "s = s + out[-1] if len(out) > 2 else s"),
            "d": (f"d['v'] = {u}", f"d['v'] = 0.5 * d['v'] + {u}", f"d = {{'v': {u}}}"),
            "o": (f"o.v = {u}", f"o.v = 0.5 * o.v + {u}", "G.v = G.v * 0.5 + s", "G.n += 1"),
            "p": (f"p = (p[1], {u})", f"p = (p[1] * 0.5, {u})", "s, r = p"),
            "q": (f"q = {v}", f"q = {v} if q is None else 0.5 * q + {v}"),
            "z": (f"z = z * 0.5 + {v}", f"z = {v}", f"z = {u}"),
            "n": ("n = n + 1", "n += 2", "n = n * 2 % 7", "n = n + decays(s)"),
            "m": (f"m = max(m, {u})", f"m = min(m, {u})", f"m = {u}"),
            "g": (
                *(f"g[{at}, {self.index()}] = {u}", f"g[{at}, {self.index()}] += {u}"),
                *(f"g[{at}] = 0.9 * g[{self.index()}] + {u}", f"g[{at}, 1:4] -= {v}"),
            ),
            "us": ("s = 0.5 * s + (u * w).sum()", f"u = us[{at}]", f"us[{at}] = {v}", "u = u * r"),
        }
        for name in sorted(self.has & further.keys()):
            options += further[name]
        if "a" in self.has and "b" in self.has:
            options += [f"a, b = b, {v}", "a, b = b, a"]
        text: str = self.any(*options)
        if text.startswith("e = "):
            self.late.add("e")
        return text

    # -- expressions

    def index(self) -> str:
        if not self.loops:
            return self.any("0", "-1", "2")
        t = self.any(*self.loops)
        return self.any(t, t, f"{t} - 1", f"{t} % 5", f"{t} // 2", f"-{t} - 1", "0")

    def window(self) -> str:
        """A slice of one width, in some programs beyond an end of what it is of."""
        if not self.loops:
            return "1:4"
        t = self.any(*self.loops)
        return self.any(
            f"{t}:{t} + 2", f"{t} - 3 : {t}", f"2 * {t} : 2 * {t} + 2", f"{t}:{t} + 5:2"
        )

    def scalar(self) -> str:
        at, k = self.index(), self.number()
        options = ["s", "r", f"x[{at}]", f"np.tanh(s * x[{at}])", f"np.sin(s - r + {k})", k]
        options += [
            f"0.5 * s + x[{at}]",
            f"x[{at}] ** 2",
            f"clip(s, {k})",
            f"relax(r, {self.any(3, 9)})",
        ]
        options += [
            "np.tanh(x).sum()",
            f"x[{at} : {at} + 2].sum()",
            "max(s, r)",
            f"min(s, {k})",
            f"max(r, {k}, x[{at}] * s)",
            "s / 3",
            "sum(0.1 * v * s for v in x)",
            "sum(clip(v, r) for v in w if v > 0)",
            "sum(u * v for u, v in zip(x, x[1:]))",
            f"min((v - {k}) ** 2 for v in x)",
            "reduce(lambda u, v: 0.7 * u + v, w, s)",
            f"max(x[{at} : {at} + 3], default=s)",
        ]
        if self.loops:
            t = self.any(*self.loops)
            options += [
                f"x[{self.window()}].sum()",
                f"np.tanh(x[{self.window()}]).mean()",
                f"(x[{t} : {t} + 3] * w).sum()",
                f"(x[{t} : {t} - 3 : -1] * w).sum()",
                f"0.1 * {t}",
                f"s * 0.5 + {t} * {k}",
                f"x[{at}] / ({t} + 30.5)",
                f"s * 0.9 ** {t}",
            ]
        further = {
            "a": ("(a * w).sum()", "a[0]", "np.tanh(a).mean()"),
            "b": ("np.tanh(b).sum()", "b[-1]"),
            "y": (f"y[{at}]", "np.tanh(y[1:4]).sum()", f"0.5 * y[{at}] + s"),
            "h": (f"h[{at}]", "h[1:4].sum()"),
            "d": ("d['v']",),
            "o": ("o.v", "G.v"),
            "p": ("p[0]", "p[1]"),
            "n": ("n * 0.1", "s * n / 9"),
            "m": ("m", "0.5 * m"),
            "z": ("np.sum(z) * 0.1",),
            "us": (f"us[{at}].sum()", "np.tanh(u).sum()", f"(us[{at}] * w).sum()"),
            "ps": (f"ps[{at}][1] * 0.1",),
            "g": (f"g[{at}, {self.index()}]", f"np.tanh(g[{at}] @ x)", f"g[:, {at}].sum()"),
        }
        for name in sorted(self.has & further.keys()):
            options += further[name]
        return str(self.any(*options))

    def vector(self) -> str:
        name = self.any(*(sorted(self.has & {"a", "b"}) or ["w"]), "w")
        at = self.index()
        return str(
            self.any(
                *(f"np.tanh({name} + s)", f"{name} * 0.5 + w", f"np.sin({name}) * r", "w"),
                *(
                    f"x[1:4] * {name}",
                    f"{name}[::-1] * x[{at}]",
                    f"np.where({name} > 0, {name}, s)",
                ),
            )
        )

    def condition(self) -> str:
        k, at = self.number(), self.index()
        options = [
            f"s > {k}",
            "s < r",
            f"not r > {k}",
            f"x[{at}] > {k}",
            f"{k} < s < 0.7",
            "s != r",
        ]
        options += [f"s > {k} and r < 0.5", f"s < {k} or x[{at}] > 0", f"clip(s, {k}) > 0.1"]
        if self.loops:
            t = self.any(*self.loops)
            options += [f"{t} % 3 == 0", f"{t} == 7", f"{t} > 4", f"{t} % 2", f"x[{at}] * {t} > 1"]
        further = {
            "n": ("n > 4", "n % 2 == 0"),
            "a": ("(a * w).sum() > 0", "(a > 0).all()"),
            "out": ("len(out) < 5", "out and out[-1] > 0"),
            "q": ("q is None",),
            "b": ("b[0] > 0", "a is b" if "a" in self.has else "b[1] < 0"),
            "y": (f"y[{at}] == 0",),
        }
        for name in sorted(self.has & further.keys()):
            options += further[name]
        return str(self.any(*options))


def program(seed: int) -> Body:
    return Writer(Random(seed), has_ifs=seed % 2 == 1, counted=seed % 3 == 2).body()


# -- running --------------------------------------------------------------------------------------


def inputs_of(seed: int, more: int = 0) -> list[tuple[Any, ...]]:
    """The first is called twice; two have other lengths, one has zeros and infinities.

    There are `more` of all signs and lengths.
    """
    random = np.random.default_rng([seed, 1])

    def drawn(low: float, high: float, length: int = 14) -> tuple[Any, ...]:
        w = random.uniform(low, high, 3)
        return random.uniform(low, high, length), w, float(random.uniform(low, high))

    inputs = [drawn(-1, 1), drawn(0, 1), drawn(-1, 0), drawn(-0.2, 0.2), drawn(-1, 1, 17)]
    odd = random.choice([0.0, -0.0, 1.0, -1.0, np.inf], 14), np.array([0.0, -0.0, 1.0]), -0.0
    inputs += [drawn(-1, 1, 10), odd]
    for _ in range(more):
        low, high = sorted(random.uniform(-1, 1, 2))
        inputs.append(drawn(low, high, random.integers(9, 18)))
    return inputs


def loaded(text: str) -> SimpleNamespace:
    """A function of its own, and the object outside that it may write to."""
    file = f"<loops {abs(hash(text))}>"
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    outside = SimpleNamespace(v=0.5, n=0)
    scope: dict[str, Any] = {"np": np, "__name__": "loop_program", "G": outside}
    exec(compile(text, file, "exec"), scope)
    return SimpleNamespace(f=scope["f"], outside=outside)


def called(function: Callable[..., Any], args: Sequence[Any], outside: Any) -> tuple[Any, ...]:
    """What a call returned or raised, and what it left behind."""
    given = [np.copy(x) if isinstance(x, np.ndarray) else x for x in args]
    error, value = "", None
    try:
        value = function(*given)
    except Exception as raised:
        known = [kind.__name__ for kind in MISTAKES if isinstance(raised, kind)]
        error = known[0] if known else f"{type(raised).__name__}: {raised}"
    return error, value, [outside.v, outside.n], given[:2]


MISTAKES = (IndexError, NameError, TypeError, ValueError, ZeroDivisionError, OverflowError)


@contextmanager
def compiling(on: bool) -> Iterator[None]:
    before = tg.config.compile
    tg.config.compile = on
    try:
        yield
    finally:
        tg.config.compile = before


@contextmanager
def settings() -> Iterator[None]:
    """Graphs are verified after each pass; floating-point errors and advice are not of interest."""
    before = tg.config.check
    tg.config.check = True
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            yield
    finally:
        tg.config.check = before


def results(text: str, kind: str, inputs: Sequence[tuple[Any, ...]]) -> tuple[list[Any], Any]:
    """What calls on all inputs gave in one mode, and the compiled function."""
    made = loaded(text)
    function: Any = made.f
    if kind == "compile" or kind.endswith("tape"):
        function = tg.compile(made.f)
    elif kind != "plain":
        function = tg.value_and_grad(made.f, argnums=(0, 1))
    call = on_tape(function) if kind.endswith("tape") else function
    with compiling(not kind.startswith("eager")):
        return [called(call, args, made.outside) for args in inputs], function


def on_tape(function: Callable[..., Any]) -> Callable[..., Any]:
    """What a call on Tensors that require grad returns, with their gradients.

    So that second derivatives are seen, there is also what the sum of the first ones gives.
    """

    def call(x: Any, w: Any, *others: Any) -> Any:
        leaves = [tg.Tensor(v, requires_grad=True) for v in (x, w)]
        value = function(*leaves, *others)
        if not (isinstance(value, tg.Tensor) and value.requires_grad):
            return value
        total = value.sum()
        total.backward(retain_graph=True)
        first = [leaf.grad for leaf in leaves]
        again = tg.autograd.grad(total, leaves, create_graph=True, allow_unused=True)
        moving = [g.sum() for g in again if g is not None and g.requires_grad]
        second = [None, None]
        if moving:
            second = tg.autograd.grad(sum(moving), leaves, allow_unused=True)
        given = [*first, *again, *second]
        return value.detach(), [None if g is None else g.detach() for g in given]

    return call


class Late(BaseException):
    """A program does not end."""


def ended(text: str, inputs: Sequence[tuple[Any, ...]]) -> list[Any] | None:
    """What plain Python gives for all inputs; None where it does not come to an end."""

    def late(*_: Any) -> None:
        raise Late

    before = signal.signal(signal.SIGVTALRM, late)
    signal.setitimer(signal.ITIMER_VIRTUAL, PATIENCE)
    try:
        with settings():
            return results(text, "plain", inputs)[0]
    except Late:
        return None
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


@dataclass
class Examined:
    """What came of a program: the first difference between the modes, in words, and counts.

    `unrolled` are loops that did not stay loops, by reason; `eager` functions that run eagerly.
    """

    fault: str | None = None
    calls: int = 0
    loops: int = 0
    unrolled: Counter[str] = field(default_factory=Counter)
    eager: Counter[str] = field(default_factory=Counter)


def faults(text: str, inputs: Sequence[tuple[Any, ...]]) -> str | None:
    """The first difference between the modes, in words; of a program that ends."""
    return examined(text, inputs).fault


def examined(text: str, inputs: Sequence[tuple[Any, ...]]) -> Examined:
    """Calls a program in all modes; one that does not end is not called."""
    calls = [inputs[0], inputs[0], *inputs[1:], inputs[0]]
    plain, found = ended(text, calls), Examined()
    if plain is None:
        return found
    with settings():
        eager = results(text, "eager", calls)[0]
        taped = results(text, "eager tape", calls)[0]
        known = {"compile": plain, "gradient": eager, "tape": taped}
        for other, wanted in known.items():
            given, function = results(text, other, calls)
            found.calls += len(calls)
            _count(found, function, inputs[0])
            for i, (a, b) in enumerate(zip(given, wanted, strict=True)):
                if other == "tape" and b[0]:  # it writes Tensors to arrays
                    if a[0].startswith(REFUSED) or "G." in text:  # a graph of the call before
                        continue
                    a, b = first_gradients(a, calls[i]), eager[i]
                differing = difference(a, b)
                if differing is not None:
                    found.fault = f"{other}, call {i}: {differing}"
                    return found
    return found


REFUSED = ("GradientError", "BackwardError")
"""What Tensors refuse, and arrays do not: writes to leaves."""


def first_gradients(given: tuple[Any, ...], args: Sequence[Any]) -> tuple[Any, ...]:
    """What came of a call `on_tape`, in the form of a value with gradients."""
    error, found, *others = given
    if error or type(found) is not tuple:
        found = (found, [None, None])
    value, gradients = found
    plain = value.numpy()[()] if isinstance(value, tg.Tensor) else value
    pairs = zip(gradients[:2], args, strict=False)
    full = tuple([np.zeros_like(x) if g is None else g.numpy() for g, x in pairs])
    return error, (plain, full), *others


def _count(found: Examined, function: Any, args: tuple[Any, ...]) -> None:
    """Adds the loops that a compiled function has, and those that it has not, with the reasons."""
    report = function.explain()
    section = re.findall(r"^  loops that are unrolled\n((?:    .*\n?)+)", report, re.MULTILINE)
    lines = {line for part in section for line in part.splitlines()}
    found.unrolled.update(REASON.sub("", line.rpartition(": ")[2]) for line in lines)
    if "runs eagerly" in report:
        found.eager["too many versions"] += 1
    elif not function.cache_info().versions:
        found.eager["no version"] += 1
    else:
        with suppress(Exception):  # what the program itself raises
            found.loops += len(LOOP.findall(function.source(*args)))


REASON = re.compile(r"^\S+ (?=is |has |ends )")  # the variable that a reason is about


def difference(given: tuple[Any, ...], wanted: tuple[Any, ...]) -> str | None:
    if given[0] != wanted[0]:
        return f"raised {given[0] or 'nothing'}, expected {wanted[0] or 'nothing'}"
    if given[0]:
        return None
    for what, a, b in zip(("value", "outside", "inputs"), given[1:], wanted[1:], strict=True):
        try:
            assert_same_bits(a, b, what)
        except AssertionError as found:
            return str(found)
    return None


@contextmanager
def unrolled() -> Iterator[None]:
    """Loops do not stay loops: none is tried."""
    with mock.patch.object(Loops, "_may_loop", autospec=True, return_value=False):
        yield


PATIENCE = 1.0  # seconds that plain Python has for a program
LOOP = re.compile(r"^ +(while True|for \w+ in range)", re.MULTILINE)


def loops_in(text: str, inputs: Sequence[tuple[Any, ...]]) -> int:
    """How many loops of the user's the generated source has."""
    if ended(text, inputs) is None:
        return 0
    with settings():
        try:
            _, function = results(text, "compile", inputs[:1])
            return len(LOOP.findall(function.source(*inputs[0])))
        except Exception:
            return 0


# -- shortening -----------------------------------------------------------------------------------


def smaller(body: Body) -> Iterator[Body]:
    """Bodies with one statement less, or one that is simpler."""
    for i, statement in enumerate(body):
        before, after = body[:i], body[i + 1 :]
        if isinstance(statement, Line):
            if not statement.fixed:
                yield before + after
            continue
        yield before + after
        for _, inner in statement.parts:
            yield before + inner + after
        if len(statement.parts) > 1 and not statement.parts[0][0].startswith("try"):
            yield (*before, replace(statement, parts=statement.parts[:1]), *after)
        for j, (header, inner) in enumerate(statement.parts):
            for less in smaller(inner):
                parts = (*statement.parts[:j], (header, less), *statement.parts[j + 1 :])
                yield (*before, replace(statement, parts=parts), *after)


def shortened(body: Body, is_faulty: Callable[[Body], bool]) -> Body:
    """A faulty program of which nothing can be left out."""
    while True:
        for less in smaller(body):
            try:
                if is_faulty(less):
                    body = less
                    break
            except SyntaxError:
                continue
        else:
            return body


def tried(seed: int, more: int = 0) -> tuple[Examined, str]:
    """What came of the program of a seed, and a report where it is faulty.

    What differs with all loops unrolled as well is not of loops.
    """
    body, inputs = program(seed), inputs_of(seed, more)
    found = examined(program_text(body), inputs)
    if found.fault is None:
        return found, ""
    with unrolled():
        other = faults(program_text(body), inputs)
    if other is not None:
        found.fault = None
        return found, f"seed {seed}, unrolled as well: {other}"
    kind = _kind_of(found.fault)

    def is_faulty(less: Body) -> bool:
        now = faults(program_text(less), inputs)
        with unrolled():
            if now is None or faults(program_text(less), inputs) is not None:
                return False
        return _kind_of(now) == kind

    body = shortened(body, is_faulty)
    return found, f"seed {seed}: {faults(program_text(body), inputs)}\n{text_of(body)}"


def _kind_of(fault: str) -> str:
    return re.sub(r"[\d.]+", "#", fault.split("\n")[0])[:12]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--inputs", type=int, default=0, help="more inputs of each program")
    parser.add_argument("--jobs", type=int, default=1)
    options = parser.parse_args()
    seeds = range(options.seed, options.seed + options.count)
    whole, faulty = Examined(), 0
    with get_context("fork").Pool(options.jobs, maxtasksperchild=50) as pool:
        each = pool.imap_unordered(partial(tried, more=options.inputs), seeds)
        for done, (found, report) in enumerate(each, 1):
            faulty += found.fault is not None
            whole.calls += found.calls
            whole.loops += found.loops
            whole.unrolled += found.unrolled
            whole.eager += found.eager
            if report:
                print(f"\n{report}", flush=True)
            counts = f"{done} programs, {whole.calls} calls, {faulty} faulty, {whole.loops} loops"
            print(f"\r{counts}", end="", file=sys.stderr)
    print(f"\n{counts} stayed loops, {whole.unrolled.total()} were unrolled:")
    for reason, count in (whole.unrolled + whole.eager).most_common():
        print(f"{count:6}  {reason}")


if __name__ == "__main__":
    main()
