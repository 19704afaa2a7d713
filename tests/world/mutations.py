"""Random programs whose Python state is edited between calls: compiled, they do as plain Python.

``python tests/world/mutations.py --count 20000 --seed 1`` makes programs of the pieces in
`fragments.py`, calls each, edits what it can reach, calls it again. Each compiled call is compared
with the plain function on a copy of its own: the value bit for bit (the gradient against finite
differences), what was raised, printed and warned, and everything reachable afterwards. A wrong
program is made smaller and printed as text that runs; refusals are counted by their reasons.
"""

from __future__ import annotations

import argparse
import ast
import collections
import contextlib
import dataclasses
import enum
import functools
import importlib
import io
import linecache
import os
import random
import re
import signal
import sys
import tempfile
import textwrap
import threading
import time
import types
import warnings
import weakref
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parent))

from fragments import FRAGMENTS, Fragment

import tracegrad as tg
from tracegrad.errors import RecompileWarning, TracegradError

IMPORTS = """\
import abc, array, bisect, collections, collections.abc, contextlib, contextvars, copy, dataclasses
import decimal, enum, fractions, functools, heapq, importlib, io, itertools, json, logging, math
import operator, os, random, re, statistics, sys, threading, types, warnings, weakref
from types import SimpleNamespace as NS
import numpy as np
import tracegrad as tg
"""
PACKAGE = "fuzzed_package"
SOURCES = {
    "__init__.py": """
        import numpy as np
        RATE = 1.5
        COUNT = 0
        def act(y): return np.tanh(y)
        def counted(y):
            global COUNT
            COUNT += 1
            return y * COUNT
        class Model:
            gain = 2.0
            act = staticmethod(np.cos)
            def __init__(self): self.k = 0.5
            def __call__(self, y): return self.act(y) * self.gain + self.k
    """,
    "sub.py": """
        SCALE = 2.0
        TABLE = {'k': 1.0}
        def helper(y): return y + 1.0
        def layer(y, a=1.0): return helper(y) * SCALE + a * TABLE['k']
    """,
}
XS = ((0.5, -1.25, 2.0), (-0.75, 0.3, 1.1), (1.7, 0.9, -0.4))


# -- programs -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Part:
    """A fragment in a program: how its statements are reached."""

    fragment: Fragment
    number: int
    placed: str  # "inline", "helper", "branch" or "loop"

    def text(self, code: str) -> str:
        code = code.replace("~", str(self.number)).replace("PKG", PACKAGE)
        return code.replace("ENV", "FUZZED_")


@dataclass(frozen=True)
class Program:
    parts: tuple[Part, ...]
    held: str  # where the function has its state from: "globals", "closure", "self", "arguments"
    steps: tuple[tuple[str, Any], ...]

    def source(self) -> str:
        lines = [IMPORTS, *(part.text(part.fragment.setup) for part in self.parts)]
        names = [] if self.held == "globals" else self.names()
        body = ["y = x * 1.0"]
        for part in self.parts:
            statements = part.text(part.fragment.body).splitlines()
            declared = sorted(assigned(statements) & set(self.assigned_outside()) - set(names))
            match part.placed:
                case "helper":
                    needs = [n for n in names if re.search(rf"\b{n}\b", "\n".join(statements))]
                    head = f"def part{part.number}({', '.join(['x', 'y', *needs])}):"
                    lines += [head, *globals_(declared), *indented([*statements, "return y"])]
                    body.append(f"y = part{part.number}({', '.join(['x', 'y', *needs])})")
                    declared = []
                case "branch":
                    body += ["if x[0] > 0:", *indented(statements), "else:", "    y = y * 0.5"]
                case "loop":
                    body += ["for _turn in range(2):", *indented(statements)]
                case _:
                    body += statements
            body[:0] = [f"global {name}" for name in declared]
        body.append("return y")
        rebound = [f"nonlocal {n}" for n in sorted(assigned(body) & set(names))]
        arguments = ""
        match self.held:
            case "closure":
                lines += [f"def make({', '.join(names)}):", "    def f(x):"]
                lines += indented(indented([*rebound, *body]))
                lines += ["    return f", f"f = make({', '.join(names)})"]
            case "self":
                lines += ["class Model:", "    def __init__(self):", "        self.steps = 0"]
                lines += [f"        self.{name} = {name}" for name in names]
                lines += ["    def __call__(self, x):"]
                lines += [f"        {name} = self.{name}" for name in names]
                lines += [*indented(indented(body)), "MODEL = Model()", "f = MODEL.__call__"]
            case "arguments":
                arguments = "".join(f", {name}" for name in names)
                lines += [f"def f(x{arguments}):", *indented(body)]
            case _:
                lines += ["def f(x):", *indented(body)]
        lines += [f"def loss(x{arguments}):"]
        lines += [f"    return (f(x{arguments}) * np.array([1.0, 3.0, -0.5])).sum()"]
        lines += [f"def given(): return ({arguments[2:] + ',' if arguments else ''})"]
        return "\n".join(lines) + "\n"

    def assigned_outside(self) -> list[str]:
        found: list[str] = []
        for part in self.parts:
            for node in ast.parse(part.text(part.fragment.setup)).body:
                if isinstance(node, ast.Assign):
                    found += [
                        n.id for t in node.targets for n in ast.walk(t)
                        if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)
                    ]  # fmt: skip
        return found

    def names(self) -> list[str]:
        """The state that the function's own statements name."""
        text = "\n".join(part.text(part.fragment.body) for part in self.parts)
        if "globals()" in text:
            return []
        return [n for n in self.assigned_outside() if re.search(rf"\b{n}\b", text)]


