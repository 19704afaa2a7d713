"""The passes, in the order in which they run: each makes a graph better and keeps its bits.

Every pass is ``Graph -> Graph`` and keeps every bit of every output, NaN and the sign of zero
included. The client's passes for `Graph.fast_math` alone may round otherwise.
"""

from __future__ import annotations

from codegen.ir import Graph
from codegen.passes.client import NO_CLIENT, Client, Pass
from codegen.passes.cse import cse
from codegen.passes.dce import dce
from codegen.passes.hoist_comparisons import hoist_comparisons
from codegen.passes.lifetime import lifetime
from codegen.passes.loop_buffers import loop_buffers
from codegen.passes.loop_parameters import loop_parameters
from codegen.passes.merge_joins import merge_joins
from codegen.passes.own_outputs import own_outputs
from codegen.passes.simplify import simplify
from codegen.passes.sink_updates import sink_updates
from codegen.passes.written_out import written_out
from codegen.verify import verify

ALGEBRA: tuple[Pass, ...] = (
    Pass(dce, "first, so that nothing is simplified that nobody reads"),
    Pass(simplify, "numbers that meet, identities, involutions and the client's own rules"),
    Pass(
        loop_parameters,
        "after simplify, which may find that a turn changes nothing; cse then sees more",
    ),
    Pass(cse, "after simplify, which makes equal what was written in two ways"),
    Pass(loop_parameters, "once more: what cse made equal need not be handed on"),
    Pass(merge_joins, "after cse, which finds that two ifs ask for one value"),
)

OUTPUTS: tuple[Pass, ...] = (
    Pass(
        written_out,
        "once no splat goes away any more, and before own_outputs: such an array is the caller's",
    ),
    Pass(
        loop_buffers,
        "before own_outputs: an array that a loop has of its own is returned without a copy",
    ),
    Pass(own_outputs, "once it is clear what the outputs are, and before memory is given away"),
)

MEMORY: tuple[Pass, ...] = (
    Pass(dce, "what simplify, cse and own_outputs left without a reader"),
    Pass(
        hoist_comparisons, "before lifetime: what is only compared later may be overwritten sooner"
    ),
    Pass(sink_updates, "before lifetime: what is changed later may be changed in place"),
    Pass(lifetime, "last: it looks at who reads what last"),
)

PIPELINE = (*ALGEBRA, *OUTPUTS, *MEMORY)


def pipeline(graph: Graph, client: Client) -> tuple[Pass, ...]:
    """The passes that this graph runs through."""
    fast = (*client.fast_math, *ALGEBRA) if graph.fast_math and client.fast_math else ()
    return (*ALGEBRA, *fast, *client.loops, *OUTPUTS, *client.memory, *MEMORY)


def optimize(graph: Graph, client: Client = NO_CLIENT, check: bool = False) -> Graph:
    """Runs the pipeline; with `check` the graph is verified after every pass that changed it.

    `client` brings rewrite rules over its own ops, for what traits cannot say, and the ops that
    passes insert.
    """
    verified: Graph | None = None
    for step in pipeline(graph, client):
        graph = step.run(graph, client)
        if check and graph is not verified:
            verified = verify(graph, verified)
    return graph


__all__ = ["PIPELINE", "Client", "Pass", "optimize"]
