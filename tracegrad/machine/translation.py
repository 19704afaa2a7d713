"""Translation: a code object becomes a list of closures, once; and what is refused, and why."""

from __future__ import annotations

import sys
import weakref
from collections.abc import Callable
from dis import get_instructions
from itertools import count
from types import CodeType
from typing import Any
from weakref import WeakKeyDictionary

from tracegrad.machine import expression_instructions, newer_instructions, statement_instructions  # noqa: F401 -- enter their makers
from tracegrad.machine.decoding import Handler, Instruction, decode, slot_names
from tracegrad.machine.inlined_generators import APART, Inlined
from tracegrad.machine.instruction_table import MAKERS, Refused, Translation

GENERATOR, ASYNC = 0x20, 0x80 | 0x100 | 0x200
VARARGS, VARKEYWORDS, OPTIMIZED, NEWLOCALS = 4, 8, 1, 2

# Names that ask for the frames of the interpreter itself, or hand it code to run.
LOOKS_AT_FRAMES = "looks at the interpreter's own frames"
RUNS_TEXT = "runs code that is made while it runs"
DEBUGS = "stops in a debugger, or sets one"
REFUSED_NAMES = {
    "f_back": LOOKS_AT_FRAMES,
    "_current_frames": LOOKS_AT_FRAMES,
    "currentframe": LOOKS_AT_FRAMES,
    "set_trace": DEBUGS,
    "settrace": DEBUGS,
    "setprofile": DEBUGS,
}
REFUSED_BUILTINS = {"exec": RUNS_TEXT, "eval": RUNS_TEXT, "breakpoint": DEBUGS}
"""The same of builtins: methods and attributes may have these names and do something else."""
_READING_NAMES = frozenset({"LOAD_GLOBAL", "LOAD_NAME", "LOAD_FROM_DICT_OR_GLOBALS"})


class Program:
    """A translated code object: its closures and all that a call needs to know of it."""

    __slots__ = (
        *(
            "__weakref__",
            "argcount",
            "cells",
            "flags",
            "generator",
            "handlers",
            "holds_generators",
            "instructions",
            "keywords",
        ),
        *("named", "ops", "plain", "positional_only", "size", "slots", "stubs"),
    )

    def __init__(self, code: CodeType) -> None:
        found = refusal_by_names(code)
        if found:
            raise Refused(found)
        instructions, handlers = decode(code)
        self.instructions: list[Instruction] = instructions
        self.handlers: list[Handler | None] = handlers
        self.holds_generators = any(type(x) is Inlined for x in instructions)
        names, shared = slot_names(code), {*code.co_cellvars, *code.co_freevars}
        self.slots = tuple([name.partition(APART)[0] for name in names])
        self.size = len(self.slots)
        self.cells = [name in shared for name in names]
        self.ops: list[Callable[[Any, list], int]] = []
        translations: dict[CodeType, Translation] = {}
        append = self.ops.append
        for index, x in enumerate(instructions):
            maker = MAKERS.get(x.name)
            if maker is None:
                raise Refused(f"{code.co_qualname} holds the instruction {x.name}")
            of = x.of.code if type(x) is Inlined else code  # whose constants and names it has
            if of not in translations:
                translations[of] = Translation(of, self.slots, instructions, self.ops)
            append(maker(translations[of], x.arg, index + 1))
        flags = code.co_flags
        self.flags = flags
        self.argcount = code.co_argcount
        self.positional_only = code.co_posonlyargcount
        self.keywords = code.co_kwonlyargcount
        self.named = code.co_argcount + code.co_kwonlyargcount
        self.generator = bool(flags & GENERATOR)
        self.plain = not (flags & (VARARGS | VARKEYWORDS) or code.co_kwonlyargcount)
        self.stubs: dict[tuple, CodeType] = {}


_programs: dict[int, Program | Refused] = {}
_codes: dict[int, weakref.ref] = {}


_own: WeakKeyDictionary[CodeType, dict[tuple[CodeType, int], CodeType]] = WeakKeyDictionary()
_own_numbers = count(1)


def own_code(code: CodeType, caller: CodeType, index: int) -> CodeType:
    """The code of a function of the machine's own as an instruction of a caller's has it.

    It is equal to no other: a code object is compared by what it has, its first line included.
    """
    known = _own.setdefault(caller, {})
    place = code, index  # one instruction may call several: `max` of two, then of three
    if place not in known:
        known[place] = code.replace(co_firstlineno=next(_own_numbers))
    return known[place]


def program_of(code: CodeType) -> Program:
    """The translation of a code object; raises Refused."""
    program = _programs.get(id(code))
    if program is None:
        program = _translate(code)
    if type(program) is Refused:
        raise Refused(*program.args)
    return program  # type: ignore[return-value]


def program_or_none(code: CodeType) -> Program | None:
    """The translation of a code object; None where it is refused."""
    program = _programs.get(id(code))
    if program is None:
        program = _translate(code)
    return None if type(program) is Refused else program  # type: ignore[return-value]


def _translate(code: CodeType) -> Program | Refused:
    program: Program | Refused
    try:
        program = Program(code)
    except Refused as error:
        program = Refused(*error.args)
    key = id(code)

    def forget(_: Any, key: int = key) -> None:
        _programs.pop(key, None)
        _codes.pop(key, None)

    _codes[key] = weakref.ref(code, forget)
    _programs[key] = program
    return program


def translate(code: CodeType) -> list[Callable[[Any, list], int]]:
    """The closures of a code object, one an instruction; raises Refused."""
    return program_of(code).ops


def refusal(code: CodeType) -> str:
    """Why the machine does not execute a code object, in words; empty where it does."""
    program = _programs.get(id(code)) or _translate(code)
    return str(program) if type(program) is Refused else ""


def refusal_by_names(code: CodeType) -> str:
    """Why code is refused for what it names or is."""
    name = code.co_qualname
    if code.co_flags & ASYNC:
        return f"{name} is asynchronous"
    refused = REFUSED_NAMES
    if not REFUSED_BUILTINS.keys().isdisjoint(code.co_names):
        read = [x.argval for x in get_instructions(code) if x.opname in _READING_NAMES]
        refused = {**refused, **{n: REFUSED_BUILTINS[n] for n in read if n in REFUSED_BUILTINS}}
    for used in code.co_names:
        reason = refused.get(used)
        if reason is not None:
            return f"{name} names {used!r}, which {reason}"
    names = code.co_names
    if "inspect" in names and ("stack" in names or "trace" in names):
        return f"{name} names inspect's stack, which {LOOKS_AT_FRAMES}"
    return ""


def watched() -> str:
    """What watches the lines that run, so that they are to run natively; empty where nothing does.

    A debugger or a coverage tool sees native frames alone: under the machine it would see none of
    the user's lines.
    """
    if sys.gettrace() is not None:
        return "a debugger or a coverage tool is active (sys.settrace)"
    monitoring = getattr(sys, "monitoring", None)  # 3.12 and later
    if monitoring is not None:
        for tool in (monitoring.DEBUGGER_ID, monitoring.COVERAGE_ID):
            name = monitoring.get_tool(tool)
            if name is not None:
                return f"the tool {name!r} is active (sys.monitoring)"
    return ""
