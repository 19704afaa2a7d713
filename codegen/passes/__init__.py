"""A graph enters, a better graph with the same bits leaves: the passes, in the order they run.

Every pass is ``Graph -> Graph`` and keeps every bit of every output, NaN and the sign of zero
included.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from codegen.ir import Graph
from codegen.passes.client import NO_CLIENT, Client
from codegen.passes.cse import cse
from codegen.passes.dce import dce
from codegen.passes.fold import fold
from codegen.passes.lifetime import lifetime
from codegen.passes.own import own
from codegen.passes.simplify import simplify
from codegen.verify import verify


class Pass(NamedTuple):
    """One entry of the pipeline."""

    run: Callable[[Graph, Client], Graph]
    reason: str


PIPELINE: tuple[Pass, ...] = (
    Pass(dce, "first, so that nothing is simplified that nobody reads"),
    Pass(fold, "numbers meet numbers: the rules of simplify then see literals"),
    Pass(simplify, "identities, involutions and the client's own rules"),
    Pass(cse, "after simplify, which makes equal what was written in two ways"),
    Pass(own, "once it is clear what the outputs are, and before memory is given away"),
    Pass(dce, "what simplify, cse and own left without a reader"),
    Pass(lifetime, "last: it looks at who reads what last"),
)


def optimize(graph: Graph, client: Client = NO_CLIENT, check: bool = False) -> Graph:
    """Runs the pipeline; with `check` the graph is verified after every pass.

    `client` brings rewrite rules over its own ops, for what traits cannot say, and the ops that
    passes insert.
    """
    for step in PIPELINE:
        graph = step.run(graph, client)
        if check:
            verify(graph)
    return graph


__all__ = ["PIPELINE", "Client", "Pass", "optimize"]
