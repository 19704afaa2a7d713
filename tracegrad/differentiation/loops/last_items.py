"""Reads a variable behind a loop from the list of which it is the last item.

After ``h = f(h); hs.append(h)`` the variable and the last item are one array. A tape adds up the
cotangents of all readers of that array, the last reader first. So where several terms come from the
list, or some read the variable before the list is read, those read the item: what flows to it goes
to its row of the list's cotangent, one after the other.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace

from codegen.ir import Block, Builder, Call, Graph, Loop, Node, Value, ends, inner_blocks, walk
from codegen.rewrite import substituted
from codegen.size_bounds import at_least
from codegen.sizes import add
from codegen.types import weak
from tracegrad.differentiation.loops.cotangent_flow import active_values
from tracegrad.differentiation.loops.row_numbers import Span, row_of, span_of
from tracegrad.ops.python_lists import collected, length, list_item

INT = weak("int")


def with_last_items(graph: Graph, wanted: Collection[Value]) -> Graph:
    """The graph with items in the place of such variables, where the order of sums is another."""
    loops = [node for node in graph.all_nodes if isinstance(node, Loop) and node.after is not None]
    if not any(isinstance(node, Call) and node.op is collected for node in graph.all_nodes):
        return graph
    active = active_values(graph, wanted)
    found = {loop.label: _read_as_items(graph, loop, active) for loop in loops}
    if not any(found.values()):
        return graph

    def rewritten(block: Block) -> Block:
        nodes: list[Node] = []
        for node in block.nodes:
            blocks = tuple(map(rewritten, inner_blocks(node)))
            if isinstance(node, Loop) and found.get(node.label):
                blocks = (blocks[0], _with_items(graph, blocks[1], found[node.label]))
            nodes.append(replace(node, blocks=blocks) if blocks else node)  # type: ignore[arg-type]
        return block.with_nodes(tuple(nodes))

    return graph.with_block(rewritten(graph.block))


def _read_as_items(graph: Graph, loop: Loop, active: Collection[Value]) -> dict[Value, Value]:
    """The variables of a loop that are read behind it as items, with the arrays of their lists."""
    found: dict[Value, Value] = {}
    for rows in loop.parameters:
        made = [graph.producer.get(array) for array in graph.given[rows][1:]]
        put = [n.operands[1] for n in made if isinstance(n, Call) and n.op is collected]
        if len(put) < len(made) or rows not in active:
            continue
        for variable in loop.parameters:
            last = variable in active and graph.given[variable][1:] == [*put]
            if last and not _is_added_once(graph, loop, variable, rows):
                found[variable] = rows
    return found


def _is_added_once(graph: Graph, loop: Loop, variable: Value, rows: Value) -> bool:
    """Whether what flows to the item from the list is one term, the last or the only other one."""
    assert loop.after is not None
    reads = [node for node in _reads(loop.after) if variable in node or rows in node]
    lists = [i for i, node in enumerate(reads) if rows in node]
    items = [
        node
        for node in graph.users.get(rows, ())
        if isinstance(node, Call) and node.op is list_item and graph.users.get(node.results[0])
    ]
    if any(_may_be_last(graph, item) for item in items) or len(lists) > 1:
        return not any(variable in node for node in reads)
    readers = sum(node.count(variable) for node in reads)
    return readers < 2 or lists in ([], [0])


def _may_be_last(graph: Graph, item: Call) -> bool:
    """Whether an item that is read may be the last one of its list."""
    counters = {
        node.counter.index: node.counter
        for node in graph.all_nodes
        if isinstance(node, Loop) and node.counter is not None
    }
    rows, k = item.operands
    row = row_of(graph.producer, k, counters)
    if row is None:
        return True
    span: Span | None = row.plus, add(row.plus, 1)
    if row.index is not None:
        counter = counters[row.index]
        ends = [row_of(graph.producer, end, ()) for end in (counter.start, counter.stop)]
        if ends[0] is None or ends[1] is None:
            return True
        span = span_of(row, ends[0].plus, ends[1].plus, counter.step)
    return span is None or not at_least(add(rows.type.shape[0], -1), span[1], graph.sizes)


def _reads(block: Block) -> list[tuple[Value, ...]]:
    """What the nodes of a block read, and what it returns, in order; not what reads items."""
    found = [
        node.operands
        for node in walk(block.nodes)
        if not (isinstance(node, Call) and node.op is list_item)
    ]
    return [*found, *(end.outputs for end in ends(block))]


def _with_items(graph: Graph, block: Block, items: Mapping[Value, Value]) -> Block:
    """A block behind a loop that reads items."""
    builder, now = Builder(graph.sizes), dict[Value, Value]()
    for variable, rows in items.items():
        size = graph.sizes.resolve(add(rows.type.shape[0], -1))
        if isinstance(size, int):
            last = builder.constant(size, INT)
        else:
            (last,) = builder.call(length, (), variable.origin.named(None), size=size)
        (now[variable],) = builder.call(list_item, (rows, last), variable.origin)
    block = substituted(block, lambda value: now.get(value, value))
    return block.with_nodes((*builder.nodes, *block.nodes))
