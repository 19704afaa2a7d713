"""Writes the picture or the report of a compiled callable to a file, by its suffix."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from html import escape
from os import PathLike
from pathlib import Path
from typing import Any

from tracegrad.arguments.signature import Arguments
from tracegrad.compiled.version import Version
from tracegrad.errors import ArgumentError
from tracegrad.introspection.drawing import draw_dot, draw_svg
from tracegrad.introspection.report.highlighting import python_lines
from tracegrad.introspection.report.html import report
from tracegrad.runtime.thread_state import given_objects


def _svg(version: Version, function: Callable[..., Any], known: Mapping[str, int]) -> str:
    return draw_svg(version.program.graph, version.target, known, fused=True)


def _dot(version: Version, function: Callable[..., Any], known: Mapping[str, int]) -> str:
    return draw_dot(version.program.graph, version.target, known, fused=True)


FORMATS = {".svg": _svg, ".dot": _dot, ".html": report}


def checked_path(path: str | PathLike[str]) -> Path:
    """The path, where its suffix says what to write."""
    found = Path(path)
    if found.suffix not in FORMATS:
        said = f"the suffix {found.suffix!r}" if found.suffix else "no suffix"
        raise ArgumentError(f"draw: {found.name} has {said}; it must be .svg, .dot or .html")
    if not found.parent.is_dir():
        raise ArgumentError(
            f"draw: {str(found)!r}: there is no folder {str(found.parent)!r}; make it first"
        )
    return found


def draw(path: Path, version: Version, function: Callable[..., Any], arguments: Arguments) -> Path:
    """Writes what the suffix says; the lengths shown are those of the arguments."""
    text = FORMATS[path.suffix](version, function, lengths(version, arguments))
    path.write_text(text, encoding="utf-8", newline="\n")
    return path


def lengths(version: Version, arguments: Arguments) -> dict[str, int]:
    """What the symbols of a version's graph are for these arguments."""
    arrays = [leaf.value for leaf in arguments.leaves if leaf.traced]
    with given_objects(arguments.objects):
        arrays += version.captured_arrays()
    return version.lengths(arrays)


# -- notebooks ------------------------------------------------------------------------------------

_BOX = "border:1px solid #8884;border-radius:8px;padding:10px 14px;margin:4px 0;max-width:1100px"
_CODE = "overflow:auto;max-height:30em;font-size:12px;line-height:1.45"


def shown_in_notebook(title: str, facts: str, version: Version | None) -> str:
    """A compact view: what it is, and to unfold the facts, the newest version's source and picture.

    The first of the `facts` stands for all.
    """
    head, _, rest = facts.partition("\n")
    parts = [f'<div style="{_BOX}"><b>{escape(title)}</b><br>{escape(head)}']
    if version is None:
        parts.append("<br>Nothing is compiled yet: the first call does that.")
    else:
        source = version.program.source
        code = "\n".join(python_lines(source.text))
        drawn = draw_svg(version.program.graph, version.target, fused=True)
        parts += [
            f'<details><summary>versions</summary><pre style="{_CODE}">{escape(rest.strip())}</pre>'
            "</details>",
            f"<details><summary>source ({source.target})</summary>"
            f'<pre style="{_CODE}">{code}</pre></details>',
            '<details><summary>picture</summary><div style="overflow:auto;max-height:48em">'
            f"{drawn}</div></details>",
        ]
    return "".join([*parts, "</div>"])
