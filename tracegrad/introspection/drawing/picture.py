"""Makes the boxes and edges of a graph's picture, with all that they say but no places.

A box is a node or an input. A number stands where it is read, so constants have no boxes of their
own (but those that are returned); `Box.nodes` tells all the nodes that a box shows. Each block of a
branch or loop is a `Region`; what a loop's parameters are given goes to its box and to those of its
next turns.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from codegen.array_bytes import bytes_text
from codegen.emit import TARGETS
from codegen.ir import (
    NOWHERE,
    Again,
    Block,
    Branch,
    Call,
    Check,
    Constant,
    Graph,
    Join,
    Loop,
    Node,
    Origin,
    Value,
)
from codegen.passes.fuse import fuse
from tracegrad.introspection.drawing.labels import Words


@dataclass(frozen=True)
class Line:
    """A line of the user's."""

    file: str
    number: int
    text: str

    def __str__(self) -> str:
        return f"{self.file}:{self.number}  {self.text}".strip()


@dataclass(frozen=True, eq=False)
class Box:
    """What one box says.

    `nodes` are places in ``graph.all_nodes``, this node's last; an input has none. `kind` is
    "input", "op", "view", "look" or "number". `saved` tells that a later section reads the value.
    Boxes of one number `fused` run together where arrays are large (`codegen.passes.fuse`).
    """

    id: str
    kind: str
    section: str
    name: str
    text: str
    type: str = ""
    seen: str = ""
    bytes: int | None = None
    saved: bool = False
    returned: str = ""
    nodes: tuple[int, ...] = ()
    line: Line | None = None
    origin: Origin = NOWHERE
    fused: int = 0

    @property
    def title(self) -> str:
        """What a pointer resting on the box is told."""
        shown = f"{self.name} = {self.text}" if self.name and self.text else self.name or self.text
        lines = [shown, " ".join(part for part in (self.type, self.seen) if part)]
        if self.kind == "view":
            lines.append("a view: no memory of its own")
        elif self.bytes is not None:
            lines.append(bytes_text(self.bytes))
        if self.saved:
            lines.append("kept for the backward")
        if self.fused:
            lines.append(f"fused, region {self.fused}: in tiles where arrays are large")
        if self.returned:
            lines.append(f"returned as {self.returned}")
        if self.line is not None:
            lines.append(f"{self.section + ' of ' if self.section else ''}{self.line}")
        return "\n".join(line for line in lines if line)


@dataclass(frozen=True)
class Edge:
    """A value goes from the box that makes it to one that reads it; `saved` across sections."""

    start: Box
    end: Box
    saved: bool


@dataclass(frozen=True)
class Region:
    """The boxes of a block; where it ends in a branch, `inner` has a region for each outcome."""

    title: str
    boxes: tuple[Box, ...]
    inner: tuple[Region, ...] = ()


@dataclass(frozen=True)
class Picture:
    """A graph to be drawn."""

    name: str
    body: Region
    edges: tuple[Edge, ...]

    @property
    def boxes(self) -> tuple[Box, ...]:
        """All boxes, in the order of the program."""

        def inside(region: Region) -> list[Box]:
            found = list(region.boxes)
            for inner in region.inner:
                found += inside(inner)
            return found

        return tuple(inside(self.body))

    @property
    def kept(self) -> int:
        """How many bytes the backward needs of the forward, inputs not counted."""
        return sum(b.bytes or 0 for b in self.boxes if b.saved and b.kind == "op")


def picture(
    graph: Graph,
    target: str = "numpy",
    known: Mapping[str, int] | None = None,
    fused: bool = False,
) -> Picture:
    """What is to be drawn of a graph; `known` are lengths by symbol, else those of its trace.

    With `fused` the graph is a program's, whose regions are told.
    """
    seen = graph.sizes.seen if known is None else known
    tiled = fuse(graph) if fused and TARGETS[target].tiles else None
    regions = [region for found in tiled.regions.values() for region in found] if tiled else []
    numbers = {call: i for i, region in enumerate(regions, 1) for call in region}
    return _Drawer(graph, Words(graph, target, seen), numbers).run()


