"""Decides which boxes of a block stand beside which: bands of rows, one a line of the user's.

A band is a line of the user's: what it computes stands at the left, from top to bottom, and its
derivative at the right, from bottom to top. So the picture reads down like the program and up again
like its backward. A line that runs again (in a loop) has a band each time.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from tracegrad.introspection.drawing.picture import Box, Edge, Line


@dataclass(eq=False)
class Band:
    """The boxes of one run of a line; `rows` says for each column which boxes are in which row."""

    line: Line | None
    forward: list[Box] = field(default_factory=list)
    backward: list[Box] = field(default_factory=list)
    taken: bool = False  # a run of the backward belongs to it
    rows: tuple[list[list[Box]], list[list[Box]]] = ([], [])


def bands_of(boxes: Sequence[Box], edges: Iterable[Edge]) -> list[Band]:
    """The bands of a block, from the top."""
    inputs = [box for box in boxes if box.kind == "input"]
    forward = [box for box in boxes if not box.section and box.kind != "input"]
    backward = [box for box in boxes if box.section]
    bands = [Band(line, forward=run) for line, run in _runs(forward)]
    at = len(bands)  # where the backward is
    for line, run in _runs(backward):
        band = _partner(bands, line)
        if band is None:
            band = Band(line)
            bands.insert(at, band)
        at = bands.index(band)
        band.taken = True
        band.backward += run
    edges = list(edges)
    above: dict[Box, list[Box]] = {box: [] for box in boxes}
    for edge in edges:
        above.get(edge.end, []).append(edge.start)
    _place_inputs(bands, inputs, edges)
    for band in bands:
        band.rows = _rows(band, above)
    return bands


def _runs(boxes: Sequence[Box]) -> list[tuple[Line | None, list[Box]]]:
    """Boxes of one line that follow one another; a box of no line stays with those before.

    Where the program comes to a point again that it has left, the line runs again.
    """
    runs: list[tuple[Line | None, list[Box]]] = []
    seen: list[Hashable] = []
    for box in boxes:
        point = box.origin.point
        again = point is not None and point in seen and point != seen[-1]
        same = runs and (box.line is None or runs[-1][0] is None or box.line == runs[-1][0])
        if same and not again:
            runs[-1] = (runs[-1][0] or box.line, [*runs[-1][1], box])
        else:
            runs.append((box.line, [box]))
            seen = []
        seen.append(point)
    return runs


def _partner(bands: Sequence[Band], line: Line | None) -> Band | None:
    """The last band of a line that has no backward yet, else the first of that line."""
    same = [band for band in bands if band.line == line]
    free = [band for band in same if not band.taken]
    return free[-1] if free else same[0] if same else None


def _place_inputs(bands: list[Band], inputs: Sequence[Box], edges: Sequence[Edge]) -> None:
    """An input stands with the first line that reads it, in the order in which they are read."""
    after = Band(None)  # what is read after the branch, or never
    first = {box: number for number, box in reversed([(n, e.start) for n, e in enumerate(edges)])}
    computed = list(bands)
    stands: dict[Band, list[Box]] = {}
    for box in sorted(inputs, key=lambda box: first.get(box, len(edges))):
        readers = {edge.end for edge in edges if edge.start is box}
        found = [b for b in computed if readers.intersection(b.forward)]
        found = found or [b for b in computed if readers.intersection(b.backward)]
        stands.setdefault(found[0] if found else after, []).append(box)
    if after in stands:
        bands.append(after)
    for band, here in stands.items():
        band.forward[:0] = here


def _rows(
    band: Band, above: Mapping[Box, Sequence[Box]]
) -> tuple[list[list[Box]], list[list[Box]]]:
    """What is in which row, forward and backward, from the top; both have as many rows."""
    down = _ranks(band.forward, above)
    up = _ranks(band.backward, above)
    count = max([*down.values(), *up.values(), 0]) + 1
    left: list[list[Box]] = [[] for _ in range(count)]
    right: list[list[Box]] = [[] for _ in range(count)]
    for box, rank in down.items():
        left[rank].append(box)
    for box, rank in up.items():
        right[count - 1 - rank].append(box)
    for row in right:  # what reads the forward is beside it
        row.sort(key=lambda box: all(b.section for b in above[box]))
    return left, right


def _ranks(boxes: Sequence[Box], above: Mapping[Box, Sequence[Box]]) -> dict[Box, int]:
    """How far each box is from where the band begins.

    What waits for nothing else that is computed in its column (an input, ``x.T``) is next to its
    first reader.
    """
    ranks: dict[Box, int] = {}
    waits: set[Box] = set()
    for box in boxes:
        if box.kind == "input":
            continue
        before = [ranks[b] + 1 for b in above[box] if b in ranks]
        ranks[box] = max(before, default=0)
        column = [b for b in above[box] if b.section == box.section and b.kind != "input"]
        if any(b in waits or b not in ranks for b in column):
            waits.add(box)
    for box in reversed(boxes):
        readers = [ranks[b] for b in boxes if b in ranks and box in above[b]]
        if box not in waits and (readers or box not in ranks):
            ranks[box] = min(readers, default=1) - 1
    least = min(ranks.values(), default=0)
    return {box: ranks[box] - least for box in boxes}
