"""Marks the words of Python and of printed graphs in HTML."""

from __future__ import annotations

import builtins
import io
import keyword
import re
import textwrap
import tokenize
from collections.abc import Iterator
from html import escape

_QUIET = frozenset(
    {tokenize.NEWLINE, tokenize.NL, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER}
)
_BUILTINS = frozenset(dir(builtins))


def python_lines(text: str) -> list[str]:
    """Each line of Python as HTML; where it is not a whole program, what is left stays plain."""
    lines = textwrap.dedent(text).splitlines()
    marks: list[list[tuple[int, int, str]]] = [[] for _ in lines]
    try:
        for kind, (row, column), (last_row, last) in _words(lines):
            for at in range(row, last_row + 1):
                start = column if at == row else 0
                stop = last if at == last_row else len(lines[at - 1])
                marks[at - 1].append((start, stop, kind))
    except (tokenize.TokenError, SyntaxError, IndentationError):
        pass
    cut = len(text.splitlines()[0]) - len(lines[0]) if lines else 0
    indent = " " * cut
    return [
        (indent if line else "") + _marked(line, found)
        for line, found in zip(lines, marks, strict=True)
    ]


def _words(lines: list[str]) -> Iterator[tuple[str, tuple[int, int], tuple[int, int]]]:
    before = ""
    for token in tokenize.generate_tokens(io.StringIO("\n".join(lines) + "\n").readline):
        kind = ""
        if token.type == tokenize.COMMENT:
            kind = "comment"
        elif token.type == tokenize.NUMBER:
            kind = "number"
        elif token.type == tokenize.NAME:
            if keyword.iskeyword(token.string):
                kind = "keyword"
            elif before in ("def", "class"):
                kind = "function"
            elif token.string in _BUILTINS and before != ".":
                kind = "builtin"
        elif token.type == tokenize.STRING or "STRING" in tokenize.tok_name[token.type]:
            kind = "string"
        if kind:
            yield kind, token.start, token.end
        if token.type not in _QUIET:
            before = token.string


def _marked(line: str, found: list[tuple[int, int, str]]) -> str:
    parts: list[str] = []
    at = 0
    for first, stop, kind in found:
        start = max(first, at)  # from 3.12 on the parts of an f-string may overlap
        if stop <= start:
            continue
        parts.append(escape(line[at:start], quote=False))
        parts.append(f'<span class="{kind}">{escape(line[start:stop], quote=False)}</span>')
        at = stop
    return "".join([*parts, escape(line[at:], quote=False)])


_GRAPH_WORDS = re.compile(
    r"(?P<comment>  \# .*$)|(?P<string>'(?:\\.|[^'\\])*')|(?P<value>%[\w~.]+)"
    r"|(?P<keyword>\b(?:graph|branch|case|check|return|where)\b)|(?P<function>\b\w+(?=\())"
    r"|(?P<number>\b\d[\d.e+-]*\b)"
)


def graph_line(line: str) -> str:
    """A line of a printed graph as HTML."""
    found = [(m.start(), m.end(), m.lastgroup or "") for m in _GRAPH_WORDS.finditer(line)]
    return _marked(line, found)
