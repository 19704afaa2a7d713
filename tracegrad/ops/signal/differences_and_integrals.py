"""Differences, slopes, integrals and interpolation of sampled functions."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from codegen.sizes import Sizes
from codegen.types import ArrayType, is_inexact, shape_text
from codegen.types import ShapeError as ShapeMismatch
from tracegrad.errors import ArgumentError, ArgumentValueError, DTypeError, ShapeError
from tracegrad.ops import batching_rules
from tracegrad.ops.arguments import as_array, synonyms
from tracegrad.ops.elementwise.activations import as_inexact
from tracegrad.ops.elementwise.ufuncs import (
    absolute,
    astype,
    clip,
    is_complex,
    logical_and,
    minimum,
    not_equal,
    real,
    remainder,
    subtract,
    where,
)
from tracegrad.ops.record import define
from tracegrad.ops.reductions.products import cumsum_along
from tracegrad.ops.reductions.sums_and_extremes import sum as sum_of
from tracegrad.ops.shape.creation import beside, extent_like, zeros_like, zeros_of
from tracegrad.ops.shape.indexing import getitem, index_add, setitem
from tracegrad.ops.shape.joining import concatenate
from tracegrad.ops.shape.reshaping import (
    broadcast_beside,
    expand_axes,
    many_axes,
    one_axis,
    one_or_many,
    ravel,
)
from tracegrad.ops.statistics.sorting import argsort_along, search
from tracegrad.values.dispatch import HANDLERS, dtype_of, ndim_of, shape_of

FROM_SECOND, UP_TO_LAST = slice(1, None), slice(None, -1)


def _along(axis: int, part: Any) -> tuple[Any, ...]:
    """The index that takes a part along one axis."""
    return (*[slice(None)] * axis, part)


# -- differences --------------------------------------------------------------------------------


def _steps(x: Any, axis: int) -> Any:
    """Each element less the one before it."""
    later, earlier = getitem(x, _along(axis, FROM_SECOND)), getitem(x, _along(axis, UP_TO_LAST))
    return (not_equal if dtype_of(x) == "bool" else subtract)(later, earlier)


def _beside(x: Any, extra: Any, axis: int) -> Any:
    """What stands before or behind `x` along an axis: a number is one element for each line."""
    extra = beside(extra, x)
    if ndim_of(extra):
        return extra
    shape = shape_of(x)
    return broadcast_beside(extra, (*shape[:axis], 1, *shape[axis + 1 :]), x)


@synonyms
def diff(x: Any, n: int = 1, axis: int = -1, prepend: Any = None, append: Any = None) -> Any:
    """The differences of neighbours along `axis`, `n` times over.

    prepend, append
        What is put before and behind `x` first: an array, or a number for each line.

    Examples
    --------
    >>> import tracegrad as tg
    >>> tg.diff(tg.tensor([1.0, 4.0, 9.0]))
    tensor([3., 5.])
    """
    if n < 0:
        raise ArgumentValueError(f"diff: the order must not be negative: {n}")
    x = as_array(x)
    if n == 0:
        return x
    if not ndim_of(x):
        raise ShapeError("diff: an array without axes has no neighbours")
    axis = one_axis(axis, ndim_of(x))
    parts = [
        *([] if prepend is None else [_beside(x, prepend, axis)]),
        x,
        *([] if append is None else [_beside(x, append, axis)]),
    ]
    if len(parts) > 1:
        x = concatenate(parts, axis)
    for _ in range(n):
        x = _steps(x, axis)
    return x


def ediff1d(x: Any, to_end: Any = None, to_begin: Any = None) -> Any:
    """The differences of neighbours in the flattened array, between what is put around them."""
    x = ravel(as_array(x))
    found = getitem(x, FROM_SECOND) - getitem(x, UP_TO_LAST)
    around = [None if part is None else beside(part, found) for part in (to_begin, to_end)]
    for part in around:
        if part is not None and not np.can_cast(dtype_of(part), dtype_of(x), "same_kind"):
            raise DTypeError(f"ediff1d: {dtype_of(part)} cannot stand beside {dtype_of(x)}")
    begin, end = (None if part is None else ravel(_in_dtype(part, x)) for part in around)
    several = [part for part in (begin, found, end) if part is not None]
    return found if len(several) == 1 else concatenate(several)


def _in_dtype(part: Any, x: Any) -> Any:
    return part if dtype_of(part) == dtype_of(x) else astype(part, dtype=dtype_of(x))


# -- slopes -------------------------------------------------------------------------------------


def _uniform(f: Any, axis: int, h: Any, order: int) -> list[Any]:
    """The slopes at the first, the inner and the last places of a grid of one spacing."""
    inner = getitem(f, _along(axis, slice(2, None))) - getitem(f, _along(axis, slice(None, -2)))
    first, second, last, before = (getitem(f, _along(axis, i)) for i in (0, 1, -1, -2))
    if order == 1:
        return [(second - first) / h, inner / (2.0 * h), (last - before) / h]
    third, early = getitem(f, _along(axis, 2)), getitem(f, _along(axis, -3))
    begin = -1.5 / h * first + 2.0 / h * second + -0.5 / h * third
    end = 0.5 / h * early + -2.0 / h * before + 1.5 / h * last
    return [begin, inner / (2.0 * h), end]


def _scattered(f: Any, axis: int, x: Any, order: int) -> list[Any]:
    """The same on a grid of coordinates."""
    behind = tuple(range(1, ndim_of(f) - axis))
    x = expand_axes(x, axis=one_or_many(behind)) if behind else x
    steps = _steps(x, 0)
    left, right = getitem(steps, UP_TO_LAST), getitem(steps, FROM_SECOND)
    before, at, after = (
        getitem(f, _along(axis, part)) for part in (slice(None, -2), slice(1, -1), slice(2, None))
    )
    inner = (
        -right / (left * (left + right)) * before
        + (right - left) / (left * right) * at
        + left / (right * (left + right)) * after
    )
    begins = [getitem(f, _along(axis, i)) for i in range(order + 1)]
    ends = [getitem(f, _along(axis, -1 - i)) for i in range(order + 1)]
    first, last = getitem(steps, 0), getitem(steps, -1)
    if order == 1:
        return [(begins[1] - begins[0]) / first, inner, (ends[0] - ends[1]) / last]
    next_, previous = getitem(steps, 1), getitem(steps, -2)
    return [_curved(begins, first, next_), inner, -_curved(ends, last, previous)]


def _curved(f: list[Any], h: Any, k: Any) -> Any:
    """The slope at the first of three places that are `h` and then `k` apart."""
    return (
        -(2.0 * h + k) / (h * (h + k)) * f[0] + (h + k) / (h * k) * f[1] - h / (k * (h + k)) * f[2]
    )


def gradient(f: Any, *varargs: Any, axis: Any = None, edge_order: int = 1) -> Any:
    """The slopes of samples along each axis: central differences, one-sided at the edges.

    varargs
        Nothing (a spacing of 1), one spacing for all axes, or for each axis a spacing or the
        coordinates of the samples.
    edge_order
        1 or 2: how exact the slopes at the edges are.

    A list with an array for each axis; the array itself where there is a single axis.
    """
    f = as_array(f)
    f = f if is_inexact(dtype_of(f)) else astype(f, dtype="float64")
    if edge_order not in (1, 2):
        raise ArgumentValueError(f"gradient: edge_order={edge_order!r}: must be 1 or 2")
    ndim = ndim_of(f)
    if axis is None:
        axes = list(range(ndim))
    else:
        axes = [one_axis(a, ndim) for a in (axis if isinstance(axis, tuple | list) else [axis])]
    many_axes(tuple(axes), ndim)
    if len(varargs) not in (0, 1, len(axes)):
        raise ArgumentError(f"gradient: {len(varargs)} spacings for {len(axes)} axes")
    spacings = (
        list(varargs) * len(axes) if len(varargs) == 1 else list(varargs) or [1.0] * len(axes)
    )
    found = [_slopes(f, a, h, edge_order) for a, h in zip(axes, spacings, strict=True)]
    return found[0] if len(found) == 1 else tuple(found)


def _slopes(f: Any, axis: int, h: Any, order: int) -> Any:
    h = as_array(h)
    if ndim_of(h) > 1:
        raise ShapeError("gradient: coordinates stand in a vector")
    try:
        first, inner, last = (
            _scattered(f, axis, as_inexact(h), order) if ndim_of(h) else _uniform(f, axis, h, order)
        )
    except IndexError as error:
        raise ShapeError(
            f"gradient: axis {axis} has too few samples: edge_order={order} needs {order + 1} at "
            "least"
        ) from error
    found = setitem(zeros_like(f), _along(axis, slice(1, -1)), inner)
    found = setitem(found, _along(axis, 0), first)
    return setitem(found, _along(axis, -1), last)


# -- integrals ----------------------------------------------------------------------------------


@synonyms
def trapezoid(y: Any, x: Any = None, dx: Any = 1.0, axis: int = -1) -> Any:
    """The integral along `axis` of samples joined by straight lines.

    `x` holds their coordinates (a vector, or one for each sample); without it they are `dx` apart.

    Examples
    --------
    >>> import tracegrad as tg
    >>> tg.trapezoid(tg.tensor([1.0, 2.0, 3.0]), dx=0.5)
    tensor(2.)
    """
    y = as_array(y)
    axis = one_axis(axis, ndim_of(y))
    width = dx
    if x is not None:
        x = as_array(x)
        width = _steps(x, 0 if ndim_of(x) == 1 else axis)
        behind = tuple(range(1, ndim_of(y) - axis))
        if ndim_of(x) == 1 and behind:
            width = expand_axes(width, axis=one_or_many(behind))
    later, earlier = getitem(y, _along(axis, FROM_SECOND)), getitem(y, _along(axis, UP_TO_LAST))
    return sum_of(width * (later + earlier) / 2.0, axis)


# -- values between -----------------------------------------------------------------------------


def _interp_type(sizes: Sizes, x: ArrayType, xp: ArrayType, fp: ArrayType) -> ArrayType:
    if xp.ndim != 1 or fp.ndim != 1 or not sizes.same(xp.shape[0], fp.shape[0]):
        raise ShapeMismatch(
            f"interp: samples are two vectors of one length, not {shape_text(sizes, xp.shape)} and "
            f"{shape_text(sizes, fp.shape)}"
        )
    return ArrayType("complex128" if "complex" in fp.dtype else "float64", x.shape)


def _interp_vjp(ct: Any, y: Any, x: Any, xp: Any, fp: Any) -> tuple[Any, Any, Any]:
    """By the two samples around each place; beyond the samples the value is the last one."""
    left = search(getitem(xp, slice(1, -1)), x, side="right")
    right = minimum(left + 1, extent_like(xp, shape_of(xp)[0], "int64") - 1)  # of one sample: it
    x0, x1 = getitem(xp, left), getitem(xp, right)
    f0, f1 = getitem(fp, left), getitem(fp, right)
    width = where(x1 == x0, 1.0, x1 - x0)
    inside = logical_and(x >= getitem(xp, 0), x <= getitem(xp, -1))
    slope = (f1 - f0) / width
    part = clip((x - x0) / width, 0.0, 1.0)
    risen = ct * slope
    to_x = where(inside, real(risen) if is_complex(risen) else risen, 0.0)
    to_xp = index_add(zeros_of(xp), left, -to_x * (1.0 - part))
    to_fp = index_add(zeros_of(fp), left, ct * (1.0 - part))
    return to_x, index_add(to_xp, right, -to_x * part), index_add(to_fp, right, ct * part)


interpolated = define(
    "interp",
    "np.interp(x, xp, fp)",
    jax='jnp.interp(x, xp.astype("float64"), fp)',
    operands="x xp fp",
    infer=_interp_type,
    vjp=_interp_vjp,
    domain="sorted",
    batch=batching_rules.only(0),
    doc="Values on straight lines between samples of rising coordinates, two or more.",
)


def interp(
    x: Any, xp: Any, fp: Any, left: Any = None, right: Any = None, period: float | None = None
) -> Any:
    """The values at `x` on straight lines between the samples `fp` at the rising places `xp`.

    left, right
        The values before the first and behind the last sample (default: those of the samples).
    period
        The samples repeat: `xp` need not rise then, and `left` and `right` say nothing.

    Differentiable in `x`, `xp`, `fp`, `left` and `right`.
    """
    like = next((v for v in (x, xp, fp) if type(v) in HANDLERS), x)
    x, xp, fp = (as_array(beside(v, like)) for v in (x, xp, fp))
    if period is not None:
        if period == 0:
            raise ArgumentValueError("interp: period is 0")
        x, xp, fp = _periodic(x, xp, fp, abs(period))
        left = right = None
    found = interpolated(x, xp, fp)
    if left is not None:
        found = where(x < getitem(xp, 0), left, found)
    return found if right is None else where(x > getitem(xp, -1), right, found)


def _periodic(x: Any, xp: Any, fp: Any, period: float) -> tuple[Any, Any, Any]:
    """Places within one period, and samples in order with one more at each end."""
    x, xp = (astype(v, dtype="float64") % period for v in (x, xp))
    order = argsort_along(xp, axis=0)
    xp, fp = getitem(xp, order), getitem(fp, order)
    head, tail = slice(None, 1), slice(-1, None)
    xp = concatenate([getitem(xp, tail) - period, xp, getitem(xp, head) + period])
    return x, xp, concatenate([getitem(fp, tail), fp, getitem(fp, head)])


# -- angles -------------------------------------------------------------------------------------


@synonyms
def unwrap(
    p: Any, discont: float | None = None, axis: int = -1, *, period: float = 2 * math.pi
) -> Any:
    """Angles without their jumps: neighbours differ by at most half a period.

    A difference of more than `discont` (half a period, or more) is changed by whole periods.
    """
    p = as_array(p)
    axis = one_axis(axis, ndim_of(p))
    steps = _steps(p, axis)
    discont = period / 2 if discont is None else discont
    whole = isinstance(period, int) and not is_inexact(dtype_of(p))
    high = period // 2 if whole else period / 2
    within = remainder(steps - (-high), period) + -high
    if not whole or period % 2 == 0:  # a step up by half a period stays one up
        within = where(logical_and(within == -high, steps > 0), high, within)
    change = where(absolute(steps) < discont, 0, within - steps)
    moved = getitem(p, _along(axis, FROM_SECOND)) + cumsum_along(change, axis=axis)
    if dtype_of(moved) != dtype_of(p):
        p = astype(p, dtype=dtype_of(moved))
    return setitem(p, _along(axis, FROM_SECOND), moved)


__all__ = [
    "diff",
    "ediff1d",
    "gradient",
    "interp",
    "trapezoid",
    "unwrap",
]
