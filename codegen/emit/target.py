"""What distinguishes targets: how numbers, looks and functions are written in each."""

from __future__ import annotations

import cmath
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import copysign, inf

from codegen.ir import (
    Block,
    Branch,
    Call,
    Check,
    Frame,
    Graph,
    Join,
    Loop,
    Number,
    Origin,
    Value,
)
from codegen.passes.fuse import LARGE
from codegen.sizes import Dim, substitute
from codegen.spelling import ATOM, COMPARE, UNARY, Fragment
from codegen.types import ArrayType, kind

Casts = Mapping[int, Sequence[str]]
"""Operands by their places, and the dtypes that each is cast to, one after the other."""


@dataclass(frozen=True)
class Target:
    """What distinguishes one target's Python from another's."""

    name: str
    module: str
    imports: tuple[str, ...]
    decorator: str = ""
    inplace: bool = False
    contexts: bool = False  # statements stand in the ``with`` of the user's
    tiles: bool = False  # large arrays are worked through in parts
    python_floats: bool = False  # loops over numbers compute with Python's
    rows: bool = False  # loops go over the rows of arrays
    kernels: bool = False  # loops over numbers are functions that numba compiles
    spelled_as: str = ""  # the target whose spellings of ops it has, where that is another one
    constants: bool = False  # literals beside arrays are loaded as arrays
    checks_returned: bool = False
    ufuncs: Mapping[str, str] = field(default_factory=dict)
    casts: Callable[[Call, Sequence[ArrayType]], Casts] = lambda call, printed: {}
    strong_numbers: Callable[[Graph], frozenset[Value]] = lambda graph: frozenset()
    """Python numbers that have a dtype in this target."""
    narrow: Callable[[Graph, str], bool] = lambda graph, text: False
    """Whether a program with this source has no types of 64 bits."""

    @property
    def dialect(self) -> str:
        """The target by whose name ops are spelled."""
        return self.spelled_as or self.name


@dataclass(frozen=True)
class Kernel:
    """A function that numba compiles: its name, and the source of a module that has it alone.

    `functions` are those that it calls by name. `takes` and `returns` are the types of its
    arguments and of what it gives. One that runs through `blocks` takes arrays of one axis in C
    order, and writes to the last so many of them; the function `chosen_by` runs it, or NumPy source
    until it is there. So it is for one of loops over small arrays, which are in C order; the
    function `otherwise` is the NumPy source of it.
    """

    name: str
    text: str
    functions: tuple[str, ...]
    takes: tuple[ArrayType, ...]
    returns: tuple[ArrayType, ...]
    chosen_by: str = ""
    writes: int = 0
    otherwise: str = ""

    @property
    def blocks(self) -> bool:
        """Whether it runs through blocks of arrays."""
        return bool(self.chosen_by) and not self.otherwise


@dataclass(frozen=True)
class Source:
    """Generated source, the name of its function, and the client's callables that it names.

    `text` is the source as users see it. `loaded` is the source as it runs, with names of
    `constants` (a number and a dtype each) in the place of literals; if it is empty, `text` runs.
    `marks` has one entry a line: the origin of what it was written for, None for the header and
    whatever else belongs to no statement.

    The function goes over to that of `large` where arrays are large. One that `retries` reads how
    many turns loops have made, and runs again where there was no room for them. `looks` tells that
    it returns these beside the result. One that is `narrow` has no types of 64 bits. `frame` is
    that of the graph. `kernels` are functions in the source that numba may compile; `no_kernels`
    is why there are none, where that is a mistake in the code that writes them. Loops that compute
    with Python's floats raise no error of NumPy's: `of_numpys` gives the source whose loops do,
    None where this one is that.
    """

    text: str
    name: str
    target: str
    names: Mapping[str, Callable[..., object]] = field(default_factory=dict)
    loaded: str = field(default="", compare=False, repr=False)
    constants: Mapping[str, tuple[Number, str]] = field(default_factory=dict, repr=False)
    marks: tuple[Origin | None, ...] = field(default=(), compare=False, repr=False)
    large: Large | None = field(default=None, compare=False, repr=False)
    retries: bool = False
    looks: bool = False
    narrow: bool = False
    frame: Frame | None = field(default=None, compare=False, repr=False)
    kernels: tuple[Kernel, ...] = field(default=(), compare=False, repr=False)
    no_kernels: str = field(default="", compare=False, repr=False)
    of_numpys: Callable[[], Source] | None = field(default=None, compare=False, repr=False)

    @cached_property
    def origins(self) -> tuple[Origin | None, ...]:
        """Where in the user's code each line comes from; None of lines without a mark.

        A statement that is of no line of the user's (a list that turns append to) has that of the
        statement before it, or the first one. A return has its own, or none.
        """
        last = next((mark for mark in self.marks if mark is not None and mark.line), None)
        found: list[Origin | None] = []
        for text, mark in zip(self.text.splitlines(), self.marks, strict=True):
            last = mark if mark is not None and mark.line else last
            returns = text.lstrip().startswith("return ")
            found.append(mark if mark is None or returns else last or mark)
        return tuple(found)

    def at(self, lengths: Mapping[str, int]) -> Source:
        """The source that runs where the symbols of lengths have these values."""
        return self.large.source if self.large and self.large.applies(lengths) else self


