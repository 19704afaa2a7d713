"""Does what the turns of an unrolled loop repeat for all of them at once.

What is found in a block of straight code, whatever the loop was:

- Work on rows of one array that no other turn decides (``xs[t] @ w + b``, with b the same for all):
  it is done on the whole array, and the turns read rows of the result.
- Elementwise work on such a row that nobody else reads (``tanh(xs_w[t] + h @ u)``): it is done in
  the memory of the row. The states of all turns are then the rows of one array, and what is done
  with each of them that no turn waits for (``1.0 - h * h``, ``h @ v``) is done at once as well.
- Sums of products over turns, which accumulate gradients (``x_9.T @ z_9 + ... + x_0.T @ z_0``): the
  operands are put together, where they are not rows of one array already, and multiplied once.
- Rows that are written into one array, turn by turn.

Before::                                   After::

    graph f(xs: float64[3, n], w: ...) {       graph f(xs: float64[3, n], w: ...) {
      %x = getitem(%xs, index=0)                 %p = matmul(%xs, %w)
      %a = matmul(%x, %w)                        %a = getitem(%p, index=0)
      %y = getitem(%xs, index=1)                 %b = getitem(%p, index=1)
      %b = matmul(%y, %w)                        %c = getitem(%p, index=2)
      ...                                        ...

A batch stands where the first of its parts stood, or behind the last of its operands; what reads it
waits for it. Work is never moved from one block of a branch to another. All walks are over lists:
chains may have any length.
"""

from __future__ import annotations

from itertools import cycle, islice

from codegen.ir import (
    Graph,
)
from codegen.passes.client import NO_CLIENT, Client
from codegen.passes.dce import dce
from tracegrad.fast_math.unrolled.axis_order import turns_first
from tracegrad.fast_math.unrolled.batched_sums import sum_at_once
from tracegrad.fast_math.unrolled.batched_writes import write_at_once
from tracegrad.fast_math.unrolled.block_edits import Changes, changed
from tracegrad.fast_math.unrolled.in_place import work_in_rows
from tracegrad.fast_math.unrolled.stacked_operands import lift_rows

ROWS = (turns_first, lift_rows, work_in_rows)
SUMS = (sum_at_once, write_at_once, work_in_rows)
ROUNDS = 3
"""What one round makes rows of, the next may find to be rows."""


def batch(graph: Graph, client: Client = NO_CLIENT) -> Graph:
    """Does at once what the turns of unrolled loops repeat."""
    for plans in (ROWS, SUMS):
        idle = 0
        for plan in islice(cycle(plans), ROUNDS * len(plans)):
            changes = Changes(graph)
            block = changed(graph.block, plan, changes)
            idle = 0 if changes.instead else idle + 1
            if changes.instead:
                graph = dce(graph.with_block(block))
            if idle == len(plans):
                break
    return graph
