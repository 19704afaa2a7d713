"""Random programs of loops over numbers enter; what differs from eager calls leaves.

A program is a function of a vector and of parameters whose variables are numbers: Python's, NumPy's
and items of the vector. Loops stand in loops and ifs, behind each other, and leave early. `fault`
compares value and gradient, with compiling and without, bit by bit, on inputs with zeros, with very
large numbers, with infinities, and of several lengths. By hand:
``python tests/number_loop_programs.py FIRST LAST``.
"""

from __future__ import annotations

import linecache
import sys
import warnings
from collections.abc import Callable, Iterator
from random import Random
from typing import Any

import numpy as np
from checks import assert_same_bits

import tracegrad as tg

NAMES = ("u", "v", "s", "t")
FUNCTIONS = ("np.sqrt", "np.exp", "np.tanh", "np.log", "np.abs", "np.sin", "abs", "np.square")


class Writer:
    """Writes the lines of one program; `random` decides everything."""

    def __init__(self, random: Random) -> None:
        self.random = random
        self.lines: list[str] = []
        self.counters: list[str] = []
        self.rows: list[str] = []
        self.places: list[str] = []  # of an array that the program made

    def program(self) -> str:
        self.lines = ["def function(x, p):"]
        for name in NAMES:
            start = self.random.choice(
                ["0.0", "1.0", "0.5", "x[0]", "p[0]", "x[-1]", "p[1]", "p.sum()"]
            )
            self._line(1, f"{name} = {start}")
        if self.random.random() < 0.4:
            self._line(1, self.random.choice(["y = np.zeros(3)", "y = np.array([0.5, 1.0, 2.0])"]))
            self.places = ["y[0]", "y[1]", "y[-1]"][: self.random.randint(1, 3)]
        for _ in range(self.random.randint(1, 3)):
            self._loop(1, 2)
            if self.random.random() < 0.3:
                self._assign(1)
        self._return()
        return "\n".join(self.lines) + "\n"

    def _line(self, depth: int, text: str) -> None:
        self.lines.append("    " * depth + text)

    def _return(self) -> None:
        kind = self.random.random()
        if self.places and kind < 0.5:
            self._line(1, "return y.sum() + s" if kind < 0.3 else "return y, s, t")
        elif kind < 0.5:
            self._line(1, f"return {self._expression(2)}")
        elif kind < 0.8:
            names = self.random.sample(NAMES, 2)
            self._line(1, f"return {names[0]} * 1.0 + {names[1]} * 0.5")
        elif kind < 0.9:
            self._line(1, "return s + v * t")
        else:
            self._line(1, f"return u, [{self._expression(1)}, v], s")

    def _loop(self, depth: int, inner: int) -> None:
        kind = self.random.choice(
            ["range", "range", "rows", "reversed", "while", "enumerate", "short"]
        )
        counter, row = f"i{depth}", f"z{depth}"
        if kind == "range":
            start = self.random.choice(["", "", "1, "])
            self._line(depth, f"for {counter} in range({start}len(x)):")
            self.counters.append(counter)
        elif kind == "short":
            self._line(depth, f"for {counter} in range({self.random.choice([2, 3, 9])}):")
        elif kind == "reversed":
            self._line(depth, f"for {counter} in reversed(range(len(x))):")
            self.counters.append(counter)
        elif kind == "rows":
            self._line(depth, f"for {row} in x:")
            self.rows.append(row)
        elif kind == "enumerate":
            self._line(depth, f"for {counter}, {row} in enumerate(x):")
            self.counters.append(counter)
            self.rows.append(row)
        else:
            self._line(depth, f"{counter} = 0")
            test = self.random.choice(["", "", f" and {self._condition()}"])
            self._line(depth, f"while {counter} < len(x){test}:")
            self._line(depth + 1, f"{counter} += 1")
        before = (list(self.counters), list(self.rows))
        for _ in range(self.random.randint(1, 4)):
            self._statement(depth + 1, inner)
        self.counters, self.rows = before
        self.counters = [each for each in self.counters if each != counter]
        self.rows = [each for each in self.rows if each != row]

    def _statement(self, depth: int, inner: int) -> None:
        kind = self.random.random()
        if kind < 0.15 and inner > 1:
            self._loop(depth, inner - 1)
        elif kind < 0.35 and depth < 5:
            self._line(depth, f"if {self._condition()}:")
            for _ in range(self.random.randint(1, 2)):
                self._statement(depth + 1, inner)
            if self.random.random() < 0.15:
                self._line(depth + 1, self.random.choice(["break", "continue"]))
            elif self.random.random() < 0.5:
                self._line(depth, "else:")
                self._statement(depth + 1, inner)
        else:
            self._assign(depth)

    def _assign(self, depth: int) -> None:
        name = self.random.choice([*NAMES, *self.places * 2])
        if self.random.random() < 0.3:
            self._line(
                depth, f"{name} {self.random.choice(['+=', '-=', '*='])} {self._expression(1)}"
            )
        else:
            self._line(depth, f"{name} = {self._expression(2)}")

    def _condition(self) -> str:
        compare = self.random.choice([">", "<", ">=", "==", "!="])
        if compare in ("==", "!="):
            return f"{self._leaf()} {compare} 0.0"
        return f"{self._expression(1)} {compare} {self._leaf()}"

    def _leaf(self) -> str:
        choices = [*NAMES, *NAMES, *self.places * 2, "p[0]", "p[1]", "x[0]", "x[-1]", "0.5", "2.0"]
        for counter in self.counters:
            choices += [f"x[{counter}]"] * 3 + [counter, f"x[{counter} - 1]"]
        choices += self.rows * 4
        return self.random.choice(choices)

    def _expression(self, depth: int) -> str:
        kind = self.random.random()
        if depth == 0 or kind < 0.15:
            return self._leaf()
        if kind < 0.6:
            sign = self.random.choice(["+", "-", "*", "*"])
            return f"({self._expression(depth - 1)} {sign} {self._expression(depth - 1)})"
        if kind < 0.68:
            return f"({self._expression(depth - 1)} / {self._leaf()})"
        if kind < 0.74:
            return f"({self._leaf()} * 0.1)"
        if kind < 0.78:
            return f"np.where({self._condition()}, {self._leaf()}, {self._leaf()})"
        if kind < 0.81:
            return f"max({self._leaf()}, {self._leaf()})"
        if kind < 0.84:
            return f"{self._leaf()} ** 2"
        return f"{self.random.choice(FUNCTIONS)}({self._expression(depth - 1)})"


