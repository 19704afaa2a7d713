"""Puts a list of arrays in the place of an array whose rows turns set, each once.

Such is the cotangent of a list of arrays. The rows are returned one by one, so that nobody asks for
the array: a turn's row is then the array that it has made, and not copied. ::

    w_bar = full((9, n0, n0), -0.0)            w_bar = list_of(9)
    loop i (w_bar):                            loop i (w_bar):
      ct = multiply(%a, %b)                      ct = multiply(%a, %b)
      w_bar.1 = set_at(w_bar, ct, i)             w_bar.1 = put_item(w_bar, ct, i)
    %w_bar.0 = getitem(w_bar, 0)               %w_bar.0 = item(w_bar, 0)
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property, partial

from codegen.ir import (
    Again,
    Block,
    Branch,
    Builder,
    Call,
    Graph,
    Join,
    Loop,
    Node,
    Trait,
    Value,
    ends,
    with_operands,
)
from codegen.passes.client import Client
from codegen.spelling import Subscript
from codegen.types import LIST, weak
from tracegrad.ops.python_lists import AT_ROW, item, list_of, put_item
from tracegrad.ops.shape.creation import full_of
from tracegrad.ops.shape.indexing import element, getitem_basic, set_at

INT = weak("int")


@dataclass(frozen=True)
class _Rows:
    """A parameter that is an array at first, and what sets its rows; the list in its place."""

    parameter: Value
    begun: Call
    put: Call

    @cached_property
    def lists(self) -> Mapping[Value, Value]:
        """The lists that stand in the place of the arrays."""
        arrays = self.parameter, self.begun.results[0], self.put.results[0]
        return {array: Value(LIST, array.origin) for array in arrays}


def rows_to_lists(graph: Graph, client: Client) -> Graph:
    """The graph with lists in the place of arrays whose rows are all set, and read one by one."""
    loops = [head for head in graph.heads.values() if isinstance(head, Loop)]
    found = [rows for loop in loops for rows in _rows(graph, loop)]
    known = {v: rows for rows in found for v in rows.lists}
    return graph.with_block(_rewritten(graph, graph.block, known)) if known else graph


def _rows(graph: Graph, loop: Loop) -> Iterator[_Rows]:
    """The parameters of a loop that may be lists."""
    last = loop.turn.nodes[-1]
    straight = all(not isinstance(node, Branch | Loop | Join) for node in loop.turn.nodes)
    if loop.after is None or not straight or not isinstance(last, Again):
        return
    returned = {v for end in ends(graph.block) for v in end.outputs}
    for parameter, first, argument in zip(
        loop.parameters, loop.arguments, last.arguments, strict=True
    ):
        begun, put = graph.producer.get(first), graph.producer.get(argument)
        if not isinstance(begun, Call) or begun.op is not full_of or len(graph.users[first]) > 1:
            continue
        if not isinstance(put, Call) or put.op is not set_at or put not in loop.turn.nodes:
            continue
        if dict(put.attributes) != AT_ROW or put.operands[0] is not parameter:
            continue
        if len(graph.users[argument]) > 1 or parameter in returned:
            continue
        if not _goes_through(graph, loop, put.operands[2], parameter):
            continue
        if not all(reader is put or _reads_row(reader) for reader in graph.users[parameter]):
            continue
        if _is_row(graph, loop, put.operands[1], parameter):
            yield _Rows(parameter, begun, put)


def _goes_through(graph: Graph, loop: Loop, k: Value, rows: Value) -> bool:
    """Whether a number goes through all rows, one in each turn."""
    counter = loop.counter
    if counter is None or k is not counter.index or abs(counter.step) != 1:
        return False
    ends = [graph.constant(end) for end in (counter.start, counter.stop)]
    if ends[0] is None or ends[1] is None:
        return False
    numbers = range(ends[0].value, ends[1].value, counter.step)  # type: ignore[arg-type]
    return sorted(numbers) == [*range(len(numbers))] and rows.type.shape[0] == len(numbers)


def _reads_row(node: Node) -> bool:
    if not isinstance(node, Call) or node.op not in (element, getitem_basic):
        return False
    index = node.attribute("index")
    alone = isinstance(index, Subscript) and len(index.items) == 1 and len(node.operands) == 1
    return alone and type(index.items[0]) is int and index.items[0] >= 0


def _is_row(graph: Graph, loop: Loop, value: Value, rows: Value) -> bool:
    """Whether a value is an array of its own that the turn makes, of the type of a row."""
    made, same = graph.producer.get(value), graph.sizes.same
    if not isinstance(made, Call) or made not in loop.turn.nodes or made.memory is not None:
        return False
    of, row = value.type, rows.type.shape[1:]
    if (of.dtype, of.weak, len(of.shape)) != (rows.type.dtype, False, len(row)):
        return False
    return all(map(same, of.shape, row)) and _stays(graph, value)


def _stays(graph: Graph, value: Value) -> bool:
    """Whether what looks at a value's memory is read by ops alone, which keep nothing of it."""
    for reader in graph.users[value]:
        if not isinstance(reader, Call) or reader.op.traits & {Trait.HOLDS, Trait.EFFECT}:
            return False
        if reader.shown is value and not all(_stays(graph, r) for r in reader.results):
            return False
    return True


def _rewritten(graph: Graph, block: Block, known: Mapping[Value, _Rows]) -> Block:
    builder = Builder(graph.sizes)
    for node in block.nodes:
        if isinstance(node, Call):
            builder.append(_of_lists(node, known, builder))
            continue
        if isinstance(node, Loop | Branch | Join):
            blocks = tuple([_rewritten(graph, inner, known) for inner in node.blocks])
            node = replace(node, blocks=blocks)
        if isinstance(node, Loop):
            node = replace(node, parameters=tuple([_list(known, p) for p in node.parameters]))
        builder.append(with_operands(node, partial(_list, known)))
    return block.with_nodes(tuple(builder.nodes))


def _list(known: Mapping[Value, _Rows], value: Value) -> Value:
    return known[value].lists[value] if value in known else value


def _of_lists(call: Call, known: Mapping[Value, _Rows], builder: Builder) -> Call:
    """A call that makes, changes or reads a list where it did so with an array."""
    rows = known.get(call.results[0])
    if rows is not None and call is rows.begun:
        count = ("count", rows.parameter.type.shape[0])
        return Call(list_of, (), (count,), (rows.lists[call.results[0]],))
    if rows is not None:
        operands = (rows.lists[rows.parameter], *call.operands[1:])
        return Call(put_item, operands, (), (rows.lists[call.results[0]],))
    rows = known.get(call.operands[0]) if call.operands else None
    if rows is None:
        return call
    of, k = call.results[0].type, call.attribute("index").items[0]
    attributes = (("dtype", of.dtype), ("shape", of.shape), ("weak", of.weak))
    operands = (rows.lists[rows.parameter], builder.constant(k, INT))
    return Call(item, operands, attributes, call.results)
