"""Means with weights: ``average``."""

from __future__ import annotations

from typing import Any

import numpy as np

from codegen.types import ArrayType, is_inexact, promote
from tracegrad.errors import ArgumentError
from tracegrad.ops import batching_rules
from tracegrad.ops.arguments import as_array, synonyms
from tracegrad.ops.elementwise.ufuncs import astype
from tracegrad.ops.program_functions import needs
from tracegrad.ops.record import define
from tracegrad.ops.reductions.sums_and_extremes import all as all_of
from tracegrad.ops.reductions.sums_and_extremes import length, mean
from tracegrad.ops.reductions.sums_and_extremes import sum as sum_of
from tracegrad.ops.shape.creation import count, full_of
from tracegrad.ops.shape.reshaping import (
    broadcast_beside,
    canonical_axis,
    expand_axes,
    many_axes,
    one_axis,
    one_or_many,
    permute_dims,
    sizes_of,
)
from tracegrad.ops.type_rules import ufunc
from tracegrad.values.dispatch import dtype_of, ndim_of, shape_of, type_of


def over_weights(total, weight):
    """A sum over the sum of its weights, as ``np.average`` divides."""
    if np.any(weight == 0.0):
        raise ZeroDivisionError("Weights sum to zero, can't be normalized")
    return total / weight


divided = define(
    "over_weights",
    "over_weights(a, b)",
    jax="a / b",
    operands="a b",
    infer=ufunc("divide"),
    vjp=lambda ct, y, a, b: (ct / b, -ct * y / b),
    sound=lambda y, a, b: (all_of(b != 0),),
    needs=needs((over_weights,)),
    batch=batching_rules.elementwise,
    domain="nonzero",
    doc="A sum over the sum of its weights, which raises where that is 0.",
)


@synonyms
def average(
    x: Any, axis: Any = None, weights: Any = None, returned: bool = False, keepdims: bool = False
) -> Any:
    """The mean over `axis` with `weights`; `returned` adds the sum of the weights.

    Weights whose sum is 0 raise a ``ZeroDivisionError``.
    """
    x = as_array(x)
    if weights is None:
        found = mean(x, axis, keepdims=keepdims)
        number = count((length(x, canonical_axis(axis, ndim_of(x))),), found)
        total = full_of(number, shape=shape_of(found), dtype=dtype_of(found))
    else:
        weights = _weights_beside(x, axis, as_array(weights))
        dtype, _ = promote([type_of(x), type_of(weights)])
        if not is_inexact(dtype_of(x)):
            dtype, _ = promote([ArrayType(dtype, ()), ArrayType("float64", ())])
        x, weights = (v if dtype_of(v) == dtype else astype(v, dtype=dtype) for v in (x, weights))
        total = sum_of(weights, axis, keepdims=keepdims)
        found = divided(sum_of(x * weights, axis, keepdims=keepdims), total)
    return (found, total) if returned else found


def _weights_beside(x: Any, axis: Any, weights: Any) -> Any:
    """The weights of all elements: given for each of them, or along the axes that are reduced."""
    ndim = ndim_of(x)
    if ndim_of(weights) != ndim or not _same_shape(x, weights):
        if axis is None:
            raise ArgumentError("average: weights of another shape need axis=")
        axes = many_axes(axis, ndim)
        if ndim_of(weights) == len(axes):
            given = axis if isinstance(axis, tuple | list) else (axis,)
            order = tuple(np.argsort([one_axis(a, ndim) for a in given]).tolist())
            weights = permute_dims(weights, order) if len(order) > 1 else weights
            others = tuple(i for i in range(ndim) if i not in axes)
            weights = expand_axes(weights, axis=one_or_many(others)) if others else weights
    return broadcast_beside(weights, shape_of(x), x)


def _same_shape(x: Any, weights: Any) -> bool:
    sizes = sizes_of([x, weights])
    return all(map(sizes.same, shape_of(x), shape_of(weights)))


__all__ = ["average"]
