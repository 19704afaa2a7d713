"""Random functions, run natively and under the machine: results, errors and tracebacks compared.

    python tests/machine/generated.py [count [first]]

A program is a text made from a number; it logs values as it goes, and may raise anywhere.
"""

from __future__ import annotations

import linecache
import random
import sys
import traceback

if __name__ == "__main__":
    from alone import alone

    alone()

from tracegrad.machine import Machine, World
from tracegrad.machine.tracebacks import HIDDEN

PREAMBLE = """
from dataclasses import dataclass, field
from contextlib import contextmanager
from functools import partial, reduce

total = 0
log = []

class Base:
    kind = "base"
    def __init__(self, v=1):
        self.v = v
    def __add__(self, other):
        return type(self)(self.v + getattr(other, "v", other))
    __radd__ = __add__
    def __iadd__(self, other):
        self.v += getattr(other, "v", other)
        return self
    def __lt__(self, other):
        return self.v < getattr(other, "v", other)
    def __eq__(self, other):
        if not isinstance(other, Base):
            return NotImplemented
        return self.v == other.v
    def __hash__(self):
        return hash(self.v)
    def __bool__(self):
        return self.v != 0
    def __repr__(self):
        return f"{type(self).__name__}({self.v!r})"
    def __call__(self, x, *rest, k=1, **more):
        return x * k + len(rest) + len(more)
    @property
    def twice(self):
        return self.v * 2
    @twice.setter
    def twice(self, value):
        self.v = value // 2
    @classmethod
    def make(cls, v):
        return cls(v)
    @staticmethod
    def half(v):
        return v / 2
    def step(self, n):
        return self.v + n

class Derived(Base):
    kind = "derived"
    def __init__(self, v=2):
        super().__init__(v)
        self.log = []
    def step(self, n):
        self.log.append(n)
        return super().step(n) * 2
    def __radd__(self, other):
        return Derived(self.v * 10)
    def __getattr__(self, name):
        if name.startswith("_"):
            raise AttributeError(name)
        return len(name)
    def __len__(self):
        return abs(self.v)
    def __getitem__(self, i):
        if isinstance(i, slice):
            return (i.start, i.stop, i.step)
        if i >= 3:
            raise IndexError(i)
        return i * self.v
    def __contains__(self, x):
        return x == self.v

@dataclass(order=True)
class Point:
    x: int = 0
    y: int = 0
    tags: list = field(default_factory=list, compare=False)
    def __post_init__(self):
        self.x = self.x + 0

class Guard:
    def __init__(self, out, quiet):
        self.out, self.quiet = out, quiet
    def __enter__(self):
        self.out.append("enter")
        return self
    def __exit__(self, kind, value, tb):
        self.out.append(("exit", kind and kind.__name__, str(value)))
        return self.quiet

@contextmanager
def managed(out, v):
    out.append("open")
    try:
        yield v
    except ValueError as e:
        out.append(str(e))
    finally:
        out.append("close")

def numbers(n):
    try:
        for i in range(n):
            got = yield i
            if got:
                yield got
    finally:
        log.append(n)

def chain(n):
    done = yield from numbers(n)
    yield done
    return n

def fails(x):
    if x > 3:
        raise ValueError(f"too much: {x}")
    return {0: 1, 1: 2}[x]
"""

NAMES = ["a", "b", "c", "d"]