def assigned(lines: list[str]) -> set[str]:
    tree = ast.parse("def f():\n" + textwrap.indent("\n".join(lines), "    "))
    return {
        node.id for node in ast.walk(tree)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store | ast.Del)
    }  # fmt: skip


def indented(lines: list[str]) -> list[str]:
    return [f"    {line}" for line in lines]


def globals_(names: list[str]) -> list[str]:
    return [f"    global {name}" for name in names]


def drawn(seed: str) -> Program:
    """The program of this seed, with its calls and edits."""
    rng = Random(seed)
    chosen = rng.choices(list(FRAGMENTS.values()), k=rng.choice([1, 1, 2, 2, 3]))
    places = ["inline", "inline", "inline", "inline", "helper", "helper", "branch", "loop"]
    parts = tuple(Part(f, i + 1, rng.choice(places)) for i, f in enumerate(chosen))
    held = rng.choice(["globals"] * 5 + ["closure", "self", "self", "arguments"])
    steps: list[tuple[str, Any]] = [("call", 0)]
    if rng.random() < 0.5:
        steps.append(("call", 0))
    for _ in range(rng.choice([2, 4, 6])):
        for _ in range(rng.choice([1, 1, 1, 2])):
            part = rng.choice(parts)
            if part.fragment.edits:
                steps.append(("edit", filled(part.text(rng.choice(part.fragment.edits)), rng)))
        if held == "self" and rng.random() < 0.2:
            steps.append(("edit", filled("MODEL.extra = $n", rng)))
        for _ in range(rng.choice([1, 1, 2, 3])):
            steps.append(("call", rng.choice([0, 0, 0, 1, 2])))
    return Program(parts, held, tuple(steps))


def filled(text: str, rng: Random) -> str:
    """An edit with its values drawn."""

    def value(match: re.Match[str]) -> str:
        match match[1]:
            case "n":
                return repr(round(rng.uniform(-3.0, 3.0), 2))
            case "p":
                return repr(round(rng.uniform(0.05, 4.0), 2))
            case "i":
                return repr(rng.randrange(4))
            case "b":
                return repr(rng.random() < 0.5)
            case "a":
                return f"np.array({[round(rng.uniform(-2.0, 2.0), 2) for _ in range(3)]})"
        n = round(rng.uniform(-3.0, 3.0), 2)
        kinds = [f"{n}", f"np.float64({n})", f"np.float32({n})", f"{int(n)}", "True", "0.0", "-0.0"]
        return rng.choice([*kinds, "float('nan')", "np.array(1.5)", f"np.int64({int(n)})"])

    return re.sub(r"\$([npibav])", value, text.replace("\\n", "\n"))


# -- what is compared -----------------------------------------------------------------------------


