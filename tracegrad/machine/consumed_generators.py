"""Generator expressions that something goes through at once: they run as one loop.

``sum(v * v for v in x if v > 0)`` adds up what the expression gives. Where nobody sees that it was
suspended between its items, what it would yield goes at once to who goes through it (`Consumer`),
in the loop of the expression. So its turns are those of ``for v in x: if v > 0: total += v * v``.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from types import CodeType
from typing import Any, NamedTuple, TypeAlias
from weakref import WeakKeyDictionary

from tracegrad.machine import calls, operators
from tracegrad.machine.decoding import (
    VERSION,
    WRITTEN,
    Added,
    Instruction,
    Written,
    decode,
    is_jump,
    slot_names,
)
from tracegrad.machine.instruction_table import maker

Step: TypeAlias = "tuple[str, Any] | str"
"""An instruction, with its argument; jumps have a label, and a label stands by itself."""

_GENERATOR = 0x20  # a flag of code
_STOP_ITERATION_ERROR = ("CALL_INTRINSIC_1", 3)
_IF = "POP_JUMP_FORWARD_IF_" if VERSION < (3, 12) else "POP_JUMP_IF_"
_COMPARISONS = ("<", "<=", "==", "!=", ">", ">=")


class Nothing:
    """The type of `NOTHING`: what `max` has before the first item."""


NOTHING = Nothing()


@dataclass(frozen=True, eq=False)
class Consumer:
    """Who goes through an expression: what it does with each item, and at the end.

    It has a variable, in the slot 0, and what lies on the stack below the iterator.
    """

    variable: str
    each: Sequence[Step]  # with the item on top of the stack
    end: Sequence[Step]


LISTING = Consumer("items", [("LIST_APPEND", "around")], [("RETURN_VALUE", 0)])
if VERSION < (3, 12):
    SUMMING = Consumer(
        "total",
        [("LOAD_FAST", 0), ("SWAP", 2), ("BINARY_OP", 0), ("STORE_FAST", 0)],
        [("LOAD_FAST", 0), ("RETURN_VALUE", 0)],
    )
else:  # `sum` keeps what adding floats of Python rounds away
    SUMMING = Consumer(
        "total",
        [("LOAD_FAST", 0), ("ADD_UP", 0), ("STORE_FAST", 0)],
        [("LOAD_FAST", 0), ("ADDED_UP", 0), ("RETURN_VALUE", 0)],
    )


def _deciding(outcome: bool) -> Consumer:
    """`any` and `all`: the first item that is true, or false, is the last one."""
    other = "FALSE" if outcome else "TRUE"
    return Consumer(
        "items",
        [(_IF + other, "on"), ("LOAD_CONST", outcome), ("RETURN_VALUE", 0), "on"],
        [("LOAD_CONST", not outcome), ("RETURN_VALUE", 0)],
    )


def _folding(variable: str, step: Sequence[Step], empty: Any) -> Consumer:
    """One that begins with the first item; `empty` gives or raises what it does without one."""
    return Consumer(
        variable,
        [("IS_FIRST", 0), (_IF + "TRUE", "store"), *step, "store", ("STORE_FAST", 0), "on"],
        [
            *(("IS_FIRST", 0), (_IF + "TRUE", "none"), ("LOAD_FAST", 0), ("RETURN_VALUE", 0)),
            *("none", ("LOAD_CONST", empty), ("CALL_OWN", 0), ("RETURN_VALUE", 0)),
        ],
    )


def _extreme(function: Any, symbol: str) -> Consumer:
    """`min` and `max`; below is the default, if any."""

    def empty(m: Any, default: Any) -> Any:
        return m.native(function, ()) if default is NOTHING else default

    number = _COMPARISONS.index(symbol)
    number <<= 5 if VERSION >= (3, 13) else 4 if VERSION >= (3, 12) else 0
    step: list[Step] = [
        *(("COPY", 1), ("LOAD_FAST", 0), ("COMPARE_OP", number), (_IF + "TRUE", "store")),
        *(("POP_TOP", 0), ("JUMP_FORWARD", "on")),
    ]
    return _folding("best", step, empty)


def _empty_reduction(m: Any, function: Any) -> Any:
    return m.native(functools.reduce, function, ())


ANY, ALL = _deciding(True), _deciding(False)
LEAST, MOST = _extreme(min, "<"), _extreme(max, ">")
REDUCING = _folding("total", [("LOAD_FAST", 0), ("SWAP", 2), ("CALL_BELOW", 0)], _empty_reduction)


@maker("IS_FIRST")
def _(t, arg, n):
    def op(f, s):
        s.append(f.fast[arg] is NOTHING)
        return n

    return op


@maker("CALL_BELOW")
def _(t, arg, n):
    def op(f, s):
        item, total = s.pop(), s.pop()
        s.append(calls.call(f.machine, s[0], [total, item], {}))
        return n

    return op


class Floats(NamedTuple):
    """Floats of Python that `sum` is to add up in C code: the last one, and those before."""

    before: Any
    last: Any

    def added(self, m: Any) -> Any:
        """Their sum."""
        values, total = [], self
        while type(total) is Floats:
            values.append(total.last)
            total = total.before
        return m.native(sum, values[::-1], total)


@maker("ADD_UP")
def _(t, arg, n):
    def op(f, s):
        total, item = s.pop(), s.pop()
        if type(total) in (float, complex, Floats):
            if type(item) in (int, bool, float, complex):
                s.append(Floats(total, item))
                return n
            if type(total) is Floats:
                total = total.added(f.machine)
        s.append(operators.binary(f.machine, operators.BINARY[0], total, item))
        return n

    return op


@maker("ADDED_UP")
def _(t, arg, n):
    def op(f, s):
        if type(s[-1]) is Floats:
            s.append(s.pop().added(f.machine))
        return n

    return op


@maker("CALL_OWN")
def _(t, arg, n):
    def op(f, s):
        function, below = s.pop(), s.pop()
        s.append(function(f.machine, below))
        return n

    return op


# -- the code -----------------------------------------------------------------------------------

_known: WeakKeyDictionary[CodeType, dict[Consumer, CodeType | None]] = WeakKeyDictionary()


def consumed_by(code: CodeType, consumer: Consumer) -> CodeType | None:
    """The code of a generator expression together with who goes through it, if it is known."""
    known = _known.setdefault(code, {})
    if consumer not in known:
        known[consumer] = _written(code, consumer)
    return known[consumer]


def _written(code: CodeType, consumer: Consumer) -> CodeType | None:
    instructions, handlers = decode(code)
    targets = {instructions[h.target][:2] for h in handlers if h is not None}
    if not targets <= {_STOP_ITERATION_ERROR}:
        return None
    consts = list(code.co_consts)
    found = _replacements(instructions, consumer, consts)
    if found is None:
        return None
    variable, names = consumer.variable, slot_names(code)
    while variable in names:
        variable += "_"
    made = code.replace(
        co_flags=code.co_flags & ~_GENERATOR,
        co_exceptiontable=b"",
        co_consts=(*consts, object()),  # so it is equal to no other
        co_varnames=(variable, *code.co_varnames[1:]),
    )
    written = [*_put_together(instructions, found)]
    WRITTEN[made] = Written(written, [None] * len(written))
    return made


def _replacements(
    instructions: Sequence[Instruction], consumer: Consumer, consts: list[Any]
) -> dict[int, Sequence[Step]] | None:
    """What stands in the place of instructions, by their index; None of a form not known."""
    names = [instruction.name for instruction in instructions]
    at = names.index("RETURN_GENERATOR")
    first = [i for i, x in enumerate(instructions) if ("LOAD_FAST", 0) in x.parts]
    if names[at + 1] != "POP_TOP" or "YIELD_VALUE" not in names or "SEND" in names:
        return None
    if len(first) != 1 or names[first[0]] != "LOAD_FAST":
        return None
    found: dict[int, Sequence[Step]] = {at: (), at + 1: (), first[0]: ()}
    for i, (name, arg, _) in enumerate(instructions):
        if name == "YIELD_VALUE":
            if names[i + 1 : i + 3] != ["RESUME", "POP_TOP"]:
                return None
            around = sum(
                head.name == "FOR_ITER" and j < i < head.arg for j, head in enumerate(instructions)
            )
            each = [(x[0], around + 1) if x[1:] == ("around",) else x for x in consumer.each]
            found |= {i: _with_constants(each, consts), i + 1: (), i + 2: ()}
        elif name == "RETURN_CONST" and consts[arg] is None:
            found[i] = _with_constants(consumer.end, consts)
        elif name == "RETURN_VALUE" and names[i - 1] == "LOAD_CONST":
            if consts[instructions[i - 1].arg] is not None:
                return None
            found |= {i - 1: (), i: _with_constants(consumer.end, consts)}
        elif name.startswith("RETURN_") and name != "RETURN_GENERATOR":
            return None
    return found


def _with_constants(steps: Sequence[Step], consts: list[Any]) -> list[Step]:
    found: list[Step] = []
    for step in steps:
        if step[0] == "LOAD_CONST":
            consts.append(step[1])
            step = "LOAD_CONST", len(consts) - 1
        found.append(step)
    return found


def _put_together(
    instructions: Sequence[Instruction], found: dict[int, Sequence[Step]]
) -> Iterator[Instruction]:
    """The instructions with others in the place of some; jumps go where they went."""
    places, count = [], 0
    for i in range(len(instructions)):
        places.append(count)
        count += sum(type(step) is tuple for step in found[i]) if i in found else 1
    places.append(count)
    for i, (name, arg, offset) in enumerate(instructions):
        if i not in found:
            target = places[arg] if is_jump(name) else arg
            yield Instruction(name, target, offset)
            continue
        labels: dict[str, int] = {}
        steps: list[tuple[str, Any]] = []
        for step in found[i]:
            if isinstance(step, str):
                labels[step] = places[i] + len(steps)
            else:
                steps.append(step)
        for name, arg in steps:
            yield Added(name, labels[arg] if isinstance(arg, str) else arg, offset)
