"""Orders the cells of rows by barycentres and places them along their row.

The order is found by barycentres, sweeping down and up, and the one with the fewest crossings is
kept. The places are the least squares to each cell's neighbours under that order, which for one row
is a regression that keeps order (pool adjacent violators); rows take turns.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from itertools import pairwise
from typing import TypeVar

SWEEPS = 8  # of the order
TURNS = 24  # of the places
GAP = 20.0
Cell = TypeVar("Cell", bound=Hashable)
Links = Mapping[Cell, Sequence[Cell]]


def ordered(
    rows: Sequence[Sequence[Cell]], up: Links[Cell], down: Links[Cell], rising: bool = False
) -> list[list[Cell]]:
    """The rows with few crossings of the links; `up` and `down` say each cell's neighbours.

    The sweeps begin at the top, or at the bottom where the edges rise.
    """
    current = [list(row) for row in rows]
    best, least = current, crossings(current, down)
    for sweep in range(SWEEPS):
        if least == 0:
            break
        falling = (sweep % 2 == 0) != rising
        turn = range(len(current)) if falling else reversed(range(len(current)))
        current = [list(row) for row in current]
        for index in turn:
            _sort(current, index, up if falling else down, -1 if falling else 1)
        count = crossings(current, down)
        if count < least:
            best, least = current, count
    return best


def _sort(rows: list[list[Cell]], index: int, links: Links[Cell], step: int) -> None:
    """One row by the mean place of its neighbours in the row before."""
    if not 0 <= index + step < len(rows):
        return
    places = {cell: place for place, cell in enumerate(rows[index + step])}
    keys: dict[Cell, float] = {}
    for place, cell in enumerate(rows[index]):
        found = [places[other] for other in links.get(cell, ()) if other in places]
        keys[cell] = sum(found) / len(found) if found else float(place)
    rows[index].sort(key=lambda cell: keys[cell])


def crossings(rows: Sequence[Sequence[Cell]], down: Links[Cell]) -> int:
    """How many links between neighbouring rows cross."""
    total = 0
    for row, below in pairwise(rows):
        places = {cell: place for place, cell in enumerate(below)}
        ends: list[int] = []
        for cell in row:
            mine = sorted(places[other] for other in down.get(cell, ()) if other in places)
            total += sum(1 for end in ends for other in mine if end > other)
            ends += mine
    return total


def placed(
    rows: Sequence[Sequence[Cell]],
    up: Links[Cell],
    down: Links[Cell],
    width: Mapping[Cell, float],
    weight: Mapping[Cell, float],
) -> dict[Cell, float]:
    """The x of the middle of every cell, so that no two of a row overlap.

    Cells of little weight make room for the others.
    """
    x: dict[Cell, float] = {}
    for row in rows:
        at = 0.0
        for cell in row:
            x[cell] = at + width[cell] / 2
            at += width[cell] + GAP
    both = {cell: (*up.get(cell, ()), *down.get(cell, ())) for row in rows for cell in row}
    for turn in range(TURNS):
        links = (down, up)[turn % 2] if turn < TURNS / 2 else both
        for row in rows if turn % 2 else reversed(rows):
            wishes = []
            for cell in row:
                near = links.get(cell, ())
                total = sum(weight[other] for other in near)
                mean = sum(x[other] * weight[other] for other in near) / total if near else x[cell]
                wishes.append((mean, weight[cell]))
            x.update(zip(row, _apart(row, wishes, width), strict=True))
    return x


def _apart(
    row: Sequence[Cell], wishes: Sequence[tuple[float, float]], width: Mapping[Cell, float]
) -> list[float]:
    """The places nearest to the weighted wishes that keep the cells in order and apart."""
    offsets: list[float] = []  # of each cell from the first, at the least distance
    for cell, before in zip(row, (None, *row), strict=False):
        step = 0.0 if before is None else (width[before] + width[cell]) / 2 + GAP
        offsets.append((offsets[-1] if offsets else 0.0) + step)
    groups: list[tuple[float, float, int]] = []  # sum, weight, number of those that share a place
    for (wish, weight), offset in zip(wishes, offsets, strict=True):
        group = ((wish - offset) * weight, weight, 1)
        while groups and groups[-1][0] / groups[-1][1] > group[0] / group[1]:
            left = groups.pop()
            group = (group[0] + left[0], group[1] + left[1], group[2] + left[2])
        groups.append(group)
    starts = [total / weight for total, weight, count in groups for _ in range(count)]
    return [start + offset for start, offset in zip(starts, offsets, strict=True)]
