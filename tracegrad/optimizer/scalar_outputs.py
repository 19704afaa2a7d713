"""Leaves out what would make a scalar of a scalar, or an array of an array, before it is returned.

Which of the two an output without axes is was decided where the function was traced
(`tracegrad.compiled.joint_graph`); what a program computes nearly always is that anyway. ::

    %a = sum(x)                                %a = sum(x)
    %a.1 = returned_scalar(%a)
    return %a.1                                return %a
"""

from __future__ import annotations

from collections.abc import Callable

from codegen.ir import (
    Block,
    Branch,
    Call,
    Constant,
    Graph,
    Join,
    Loop,
    Node,
    Trait,
    Value,
    with_blocks,
)
from codegen.passes.client import Client
from codegen.types import LIST
from tracegrad.ops.elementwise.arrays_and_scalars import returned_array, returned_scalar
from tracegrad.ops.shape.indexing import element

ARRAYS = frozenset({
    *("copy", "full", "halve_where", "isin", "keep_where", "normal_cdf", "numpy_i0", "scatter"),
    *("tensordot", "where", "zero_where"),
})  # fmt: skip
"""Ops whose results without axes are arrays."""
AS_OPERAND = frozenset({"alias", "astype", "copy_in_order", "imag", "real", "stop_gradient"})
"""Ops whose results without axes are what their operand is."""


def scalar_outputs(graph: Graph, client: Client) -> Graph:
    """The graph without conversions of outputs that change nothing."""
    known = scalars(graph)
    return graph.with_block(_without(graph, graph.block, known))


def _without(graph: Graph, block: Block, known: Callable[[Value], bool]) -> Block:
    nodes: list[Node] = []
    for node in block.nodes:
        if isinstance(node, Branch | Loop | Join):
            node = with_blocks(node, tuple([_without(graph, b, known) for b in node.blocks]))
        nodes.append(node)
    taken = {graph.owner[output] for output in block.outputs}
    outputs = []
    for output in block.outputs:
        found = _as_it_is(graph, output, taken, known)
        taken.add(graph.owner[found])
        outputs.append(found)
    return block.with_nodes(tuple(nodes), tuple(outputs))


def _as_it_is(
    graph: Graph, output: Value, taken: set[Value], known: Callable[[Value], bool]
) -> Value:
    """An output before its conversion, where that is one to what it is already.

    An array is returned as it is where none of its memory, those in `taken`, is returned besides.
    """
    made = graph.producer.get(output)
    if not isinstance(made, Call) or made.op not in (returned_array, returned_scalar):
        return output
    (x,) = made.operands
    if made.op is returned_scalar:
        return x if known(x) else output
    before = graph.producer.get(x)
    new = isinstance(before, Call) and before.op.name in ARRAYS
    return x if new and graph.owner[x] not in taken else output


def scalars(graph: Graph) -> Callable[[Value], bool]:
    """Tells of values without axes whether they are NumPy scalars when a program runs."""
    given = graph.given
    parameters = {p for p in given if not p.type.shape}

    def is_scalar(value: Value) -> bool:
        if value in parameters:
            return True
        made = graph.producer.get(value)
        if isinstance(made, Constant):
            return True
        if not isinstance(made, Call) or value.type.shape:
            return False
        op = made.op
        if op in (element, returned_scalar) or Trait.EXTENT in op.traits:
            return True
        if op.name in AS_OPERAND:
            return is_scalar(made.operands[0])
        others = op.name in ARRAYS or _may_be_array(made)
        seen = Trait.EFFECT not in op.traits and all(x.type != LIST for x in made.operands)
        return made.memory is None and Trait.UPDATE not in op.traits and seen and not others

    while lost := {p for p in parameters if not all(map(is_scalar, given[p]))}:
        parameters -= lost
    return is_scalar


def _may_be_array(call: Call) -> bool:
    """Whether NumPy decides by the order that it finds best, as for labels in an ellipsis."""
    several = call.op.name.startswith("einsum_")
    return several and not call.attribute("subscripts").endswith("->")
