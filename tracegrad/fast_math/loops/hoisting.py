"""Computes before a loop, for all rows, what a turn computes of its row alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from codegen import sizes as sz
from codegen.ir import Block, Builder, Call, Graph, Node, Value
from tracegrad.differentiation.batched_values import Lane
from tracegrad.differentiation.batching import Writer
from tracegrad.fast_math.loops.loop_body import Turn, place_of, rows_at
from tracegrad.fast_math.loops.loop_rewriting import replaced, row_as
from tracegrad.ops.linear_algebra.contractions import matmul
from tracegrad.ops.shape.reshaping import reshape_to
from tracegrad.ops.staging import Staged


def hoisted(graph: Graph, turn: Turn) -> Graph | None:
    """The graph with what is computed of rows alone before the loop."""
    work = _work_waited_for(turn)
    if not work:
        return None
    loop, span = turn.loop, turn.span
    writer = Writer(graph.sizes, span.turns)
    builder = writer.stage.builder
    moved = _at_once(turn, writer, turn.behind(work))
    inside = Builder(graph.sizes)
    place = place_of(inside, turn.index, span.first)
    nodes: list[Node] = [*inside.nodes]
    for node in turn.nodes:
        if node in moved:
            continue
        if work.intersection(node.results):
            (result,) = node.results
            nodes.append(row_as((writer.lanes[result].value.value, place), result))
        else:
            nodes.append(node)
    body = loop.turn.with_nodes((*nodes, turn.again))
    changed = replace(loop, blocks=(body, *loop.blocks[1:]))
    graph = graph.with_block(replaced(graph.block, loop, (*builder.nodes, changed)))
    return writer.named(graph)


def _work_waited_for(turn: Turn) -> set[Value]:
    """What is computed of rows alone, and then read by what waits for its turn."""
    waiting = [v for v in turn.again.arguments if v in turn.wide]
    for node in turn.nodes:
        if not turn.wide.intersection(node.results):
            waiting += [v for v in node.operands if v in turn.wide]
    work: set[Value] = set()
    while waiting:
        value = waiting.pop()
        call = turn.maker[value]
        assert isinstance(call, Call)
        if call.memory is None and len(call.results) == 1:
            work.add(value)
        else:  # a view is made again of what it shows
            waiting += [v for v in call.operands if v in turn.wide]
    return work


def _at_once(turn: Turn, writer: Writer, needed: set[Value]) -> set[Node]:
    """Writes what makes these values, for all turns; what is alike in them is moved there."""
    moved: set[Node] = set()
    for node in turn.nodes:
        if not needed.intersection(node.results):
            continue
        (result, *_) = node.results
        if result in turn.alike:
            writer.stage.builder.append(node)
            moved.add(node)
        elif result in turn.reads:
            rows = rows_at(writer.stage.builder, turn.reads[result], turn.span, result.origin)
            writer.lanes[result] = writer.lane(rows, True)
        elif result not in turn.places:
            written_at_once(writer, node)
    return moved


def written_at_once(writer: Writer, node: Node) -> None:
    """Writes one call for all turns."""
    assert isinstance(node, Call)
    if node.op is matmul:
        a, b = (writer.lanes.get(v) for v in node.operands)
        if a is not None and a.wide and a.ndim == 2 and b is None and _ndim(node, 1) == 2:
            writer.lanes[node.results[0]] = _flat_product(writer, a, node)
            return
    writer._node(node, _nothing)


def _nothing(block: Block, outputs: Sequence[Lane]) -> tuple[Value, ...]:
    raise AssertionError("a turn that goes straight on has no other blocks")


def _ndim(node: Call, position: int) -> int:
    return len(node.operands[position].type.shape)


def _flat_product(writer: Writer, a: Lane, node: Call) -> Lane:
    """Matrices one below the other, times a matrix."""
    rows, shape = a.value, a.value.shape
    writer.stage.origin = node.results[0].origin.named(node.results[0].origin.name)
    flat = reshape_to(rows, shape=(sz.mul(shape[:2]), shape[2]))
    b = Staged(writer.stage, node.operands[1])
    product = matmul(flat, b)
    whole = reshape_to(product, shape=(*shape[:2], product.shape[1]))
    return Lane(whole, True, writer.length)
