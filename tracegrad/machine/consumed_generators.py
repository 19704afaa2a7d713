"""Generator expressions that something goes through at once: they run as list comprehensions do.

``sum(v * v for v in x)`` adds up all that the expression gives. Where it is consumed whole, nothing
sees that it was suspended between its items, and its loop is one like any other. Its code is
rewritten, each instruction in the place of another: what it yields is appended to a list.
"""

from __future__ import annotations

import dis
from collections.abc import Iterator
from types import CodeType
from weakref import WeakKeyDictionary

from tracegrad.machine.decoding import Instruction, decode

_GENERATOR = 0x20  # a flag of code
_STOP_ITERATION_ERROR = ("CALL_INTRINSIC_1", 3)

_listing: WeakKeyDictionary[CodeType, CodeType | None] = WeakKeyDictionary()


def listing(code: CodeType) -> CodeType | None:
    """The code that returns the list of what a generator expression yields; None without one."""
    if code not in _listing:
        instructions, handlers = decode(code)
        targets = {instructions[h.target][:2] for h in handlers if h is not None}
        plain = targets <= {_STOP_ITERATION_ERROR}
        changes = dict(_changes(instructions)) if plain else {}
        _listing[code] = _rewritten(code, changes) if changes else None
    return _listing[code]


def _changes(instructions: list[Instruction]) -> Iterator[tuple[int, tuple[str, int]]]:
    """What stands in the place of instructions, by their offset; nothing for a form not known."""
    names = [instruction.name for instruction in instructions]
    at = names.index("RETURN_GENERATOR")
    if names[at + 1] != "POP_TOP" or "YIELD_VALUE" not in names or "SEND" in names:
        return
    found = {at: ("BUILD_LIST", 0), at + 1: ("NOP", 0)}
    for i, (name, _, _) in enumerate(instructions):
        if name == "YIELD_VALUE":
            if names[i + 1 : i + 3] != ["RESUME", "POP_TOP"]:
                return
            around = sum(
                head.name == "FOR_ITER" and j < i < head.arg for j, head in enumerate(instructions)
            )
            found |= {i: ("LIST_APPEND", around + 1), i + 1: ("NOP", 0), i + 2: ("NOP", 0)}
        elif name == "RETURN_CONST":
            found[i] = ("RETURN_VALUE", 0)
        elif name == "RETURN_VALUE":
            if names[i - 1] != "LOAD_CONST":
                return
            found[i - 1] = ("NOP", 0)
    yield from ((instructions[i].offset, change) for i, change in found.items())


def _rewritten(code: CodeType, changes: dict[int, tuple[str, int]]) -> CodeType:
    units = bytearray(code.co_code)
    for offset, (name, arg) in changes.items():
        units[offset : offset + 2] = bytes((dis.opmap[name], arg))
    return code.replace(
        co_code=bytes(units),
        co_flags=code.co_flags & ~_GENERATOR,
        co_exceptiontable=b"",
        co_stacksize=code.co_stacksize + 1,
    )