def picture(value: Any, seen: dict[int, int], aliases: bool = True) -> Any:
    """A value with everything reachable from it, as nested tuples that can be compared.

    ``("again", number)`` is an object met before: anywhere, or without `aliases` inside of itself.
    """
    if value is None or (
        isinstance(value, str | bytes | type(...)) and type(value) in (str, bytes)
    ):
        return value
    if type(value) in (bool, int, float, complex):
        return (type(value).__name__, repr(value))
    if isinstance(value, np.generic):
        return ("generic", str(value.dtype), repr(value))
    if isinstance(value, types.ModuleType):
        programs = value.__name__.startswith(PACKAGE) or value.__name__.startswith("m")
        if not programs or value.__name__ in ("math", "multiprocessing"):
            return ("module", value.__name__)
    if id(value) in seen:
        return ("again", seen[id(value)])
    seen[id(value)] = len(seen)
    keep.append(value)
    found = inside(value, seen, aliases)
    if not aliases:
        del seen[id(value)]
    return found


def inside(value: Any, seen: dict[int, int], aliases: bool) -> Any:
    name = type(value).__name__

    def inner(v: Any) -> Any:
        return picture(v, seen, aliases)

    def attributes(v: Any) -> Any:
        try:
            held = dict(object.__getattribute__(v, "__dict__"))
        except AttributeError:
            held = {}
        for cls in type(v).__mro__:
            for slot in vars(cls).get("__slots__", ()):
                with contextlib.suppress(AttributeError):
                    if slot not in ("__weakref__", "__dict__"):
                        held[slot] = object.__getattribute__(v, slot)
        return tuple((k, inner(held[k])) for k in sorted(held, key=str))

    match value:
        case tg.Tensor():
            tensors.append(value)
            return inner(value.detach().numpy())
        case np.ndarray():
            flat = np.array(value)
            if flat.dtype.kind in "fc":
                flat[np.isnan(flat)] = np.nan
            bits = flat.tobytes() if flat.dtype != object else tuple(map(inner, flat.ravel()))
            return (name, str(value.dtype), value.shape, value.flags.writeable, bits)
        case dict() | types.MappingProxyType():
            items = tuple((inner(k), inner(v)) for k, v in value.items())
            return (name, items, attributes(value) if type(value) is not dict else ())
        case list() | tuple() | collections.deque():
            return (name, tuple(map(inner, value)), attributes(value))
        case set() | frozenset():
            return (name, tuple(sorted(repr(picture(v, {})) for v in value)))
        case types.FunctionType():
            cells = tuple(cell_picture(c, inner) for c in value.__closure__ or ())
            held = tuple((k, inner(v)) for k, v in vars(value).items())
            parts = (inner(value.__defaults__), inner(value.__kwdefaults__), cells, held)
            return ("function", value.__code__.co_name, parts)
        case types.MethodType():
            return ("method", inner(value.__self__), inner(value.__func__))
        case functools.partial():
            return (name, inner(value.func), inner(value.args), inner(value.keywords))
        case property():
            return (name, inner(value.fget), inner(value.fset))
        case staticmethod() | classmethod():
            return (name, inner(value.__func__))
        case enum.Enum():
            return (name, value.name, inner(value.value))
        case weakref.ref():
            return (name, inner(value()))
        case random.Random():
            return (name, value.getstate())
        case np.random.Generator():
            return (name, repr(value.bit_generator.state))
        case io.StringIO():
            return (name, value.getvalue(), value.tell())
        case type() if value.__module__ == "program" or value.__module__.startswith(PACKAGE):
            skipped = ("__dict__", "__weakref__", "__doc__", "__module__", "_abc_impl")
            held = {k: v for k, v in vars(value).items() if k not in skipped}
            bases = tuple(b.__name__ for b in value.__bases__)
            return ("class", value.__name__, bases, tuple((k, inner(held[k])) for k in held))
        case type():
            return ("type", value.__name__)
        case types.ModuleType():
            held = {k: v for k, v in vars(value).items() if not k.startswith("__")}
            return (name, tuple((k, inner(held[k])) for k in held))
        case BaseException():
            return (name, cleaned(str(value)))
        case _ if name in ("count", "cycle", "list_iterator", "bytearray", "array", "Fraction",
                           "Decimal", "Pattern", "Template", "mappingproxy"):  # fmt: skip
            return (name, cleaned(repr(value.__reduce__() if "iter" in name else value)))
        case _ if name == "ContextVar":
            return (name, inner(value.get("nothing")))
    return (name, attributes(value))


tensors: list[Any] = []  # met since the last look
keep: list[Any] = []  # what pictures were made of, so that no id is used twice


def cell_picture(cell: types.CellType, inner: Callable[[Any], Any]) -> Any:
    try:
        return inner(cell.cell_contents)
    except ValueError:
        return "empty"


