"""Softmax, log-softmax and logsumexp, without overflow."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np

from codegen.spelling import Spelling, spell
from codegen.types import ArrayType
from tracegrad.ops import batching_rules
from tracegrad.ops.arguments import synonyms
from tracegrad.ops.elementwise.activations import as_inexact
from tracegrad.ops.elementwise.ufuncs import (
    exp,
    isfinite,
    log,
    minimum,
    positive,
    stop_gradient,
    where,
)
from tracegrad.ops.program_functions import needs
from tracegrad.ops.record import define
from tracegrad.ops.reductions.row_normalization import dot_kept
from tracegrad.ops.reductions.sums_and_extremes import (
    INFINITY,
    _reduce,
    _where,
    is_inner,
    max,
    reducer,
    restore,
    sum,
    sum_along,
    sum_over,
)
from tracegrad.ops.shape.reshaping import canonical_axis, sizes_of, squeeze
from tracegrad.ops.type_rules import Axis, axes_of, mean_dtype, reduction, ufunc
from tracegrad.values.dispatch import ndim_of, shape_of


def _logsumexp_text(attributes: Mapping[str, Any], numpy: bool = True) -> Spelling:
    """The largest element (0 for an infinite one) is subtracted first, so nothing overflows."""
    total = "np.exp(x - out).sum(axis=axis, keepdims=keepdims)"
    if numpy and is_inner(attributes["axis"]):
        total = "sum_along(np.exp(x - out), axis=axis, keepdims=keepdims)"
    last = f"out = np.log({total}) + out"
    keep = ", keepdims=True"
    if attributes["axis"] is None and not attributes["keepdims"]:
        keep = ""
    elif not attributes["keepdims"]:
        last = last[: -len("out")] + "out.squeeze(axis=axis)"
    return spell(
        f"out = x.max(axis=axis{keep})\nout = np.where(np.isfinite(out), out, 0.0)\n{last}"
    )


def _logsumexp_vjp(ct: Any, y: Any, x: Any, axis: Any, keepdims: bool) -> tuple[Any]:
    """The softmax of x; where all elements are -inf it is taken as 0."""
    ndim = ndim_of(x)
    shift = restore(_where(y == -INFINITY, 0.0, y), axis, keepdims, ndim)
    return (restore(ct, axis, keepdims, ndim) * exp(x - shift),)


logsumexp_over = reducer(
    "logsumexp",
    reduction(mean_dtype),
    _logsumexp_vjp,
    text=_logsumexp_text,
    jax=partial(_logsumexp_text, numpy=False),
    needs=needs((sum_along,)),
    scratch=2,
    domain="nonempty",
    raises="caught",
    batch=batching_rules.over_axes,
)


def _logaddexp_type(sizes: Any, x: ArrayType, axis: Any, keepdims: bool) -> ArrayType:
    dtype = ufunc("logaddexp")(sizes, x, x).dtype
    return reduction(lambda _: dtype)(sizes, x, axis, keepdims)


def _logaddexp_text(attributes: Mapping[str, Any]) -> Spelling:
    """Of ufuncs the axis is 0 where none is named."""
    axis = "None" if attributes["axis"] is None else "axis=axis"
    return spell(f"np.logaddexp.reduce(x, {axis}, keepdims=keepdims)")


logaddexp_over = reducer(
    "logaddexp_reduce",
    _logaddexp_type,
    _logsumexp_vjp,
    text=_logaddexp_text,
    jax=partial(_logsumexp_text, numpy=False),
    scratch=0,
    domain="nonempty",
    doc="logaddexp of one element after the other, over `axis`: NumPy's np.logaddexp.reduce.",
)


def logaddexp_reduce(x: Any, axis: Any = 0, dtype: Any = None, keepdims: bool = False) -> Any:
    """``np.logaddexp.reduce``, which adds one element after the other."""
    return _reduce(logaddexp_over, x, axis, keepdims, dtype)


def _is_nothing(x: Any, axis: Axis) -> bool:
    """Whether an axis has the length 0: no element is the largest, so none can be subtracted."""
    shape, sizes = shape_of(x), sizes_of([x])
    return any(sizes.same(shape[i], 0) for i in axes_of(axis, len(shape)))


@synonyms
def logsumexp(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    """``log(sum(exp(x)))`` over `axis` without overflow; of nothing ``-inf``, the log of 0."""
    x = as_inexact(x)
    if _is_nothing(x, canonical_axis(axis, ndim_of(x))):
        return sum(x, axis, keepdims=keepdims) - INFINITY
    return _reduce(logsumexp_over, x, axis, keepdims)


def weighted_logsumexp(x: Any, b: Any, axis: Any = None, keepdims: bool = False) -> Any:
    """``log(sum(b * exp(x)))`` over `axis` without overflow; NaN where that sum is negative.

    Where `b` is 0 an element adds nothing, be it infinite.
    """
    x, b = as_inexact(x), as_inexact(b)
    nothing = b == 0
    kept = stop_gradient(where(nothing, -INFINITY, x))
    if _is_nothing(kept, canonical_axis(axis, ndim_of(kept))):
        return sum(kept, axis, keepdims=keepdims) - INFINITY
    top = max(kept, axis, keepdims=True)
    top = where(isfinite(top), top, 0.0)
    highest = 0.9 * math.log(np.finfo(kept.dtype).max)
    shifted = where(nothing, minimum(x - top, highest), x - top)
    total = sum(b * exp(shifted), axis, keepdims=keepdims)
    return log(total) + (top if keepdims else squeeze(top, axis))


def _softmax_vjp(ct: Any, y: Any, x: Any, axis: Any) -> tuple[Any]:
    return ((ct - dot_kept(ct, y, axis)) * y,)


softmax_over = define(
    "softmax",
    "out = x - x.max(axis=axis, keepdims=True)\n"
    "np.exp(out, out=out)\n"
    "out /= sum_along(out, axis=axis, keepdims=True)",
    jax="out = jnp.exp(x - x.max(axis=axis, keepdims=True))\n"
    "out /= out.sum(axis=axis, keepdims=True)",
    infer=lambda sizes, x, axis: ufunc("exp")(sizes, x),
    vjp=_softmax_vjp,
    attributes={"axis": ...},
    needs=needs((sum_along,)),
    scratch=0,
    domain="nonempty",
    raises="caught",
    batch=batching_rules.over_axes,
)


def _log_softmax_vjp(ct: Any, y: Any, x: Any, axis: Any) -> tuple[Any]:
    return (ct - exp(y) * sum_over(ct, axis=axis, keepdims=True),)


log_softmax_over = define(
    "log_softmax",
    "out = x - x.max(axis=axis, keepdims=True)\n"
    "out = out - np.log(sum_along(np.exp(out), axis=axis, keepdims=True))",
    jax="out = x - x.max(axis=axis, keepdims=True)\n"
    "out = out - jnp.log(jnp.exp(out).sum(axis=axis, keepdims=True))",
    infer=lambda sizes, x, axis: ufunc("exp")(sizes, x),
    vjp=_log_softmax_vjp,
    attributes={"axis": ...},
    needs=needs((sum_along,)),
    scratch=1,
    domain="nonempty",
    raises="caught",
    batch=batching_rules.over_axes,
)


@synonyms
def softmax(x: Any, axis: Any = -1) -> Any:
    """``exp(x)`` over its sum along `axis`, without overflow."""
    x = as_inexact(x)
    axis = canonical_axis(axis, ndim_of(x))
    return exp(x) if _is_nothing(x, axis) else softmax_over(x, axis=axis)


@synonyms
def log_softmax(x: Any, axis: Any = -1) -> Any:
    """``log(softmax(x))``, exact where the softmax underflows."""
    x = as_inexact(x)
    axis = canonical_axis(axis, ndim_of(x))
    return positive(x) if _is_nothing(x, axis) else log_softmax_over(x, axis=axis)


__all__ = [
    "log_softmax",
    "logsumexp",
    "softmax",
]