@dataclass
class _Drawer:
    graph: Graph
    words: Words
    regions: Mapping[Call, int]
    boxes: dict[Value, Box] = field(default_factory=dict)  # by the value that a box makes
    edges: dict[tuple[str, str], Edge] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.place = {id(node): i for i, node in enumerate(self.graph.all_nodes)}
        self.saved = self._saved()

    def run(self) -> Picture:
        graph = self.graph
        returned = _returned(graph.block, graph.frame.names)
        inputs = tuple(self._input(i, v, returned) for i, v in enumerate(graph.inputs))
        body = self._region("", graph.block, inputs)
        return Picture(graph.name, body, tuple(self.edges.values()))

    def _saved(self) -> set[Value]:
        """Values of the forward that the backward reads, numbers aside."""
        found: set[Value] = set()
        for node in self.graph.all_nodes:
            if isinstance(node, Call) and node.results[0].origin.section:
                found |= {v for v in node.operands if not v.origin.section}
        return {v for v in found if self.graph.constant(v) is None}

    def _input(self, index: int, value: Value, returned: Mapping[Value, str]) -> Box:
        frame = self.graph.frame
        read = frame.reads[index] if index < len(frame.reads) else ""
        name = read or self.words.name(value) or f"input {index}"
        return self._box(f"i{index}", "input", value, name, "", returned)

    def _region(self, title: str, block: Block, before: tuple[Box, ...] = ()) -> Region:
        returned = _returned(block, block.names)
        boxes = list(before)
        inner: list[Region] = []
        for node in block.nodes:
            boxes += self._node(node, returned)
            if isinstance(node, Branch):
                for outcome, each in zip(node.outcomes, node.blocks, strict=True):
                    text = node.origin.text or node.look
                    inner.append(self._region(f"{text}  {outcome}", each))
            elif isinstance(node, Loop):
                titles = (self.words.loop(node), "after it")
                inner += map(self._region, titles, node.blocks)
            elif isinstance(node, Join):
                inner += map(self._region, (node.origin.text, "after it"), node.blocks)
        return Region(title, tuple(boxes), tuple(inner))

    def _node(self, node: Node, returned: Mapping[Value, str]) -> list[Box]:
        place = self.place[id(node)]
        match node:
            case Constant(_, result):
                if result not in returned and self.graph.users.get(result):
                    return []
                text = self.words.operand(result).text
                return [self._box(f"n{place}", "number", result, "", text, returned, (place,))]
            case Call(_, operands, _, results):
                text = self.words.expression(node)
                kind = "op" if node.shown is None else "view"
                name = ", ".join(filter(None, map(self.words.name, results)))
                nodes = self._shown_in(operands, place)
                names = {results[0]: ", ".join(returned[r] for r in results if r in returned)}
                box = self._box(f"n{place}", kind, results[0], name, text, names, nodes, node)
                self.boxes.update(dict.fromkeys(results, box))
            case Check(operand, look, outcome, origin):
                box = self._looked(node, place, f"{look} was {outcome}", origin)
            case Branch(operand, look, outcomes, _, origin):
                text = f"{look}: {' or '.join(map(str, outcomes))}"
                box = self._looked(node, place, text, origin)
            case Loop(origin=origin):
                box = self._looked(node, place, "runs again and again", origin)
                box = replace(box, text=self.words.loop(node))
                self.boxes.update(dict.fromkeys(node.results, box))
            case Join(origin=origin):
                box = replace(self._looked(node, place, "", origin), text="ways that meet")
                self.boxes.update(dict.fromkeys(node.results, box))
            case Again(label, origin=origin):
                turn = any(isinstance(n, Loop) and n.label == label for n in self.graph.all_nodes)
                text = "next turn" if turn else "after it"
                box = replace(self._looked(node, place, "", origin), text=text)
        for operand in node.operands:
            start = self.boxes.get(operand)
            if start is not None:
                edge = Edge(start, box, start.section != box.section)
                self.edges[start.id, box.id] = edge
        return [box]

    def _looked(self, node: Node, place: int, seen: str, origin: Origin) -> Box:
        return Box(
            id=f"n{place}",
            kind="look",
            section=origin.section,
            name="",
            text=origin.text.removesuffix(":")
            or ", ".join(self.words.operand(operand).text for operand in node.operands),
            type=seen,
            nodes=self._shown_in(node.operands, place),
            line=_line(origin),
            origin=origin,
        )

    def _shown_in(self, operands: tuple[Value, ...], place: int) -> tuple[int, ...]:
        """The numbers that a box shows in its text, and its own node."""
        found: list[int] = []
        for operand in operands:
            constant = self.graph.constant(operand)
            if constant is not None and operand not in self.boxes:
                found.append(self.place[id(constant)])
        return (*dict.fromkeys(found), place)

    def _box(
        self,
        id: str,
        kind: str,
        value: Value,
        name: str,
        text: str,
        returned: Mapping[Value, str],
        nodes: tuple[int, ...] = (),
        call: Call | None = None,
    ) -> Box:
        results = call.results if call is not None else (value,)
        sizes = [self.words.bytes(result) for result in results]
        box = Box(
            id=id,
            kind=kind,
            section=value.origin.section,
            name=name,
            text=text,
            type=", ".join(self.words.type(result.type) for result in results),
            seen=self.words.seen(value.type) if len(results) == 1 else "",
            bytes=None if None in sizes else sum(size or 0 for size in sizes),
            saved=any(result in self.saved for result in results),
            returned=returned.get(value, ""),
            nodes=nodes,
            line=_line(value.origin),
            origin=value.origin,
            fused=self.regions.get(call, 0) if call is not None else 0,
        )
        self.boxes[value] = box
        return box


def _line(origin: Origin) -> Line | None:
    return Line(origin.file, origin.line, origin.text) if origin.line else None


def _returned(block: Block, names: tuple[str, ...]) -> dict[Value, str]:
    """What each output of a block is returned as."""
    found: dict[Value, str] = {}
    for index, output in enumerate(block.outputs):
        name = names[index] if index < len(names) else f"result {index}"
        found[output] = f"{found[output]}, {name}" if output in found else name
    return found
