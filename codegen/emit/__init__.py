"""An optimized graph enters, source text leaves. A target is one file and one line of `TARGETS`."""

from __future__ import annotations

from codegen.emit.jax import JAX
from codegen.emit.numpy import NUMPY
from codegen.emit.python import Source, Target, write
from codegen.ir import Graph

TARGETS: dict[str, Target] = {
    "numpy": NUMPY,
    "jax": JAX,
}


def emit(graph: Graph, target: str) -> Source:
    """The graph as source in `target`, one of `TARGETS`."""
    return write(graph, TARGETS[target])


__all__ = ["TARGETS", "Source", "Target", "emit"]
