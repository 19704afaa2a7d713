"""Lines and wishes for names enter; text that black leaves alone leaves. Knows no graph."""

from __future__ import annotations

import builtins
import keyword
import re
from collections.abc import Iterable

WIDTH = 88
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


class Writer:
    """Indented lines; formats with black only what does not fit the width."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.depth = 0

    def line(self, text: str = "") -> None:
        self.lines.append("    " * self.depth + text if text else "")

    def comment(self, text: str) -> None:
        room = WIDTH - 4 * self.depth - 2
        if len(text) > room:
            text = text[: room - 3].rstrip() + "..."
        self.line(f"# {text}")

    def text(self) -> str:
        text = "\n".join(self.lines) + "\n"
        if any(len(line) > WIDTH for line in self.lines):
            import black  # slow to import and rarely needed

            text = black.format_str(text, mode=black.Mode())
        return text


def quote(text: str) -> str:
    """A string literal with double quotes, as black writes it."""
    shown = repr(text)
    if shown[0] == "'" and '"' not in shown:
        return f'"{shown[1:-1]}"'
    return shown
