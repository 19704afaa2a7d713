"""Does for all turns of a loop at once what its turns need not wait for.

- Lists that turns append arrays of one shape to become arrays, with a row for each turn.
- What is computed of rows alone (``xs[t] @ w + b``) is computed before the loop, of whole arrays,
  and turns read rows of the result.
- Sums over turns (``w_bar += xs[t].T @ z``) are taken behind the loop: turns leave what the terms
  are made of as rows, and one product is the sum of theirs.

Before::                                      After::

    loop %w_bar = %zeros, ... for %t ...        loop %z_rows = %room, ... for %t ...
      turn                                        turn
        ...                                         ...
        %x = gather(%xs, %t)                        %z_rows.1 = collect(%z_rows, %z, %t)
        %a = transpose(%x)                          again %z_rows.1, ...
        %b = matmul(%a, %z)                       after
        %w_bar.1 = add(%w_bar, %b)                  %x = reshape(%xs), %z = reshape(%z_rows)
        again %w_bar.1, ...                         %a = transpose(%x)
      after                                         %w_bar = matmul(%a, %z)
        return %w_bar                               return %w_bar

Loops are looked at one by one, inner ones as well, whose turns go straight on to the next one.
"""

from __future__ import annotations

from collections.abc import Callable

from codegen.ir import Graph, Loop
from codegen.passes.client import NO_CLIENT, Client
from codegen.passes.dce import dce
from tracegrad.fast_math.loops.hoisting import hoisted
from tracegrad.fast_math.loops.lists_to_arrays import with_arrays
from tracegrad.fast_math.loops.loop_body import Turn, turn_of
from tracegrad.fast_math.loops.reassociation import ready_first
from tracegrad.fast_math.loops.sinking import derived_behind, summed_behind

Step = Callable[[Graph, Turn], "Graph | None"]


def turns_at_once(graph: Graph, client: Client = NO_CLIENT) -> Graph:
    """Does at once what turns of loops need not wait for."""
    labels = [node.label for node in graph.all_nodes if isinstance(node, Loop)]
    for label in labels:
        for step in (with_arrays, derived_behind, ready_first, hoisted, summed_behind):
            loop = next(n for n in graph.all_nodes if isinstance(n, Loop) and n.label is label)
            turn = turn_of(graph, loop)
            graph = graph if turn is None else step(graph, turn) or graph
    return dce(graph) if labels else graph