def program(seed: int) -> str:
    return Writer(Random(seed)).program()


def inputs(seed: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    rng = np.random.default_rng(seed)
    for length in (12, 9, 3, 20):
        yield rng.normal(size=length) * 0.7, rng.normal(size=3)
    yield np.zeros(12), np.zeros(3)
    yield -np.zeros(9), np.ones(3)
    large = rng.normal(size=12)
    large[5] = 1e200
    yield large, rng.normal(size=3)
    large = np.abs(rng.normal(size=10))
    large[2] = np.inf
    yield large, np.zeros(3)


def loaded(text: str) -> Callable[..., Any]:
    name = f"<numbers {hash(text)}>"
    linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
    found: dict[str, Any] = {"np": np}
    exec(compile(text, name, "exec"), found)
    return found["function"]


def answer(function: Callable[..., Any], given: tuple[Any, ...]) -> Any:
    """What a call returns, or the type of its error."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return function(*(np.array(each) for each in given))
    except (ArithmeticError, ValueError, IndexError, TypeError) as error:
        return type(error), str(error).split("\n")[0]


def _without_signs(answer: Any) -> Any:
    """An answer in which zeros of gradients are positive: their signs may differ (a limit)."""
    match answer:
        case (value, (*gradients,)) if isinstance(answer[1], tuple):
            return value, [each + 0.0 for each in gradients]
    return answer


def _types(answer: Any) -> Any:
    if isinstance(answer, (tuple, list)):
        return type(answer), [_types(each) for each in answer]
    return type(answer)


def fault(text: str, seed: int) -> str | None:
    """What differs between compiled and eager calls of the program; None if nothing does."""
    function = loaded(text)
    ways = [tg.compile]
    if "np.where" not in text and "return u, [" not in text and "return y," not in text:
        ways.append(lambda f: tg.value_and_grad(f, argnums=(0, 1)))
    for make in ways:
        compiled = make(function)
        for number, given in enumerate(inputs(seed)):
            got = answer(compiled, given)
            was = tg.config.compile
            tg.config.compile = False
            try:
                wanted = answer(make(function), given)
            finally:
                tg.config.compile = was
            try:
                assert_same_bits(_without_signs(got), _without_signs(wanted))
                if make is tg.compile and _types(got) != _types(wanted):
                    raise AssertionError(f"{_types(got)} for {_types(wanted)}")
            except AssertionError as error:
                return f"input {number}: {str(error)[:300]}\n  got {got}\n  wanted {wanted}"
    return None


def main(first: int, last: int) -> None:
    for seed in range(first, last):
        text = program(seed)
        found = fault(text, seed)
        if found is not None:
            print(f"seed {seed}: {found}\n{text}", flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
