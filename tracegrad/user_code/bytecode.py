"""What CPython's code objects say about an instruction: its position, its statement, its names.

That is the start of the instruction, its name, its position, and, where the source file can be
read, the syntax that it was compiled from.

A frame's ``f_lasti`` is a poor name for a place in a program. When CPython specialises an
instruction it may leave ``f_lasti`` pointing into that instruction's inline caches, so the same
operation on the same line answers with two different offsets after a few calls. `owner` maps every
offset to the one instruction that it belongs to. (The machine's frames stand at instructions.)

Tables are made once per code object and found by its identity: hashing a code object hashes its
instructions and constants, which costs more than the lookup is worth.
"""

from __future__ import annotations

import ast
import dis
import io
import linecache
import re
import sys
import tokenize
import weakref
from collections.abc import Callable
from dataclasses import dataclass
from types import CodeType
from typing import TypeVar

from tracegrad.user_code.source_positions import Source, Span, parsed

__all__ = [
    "Position",
    "Syntax",
    "enclosing",
    "memo_by_code",
    "operation",
    "owner",
    "owners",
    "position",
    "statement",
    "syntax",
]

Position = tuple[int, int, int | None, int | None]
"""First line, last line, first column, end column; columns count UTF-8 bytes, as `ast` does.

The columns are None under ``python -X no_debug_ranges``.
"""

_T = TypeVar("_T")

_CACHE = dis.opmap["CACHE"]
_EXTENDED_ARG = dis.opmap["EXTENDED_ARG"]


def memo_by_code(compute: Callable[[CodeType], _T]) -> Callable[[CodeType], _T]:
    """Return ``compute`` with its answers kept for as long as the code object lives.

    ```python
    >>> size = memo_by_code(lambda code: len(code.co_code))
    >>> size((lambda: None).__code__) > 0
    True

    ```
    """
    known: dict[int, _T] = {}

    def lookup(code: CodeType) -> _T:
        try:
            return known[id(code)]
        except KeyError:
            pass
        answer = known[id(code)] = compute(code)
        # The entry goes before another object can be given the address of this one.
        weakref.finalize(code, known.pop, id(code), None).atexit = False
        return answer

    return lookup


@memo_by_code
def owners(code: CodeType) -> tuple[int, ...]:
    """Return, for every code unit (two bytes) of ``code``, the offset of its instruction.

    ```python
    >>> def double(x):
    ...     return x + x
    >>> len(owners(double.__code__)) == len(double.__code__.co_code) // 2
    True

    ```
    """
    text = code.co_code  # as it was compiled: specialised opcodes and filled caches do not show
    table: list[int] = []
    prefixes = 0  # EXTENDED_ARG units belong to the instruction after them
    for offset in range(0, len(text), 2):
        if text[offset] == _CACHE and table:
            table.append(table[-1])
        elif text[offset] == _EXTENDED_ARG:
            prefixes += 1
        else:
            table.extend([offset] * (prefixes + 1))
            prefixes = 0
    return tuple(table)


def owner(code: CodeType, offset: int) -> int:
    """Return the start of the instruction that covers the byte ``offset`` of ``code``.

    Inline caches belong to the instruction before them and EXTENDED_ARG prefixes to the one after.

    ```python
    >>> import sys
    >>> def here():
    ...     frame = sys._getframe()
    ...     return owner(frame.f_code, frame.f_lasti) <= frame.f_lasti
    >>> here()
    True

    ```
    """
    return owners(code)[offset >> 1]


def operation(code: CodeType, offset: int) -> str:
    """Return the name of the instruction that covers the byte ``offset``, unspecialised.

    ```python
    >>> operation((lambda x: -x).__code__, owners((lambda x: -x).__code__)[-1])
    'RETURN_VALUE'

    ```
    """
    return _operations(code)[offset >> 1]


def position(code: CodeType, offset: int) -> Position | None:
    """Return where in its file the instruction at ``offset`` was written, None if nowhere.

    ```python
    >>> code = compile("y = (a\\n     + b)", "<doc>", "exec")
    >>> [position(code, i) for i in owners(code) if operation(code, i) == "BINARY_OP"][0]
    (1, 2, 5, 8)

    ```
    """
    first, last, column, end_column = _positions(code)[offset >> 1]
    if first is None:
        return None
    return first, first if last is None else last, column, end_column


@memo_by_code
def _operations(code: CodeType) -> tuple[str, ...]:
    text = code.co_code
    return tuple(dis.opname[text[offset]] for offset in owners(code))


@memo_by_code
def _positions(
    code: CodeType,
) -> tuple[tuple[int | None, int | None, int | None, int | None], ...]:
    return tuple(code.co_positions())


# ------------------------------------------------------------------------------ the source file


@dataclass(frozen=True, eq=False)
class Syntax:
    """An instruction found again in its source: the node that it was compiled from, and its name.

    ``operation`` is empty where the node is only known to be the statement.
    """

    source: Source
    node: ast.AST
    operation: str


