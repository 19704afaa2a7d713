"""Lines and wishes for names enter; text that black leaves alone leaves. Knows no graph."""

from __future__ import annotations

import builtins
import keyword
import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Generic, TypeVar

from codegen.emit.splitting import split

WIDTH = 88
Mark = TypeVar("Mark")
_TAKEN = frozenset(keyword.kwlist) | frozenset(keyword.softkwlist) | frozenset(dir(builtins))


class Names:
    """Unique Python names, as close to the wish as possible."""

    def __init__(self, reserved: Iterable[str]) -> None:
        self.reserved = set(reserved)
        self.used: set[str] = set()

    def wish(self, stem: str, free: Iterable[str] = (), numbered: bool = False) -> str:
        """`stem` itself when nobody has it (or it is in `free`), else or by wish numbered."""
        stem = re.sub(r"\W", "_", stem).strip("_") or "value"
        if stem[0].isdigit():
            stem = f"v{stem}"
        if stem in _TAKEN:
            stem += "_"
        name, count = (f"{stem}_1", 1) if numbered else (stem, 1)
        while name in self.reserved or (name in self.used and name not in free):
            count += 1
            name = f"{stem}_{count}"
        self.used.add(name)
        return name


class Writer(Generic[Mark]):
    """Indented lines; what does not fit the width is split as black splits it.

    A line may have a mark: what it came from, which every line of its text is marked with.
    """

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.marks: list[Mark | None] = []
        self.ready: set[int] = set()  # lines that are split as they should be
        self.depth = 0

    def line(self, text: str = "", mark: Mark | None = None) -> None:
        self.lines.append("    " * self.depth + text if text else "")
        self.marks.append(mark)

    def block(self, text: str) -> None:
        """Lines as they are."""
        for line in text.splitlines():
            self.ready.add(len(self.lines))
            self.lines.append(line)
            self.marks.append(None)

    def comment(self, text: str, mark: Mark | None = None) -> None:
        room = WIDTH - 4 * self.depth - 2
        if len(text) > room:
            text = text[: room - 3].rstrip() + "..."
        self.line(f"# {text}", mark)

    def text(self) -> str:
        return "\n".join(part for parts in self._parts() for part in parts) + "\n"

    def marked(self) -> tuple[Mark | None, ...]:
        """The marks of the lines of `text`."""
        pairs = zip(self._parts(), self.marks, strict=True)
        return tuple(mark for parts, mark in pairs for _ in parts)

    def _parts(self) -> Iterator[list[str]]:
        """Each line as it is split."""
        for i, line in enumerate(self.lines):
            yield [line] if i in self.ready else fitted(line)


def fitted(line: str) -> list[str]:
    """A line, split as black splits what does not fit the width."""
    indent = len(line) - len(line.lstrip())
    if len(line) <= WIDTH or line[indent:].startswith("#"):
        return [line]
    return [" " * indent + part if part else "" for part in _split(line[indent:], WIDTH - indent)]


_STRING_CALL = re.compile(r"""(raise \w+\()("(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')\)$""")


@lru_cache(maxsize=4096)
def _split(statement: str, width: int) -> tuple[str, ...]:
    """A statement, or the head of a block, over several lines."""
    found = _STRING_CALL.match(statement)
    if found:
        return (found[1], f"    {found[2]}", ")")
    lines = split(statement, width)
    if lines is not None:
        return lines
    import black  # slow to import and rarely needed

    before = "if x:\n    pass\n" if statement.startswith("elif ") else ""
    after = "\n    pass" if statement.endswith(":") else ""
    text = black.format_str(before + statement + after, mode=black.Mode(line_length=width))
    return tuple(text.splitlines()[before.count("\n") : -1 if after else None])


def quote(text: str) -> str:
    """A string literal with double quotes, as black writes it."""
    shown = repr(text)
    if shown[0] == "'" and '"' not in shown:
        return f'"{shown[1:-1]}"'
    return shown
