"""The eager tape: ops on Tensors that require grad are recorded as nodes.

A `Node` holds its parents (the nodes that made its operands, leaves themselves, None for what
needs no gradient), the operands' arrays and its own result: never the Tensors that it made. So
there is no cycle, and a graph is freed when its last Tensor goes. `stamp` grows with time: sorting
by it gives a topological order. What an op's rule does not read is not kept when it is large.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from itertools import count
from typing import Any

import numpy as np

from codegen.ir import Builder, Value
from codegen.keys import attribute_key
from codegen.sizes import Sizes
from codegen.types import ArrayType
from tracegrad.ops.shape.indexing import Scattered
from tracegrad.ops.special_cotangents import Masked, Negated, computed, flat
from tracegrad.ops.staging import Stage, Staged
from tracegrad.runtime.provided import Provided
from tracegrad.runtime.thread_state import STATE
from tracegrad.tape.torch_node_names import node_name
from tracegrad.values.dispatch import TYPES, is_number, type_of

next_stamp = count(1).__next__
"""Time, as the tape knows it: what comes later has the larger number."""


class _Writes:
    """When memory that a tape may have saved was last written."""

    __slots__ = ("last",)


WRITES = _Writes()
WRITES.last = 0
"""A tape whose oldest node is younger than this has saved nothing that was written since."""

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
    """One recorded op; users see it as a `tracegrad.tape.grad_fn.GradFn`."""

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
    stamp: float  # whole, but of the ops of a call that have run again
    traced: Any  # while tracing: the values in the graph, operands then results
    more: Any  # hooks and what else only few nodes have

    def __repr__(self) -> str:
        return f"<{self.name()}>"

    def name(self) -> str:
        """The node's name as PyTorch writes it: ``AddBackward0``."""
        return node_name(self.op, self.attributes, self.values)


class Output:
    """The k-th result of a node that has several."""

    __slots__ = ("index", "node")

    def __init__(self, node: Node, index: int) -> None:
        self.node = node
        self.index = index


FEW = 16  # steps back that are looked at for a flat one


def has_slope(x: Any) -> bool:
    """Whether a gradient would go through the history of a Tensor."""
    return x._node is not None and STATE.grad_enabled and not _is_flat(x._node)


def _is_flat(made: Any) -> bool:
    """Whether nothing but `ZERO` flows to what made a Tensor, as far as few steps back tell."""
    todo, count = [made], 0
    while todo:
        parent = todo.pop()
        node = parent.node if type(parent) is Output else parent
        if node is None or (type(node) is Node and node.op.vjp is flat):
            continue
        count += 1
        if type(node) is not Node or count > FEW:
            return False
        todo += node.parents
    return True


class Shape:
    """Stands for an array of which only the type was kept: programs ask it for lengths."""

    __slots__ = ("dtype", "shape")

    def __init__(self, array: Any) -> None:
        self.shape = np.shape(array)
        self.dtype = np.asarray(array).dtype if is_number(array) else array.dtype

    @property
    def size(self) -> int:
        """The number of elements."""
        return math.prod(self.shape)


TYPES[Shape] = lambda x: ArrayType(x.dtype.name, tuple(x.shape))


def parent_of(x: Any) -> Any:
    """What a node keeps of an operand to go on backwards: a leaf, or what made the operand."""
    node = getattr(x, "_node", None)
    return x if node is LEAF else node


def record(
    op: Any, operands: Sequence[Any], attributes: Mapping[str, Any], result: Any, traced: Any
) -> Node:
    """The node of an op that has just run."""
    node: Node = Node.__new__(Node)
    node.op = op
    node.attributes = attributes
    node.parents = tuple(map(parent_of, operands))
    node.values = tuple([x._array if hasattr(x, "_node") else x for x in operands])
    node.result = result
    node.stamp = next_stamp()
    node.traced = traced
    node.more = None
    slim(node)
    if STATE.saved is not None:
        note_saved.call(node)
    return node


note_saved = Provided("what notes which memory a node has saved")


def slim(node: Node) -> None:
    """Forgets large arrays that the op's rule does not read."""
    arrays = (*node.values, node.result)
    if node.traced or not any([getattr(array, "nbytes", 0) > SMALL for array in arrays]):
        return
    read = read_by_rule(node)
    if read is None:
        return
    kept = [a if i in read or is_number(a) else Shape(a) for i, a in enumerate(arrays)]
    node.values, node.result = tuple(kept[:-1]), kept[-1]


_READ: dict[Hashable, frozenset[int] | None] = {}


def read_by_rule(node: Node) -> frozenset[int] | None:
    """Which operands (and last the result) the op's rule reads, found by staging the rule once."""
    if node.op.opaque or isinstance(node.result, tuple):
        return None
    types = tuple(type_of(v).with_shape([0] * type_of(v).ndim) for v in node.values)
    attributes = tuple((k, attribute_key(_NO_SIZES, v)) for k, v in node.attributes.items())
    alike = tuple(np.shape(v) == np.shape(node.result) for v in node.values)
    key = (node.op.name, attributes, types, alike)
    if key not in _READ:
        _READ[key] = _stage_rule(node)
    return _READ[key]


def _stage_rule(node: Node) -> frozenset[int]:
    values, contributions, builder = _staged(node)
    read = {operand for made in builder.nodes for operand in made.operands}
    read.update(*contributions)
    return frozenset(i for i, value in enumerate(values) if value in read)


def needed_from(node: Node) -> frozenset[int] | None:
    """Like `read_by_rule`, counting only what the gradients of the node's parents are made of."""
    if node.op.opaque:
        called = getattr(node.attributes.get("function"), "call", None)
        found: frozenset[int] | None = getattr(called, "needed", None)
        return found
    if isinstance(node.result, tuple):
        return None
    values, contributions, builder = _staged(node)
    needed: set[Value] = set()
    for parent, contribution in zip(node.parents, contributions, strict=True):
        if parent is not None:
            needed |= contribution
    for made in reversed(builder.nodes):
        if not needed.isdisjoint(made.results):
            needed.update(made.operands)
    return frozenset(i for i, value in enumerate(values) if value in needed)


def _staged(node: Node) -> tuple[list[Value], list[set[Value]], Builder]:
    """The op's rule as a graph: operands and result, what each operand gets, the graph's nodes."""
    builder = Builder(Sizes())
    stage = Stage(builder)
    values = [Value(type_of(v)) for v in (*node.values, node.result)]
    ct = Staged(stage, Value(type_of(node.result)))
    staged = [Staged(stage, value) for value in values]
    contributions: list[set[Value]] = []
    for given in node.op.vjp(ct, staged[-1], *staged[:-1], **node.attributes):
        given = computed(given)
        whole = given.alone() if isinstance(given, Scattered) else given
        parts: tuple[Any, ...] = (whole,)
        if isinstance(whole, Masked):
            parts = (whole.ct, whole.condition)
        elif isinstance(whole, Negated):
            parts = (whole.ct,)
        contributions.append({part.value for part in parts if isinstance(part, Staged)})
    return values, contributions, builder


_NO_SIZES = Sizes()

run_backward = Provided("the eager backward")
"""``run_backward.call(tensor, gradient, ...)``: the engine stands on Tensors, these on the tape."""
