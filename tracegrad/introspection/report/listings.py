"""The listings of a compiled version, line by line, each with the nodes that it shows.

There are three kinds: what the user wrote (`user_listings`), a graph (`graph_listing`) and the
generated program (`program_listing`).
"""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from os.path import basename
from types import CodeType
from typing import Any

from codegen.emit import Source
from codegen.ir import (
    Again,
    Block,
    Branch,
    Check,
    Constant,
    Graph,
    Join,
    Loop,
    Node,
    Origin,
    inner_blocks,
)
from tracegrad.compiled.traced_run import code_of
from tracegrad.introspection.report.highlighting import graph_line, python_lines


@dataclass(frozen=True)
class Line:
    """One line: its number, its HTML, what it comes from and the nodes that it shows."""

    number: int
    html: str
    origins: tuple[Origin, ...] = ()
    nodes: tuple[int, ...] = ()
    place: tuple[str, int] | None = None  # the user's file and line


@dataclass(frozen=True)
class Listing:
    """Lines of source, or of a graph, with a title."""

    title: str
    lines: tuple[Line, ...]


def origin_of(node: Node) -> Origin:
    """Where a node comes from."""
    return (
        node.origin
        if isinstance(node, Check | Branch | Loop | Join | Again)
        else node.results[0].origin
    )


# -- what the user wrote --------------------------------------------------------------------------


def user_listings(
    function: Callable[..., Any], graph: Graph, written: Iterable[Origin | None] = ()
) -> list[Listing]:
    """The functions that lines of the graph stand in, the traced one first.

    `written` are the origins of the program's lines: some are of no node (what takes arguments
    apart, what returns).
    """
    nodes = graph.all_nodes
    lines: dict[tuple[str, int], list[int]] = {}
    codes: dict[CodeType, None] = {}
    own = code_of(function)
    if own is not None:
        codes[own] = None
    for index, node in enumerate(nodes):
        origin = origin_of(node)
        if origin.line:
            lines.setdefault((origin.file, origin.line), []).append(index)
            chain = getattr(origin.point, "chain", ())
            codes.update(dict.fromkeys(code for code, _ in chain[:1]))
    written = [*written, *(value.origin for value in graph.inputs)]
    for line in written:
        if line is not None and line.line:
            lines.setdefault((line.file, line.line), [])
    found = [part for code in codes if (part := _text_of(code)) is not None]
    found = [part for part in dict.fromkeys(found) if not any(_inside(part, o) for o in found)]
    listings = [_user_listing(*part, lines, nodes) for part in found]
    shown = {line.place for listing in listings for line in listing.lines}
    missing = sorted(place for place in lines if place not in shown)
    if missing:
        texts = {(o.file, o.line): o.text for o in (*map(origin_of, nodes), *written) if o}
        rest = [
            _user_line(p, p[1], python_lines(texts[p] or "…")[0], lines, nodes) for p in missing
        ]
        listings.append(Listing("lines without a source file", tuple(rest)))
    return listings


_Part = tuple[str, int, tuple[str, ...]]  # file, first line, lines


def _text_of(code: CodeType) -> _Part | None:
    """The source of a function, None where there is none."""
    try:
        lines, first = inspect.getsourcelines(code)
    except (OSError, TypeError, IndexError, SyntaxError):
        return None
    return code.co_filename, max(first, 1), tuple(line.rstrip("\n") for line in lines)


def _inside(part: _Part, other: _Part) -> bool:
    """Whether a function is written inside another one."""
    first, last = part[1], part[1] + len(part[2])
    same = part[0] == other[0] and part != other
    return same and other[1] <= first and last <= other[1] + len(other[2])


def _user_listing(
    file: str,
    first: int,
    texts: Sequence[str],
    lines: dict[tuple[str, int], list[int]],
    nodes: Sequence[Node],
) -> Listing:
    name, text = basename(file), "\n".join(texts)
    starts = _starts(text)
    found = [
        _user_line((name, first + starts.get(i, i)), first + i, html, lines, nodes)
        for i, html in enumerate(python_lines(text))
    ]
    return Listing(f"{name}:{first}", tuple(found))


