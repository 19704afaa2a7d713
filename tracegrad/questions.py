"""A snapshot and the arguments of a call enter; what code asks that no Tensor can answer leaves.

A traced function has Tensors in place of its caller's arrays and numbers. They answer `isinstance`,
``in``, `hash` and `str` as what they stand for; nothing answers ``type(x)``, ``id(x)`` or
``x is y`` for them, and they have attributes that a number has not (``hasattr(x, "shape")``). A
function that may ask so of an argument, or of what is computed from one, is not traced. Where the
analysis of the code (`environment.reading`) does not understand it, questions about the parameters
by their names count.
"""

from __future__ import annotations

import dis
import operator
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from types import CodeType
from typing import Any

import numpy as np

from tracegrad.bytecode import memo_by_code
from tracegrad.environment import Environment
from tracegrad.environment.kinds import NONE, Doubt, Kinds, kinds_of, union
from tracegrad.environment.names import nested
from tracegrad.environment.reading import Analysis, plain
from tracegrad.errors import TraceError
from tracegrad.signature import Arguments

_OF_NUMBERS = (hasattr, getattr)
_OF_ALL = (type, id, operator.is_, operator.is_not, np.shares_memory, np.may_share_memory)
_NAMES = frozenset(f.__name__ for f in (*_OF_NUMBERS, *_OF_ALL))
_PAIRS = frozenset({"id", "is_", "is_not", "shares_memory", "may_share_memory"})
_CLASSES = frozenset({"isinstance", "__class__", "isscalar"})
_OBJECTS = frozenset("TKAVLM")
_SIMPLE = frozenset({
    "LOAD_FAST", "LOAD_FAST_BORROW", "LOAD_FAST_CHECK", "LOAD_DEREF", "LOAD_GLOBAL", "LOAD_CONST",
})  # fmt: skip
Load = tuple[str, Any]


class Unanswerable(TraceError):
    """The function asks something of its arguments that Tensors in their places cannot answer."""

    def __init__(self, function: Any, asked: str) -> None:
        super().__init__(
            f"{getattr(function, '__name__', 'the function')} asks {asked}, of an argument or of "
            "what is computed from one; while it is traced these are Tensors, which cannot answer: "
            "write isinstance(x, np.ndarray) or x.ndim, and pass what else it needs to know"
        )
        self.function = function


def question(
    environment: Environment, function: Any, code: CodeType | None, arguments: Arguments
) -> str:
    """What code may ask of traced values, and where, as its user would say it; "" for nothing."""
    codes = [code for code in environment.scopes if _may_ask(code)]
    if not codes or not any(leaf.traced for leaf in arguments.leaves):
        return ""
    numbers = any(leaf.kind[0] in ("number", "scalar") for leaf in arguments.leaves)
    analysis = _Questions(environment, (*_OF_ALL, *_OF_NUMBERS) if numbers else _OF_ALL)
    try:
        analysis.run(function, arguments.parameters, arguments.values)
    except (Doubt, AttributeError, IndexError, TypeError, ValueError):
        return analysis.found or _asked_by_name(code, arguments, numbers)
    return analysis.found or next(filter(None, map(analysis.compared_in, codes)), "")


class _Questions(Analysis):
    """The analysis of what code reads, with an ear for questions."""

    def __init__(self, environment: Environment, functions: Sequence[Any]) -> None:
        super().__init__(environment)
        self.functions = set(map(id, functions))
        self.found = ""

    def call(
        self, callee: Kinds, args: Sequence[Kinds], named: Mapping[str, Kinds], where: str
    ) -> Kinds:
        for atom in callee:
            asked = atom[1].value if type(atom) is tuple and atom[0] == "call" else None
            if id(asked) in self.functions and any("T" in plain(found) for found in args[:2]):
                self.found = self.found or f"{getattr(asked, '__name__', 'type')}(...) {where}"
        return super().call(callee, args, named, where)

    def compared_in(self, code: CodeType) -> str:
        """Where this code may ask whether a traced value is another object."""
        for line, pair in _identities(code):
            kinds = [plain(self.kinds_at(code, load)) for load in pair]
            for one, other in (kinds, kinds[::-1]):
                if not one.isdisjoint("TLM") and not other.isdisjoint(_OBJECTS):
                    return f"`is` in {code.co_name}, line {line}"
        return ""

    def kinds_at(self, code: CodeType, load: Load) -> Kinds:
        """What an instruction may leave on the stack."""
        operation, name = load
        comprehension = ".0" in code.co_varnames  # what it goes over is not followed
        if operation.startswith("LOAD_FAST") and not comprehension:
            return self.variables.get((code, name), NONE)
        if "DEREF" in operation:
            own = (found for (_, of), found in self.variables.items() if of == name)
            return union([self.cells.get(name, NONE), *own])
        if operation == "LOAD_GLOBAL":
            return union(kinds_of(s[name]) for s in self.scopes.get(code, ()) if name in s)
        if operation in ("LOAD_ATTR", "LOAD_METHOD"):
            return self.attributes.get(name, NONE)
        every = self.variables.items()
        held = union(found for (of, _), found in every if comprehension or of is code)
        return plain(held | self.contents(held)) & {"T"}


