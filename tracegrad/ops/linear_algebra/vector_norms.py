"""Norms of vectors; those of matrices are in `matrix_norms`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from codegen.spelling import Spelling, spell
from tracegrad.errors import ArgumentValueError
from tracegrad.ops.arguments import synonyms
from tracegrad.ops.elementwise.activations import as_inexact
from tracegrad.ops.elementwise.powers import number_power
from tracegrad.ops.elementwise.ufuncs import absolute, astype, conj, is_complex, real
from tracegrad.ops.reductions.sums_and_extremes import (
    INFINITY,
    _reduce,
    _where,
    count_nonzero,
    max,
    min,
    reducer,
    restore,
    sum,
)
from tracegrad.ops.type_rules import float_like, real_part, reduced
from tracegrad.values.dispatch import dtype_of, ndim_of


def _norm_text(attributes: Mapping[str, Any]) -> Spelling:
    axis = attributes["axis"]
    if isinstance(axis, tuple) and len(axis) > 2:  # for NumPy a norm has one axis, two or all
        return spell("np.sqrt(np.square(np.abs(x)).sum(axis=axis, keepdims=keepdims))")
    return spell("np.linalg.norm(x, axis=axis, keepdims=keepdims)")


def _norm_vjp(ct: Any, y: Any, x: Any, axis: Any, keepdims: bool) -> tuple[Any]:
    """x / |x|, and 0 at the origin."""
    scale = ct / _where(y == 0, 1.0, y)
    direction = conj(x) if is_complex(x) else x
    return (restore(scale, axis, keepdims, ndim_of(x)) * direction,)


norm_over = reducer(
    "norm",
    lambda sizes, x, axis, keepdims: real_part(sizes, float_like(sizes, x)).with_shape(
        reduced(x.shape, axis, keepdims)
    ),
    _norm_vjp,
    text=_norm_text,
    doc="The root of the sum of squares.",
)


@synonyms
def vector_norm(x: Any, axis: Any = None, keepdims: bool = False, ord: float = 2) -> Any:
    """The `ord`-norm over `axis`, all elements as one vector; 0 has the gradient 0."""
    if isinstance(ord, str):
        raise ArgumentValueError(f"norm: ord={ord!r} of vectors must be a number")
    x = as_inexact(x)
    if ord == 2:
        return _reduce(norm_over, x, axis, keepdims)
    if ord == 0:
        number = count_nonzero(x, axis, keepdims=keepdims)
        return astype(number, dtype=dtype_of(real(x) if is_complex(x) else x))
    size = absolute(x)
    if ord == 1:
        return sum(size, axis, keepdims=keepdims)
    if ord in (INFINITY, -INFINITY):
        return (max if ord > 0 else min)(size, axis, keepdims=keepdims)
    if ord < 1:  # the derivative at 0 is infinite, or 0 times infinity, and taken as 0
        there = number_power(_where(size == 0, 1.0, size), exponent=ord)
        powers = _where(size == 0, 0.0 if ord > 0 else INFINITY, there)
    else:
        powers = number_power(size, exponent=ord)
    total = sum(powers, axis, keepdims=keepdims)
    root = number_power(_where(total == 0, 1.0, total), exponent=1 / ord)
    return _where(total == 0, 0.0 if ord > 0 else INFINITY, root)


__all__ = ["vector_norm"]