def cleaned(text: str) -> str:
    return re.sub(r"0x[0-9a-f]+", "0x", text)


@dataclass
class Outcome:
    """One call: what came of it, and what was there afterwards."""

    kind: str  # "returned", "raised" or "refused"
    result: Any
    state: Any
    values: Any  # result and state, whatever is an alias of what
    printed: str
    warned: tuple[str, ...]
    raw: Any = None
    info: Any = None
    tensors: int = 0


@dataclass
class Finding:
    kind: str
    step: int
    text: str


SKIPPED = {"__warningregistry__", "__builtins__", "f", "loss", "given", "make"}


class World:
    """A copy of a program that runs: its own namespace, arrays and streams."""

    def __init__(self, program: Program, how: str) -> None:
        for name in [n for n in sys.modules if n.split(".")[0] == PACKAGE]:
            del sys.modules[name]
        importlib.invalidate_caches()
        random.seed(5)
        np.random.seed(5)
        np.seterr(divide="ignore", over="ignore", invalid="ignore", under="ignore")
        text, module = program.source(), types.ModuleType("program")
        sys.modules["program"] = module
        self.names = vars(module)
        exec(code_of(text), self.names)
        self.start = set(self.names)
        self.xs = [np.array(x) for x in XS]
        self.reasons: list[str] = []
        match how:
            case "plain":
                self.f = self.names["f"]
            case "plain loss":
                self.f = self.names["loss"]
            case "compile":
                self.f = tg.compile(self.names["f"])
            case _:
                self.f = tg.value_and_grad(self.names["loss"])

    def edit(self, text: str) -> str:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                exec(text, self.names)
        except Exception as error:
            return f"{type(error).__name__}: {cleaned(str(error))}"
        return ""

    def call(self, at: int, shift: Any = None) -> Outcome:
        x = self.xs[at]
        if shift is not None:
            x += shift
        printed = io.StringIO()
        with warnings.catch_warnings(record=True) as caught, contextlib.redirect_stdout(printed):
            warnings.simplefilter("always")
            try:
                kind, raw = "returned", self.f(x, *self.names["given"]())
            except TracegradError as error:
                kind, raw = "refused", error
            except Exception as error:
                kind, raw = "raised", error
        self.reasons += [str(w.message) for w in caught if w.category is RecompileWarning]
        warned = tuple(str(w.message) for w in caught if w.category is UserWarning)
        info = self.f.cache_info() if hasattr(self.f, "cache_info") else None
        return Outcome(kind, None, None, None, printed.getvalue(), warned, raw, info)

    def look(self, outcome: Outcome, gradient: bool) -> Outcome:
        """With the result and everything reachable as a picture, aliases included."""
        seen: dict[int, int] = {}
        for x in self.xs:
            picture(x, seen)
        raw = outcome.raw[0] if gradient and outcome.kind == "returned" else outcome.raw
        tensors_in = any(isinstance(x, tg.Tensor) for x in self.names["given"]())
        if tensors_in and isinstance(raw, tg.Tensor):  # Tensors in, Tensors out
            raw = raw.detach().numpy()[()]
        outcome.result = picture(raw, seen)
        names = [n for n in self.names if n not in SKIPPED and (n not in STANDARD)]
        outcome.state = {name: picture(self.names[name], seen) for name in names}
        outcome.tensors = len(tensors)
        held = {name: picture(self.names[name], {}, False) for name in names}
        outcome.values = (picture(raw, {}, False), held)
        outcome.state["random"] = hash((random.getstate(), np.random.get_state()[1].tobytes()))
        outcome.state["the arguments"] = [x.tobytes() for x in self.xs]
        keep.clear()
        tensors.clear()
        return outcome


STANDARD: set[str] = set()
exec(IMPORTS, standard := {})
STANDARD |= set(standard)


@functools.lru_cache(maxsize=50)
def code_of(text: str) -> types.CodeType:
    name = f"<program {hash(text) % 10**8}>"
    linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
    return compile(text, name, "exec")


# -- running --------------------------------------------------------------------------------------


@dataclass
class Report:
    findings: list[Finding]
    reasons: list[str]
    refused: list[str]
    calls: int = 0
    edits: int = 0
    mode: str = ""


