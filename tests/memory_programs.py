"""A seed enters, a Python program leaves that shares memory and writes to it in every way it can.

A program is the text of a function of float arrays and an array of integers. It indexes, takes
views of views, copies, writes through what it has, gives arrays second names, calls helpers that
write to their parameters, and returns a number with more beside it: ``return loss, (y, x[0])``. It
is drawn statement by statement while it runs on plain NumPy, so nearly all of it is valid.

    python tests/memory_programs.py --count 20000 [--seed S] [--jobs 2]

runs many (`memory_checks`), shows the wrong ones at their shortest, and counts refusals by reason.
"""

from __future__ import annotations

import linecache
import random
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

HELPERS = {
    "scaled": ["def scaled(u, c):", "    u *= c", "    return u"],
    "raised": ["def raised(u, c):", "    v = u[1:]", "    v += c", "    return v"],
    "first_set": ["def first_set(u, c):", "    u[0] = c"],
    "rebound": ["def rebound(u, c):", "    u = u * c", "    u += c", "    return u"],
    "either": ["def either(u, c):", "    if c > 0:", "        u[...] = c", "    return u[::-1]"],
    "added": ["def added(u, c):", "    u += c", "    return u"],
    "put": ["def put(u, c):", "    u[()] = c"],
}
LAYOUTS = ("C", "F", "reversed", "strided")
LIMIT = 1e4  # numbers in programs stay below


@dataclass(frozen=True)
class Argument:
    """One parameter: its lengths by name or number, and how the array lies in memory."""

    name: str
    lengths: tuple[Any, ...]
    layout: str
    dtype: str = "float"
    shares: bool = False  # the caller passes a view of the first argument

    def shape(self, sizes: dict[str, int]) -> tuple[int, ...]:
        return tuple(sizes.get(length, length) for length in self.lengths)


@dataclass(frozen=True)
class Program:
    """A program by its parts, of which the checks drop those that a failure does not need."""

    seed: int
    arguments: tuple[Argument, ...]
    sizes: tuple[tuple[str, int], ...]
    statements: tuple[str, ...]
    loss: tuple[str, ...]
    others: tuple[str, ...]

    @property
    def source(self) -> str:
        """The text of ``f`` and of the helpers that it calls."""
        body = "\n".join(self.statements)
        lines = [line for name, text in HELPERS.items() if f"{name}(" in body for line in text]
        lines.append(f"def f({', '.join(a.name for a in self.arguments)}):")
        lines += [f"    {line}" for line in body.split("\n") if line]
        others = "".join(f"{other}, " for other in self.others)
        lines.append(f"    return {' + '.join(self.loss)}, ({others.rstrip()})")
        return "\n".join(lines) + "\n"

    def function(self) -> Callable[..., Any]:
        """The function anew, with its lines where a debugger finds them."""
        text, file = self.source, f"<memory {self.seed}>"
        linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
        space: dict[str, Any] = {"np": np, "__name__": "memory"}
        exec(compile(text, file, "exec"), space)
        return space["f"]

    def arrays(self, call: int = 0) -> list[np.ndarray]:
        """Fresh arguments: from call to call other values, then other layouts, then lengths."""
        values = np.random.default_rng((self.seed, call))
        layouts = random.Random(self.seed + call)
        grown = 2 if call == 2 else 0
        sizes = {name: n + grown if n > 1 else n for name, n in self.sizes}
        made: list[np.ndarray] = []
        for argument in self.arguments:
            layout = layouts.choice(LAYOUTS) if call else argument.layout
            if argument.shares:
                made.append(made[0][::-1] if layout == "reversed" else made[0][:])
                continue
            shape = argument.shape(sizes)
            if argument.dtype == "int":
                lengths = [n for a in self.arguments for n in a.shape(dict(self.sizes)) if n]
                lowest = min(lengths or [1])
                drawn = values.integers(-lowest, lowest, shape)
            else:
                drawn = values.uniform(-1.0, 1.0, shape)
            made.append(laid(np.asarray(drawn), layout if shape else "C"))
        return made


