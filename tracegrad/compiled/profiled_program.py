"""Runs a program with a clock read after each statement, for profiles.

The statements are those of the generated source, in-place writes included; after each stands a call
that notes the time. Each becomes an event that is named after the line of the user's that it comes
from. A program for JAX is compiled as one piece, and is one event.
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

NOTE = "__note__"
RESULT = "__result__"


def profiled(source: Source, run: Callable[..., Any]) -> Callable[..., Any]:
    """The function of a program, observed by the profiles that are open on this thread."""
    notes: list[tuple[int, float]] = []
    if source.target != "jax" and not source.kernels:
        run = _noting(source, lambda line: notes.append((line, perf_counter())))

    def program(*args: Any, **captures: Any) -> Any:
        opened = [(p, p.begin(source.name, ())) for p in open_profiles()]
        result = None
        try:
            result = run(*args, **captures)
            return result
        finally:
            for p, event in reversed(opened):
                p.finish(event, result)
                p.divide(event, _parts(source, notes))
            notes.clear()

    return program


def _parts(
    source: Source, notes: Sequence[tuple[int, float]]
) -> Iterator[tuple[str, str, float, float]]:
    """Name, statement, begin and end of each statement that comes from a line of the user's."""
    lines = source.text.splitlines()
    for (_, begin), (line, end) in pairwise(notes):
        origin = source.origins[line - 1]
        if origin is not None and origin.line and origin.point is not None:  # an op's
            section = " (backward)" if origin.section == "backward" else ""
            name = f"{origin.file}:{origin.line}  {origin.text}{section}"
            yield name, lines[line - 1].strip(), begin, end


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
            case _:
                yield statement
                yield note


def _note(line: int, place: ast.stmt) -> ast.stmt:
    call = ast.Call(ast.Name(NOTE, ast.Load()), [ast.Constant(line)], [])
    return ast.copy_location(ast.Expr(call), place)
