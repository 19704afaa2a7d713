"""The paths that a run continues, and the tree with its own."""

from __future__ import annotations

from typing import Any

from tracegrad.compiled.traced_run import Followed, Run
from tracegrad.differentiation.loops.residuals import Unrollable
from tracegrad.tracing.path_tree import (
    Apart,
    End,
    PathBuilder,
    Tree,
    grown,
    is_conditional,
    path,
)
from tracegrad.world.guards import PACKED
from tracegrad.world.number_inputs import Count, is_number_read, own


def paths_of(known: Any) -> Followed:
    """The paths of a version, or of none, that a trace may follow."""
    if known is None or known.tree.closed or known.tree.loops:
        return Followed()
    holders: list[Any] = []
    numbers: dict[Any, float] = {}
    for captured in known.captured:
        holder = captured.now()
        if captured.source is not None and is_number_read(holder):
            holder = Count(holder) if type(holder) is int else own(holder)  # as `Numbers` does
            numbers[captured.source.place] = holder
        elif captured.source is not None and captured.source.read == PACKED:
            numbers[captured.source.place] = holder  # an array of this call's
        holders.append(holder)
    if len(set(map(id, holders))) < len(holders):
        return Followed()
    return Followed(known.tree, holders, numbers)


def tree_of(run: Run, end: End, target: str) -> tuple[Tree, bool]:
    """The tree with this run's path, and whether it continues the one before.

    A path that departs from that tree makes one of its own, and so does one that the target cannot
    join to it.
    """
    trace = run.trace
    if run.tree is not None and isinstance(trace.builder, PathBuilder) and not run.effect:
        root = grown(run.tree.root, trace.builder.nodes, end)
        if root is not None:
            joined = trace.tree(root)
            if target != "jax" or is_conditional(joined):
                return joined, True
    try:
        return trace.tree(path(trace.builder.nodes, end)), False
    except Apart as error:
        raise Unrollable("turns of a loop part where no look is") from error
