"""Tells what kind of product or total a term of a sum is."""

from __future__ import annotations

from typing import Any, NamedTuple

from codegen import sizes as sz
from codegen.ir import (
    Call,
    Value,
)
from tracegrad.fast_math.unrolled.block_edits import FLOATS, Changes
from tracegrad.ops.elementwise.ufuncs import add, multiply, subtract
from tracegrad.ops.linear_algebra.contractions import matmul, outer_of
from tracegrad.ops.reductions.sums_and_extremes import sum_over
from tracegrad.ops.shape.reshaping import expand_axes, transpose_axes


class Member(NamedTuple):
    """An operand of a product: a matrix (`turned`: its transpose) or a vector."""

    value: Value
    turned: bool = False


class Term(NamedTuple):
    """A term of a sum. A product is over the first axes of both operands; an outer one over none,
    nor is a vector that is scaled by a number.

    A total is a sum over an axis of `left`, and what is nothing special is `left` itself.
    """

    kind: str
    negative: bool
    leaf: Value
    left: Member
    right: Member | None = None
    axis: Any = None


def is_sum(changes: Changes, value: Value) -> bool:
    call = changes.made_by(value)
    return call is not None and call.op in (add, subtract) and value.type.dtype in FLOATS


def term_of(changes: Changes, leaf: Value, negative: bool, shape: tuple[sz.Dim, ...]) -> Term:
    """What a term of a sum of this shape is."""
    plain = Term("value", negative, leaf, Member(leaf))
    call = changes.made_by(leaf)
    if call is None or leaf.type.dtype not in FLOATS or changes.dims(leaf) != shape:
        return plain
    if len(changes.readers(leaf)) > 1 or leaf in changes.outputs:
        return plain  # it is computed anyway
    if call.op is sum_over and not call.attribute("keepdims"):
        axis = call.attribute("axis")
        return Term("total", negative, leaf, Member(call.operands[0]), axis=axis)
    if call.op is multiply and len(shape) == 1:
        for number, vector in (call.operands, call.operands[::-1]):
            scales = number.type.ndim == 0 and vector.type.ndim == 1 and not number.type.weak
            if scales and {number.type.dtype, vector.type.dtype} == {leaf.type.dtype}:
                return Term("scaled", negative, leaf, Member(number), Member(vector))
    if call.op is outer_of or call.op is multiply:
        pair = call.operands if call.op is outer_of else _outer(changes, call)
        if pair is None or any(v.type.dtype != leaf.type.dtype for v in pair):
            return plain
        return Term("outer", negative, leaf, Member(pair[0]), Member(pair[1]))
    turned = _transposed(changes, leaf)
    if turned is not None:
        call = changes.made_by(turned)
        if call is None or len(changes.readers(turned)) > 1 or turned in changes.outputs:
            return plain
    if call.op is not matmul or any(v.type.dtype != leaf.type.dtype for v in call.operands):
        return plain
    a, b = call.operands
    if a.type.ndim > 2 or b.type.ndim > 2:
        return plain
    if turned is None:
        return Term("product", negative, leaf, _over_first(changes, a), Member(b))
    right = _over_first(changes, a)
    if right.turned or b.type.ndim < 2:
        return plain
    return Term("product", negative, leaf, Member(b), right)


def _over_first(changes: Changes, a: Value) -> Member:
    """The left operand of a product with what is contracted as the first axis."""
    if a.type.ndim == 1:
        return Member(a)
    turned = _transposed(changes, a)
    return Member(a, True) if turned is None else Member(turned)


def _transposed(changes: Changes, value: Value) -> Value | None:
    """The matrix that the value is the transpose of."""
    call = changes.made_by(value)
    if call is None or call.op is not transpose_axes or value.type.ndim != 2:
        return None
    return call.operands[0] if call.attribute("axes") in (None, (1, 0)) else None


def _outer(changes: Changes, call: Call) -> tuple[Value, Value] | None:
    """The vectors of ``a[:, None] * b``."""
    for x, y in (call.operands, call.operands[::-1]):
        a, b = _expanded(changes, x, 1), _expanded(changes, y, 0)
        b = y if y.type.ndim == 1 else b
        if a is None or b is None:
            continue
        if changes.dims(call.results[0]) == (*changes.dims(a), *changes.dims(b)):
            return a, b
    return None


def _expanded(changes: Changes, value: Value, axis: int) -> Value | None:
    """The vector that the value is, with a new axis."""
    call = changes.made_by(value)
    if call is None or call.op is not expand_axes or call.attribute("axis") != axis:
        return None
    return call.operands[0] if call.operands[0].type.ndim == 1 else None
