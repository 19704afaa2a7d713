"""Draws where a sparse matrix has entries, and in which product each is computed.

An entry has the colour of its product: entries of one colour are computed by one vector, in which
they do not meet. Large matrices are drawn in squares that stand for many entries.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from tracegrad.introspection.drawing.svg import text_of

MOST_SHOWN = 200
"""So many rows and columns are drawn one by one."""
MOST_WRITTEN = 40
"""So many are written as text."""
DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"
SIDE, MARGIN, HEAD, LETTER = 600.0, 18.0, 56.0, 7.5
MIXED = "#667085"


@dataclass(frozen=True)
class Pattern:
    """Rows, columns and products of the entries of a matrix."""

    name: str
    line: str
    shape: tuple[int, int]
    rows: Any
    columns: Any
    product: Any


def pattern_text(pattern: Pattern) -> str:
    """A line for each row, with the number of the product for each entry; empty if it is large."""
    if not 0 < max(pattern.shape) <= MOST_WRITTEN or max(pattern.product, default=0) >= len(DIGITS):
        return ""
    grid = np.full(pattern.shape, ".")
    grid[pattern.rows, pattern.columns] = [DIGITS[k] for k in pattern.product]
    return "\n".join("  " + " ".join(row) for row in grid)


def pattern_svg(pattern: Pattern) -> str:
    """A square for each entry, or for each block of them, in the colour of its product."""
    blocks, size = _blocks(pattern)
    step = min(SIDE / max(*size, 1), 24.0)
    height, width = (step * length for length in size)
    written = LETTER * max(len(pattern.line), len(pattern.name))
    whole = max(width, written) + 2 * MARGIN, height + HEAD + 2 * MARGIN
    view = " ".join(map(_n, (0.0, 0.0, *whole)))
    label = text_of(f"pattern of {pattern.name}").replace('"', "&quot;")
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" class="tg-pattern" role="img" '
        f'aria-label="{label}" width="{_n(whole[0])}" height="{_n(whole[1])}" viewBox="{view}">',
        "<style>.tg-pattern { background: #fff; border-radius: 8px } .tg-pattern text { fill: "
        "#1c2330; font: 12px ui-monospace, Menlo, Consolas, monospace }</style>",
        f'<text x="{_n(MARGIN)}" y="28" font-weight="600">{text_of(pattern.name)}</text>',
        f'<text x="{_n(MARGIN)}" y="46">{text_of(pattern.line)}</text>',
        f'<g transform="translate({_n(MARGIN)} {_n(HEAD + MARGIN)})">',
        f'<rect width="{_n(width)}" height="{_n(height)}" fill="none" stroke="#c3cad6"/>',
    ]
    side = _n(0.92 * step) if step > 4 else _n(step)
    for product in sorted(set(blocks.values())):
        places = [place for place, of in sorted(blocks.items()) if of == product]
        path = "".join(f"M{_n(j * step)} {_n(i * step)}h{side}v{side}h-{side}z" for i, j in places)
        parts.append(f'<path fill="{colour_of(product)}" d="{path}"/>')
    return "\n".join([*parts, "</g>", "</svg>\n"])


def pattern_dot(pattern: Pattern) -> str:
    """Rows and columns as the two sides of a graph, an edge for each entry."""
    m, n = pattern.shape
    lines = [f"graph pattern {{  // {pattern.line}", "  rankdir=LR;", "  node [shape=circle];"]
    lines += [f"  c{j};" for j in range(n)] + [f"  r{i} [shape=box];" for i in range(m)]
    triples = zip(pattern.rows, pattern.columns, pattern.product, strict=True)
    lines += [f'  c{j} -- r{i} [color="{colour_of(k)}"];' for i, j, k in triples]
    return "\n".join([*lines, "}\n"])


def colour_of(product: int) -> str:
    """A colour that differs from those of other products, as far as there are enough."""
    if product < 0:
        return MIXED
    turn, light = product * 137.508 % 360.0, 42 + 8 * (product % 3)
    return f"hsl({turn:.0f} 68% {light}%)"


def _blocks(pattern: Pattern) -> tuple[dict[tuple[int, int], int], tuple[int, int]]:
    """The product of each square that has entries (-1 for several), and how many squares."""
    across = max(1, -(-max(pattern.shape) // MOST_SHOWN))
    found: dict[tuple[int, int], int] = {}
    triples = zip(pattern.rows, pattern.columns, pattern.product, strict=True)
    for i, j, product in triples:
        place = (int(i) // across, int(j) // across)
        found[place] = int(product) if found.get(place, product) == product else -1
    m, n = pattern.shape
    return found, (-(-m // across), -(-n // across))


def _n(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0")
