"""How many turns a loop makes, as far as lengths tell."""

from __future__ import annotations

from codegen import sizes as sz
from codegen.ir import Call, Constant, Graph, Loop, Value
from codegen.sizes import Dim
from tracegrad.differentiation.loops.row_numbers import at_least
from tracegrad.ops.elementwise.ufuncs import add, subtract
from tracegrad.ops.python_lists import length


def dim_of(graph: Graph, value: Value) -> Dim | None:
    """What a number of Python is in lengths."""
    made = graph.producer.get(value)
    if isinstance(made, Constant):
        return made.value if type(made.value) is int and made.slot is None else None
    if not isinstance(made, Call):
        return None
    if made.op is length:
        return graph.sizes.resolve(made.attribute("size"))
    if made.op not in (add, subtract):
        return None
    a, b = (dim_of(graph, operand) for operand in made.operands)
    if a is None or b is None:
        return None
    return sz.add(a, b) if made.op is add else sz.minus(a, b)


def begins(graph: Graph, loop: Loop) -> bool:
    """Whether a loop makes a turn in every call that the graph is for.

    One without a counter does: what decides whether it goes on is part of its turns.
    """
    counter = loop.counter
    if counter is None:
        return True
    start, stop = dim_of(graph, counter.start), dim_of(graph, counter.stop)
    if start is None or stop is None:
        return False
    low, high = (start, stop) if counter.step > 0 else (stop, start)
    return at_least(high, sz.add(low, 1), graph.sizes)