def plain_run(program: Program, how: str) -> list[Any]:
    world, found = World(program, how), []
    for kind, what in program.steps:
        if kind == "edit":
            found.append(world.edit(what))
        else:
            found.append(world.look(world.call(what), False))
    return found


def run(program: Program, transform: str, fd: Random | None = None) -> Report:
    """The program under a transform, step by step beside the plain one."""
    gradient = transform == "value_and_grad"
    expected = plain_run(program, "plain loss" if gradient else "plain")
    report = Report([], [], [])
    world = World(program, transform)
    found: list[Outcome] = []
    gradients = []

    def wrong(kind: str, text: str) -> Report:
        report.findings.append(Finding(kind, step, text))
        report.reasons = world.reasons
        return report

    for step, ((kind, what), right) in enumerate(zip(program.steps, expected, strict=True)):
        if kind == "edit":
            report.edits += 1
            if (said := world.edit(what)) != right:
                return wrong("effect", f"the edit {what!r} said {said!r}, plain: {right!r}")
            continue
        report.calls += 1
        got = world.look(world.call(what), gradient)
        found.append(got)
        if got.kind == "refused":
            report.refused.append(f"{type(got.raw).__name__}: {got.raw}")
            break
        if got.kind == "raised" and right.kind == "returned":
            return wrong("internal", f"raised {got.raw!r}, plain: {right.raw!r}")
        if got.kind != right.kind:
            return wrong("value", f"returned {got.raw!r}, plain raised {right.raw!r}")
        if got.result != right.result:
            kind = "internal" if got.kind == "raised" else "value"
            if got.kind == "returned" and got.values[0] == right.values[0]:
                kind = "alias"
            elif got.kind == "returned" and same_numbers(got.raw, right.raw, gradient):
                kind = "type"
            return wrong(kind, f"{got.kind} {got.raw!r}, plain: {right.raw!r}")
        if got.printed != right.printed or got.warned != right.warned:
            return wrong("effect", f"printed {got.printed!r} {got.warned}, "
                                   f"plain: {right.printed!r} {right.warned}")  # fmt: skip
        if got.state != right.state:
            names = [n for n in {**got.state, **right.state}
                     if got.state.get(n) != right.state.get(n)]  # fmt: skip
            aliases = got.values[1] == right.values[1]
            shown = "; ".join(f"{n}: {shortened(got.state.get(n))}, plain: "
                              f"{shortened(right.state.get(n))}" for n in names[:2])  # fmt: skip
            return wrong("alias" if aliases else "effect", shown)
        if got.tensors != right.tensors:
            return wrong("tensor", f"{got.tensors} Tensors are left, plain: {right.tensors}")
        if gradient and got.kind == "returned" and fd is not None and fd.random() < 0.3:
            gradients.append((step, got))
    report.reasons = world.reasons
    for step, got in gradients[:2]:
        if text := wrong_gradient(program, step, got, fd):
            return wrong("gradient", text)
    if not report.refused:
        before = found[-1].info
        last = [world.call(0) for _ in range(5)][-1]
        report.reasons = world.reasons
        if last.kind == "raised":
            report.mode = "raises"
            return report
        if last.info.traces - before.traces >= 3:
            step = len(program.steps)
            report.mode = "anew"
            return wrong("anew", f"5 equal calls: {before} -> {last.info}")
        eager = last.info.hits - before.hits < 3
        report.mode = "compiled" if not eager else ("eager" if world.reasons else "silently eager")
    else:
        report.mode = "error by name"
    return report


def same_numbers(got: Any, right: Any, gradient: bool) -> bool:
    got = got[0] if gradient else got
    with contextlib.suppress(Exception):
        return bool(np.allclose(got, right, rtol=1e-12, atol=0.0, equal_nan=True))
    return False


def shortened(value: Any) -> str:
    text = repr(value)
    return text if len(text) < 160 else text[:157] + "..."


