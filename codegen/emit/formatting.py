"""Formats Python with black."""

from __future__ import annotations

from threading import Lock

_IMPORT = Lock()


def formatted(text: str, width: int = 88) -> str:
    """The source in black's style.

    Black is slow to import and rarely needed. While one thread imports its compiled modules for the
    first time another one may see them half made, so one thread does.
    """
    with _IMPORT:
        import black
    return black.format_str(text, mode=black.Mode(line_length=width))
