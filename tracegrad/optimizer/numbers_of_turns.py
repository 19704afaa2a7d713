"""How many turns a loop makes, as far as lengths tell."""

from __future__ import annotations

from codegen import sizes as sz
from codegen.ir import Graph, Loop
from codegen.told_lengths import number_in_lengths
from tracegrad.differentiation.loops.row_numbers import at_least


def begins(graph: Graph, loop: Loop) -> bool:
    """Whether a loop makes a turn in every call that the graph is for.

    One without a counter does: what decides whether it goes on is part of its turns.
    """
    counter = loop.counter
    if counter is None:
        return True
    start, stop = (number_in_lengths(graph, v) for v in (counter.start, counter.stop))
    if start is None or stop is None:
        return False
    low, high = (start, stop) if counter.step > 0 else (stop, start)
    return at_least(high, sz.add(low, 1), graph.sizes)
