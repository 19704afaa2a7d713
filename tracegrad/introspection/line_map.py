"""Maps lines of the user's code to generated statements, and back."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from os.path import basename

from codegen.emit.target import Source
from tracegrad.errors import ArgumentError


@dataclass(frozen=True)
class Statement:
    """A generated statement, and the line of the user's that it comes from."""

    line: int  # of the generated source, from 1
    text: str
    section: str  # "forward" or "backward"
    place: str  # "model.py:12"
    user: str  # that line itself

    def __str__(self) -> str:
        return f"{self.line:>4}  {self.text}    # {self.section} of {self.place}  {self.user}"


class Statements(tuple[Statement, ...]):
    """Several statements, which print one a line."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "\n".join(map(str, self)) or "no statement"

    __str__ = __repr__


def statements(source: Source) -> Iterator[Statement]:
    """Every statement of a program that comes from a line of the user's."""
    lines = source.text.splitlines()
    for node in ast.walk(ast.parse(source.text)):
        if not isinstance(node, ast.stmt) or isinstance(node, ast.FunctionDef | ast.With):
            continue
        origin = source.origins[node.lineno - 1]
        if origin is None or not origin.line:
            continue
        end = node.body[0].lineno - 1 if isinstance(node, ast.If) else node.end_lineno
        shown = [line.strip() for line in lines[node.lineno - 1 : end]]
        text = " ".join(line for line in shown if not line.startswith("#"))
        place = f"{origin.file}:{origin.line}"
        yield Statement(node.lineno, text, origin.section or "forward", place, origin.text)


def where(source: Source, place: str | int) -> Statements | Statement:
    """The statements of a user's line ``"model.py:12"``; the statement of a generated line."""
    found = sorted(statements(source), key=lambda s: s.line)
    if isinstance(place, int):
        count = source.text.count("\n")
        if not 1 <= place <= count:
            raise ArgumentError(f"there is no generated line {place}: the source has {count} lines")
        text = source.text.splitlines()[place - 1].strip()
        comment = text.startswith("#")  # it names the line that the statements below come from
        near = [s for s in found if (s.line > place if comment else s.line <= place)]
        if not near or source.origins[place - 1] is None:
            raise ArgumentError(f"generated line {place}, {text!r}, comes from no line of yours")
        return near[0 if comment else -1]
    file, _, number = place.rpartition(":")
    if not file or not number.isdigit():
        raise ArgumentError(f'{place!r} must be "file.py:line", or the number of a generated line')
    known = f"{basename(file)}:{number}"
    return Statements(s for s in found if s.place == known)
