"""Finds the lines of a traced function on which no op stands.

Where its arguments come in (``def loss(w, x):``), and the ``return`` in which a path ends. The
second is told by the syntax: the only ``return`` there is, the one that the last op stands in, or
the one that every way leads to from there. Where Python alone decides, none is told.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from os.path import basename
from types import CodeType
from typing import Any

from codegen.ir import NOWHERE, Check, Node, Origin
from tracegrad.user_code.bytecode import Syntax, enclosing, memo_by_code, owners, statement, syntax

FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
LOOPS = (ast.For, ast.AsyncFor, ast.While)
GOES_ON = object()
_BLOCKS = ("body", "orelse", "handlers", "finalbody", "cases")


def definition(code: CodeType | None) -> Origin:
    """The line on which the arguments come in."""
    return NOWHERE if code is None else _definition(code)


@memo_by_code
def _definition(code: CodeType) -> Origin:
    site, line = _function(code), code.co_firstlineno
    if site is None:
        return NOWHERE
    if not isinstance(site.node, ast.Lambda):
        line = site.node.lineno  # type: ignore[attr-defined]  # below its decorators
    return _origin(code, site, line)


def ended(code: CodeType | None, nodes: Sequence[Node]) -> Origin:
    """The line of the ``return`` in which the path of these nodes ends."""
    if code is None:
        return NOWHERE
    function, only = _function(code), _only_return(code)
    if only is not None or function is None:
        return only or NOWHERE
    found = _after(code, nodes)
    if found is None:
        return NOWHERE
    return _origin(code, Syntax(function.source, found, ""), found.lineno)


@memo_by_code
def _only_return(code: CodeType) -> Origin | None:
    """Where every path ends; None where there are several ways out."""
    function = _function(code)
    if function is None:
        return None
    if isinstance(function.node, ast.Lambda):
        return _origin(code, function, code.co_firstlineno)
    returns = [node for node in _own(function.node) if isinstance(node, ast.Return)]
    if len(returns) != 1:
        return None
    return _origin(code, Syntax(function.source, returns[0], ""), returns[0].lineno)


def _origin(code: CodeType, site: Syntax, line: int) -> Origin:
    line, text = statement(site, line)
    return Origin(file=basename(code.co_filename), line=line, text=text)


@memo_by_code
def _function(code: CodeType) -> Syntax | None:
    """The function itself, found from an instruction in its body."""
    for offset in dict.fromkeys(owners(code)):
        site = syntax(code, offset)
        node: Any = None if site is None else site.node
        while site is not None and node is not None and not isinstance(node, FUNCTIONS):
            node = site.source.parents.get(node)
        name = "<lambda>" if isinstance(node, ast.Lambda) else getattr(node, "name", None)
        if site is not None and name == code.co_name:
            return Syntax(site.source, node, "")
    return None


def _own(node: ast.AST) -> Iterator[ast.AST]:
    """The statements in a function or another statement, those of functions in it left out."""
    for field in _BLOCKS:
        for child in getattr(node, field, ()):
            yield child
            if not isinstance(child, (*FUNCTIONS, ast.ClassDef)):
                yield from _own(child)


def _after(code: CodeType, nodes: Sequence[Node]) -> ast.Return | None:
    """The ``return`` that follows the last op, where nothing can decide otherwise."""
    last = next((n for n in reversed(nodes) if getattr(_point(n), "chain", ())), None)
    point = None if last is None else _point(last)
    if point is None or point.chain[-1][0] is not code:
        return None
    site = syntax(*point.chain[-1])
    if site is None:
        return None
    at = enclosing(site.source, site.node, (ast.stmt,))
    if isinstance(at, ast.Return):
        return at
    if isinstance(at, ast.If) and isinstance(last, Check) and site.node is at.test:
        found = _way_out(at.body if last.outcome else at.orelse)  # the outcome alone decides
    else:
        found = None if _returns(at) else GOES_ON
    while found is GOES_ON and not isinstance(at, FUNCTIONS):
        parent = site.source.parents[at]
        loop = isinstance(parent, LOOPS)
        left = at in getattr(parent, "orelse", ())  # of a loop: it has come to its end
        over = loop and (left or not (parent.orelse or _returns(parent)))
        if not (over or isinstance(parent, (ast.If, ast.With, *FUNCTIONS))):
            return None  # a handler may catch
        found = _way_out(_following(parent, at))
        at = parent
    return found if isinstance(found, ast.Return) else None


def _point(node: Node) -> Any:
    origin = node.origin if isinstance(node, Check) else node.results[0].origin
    return origin.point


def _following(parent: ast.AST, at: ast.AST) -> list[ast.stmt]:
    """The statements after one, in its block."""
    for name in ("body", "orelse"):
        block = getattr(parent, name, None)
        if isinstance(block, list) and at in block:
            return block[block.index(at) + 1 :]  # type: ignore[arg-type]
    return []


def _way_out(statements: Sequence[ast.stmt]) -> Any:
    """The ``return`` that these statements lead to, `GOES_ON` past them, None for perhaps."""
    for node in statements:
        if isinstance(node, ast.Return):
            return node
        if isinstance(node, ast.Break | ast.Continue):
            return GOES_ON
        if _returns(node) or isinstance(node, ast.Raise):
            return None
    return GOES_ON


def _returns(node: ast.AST) -> bool:
    return any(isinstance(inner, ast.Return) for inner in _own(node))
