"""Tidies an ``if`` that has just been written with its ``else``, as one would write it by hand."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from codegen.emit.writer import Writer
from codegen.ir import Origin

ARMS = ("elif ", "else:")
"""What the heads of the later arms of an ``if`` begin with."""


class _Line(NamedTuple):
    text: str
    mark: Origin | None


def tidy(writer: Writer[Origin], heads: Sequence[int], tests: Sequence[str]) -> None:
    """Tidies what begins at `heads`, the lines with ``if`` and ``else``, and ends here.

    What both arms end with stands behind them once. An arm that does nothing is left out, and an
    ``else`` that is nothing but an ``if`` becomes an ``elif``. `tests` hold in the one and the
    other arm.
    """
    behind = _shared_end(writer, heads)
    first, second = heads[0], heads[1] - len(behind)
    indent = "    " * writer.depth
    if len(writer.lines) == second + 1:
        writer.remove(second)
        if second == first + 1:
            if tests[0].isidentifier():
                writer.remove(first)
            else:  # what it computes may warn
                writer.line("    pass")
    elif second == first + 1:
        writer.remove(second)
        writer.lines[first] = f"{indent}if {tests[1]}:"
    elif (at := _place_of_one_if(writer.lines[second + 1 :], f"{indent}    ")) is not None:
        writer.remove(second)
        writer.lines[second:] = [line[4:] for line in writer.lines[second:]]
        writer.lines[second + at] = writer.lines[second + at].replace("if ", "elif ", 1)
    for line in behind:
        writer.lines.append(line.text[4:])
        writer.marks.append(line.mark)


def drop_comments(writer: Writer[Origin], start: int) -> None:
    """Takes back the comments at the end, down to a line, that no statement follows."""
    while len(writer.lines) > start and writer.lines[-1].lstrip().startswith("#"):
        writer.remove(len(writer.lines) - 1)


def _shared_end(writer: Writer[Origin], heads: Sequence[int]) -> list[_Line]:
    """Takes back what both arms end with, comments but the first arm's left out."""
    lines = [*map(_Line, writer.lines[heads[0] :], writer.marks[heads[0] :])]
    between = heads[1] - heads[0]
    one = _statements(lines[1:between], writer.depth + 1)
    other = _statements(lines[between + 1 :], writer.depth + 1)
    count = 0
    for mine, others in zip(reversed(one), reversed(other), strict=False):
        if _code(mine) != _code(others):
            break
        count += 1
    if not count or any(at >= heads[0] for at in writer.ready):
        return []
    behind = [line for statement in one[-count:] for line in statement]
    for start, arm in ((heads[1] + 1, other), (heads[0] + 1, one)):
        kept = sum(map(len, arm[:-count]))
        gone = sum(map(len, arm[-count:]))
        del writer.lines[start + kept : start + kept + gone]
        del writer.marks[start + kept : start + kept + gone]
    return behind


def _code(statement: Sequence[_Line]) -> list[_Line]:
    """A statement without the comments above it."""
    return [line for line in statement if not line.text.lstrip().startswith("#")]


def _statements(lines: Sequence[_Line], depth: int) -> list[list[_Line]]:
    """The statements of an arm, each with the comments above it and what is inside of it."""
    found: list[list[_Line]] = []
    indent = "    " * depth
    above = False  # whether the last lines are comments above the next statement
    for line in lines:
        text = line.text.removeprefix(indent)
        inside = not line.text or text.startswith((" ", *ARMS))
        comment = text.startswith("#")
        if above and text.startswith(ARMS):  # the comments stand above an arm of the last statement
            comments = found.pop()
            found[-1] += comments
        if not found or not (inside or above):
            found.append([])
        found[-1].append(line)
        above = comment
    return found


def _place_of_one_if(lines: Sequence[str], indent: str) -> int | None:
    """Where an ``if`` begins, with its ``elif`` and ``else``, that only comments stand beside."""
    outer = [(at, line) for at, line in enumerate(lines) if not line.startswith(f"{indent} ")]
    while outer and outer[0][1].startswith(f"{indent}#"):
        outer.pop(0)
    heads = [line.removeprefix(indent) for _, line in outer]
    if heads and heads[0].startswith("if ") and all(x.startswith((*ARMS, "#")) for x in heads[1:]):
        return outer[0][0]
    return None