def wrong_gradient(program: Program, step: int, got: Outcome, rng: Random) -> str:
    """How the gradient of the call at a step departs from finite differences, or nothing."""
    steps = program.steps[: step + 1]
    if any("float32" in str(what) for _, what in steps):
        return ""

    def at(shift: Any) -> float | None:
        world = World(program, "plain loss")
        for kind, what in steps[:-1]:
            world.edit(what) if kind == "edit" else world.call(what)
        last = world.call(steps[-1][1], shift)
        return float(last.raw) if last.kind == "returned" else None

    direction = np.array([rng.choice([-1.0, 1.0]) * rng.uniform(0.5, 1.0) for _ in range(3)])
    claimed = float(np.sum(np.asarray(got.raw[1]) * direction))
    here, sides = at(np.zeros(3)), []
    if here is None or not np.isfinite(here):
        return ""
    for eps in (1e-6, 1e-5):
        up, down = at(eps * direction), at(-eps * direction)
        if up is None or down is None or not np.isfinite(up - down):
            return ""
        sides += [(up - here) / eps, (here - down) / eps]
        central = (up - down) / (2 * eps)
        scale = 1e-4 * max(1.0, abs(central), abs(claimed), abs(here) * 1e-3)
        if abs(central - claimed) < scale:
            return ""
    if max(sides) - min(sides) > 1e-2 * max(1.0, abs(max(sides)), abs(min(sides))):
        return ""  # a kink
    return f"gradient along {direction}: {claimed}, finite differences: {central}"


# -- making a wrong program smaller ---------------------------------------------------------------


def smaller(program: Program, transform: str, kind: str, seed: str) -> Program:
    """The program with fewer parts and steps that goes wrong in the same way."""

    def still(p: Program) -> bool:
        try:
            with limit(20):
                return any(f.kind == kind for f in run(p, transform, Random(seed)).findings)
        except Exception:
            return False

    changed = True
    while changed:
        changed = False
        for candidate in candidates(program):
            if still(candidate):
                program, changed = candidate, True
                break
    return program


def candidates(p: Program) -> Iterator[Program]:
    for i in range(len(p.parts)):
        if len(p.parts) > 1:
            yield dataclasses.replace(p, parts=p.parts[:i] + p.parts[i + 1 :])
    if p.held != "globals":
        yield dataclasses.replace(p, held="globals")
    for i, part in enumerate(p.parts):
        if part.placed != "inline":
            parts = (*p.parts[:i], dataclasses.replace(part, placed="inline"), *p.parts[i + 1 :])
            yield dataclasses.replace(p, parts=parts)
    for i in range(len(p.steps)):
        if len(p.steps) > 1:
            yield dataclasses.replace(p, steps=p.steps[:i] + p.steps[i + 1 :])
    for i, step in enumerate(p.steps):
        if step[0] == "call" and step[1] != 0:
            yield dataclasses.replace(p, steps=(*p.steps[:i], ("call", 0), *p.steps[i + 1 :]))


