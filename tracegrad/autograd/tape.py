"""Ops on Tensors that require grad enter, nodes that remember them leave: the eager tape.

A `Node` holds its parents (the nodes that made its operands, leaves themselves, None for what
needs no gradient), the operands' arrays and its own result: never the Tensors that it made. So there
is no cycle, and a graph is freed when its last Tensor goes. `stamp` grows with time: sorting by it
gives a topological order. What an op's rule does not read is not kept when it is large.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from itertools import count
from typing import Any

import numpy as np

from codegen.ir import Builder, Value, attribute_key
from codegen.sizes import Sizes
from codegen.types import ArrayType
from tracegrad.dispatch import TYPES, is_number, type_of
from tracegrad.ops.elementwise import Masked
from tracegrad.staging import Stage, Staged

next_stamp = count(1).__next__
EMPTY: Mapping[str, Any] = {}
SMALL = 4096  # bytes: keeping less costs more than it saves


class _Leaf:
    """The `_node` of a Tensor that requires grad and was made by no op."""

    def __repr__(self) -> str:
        return "LEAF"


LEAF: Any = _Leaf()


FREED: Any = {"freed": {}}
"""The `more` of a node whose backward has run and let go of what it kept."""


class Node:
    """One recorded op; what ``tensor.grad_fn`` shows."""

    __slots__ = (
        "__weakref__",
        "attributes",
        "more",
        "op",
        "parents",
        "result",
        "stamp",
        "traced",
        "values",
    )

    op: Any
    attributes: Mapping[str, Any]
    parents: tuple[Any, ...]  # Node, Output, leaf Tensor or None, one an operand
    values: tuple[Any, ...]  # the operands' arrays (or their `Shape`)
    result: Any  # the array, or a tuple of them
    stamp: int
    traced: Any  # while tracing: the values in the graph, operands then results
    more: Any  # hooks and what else only few nodes have

    def __repr__(self) -> str:
        return f"<{self.name()}>"

    def name(self) -> str:
        """The node's name as PyTorch writes it: ``AddBackward0``."""
        return node_name(self.op)


class Output:
    """The k-th result of a node that has several."""

    __slots__ = ("index", "node")

    def __init__(self, node: Node, index: int) -> None:
        self.node = node
        self.index = index


class Shape:
    """Stands for an array of which only the type was kept."""

    __slots__ = ("dtype", "shape")

    def __init__(self, array: Any) -> None:
        self.shape = array.shape
        self.dtype = array.dtype


TYPES[Shape] = lambda x: ArrayType(x.dtype.name, tuple(x.shape))


def node_name(op: Any) -> str:
    """``add`` -> ``AddBackward0``."""
    own = getattr(op, "node_name", None)
    if own: return own
    name={'multiply':'mul','number_power':'pow','divide':'div','subtract':'sub'}.get(op.name,op.name)
    return "".join(word.capitalize() for word in name.split("_")) + "Backward0"


def parent_of(x: Any) -> Any:
    """What a node keeps of an operand to go on backwards."""
    node = getattr(x, "_node", None)
    return x if node is LEAF else node


def record(
    op: Any, operands: Sequence[Any], attributes: Mapping[str, Any], result: Any, traced: Any
) -> Node:
    """The node of an op that has just run."""
    node: Node = Node.__new__(Node)
    node.op = op
    node.attributes = attributes
    node.parents = tuple([parent_of(x) for x in operands])
    node.values = tuple([getattr(x, "_array", x) for x in operands])
    node.result = result
    node.stamp = next_stamp()
    node.traced = traced
    node.more = None
    slim(node)
    return node


def slim(node: Node) -> None:
    """Forgets large arrays that the op's rule does not read."""
    arrays = (*node.values, node.result)
    if all(getattr(array, "nbytes", 0) <= SMALL for array in arrays) or node.traced:
        return
    read = _read_by_rule(node)
    if read is None:
        return
    kept = [a if i in read or is_number(a) else Shape(a) for i, a in enumerate(arrays)]
    node.values, node.result = tuple(kept[:-1]), kept[-1]


_READ: dict[Hashable, frozenset[int] | None] = {}


def _read_by_rule(node: Node) -> frozenset[int] | None:
    """Which operands (and last the result) the op's rule reads, found by staging the rule once."""
    if node.op.opaque or isinstance(node.result, tuple):
        return None
    types = tuple(type_of(v).with_shape([None] * type_of(v).ndim) for v in node.values)
    attributes = tuple((k, attribute_key(_NO_SIZES, v)) for k, v in node.attributes.items())
    alike = tuple(np.shape(v) == np.shape(node.result) for v in node.values)
    key = (node.op.name, attributes, types, alike)
    if key not in _READ:
        _READ[key] = _stage_rule(node)
    return _READ[key]


def _stage_rule(node: Node) -> frozenset[int]:
    builder = Builder(Sizes())
    stage = Stage(builder)
    values = [Value(type_of(v)) for v in (*node.values, node.result)]
    ct = Staged(stage, Value(type_of(node.result)))
    staged = [Staged(stage, value) for value in values]
    given = node.op.vjp(ct, staged[-1], *staged[:-1], **node.attributes)
    read = {operand for n in builder.nodes for operand in n.operands}
    for contribution in given:
        if isinstance(contribution, Masked):
            read.add(contribution.condition.value)
        elif isinstance(contribution, Staged):
            read.add(contribution.value)
    return frozenset(i for i, value in enumerate(values) if value in read)


_NO_SIZES = Sizes()
