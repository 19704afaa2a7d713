"""Ops on Tensors that require grad enter, nodes that remember them leave: the eager tape.

A node holds its operands (Tensors, which hold the nodes that made them) and the arrays that it
made, never the Tensors that it made: there is no cycle, so a graph is freed when its last Tensor
goes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import count
from typing import Any

_next_stamp = count(1).__next__


class Node:
    """One recorded op. `stamp` grows with time: sorting by it gives a topological order."""

    __slots__ = ("arrays", "attributes", "op", "operands", "stamp", "traced")

    def __init__(
        self,
        op: Any,
        operands: tuple[Any, ...],
        attributes: Mapping[str, Any],
        arrays: tuple[Any, ...],
        traced: tuple[Any, ...],
    ) -> None:
        self.op = op
        self.operands = operands
        self.attributes = attributes
        self.arrays = arrays
        self.traced = traced
        self.stamp = _next_stamp()

    def name(self) -> str:
        """The node's name as PyTorch writes it, ``AddBackward0``."""
        words = self.op.name.split("_")
        return "".join(word.capitalize() for word in words) + "Backward0"

    def __repr__(self) -> str:
        return f"<{self.name()}>"


def record_node(
    op: Any, operands: Sequence[Any], attributes: Mapping[str, Any], results: Sequence[Any]
) -> None:
    """Puts the op on the tape: its results require grad and know the node."""
    node = Node(
        op,
        tuple(operands),
        attributes,
        tuple(t._array for t in results),
        tuple(t._traced for t in results),
    )
    for index, tensor in enumerate(results):
        if tensor._array.dtype.kind in "fc" if hasattr(tensor._array, "dtype") else True:
            tensor.grad_fn = node
            tensor._index = index
            tensor.requires_grad = True