def _starts(text: str) -> dict[int, int]:
    """For each line, counted from 0, the first one of the statement that it belongs to."""
    try:
        module = ast.parse(textwrap.dedent(text))
    except (SyntaxError, ValueError):  # a lambda amid something else
        return {}
    found: dict[int, int] = {}
    for node in ast.walk(module):
        if isinstance(node, ast.stmt):
            inner = getattr(node, "body", None) or getattr(node, "cases", None)
            last = node.end_lineno or node.lineno
            if isinstance(inner, list) and isinstance(inner[0], ast.stmt):
                last = max(inner[0].lineno - 1, node.lineno)
            elif inner:
                last = node.lineno
            for row in range(node.lineno, last + 1):
                found[row - 1] = node.lineno - 1
    return found


def _user_line(
    place: tuple[str, int],
    number: int,
    html: str,
    lines: dict[tuple[str, int], list[int]],
    nodes: Sequence[Node],
) -> Line:
    here = lines.get(place, ())
    origins = dict.fromkeys(origin_of(nodes[index]) for index in here)
    if place in lines and not here:
        origins = {Origin(file=place[0], line=place[1]): None}
    computed = [
        index
        for index in here
        if not isinstance(nodes[index], Constant) and not origin_of(nodes[index]).section
    ]
    return Line(number, html, tuple(origins), tuple(computed), place if place in lines else None)


# -- graphs ---------------------------------------------------------------------------------------


def graph_listing(title: str, graph: Graph) -> Listing:
    """The printed graph; its lines are in the order of its nodes."""
    place = {id(node): index for index, node in enumerate(graph.all_nodes)}
    shown: list[Node | None] = [None] * (1 + len(graph.sizes.unsolved))

    def write(block: Block) -> None:
        for node in block.nodes:
            shown.append(node)
            for inner in inner_blocks(node):
                shown.append(None)
                write(inner)
        if not (block.nodes and isinstance(block.nodes[-1], Branch | Loop | Join | Again)):
            shown.append(None)

    write(graph.block)
    shown.append(None)
    lines = []
    for number, (text, node) in enumerate(zip(str(graph).splitlines(), shown, strict=True), 1):
        origins = () if node is None else (origin_of(node),)
        nodes = () if node is None else (place[id(node)],)
        lines.append(Line(number, graph_line(text), origins, nodes))
    return Listing(title, tuple(lines))


# -- the program ----------------------------------------------------------------------------------


def program_listing(graph: Graph, source: Source) -> Listing:
    """The generated source."""
    written = nodes_written(graph, source)
    html = python_lines(source.text)
    lines = [
        Line(index + 1, text, () if origin is None else (origin,), tuple(written[index]))
        for index, (text, origin) in enumerate(zip(html, source.origins, strict=True))
    ]
    return Listing(f"{source.name} ({source.target})", tuple(lines))


def nodes_written(graph: Graph, source: Source) -> list[list[int]]:
    """For each line of the source the nodes that it computes; what takes arguments apart has none.

    A statement has the origin of the node that it ends with; what is nested in it belongs to it
    as well: a node that has no statement of its own stands where it is read. Numbers are left out,
    since a forward and its backward may share them.
    """
    nodes = graph.all_nodes
    place = {id(node): index for index, node in enumerate(nodes)}
    statements: dict[int, list[int]] = {}
    for index, (text, mark) in enumerate(zip(source.text.splitlines(), source.marks, strict=True)):
        if mark is not None and not text.lstrip().startswith("#"):
            statements.setdefault(id(mark), []).append(index)
    by_origin: dict[int, list[int]] = {}
    for index, node in enumerate(nodes):
        by_origin.setdefault(id(origin_of(node)), []).append(index)
    stands: list[set[int]] = [set() for _ in nodes]
    for key, here in by_origin.items():
        for one, line in _matched(here, statements.get(key, [])):
            stands[one].add(line)
    for index in reversed(range(len(nodes))):
        if not stands[index] and not isinstance(nodes[index], Constant):
            for result in nodes[index].results:
                for user in graph.users.get(result, ()):
                    stands[index] |= stands[place[id(user)]]
    written: list[list[int]] = [[] for _ in source.marks]
    for index, found in enumerate(stands):
        for line in found:
            written[line].append(index)
    return written


def _matched(nodes: Sequence[int], lines: Sequence[int]) -> Iterable[tuple[int, int]]:
    """Nodes and lines of one origin, both in order, matched from the end."""
    if not lines:
        return
    last = len(nodes) - 1
    for back, line in enumerate(reversed(lines)):
        yield nodes[max(0, last - back)], line