class Writer:
    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.lines: list[str] = []
        self.loops = 0
        self.count = 0

    def pick(self, *options):
        return self.random.choice(options)

    def name(self) -> str:
        return self.random.choice(NAMES)

    def number(self) -> str:
        return self.pick("0", "1", "2", "3", "-1", "2.5", "True", "None", "10")

    def expression(self, depth: int = 2) -> str:
        if depth <= 0:
            return self.pick(self.name(), self.number(), "xs", "p", "q")
        e = lambda: self.expression(depth - 1)
        operator = self.pick("+", "-", "*", "//", "%", "/", "&", "|", "<<", "**")
        compare = self.pick("<", "<=", "==", "!=", ">", ">=", "in", "is", "is not", "not in")
        return self.pick(
            lambda: f"({e()} {operator} {e()})",
            lambda: f"({e()} {operator} {self.number()})",
            lambda: f"({e()} {compare} {e()})",
            lambda: f"({self.name()} < {e()} < {self.number()})",
            lambda: f"({e()} if {e()} else {e()})",
            lambda: f"({e()} {self.pick('and', 'or')} {e()})",
            lambda: f"(not {e()})",
            lambda: f"[{e()}, *{self.pick('xs', 'numbers(2)', 'chain(1)')}]",
            lambda: f"({e()}, {e()})",
            lambda: f"{{{self.number()}: {e()}, 'k': {e()}, **{{'z': 1}}}}",
            lambda: f"[i + {self.name()} for i in xs if i != {self.number()}]",
            lambda: "{i: j for i, j in enumerate(xs)}",
            lambda: f"list({self.name()} for _ in range(2))",
            lambda: f"(lambda u, v=2, *w: (u, v, w, {self.name()}))({e()}, {e()})",
            lambda: f"f'{{{self.name()}!r}} {{xs}} {{1.5:.3f}} {{p}}'",
            lambda: f"xs[{self.pick('0', '-1', '1:', '::2', '5', ':2')}]",
            lambda: f"q[{self.pick('0', '1', '1:2', '4')}]",
            lambda: (
                f"{self.pick('p', 'q')}.{self.pick('v', 'twice', 'kind', 'step(1)', 'nothing')}"
            ),
            lambda: f"{self.pick('Base', 'Derived')}.{self.pick('make(3)', 'half(3)', 'kind')}",
            lambda: f"{self.pick('p', 'q', 'abs', 'len', 'str', 'repr')}({e()})",
            lambda: f"p({e()}, *xs, k={self.number()}, **{{'m': 1}})",
            lambda: f"sorted(xs, key=lambda z: -z, reverse={self.pick('True', 'False')})",
            lambda: f"list(map(lambda z: z + {self.name()}, xs))",
            lambda: f"sum([p, q], {self.pick('p', '0')})",
            lambda: f"{self.pick('max', 'min')}({self.pick('p, q', 'xs', 'xs, key=p', '[q, p]')})",
            lambda: f"reduce(lambda s, t: s + t, xs, {self.name()})",
            lambda: f"partial(p, {e()})({self.number()})",
            lambda: f"fails({e()})",
            lambda: f"Point({self.number()}, {self.number()}) {self.pick('<', '==')} Point(1, 2)",
            lambda: f"isinstance({e()}, {self.pick('Base', '(int, Derived)', 'float')})",
            lambda: f"next(iter({self.pick('xs', 'q', 'numbers(2)', '()')}))",
            lambda: f"any(z > 1 for z in {self.pick('xs', 'q')})",
            lambda: f"getattr({self.pick('p', 'q')}, '{self.pick('v', 'w', '_z')}', 7)",
            lambda: f"(y := {e()})",
        )()

    def put(self, indent: int, text: str) -> None:
        self.lines.append("    " * indent + text)

    def block(self, indent: int, depth: int) -> None:
        for _ in range(self.random.randint(1, 3)):
            self.statement(indent, depth)

    def statement(self, indent: int, depth: int) -> None:
        put, e = self.put, self.expression
        self.count += 1
        if depth <= 0 or self.count > 25:
            kind = self.pick("assign", "log", "augment", "unpack", "attribute", "item")
        else:
            kind = self.pick(
                *("assign", "log", "augment", "unpack", "attribute", "item", "if", "for"),
                *("while", "try", "with", "def", "raise", "return", "delete", "class", "match"),
                *("generator", "nonlocal", "global", "assert", "jump", "finally"),
            )
        if kind == "assign":
            put(indent, f"{self.name()} = {e(3)}")
        elif kind == "log":
            put(indent, f"out.append({e(3)})")
        elif kind == "augment":
            target = self.pick(self.name(), "xs[0]", "p.v", "q", "p")
            put(indent, f"{target} {self.pick('+=', '-=', '*=', '//=')} {e(1)}")
        elif kind == "unpack":
            target = self.pick("a, b", "a, *b", "(a, c), d", "*a, b", "a, b, *c")
            put(indent, f"{target} = {e(2)}")
        elif kind == "attribute":
            put(indent, f"{self.pick('p', 'q')}.{self.pick('v', 'twice', 'new')} = {e(1)}")
        elif kind == "item":
            put(indent, f"xs[{self.pick('0', '1', '9', '1:1')}] = {e(1)}")
        elif kind == "if":
            put(indent, f"if {e()}:")
            self.block(indent + 1, depth - 1)
            if self.pick(True, False):
                put(indent, f"elif {e()}:")
                self.block(indent + 1, depth - 1)
            if self.pick(True, False):
                put(indent, "else:")
                self.block(indent + 1, depth - 1)
        elif kind == "for":
            name = self.pick(*NAMES, "a, b", "p.v")
            over = self.pick("xs", "range(3)", "q", "numbers(2)", "zip(xs, 'ab')", "{}", "chain(2)")
            put(indent, f"for {name} in {over}:")
            self.loops += 1
            self.block(indent + 1, depth - 1)
            self.loops -= 1
            if self.pick(True, False):
                put(indent, "else:")
                self.block(indent + 1, depth - 1)
        elif kind == "while":
            counter = f"n{len(self.lines)}"
            put(indent, f"{counter} = 0")
            put(indent, f"while {counter} < {self.pick('2', '3')}:")
            put(indent + 1, f"{counter} += 1")
            self.loops += 1
            self.block(indent + 1, depth - 1)
            self.loops -= 1
        elif kind in ("try", "finally"):
            put(indent, "try:")
            self.block(indent + 1, depth - 1)
            if kind == "try":
                errors = self.pick("TypeError", "Exception", "(ValueError, KeyError)", "NameError")
                put(indent, f"except {errors} as error:")
                put(indent + 1, "out.append((type(error).__name__, str(error)))")
                self.block(indent + 1, depth - 1)
                if self.pick(True, False):
                    put(indent + 1, self.pick("raise", "raise ValueError('x') from error"))
                if self.pick(True, False):
                    put(indent, "else:")
                    self.block(indent + 1, depth - 1)
            if kind == "finally" or self.pick(True, False):
                put(indent, "finally:")
                self.block(indent + 1, depth - 1)
        elif kind == "with":
            manager = self.pick(
                "Guard(out, True)", "Guard(out, False)", "managed(out, 3)", "p", "open('/nowhere')"
            )
            put(indent, f"with {manager} as c:")
            self.block(indent + 1, depth - 1)
        elif kind == "def":
            name = f"f{len(self.lines)}"
            put(indent, f"def {name}(u, *w, k=1):")
            put(indent + 1, self.pick("nonlocal a", "pass", "global total"))
            loops, self.loops = self.loops, 0
            put(indent + 1, "d = u")
            put(indent + 1, "c = b = k")
            self.block(indent + 1, depth - 1)
            put(indent + 1, f"return {e()}")
            self.loops = loops
            put(indent, f"out.append({name}({e(1)}, {self.pick('', '2', 'k=3', 'z=1')}))")
        elif kind == "raise":
            error = self.pick("ValueError('v')", "KeyError", "p", "StopIteration(3)", "IndexError")
            put(indent, f"if {e(1)}: raise {error}")
        elif kind == "return":
            put(indent, f"if {e(1)}: return {e(2)}")
        elif kind == "delete":
            put(indent, f"del {self.pick(self.name(), 'xs[0]', 'p.v', 'xs[5]')}")
        elif kind == "class":
            name = f"C{len(self.lines)}"
            put(indent, f"class {name}({self.pick('Base', 'Derived', 'list', '')}):")
            put(indent + 1, f"z = {e(1)}")
            put(indent + 1, f"def m(self): return self.z, __class__.__name__, {self.name()}")
            put(indent, f"out.append({name}().m())")
        elif kind == "match":
            put(indent, f"match {e(1)}:")
            for pattern in ("[u, *v]", "{'k': u}", "Base(v=u)", "1 | 2 as u", "Point(u, 1)"):
                if self.pick(True, False):
                    put(indent + 1, f"case {pattern}: out.append(('case', u))")
            put(indent + 1, "case _: out.append('no case')")
        elif kind == "generator":
            name = f"g{len(self.lines)}"
            put(indent, f"def {name}():")
            put(indent + 1, "c = b = d = 0")
            put(indent + 1, "try:")
            put(indent + 2, f"got = yield {e(1)}")
            put(indent + 2, "out.append(got)")
            put(indent + 2, f"yield from {self.pick('xs', 'numbers(2)', 'chain(1)', 'q')}")
            put(indent + 1, "except ValueError as error:")
            put(indent + 2, "out.append(repr(error))")
            put(indent + 2, "yield 5")
            put(indent + 1, "finally:")
            put(indent + 2, "out.append('end')")
            put(indent, f"c = {name}()")
            put(indent, "out.append(next(c))")
            put(
                indent,
                self.pick(
                    "out.append(c.send(4))",
                    "out.append(c.throw(ValueError('t')))",
                    "c.close()",
                    "out.extend(c)",
                ),
            )
        elif kind == "nonlocal":
            put(indent, "def inner():")
            put(indent + 1, "nonlocal a")
            put(indent + 1, f"a = {e(1)}")
            put(indent, "inner()")
        elif kind == "global":
            put(indent, f"globals()['total'] = {e(1)}")
            put(indent, "out.append(total)")
        elif kind == "assert":
            put(indent, f"assert {e(1)}, {e(1)}")
        elif kind == "jump":
            word = self.pick("break", "continue") if self.loops else "pass"
            put(indent, f"if {e(1)}: {word}")

    def text(self) -> str:
        self.put(0, "def function(a, b, xs, out):")
        self.put(1, "c, d = 1, [2]")
        self.put(1, "p, q = Base(2), Derived(3)")
        for _ in range(6):
            self.statement(1, 3)
        self.put(1, "return a, b, c, d, xs, p, q")
        return PREAMBLE + "\n".join(self.lines) + "\n"


