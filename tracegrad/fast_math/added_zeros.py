"""Removes zeros that are added to something.

``total = 0.0`` before a loop is added to its first turn. The exact mode must do so: it makes 0.0 of
-0.0.

Before::                                   After::

    graph f(x: float64[n0]) {                  graph f(x: float64[n0]) {
      %z = constant(0.0)                         %a = sum(%x, axis=None)
      %a = sum(%x, axis=None)                    return %a
      %total = add(%z, %a)                     }
      return %total
    }
"""

from __future__ import annotations

from codegen.ir import Call, Graph, Value
from codegen.passes.client import NO_CLIENT, Client
from codegen.rewrite import Rewriter, offered, sweep
from tracegrad.ops.elementwise.ufuncs import add, subtract


def zeros(graph: Graph, client: Client = NO_CLIENT) -> Graph:
    """Sums with 0 are the other operand, where that has their type."""
    return sweep(graph, Rewriter(graph, (_nothing_added,)))


@offered(frozenset({add, subtract}).__contains__)
def _nothing_added(r: Rewriter, call: Call) -> Value | None:
    first, second = call.operands
    for zero, other in ((second, first), (first, second)):
        added = zero is second or call.op is add
        if added and r.number(zero) == 0 and other.type == call.results[0].type:
            return other
    return None
