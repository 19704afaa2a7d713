"""Places every box, edge and frame of a picture.

A block is rows in two columns (`bands.py`), with edges within a column led from row to row between
the boxes (`ordering.py`); edges from one column to the other, which are what the forward keeps for
the backward, go across. The blocks of a branch stand side by side below it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from tracegrad.introspection.drawing.bands import Band, bands_of
from tracegrad.introspection.drawing.ordering import GAP, ordered, placed
from tracegrad.introspection.drawing.picture import Box, Edge, Line, Picture, Region

CHARACTER, SMALL = 7.3, 6.1  # the width of a character in the first and in the second line of a box
MOST = 44  # characters of a line; resting on the box shows all
HEIGHT, PILL = 42.0, 36.0  # of boxes, of inputs and looks
BETWEEN = 30.0  # rows
COLUMNS = 84.0  # between forward and backward
INSIDE = 14.0  # between a frame and what is in it
TITLE = 24.0  # the height of a frame's title
LANE = 6.0  # the width of a place where an edge passes between boxes

Point = tuple[float, float]


@dataclass(frozen=True)
class Place:
    """A rectangle."""

    x: float
    y: float
    width: float
    height: float

    def moved(self, x: float, y: float) -> Place:
        return Place(self.x + x, self.y + y, self.width, self.height)


@dataclass(frozen=True)
class Frame:
    """A rectangle with a title: of a line, or of an outcome of a branch."""

    place: Place
    title: str
    line: Line | None


@dataclass
class Plan:
    """Where everything stands; `routes` are the points that edges pass, `across` those sideways."""

    width: float = 0.0
    height: float = 0.0
    boxes: dict[Box, Place] = field(default_factory=dict)
    routes: dict[Edge, tuple[Point, ...]] = field(default_factory=dict)
    bands: list[Frame] = field(default_factory=list)
    outcomes: list[Frame] = field(default_factory=list)
    across: set[Edge] = field(default_factory=set)

    def add(self, other: Plan, x: float, y: float) -> None:
        """Puts another plan into this one."""
        self.boxes |= {box: place.moved(x, y) for box, place in other.boxes.items()}
        for edge, points in other.routes.items():
            moved = tuple((a + x, b + y) for a, b in points)
            self.routes[edge] = self.routes.get(edge, ()) + moved
        for mine, theirs in ((self.bands, other.bands), (self.outcomes, other.outcomes)):
            mine += [Frame(f.place.moved(x, y), f.title, f.line) for f in theirs]


def first_line(box: Box) -> str:
    """What stands in the first line of a box."""
    return _cut(f"{box.name} = {box.text}" if box.name and box.text else box.name or box.text)


def second_line(box: Box) -> str:
    """What stands in the second line of a box: the type, and the lengths seen."""
    room = MOST - len(box.seen) - 2 if box.seen else MOST
    return "  ".join(part for part in (_cut(box.type, max(room, 12)), box.seen) if part)


def _cut(text: str, most: int = MOST) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}…"


def size(box: Box) -> tuple[float, float]:
    """Width and height of a box."""
    width = max(len(first_line(box)) * CHARACTER, len(second_line(box)) * SMALL) + 22.0
    return width, PILL if box.kind in ("input", "look", "number") else HEIGHT


def plan(picture: Picture) -> Plan:
    """The places of everything in a picture."""
    whole = _region(picture.body, picture.edges)
    for edge in picture.edges:
        if edge not in whole.routes:
            _across(whole, edge)
    return whole


def _region(region: Region, edges: Sequence[Edge]) -> Plan:
    """The plan of a block and of those in it."""
    mine, below = set(region.boxes), set().union(*map(every_box, region.inner))
    here = mine | below
    touching = [e for e in edges if e.start in mine or (e.end in here and e.start not in below)]
    bands = bands_of(region.boxes, touching)
    result = _columns(bands, touching, below)
    inner = [_region(each, edges) for each in region.inner]
    if inner:
        _side_by_side(result, region.inner, inner)
    return result


def _side_by_side(result: Plan, regions: Sequence[Region], inner: Sequence[Plan]) -> None:
    """Adds the blocks of a branch below what is there."""
    total = sum(each.width + 2 * INSIDE for each in inner) + GAP * (len(inner) - 1)
    if total > result.width:  # what stands above goes to the middle
        above = Plan()
        above.add(result, (total - result.width) / 2, 0.0)
        for name in ("boxes", "routes", "bands", "outcomes"):
            setattr(result, name, getattr(above, name))
    x, y = max(0.0, (result.width - total) / 2), result.height + BETWEEN
    for region, each in zip(regions, inner, strict=True):
        height = each.height + TITLE + INSIDE
        place = Place(x, y, each.width + 2 * INSIDE, height)
        result.add(each, x + INSIDE, y + TITLE)
        result.outcomes.append(Frame(place, region.title, None))
        result.height = max(result.height, y + height)
        x += place.width + GAP
    result.width = max(result.width, total)


def every_box(region: Region) -> set[Box]:
    """The boxes of a block and of those in it."""
    return set(region.boxes).union(*map(every_box, region.inner))


# -- the columns of a block -----------------------------------------------------------------------


@dataclass(frozen=True)
class _Lane:
    """Where the edges from a box pass a row."""

    start: Box
    row: int


_Cell = Box | _Lane


@dataclass
class _Column:
    """The rows of one column, with lanes for the edges that pass rows."""

    rows: list[list[_Cell]]
    left: bool
    up: dict[_Cell, list[_Cell]] = field(default_factory=dict)
    down: dict[_Cell, list[_Cell]] = field(default_factory=dict)
    chains: dict[Edge, tuple[_Cell, ...]] = field(default_factory=dict)

    def link(self, upper: _Cell, lower: _Cell) -> None:
        if lower not in self.down.setdefault(upper, []):
            self.down[upper].append(lower)
            self.up.setdefault(lower, []).append(upper)


def _column(
    rows: Sequence[Sequence[Box]],
    edges: Iterable[Edge],
    mine: set[Box],
    below: set[Box],
    left: bool,
) -> _Column:
    """A column with its edges led through the rows; edges from one box share their lanes.

    An edge from above the block comes in at its first row, one to the blocks `below` goes out at
    its last; what only passes does so in the column at the left.
    """
    column = _Column([list(row) for row in rows], left)
    row_of = {box: index for index, row in enumerate(rows) for box in row}
    known: set[_Lane] = set()
    for edge in edges:
        first, last = row_of.get(edge.start), row_of.get(edge.end)
        if edge.start not in mine and (last is not None or (edge.end in below and column.left)):
            first = -1
        if edge.end in below and first is not None:
            last = len(rows)
        if first is None or last is None or first == last:
            continue
        step = 1 if last > first else -1
        lanes = [_Lane(edge.start, row) for row in range(first + step, last, step)]
        for lane in lanes:
            if lane not in known:
                known.add(lane)
                column.rows[lane.row].append(lane)
        chain: tuple[_Cell, ...] = (
            *((edge.start,) if first in range(len(rows)) else ()),
            *lanes,
            *((edge.end,) if last in range(len(rows)) else ()),
        )
        for a, b in pairwise(chain):
            column.link(*((a, b) if step > 0 else (b, a)))
        column.chains[edge] = chain
    return column


def _columns(bands: Sequence[Band], edges: Sequence[Edge], below: set[Box]) -> Plan:
    """The two columns of a block beside one another."""
    result = Plan()
    tops, heights = _heights(bands, result)
    mine = {box for band in bands for box in (*band.forward, *band.backward)}
    left = 0.0
    for side in (0, 1):
        rows = [row for band in bands for row in band.rows[side]]
        if not any(rows):
            continue
        column = _column(rows, edges, mine, below, side == 0)
        widths: dict[_Cell, float] = {
            cell: size(cell)[0] if isinstance(cell, Box) else LANE
            for row in column.rows
            for cell in row
        }
        cells = ordered(column.rows, column.up, column.down, rising=side == 1)
        weights = {cell: _weight(cell) for cell in widths}
        x = placed(cells, column.up, column.down, widths, weights)
        least = min(x[cell] - widths[cell] / 2 for cell in widths)
        shift = left + INSIDE - least
        middle: dict[_Cell, Point] = {}
        for index, row in enumerate(cells):
            for cell in row:
                middle[cell] = (x[cell] + shift, tops[index] + heights[index] / 2)
        for cell, (a, b) in middle.items():
            if isinstance(cell, Box):
                width, height = size(cell)
                result.boxes[cell] = Place(a - width / 2, b - height / 2, width, height)
        result.routes |= _routes(column, middle, result.boxes, tops, heights)
        most = max(x[cell] + widths[cell] / 2 for cell in widths)
        result.width = shift + most + INSIDE
        left = result.width - 2 * INSIDE + COLUMNS
    _widen(bands, result)
    return result


def _weight(cell: _Cell) -> float:
    """Long edges are to be straight, and inputs stand where there is room."""
    if isinstance(cell, _Lane):
        return 4.0
    return 0.1 if cell.kind == "input" else 1.0


def _heights(bands: Sequence[Band], result: Plan) -> tuple[list[float], list[float]]:
    """Top and height of every row; the frames of the bands are added to the plan."""
    tops: list[float] = []
    heights: list[float] = []
    y = 0.0
    for band in bands:
        start = y
        y += TITLE + 6.0 if band.line is not None else INSIDE
        for left, right in zip(*band.rows, strict=True):
            height = max([size(box)[1] for box in (*left, *right)], default=0.0)
            tops.append(y)
            heights.append(height)
            y += height + BETWEEN
        y += INSIDE - BETWEEN
        place = Place(0.0, start, 0.0, y - start)
        title = str(band.line) if band.line is not None else ""
        result.bands.append(Frame(place, title, band.line))
        y += 10.0
    result.height = max(0.0, y - 10.0)
    return tops, heights


def _widen(bands: Sequence[Band], result: Plan) -> None:
    """Frames as wide as the block, and the block as wide as their titles."""
    titles = max((len(str(band.line)) for band in bands if band.line is not None), default=0)
    result.width = max(result.width, min(titles, 90) * SMALL + 2 * INSIDE)
    result.bands = [
        Frame(Place(0.0, f.place.y, result.width, f.place.height), f.title, f.line)
        for f in result.bands
    ]


def _routes(
    column: _Column,
    middle: dict[_Cell, Point],
    boxes: dict[Box, Place],
    tops: Sequence[float],
    heights: Sequence[float],
) -> dict[Edge, tuple[Point, ...]]:
    """The points of every edge of a column: out of one box, along the lanes, into the other."""
    routes: dict[Edge, tuple[Point, ...]] = {}
    ports = _ports(column, middle, boxes)
    for edge, chain in column.chains.items():
        downward = _downward(chain, middle)
        points: list[Point] = []
        for cell in chain:
            if isinstance(cell, _Lane):
                x, top = middle[cell][0], tops[cell.row]
                bottom = top + heights[cell.row]
                points += [(x, top), (x, bottom)] if downward else [(x, bottom), (x, top)]
            elif cell is edge.start:
                place = boxes[cell]
                points.append((middle[cell][0], place.y + (place.height if downward else 0.0)))
            else:
                place = boxes[cell]
                points.append((ports[edge], place.y + (0.0 if downward else place.height)))
        routes[edge] = tuple(points)
    return routes


def _ports(
    column: _Column, middle: dict[_Cell, Point], boxes: dict[Box, Place]
) -> dict[Edge, float]:
    """Where on a box its edges come in: side by side, in the order of where they come from."""
    arriving: dict[tuple[Box, bool], list[Edge]] = {}
    for edge, chain in column.chains.items():
        if chain[-1] is edge.end:
            arriving.setdefault((edge.end, _downward(chain, middle)), []).append(edge)
    ports: dict[Edge, float] = {}
    for (box, _), edges in arriving.items():
        edges.sort(key=lambda edge: middle[column.chains[edge][-2:][0]][0])
        place = boxes[box]
        step = min(26.0, place.width / (len(edges) + 1))
        for index, edge in enumerate(edges):
            shift = (index - (len(edges) - 1) / 2) * step
            ports[edge] = place.x + place.width / 2 + shift
    return ports


def _downward(chain: Sequence[_Cell], middle: dict[_Cell, Point]) -> bool:
    """Whether an edge goes down; one of a single cell comes from above or leaves below."""
    return len(chain) == 1 or middle[chain[0]][1] < middle[chain[-1]][1]


def _across(plan: Plan, edge: Edge) -> None:
    """An edge to the other column, or within a row: from side to side."""
    start, end = plan.boxes[edge.start], plan.boxes[edge.end]
    plan.across.add(edge)
    high = start.y + start.height / 2, end.y + end.height / 2
    if start.x + start.width <= end.x:
        plan.routes[edge] = ((start.x + start.width, high[0]), (end.x, high[1]))
    elif end.x + end.width <= start.x:
        plan.routes[edge] = ((start.x, high[0]), (end.x + end.width, high[1]))
    else:  # one above the other
        plan.routes[edge] = ((start.x + start.width, high[0]), (end.x + end.width, high[1]))
