"""From the bytes of a code object to a list of instructions; what differs from version to version.

An instruction's argument is complete (no EXTENDED_ARG), jumps name the index of their target, and
the caches between instructions are gone. Also read here: the table of exception handlers.
"""

from __future__ import annotations

import opcode
import sys
from types import CodeType
from typing import NamedTuple
from weakref import WeakKeyDictionary, ref

VERSION = sys.version_info[:2]
NAMES = list(opcode.opname)
EXTENDED_ARG = opcode.opmap["EXTENDED_ARG"]
HAS_ARGUMENT = opcode.HAVE_ARGUMENT
JUMPS = frozenset(opcode.hasjrel) | frozenset(opcode.hasjabs)


def is_jump(name: str) -> bool:
    """Whether an instruction's argument is where it may go on."""
    return opcode.opmap.get(name) in JUMPS or name == "BEGIN_GENERATOR"


class Instruction(NamedTuple):
    """One instruction: its name, its whole argument (jumps: the target's index), its offset."""

    name: str
    arg: int
    offset: int

    @property
    def parts(self) -> tuple[tuple[str, int], ...]:
        """The instructions that it is, as (name, argument): CPython 3.13 has some that are two."""
        if self.name not in _PAIRS:
            return ((self.name, self.arg),)
        first, second = _PAIRS[self.name]
        return (first, self.arg >> 4), (second, self.arg & 15)

    @property
    def asks(self) -> bool:
        """Whether it asks for the truth that the jump behind it goes by: CPython 3.13 has such."""
        of_comparison = VERSION >= (3, 13) and self.name == "COMPARE_OP" and self.arg & 16
        return self.name == "TO_BOOL" or bool(of_comparison)


_PAIRS = {
    "LOAD_FAST_LOAD_FAST": ("LOAD_FAST", "LOAD_FAST"),
    "LOAD_FAST_BORROW_LOAD_FAST_BORROW": ("LOAD_FAST_BORROW", "LOAD_FAST_BORROW"),
    "STORE_FAST_LOAD_FAST": ("STORE_FAST", "LOAD_FAST"),
    "STORE_FAST_STORE_FAST": ("STORE_FAST", "STORE_FAST"),
}


class Added(Instruction):
    """One that the machine has put into code: what it raises, it does not raise there."""

    __slots__ = ()


class Handler(NamedTuple):
    """Where an exception goes: the target's index, the stack's depth, `lasti` pushed or not."""

    target: int
    depth: int
    lasti: bool


class Written(NamedTuple):
    """What the machine has written for code, and of which code it is another form, if of any."""

    instructions: list[Instruction]
    handlers: list[Handler | None]
    root: ref[CodeType] | None = None


WRITTEN: WeakKeyDictionary[CodeType, Written] = WeakKeyDictionary()
"""The instructions of code that the machine has written, in place of those in its bytes."""


def decode(code: CodeType) -> tuple[list[Instruction], list[Handler | None]]:
    """The instructions of a code object, each end of it once, and the handler of each of them."""
    written = WRITTEN.get(code)
    if written is not None:
        return written.instructions, written.handlers
    instructions, handlers = as_compiled(code)
    _join_copies_of_the_end(code, instructions, handlers)
    return instructions, handlers


def as_compiled(code: CodeType) -> tuple[list[Instruction], list[Handler | None]]:
    """The instructions that stand in a code object's bytes, and the handler of each of them."""
    units = code.co_code
    found: list[tuple[int, int, int, int]] = []  # opcode, argument, offset, end
    index_of: dict[int, int] = {}
    extended = count = offset = 0
    size = len(units)
    while offset < size:
        op = units[offset]
        index_of[offset] = count
        if op == EXTENDED_ARG:
            extended = (units[offset + 1] | extended) << 8
            offset += 2
            continue
        end = offset + 2
        while end < size and not units[end]:  # caches
            index_of[end] = count
            end += 2
        found.append((op, units[offset + 1] | extended, offset, end))
        count += 1
        extended, offset = 0, end
    index_of[size] = count
    instructions = []
    for op, arg, offset, end in found:
        name = NAMES[op]
        if op in JUMPS:
            arg = index_of[end - 2 * arg if "BACKWARD" in name else end + 2 * arg]
        instructions.append(Instruction(name, arg, offset))
    handlers: list[Handler | None] = [None] * count
    for first, last, target, depth, lasti in exception_table(code):
        handler = Handler(index_of[target], depth, lasti)
        for index in range(index_of[first], index_of[last]):
            handlers[index] = handler
    return instructions, handlers


def _join_copies_of_the_end(
    code: CodeType, instructions: list[Instruction], handlers: list[Handler | None]
) -> None:
    """Jumps in place of copies of how a function ends, which the compiler makes of short ends.

    So arms meet where the user's source has them meet. All copies stand on one line, as the source.
    """
    ends = [i for i, x in enumerate(instructions) if x.name in ("RETURN_VALUE", "RETURN_CONST")]
    if len(ends) < 2:
        return
    lines = {start: line for start, _, line in code.co_lines()}
    line = None
    told: list[tuple[str, int, int | None, Handler | None]] = []
    for x, handler in zip(instructions, handlers):
        line = lines.get(x.offset, line)
        told.append((x.name, x.arg, line, handler))
    for number, end in enumerate(ends):
        for other in reversed(ends[number + 1 :]):
            count = 0
            while count <= end and told[end - count] == told[other - count]:
                if is_jump(told[end - count][0]):
                    break
                count += 1
            if count > 1:
                begin = end - count + 1
                target = other - count + 1
                instructions[begin] = Instruction(
                    "JUMP_FORWARD", target, instructions[begin].offset
                )
                break


def exception_table(code: CodeType) -> list[tuple[int, int, int, int, bool]]:
    """The ranges of a code object and their handlers: (start, end, target, depth, lasti)."""
    rows = []
    numbers = _numbers(code.co_exceptiontable)
    for start, length, target, kind in zip(numbers, numbers, numbers, numbers):
        rows.append((2 * start, 2 * (start + length), 2 * target, kind >> 1, bool(kind & 1)))
    return rows


def _numbers(table: bytes):
    number = 0
    for byte in table:
        number = number << 6 | byte & 63
        if not byte & 64:
            yield number
            number = 0


def slot_names(code: CodeType) -> tuple[str, ...]:
    """The names of a frame's slots, as the instructions number them: locals, cells, free names."""
    inner = tuple(name for name in code.co_cellvars if name not in code.co_varnames)
    return code.co_varnames + inner + code.co_freevars
