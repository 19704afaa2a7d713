"""What the steps on loops share to replace parts of a loop."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from codegen.ir import (
    Block,
    Branch,
    Builder,
    Call,
    Graph,
    Join,
    Loop,
    Node,
    Origin,
    Value,
    dims_of,
)
from codegen.types import LIST, ArrayType
from tracegrad.fast_math.loops.loop_body import FIRST
from tracegrad.ops.python_lists import room
from tracegrad.ops.shape.indexing import gather


def replaced(block: Block, loop: Loop, nodes: Sequence[Node]) -> Block:
    """The block with other nodes in the place of a loop somewhere in it."""
    found: list[Node] = []
    for node in block.nodes:
        if node is loop:
            found += nodes
        elif isinstance(node, Branch | Loop | Join):
            inner = tuple([replaced(b, loop, nodes) for b in node.blocks])
            found.append(replace(node, blocks=inner))
        else:
            found.append(node)
    return block.with_nodes(tuple(found))


def of_one_type(graph: Graph, types: Sequence[ArrayType]) -> bool:
    """Whether values of these types are rows of one array."""
    kinds = {(t.dtype, t.weak, dims_of(graph.sizes, t)) for t in types}
    return len(kinds) == 1 and LIST not in types and not types[0].weak


def new_rows(builder: Builder, type: ArrayType, origin: Origin) -> Value:
    """An array for turns to fill."""
    given = {"shape": type.shape, "dtype": type.dtype, "weak": False}
    return builder.call(room, (), origin, **given)[0]


def row_as(operands: tuple[Value, Value], result: Value) -> Call:
    """``rows[place]`` as a value that there is."""
    attributes: tuple[tuple[str, Any], ...] = (
        ("index", FIRST),
        ("counts", ()),
        ("repeats", False),
    )
    return Call(gather, operands, attributes, (result,))


def of_rows(origin: Origin) -> Origin:
    """What an array is called that has the values of all turns."""
    return origin.named(f"{origin.name}_rows" if origin.name else None, True)
