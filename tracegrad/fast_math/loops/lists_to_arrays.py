"""Makes arrays that turns fill of lists that turns append to."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import NamedTuple

from codegen import sizes as sz
from codegen.ir import (
    Block,
    Branch,
    Builder,
    Call,
    Graph,
    Join,
    Loop,
    Node,
    Value,
    with_operands,
)
from codegen.types import LIST, ArrayType
from tracegrad.fast_math.loops.loop_body import INT, Turn, place_of
from tracegrad.fast_math.loops.loop_rewriting import new_rows, of_one_type, replaced, row_as
from tracegrad.ops.python_lists import appended, collected, item, new_list


class _List(NamedTuple):
    """A list that the turns of a loop append to, and what they append."""

    parameter: Value
    begun: Call
    append: Call


def with_arrays(graph: Graph, turn: Turn) -> Graph | None:
    """The graph with arrays in the place of the lists that turns append arrays of one type to."""
    lists = list(_lists(graph, turn))
    assert turn.loop.counter is not None
    if not lists or turn.loop.counter.step < 0:  # their items stand in the order of the turns
        return None
    builder, loop, span = Builder(graph.sizes), turn.loop, turn.span
    now: dict[Value, Value] = {}
    places: dict[int, Value] = {}
    inside = Builder(graph.sizes)
    appends: dict[Node, Value] = {}
    for parameter, begun, append in lists:
        of, first = append.operands[1].type, len(begun.operands)
        type = ArrayType(of.dtype, (sz.add(span.turns, first), *of.shape))
        array = new_rows(builder, type, replace(parameter.origin, final=not first))
        for i, value in enumerate(begun.operands):
            place = builder.constant(i, INT)
            array = builder.call(collected, (array, value, place), parameter.origin)[0]
        now[begun.results[0]] = array
        now[parameter] = Value(type, parameter.origin)
        if first not in places:
            places[first] = place_of(inside, turn.index, span.first - first)
        appends[append] = places[first]
    nodes = [*inside.nodes]
    for node in turn.nodes:
        if node in appends:
            operands = (now[node.operands[0]], node.operands[1], appends[node])
            made = Builder(graph.sizes)
            now[node.results[0]] = made.call(collected, operands, node.results[0].origin)[0]
            nodes += made.nodes
        else:
            nodes.append(node)
    again = with_operands(turn.again, lambda value: now.get(value, value))
    body = loop.turn.with_nodes((*nodes, again))
    assert loop.after is not None
    after = _reading_rows(graph, loop.after, now)
    changed = replace(
        with_operands(loop, lambda value: now.get(value, value)),
        parameters=tuple([now.get(p, p) for p in loop.parameters]),
        blocks=(body, after),
    )
    return graph.with_block(replaced(graph.block, loop, (*builder.nodes, changed)))


def _lists(graph: Graph, turn: Turn) -> Iterator[_List]:
    loop = turn.loop
    uses = graph.users
    for parameter, first, argument in zip(
        loop.parameters, loop.arguments, turn.again.arguments, strict=True
    ):
        begun, append = graph.producer.get(first), turn.maker.get(argument)
        if parameter.type != LIST or not isinstance(begun, Call) or begun.op is not new_list:
            continue
        if not isinstance(append, Call) or append.op is not appended:
            continue
        if append.operands[0] is not parameter or len(uses[first]) > 1 or len(uses[argument]) > 1:
            continue
        types = [v.type for v in (*begun.operands, append.operands[1])]
        for reader in uses[parameter]:
            if isinstance(reader, Call) and reader.op is item:
                types.append(reader.results[0].type)
            elif reader is not append:
                break
        else:
            if of_one_type(graph, types):
                yield _List(parameter, begun, append)


def _reading_rows(graph: Graph, block: Block, now: Mapping[Value, Value]) -> Block:
    """The block reading rows of arrays where it read items of lists."""
    nodes: list[Node] = []
    for node in block.nodes:
        if isinstance(node, Call) and node.op is item and node.operands[0] in now:
            operands = (now[node.operands[0]], node.operands[1])
            nodes.append(row_as(operands, node.results[0]))
        elif isinstance(node, Branch | Loop | Join):
            inner = tuple([_reading_rows(graph, b, now) for b in node.blocks])
            nodes.append(replace(node, blocks=inner))
        else:
            nodes.append(node)
    return block.with_nodes(tuple(nodes))
