"""The code of a traced function enters; its lines that no op stands on leave.

Where its arguments come in (``def loss(w, x):``), and the ``return`` in which a path ends. The
second is told by the syntax: the only ``return`` there is, the one that the last op stands in, or
the one that plain statements lead to from there. Where a plain ``if`` decides, none is told.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from os.path import basename
from types import CodeType
from typing import Any

from codegen.ir import NOWHERE, Check, Node, Origin
from tracegrad.bytecode import Syntax, enclosing, memo_by_code, owners, statement, syntax

FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
PLAIN = (ast.Assign, ast.AugAssign, ast.AnnAssign, ast.Expr, ast.Assert, ast.Delete, ast.Pass)


def definition(code: CodeType | None) -> Origin:
    """The line on which the arguments come in."""
    found = None if code is None else _function(code)
    if code is None or found is None:
        return NOWHERE
    site, line = found, code.co_firstlineno
    if not isinstance(site.node, ast.Lambda):
        line = site.node.lineno  # type: ignore[attr-defined]  # below its decorators
    return _origin(code, site, line)


def ended(code: CodeType | None, nodes: Sequence[Node]) -> Origin:
    """The line of the ``return`` in which the path of these nodes ends."""
    function = None if code is None else _function(code)
    if code is None or function is None:
        return NOWHERE
    if isinstance(function.node, ast.Lambda):
        return _origin(code, function, code.co_firstlineno)
    returns = [node for node in _own(function.node) if isinstance(node, ast.Return)]
    found = returns[0] if len(returns) == 1 else _after(code, nodes)
    if found is None:
        return NOWHERE
    return _origin(code, Syntax(function.source, found, ""), found.lineno)


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
    """What stands in a function, functions in it left out."""
    for child in ast.iter_child_nodes(node):
        yield child
        if not isinstance(child, (*FUNCTIONS, ast.ClassDef)):
            yield from _own(child)


def _after(code: CodeType, nodes: Sequence[Node]) -> ast.Return | None:
    """The ``return`` that follows the last op, where nothing can decide otherwise."""
    point: Any = None
    for node in reversed(nodes):
        origin = node.origin if isinstance(node, Check) else node.results[0].origin
        if getattr(origin.point, "chain", ()):
            point = origin.point
            break
    if point is None or point.chain[-1][0] is not code:
        return None
    site = syntax(*point.chain[-1])
    if site is None:
        return None
    at = enclosing(site.source, site.node, (ast.stmt,))
    if isinstance(at, ast.Return):
        return at
    outcome = isinstance(node, Check) and isinstance(at, ast.If) and node.outcome
    if isinstance(at, ast.If) and isinstance(node, Check):
        whole = site.node is at.test  # the outcome alone decides
        return (
            _first(at.body if outcome else at.orelse) if whole and type(outcome) is bool else None
        )
    if not isinstance(at, PLAIN):
        return None
    while not isinstance(at, FUNCTIONS):
        parent = site.source.parents[at]
        for siblings in (getattr(parent, name, None) for name in ("body", "orelse")):
            if isinstance(siblings, list) and at in siblings:
                following = siblings[siblings.index(at) + 1 :]
                found = _first(following)
                if found is not None or (following and not isinstance(following[-1], PLAIN)):
                    return found
                if not all(isinstance(node, PLAIN) for node in following):
                    return None
        if not isinstance(parent, ast.If):  # a loop may go round, a handler may catch
            return None
        at = parent
    return None


def _first(statements: Sequence[ast.stmt]) -> ast.Return | None:
    """The ``return`` that plain statements lead to."""
    for node in statements:
        if isinstance(node, ast.Return):
            return node
        if not isinstance(node, PLAIN):
            return None
    return None