def shown(x) -> str:
    try:
        return repr(x)
    except Exception as error:
        return f"unprintable: {type(error).__name__}"


def lines_of(error, filename) -> list[str]:
    """The traceback from the program on, without what stands outside of it."""
    entries = traceback.format_exception(error)
    return entries


def run(text: str, filename: str, caller) -> tuple:
    """(what came out, what was logged, the traceback) of one run."""
    names: dict = {"__name__": __name__}
    exec(compile(text, filename, "exec"), names)
    out: list = []
    function = names["function"]
    told: list[str] = []
    try:
        result = shown(caller(function, (1, 2, [3, 1, 2], out)))
    except Exception as error:
        result = f"{type(error).__name__}: {error}"
        trim(error, set())
        told = traceback.format_exception(error)
    return without_addresses(result), [without_addresses(shown(x)) for x in out], told


def trim(error: BaseException | None, seen: set) -> None:
    """Takes the caller's frames and the machine's own off the tracebacks of an exception."""
    if error is None or id(error) in seen:
        return
    seen.add(id(error))
    tb = error.__traceback__
    while tb is not None and (
        tb.tb_frame.f_code.co_filename in HIDDEN or tb.tb_frame.f_code.co_filename == __file__
    ):
        tb = tb.tb_next
    error.__traceback__ = tb
    trim(error.__cause__, seen)
    trim(error.__context__, seen)


def without_addresses(text: str) -> str:
    import re

    return re.sub(r"0x[0-9a-f]+", "0x", text)


def natively(function, args):
    return function(*args)


def interpreted(function, args):
    return Machine(World()).run(function, args)


def difference(seed: int) -> str:
    """What differs for a program; empty where all is equal."""
    text = Writer(seed).text()
    filename = f"<generated {seed}>"
    linecache.cache[filename] = (len(text), None, text.splitlines(True), filename)
    try:
        compile(text, filename, "exec")
    except SyntaxError:
        return ""
    try:
        first = run(text, filename, natively)
        second = run(text, filename, interpreted)
    finally:
        del linecache.cache[filename]
    for name, a, b in zip(("result", "log", "traceback"), first, second):
        if a != b:
            if isinstance(a, list):
                a, b = "\n".join(map(str, a)), "\n".join(map(str, b))
            return f"seed {seed}: {name}\n--- natively\n{a}\n--- interpreted\n{b}\n"
    return ""


def main(count: int = 300, first: int = 0) -> None:
    wrong = 0
    for seed in range(first, first + count):
        found = difference(seed)
        if found:
            wrong += 1
            if wrong <= 5:
                print(found)
    print(f"{count - wrong}/{count} equal")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