def syntax(code: CodeType, offset: int) -> Syntax | None:
    """Return what the instruction at ``offset`` was compiled from, None if there is no source.

    ```python
    >>> syntax(compile("y = a + b", "<no such file>", "exec"), 0) is None
    True

    ```
    """
    where = position(code, offset)
    source = None if where is None else _source_of(code, where)
    if where is None or source is None:
        return None
    first, last, column, end_column = where
    if column is None or end_column is None:
        node = _innermost(source, (first, last, sys.maxsize, 0), ast.stmt)
        return None if node is None else Syntax(source, node, "")
    span = (first, last, column, end_column)
    # Not exact for one thing: in a chain over several lines, a call starts at the method's name.
    node = source.nodes.get(span) or _innermost(source, span, ast.expr)
    return None if node is None else Syntax(source, node, operation(code, offset))


def enclosing(source: Source, node: ast.AST, kinds: tuple[type[ast.AST], ...]) -> ast.AST:
    """Return the innermost node of one of ``kinds`` around ``node``, which may be itself."""
    while not isinstance(node, kinds):
        node = source.parents[node]
    return node


LONGEST = 200
"""A statement of more characters is not shown for what a lambda in it does."""


def statement(site: Syntax, line: int) -> tuple[int, str]:
    """Return the first line of the statement around a site and its text on one line, no block.

    ``line`` is the line of the instruction: for one in a decorator, and in a lambda of a statement
    as long as a table of functions, that is the answer.
    """
    lines = site.source.lines
    node = enclosing(site.source, site.node, (ast.stmt,))
    assert isinstance(node, ast.stmt)
    if line < node.lineno:
        return line, lines[line - 1].strip()
    end = (node.end_lineno or node.lineno, node.end_col_offset or 0)
    if hasattr(node, "body") or hasattr(node, "cases"):
        end = _end_of_header(lines, node)
    text = [part.encode() for part in lines[node.lineno - 1 : end[0]]]
    text[-1] = text[-1][: end[1]]
    text[0] = text[0][node.col_offset :]
    whole = _on_one_line(b"\n".join(text).decode())
    of_a_table = len(whole) > LONGEST and isinstance(
        enclosing(site.source, site.node, (ast.stmt, ast.Lambda)), ast.Lambda
    )
    return (line, lines[line - 1].strip()) if of_a_table else (node.lineno, whole)


_BLOCKS = frozenset({"body", "orelse", "finalbody", "handlers", "cases", "decorator_list"})


def _end_of_header(lines: tuple[str, ...], node: ast.stmt) -> tuple[int, int]:
    """Return where ``for row in x:`` ends, by its last expression and the colon after it."""
    end = (node.lineno, node.col_offset)
    for name, value in ast.iter_fields(node):
        for part in value if isinstance(value, list) else [value]:
            if name not in _BLOCKS and isinstance(part, ast.AST):
                for inner in ast.walk(part):
                    stop = (getattr(inner, "end_lineno", 0), getattr(inner, "end_col_offset", 0))
                    end = max(end, stop)
    for row in range(end[0], len(lines) + 1):
        line = lines[row - 1].encode()
        colon = line.find(b":", end[1] if row == end[0] else 0)
        if colon >= 0:
            return row, colon + 1
    return end


def _on_one_line(text: str) -> str:
    if "\n" in text:
        text = _without_comments(text.replace("\\\n", " "))
        text = re.sub(r"(?<=[(\[{])\s*\n\s*|\s*\n\s*(?=[)\]}])", "", text)
    return " ".join(text.split())


def _without_comments(text: str) -> str:
    lines = text.split("\n")
    try:
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            if token.type == tokenize.COMMENT:
                row, column = token.start
                lines[row - 1] = lines[row - 1][:column].rstrip()
    except (tokenize.TokenError, SyntaxError):  # a header without its block: what came is done
        pass
    return "\n".join(lines)


def _source_of(code: CodeType, where: Position) -> Source | None:
    """Return the parsed part of the file around a position in ``code``.

    None where the file is missing or is not its source.
    """
    if code.co_filename == "<string>":  # any exec'd source; since 3.13 linecache may know another
        return None
    linecache.checkcache(code.co_filename)
    file = parsed(code.co_filename, linecache.getlines(code.co_filename))
    if file is None:
        return None
    source = file.part(where[0], sys.maxsize if where[2] is None else where[2])
    if source is None or code.co_name == "<module>":
        return source
    key = code.co_firstlineno, code.co_name
    return source if key in source.functions or key in file.classes else None


def _innermost(source: Source, span: Span, kind: type[ast.AST]) -> ast.expr | ast.stmt | None:
    """Return the smallest node of a kind that contains a span."""
    first, last, column, end_column = span
    around = [
        ((start, start_column), (-end, -stop_column), node)
        for (start, end, start_column, stop_column), node in source.nodes.items()
        if isinstance(node, kind)
        and (start, start_column) <= (first, column)
        and (last, end_column) <= (end, stop_column)
    ]
    return max(around, key=lambda entry: entry[:2])[2] if around else None
