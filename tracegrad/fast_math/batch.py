"""A graph of an unrolled loop enters; it leaves with what its turns repeat done for all at once.

Three things are found in a block of straight code, whatever the loop was:

- Work on rows of one array that no other turn decides (``xs[t] @ w + b``): it is done on the whole
  array where the first turn did its part, and the turns read rows of the result.
- Sums of products over turns, which accumulate gradients (``x_9.T @ z_9 + ... + x_0.T @ z_0``): the
  operands are put together, where they are not rows of one array already, and multiplied once.
- Elementwise work on what was so put together (``1.0 - h_t * h_t``), as the first.

Before::                                   After::

    graph f(xs: float64[3, n], w: ...) {       graph f(xs: float64[3, n], w: ...) {
      %x = getitem(%xs, index=0)                 %p = matmul(%xs, %w)
      %a = matmul(%x, %w)                        %a = getitem(%p, index=0)
      %y = getitem(%xs, index=1)                 %b = getitem(%p, index=1)
      %b = matmul(%y, %w)                        %c = getitem(%p, index=2)
      ...                                        ...

Nothing is moved before what it depends on: a batch stands where its first part stood (work on
rows), or behind the last of its operands. All walks are over lists; chains may have any length.
"""

from __future__ import annotations

from codegen.ir import (
    Graph,
)
from codegen.passes.client import NO_CLIENT, Client
from codegen.passes.dce import dce
from tracegrad.fast_math.turns.changes import Changes, changed
from tracegrad.fast_math.turns.in_place import work_in_rows
from tracegrad.fast_math.turns.stacks import lift_rows
from tracegrad.fast_math.turns.sums import sum_at_once
from tracegrad.fast_math.turns.writes import write_at_once

ROUNDS = 3
"""What one round makes rows of, the next may find to be rows."""


def batch(graph: Graph, client: Client = NO_CLIENT) -> Graph:
    """Does at once what the turns of unrolled loops repeat."""
    for plans in ((lift_rows, work_in_rows), (sum_at_once, write_at_once, work_in_rows)):
        for _ in range(ROUNDS):
            before = graph
            for plan in plans:
                changes = Changes(graph)
                block = changed(graph.block, plan, changes)
                if changes.instead:
                    graph = dce(graph.with_block(block))
            if graph is before:
                break
    return graph
