"""Tracebacks as CPython makes them: an entry for each interpreted frame, none for the machine.

The entry needs a frame object. It is that of a generator which has not begun, of the same code with
other bytes: it takes all local variables as its arguments, and stands at the instruction's place.
"""

from __future__ import annotations

import opcode
import os
from types import CodeType, FunctionType, TracebackType
from typing import Any
from weakref import WeakSet

from tracegrad.machine.decoding import VERSION, Added, slot_names
from tracegrad.machine.world_protocol import ABSENT

# Files whose frames are no part of the user's program.
PLACE = os.path.dirname(__file__)
HIDDEN = {os.path.join(PLACE, name) for name in os.listdir(PLACE) if name.endswith(".py")}
OPTIMIZED, NEWLOCALS, GENERATOR = 1, 2, 0x20


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
    if code.co_filename in HIDDEN or type(f.program.instructions[f.index]) is Added:
        error.__traceback__ = traceback
        return
    for place in f.places:
        if place.code.co_filename not in HIDDEN:
            line = line_at(place.code, place.offset)
            traceback = TracebackType(traceback, stub_of(f, place), place.offset, line)
    error.__traceback__ = traceback


def line_at(code: CodeType, offset: int) -> int:
    """The line of an instruction."""
    for start, end, line in code.co_lines():
        if start <= offset < end:
            return code.co_firstlineno if line is None else line
    return code.co_firstlineno


SHOWN: WeakSet[CodeType] = WeakSet()
"""Code of functions of which somebody was shown a frame, or its variables by name."""


def stub_frame(f: Any) -> Any:
    """A native frame that shows the code, the place and the locals of an interpreted one."""
    return stub_of(f, next(f.places))


def stub_of(f: Any, place: Any) -> Any:
    """The same of one of the functions that a frame runs."""
    code, offset, names, slots = place
    SHOWN.add(code)
    if f.names is not None:  # of a class's body
        made = f.program.stubs.get(offset)
        if made is None:
            made = f.program.stubs[offset] = body_stub(code, offset)
        return eval(made, names, f.names).gi_frame
    cells = f.program.cells
    values = [contents(f.fast[slot]) if cells[slot] else f.fast[slot] for slot in slots]
    unset = tuple(index for index, value in enumerate(values) if value is ABSENT)
    key = id(code), offset, unset
    made = f.program.stubs.get(key)
    if made is None:
        made = f.program.stubs[key] = stub(code, offset, unset)
    return FunctionType(made, names)(*values).gi_frame


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
    """Code that takes all locals, forgets those that are not set, and becomes a generator."""
    names = slot_names(code)
    units = bytearray()
    for index in unset:
        if index > 255:
            units += unit("EXTENDED_ARG", index >> 8)
        units += unit("DELETE_FAST", index & 255)
    return suspended(
        code,
        offset,
        units,
        co_varnames=names,
        co_nlocals=len(names),
        co_argcount=len(names),
        co_posonlyargcount=0,
        co_kwonlyargcount=0,
        co_flags=OPTIMIZED | NEWLOCALS | GENERATOR,
    )


def body_stub(code: CodeType, offset: int) -> CodeType:
    """The same of a class's body, whose locals are a mapping."""
    return suspended(code, offset, bytearray(), co_flags=GENERATOR)


def suspended(code: CodeType, offset: int, units: bytearray, **changes: Any) -> CodeType:
    """Code that does what the units say, then stands still, at the offset where there is room."""
    # A generator that has not begun stands two instructions on; from 3.13 on, three.
    room = (offset - len(units)) // 2 - (4 if VERSION >= (3, 13) else 3)
    if room > 255:
        units += unit("EXTENDED_ARG", (room - 1) >> 8)
        room -= 1
    if room >= 0:
        units += unit("JUMP_FORWARD", room & 255)
        units += unit("NOP") * room
    units += unit("RETURN_GENERATOR") + unit("POP_TOP") + unit("RESUME")
    units += unit("LOAD_CONST") + unit("RETURN_VALUE")
    units += unit("NOP") * ((len(code.co_code) - len(units)) // 2)
    return code.replace(
        co_code=bytes(units),
        co_exceptiontable=b"",
        co_cellvars=(),
        co_freevars=(),
        co_stacksize=max(code.co_stacksize, 3),
        co_consts=code.co_consts or (None,),
        **changes,
    )


def unit(name: str, arg: int = 0) -> bytes:
    return bytes((opcode.opmap[name], arg))
