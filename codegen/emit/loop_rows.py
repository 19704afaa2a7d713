"""Finds loops over numbers that only read the rows of arrays: ``for row in x`` says the same.

Where the user has named what is read, so has been written, or could have been. ::

    for i in range(len(x)):            for row in x:
        row = x[i]
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from codegen.ir import Call, Constant, Graph, Loop, Value, dims_of
from codegen.sizes import Dim
from codegen.spelling import Slot, Subscript
from codegen.told_lengths import number_in_lengths
from codegen.types import LIST

READS = ("x[index]", "numbers[k]")
"""How NumPy source reads a row or a number of a list."""
ROW = Subscript((Slot(0),))


def rows_read(graph: Graph, loop: Loop, uses: Mapping[Value, int]) -> Sequence[Call]:
    """The calls that read a row in each turn, in order; none where a turn's number is read besides.

    The rows are read to the last, and from the one that the loop begins with. `uses` are how often
    the source reads each value.
    """
    counter = loop.counter
    if counter is None or counter.step != 1 or counter.length is not None:
        return ()
    start, index = graph.producer.get(counter.start), counter.index
    if not isinstance(start, Constant) or start.value < 0:  # type: ignore[operator]
        return ()
    turn = {node for node in loop.turn.nodes if isinstance(node, Call)}
    calls = [node for node in graph.users.get(index, ()) if isinstance(node, Call)]
    if len(calls) != uses.get(index, 0):
        return ()
    if not all(call in turn and _reads_named_row(call, index, loop) for call in calls):
        return ()
    stop = number_in_lengths(graph, counter.stop)
    lengths = [_length(graph, call.operands[0]) for call in calls]
    known = [n for n in lengths if n is not None]
    if stop is None or not any(graph.sizes.same(stop, n) for n in known):
        return ()
    return calls


def reads_row(call: Call) -> bool:
    """Whether a call reads what stands at a number, of an array or a list of numbers."""
    attributes = dict(call.attributes)
    if len(call.operands) != 2 or call.operands[1].type.shape:
        return False
    if attributes.get("index", ROW) != ROW or attributes.get("counts"):
        return False
    return call.op.spelled("numpy", attributes).text in READS


def _reads_named_row(call: Call, index: Value, loop: Loop) -> bool:
    """Whether a call reads a row, which the user has named, of what is there before the loop."""
    if not reads_row(call) or call.operands[1] is not index or call.operands[0] is index:
        return False
    origin = call.results[0].origin
    return call.operands[0] not in loop.results and origin.final and bool(origin.name)


def _length(graph: Graph, rows: Value) -> Dim | None:
    """How many rows there are; a list of numbers has as many as the array that it is made of."""
    made = graph.producer.get(rows)
    if rows.type == LIST and isinstance(made, Call) and len(made.operands) == 1:
        rows = made.operands[0]
    if rows.type == LIST or not rows.type.shape:
        return None
    return dims_of(graph.sizes, rows.type)[0]
