"""Runs a program with a clock read after each statement, for profiles.

The statements are those of the generated source, in-place writes included; after each stands a call
that notes the time. Each becomes an event that is named after the line of the user's that it comes
from. Those of loops do so in each turn; behind so many of a call, what a line takes is summed up in
one event. A program for JAX, or one with machine code, is compiled as one piece, and is one event.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from itertools import pairwise
from time import perf_counter
from types import CodeType
from typing import Any

from codegen.emit.target import Source
from tracegrad.autograd.profiler import open_profiles
from tracegrad.execution.pipeline import names_in

MOST = 20_000
"""So many statements of a call are events, each by itself."""
NOTE = "__note__"
RESULT = "__result__"


def profiled(source: Source, run: Callable[..., Any]) -> Callable[..., Any]:
    """The function of a program, observed by the profiles that are open on this thread."""
    clock = _Clock()
    if source.target != "jax" and not source.kernels:
        run = _noting(source, clock.note)

    def program(*args: Any, **captures: Any) -> Any:
        opened = [(p, p.begin(source.name, ())) for p in open_profiles()]
        result = None
        try:
            result = run(*args, **captures)
            return result
        finally:
            for p, event in reversed(opened):
                p.finish(event, result)
                p.divide(event, clock.parts(source))
            clock.clear()

    return program


class _Clock:
    """When the statements of a call ended, by the lines of the generated source."""

    def __init__(self) -> None:
        self._notes: list[tuple[int, float]] = []
        self._sums: dict[int, tuple[int, float]] = {}  # of further ones, how many and how long
        self._last = 0.0

    def note(self, line: int) -> None:
        """A statement of a line has ended."""
        if len(self._notes) < MOST:
            self._notes.append((line, perf_counter()))
            return
        if not self._sums:
            self._last = self._notes[-1][1]
        count, seconds = self._sums.get(line, (0, 0.0))
        now = perf_counter()
        self._sums[line] = count + 1, seconds + now - self._last
        self._last = now

    def clear(self) -> None:
        """The call is over."""
        self._notes.clear()
        self._sums.clear()

    def parts(self, source: Source) -> Iterator[tuple[str, str, float, float, int]]:
        """The statements that come from a line of the user's, then what further ones sum up to."""
        lines = source.text.splitlines()
        end = self._notes[-1][1] if self._notes else 0.0
        spans = [(line, a, b, 1) for (_, a), (line, b) in pairwise(self._notes)]
        for line, (count, seconds) in self._sums.items():
            spans.append((line, end, end + seconds, count))
            end += seconds
        for line, begin, end, count in spans:
            origin = source.origins[line - 1]
            if origin is not None and origin.line and origin.point is not None:  # an op's
                section = " (backward)" if origin.section == "backward" else ""
                name = f"{origin.file}:{origin.line}  {origin.text}{section}"
                yield name, lines[line - 1].strip(), begin, end, count


# -- the source -----------------------------------------------------------------------------------


def _noting(source: Source, note: Callable[[int], None]) -> Callable[..., Any]:
    """The function of a source, with a note of its line after each statement."""
    scope: dict[str, Any] = {"__name__": "generated", **names_in(source), NOTE: note}
    exec(_code(source.text, source.name, source.large.name if source.large else ""), scope)
    function: Callable[..., Any] = scope[source.name]
    return function


@lru_cache(maxsize=256)
def _code(text: str, name: str, large: str) -> CodeType:
    """The code with notes; it does not go over to the form for large arrays, whose parts run at
    the same time and have no statements in order."""
    tree = ast.parse(text)
    for node in tree.body:
        if isinstance(node, ast.FunctionDef) and node.name == name:
            node.body = [s for s in node.body if not (large and _goes_over(s, large))]
            node.body = [_note(node.lineno, node), *_noted(node.body)]
    return compile(ast.fix_missing_locations(tree), f"<tracegrad {name}, timed>", "exec")


def _goes_over(statement: ast.stmt, large: str) -> bool:
    match statement:
        case ast.If(body=[ast.Return(ast.Call(ast.Name(name)))]):
            return name == large
    return False


def _noted(body: Sequence[ast.stmt]) -> Iterator[ast.stmt]:
    for statement in body:
        note = _note(statement.lineno, statement)
        match statement:
            case ast.Return(value) if value is not None:
                made = ast.Assign([ast.Name(RESULT, ast.Store())], value)
                yield ast.copy_location(made, statement)
                yield note
                yield ast.copy_location(ast.Return(ast.Name(RESULT, ast.Load())), statement)
            case ast.If():  # what takes time is the test
                statement.body = [note, *_noted(statement.body)]
                statement.orelse = [note, *_noted(statement.orelse)]
                yield statement
            case ast.With():
                statement.body = list(_noted(statement.body))
                yield statement
            case ast.For() | ast.While():  # what takes time is the next item, or the test
                statement.body = [note, *_noted(statement.body)]
                yield statement
                yield note
            case _:
                yield statement
                yield note


def _note(line: int, place: ast.stmt) -> ast.stmt:
    call = ast.Call(ast.Name(NOTE, ast.Load()), [ast.Constant(line)], [])
    return ast.copy_location(ast.Expr(call), place)