def laid(values: np.ndarray, layout: str) -> np.ndarray:
    """The values in an array that lies so in memory."""
    if layout == "F":
        return np.asfortranarray(values)
    if layout == "reversed":
        return np.flip(np.flip(values).copy())
    if layout == "strided" and values.ndim:
        return np.repeat(values, 2, axis=-1)[..., ::2]
    return np.asarray(values, order="C")


def draw(seed: int) -> Program:
    """The program of a seed."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        return Writer(seed).program()


class Writer:
    """Writes one program, and runs what it has written."""

    def __init__(self, seed: int) -> None:
        self.seed, self.random = seed, random.Random(seed)
        self.sizes = {"n": self.random.choice((1, 2, 2, 3, 3, 4)), "m": self.random.choice((2, 3))}
        if self.random.random() < 0.05:
            self.sizes["n"] = 0
        self.arguments = tuple(self._arguments())
        self.statements: list[str] = []
        self.counted = 0
        self.space: dict[str, Any] = {}
        for argument in self.arguments:
            if argument.dtype == "float" and argument.lengths and self.chance(0.45):
                made = self.one("{0} = {0}.copy()", "{0} = {0} * 1.5", "{0}0 = np.sin({0})")
                self.statements.append(made.format(argument.name))
        self.replay()

    def _arguments(self) -> Iterator[Argument]:
        for name in ("x", "y", "z")[: self.random.choice((1, 2, 2, 3))]:
            lengths = self.one(
                ("n",), ("n",), ("m",), ("n", "m"), ("n", "m"), ("n", "n"), ("m", "n"), (1, "n"),
                ("n", 1), (2, "n", "m"), ("n", 1, "m"), (1,),
            )  # fmt: skip
            layout = self.one("C", "C", *LAYOUTS)
            yield Argument(name, lengths, layout, shares=name == "y" and self.chance(0.06))
        if self.chance(0.6):
            yield Argument("k", (self.one(1, 2, "m"),), self.one("C", "strided"), "int")
        if self.chance(0.15):
            yield Argument("i", (), "C", "int")
        if self.chance(0.25):
            yield Argument("p", (), "C")

    # -- what there is --------------------------------------------------------------------------

    def one(self, *options: Any) -> Any:
        return self.random.choice(options)

    def chance(self, probability: float) -> bool:
        return self.random.random() < probability

    def number(self) -> str:
        return self.one("0.5", "2.0", "-1.5", "0.3", "1.0", "-0.25", "3.0")

    def names(self, wanted: Callable[[Any], bool]) -> list[str]:
        return [name for name, value in self.space.items() if wanted(value)]

    def array(self, axes: int = 1) -> str:
        """The name of a float array; views and arrays of the last statements more often."""
        names = self.names(lambda v: is_float_array(v) and v.ndim >= axes)
        if not names:
            return ""
        return self.one(*names, *names[-3:])

    def integers(self) -> list[str]:
        return self.names(lambda v: isinstance(v, np.ndarray) and v.dtype.kind == "i" and v.ndim)

    def fresh(self) -> str:
        """A name for something new; now and then one that is taken."""
        self.counted += 1
        taken = self.names(is_float_array)
        if taken and self.chance(0.12):
            return self.one(*taken)
        return self.one("a", "b", "c", "v", "w", "r") + str(self.counted)

    def value(self, text: str) -> Any:
        return eval(text, self.space)

    # -- running --------------------------------------------------------------------------------

    def replay(self) -> None:
        """Runs what is written from the beginning."""
        program = self.as_program(("0.0",), ())
        names = [a.name for a in self.arguments]
        self.space = {"np": np}
        self.space.update(zip(names, program.arrays(), strict=True))
        exec("\n".join(line for text in HELPERS.values() for line in text), self.space)
        for statement in self.statements:
            exec(statement, self.space)

    def as_program(self, loss: Sequence[str], others: Sequence[str]) -> Program:
        sizes = tuple(self.sizes.items())
        return Program(
            self.seed, self.arguments, sizes, tuple(self.statements), tuple(loss), tuple(others)
        )

    def runs(self, statement: str) -> bool:
        """Whether a statement runs on what there is; it has run then."""
        try:
            exec(statement, self.space)
            return self.is_sane()
        except Exception:
            return False

    def is_sane(self) -> bool:
        arrays = [v for v in self.space.values() if isinstance(v, np.ndarray | np.floating)]
        return all(np.size(v) < 200 and np.all(np.abs(v) < LIMIT) for v in arrays)

    def program(self) -> Program:
        wanted, tries = len(self.statements) + self.random.randint(2, 8), 0
        while len(self.statements) < wanted and tries < 60:
            tries += 1
            statement = self.statement()
            if not statement:
                continue
            if self.runs(statement):
                self.statements.append(statement)
                continue
            self.replay()
            if self.chance(0.004) and is_python(statement):  # it raises
                self.statements.append(statement)
                break
        if not self.names(is_float_array):
            return self.as_program(["0.0"], [])
        return self.as_program(*self.returned())

    def returned(self) -> tuple[list[str], list[str]]:
        arrays, numbers = self.names(is_float_array), self.names(is_float_number)
        chosen = self.random.sample(arrays, min(len(arrays), self.random.randint(1, 4)))
        loss = [self.one("np.sum(np.sin({}))", "({} * {}).sum()", "np.sum({})").format(v, v)
                for v in chosen]  # fmt: skip
        held = self.names(is_0d_array)
        loss += [f"np.sin({v})" for v in held if self.chance(0.7)]
        if numbers and self.chance(0.5):
            loss.append(f"np.cos({self.one(*numbers)})")
        others = [self.one(*arrays) for _ in range(self.random.randint(0, 2))]
        others += [self.view(self.one(*arrays)) for _ in range(self.random.randint(0, 1))]
        others += [self.one(*numbers)] if numbers and self.chance(0.4) else []
        others += [self.one(*held)] if held and self.chance(0.5) else []
        others += [self.one(*self.integers())] if self.integers() and self.chance(0.1) else []
        return loss, [other for other in others if self.is_valid(other)]

    def is_valid(self, text: str) -> bool:
        try:
            return bool(text) and self.value(text) is not None
        except Exception:
            return False

    # -- statements -----------------------------------------------------------------------------

    def statement(self) -> str:
        kinds = (
            (self.bound_view, 22),
            (self.bound_copy, 8),
            (self.bound_new, 14),
            (self.alias, 4),
            (self.unpacked, 4),
            (self.of_numbers, 7),
            (self.without_axes, 11),
            (self.written, 40),
            (self.loop, 7),
            (self.branch, 6),
            (self.helped, 5),
            (self.of_integers, 2),
        )
        drawn = self.random.choices([k for k, _ in kinds], [weight for _, weight in kinds])[0]
        try:
            return drawn()
        except Exception:  # an inner expression that is not valid
            return ""

    def bound_view(self) -> str:
        text = self.view(self.array())
        if self.chance(0.25):
            text = self.view(text)
        return f"{self.fresh()} = {text}"

    def bound_copy(self) -> str:
        v = self.array()
        a = self.value(v)
        options = [
            f"{v}.copy()", f"np.copy({v})", f"{v}.flatten()", f"{v}.astype(float)", f"+{v}",
            f"{v} + 0.0", f"np.sort({v}, axis=0)", f"np.roll({v}, 1)", f"{v}.clip(-0.5, 0.5)",
            f"np.where({v} > 0.1, {v}, 0.5)", f"np.concatenate([{v}, {v}])", f"np.tile({v}, 2)",
            f"{v}[{v} > 0.1]", f"{v}[[0, -1]]", f"{v}[{self.fancy(a)}]", f"{v}[{self.fancy(a)}]",
            f"np.take({v}, {self.fancy_axis(len(a))}, axis=0)", f"np.repeat({v}, 2, axis=0)",
            f"np.triu({v})" if a.ndim > 1 else f"np.diag({v})", f"np.nan_to_num({v})",
        ]  # fmt: skip
        if self.chance(0.04):
            options = [f"np.array({v})"]
        return f"{self.fresh()} = {self.one(*options)}"

    def bound_new(self) -> str:
        v, w = self.array(), self.array()
        options = [
            f"{v} * {self.number()}", f"{v} * {self.number()}", f"{v} + {w}", f"{v} * {w}",
            f"np.sin({v})", f"np.tanh({v} - {self.number()})", f"np.zeros_like({v})",
            f"np.full_like({v}, {self.number()})", f"np.cumsum({v}, axis=0)", f"np.cos({v}).T",
            f"np.outer({v}, {w})", f"np.stack([{v}, {v} * 2.0])", f"{v} @ {w}", f"-{v}",
            f"{v}.sum(axis=0)", f"np.maximum({v}, {w})", f"{v} ** 2", f"{v} / (1.5 + {w} * {w})",
        ]  # fmt: skip
        if self.chance(0.04):
            options = [f"np.zeros({v}.shape)", f"np.ones({v}.shape)", f"np.empty_like({v})\n"]
            options[-1] = f"np.zeros(len({v}))"
        return f"{self.fresh()} = {self.one(*options)}"

    def alias(self) -> str:
        return f"{self.fresh()} = {self.array()}"

    def unpacked(self) -> str:
        v = self.array()
        a, n = self.value(v), len(self.value(v))
        p, q = self.fresh(), self.fresh()
        options = [f"{p}, *{q} = {v}\n{q} = {q}[0]" if n > 1 else f"{p}, = {v}"]
        if n == 2:
            options += [f"{p}, {q} = {v}", f"{p}, {q} = reversed({v})"]
        if n % 2 == 0 and n:
            options += [f"{p}, {q} = np.split({v}, 2)"]
        options += [
            f"{p}, {q} = np.array_split({v}, 2)",
            f"{p}, {q} = np.broadcast_arrays({v}, 1.0)",
        ]
        options += [f"{p} = list({v})[{self.integer(n)}]"]
        if a.ndim > 1:
            options += [f"{p}, {q} = np.array_split({v}, 2, axis=1)", f"{p} = [r for r in {v}][0]"]
        return self.one(*options)

    def of_numbers(self) -> str:
        """Numbers: an element of an array is one, and never changes."""
        numbers = self.names(is_float_number)
        self.counted += 1
        s, v = f"s{self.counted}", self.array()
        if numbers and self.chance(0.5):
            t = self.one(*numbers)
            return self.one(
                f"{s} = {t}\n{t} += 1.0", f"{t} *= {self.number()}", f"{s} = {t} * {t}",
                f"{s} = {t}\n{s} -= {self.number()}", f"{v} *= {t}", f"{v}[0] += {t}",
            )  # fmt: skip
        a = self.value(v)
        element = ", ".join(self.integer(n) for n in a.shape)
        return self.one(
            f"{s} = {v}[{element}]", f"{s} = {v}[{element}]", f"{s} = {v}.sum()",
            f"{s} = np.max({v})", f"{s} = {v}.ravel()[0]", f"{s} = {v}[{element}]\n{s} += 1.0",
            f"{s} = np.vdot({v}, {v})",
        )  # fmt: skip

    def without_axes(self) -> str:
        """Arrays without axes: made, called by second names, viewed, written."""
        held, numbers, v = self.names(is_0d_array), self.names(is_float_number), self.array()
        self.counted += 1
        s, c = f"q{self.counted}", self.number()
        element = ", ".join(self.integer(n) for n in self.value(v).shape)
        if not held or self.chance(0.3):
            x = self.one(*numbers, f"{v}.sum()", f"{v}[{element}]")
            return self.one(
                f"{s} = np.zeros(())", f"{s} = np.array({c})", f"{s} = np.full((), {c})",
                f"{s} = np.asarray({x})", f"{s} = np.array({x})", f"{s} = {v}[{element}, ...]",
                f"{s} = np.copy({x})", f"{s} = np.where({x} > 0.1, {x}, {c})",
                f"{s} = {x}[...]", f"{s} = {v}.ravel()[:1].reshape(())",
                f"{s} = np.zeros_like({x})",
            )  # fmt: skip
        q = self.one(*held)
        x = self.one(c, c, *numbers, *held, f"{v}[{element}]", f"{v}.sum()", f"{q} * {c}")
        t = self.one(*held, s)
        made = self.one(
            f"{s} = {q}", f"{s} = {q}[...]", f"{s} = {q}.reshape(())", f"{s} = {q}[None]",
            f"{s} = {q}.T", f"{s} = {q}.copy()", f"{s} = {q}[()]", f"{s} = np.asarray({q})",
            f"{s} = [{q}, {q}]\n{s} = {s}[0]", f"{s} = {q}.squeeze()", f"{s} = {q} + 0.0",
        )  # fmt: skip
        turn = self.one(f"{q} += e", f"added({q}, e)", f"{q}[...] = e")
        counted = self.one(f"{q} *= {c}", f"{q} = {q} * {c}", f"put({q}, j)")
        appended = block(f"for e in {v}.ravel():", f"{q} += e\nlog.append({q})")
        other = block("else:", f"{t} = {q}\n{t} *= {c}")
        return self.one(
            made, made, f"{q} += {x}", f"{q} *= {c}", f"{q} -= {x}", f"{q}[()] = {x}",
            f"{q}[...] = {x}", f"{q}.fill({x})", f"np.add({x}, {c}, out={q})", f"put({q}, {x})",
            f"np.sin({q}, out={q})", f"np.copyto({q}, {x})", f"np.sum({v}, out={q})",
            f"added({q}, {x})", f"{t} = {q}\n{t} += {x}", f"{v} *= {q}", f"{v}[{element}] = {q}",
            f"{q}, {t} = {t}, {q}", block(f"for e in {v}.ravel():", turn),
            block("for j in range(3):", counted), f"log = []\n{appended}\n{s} = np.array(log)",
            block(f"if {q} > 0.1:", f"{q} += {x}") + "\n" + other,
        )  # fmt: skip

    def of_integers(self) -> str:
        k = self.one(*self.integers())
        return self.one(f"{k}[0] = 0", f"{k} %= 2", f"q = {k}[::-1]", f"{k}.sort()", f"q = {k}[1:]")

    def helped(self) -> str:
        name, v = self.one(*HELPERS), self.array()
        argument = self.view(v) if self.chance(0.4) else v
        call = f"{name}({argument}, {self.number()})"
        return call if name == "first_set" or self.chance(0.4) else f"{self.fresh()} = {call}"

    # -- writes ---------------------------------------------------------------------------------

    def written(self) -> str:
        v = self.array()
        if self.chance(0.6) and self.is_callers(v):  # a gradient needs some that are not written
            v = self.array()
        target = self.view(v) if self.chance(0.25) else v
        a = self.value(target)
        if not isinstance(a, np.ndarray) or not a.ndim:
            return ""
        return self.one(
            self.by_item, self.by_item, self.by_item, self.in_place, self.in_place, self.by_function
        )(target, a)

    def by_item(self, v: str, a: np.ndarray) -> str:
        index = self.fancy(a) if self.chance(0.3) else self.basic(a)
        if self.chance(0.1):
            return self.one(
                f"{v}[0], {v}[-1] = {v}[-1], {v}[0]", f"{v}[1:] += {v}[:-1]", f"{v}[:] = {v}[::-1]",
                f"{v}[1:] = {v}[:-1] * 0.5", f"{v}[...] = {v}.T", f"{v}.flat[0] = 2.0",
                f"{v}[{v} > 0.3] = 0.25",
            )  # fmt: skip
        shape = np.shape(a[self.value(f"np.index_exp[{index}]")])
        return f"{v}[{index}] {self.operator('=')} {self.operand(shape)}"

    def in_place(self, v: str, a: np.ndarray) -> str:
        if "(" in v or "." in v or v.endswith("]"):
            v = f"{v}[...]" if not v.endswith("]") else v
        return f"{v} {self.operator('+=')} {self.operand(a.shape)}"

    def is_callers(self, name: str) -> bool:
        """Whether an array is memory of the caller's."""
        given = [self.space.get(a.name) for a in self.arguments]
        return any(v is not None and np.may_share_memory(self.space[name], v) for v in given)

    def operator(self, plain: str) -> str:
        return self.one(plain, plain, plain, "+=", "-=", "*=", "+=", "*=", "/=")

    def by_function(self, v: str, a: np.ndarray) -> str:
        k, n, c = self.fancy_axis(len(a)), a.size, self.number()
        flat = self.fancy_axis(n)
        of_all = self.operand(a.shape)
        options = [
            f"np.add.at({v}, {k}, {c})", f"np.subtract.at({v}, {k}, {self.operand(a.shape[1:])})",
            f"np.copyto({v}, {of_all})", f"np.copyto({v}, {c}, where={v} > 0.2)",
            f"np.put({v}, {flat}, {c})", f"{v}.put({flat}, {c})", f"{v}.fill({c})", f"{v}.sort()",
            f"{v}.sort(axis=0)", f"np.multiply({v}, {of_all}, out={v})", f"np.sin({v}, out={v})",
            f"np.add({of_all}, {c}, out={v})", f"np.putmask({v}, {v} > 0.1, {c})",
            f"np.square({v}, {v})", f"np.clip({v}, -0.4, 0.4, out={v})",
            f"np.place({v}, {v} > 0.0, [0.5, 0.25])", f"np.cumsum({v}, axis=0, out={v})",
            f"{v}.partition(0)", f"np.multiply.at({v}, {k}, {c})",
            f"np.put_along_axis({v}, np.argmax({v}, axis=0)[None], {c}, axis=0)",
        ]  # fmt: skip
        if a.ndim == 2:
            options += [f"np.fill_diagonal({v}, {c})"] * 2
            options += [f"np.sum({v}, axis=0, out={v}[0])", f"np.matmul({v}, {v}, out={v})"]
        return self.one(*options)

    def operand(self, shape: tuple[int, ...]) -> str:
        """An expression that fits an array of this shape."""
        fitting = [
            name for name in self.names(is_float_array) if fits(self.space[name].shape, shape)
        ]
        numbers = self.names(is_float_number)
        options = [self.number()]
        if numbers:
            options.append(self.one(*numbers))
        if fitting:
            w = self.one(*fitting)
            options += [w, f"{w} * 2.0", f"np.sin({w})", w]
        indexed = self.array()
        text = self.view(indexed)
        try:
            if fits(np.shape(self.value(text)), shape):
                options += [text, text]
        except Exception:
            pass
        return self.one(*options)

    # -- blocks ---------------------------------------------------------------------------------

    def loop(self) -> str:
        v, c = self.array(), self.number()
        a = self.value(v)
        n = max(min(len(a), 3), 1)
        row = f"r{self.counted}"
        of_row = [f"{row} *= {c}", f"{row}[...] = {c}", f"{row} += {v}[0]", f"{row}[0] = {c}"]
        if a.ndim == 1:
            of_row = [f"{row} *= {c}", f"{v}[0] += {row}", f"{v}[-1] = {row} * 0.5"]
        body = [self.one(*of_row)]
        if self.chance(0.4):
            body.append(self.one(*of_row, self.simple_write()))
        counted = [f"{v}[j] += {c}", f"{v}[j] = {v}[j - 1] * {c}", f"t = {v}[j]\nt *= 0.5",
                   self.simple_write(), f"{v} = {v}[::-1]", f"{v} = {v} * 0.5"]  # fmt: skip
        steps = "\n".join(self.random.sample(counted, self.random.randint(1, 2)))
        return self.one(
            block(f"for {row} in {v}:", "\n".join(body)),
            block(f"for {row} in {v}[::-1]:", "\n".join(body)),
            block(f"for j, {row} in enumerate({v}):", "\n".join([*body, f"{v}[j] += 0.5"])),
            block(f"for j in range({n}):", steps),
            block(f"for j in range({n}):", steps),
            "j = 0\n" + block(f"while j < {n}:", f"{steps}\nj += 1"),
        )

    def simple_write(self) -> str:
        for _ in range(5):
            text = self.written()
            if text and "\n" not in text:
                return text
        return "pass"

    def branch(self) -> str:
        v = self.array()
        a = self.value(v)
        element = ", ".join(self.integer(n) for n in a.shape)
        condition = self.one(f"{v}[{element}] > 0.1", f"{v}.sum() > 0.2", f"np.all({v} > -0.5)")
        if self.chance(0.5):
            n = self.fresh()
            first, second = f"{n} = {self.view(v)}", f"{n} = {self.view(self.array())}"
        else:
            first, second = self.simple_write(), self.simple_write()
        for tried in (first, second):
            valid = self.runs(tried)
            self.replay()
            if not valid:
                return ""
        text = block(f"if {condition}:", first)
        return (
            text + "\n" + block("else:", second) if self.chance(0.7) or "=" in first[:4] else text
        )

    # -- indices --------------------------------------------------------------------------------

    def integer(self, n: int) -> str:
        """One index into an axis of this length."""
        i = self.random.randint(-n, n - 1) if n else 0
        options = [str(i), str(i), f"np.int64({i})", f"np.array({i})"]
        for name in self.integers():
            if len(self.space[name]):
                options += [f"{name}[{self.random.randrange(len(self.space[name]))}]"] * 2
        if "i" in self.space:
            options += ["i", "i"]
        return self.one(*options)

    def slice(self, n: int) -> str:
        low = self.one("", "", "1", "-1", "0", str(n // 2), "-2")
        high = self.one("", "", "-1", str(n), str(max(n - 1, 1)), "2")
        step = self.one("", "", "", ":2", ":-1", ":1")
        if step == ":-1":
            low, high = self.one(("", ""), ("-1", ""), ("", "0"))
        return f"{low}:{high}{step}"

    def basic(self, a: np.ndarray) -> str:
        """A basic index of an array."""
        items = []
        for n in a.shape[: self.random.randint(1, a.ndim)]:
            items.append(self.integer(n) if self.chance(0.4) and n else self.slice(n))
        if self.chance(0.12):
            items.insert(self.random.randint(0, len(items)), "None")
        if self.chance(0.12):
            items.insert(self.random.randint(0, len(items)), "...")
        return ", ".join(items)

    def fancy_axis(self, n: int) -> str:
        chosen = [self.random.randint(-n, n - 1) if n else 0 for _ in range(2)]
        options = [str(chosen), f"np.array({chosen})", f"[{chosen[0]}]"]
        options += [k for k in self.integers() for _ in range(2)]
        options += [f"{k}[:1]" for k in self.integers()]
        return self.one(*options)

    def fancy(self, a: np.ndarray) -> str:
        """An index with arrays: copies when read, writes when written to."""
        n = len(a)
        mask = str([self.chance(0.5) for _ in range(n)])
        same = self.names(lambda v: is_float_array(v) and v.shape == a.shape)
        options = [self.fancy_axis(n), self.fancy_axis(n), mask if n else "[]"]
        if same:
            options.append(f"{self.one(*same)} > 0.1")
        if a.ndim > 1:
            options += [
                f"{self.fancy_axis(n)}, {self.slice(a.shape[1])}",
                f":, {self.fancy_axis(a.shape[1])}",
                f"{self.fancy_axis(n)}, {self.integer(a.shape[1])}",
                f"..., {self.fancy_axis(a.shape[-1])}",
                f"{self.integer(n)}, {self.fancy_axis(a.shape[1])}",
            ]  # fmt: skip
        return self.one(*options)

    # -- views ----------------------------------------------------------------------------------

    def view(self, v: str) -> str:
        """An expression that looks at an array, or copies where NumPy must."""
        a = self.value(v)
        if not isinstance(a, np.ndarray) or not a.ndim:
            return v
        v = f"({v})" if v[0] in "+-" else v
        n = len(a)
        options = [f"{v}[{self.basic(a)}]" for _ in range(12)]
        options += [
            f"{v}.T", f"{v}.reshape(-1)", f"{v}.ravel()", f"np.ravel({v})", f"{v}[None]",
            f"np.expand_dims({v}, 0)", f"np.squeeze({v})", f"{v}.squeeze()", f"np.flip({v})",
            f"{v}.real", f"np.real({v})", f"np.atleast_1d({v})", f"np.atleast_2d({v})",
            f"np.atleast_3d({v})", f"np.broadcast_to({v}, (2, *{v}.shape))", f"{v}.view()",
            f"{v}[...]", f"{v}[:]", f"np.swapaxes({v}, -1, 0)", f"{v}.reshape({v}.shape)",
            f"np.moveaxis({v}, 0, -1)", f"np.array_split({v}, 2)[0]", f"{v}.transpose()",
            f"{v}.astype(float, copy=False)", f"{v}.reshape({self.other_shape(a)})",
            f"np.reshape({v}, {self.other_shape(a)})", f"{v}.T.reshape(-1)", f"{v}[()]",
            f"{v}.reshape(-1, order='F')", f"np.flip({v}, 0)", f"{v}.swapaxes(0, -1)",
        ]  # fmt: skip
        if self.chance(0.06):
            order, copy, required = self.one(*"CFAK"), self.one("None", "False"), self.one(*"CFAW")
            return self.one(
                f"np.asarray({v})", f"np.asarray({v}, order='{order}')",
                f"np.ascontiguousarray({v})", f"np.asfortranarray({v})",
                f"np.require({v}, requirements='{required}')",
                f"np.array({v}, copy={copy})", f"np.array({v}, copy={copy}, order='{order}')",
            )  # fmt: skip
        if n % 2 == 0 and n:
            options += [f"np.split({v}, 2)[1]"]
        if a.shape == (n, n):
            options += [f"np.einsum('ii->i', {v})"]
        if a.ndim > 1:
            axes = self.random.sample(range(a.ndim), a.ndim)
            options += [
                f"np.swapaxes({v}, 0, 1)", f"np.transpose({v}, {axes})", f"{v}.diagonal()",
                f"np.diagonal({v})", f"np.fliplr({v})", f"np.rot90({v})", f"{v}.mT", f"{v}.T[0]",
                f"{v}[:, {self.integer(a.shape[1])}]", f"np.hsplit({v}, [1])[0]", f"{v}[0]",
                f"np.diag({v})", f"{v}[{self.integer(n)}]",
            ]  # fmt: skip
        return self.one(*options)

    def other_shape(self, a: np.ndarray) -> str:
        n = a.size
        divisors = [d for d in range(1, n + 1) if n % d == 0] or [1]
        d = self.one(*divisors)
        return self.one(f"({d}, -1)", f"(-1, {d})", str((n,)), str((d, n // d))) if n else "(-1, 1)"


def block(head: str, body: str) -> str:
    return "\n".join([head, *(f"    {line}" for line in body.split("\n"))])


def is_python(text: str) -> bool:
    """Whether a text is Python at all; where an array is missing in it, it is not."""
    try:
        compile(text, "<drawn>", "exec")
    except SyntaxError:
        return False
    return True


def is_float_array(value: Any) -> bool:
    return isinstance(value, np.ndarray) and value.dtype.kind == "f" and value.ndim > 0


def is_0d_array(value: Any) -> bool:
    return isinstance(value, np.ndarray) and value.dtype.kind == "f" and not value.ndim


def is_float_number(value: Any) -> bool:
    return isinstance(value, np.floating)


def fits(shape: tuple[int, ...], into: tuple[int, ...]) -> bool:
    """Whether an array of one shape broadcasts to another."""
    try:
        return np.broadcast_shapes(shape, into) == tuple(into)
    except ValueError:
        return False


def shortened(program: Program) -> Iterator[Program]:
    """The program without one of its parts, each in turn."""
    for i in reversed(range(len(program.statements))):
        rest = program.statements[i + 1 :]
        yield replace(program, statements=program.statements[:i] + rest)
        lines = program.statements[i].split("\n")
        for j in range(len(lines) if len(lines) > 1 else 0):
            fewer = "\n".join(lines[:j] + lines[j + 1 :])
            yield replace(program, statements=(*program.statements[:i], fewer, *rest))
    for i in range(len(program.others)):
        yield replace(program, others=program.others[:i] + program.others[i + 1 :])
    for i in range(len(program.loss) if len(program.loss) > 1 else 0):
        yield replace(program, loss=program.loss[:i] + program.loss[i + 1 :])
    for i, argument in enumerate(program.arguments[1:], 1):
        if not any(a.shares for a in program.arguments) and argument:
            fewer_arguments = program.arguments[:i] + program.arguments[i + 1 :]
            yield replace(program, arguments=fewer_arguments)


if __name__ == "__main__":
    from memory_checks import main

    raise SystemExit(main())
