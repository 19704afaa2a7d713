"""Draws graphs: as SVG (`draw_svg`) or as text for Graphviz (`draw_dot`).

    graph --picture--> boxes and edges --layout--> places --svg--> text

The picture says what is to be seen, the layout where it stands, and the writers how it looks.
"""

from codegen.ir import Graph
from tracegrad.introspection.drawing.dot import draw_dot
from tracegrad.introspection.drawing.layout import Plan, plan
from tracegrad.introspection.drawing.picture import Box, Edge, Line, Picture, Region, picture
from tracegrad.introspection.drawing.svg import draw_svg, write_svg

__all__ = [
    "Box",
    "Edge",
    "Line",
    "Picture",
    "Plan",
    "Region",
    "draw_dot",
    "draw_svg",
    "picture",
    "plan",
    "write_svg",
]

Graph._repr_svg_ = draw_svg  # what a notebook shows
