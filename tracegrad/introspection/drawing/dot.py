"""Writes a picture as text for Graphviz, for those who want its layouts."""

from __future__ import annotations

from collections.abc import Mapping

from codegen.ir import Graph
from tracegrad.introspection.drawing.layout import first_line, second_line
from tracegrad.introspection.drawing.picture import Box, Edge, Picture, Region, picture
from tracegrad.introspection.drawing.svg import LIGHT


def draw_dot(
    graph: Graph,
    target: str = "numpy",
    known: Mapping[str, int] | None = None,
    fused: bool = False,
) -> str:
    """The graph in the DOT language; arguments are those of `picture`."""
    return write_dot(picture(graph, target, known, fused))


def write_dot(picture: Picture) -> str:
    """The picture in the DOT language, with a cluster for each block of a branch or loop."""
    lines = [
        f"digraph {_quoted(picture.name)} {{",
        '  node [shape=box, style="rounded,filled", fontname="monospace", fontsize=11];',
        "  edge [arrowsize=0.6];",
        *_region(picture.body, "  ", "cluster"),
        *map(_edge, picture.edges),
        "}",
    ]
    return "\n".join(lines) + "\n"


def _region(region: Region, indent: str, name: str) -> list[str]:
    lines = [f"{indent}{_node(box)}" for box in region.boxes]
    for index, inner in enumerate(region.inner):
        inside = f"{name}_{index}"
        lines += [
            f"{indent}subgraph {inside} {{",
            f"{indent}  label={_quoted(inner.title)}; style=dashed; color={_colour('look')};",
            *_region(inner, f"{indent}  ", inside),
            f"{indent}}}",
        ]
    return lines


def _node(box: Box) -> str:
    role = box.kind if box.kind in ("input", "look") else "backward" if box.section else "forward"
    label = "\n".join(part for part in (first_line(box), second_line(box)) if part)
    given = {
        "label": _quoted(label),
        "tooltip": _quoted(box.title),
        "color": _colour(role),
        "fillcolor": _colour(f"{role}-fill"),
    }
    if box.returned:
        given["penwidth"] = "2.5"
    if box.fused:
        given["peripheries"] = "2"
    return f"{box.id} [{', '.join(f'{key}={value}' for key, value in given.items())}];"


def _edge(edge: Edge) -> str:
    style = "dashed" if edge.saved else "solid"
    role = "saved" if edge.saved else "backward" if edge.end.section else "forward"
    return f"  {edge.start.id} -> {edge.end.id} [style={style}, color={_colour(role)}];"


def _colour(role: str) -> str:
    return _quoted(LIGHT[role])


def _quoted(text: str) -> str:
    shown = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{shown}"'
