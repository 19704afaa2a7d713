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

from collections.abc import Set
from dataclasses import replace
from typing import NamedTuple

from codegen.ir import (
    Again,
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
    ends,
    with_blocks,
)
from codegen.loop_ownership import may_be_overwritten, own_parameters
from codegen.passes.client import NO_CLIENT, Client
from codegen.spelling import Subscript
from codegen.unset import is_unset


def own_outputs(graph: Graph, client: Client = NO_CLIENT) -> Graph:
    """Copies the outputs that share memory."""
    copy, if_set, full = client.copy, client.copy_if_set, client.full
    if graph.frame.lying:
        copy, if_set = client.copy_lying or copy, client.copy_lying_if_set or if_set
    if copy is None or full is None:
        return graph
    number = client.copy_number or copy
    ops = _Ops(copy, number, if_set or copy, full, client.array_of_number)
    graph = _owned_in_arms(graph, ops)
    shared = _Shared(_repeated(graph), _scalars(graph), _lacked(graph))
    return graph.with_block(_owned(graph, graph.block, ops, shared))


class _Ops(NamedTuple):
    """What makes an output that is nobody else's."""

    copy: Op
    copy_number: Op
    copy_if_set: Op
    full: Op
    array_of_number: Op | None


class _Shared(NamedTuple):
    """`repeated` are values that show some of their memory more than once, `scalars` parameters
    that hold nothing but NumPy scalars, and numbers, `lacked` those that some paths do not have."""

    repeated: set[Value]
    scalars: set[Value]
    lacked: set[Value]


def _owned(graph: Graph, block: Block, ops: _Ops, shared: _Shared) -> Block:
    """The block with copies of the outputs that share memory."""
    taken: set[Value] = set(graph.inputs)
    rows: set[tuple[Value, int]] = set()  # that are outputs, of arrays of which no more is
    builder = Builder(graph.sizes)
    for node in block.nodes:
        if isinstance(node, Branch | Loop | Join):
            inner = [_owned(graph, b, ops, shared) for b in node.blocks]
            node = with_blocks(node, tuple(inner))
        builder.append(node)
    outputs = []
    for output in block.outputs:
        owner, made = graph.owner[output], graph.producer.get(output)
        row = _row(graph, made)
        is_free = owner not in taken and (row not in rows if row else owner not in dict(rows))
        if output.type.may_be_python or _is_number(made):
            pass
        elif output in shared.lacked:
            may_be = _handed_to(graph, output)
            if not taken.isdisjoint(may_be):
                (output,) = builder.call(ops.copy_if_set, (output,), output.origin)
            taken |= may_be
        elif _is_scalar(output, made, shared.scalars) and is_free:
            pass  # NumPy scalars are immutable
        elif (
            _is_splat(made) or not is_free or output in shared.repeated or not _is_own(graph, owner)
        ):
            output = _copied(builder, output, made, ops)
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


def _copied(builder: Builder, value: Value, made: Node | None, ops: _Ops) -> Value:
    """The value once more, in memory of its own."""
    shape, dtype = value.type.shape, value.type.dtype
    if isinstance(made, Call) and _is_splat(made) and not made.operands[0].type.shape:
        results = builder.call(ops.full, made.operands, value.origin, shape=shape, dtype=dtype)
    elif isinstance(made, Call) and made.op in ops:  # such an array is made once more
        results = builder.call(made.op, made.operands, value.origin, **dict(made.attributes))
    else:
        results = builder.call(ops.copy if shape else ops.copy_number, (value,), value.origin)
    return results[0]


def _is_splat(made: Node | None) -> bool:
    return isinstance(made, Call) and made.memory is Trait.SPLAT


# -- what some paths do not have ------------------------------------------------------------------


def _owned_in_arms(graph: Graph, ops: _Ops) -> Graph:
    """The graph whose arms hand on copies of outputs that other arms do not have.

    Behind them nobody could copy what is not there.
    """
    lacked = _lacked(graph)
    if lacked <= own_parameters(graph):
        return graph
    return graph.with_block(_with_copies(graph, graph.block, lacked, ops))


def _lacked(graph: Graph) -> set[Value]:
    """The parameters of joins that are outputs, themselves or handed on, and unset on some path."""
    outputs: set[Value] = set()
    new = [value for block in ends(graph.block) for value in block.outputs]
    while new:
        value = new.pop()
        if value not in outputs and isinstance(graph.producer.get(value), Join):
            outputs.add(value)
            new += graph.given[value]
    lacked: set[Value] = set()
    while more := {
        p
        for p in outputs - lacked
        if any(is_unset(graph, v) or v in lacked for v in graph.given[p])
    }:
        lacked |= more
    return lacked


def _handed_to(graph: Graph, parameter: Value) -> set[Value]:
    """The owners of what a parameter may be, with the parameters by which it comes to be that."""
    found: set[Value] = set()
    new = [parameter]
    while new:
        value = graph.owner[new.pop()]
        if value not in found:
            found.add(value)
            new += graph.given.get(value, ())
    return found


def _with_copies(graph: Graph, block: Block, lacked: Set[Value], ops: _Ops) -> Block:
    """The block that hands on arrays of their own to those of these parameters that need it."""
    builder, own = Builder(graph.sizes), own_parameters(graph)
    for node in block.nodes:
        if isinstance(node, Branch | Loop | Join):
            inner = [_with_copies(graph, b, lacked, ops) for b in node.blocks]
            node = with_blocks(node, tuple(inner))
        elif isinstance(node, Again):
            given = zip(graph.heads[node.label].parameters, node.arguments, strict=True)
            arguments = [
                _copied(builder, a, graph.producer.get(a), ops)
                if p in lacked - own and not _may_be_handed_on(graph, a, lacked)
                else a
                for p, a in given
            ]
            node = replace(node, arguments=tuple(arguments))
        builder.append(node)
    return block.with_nodes(tuple(builder.nodes))


def _may_be_handed_on(graph: Graph, value: Value, lacked: Set[Value]) -> bool:
    """Whether a value needs no copy: there is none, it has one, or nobody else reads it."""
    alone = may_be_overwritten(graph, value) and len(graph.users[value]) == 1
    return alone or value in lacked or value.type.weak or is_unset(graph, value)


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
