"""Writes a picture as an SVG that stands alone: no script, no font, light and dark."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from html import escape
from itertools import pairwise

from codegen.array_bytes import bytes_text
from codegen.ir import Graph
from tracegrad.introspection.drawing.layout import (
    Frame,
    Place,
    Point,
    first_line,
    plan,
    second_line,
)
from tracegrad.introspection.drawing.picture import Box, Edge, Line, Picture, picture

MARGIN = 18.0
HEAD = 64.0  # title and legend
LONG = 40  # points of an edge
LEAST = 600.0  # the width that the legend takes

LIGHT = {
    "paper": "#ffffff",
    "ink": "#1c2330",
    "soft": "#667085",
    "frame": "#e4e8ef",
    "band": "#f7f8fb",
    "fill": "#ffffff",
    "forward": "#2563c9",
    "forward-fill": "#eef4ff",
    "backward": "#c2570c",
    "backward-fill": "#fff3e8",
    "input": "#4d7c0f",
    "input-fill": "#f2f9e6",
    "look": "#a21caf",
    "look-fill": "#fcf0fd",
    "saved": "#8a94a6",
    "hot": "#e11d48",
    "fused-0": "#0f9b8e",
    "fused-1": "#b8860b",
    "fused-2": "#7c5cd6",
}
DARK = {
    "paper": "#12161d",
    "ink": "#e6eaf2",
    "soft": "#97a3b6",
    "frame": "#2b3340",
    "band": "#181d26",
    "fill": "#1e2530",
    "forward": "#6ea8fe",
    "forward-fill": "#16263f",
    "backward": "#f59e52",
    "backward-fill": "#38240f",
    "input": "#a3d15c",
    "input-fill": "#1f2c12",
    "look": "#e58df0",
    "look-fill": "#351a39",
    "saved": "#6b788c",
    "hot": "#fb7185",
    "fused-0": "#2dd4bf",
    "fused-1": "#facc15",
    "fused-2": "#b79cff",
}

STYLE = """
.tg-graph { %(light)s }
@media (prefers-color-scheme: dark) { .tg-graph { %(dark)s } }
.tg-graph { background: var(--paper); border-radius: 8px }
.tg-graph .paper { fill: var(--paper) }
.tg-graph text { fill: var(--ink); font: 12px ui-monospace, SFMono-Regular, Menlo, Consolas,
 "DejaVu Sans Mono", monospace; white-space: pre }
.tg-graph .small, .tg-graph .label { font-size: 10px; fill: var(--soft) }
.tg-graph .title { font-size: 15px; font-weight: 600 }
.tg-graph .name { font-weight: 700 }
.tg-graph .band rect { fill: var(--band); stroke: var(--frame); stroke-width: 1 }
.tg-graph .outcome rect { fill: none; stroke: var(--look); stroke-width: 1.2;
 stroke-dasharray: 5 4 }
.tg-graph .of-band, .tg-graph .of-outcome { paint-order: stroke; stroke: var(--band);
 stroke-width: 5px; stroke-linejoin: round }
