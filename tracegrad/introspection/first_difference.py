"""Finds the first statement of an edited program that gives another value than before.

Both run with their assignments recorded. Values are matched by variable, in order, so statements
may be added, joined and split: a variable departs where it takes a value that the unedited program
never gave it there.
"""

from __future__ import annotations

import ast
import difflib
import re
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any

import numpy as np

from tracegrad.introspection.verify import Departure, difference, tolerance
from tracegrad.values.pytree import flatten, map_tree

SEEN = "__seen__"
LIMIT = 1e-9  # of the largest number; an edit may add in another order


@dataclass(frozen=True)
class Event:
    """A statement that ran: its line, and what it gave its variables."""

    line: int
    values: tuple[tuple[str, Any], ...]


@dataclass(frozen=True)
class File:
    """The source of an export and what it needs to run."""

    text: str
    path: str
    exported: str  # the function that users call
    program: str  # the generated one, which it calls
    namespace: dict[str, Any]  # what replaces names of the file, once it is loaded
    arrays: tuple[str, ...]  # the names of its arrays
    around: Callable[[], AbstractContextManager[Any]]  # what the program runs in
    convert: Callable[[Any], Any]  # makes arrays of the kind that the statements work on


class _Recorder(ast.NodeTransformer):
    """Writes a call after each statement of one function: its line and variables."""

    def __init__(self, program: str) -> None:
        self.program = program
        self.inside = False

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        if node.name != self.program or self.inside:
            return node
        self.inside = True
        node.decorator_list = []
        node.body = list(self._recorded(node.body))
        self.inside = False
        return node

    def _recorded(self, body: Sequence[ast.stmt]) -> Iterator[ast.stmt]:
        for statement in body:
            if isinstance(statement, ast.Return) and statement.value is not None:
                yield self._call(statement.lineno, {"return": statement.value}, statement)
                yield ast.copy_location(
                    ast.Return(ast.Name(f"{SEEN}returned", ast.Load())), statement
                )
                continue
            for field in ("body", "orelse"):
                inner = getattr(statement, field, None)
                if inner and not isinstance(statement, ast.FunctionDef):
                    setattr(statement, field, list(self._recorded(inner)))
            yield statement
            names = list(dict.fromkeys(_written(statement)))
            if names:
                values: dict[str, ast.expr] = {name: ast.Name(name, ast.Load()) for name in names}
                yield self._call(statement.lineno, values, statement)

    def _call(self, line: int, values: dict[str, ast.expr], place: ast.stmt) -> ast.stmt:
        keys: list[ast.expr | None] = [ast.Constant(name) for name in values]
        arguments: list[ast.expr] = [ast.Constant(line), ast.Dict(keys, list(values.values()))]
        call = ast.Call(ast.Name(SEEN, ast.Load()), arguments, [])
        made: ast.stmt = ast.Expr(call)
        if "return" in values:
            made = ast.Assign([ast.Name(f"{SEEN}returned", ast.Store())], call)
        return ast.copy_location(made, place)


def _written(statement: ast.stmt) -> Iterator[str]:
    """The variables that a statement assigns or writes into."""
    found: list[ast.expr] = []
    match statement:
        case ast.Assign(targets):
            found += targets
        case ast.AugAssign(target) | ast.AnnAssign(target):
            found.append(target)
        case ast.Expr(ast.Call(args=args, keywords=keywords)):
            found += [k.value for k in keywords if k.arg == "out"]
            found += [a for a in args[:1] if not found]  # np.add.at(x, ...)
    for each in found:
        yield from _names(each)


def _names(target: ast.expr) -> Iterator[str]:
    match target:
        case ast.Name(id):
            yield id
        case ast.Tuple(elements) | ast.List(elements):
            for element in elements:
                yield from _names(element)
        case ast.Subscript(value) | ast.Starred(value):
            yield from _names(value)


def _run(file: File, args: Sequence[Any], kwargs: dict[str, Any]) -> tuple[list[Event], Any]:
    """The events of one call, and the exception that ended it, or None."""
    events: list[Event] = []

    def seen(line: int, values: dict[str, Any]) -> Any:
        kept = []
        for name, value in values.items():
            leaves = flatten(value)[0]
            kept += [(name, np.array(leaf)) for leaf in leaves if _is_number(leaf)]
        events.append(Event(line, tuple(kept)))
        return values.get("return")

    tree = _Recorder(file.program).visit(ast.parse(file.text))
    code = compile(ast.fix_missing_locations(tree), file.path, "exec")
    scope: dict[str, Any] = {"__name__": "edited", "__file__": file.path, SEEN: seen}
    exec(code, scope)
    scope.update(file.namespace)
    try:
        with file.around():
            scope.update({name: file.convert(scope[name]) for name in file.arrays if name in scope})
            given, named = map_tree(file.convert, (tuple(args), kwargs))
            scope[file.exported](*given, **named)
    except Exception as error:  # of an edited program: it is part of the report
        return events, error
    return events, None


