"""A code object enters; the names of globals, cells, attributes and modules that it reads leave."""

from __future__ import annotations

import dis
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from os.path import basename
from types import CodeType
from typing import Any

from tracegrad.bytecode import memo_by_code

__all__ = ["BY_NAME", "Names", "cells_read", "line_reading", "nested", "read_names"]

BY_NAME = frozenset({
    "getattr", "hasattr", "vars", "dir", "attrgetter", "methodcaller", "getattr_static",
    "getmembers", "asdict", "astuple", "fields", "replace", "copy", "deepcopy", "dumps",
    "__dict__", "__getstate__", "__match_args__",
})  # fmt: skip
"""With these, code reads attributes whose names it does not spell."""


_TEXTS = frozenset({"str", "repr", "format", "ascii", "__repr__", "__str__"})
_IDENTITIES = frozenset({"id", "is_", "is_not"})


@dataclass(frozen=True, slots=True)
class Names:
    """What a code object mentions, the code inside it left out."""

    globals: frozenset[str]
    attributes: frozenset[str]
    stored: frozenset[str]
    modules: frozenset[tuple[str, int]]  # imported names with their level, 0 for absolute
    by_name: bool  # it may read attributes that it does not name
    identities: bool  # it may ask whether two objects are one
    texts: bool  # it may turn what it has into text
    members: frozenset[tuple[str, str]]  # a global and the attribute that is read of it there
    bare: frozenset[str]  # names that are read without a constant as their first argument


@memo_by_code
def read_names(code: CodeType) -> Names:
    """The globals, attributes and modules that a code object reads or stores."""
    scopes: set[str] = set()
    attributes: set[str] = set()
    stored: set[str] = set()
    modules: set[tuple[str, int]] = set()
    by_name = identities = texts = False
    members: set[tuple[str, str]] = set()
    bare: set[str] = set()
    mentioned = ""
    before: Any = None
    level: Any = 0
    constant: Any = None
    for instruction in dis.get_instructions(code):
        name = instruction.argval
        if mentioned and instruction.opname not in ("PUSH_NULL", "PRECALL", "CACHE", "NOP"):
            if instruction.opname != "LOAD_CONST" or name is None:
                bare.add(mentioned)
            mentioned = ""
        match instruction.opname:
            case "LOAD_CONST" | "LOAD_SMALL_INT":
                level, constant = constant, name
            case "LOAD_GLOBAL" | "LOAD_NAME" | "STORE_GLOBAL" | "DELETE_GLOBAL":
                scopes.add(name)
                mentioned = name
            case "LOAD_ATTR" | "LOAD_METHOD" | "LOAD_SUPER_ATTR" | "IMPORT_FROM":
                attributes.add(name)
                mentioned = name
                if before is not None and before.opname == "LOAD_GLOBAL":
                    members.add((before.argval, name))
            case "STORE_ATTR" | "DELETE_ATTR":
                attributes.add(name)
                stored.add(name)
            case "IMPORT_NAME":  # its level is the constant before the last
                modules.add((name, level if isinstance(level, int) else 0))
            case "MATCH_CLASS":  # case Point(a=..., b=...): the names are a constant
                attributes.update(constant if isinstance(constant, tuple) else ())
                by_name |= instruction.arg != 0  # Point(a, b): names of __match_args__
            case "FORMAT_VALUE" | "FORMAT_SIMPLE" | "FORMAT_WITH_SPEC":
                texts = True
            case "IS_OP":
                single = before is not None and before.opname == "LOAD_CONST"
                identities |= not single  # `is None` is a question of type
        before = instruction
    by_name |= not BY_NAME.isdisjoint(scopes | attributes)
    return Names(
        frozenset(scopes),
        frozenset(attributes),
        frozenset(stored),
        frozenset(modules),
        by_name,
        identities or not _IDENTITIES.isdisjoint(scopes | attributes),
        texts or not _TEXTS.isdisjoint(scopes | attributes),
        frozenset(members),
        frozenset(bare),
    )


def nested(code: CodeType) -> Iterator[CodeType]:
    """The code objects inside a code object."""
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield constant


@memo_by_code
def _own_cells(code: CodeType) -> frozenset[str]:
    return frozenset(i.argval for i in dis.get_instructions(code) if "DEREF" in i.opname)


def cells_read(code: CodeType, foreign: Iterable[CodeType]) -> set[str]:
    """The closure variables that a code object, or code inside it that is not foreign, reads."""
    names = set(_own_cells(code))
    for inner in nested(code):
        if inner not in foreign:
            names |= cells_read(inner, foreign)
    return names


def line_reading(codes: Iterable[CodeType], name: str) -> str:
    """Where code first reads a name: ``train.py:31``; "" where none does."""
    found: list[tuple[str, int]] = []
    for code in codes:
        for instruction in dis.get_instructions(code):
            if instruction.argval == name and instruction.opname.startswith("LOAD_"):
                positions = instruction.positions
                if positions is not None and positions.lineno is not None:
                    found.append((code.co_filename, positions.lineno))
    if not found:
        return ""
    file, line = min(found)
    return f"{basename(file)}:{line}"