@dataclass(frozen=True)
class Large:
    """The form of a program for large arrays: the name of its function, and where it applies.

    It applies where one of `sizes` (of elements) is `LARGE` or more; its source is made when it is
    first asked for.
    """

    name: str
    sizes: tuple[Dim, ...]
    make: Callable[[], Source]

    def applies(self, lengths: Mapping[str, int]) -> bool:
        """Whether one of the sizes is large at these values of the symbols."""
        sizes = (substitute(size, lengths) for size in self.sizes)
        return any(isinstance(size, int) and size >= LARGE for size in sizes)

    @cached_property
    def source(self) -> Source:
        """Its source."""
        return self.make()


_OF_KINDS: Mapping[str, Callable[[int], Number]] = {"float": float, "complex": complex}


def as_number_of(type: ArrayType, value: Number) -> Number:
    """A constant as a number of its type: 5 of float64 is ``5.0``, whatever stands beside it."""
    of: Callable[[int], Number] | None = _OF_KINDS.get(kind(type.dtype))
    if of is None or isinstance(value, bool) or not isinstance(value, int):
        return value
    try:
        return of(value)
    except OverflowError:  # as where it is used
        return value


def literal(value: Number, target: Target) -> Fragment:
    """A number as Python."""
    if isinstance(value, complex):
        if repr(value.real) == "0.0" and 0 <= value.imag < inf:
            return Fragment(repr(value).replace("e+", "e"))
        parts = [literal(part, target).text for part in (value.real, value.imag)]
        return Fragment(f"complex({', '.join(parts)})")
    if isinstance(value, float) and not cmath.isfinite(value):
        text = f"{target.module}.nan" if value != value else f"{target.module}.inf"
        return Fragment(f"-{text}", UNARY) if value < 0 else Fragment(text)
    text = repr(value).replace("e+", "e")  # as black writes it
    return Fragment(text, UNARY if text.startswith("-") else ATOM)


def place(origin: Origin) -> str:
    """The user's line, as messages show it."""
    return f"{origin.file}:{origin.line}  {origin.text}" if origin.line else "a look at a value"


def condition(check: Check, shown: Fragment, target: Target) -> tuple[str, str]:
    """The test that is true while the outcome is the traced one, and where the look stands."""
    origin, outcome = check.origin, check.outcome
    where = place(origin)
    if check.look == "bool" and target.checks_returned:
        if check.operand.type.dtype == "bool":
            if not outcome and check.operand.type.weak:  # Python's, of which ~True is -2
                return f"{target.module}.logical_not({shown.text})", where
            return (shown.text if outcome else f"~{shown.at(UNARY)}"), where
        return f"{shown.at(COMPARE + 1)} {'!=' if outcome else '=='} 0", where
    if check.look == "bool":
        return (shown.text if outcome else f"not {shown.at(COMPARE)}"), where
    if isinstance(outcome, complex):
        whole = f"({shown.text})" if shown.text.isdecimal() else shown.at(ATOM)  # ``3.real``
        parts = [_exactly(Fragment(f"{whole}.real", ATOM), outcome.real, target)]
        parts.append(_exactly(Fragment(f"{whole}.imag", ATOM), outcome.imag, target))
        return _both(parts, target), where
    if isinstance(outcome, float):
        return _exactly(shown, outcome, target), where
    value = literal(outcome, target).text
    if check.look == "int" and not target.checks_returned:
        one = f"{shown.at(ATOM)}.item()" if check.operand.type.shape else shown.text
        return f"int({one}) == {value}", where
    if check.look == "int" and kind(check.operand.type.dtype) == "float":
        return f"jnp.trunc({shown.text}) == {value}", where
    return f"{shown.at(COMPARE + 1)} == {value}", where


def _exactly(shown: Fragment, value: float, target: Target) -> str:
    """The test that a float is this one; nan is nan, and zeros have a sign."""
    text = shown.at(COMPARE + 1)
    if value != value:
        return f"{text} != {text}"
    test = f"{text} == {literal(value, target).text}"
    if value:
        return test
    sign = f"{target.module}.signbit({shown.text})"
    no = "~" if target.checks_returned else "not "
    return _both([test, sign if copysign(1.0, value) < 0 else f"{no}{sign}"], target)


def _both(tests: Sequence[str], target: Target) -> str:
    return " & ".join(f"({t})" for t in tests) if target.checks_returned else " and ".join(tests)


def negated(test: str) -> str:
    """The test that is true where this one is false."""
    if " and " in test:
        return f"not ({test})"
    return test[4:] if test.startswith("not ") else f"not {test}"


def goes_on(block: Block) -> bool:
    """True when another branch or a loop follows."""
    return bool(block.nodes) and isinstance(block.nodes[-1], Branch | Loop | Join)


def arm_order(arm: tuple[Number, Block]) -> tuple[bool, bool]:
    """Paths that end come first, and of equal ones that of the true outcome."""
    outcome, block = arm
    return goes_on(block), not outcome
