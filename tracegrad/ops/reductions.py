"""An array enters, fewer elements leave: sums, products, extremes, statistics and running sums."""

from __future__ import annotations

from typing import Any

from codegen.types import is_inexact
from tracegrad.dispatch import dtype_of, ndim_of, shape_of
from tracegrad.ops.creation import count
from tracegrad.ops.elementwise import astype, where
from tracegrad.ops.record import define
from tracegrad.ops.rules import axes_of, mean_dtype, reduction, sum_dtype
from tracegrad.ops.shape import broadcast_to_shape, canonical_axis, expand_axes

AXES = {"axis": None, "keepdims": False}


def restore(y: Any, axis: Any, keepdims: bool, ndim: int) -> Any:
    """A reduced array with its axes back, of length 1, so that it broadcasts against the whole."""
    if keepdims or axis is None or ndim == 0:
        return y
    return expand_axes(y, axis=axis)


def spread(ct: Any, x: Any, axis: Any, keepdims: bool) -> Any:
    """A cotangent of a sum repeated over what was summed."""
    whole = restore(ct, axis, keepdims, ndim_of(x))
    return broadcast_to_shape(whole, shape=shape_of(x))


sum_over = define(
    "sum",
    "x.sum(axis=axis, keepdims=keepdims)",
    infer=reduction(sum_dtype),
    vjp=lambda ct, y, x, axis, keepdims: (spread(ct, x, axis, keepdims),),
    attributes=AXES,
)


def sum(x: Any, axis: Any = None, dtype: Any = None, keepdims: bool = False) -> Any:
    """The sum over `axis` (None, an int or a tuple of ints)."""
    if dtype is not None:
        x = astype(x, dtype=dtype)
    return sum_over(x, axis=canonical_axis(axis, ndim_of(x)), keepdims=bool(keepdims))


def _mean_vjp(ct: Any, y: Any, x: Any, axis: Any, keepdims: bool) -> tuple[Any]:
    shape = shape_of(x)
    length = count(tuple(shape[i] for i in axes_of(axis, len(shape))), ct)
    return (spread(ct / length, x, axis, keepdims),)


mean_over = define(
    "mean",
    "x.mean(axis=axis, keepdims=keepdims)",
    infer=reduction(mean_dtype),
    vjp=_mean_vjp,
    attributes=AXES,
)


def mean(x: Any, axis: Any = None, dtype: Any = None, keepdims: bool = False) -> Any:
    """The arithmetic mean over `axis`."""
    if dtype is not None:
        x = astype(x, dtype=dtype)
    return mean_over(x, axis=canonical_axis(axis, ndim_of(x)), keepdims=bool(keepdims))


def _extreme_vjp(ct: Any, y: Any, x: Any, axis: Any, keepdims: bool) -> tuple[Any]:
    """Ties share the cotangent evenly."""
    at = x == restore(y, axis, keepdims, ndim_of(x))
    ties = sum_over(astype(at, dtype=dtype_of(x)), axis=axis, keepdims=keepdims)
    return (where(at, restore(ct / ties, axis, keepdims, ndim_of(x)), 0.0),)


max_over = define(
    "max",
    "x.max(axis=axis, keepdims=keepdims)",
    infer=reduction(),
    vjp=_extreme_vjp,
    attributes=AXES,
    domain="nonempty",
)
min_over = define(
    "min",
    "x.min(axis=axis, keepdims=keepdims)",
    infer=reduction(),
    vjp=_extreme_vjp,
    attributes=AXES,
    domain="nonempty",
)


def max(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    """The largest element over `axis`; ties share the gradient evenly."""
    return max_over(x, axis=canonical_axis(axis, ndim_of(x)), keepdims=bool(keepdims))


def min(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    """The smallest element over `axis`; ties share the gradient evenly."""
    return min_over(x, axis=canonical_axis(axis, ndim_of(x)), keepdims=bool(keepdims))


def is_float(x: Any) -> bool:
    """True for dtypes that carry gradients."""
    return is_inexact(dtype_of(x))


__all__ = [
    "max",
    "mean",
    "min",
    "sum",
]
