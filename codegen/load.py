"""Makes callables of source; tracebacks and debuggers show the generated lines.

`load` registers the source with `linecache` under a name made from its contents, so equal sources
share one entry. `kernel` makes the eager function of an op from its spelling.
"""

from __future__ import annotations

import ast
import hashlib
import linecache
import operator
import re
from collections.abc import Callable, Mapping
from functools import lru_cache
from types import CodeType
from typing import Any

from codegen.spelling import Spelling

_OPERATORS: dict[str, Callable[[Any, Any], Any]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "//": operator.floordiv,
    "%": operator.mod,
    "@": operator.matmul,
    "**": operator.pow,
    "&": operator.and_,
    "|": operator.or_,
    "^": operator.xor,
    "<<": operator.lshift,
    ">>": operator.rshift,
}


def load(
    text: str, name: str, namespace: Mapping[str, Any] | None = None, loaded: str = ""
) -> Callable[..., Any]:
    """Runs the source and returns its function `name`.

    With `loaded` that source runs, and `text`, which has the same lines and columns, is shown.
    """
    digest = hashlib.blake2s(text.encode(), digest_size=6).hexdigest()
    filename = f"<tracegrad {name} {digest}>"
    scope: dict[str, Any] = {"__name__": "generated", **(namespace or {})}
    exec(_compiled(loaded or text, filename), scope)
    linecache.cache[filename] = (len(text), None, _with_places(text), filename)
    function: Callable[..., Any] = scope[name]
    return function


def _with_places(text: str) -> list[str]:
    """The lines as warnings and tracebacks show them: each with the place that it is for.

    NumPy's warnings name the line that runs, which is one of the source.
    """
    found, place = [], ""
    for line in text.splitlines(keepends=True):
        if comment := _PLACE.match(line):
            place = f"  # {comment[1]}"
        elif not line.strip():
            place = ""
        code = line.rstrip("\n")
        found.append(line if comment or not place else f"{code}{place}\n")
    return found


_PLACE = re.compile(r" *# (.+?:\d+)(?:  |$)")
"""A comment that says where statements come from."""


@lru_cache(maxsize=512)
def _compiled(text: str, filename: str) -> CodeType:
    """The code of a source; many functions are called with the same arguments, or read the same."""
    try:
        return compile(text, filename, "exec", dont_inherit=True)
    except SyntaxError as error:
        if "too many" not in error.msg:  # of blocks in one another (20), of indentation (100)
            raise
        raise RecursionError(f"a program nests deeper than Python can: {error.msg}") from error


def kernel(
    spelling: Spelling,
    operands: tuple[str, ...],
    attributes: tuple[str, ...],
    namespace: Mapping[str, Any],
) -> Callable[..., Any]:
    """The function ``f(*operands, **attributes)`` that an op's spelling says."""
    symbol = spelling.operator(operands)
    if not attributes and symbol is not None:
        return _OPERATORS[symbol]
    if not attributes and spelling.call is not None:
        module, _, function = spelling.call.partition(".")
        plain: Any = namespace[module]
        for part in function.split("."):
            plain = getattr(plain, part)
        tree = spelling.expression
        assert isinstance(tree, ast.Call)
        if [a.id for a in tree.args if isinstance(a, ast.Name)] == list(operands):
            return plain  # type: ignore[no-any-return]
    parameters = [*operands, *(["*"] if not operands or operands[-1][0] != "*" else [])]
    head = ", ".join([*(parameters if attributes else operands), *attributes])
    if spelling.expression is not None:
        body = f"    return {spelling.text}\n"
    else:
        lines = "".join(f"    {line}\n" for line in spelling.text.splitlines())
        body = f"{lines}    return out\n"
    if "index" in attributes and operands[-1:] == ("*arrays",):  # a `Subscript` and its arrays
        body = re.sub(r"\bindex(_tuple)?\b", "index.resolve(arrays)", body)
        body = re.sub(r"\bindex_firsts\b", "index.firsts(arrays)", body)
        body = re.sub(r"\bindex_within\b", "index.within_windows.resolve(arrays)", body)
    return load(f"def kernel({head}):\n{body}", "kernel", namespace)
