"""Gives every output memory of its own.

What is returned belongs to the caller: an output that is an input, a view of one, a repeated
number or shared with another output becomes a copy (of a repeated number: a full array). A view
of what the program made itself is returned as it is, and so are different rows of one array.

Before::                                   After::

    graph f(x: float64[n0, n1]) {              graph f(x: float64[n0, n1]) {
      %a = transpose(%x)                         %a = transpose(%x)
      return %a                                  %a.1 = copy(%a)
    }                                            return %a.1
                                               }
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

from codegen.ir import (
    Block,
    Branch,
    Builder,
    Call,
    Constant,
    Graph,
    Join,
    Loop,
    Node,
    Op,
    Trait,
    Value,
)
from codegen.loop_ownership import own_parameters
from codegen.passes.client import NO_CLIENT, Client
from codegen.spelling import Subscript


def own_outputs(graph: Graph, client: Client = NO_CLIENT) -> Graph:
    """Copies the outputs that share memory."""
    copy, full = client.copy, client.full
    if copy is None or full is None:
        return graph
    ops = _Ops(copy, client.copy_number or copy, full, client.array_of_number)
    shared = _Shared(_repeated(graph), _scalars(graph))
    return graph.with_block(_owned(graph, graph.block, ops, shared))


class _Ops(NamedTuple):
    """What makes an output that is nobody else's."""

    copy: Op
    copy_number: Op
    full: Op
    array_of_number: Op | None


class _Shared(NamedTuple):
    """`repeated` are values that show some of their memory more than once, `scalars` parameters
    that hold nothing but NumPy scalars, and numbers."""

    repeated: set[Value]
    scalars: set[Value]


def _owned(graph: Graph, block: Block, ops: _Ops, shared: _Shared) -> Block:
    """The block with copies of the outputs that share memory."""
    taken: set[Value] = set(graph.inputs)
    rows: set[tuple[Value, int]] = set()  # that are outputs, of arrays of which no more is
    builder = Builder(graph.sizes)
    for node in block.nodes:
        if isinstance(node, Branch | Loop | Join):
            inner = (_owned(graph, b, ops, shared) for b in node.blocks)
            node = replace(node, blocks=tuple(inner))
        builder.append(node)
    outputs = []
    for output in block.outputs:
        owner, made = graph.owner[output], graph.producer.get(output)
        row = _row(graph, made)
        is_free = owner not in taken and (row not in rows if row else owner not in dict(rows))
        copy = ops.copy if output.type.shape else ops.copy_number
        if output.type.weak or _is_number(made):
            pass
        elif _is_scalar(output, made, shared.scalars) and is_free:
            pass  # NumPy scalars are immutable
        elif isinstance(made, Call) and made.memory is Trait.SPLAT:
            number = made.operands[0]
            if number.type.shape:
                (output,) = builder.call(copy, (output,), output.origin)
            else:
                shape, dtype = output.type.shape, output.type.dtype
                origin = output.origin
                (output,) = builder.call(ops.full, (number,), origin, shape=shape, dtype=dtype)
        elif not is_free or output in shared.repeated or not _is_own(graph, owner):
            again = made if isinstance(made, Call) and made.op in ops else None
            if again is not None:  # such an array is made once more
                attributes = dict(again.attributes)
                results = builder.call(again.op, again.operands, output.origin, **attributes)
            else:
                results = builder.call(copy, (output,), output.origin)
            (output,) = results
        if row is not None:
            rows.add(row)
        else:
            taken.add(owner)
        outputs.append(output)
    return block.with_nodes(tuple(builder.nodes), tuple(outputs))


def _row(graph: Graph, made: Node | None) -> tuple[Value, int] | None:
    """The array and the number of the row that a value shows, where it shows one row alone."""
    if not isinstance(made, Call) or made.memory is not Trait.VIEW or len(made.operands) != 1:
        return None
    x, index = made.operands[0], dict(made.attributes).get("index")
    if not isinstance(index, Subscript) or graph.owner[x] is not x:
        return None
    k = index.items[0] if len(index.items) == 1 else None
    return (x, k) if type(k) is int and k >= 0 else None


def _is_number(node: Node | None) -> bool:
    """True for literals and for numbers of elements."""
    return isinstance(node, Constant) or (isinstance(node, Call) and Trait.EXTENT in node.op.traits)


def _is_scalar(value: Value, made: Node | None, scalars: set[Value]) -> bool:
    """True for what has no axes and was made here."""
    if isinstance(made, Loop | Join):
        return value in scalars
    return not value.type.shape and made is not None


def _scalars(graph: Graph) -> set[Value]:
    """The parameters without axes that are never given what may be an array of the caller's."""

    def fits(value: Value) -> bool:
        made = graph.producer.get(value)
        new = isinstance(made, Call) and made.memory is None and Trait.EFFECT not in made.op.traits
        return value.type.weak or isinstance(made, Constant) or new or value in found

    found = {parameter for parameter in graph.given if not parameter.type.shape}
    while lost := {p for p in found if not all(map(fits, graph.given[p]))}:
        found -= lost
    return found


def _is_own(graph: Graph, owner: Value) -> bool:
    """True when nobody else holds the memory of a value that is no input."""
    made = graph.producer[owner]
    if isinstance(made, Loop | Join):
        return owner in own_parameters(graph)
    return isinstance(made, Call) and Trait.EFFECT not in made.op.traits


def _repeated(graph: Graph) -> set[Value]:
    """Splats and views of them."""
    repeated: set[Value] = set()
    for node in graph.all_nodes:
        if isinstance(node, Call) and (node.memory is Trait.SPLAT or node.shown in repeated):
            repeated.update(node.results)
    return repeated