def _is_number(leaf: Any) -> bool:
    return hasattr(leaf, "dtype") or isinstance(leaf, bool | int | float | complex)


def departure(
    edited: File, unedited: File, args: Sequence[Any], kwargs: dict[str, Any], allowed: float | None
) -> Departure | None:
    """The first statement of the edited program that departs from the unedited one."""
    events, error = _run(edited, args, kwargs)
    known, _ = _run(unedited, args, kwargs)
    values: dict[str, list[Any]] = {}
    for event in known:
        for name, value in event.values:
            values.setdefault(name, []).append(value)
    last = dict.fromkeys(values, 0)
    fresh = dict.fromkeys(values, True)
    for event in events:
        for name, value in event.values:
            if name not in values:
                continue  # a variable that the edit made
            several = values[name]
            for i in range(last[name], len(several)):
                if not difference(value, several[i], _limit(several[i], allowed)):
                    last[name], fresh[name] = i, False
                    break
            else:
                expected = several[min(last[name] + (not fresh[name]), len(several) - 1)]
                said = difference(value, expected, _limit(expected, allowed))
                return _departure(edited, unedited, event.line, said)
    if error is not None:
        return _raised(edited, error)
    return None


def _limit(value: Any, allowed: float | None) -> float:
    return max(LIMIT if allowed is None else allowed, tolerance(value))


def _departure(edited: File, unedited: File, line: int, said: str) -> Departure:
    """In words; where the statement itself is unchanged, what is missing before it."""
    text, first, _ = _statement(edited, line)
    before = [s for s in _texts(edited) if s[0] < first]
    unchanged = text in [s[1] for s in _texts(unedited)]
    whole = f"{said} from the unedited program" if said.startswith("differs") else said
    if unchanged:
        missing = _missing(before, edited, unedited)
        if missing:
            whole += f"; it is unchanged, but `{missing}` is missing before it"
    user = "" if text.startswith("return") else _user(edited, first)
    return Departure(first, text, whole, user)


def _missing(before: Sequence[tuple[int, str]], edited: File, unedited: File) -> str:
    """The last statement of the unedited program that the edited one lacks before a line."""
    old, new = [s[1] for s in _texts(unedited)], [s[1] for s in _texts(edited)]
    found = ""
    for tag, a, b, c, d in difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if tag in ("delete", "replace") and c <= len(before) and b - a > d - c:
            found = old[b - 1]
    return found


def _texts(file: File) -> list[tuple[int, str]]:
    """The statements of the program, and the lines where they start."""
    for node in ast.parse(file.text).body:
        if isinstance(node, ast.FunctionDef) and node.name == file.program:
            inner = [n for n in ast.walk(node) if isinstance(n, ast.stmt) and n is not node]
            plain = [n for n in inner if not hasattr(n, "body")]
            return sorted((n.lineno, _text(file, n)) for n in plain)
    return []


def _statement(file: File, line: int) -> tuple[str, int, int]:
    """The innermost statement at a line: its text, its first and last line."""
    best: Any = None
    for node in ast.walk(ast.parse(file.text)):
        if isinstance(node, ast.stmt) and node.lineno <= line <= (node.end_lineno or 0):
            best = node if best is None or node.lineno >= best.lineno else best
    if best is None:
        return file.text.splitlines()[line - 1].strip(), line, line
    return _text(file, best), best.lineno, best.end_lineno or line


def _text(file: File, node: ast.stmt) -> str:
    """A statement as it stands in the file, on one line."""
    whole = ast.get_source_segment(file.text, node) or ast.unparse(node)
    head = whole.splitlines()[:1] if hasattr(node, "body") else whole.splitlines()
    return " ".join(line.strip() for line in head)


_COMMENT = re.compile(r"\s*# (\S+:\d+  .*)$")


def _user(file: File, line: int) -> str:
    """The user's line that the nearest comment above names."""
    for text in reversed(file.text.splitlines()[: line - 1]):
        found = _COMMENT.match(text)
        if found:
            return found[1]
        if text.startswith("def "):
            break
    return ""


def _raised(file: File, error: BaseException) -> Departure:
    frames = [f for f in traceback.extract_tb(error.__traceback__) if f.filename == file.path]
    line = frames[-1].lineno if frames else None
    text, first, _ = _statement(file, line or 1)
    said = f"raises {type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}"
    return Departure(first, text, said, _user(file, first))
