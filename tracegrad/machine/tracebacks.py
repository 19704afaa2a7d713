"""Tracebacks as CPython makes them: an entry for each interpreted frame, none for the machine.

The entry needs a frame object. One is made by calling a function of the same code object with other
bytes: it takes all local variables as its arguments, and raises.
"""

from __future__ import annotations

import opcode
import os
from types import CodeType, FunctionType, TracebackType
from typing import Any

from tracegrad.machine.decode import VERSION, slot_names
from tracegrad.machine.world import ABSENT

# Files whose frames are no part of the user's program.
PLACE = os.path.dirname(__file__)
HIDDEN = {os.path.join(PLACE, name) for name in os.listdir(PLACE) if name.endswith(".py")}
OPTIMIZED, NEWLOCALS = 1, 2


def hide(filename: str) -> None:
    """Leaves the frames of a file out of tracebacks."""
    HIDDEN.add(filename)


def clean(traceback: TracebackType | None) -> TracebackType | None:
    """The same traceback without the frames of hidden files."""
    while traceback is not None and traceback.tb_frame.f_code.co_filename in HIDDEN:
        traceback = traceback.tb_next
    link = traceback
    while link is not None:
        following = link.tb_next
        if following is None:
            break
        if following.tb_frame.f_code.co_filename in HIDDEN:
            while following is not None and following.tb_frame.f_code.co_filename in HIDDEN:
                following = following.tb_next
            link.tb_next = following
        link = following  # type: ignore[assignment]
    return traceback


def add(f: Any, error: BaseException) -> None:
    """Puts an interpreted frame on an exception's traceback, at its instruction."""
    traceback = error.__traceback__
    while traceback is not None and traceback.tb_frame.f_code.co_filename in HIDDEN:
        traceback = traceback.tb_next
    if traceback is not None and error is not f.machine.unwound:
        traceback = clean(traceback)
    code = f.code
    offset = f.program.instructions[f.index].offset
    line = line_at(code, offset)
    error.__traceback__ = TracebackType(traceback, stub_frame(f), offset, line or 0)


def line_at(code: CodeType, offset: int) -> int:
    """The line of an instruction."""
    for start, end, line in code.co_lines():
        if start <= offset < end:
            return code.co_firstlineno if line is None else line
    return code.co_firstlineno


def stub_frame(f: Any) -> Any:
    """A native frame that shows the code and the locals of an interpreted one."""
    if f.names is not None:
        return body_frame(f)
    values = [contents(value) for value in f.fast]
    unset = tuple(index for index, value in enumerate(values) if value is ABSENT)
    offset = f.program.instructions[f.index].offset
    code = f.program.stubs.get((offset, unset))
    if code is None:
        code = f.program.stubs[offset, unset] = stub(f.code, offset, unset)
    try:
        FunctionType(code, f.globals)(*values)
    except AssertionError as error:
        return error.__traceback__.tb_next.tb_frame  # type: ignore[union-attr]
    raise SystemError("a stub returned")


def contents(value: Any) -> Any:
    """What a slot of a frame shows: a cell its contents."""
    if type(value) is CELL:
        try:
            return value.cell_contents
        except ValueError:
            return ABSENT
    return value


CELL = type((lambda x: lambda: x)(0).__closure__[0])  # type: ignore[index]


def stub(code: CodeType, offset: int, unset: tuple[int, ...]) -> CodeType:
    """Code that takes all locals, forgets those that are not set, and raises at a place."""
    names = slot_names(code)
    units = bytearray([opcode.opmap["RESUME"], 0])
    for index in unset:
        if index > 255:
            units += bytes([opcode.opmap["EXTENDED_ARG"], index >> 8])
        units += bytes([opcode.opmap["DELETE_FAST"], index & 255])
    return raising(
        code,
        offset,
        units,
        co_varnames=names,
        co_nlocals=len(names),
        co_argcount=len(names),
        co_posonlyargcount=0,
        co_kwonlyargcount=0,
        co_flags=OPTIMIZED | NEWLOCALS,
    )


def raising(code: CodeType, offset: int, units: bytearray, **changes: Any) -> CodeType:
    """Code that does what the units say and raises, at the offset where there is room before it."""
    if VERSION >= (3, 14):
        units += bytes([opcode.opmap["LOAD_COMMON_CONSTANT"], 0])
    else:
        units += bytes([opcode.opmap["LOAD_ASSERTION_ERROR"], 0])
    room = (offset - len(units)) // 2 - 1
    if room >= 0:
        if room > 255:
            units += bytes([opcode.opmap["EXTENDED_ARG"], (room - 1) >> 8])
            room -= 1
        units += bytes([opcode.opmap["JUMP_FORWARD"], room & 255])
        units += bytes([opcode.opmap["NOP"], 0]) * room
    units += bytes([opcode.opmap["RAISE_VARARGS"], 1])
    rest = len(code.co_code) - len(units)
    units += bytes([opcode.opmap["NOP"], 0]) * (rest // 2)
    return code.replace(
        co_code=bytes(units),
        co_exceptiontable=b"",
        co_cellvars=(),
        co_freevars=(),
        co_stacksize=max(code.co_stacksize, 3),
        **changes,
    )


def body_frame(f: Any) -> Any:
    """The same of a class's body, whose locals are a mapping."""
    offset = f.program.instructions[f.index].offset
    code = f.program.stubs.get((offset,))
    if code is None:
        units = bytearray([opcode.opmap["RESUME"], 0])
        flags = f.code.co_flags & ~(OPTIMIZED | NEWLOCALS | 0x20)
        code = f.program.stubs[offset,] = raising(f.code, offset, units, co_flags=flags)
    try:
        exec(code, f.globals, f.names)
    except AssertionError as error:
        return error.__traceback__.tb_next.tb_frame  # type: ignore[union-attr]
    raise SystemError("a stub returned")
