"""Tells whether a program of arrays would do otherwise on Tensors, whose elements are views.

``y[0]`` of an array is a number, of a Tensor a part of its memory. That matters where the number is
changed in place (``e = y[0]; e += 1``), and where it is read behind a write to the array.
"""

from __future__ import annotations

from collections.abc import Iterator

from codegen.ir import Call, Graph, Trait, Value
from tracegrad.compiled.version import Version
from tracegrad.ops.shape.indexing import element


def takes_elements_for_numbers(version: Version) -> bool:
    """Whether the function does something with an element that is otherwise for a Tensor's."""
    if version.elements is None:
        stale = any(_read_behind_writes(version.traced))
        version.elements = version.world.elements_written or stale
    return version.elements


def _read_behind_writes(graph: Graph) -> Iterator[Value]:
    """The elements that are read when their array was written to meanwhile."""
    nodes = graph.all_nodes
    last = {v: at for at, node in enumerate(nodes) for v in node.operands}
    last.update((value, len(nodes)) for value in graph.outputs)
    memory: dict[Value, Value] = {}  # what a value is the memory of, after writes
    read: dict[Value, list[Value]] = {}
    for at, node in enumerate(nodes):
        if not isinstance(node, Call):
            continue
        if Trait.UPDATE in node.op.traits:
            root = memory.get(node.operands[0], node.operands[0])
            memory.update((result, root) for result in node.results)
            yield from [v for v in read.get(root, ()) if last.get(v, -1) > at]
        elif node.op is element:
            root = memory.get(node.operands[0], node.operands[0])
            read.setdefault(root, []).extend(node.results)