def _asked_by_name(code: CodeType | None, arguments: Arguments, numbers: bool) -> str:
    """What the function's own code asks of its parameters, by their names."""
    traced = {arguments.parameters[leaf.parameter] for leaf in arguments.leaves if leaf.traced}
    for inner in () if code is None else (code, *_nested(code)):
        for name in sorted(_PAIRS.intersection(inner.co_names)):
            return f"{name}(...) in {inner.co_name}"
        for line, pair in _identities(inner):
            if any(_loads(load) and load[1] in traced for load in pair):
                return f"`is` in {inner.co_name}, line {line}"
        asking = {"type", *(f.__name__ for f in _OF_NUMBERS if numbers)}
        for before, after in pairwise(i[:2] for i in _instructions(inner)):
            asks = before[0] == "LOAD_GLOBAL" and before[1] in asking
            if asks and _loads(after) and after[1] in traced:
                return f"{before[1]}({after[1]}) in {inner.co_name}"
    return ""


def asks_class(code: CodeType | None) -> bool:
    """Whether a function's own code may ask of what class its arguments are."""
    own = () if code is None else (code, *_nested(code))
    return any(not _CLASSES.isdisjoint(c.co_names) or _matches(c) for c in own)


@memo_by_code
def _matches(code: CodeType) -> bool:
    return any(i[0] == "MATCH_CLASS" for i in _instructions(code))


def _loads(load: Load) -> bool:
    return load[0].startswith("LOAD_FAST") or "DEREF" in load[0]


def _nested(code: CodeType) -> Iterator[CodeType]:
    for inner in nested(code):
        yield inner
        yield from _nested(inner)


@memo_by_code
def _may_ask(code: CodeType) -> bool:
    return not _NAMES.isdisjoint(code.co_names) or bool(_identities(code))


@memo_by_code
def _identities(code: CodeType) -> tuple[tuple[int, tuple[Load, Load]], ...]:
    """Where code compares objects, none of them a constant: the line, and what loads the two.

    What is before a load is no longer known to be the other operand where the load takes one.
    """
    found: list[tuple[int, tuple[Load, Load]]] = []
    before: list[Load] = [("", None), ("", None)]
    for operation, argument, line in _instructions(code):
        if operation == "IS_OP":
            left, right = before[-2:]
            if right[0] not in _SIMPLE:
                left = ("", None)
            if "LOAD_CONST" not in (left[0], right[0]):
                found.append((line, (left, right)))
        before.append((operation, argument))
    return tuple(found)


@memo_by_code
def _instructions(code: CodeType) -> tuple[tuple[str, Any, int], ...]:
    """The instructions that do something: name, argument, line."""
    found: list[tuple[str, Any, int]] = []
    line = code.co_firstlineno
    for instruction in dis.get_instructions(code):
        if instruction.positions is not None:
            line = instruction.positions.lineno or line
        name, argument = instruction.opname, instruction.argval
        if name.startswith("LOAD_FAST") and type(argument) is tuple:
            found += [("LOAD_FAST", variable, line) for variable in argument]
        elif name not in ("CACHE", "PRECALL", "PUSH_NULL", "NOP"):
            found.append((name, argument, line))
    return tuple(found)
