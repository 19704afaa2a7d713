"""Writes source for an optimized graph. A target is one file and one line of `TARGETS`."""

from __future__ import annotations

from dataclasses import replace

from codegen.emit.jax import JAX
from codegen.emit.module import write, write_whole
from codegen.emit.numba import NUMBA
from codegen.emit.numpy import NUMPY
from codegen.emit.target import Source, Target
from codegen.errors import CodegenError
from codegen.ir import Graph
from codegen.names import is_taken

TARGETS: dict[str, Target] = {
    "numpy": NUMPY,
    "jax": JAX,
    "numba": NUMBA,
    "auto": replace(NUMBA, name="auto"),  # the same source, of which what is worth it is compiled
}


def emit(graph: Graph, target: str, whole: bool = False) -> Source:
    """The graph as source in `target`, one of `TARGETS`.

    The form for large arrays is `Source.large`, or with `whole` in the same source.
    """
    if target not in TARGETS:
        raise CodegenError(f"no target named {target!r}; there are {', '.join(TARGETS)}")
    if is_taken(graph.name):
        graph = graph.replace(name=f"{graph.name}_")
    return (write_whole if whole else write)(graph, TARGETS[target])


__all__ = ["TARGETS", "Source", "Target", "emit"]