.tg-graph .of-outcome { fill: var(--look); font-weight: 700; stroke: var(--paper) }
.tg-graph .box rect { stroke-width: 1.3 }
.tg-graph .forward rect { fill: var(--forward-fill); stroke: var(--forward) }
.tg-graph .backward rect { fill: var(--backward-fill); stroke: var(--backward) }
.tg-graph .forward .name { fill: var(--forward) }
.tg-graph .backward .name { fill: var(--backward) }
.tg-graph .view rect { stroke-dasharray: 3 2.5 }
.tg-graph .input rect { fill: var(--input-fill); stroke: var(--input) }
.tg-graph .input .name { fill: var(--input) }
.tg-graph .look rect { fill: var(--look-fill); stroke: var(--look) }
.tg-graph .returned rect { stroke-width: 3 }
.tg-graph .kept { fill: var(--saved); stroke: var(--paper); stroke-width: 1.5 }
.tg-graph .edge { fill: none; stroke-width: 1.4; stroke: var(--soft) }
.tg-graph .edge.forward { stroke: var(--forward) }
.tg-graph .edge.backward { stroke: var(--backward) }
.tg-graph .edge.saved { stroke: var(--saved); stroke-dasharray: 2 4; stroke-linecap: round }
.tg-graph .tip { stroke: none }
.tg-graph .tip.forward { fill: var(--forward) }
.tg-graph .tip.backward { fill: var(--backward) }
.tg-graph .tip.saved { fill: var(--saved) }
.tg-graph .box .fused, .tg-graph .fused { stroke: none }
.tg-graph .box .fused-0, .tg-graph .fused-0 { fill: var(--fused-0) }
.tg-graph .box .fused-1, .tg-graph .fused-1 { fill: var(--fused-1) }
.tg-graph .box .fused-2, .tg-graph .fused-2 { fill: var(--fused-2) }
.tg-graph .box:hover rect, .tg-graph .hot rect { stroke: var(--hot); stroke-width: 2.4 }
.tg-graph .twin rect { stroke: var(--backward); stroke-width: 3 }
.tg-graph .twin.forward rect { stroke: var(--forward) }
.tg-graph .edge.hot { stroke: var(--hot); stroke-width: 2.4 }
.tg-graph .band.warm rect { stroke: var(--hot); stroke-opacity: .6; fill: var(--frame) }
"""

Attributes = Callable[[Box], Mapping[str, str]]


def draw_svg(
    graph: Graph,
    target: str = "numpy",
    known: Mapping[str, int] | None = None,
    fused: bool = False,
) -> str:
    """The picture of a graph; arguments are those of `picture`."""
    return write_svg(picture(graph, target, known, fused))


def write_svg(picture: Picture, attributes: Attributes = lambda box: {}) -> str:
    """The picture as SVG; each box gets `attributes` besides its own."""
    where = plan(picture)
    width = max(where.width, LEAST) + 2 * MARGIN
    height = where.height + HEAD + 2 * MARGIN
    left = MARGIN + max(0.0, (LEAST - where.width) / 2)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" class="tg-graph" role="img" '
        f'aria-label="{_attribute(f"graph of {picture.name}")}" width="{_n(width)}" '
        f'height="{_n(height)}" viewBox="0 0 {_n(width)} {_n(height)}">',
        f"<style>{_style()}</style>",
        f'<rect class="paper" width="{_n(width)}" height="{_n(height)}" rx="8"/>',
        *_head(picture),
        f'<g transform="translate({_n(left)} {_n(MARGIN + HEAD)})">',
    ]
    for frame in where.bands:
        if frame.line is not None:
            parts.append(_frame(frame, "band"))
    parts += [_frame(frame, "outcome") for frame in where.outcomes]
    drawn: dict[Box, set[Point]] = {}
    for edge in sorted(picture.edges, key=lambda edge: not edge.saved):
        points = _branching_off(where.routes[edge], drawn.setdefault(edge.start, set()))
        parts.append(_edge(edge, points, edge in where.across))
    parts += [_title(frame, "band") for frame in where.bands if frame.line is not None]
    parts += [_title(frame, "outcome") for frame in where.outcomes]
    parts += [_box(box, place, attributes(box)) for box, place in where.boxes.items()]
    return "\n".join([*parts, "</g>", "</svg>\n"])


def _style() -> str:
    def variables(colours: Mapping[str, str]) -> str:
        return "; ".join(f"--{name}: {colour}" for name, colour in colours.items())

    return STYLE % {"light": variables(LIGHT), "dark": variables(DARK)}


def _n(value: float) -> str:
    """A number with at most one decimal, the same in every process."""
    return f"{value:.1f}".removesuffix(".0")


# Characters that XML does not allow, whatever stands in the user's strings.
_FORBIDDEN = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def text_of(text: str) -> str:
    """Text between tags."""
    return escape(_FORBIDDEN.sub("\ufffd", text), quote=False)


def _attribute(text: str) -> str:
    return escape(_FORBIDDEN.sub("\ufffd", text)).replace("\n", "&#10;")


def line_id(line: Line) -> str:
    """How an element says which line it belongs to."""
    return f"{line.file}:{line.number}"


# -- the parts ------------------------------------------------------------------------------------


def _head(picture: Picture) -> list[str]:
    """The title, what there is, and what the colours mean."""
    boxes = picture.boxes
    forward = sum(1 for b in boxes if not b.section and b.kind != "input")
    backward = sum(1 for b in boxes if b.section)
    facts = [f"{forward} forward"] if backward else [f"{forward} operation{'s' * (forward != 1)}"]
    facts += [f"{backward} backward"] if backward else []
    facts += [f"{bytes_text(picture.kept)} kept for the backward"] if picture.kept else []
    parts = [
        f'<text class="title" x="{_n(MARGIN)}" y="28">{text_of(picture.name)}</text>',
        f'<text class="label" x="{_n(MARGIN)}" y="45">{text_of(" · ".join(facts))}</text>',
    ]
    kinds = [("input", "input"), ("op forward", "forward")]
    kinds += [("op backward", "backward")] if backward else []
    kinds += [("look", "look")] if any(b.kind == "look" for b in boxes) else []
    kinds += [("op forward returned", "returned")]
    kinds += [("op forward view", "view")] if any(b.kind == "view" for b in boxes) else []
    x = MARGIN
    for kind, word in kinds:
        parts.append(
            f'<g class="{kind}"><rect x="{_n(x)}" y="55" width="14" height="11" rx="3"/></g>'
            f'<text class="label" x="{_n(x + 19)}" y="64">{word}</text>'
        )
        x += 32 + len(word) * 6.2
    if any(edge.saved for edge in picture.edges):
        parts.append(
            f'<path class="edge saved" d="M{_n(x)} 61h22"/>'
            f'<circle class="kept" cx="{_n(x + 1)}" cy="61" r="4"/>'
            f'<text class="label" x="{_n(x + 28)}" y="64">kept for the backward</text>'
        )
        x += 180
    if any(box.fused for box in boxes):
        parts.append(
            f'<path class="fused fused-0" d="M{_n(x)} 54h4v14h-4z"/>'
            f'<text class="label" x="{_n(x + 9)}" y="64">fused</text>'
        )
    return parts


def _frame(frame: Frame, kind: str) -> str:
    place = frame.place
    data = f' data-g="{_attribute(line_id(frame.line))}"' if frame.line is not None else ""
    return (
        f'<g class="{kind}"{data}><title>{text_of(frame.title)}</title>'
        f'<rect x="{_n(place.x)}" y="{_n(place.y)}" width="{_n(place.width)}" '
        f'height="{_n(place.height)}" rx="8"/></g>'
    )


def _title(frame: Frame, kind: str) -> str:
    """The title of a frame, which stands above the edges."""
    place = frame.place
    room = max(8, int((place.width - 16) / 6.1))
    title = frame.title if len(frame.title) <= room else f"{frame.title[: room - 1]}…"
    return (
        f'<text class="of-{kind} label" x="{_n(place.x + 10)}" y="{_n(place.y + 15)}">'
        f"{text_of(title)}</text>"
    )


def _branching_off(points: tuple[Point, ...], drawn: set[Point]) -> tuple[Point, ...]:
    """A route from where it leaves those that are drawn; short ones are drawn whole.

    An input that is read at the end of a thousand rows has a trunk, not a thousand lines.
    """
    if len(points) <= LONG:
        return points
    shared = [index for index, point in enumerate(points[:-1]) if point in drawn]
    drawn.update(points)
    return points[shared[-1] :] if shared else points


def _edge(edge: Edge, points: tuple[Point, ...], sideways: bool) -> str:
    kind = "saved" if edge.saved else "backward" if edge.end.section else "forward"
    shape = _sideways(*points) if sideways else _smooth(points)
    return (
        f'<path class="edge {kind}" data-from="{edge.start.id}" data-to="{edge.end.id}" '
        f'd="{shape}"/>{_tip(points, kind, sideways)}'
    )


def _smooth(points: tuple[Point, ...]) -> str:
    """A curve that leaves and enters every point vertically."""
    text = f"M{_n(points[0][0])} {_n(points[0][1])}"
    points = _without_steps(points)
    for (x0, y0), (x1, y1) in pairwise(points):
        if abs(x0 - x1) < 0.5:
            text += f"L{_n(x1)} {_n(y1)}"
        else:
            middle = (y0 + y1) / 2
            text += f"C{_n(x0)} {_n(middle)} {_n(x1)} {_n(middle)} {_n(x1)} {_n(y1)}"
    return text


def _without_steps(points: tuple[Point, ...]) -> tuple[Point, ...]:
    """The points but for those in the middle of what is straight."""
    kept = [
        point
        for before, point, after in zip(points, points[1:], points[2:], strict=False)
        if abs(before[0] - point[0]) >= 0.5 or abs(point[0] - after[0]) >= 0.5
    ]
    return (points[0], *kept, points[-1])


def _sideways(start: Point, end: Point) -> str:
    """A curve that leaves and enters horizontally; it swings out between points of one side."""
    (x0, y0), (x1, y1) = start, end
    step = max(30.0, min(120.0, abs(x1 - x0) / 2))
    back = x1 > x0
    a, b = x0 + (step if back else -step), x1 - (step if back else -step)
    return f"M{_n(x0)} {_n(y0)}C{_n(a)} {_n(y0)} {_n(b)} {_n(y1)} {_n(x1)} {_n(y1)}"


def _tip(points: tuple[Point, ...], kind: str, sideways: bool) -> str:
    """The head of an arrow."""
    (x0, y0), (x, y) = points[-2], points[-1]
    if sideways:
        back = -6 if x > x0 else 6
        corners = [(x, y), (x + back, y - 3.2), (x + back, y + 3.2)]
    else:
        back = -6 if y > y0 else 6
        corners = [(x, y), (x - 3.2, y + back), (x + 3.2, y + back)]
    shown = " ".join(f"{_n(a)},{_n(b)}" for a, b in corners)
    return f'<polygon class="tip {kind}" points="{shown}"/>'


def _box(box: Box, place: Place, more: Mapping[str, str]) -> str:
    side = "backward" if box.section else "forward"
    kinds = [box.kind] if box.kind in ("input", "look") else [box.kind, side]
    kinds += ["returned"] if box.returned else []
    data = {"id": box.id, "n": " ".join(map(str, box.nodes[-1:])), "s": side}
    data |= {"c": " ".join(map(str, box.nodes[:-1]))} if box.nodes[1:] else {}
    data |= {"g": line_id(box.line)} if box.line is not None else {}
    data |= {"v": box.name} if box.name else {}
    data |= more
    shown = "".join(f' data-{name}="{_attribute(value)}"' for name, value in data.items())
    x, y = place.x, place.y
    first, second = first_line(box), second_line(box)
    top = place.height / 2 + (4 if not second else -3)
    name = box.name if first.startswith(box.name) else ""
    bold = f'<tspan class="name">{text_of(name)}</tspan>' if name else ""
    lines = [
        f'<g class="{" ".join(["box", *kinds])}" tabindex="0"{shown}>'
        f"<title>{text_of(box.title)}</title>",
        f'<rect x="{_n(x)}" y="{_n(y)}" width="{_n(place.width)}" height="{_n(place.height)}" '
        f'rx="{18 if box.kind in ("input", "look") else 6}"/>',
        f'<text x="{_n(x + place.width / 2)}" y="{_n(y + top)}" text-anchor="middle">{bold}'
        f"{text_of(first[len(name) :])}</text>",
    ]
    if second:
        lines.append(
            f'<text class="small" x="{_n(x + place.width / 2)}" y="{_n(y + top + 15)}" '
            f'text-anchor="middle">{text_of(second)}</text>'
        )
    if box.fused:  # each region has a colour of its own
        bar = f"M{_n(x + 4)} {_n(y + 4)}h4v{_n(place.height - 8)}h-4z"
        lines.append(f'<path class="fused fused-{(box.fused - 1) % 3}" d="{bar}"/>')
    if box.saved and box.kind == "op":
        middle = y + place.height / 2
        lines.append(f'<circle class="kept" cx="{_n(x + place.width)}" cy="{_n(middle)}" r="4.5"/>')
    return "".join([*lines, "</g>"])
