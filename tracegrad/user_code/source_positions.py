"""The statements and expressions of a source file, by position.

A file is parsed once for each reading of it, but only the parts around what is asked for are
indexed: modules may be long.
"""

from __future__ import annotations

import ast
import bisect
import functools
import warnings
from collections.abc import Sequence
from dataclasses import dataclass

from tracegrad.machine.recursion_depth import steady

Span = tuple[int, int, int, int]
"""A position that has its columns."""


@dataclass(frozen=True, eq=False)
class Source:
    """A part of a parsed file: its expressions and statements by position, who contains whom.

    Parts are the statements of the module and of its classes; ``lines`` are those of the file.
    """

    file: File
    nodes: dict[Span, ast.expr | ast.stmt]
    parents: dict[ast.AST, ast.AST]
    functions: frozenset[tuple[int, str]]

    @property
    def lines(self) -> tuple[str, ...]:
        return self.file.lines


class File:
    """A parsed file, whose parts are read when they are asked for: modules may be long."""

    def __init__(self, lines: Sequence[str], module: ast.Module) -> None:
        self.lines = tuple("".join(lines).split("\n"))
        self.classes: set[tuple[int, str]] = set()
        self._statements: list[tuple[tuple[int, int], ast.stmt, ast.AST]] = []
        self._add(module)
        self._parts: dict[ast.stmt, Source] = {}

    def _add(self, parent: ast.Module | ast.ClassDef) -> None:
        for statement in parent.body:
            start = _first_line(statement), statement.col_offset
            self._statements.append((start, statement, parent))
            if isinstance(statement, ast.ClassDef):
                self.classes.add(_code_key(statement))
                self._add(statement)

    def part(self, line: int, column: int) -> Source | None:
        """Return the part that a place is in."""
        at = bisect.bisect(self._statements, (line, column), key=lambda entry: entry[0]) - 1
        if at < 0:
            return None
        _, statement, parent = self._statements[at]
        if statement not in self._parts:
            self._parts[statement] = _read(self, statement, parent)
        return self._parts[statement]

    @functools.cached_property
    def definitions(self) -> dict[str, list[ast.FunctionDef]]:
        """The functions of the file by name, inner ones too."""
        found: dict[str, list[ast.FunctionDef]] = {}
        waiting: list[ast.AST] = [statement for _, statement, _ in self._statements]
        apart = set(waiting)
        for node in waiting:
            if isinstance(node, ast.FunctionDef):
                found.setdefault(node.name, []).append(node)
            children = ast.iter_child_nodes(node)
            waiting += (n for n in children if isinstance(n, _BLOCK) and n not in apart)
        return found


_PLACED = (ast.stmt, ast.expr)
_BLOCK = (ast.stmt, ast.excepthandler, ast.match_case)
_SHARED = (ast.expr_context, ast.operator, ast.unaryop, ast.boolop, ast.cmpop)  # one object each

_FILES: dict[str, tuple[list[str], File | None]] = {}
_MOST_FILES = 64


def parsed(name: str, lines: list[str]) -> File | None:
    """Return a file parsed, once for each reading of it: `linecache` keeps a list of its lines."""
    if not lines:
        return None
    known = _FILES.get(name)
    if known is None or known[0] is not lines:
        while len(_FILES) >= _MOST_FILES:
            _FILES.pop(next(iter(_FILES)), None)
        known = _FILES[name] = lines, _parse(lines)
    return known[1]


def _parse(lines: list[str]) -> File | None:
    try:
        with warnings.catch_warnings(), steady():
            warnings.simplefilter("ignore")  # they were shown when the file was compiled
            return File(lines, ast.parse("".join(lines)))
    except (SyntaxError, ValueError, RecursionError):
        return None


def _read(file: File, statement: ast.stmt, parent: ast.AST) -> Source:
    """Return a part of a file; of a class that is all but its body."""
    nodes: dict[Span, ast.expr | ast.stmt] = {}
    parents: dict[ast.AST, ast.AST] = {statement: parent}
    functions = set()
    every: list[ast.AST] = [statement]
    for node in every:
        apart = node.body if isinstance(node, ast.ClassDef) and node is statement else ()
        for child in ast.iter_child_nodes(node):
            if not isinstance(child, _SHARED) and child not in apart:
                parents[child] = node
                every.append(child)
        if isinstance(node, _PLACED):
            last, end_column = node.end_lineno or node.lineno, node.end_col_offset or 0
            where = (node.lineno, last, node.col_offset, end_column)
            if where not in nodes or isinstance(nodes[where], ast.stmt):  # `f(x)` is both
                nodes[where] = node
            functions.add(_code_key(node))
    return Source(file, nodes, parents, frozenset(functions))


def _first_line(statement: ast.stmt) -> int:
    """Return the line of a statement, or that of its first decorator."""
    return min(part.lineno for part in (statement, *getattr(statement, "decorator_list", ())))


def _code_key(node: ast.AST) -> tuple[int, str]:
    """Return the first line and the name of the code object that a node is compiled to."""
    match node:
        case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
            return _first_line(node), node.name
        case ast.Lambda() | ast.ListComp() | ast.SetComp() | ast.DictComp():
            return node.lineno, f"<{type(node).__name__.lower()}>"
        case ast.GeneratorExp():
            return node.lineno, "<genexpr>"
    return 0, ""
