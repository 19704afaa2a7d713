"""Staged values: ops on them add nodes to a graph under construction.

A `Staged` stands for a value of a graph that is being built: derivative rules and rewrites are
written as mathematics over it (operators and methods come from the op table, as for Tensors), and
every op appends a node. Nothing is computed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import MappingProxyType
from typing import Any

import numpy as np

from codegen.ir import Builder, Call, Constant, Node, Origin, Value, dims_of
from codegen.sizes import Dim, Sizes
from codegen.types import ArrayType, weak_of
from tracegrad.errors import TraceError
from tracegrad.values.dispatch import HANDLERS, IDENTITIES, LENGTHS, SIZES, TYPES, is_number


class Stage:
    """A graph under construction and the origin that the next nodes get.

    `made` are the nodes of another graph whose values are read.
    """

    def __init__(
        self,
        builder: Builder,
        origin: Origin | None = None,
        made: Mapping[Value, Node] = MappingProxyType({}),
    ) -> None:
        self.builder = builder
        self.origin = origin or Origin()
        self.made = made

    def producer(self, value: Value) -> Node | None:
        """The node that makes a value, if it is known."""
        return self.builder.producer.get(value) or self.made.get(value)

    def lift(self, x: Any) -> Value:
        """A staged value's own value; a number becomes a constant."""
        if type(x) is Staged:
            return x.value
        if is_number(x):
            return self.builder.constant(x, weak_of(x), None, self.origin)
        if isinstance(x, np.generic):
            type_ = ArrayType(x.dtype.name)
            return self.builder.constant(x.item(), type_, None, self.origin)
        raise TraceError(f"a graph takes staged values and numbers, not {type(x).__name__}")

    @contextmanager
    def apart(self, sizes: Sizes) -> Iterator[Builder]:
        """Nodes are appended to a builder of their own."""
        before = self.builder
        self.builder = builder = Builder(sizes)
        builder.producer = dict(before.producer)
        try:
            yield builder
        finally:
            self.builder = before


class Staged:
    """A value of a graph under construction."""

    __slots__ = ("stage", "value")

    def __init__(self, stage: Stage, value: Value) -> None:
        self.stage = stage
        self.value = value

    @property
    def shape(self) -> tuple[Dim, ...]:
        return _type(self).shape

    @property
    def ndim(self) -> int:
        return len(self.value.type.shape)

    @property
    def dtype(self) -> str:
        return self.value.type.dtype

    def __repr__(self) -> str:
        return f"Staged({self.value!r})"


@contextmanager
def on_line_of(x: Any) -> Iterator[None]:
    """What is done to a staged value here belongs to the line that it comes from."""
    if type(x) is not Staged or not x.value.origin.section:
        yield
        return
    before, x.stage.origin = x.stage.origin, x.value.origin
    try:
        yield
    finally:
        x.stage.origin = before


def _apply(like: Staged, op: Any, operands: Sequence[Any], attributes: Mapping[str, Any]) -> Any:
    """One op appended to the graph under construction."""
    stage = like.stage
    lifted = tuple(stage.lift(x) for x in operands)
    results = stage.builder.call(op, lifted, stage.origin, **attributes)
    several = [Staged(stage, value) for value in results]
    return several[0] if len(several) == 1 else tuple(several)


def _type(x: Staged) -> ArrayType:
    type_ = x.value.type
    return type_.with_shape(dims_of(x.stage.builder.sizes, type_)) if type_.shape else type_


def length_in(node: Node | None) -> Dim | None:
    """The length, or the whole number, that a node gives; None for others."""
    if isinstance(node, Call) and node.op.name == "length":
        return node.attribute("size")  # type: ignore[no-any-return]
    whole = isinstance(node, Constant) and type(node.value) is int
    return node.value if whole else None  # type: ignore[union-attr,return-value]


HANDLERS[Staged] = _apply
TYPES[Staged] = _type
SIZES[Staged] = lambda x: x.stage.builder.sizes
IDENTITIES[Staged] = lambda x: x.value
LENGTHS[Staged] = lambda x: length_in(x.stage.producer(x.value))
