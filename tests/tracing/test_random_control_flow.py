"""Random Python programs full of decisions enter; compiled calls take the path that Python takes.

Each program is text made from a seed: assignments, nested conditions in several spellings, loops
that end early, returns in the middle, a helper. The inputs are random as well, so most programs are
met on many paths, in an order that nobody has chosen.
"""

from __future__ import annotations

import linecache
import warnings
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pytest
from checks import assert_same_bits, leaves, run_eagerly, split
from test_control_flow import (
    WARM_UP,
    outcomes_read,
    returns_in,
    users_frames_counted,
)

import tracegrad as tg
from tracegrad.errors import RecompileWarning

SEEDS = range(16)
INPUTS = 8

HELPER = """
def helper(u, v):
    if u > v:
        return u - v
    return u * v + 0.25
"""


class Writer:
    """Writes one program; numbers stay small because sums and products go through tanh or sin."""

    def __init__(self, seed: int) -> None:
        self.random = np.random.default_rng(seed)
        self.lines: list[str] = ["def f(x):", "    a, b, c = x"]
        self.depth = 1
        self.loops = 0

    def any_of(self, *options: Any) -> Any:
        return options[self.random.integers(len(options))]

    def line(self, text: str) -> None:
        self.lines.append("    " * self.depth + text)

    def name(self) -> str:
        return self.any_of("a", "b", "c")

    def number(self) -> float:
        return round(float(self.random.uniform(-0.6, 0.6)), 2)

    def expression(self) -> str:
        u, v, k = self.name(), self.name(), self.number()
        return self.any_of(
            f"np.tanh({u} * {v} + {k})",
            f"np.sin({u} - {v})",
            f"{k} * {u} + {v} * 0.5",
            f"helper({u}, {v})",
            f"max({u}, {v} * {v})",
            f"min({u}, {k})",
            f"({u} if {self.condition()} else -{v})",
            f"sum((w for w in x if w > {k}), {u})",
        )

    def condition(self) -> str:
        u, v, k = self.name(), self.name(), self.number()
        return self.any_of(
            f"{u} > {k}",
            f"{u} < {v}",
            f"not {u} > {v}",
            f"{k} < {u} < 0.7",
            f"{u} > {k} and {v} > 0",
            f"{u} > 0.5 or {v} < {k}",
            f"any(w > {k + 0.5} for w in x)",
            f"({u} * {v}).item() > {k}" if self.random.random() < 0.05 else f"{u} * {v} > {k}",
        )

    def block(self, budget: int) -> None:
        self.depth += 1
        self.statements(budget)
        self.depth -= 1

    def statements(self, budget: int) -> None:
        for _ in range(self.random.integers(1, 3)):
            self.statement(budget)

    def statement(self, budget: int) -> None:
        kinds = ["assign", "assign"] + ["if", "if", "loop", "try", "leave"] * (budget > 0)
        match self.any_of(*kinds):
            case "assign":
                self.line(f"{self.name()} = {self.expression()}")
            case "if":
                self.line(f"if {self.condition()}:")
                self.block(budget - 1)
                for word in self.any_of((), ("else:",), (f"elif {self.condition()}:", "else:")):
                    self.line(word)
                    self.block(budget - 1)
            case "loop":
                self.loop(budget)
            case "try":
                self.line("try:")
                self.block(0)
                self.line(f"    if {self.condition()}:")
                self.line("        raise ValueError")
                self.line("except ValueError:")
                self.block(0)
            case "leave":
                self.line(f"if {self.condition()}:")
                self.line(f"    return {self.expression()}")

    def loop(self, budget: int) -> None:
        self.loops += 1
        counter = f"i{self.loops}"
        match self.any_of("for", "rows", "while"):
            case "for":
                self.line(f"for {counter} in range({self.random.integers(1, 4)}):")
                self.block(0)
                self.line(f"    if {self.condition()}:")
                self.line(f"        {self.any_of('break', 'continue')}")
                self.line(f"    {self.name()} = {self.expression()}")
                if self.random.random() < 0.5:
                    self.line("else:")
                    self.block(0)
            case "rows":
                self.line(f"for {counter} in x[1:]:")
                self.line(f"    if {counter} > {self.number()}:")
                self.line(f"        {self.name()} = {counter} * {self.name()}")
            case "while":
                self.line(f"{counter} = 0")
                self.line(f"while {counter} < 2 and ({self.condition()}):")
                self.line(f"    {counter} += 1")
                self.block(0)

    def text(self) -> str:
        self.statements(2)
        self.line(f"{self.name()} = {self.expression()}")
        self.line("return a + b * c")
        return HELPER + "\n\n" + "\n".join(self.lines) + "\n"


@cache
def program(seed: int) -> tuple[Callable[..., Any], str, str]:
    """The function, its text and the name of its file, which exists for `linecache` alone."""
    text, file = Writer(seed).text(), f"<random program {seed}>"
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    scope: dict[str, Any] = {"np": np, "__name__": "random_program"}
    exec(compile(text, file, "exec"), scope)
    return scope["f"], text, file


def inputs_of(seed: int) -> list[np.ndarray]:
    random = np.random.default_rng([seed, 1])
    return [random.uniform(-1.0, 1.0, 3) for _ in range(INPUTS)]


@pytest.fixture(autouse=True)
def no_surprises():
    """Nothing here has so many paths that it may turn eager."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("error", RecompileWarning)
        yield


every_seed = pytest.mark.parametrize("seed", SEEDS)


def test_the_programs_differ_and_decide():
    counts = [len({outcomes_read(program(s)[0], (x,)) for x in inputs_of(s)}) for s in SEEDS]
    assert len({program(s)[1] for s in SEEDS}) == len(SEEDS)
    assert sum(counts) >= 4 * len(SEEDS)
    assert max(counts) >= 7


@every_seed
def test_random_programs_equal_eager(seed):
    function, text, file = program(seed)
    inputs = inputs_of(seed)
    expected = [run_eagerly(function, (x,)) for x in inputs]
    f, forward = tg.value_and_grad(function), tg.compile(function)
    for call in range(WARM_UP):
        for x, wanted in zip(inputs, expected, strict=True):
            assert_same_bits(split(f(x)), wanted, f"call {call} at {x} of\n{text}")
            assert_same_bits(leaves(forward(x)), wanted[0], f"call {call} at {x} of\n{text}")
    for x in inputs:
        with users_frames_counted(frozenset({file})) as frames:
            f(x)
            forward(x)
        assert not frames


@every_seed
def test_random_programs_have_a_return_at_most_for_each_path(seed):
    function, text, _ = program(seed)
    inputs, seen = inputs_of(seed), set()
    learns, f = tg.value_and_grad(function), tg.value_and_grad(function)
    for x in inputs:
        learns(x)  # where its traces begin anew, those of `f` need not
    for x in inputs:
        seen.add(outcomes_read(function, (x,)))
        for _ in range(WARM_UP):
            f(x)
        assert f.cache_info().traces <= len(seen), text
    source = f.source(inputs[0])
    assert returns_in(source) <= len(seen), source
    assert f.source(inputs[-1]) == source
    assert f.cache_info().versions == 1