@contextlib.contextmanager
def limit(seconds: int) -> Iterator[None]:
    """A program that does not end is ended, where signals can be had, by its own time."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def stop(*_: Any) -> None:
        raise TimeoutError(f"took longer than {seconds} s")

    old = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, seconds, 1.0)  # again: a destructor may be hit
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, old)


def text_of(program: Program, transform: str) -> str:
    """A script that shows the plain program and the compiled one side by side."""
    source = program.source()
    function = "f" if transform == "compile" else "loss"
    return "\n".join([
        f"SOURCE = {repr_of(source[len(IMPORTS):])}",
        f"STEPS = {list(program.steps)!r}",
        f"# tg.{transform}({function}) beside {function}: each ('call', i) is {function}(XS[i])",
    ])  # fmt: skip


def repr_of(text: str) -> str:
    return 'r"""\n' + text.strip("\n") + '\n"""'


# -- the whole ------------------------------------------------------------------------------------


@contextlib.contextmanager
def installed() -> Iterator[None]:
    """The package that programs import, in a site-packages folder of its own."""
    with tempfile.TemporaryDirectory() as root:
        folder = Path(root, "site-packages", PACKAGE)
        folder.mkdir(parents=True)
        for name, text in SOURCES.items():
            (folder / name).write_text(textwrap.dedent(text), encoding="utf-8")
        sys.path.insert(0, str(folder.parent))
        environment, errors = dict(os.environ), np.geterr()
        state = random.getstate(), np.random.get_state(), sys.modules.get("program")
        try:
            yield
        finally:
            sys.path.remove(str(folder.parent))
            for name in [n for n in sys.modules if n.split(".")[0] == PACKAGE]:
                del sys.modules[name]
            os.environ.clear()
            os.environ.update(environment)
            np.seterr(**errors)
            random.setstate(state[0])
            np.random.set_state(state[1])
            sys.modules.pop("program", None)


def checked(seed: str, transform: str) -> tuple[Program, Report]:
    program = drawn(seed)
    try:
        with limit(30):
            return program, run(program, transform, Random(seed))
    except TimeoutError as error:
        return program, Report([Finding("hang", 0, str(error))], [], [])


def reason_of(text: str) -> str:
    text = text.strip().splitlines()[0] if text.strip() else text
    text = re.sub(r"<program \d+>|0x[0-9a-f]+", "P", text)
    text = re.sub(r"-?\d+(\.\d+)?(e-?\d+)?", "#", text)
    return text[:150]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=2000, help="edits in all")
    parser.add_argument("--seed", default="1")
    parser.add_argument("--only", default="", help="fragments whose names contain this, alone")
    parser.add_argument("--each", action="store_true", help="each fragment alone, in turn")
    parser.add_argument("--big", action="store_true", help="print wrong programs as they are")
    parser.add_argument("--without", default="", help="fragments left out, with commas between")
    options = parser.parse_args()
    for name in filter(None, options.without.split(",")):
        del FRAGMENTS[name]
    if options.only:
        for name in [n for n in FRAGMENTS if options.only not in n]:
            del FRAGMENTS[name]
    started, edits, calls, programs = time.time(), 0, 0, 0
    modes: collections.Counter[str] = collections.Counter()
    reasons: collections.Counter[str] = collections.Counter()
    examples: dict[str, str] = {}
    wrong: dict[tuple[str, ...], list[str]] = {}
    names = [(name, at) for name, f in FRAGMENTS.items() for at in range(max(1, len(f.edits)))]
    with installed():
        while edits < options.count and not (options.each and programs >= 2 * len(names)):
            transform = ("compile", "value_and_grad")[programs % 2]
            seed = f"{options.seed} {programs}"
            if options.each:
                program = alone(*names[programs // 2], seed)
                try:
                    with limit(30):
                        report = run(program, transform, Random(seed))
                except TimeoutError as error:
                    report = Report([Finding("hang", 0, str(error))], [], [])
            else:
                program, report = checked(seed, transform)
            programs += 1
            edits, calls = edits + report.edits, calls + report.calls
            used = "+".join(p.fragment.name for p in program.parts)
            modes[f"{transform}: {report.mode or 'wrong'}"] += 1
            for text in {reason_of(r) for r in [*report.reasons, *report.refused]}:
                reasons[text] += 1
                examples.setdefault(text, used)
            for finding in report.findings:
                small = program
                if finding.kind != "hang" and not options.big:
                    small = smaller(program, transform, finding.kind, seed)
                    with limit(30):
                        again = run(small, transform, Random(seed)).findings
                    finding = again[0] if again else finding
                used = tuple(sorted(p.fragment.name for p in small.parts))
                places = [p.placed for p in small.parts]
                edits_made = [w for k, w in small.steps if k == "edit"]
                shown = re.sub(r"-?[\d.]+", "#", "; ".join(edits_made)) if options.each else ""
                key = (finding.kind, transform, *used, small.held, shown)
                if key not in wrong:
                    print(
                        f"\n=== {finding.kind.upper()} {transform} {'+'.join(used)} "
                        f"[{small.held} {places}] seed {seed!r} step {finding.step}\n"
                        f"{finding.text[:600]}\n{text_of(small, transform)}",
                        flush=True,
                    )
                wrong.setdefault(key, []).append(seed)
    print(f"\n{edits} edits, {calls} calls, {programs} programs, {time.time() - started:.0f} s")
    print("how programs ended:", dict(modes.most_common()))
    print("\nwrong:")
    for key, seeds in sorted(wrong.items()):
        print(f"{len(seeds):5}  {' '.join(key)}  {seeds[:3]}")
    print("\nrefusals, by program:")
    for text, count in reasons.most_common(80):
        print(f"{count:5}  {text}  [{examples[text]}]")


def alone(name: str, at: int, seed: str) -> Program:
    """A program of one fragment: called, edited in one way, called, edited by all in turn."""
    rng, fragment = Random(seed), FRAGMENTS[name]
    part = Part(fragment, 1, "inline")
    steps: list[tuple[str, Any]] = [("call", 0), ("call", 0)]
    for edit in [*fragment.edits[at:], *fragment.edits[:at]]:
        steps += [("edit", filled(part.text(edit), rng)), ("call", 0), ("call", 1), ("call", 0)]
    return Program((part,), "globals", tuple(steps))


if __name__ == "__main__":
    main()
