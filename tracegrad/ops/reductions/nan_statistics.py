"""Statistics that leave NaN out."""

from __future__ import annotations

from typing import Any

import numpy as np

from codegen.types import is_inexact
from tracegrad.ops import batching_rules
from tracegrad.ops.arguments import as_array, refuse_out, synonyms
from tracegrad.ops.elementwise.activations import as_inexact
from tracegrad.ops.elementwise.ufuncs import (
    astype,
    conj,
    is_complex,
    isnan,
    logical_not,
    real,
    sqrt,
)
from tracegrad.ops.record import define
from tracegrad.ops.reductions.products import cumprod, cumsum, prod
from tracegrad.ops.reductions.sums_and_extremes import (
    INFINITY,
    _counted_in,
    _degrees,
    _reduce,
    _where,
    amax,
    amin,
    nanmax_over,
    nanmin_over,
    sum,
    var,
)
from tracegrad.ops.shape.creation import dtype_name
from tracegrad.ops.type_rules import reduction
from tracegrad.values.dispatch import dtype_of


def _without_nan(x: Any, instead: Any) -> Any:
    x = as_array(x)
    return _where(isnan(x), instead, x) if is_inexact(dtype_of(x)) else x


@synonyms
def nansum(
    x: Any,
    axis: Any = None,
    dtype: Any = None,
    out: None = None,
    keepdims: bool = False,
    initial: Any = None,
    where: Any = None,
) -> Any:
    """The sum over `axis` of what is not NaN."""
    refuse_out("nansum", out)
    return sum(_without_nan(x, 0), axis, dtype, None, keepdims, initial, where)


@synonyms
def nanprod(
    x: Any,
    axis: Any = None,
    dtype: Any = None,
    out: None = None,
    keepdims: bool = False,
    initial: Any = None,
    where: Any = None,
) -> Any:
    """The product over `axis` of what is not NaN."""
    refuse_out("nanprod", out)
    return prod(_without_nan(x, 1), axis, dtype, None, keepdims, initial, where)


@synonyms
def nanmax(
    x: Any,
    axis: Any = None,
    out: None = None,
    keepdims: bool = False,
    initial: Any = None,
    where: Any = None,
) -> Any:
    """The largest element over `axis` that is not NaN; ties share the gradient evenly."""
    refuse_out("nanmax", out)
    if initial is not None or where is not None:
        return amax(_without_nan(x, -INFINITY), axis, None, keepdims, initial, where)
    return _reduce(nanmax_over, x, axis, keepdims)


@synonyms
def nanmin(
    x: Any,
    axis: Any = None,
    out: None = None,
    keepdims: bool = False,
    initial: Any = None,
    where: Any = None,
) -> Any:
    """The smallest element over `axis` that is not NaN; ties share the gradient evenly."""
    refuse_out("nanmin", out)
    if initial is not None or where is not None:
        return amin(_without_nan(x, INFINITY), axis, None, keepdims, initial, where)
    return _reduce(nanmin_over, x, axis, keepdims)


def _numbers(x: Any, axis: Any, keepdims: bool) -> Any:
    """How many elements over `axis` are not NaN."""
    return sum(logical_not(isnan(x)), axis, keepdims=keepdims)


@synonyms
def nanmean(
    x: Any,
    axis: Any = None,
    dtype: Any = None,
    out: None = None,
    keepdims: bool = False,
    *,
    where: Any = None,
) -> Any:
    """The mean over `axis` of what is not NaN, and where `where` is true."""
    refuse_out("nanmean", out)
    x = _hidden(as_array(x), where)
    total = nansum(x, axis, dtype, keepdims=keepdims, where=where)
    return _over_numbers(total, _numbers(x, axis, keepdims))


def _hidden(x: Any, where: Any) -> Any:
    """`x` with NaN where an element is not chosen."""
    return x if where is None else _where(as_array(where), as_inexact(x), np.nan)


def _over_numbers(total: Any, number: Any) -> Any:
    """A sum over a number of elements, in the dtype of the sum."""
    return total / _counted_in(number, dtype_of(total))


@synonyms
def nanvar(
    x: Any,
    axis: Any = None,
    dtype: Any = None,
    out: None = None,
    ddof: float | None = None,
    keepdims: bool = False,
    *,
    where: Any = None,
    mean: Any = None,
    correction: float | None = None,
) -> Any:
    """The variance over `axis` of what is not NaN; arguments as for `var`."""
    refuse_out("nanvar", out)
    x = as_array(x)
    if not is_inexact(dtype_of(x)):
        how = {"where": where, "mean": mean, "correction": correction}
        return var(x, axis, dtype, None, ddof, keepdims, **how)
    x = _hidden(x if dtype is None else astype(x, dtype=dtype_name(dtype)), where)
    around = nanmean(x, axis, keepdims=True, where=where) if mean is None else as_array(mean)
    deviation = _where(isnan(x), 0, x - around)
    squares = real(deviation * conj(deviation)) if is_complex(x) else deviation * deviation
    freedom = _numbers(x, axis, keepdims) - _degrees(ddof, correction, None)
    variance = _over_numbers(sum(squares, axis, keepdims=keepdims, where=where), freedom)
    return _where(freedom <= 0, np.nan, variance)


@synonyms
def nanstd(
    x: Any,
    axis: Any = None,
    dtype: Any = None,
    out: None = None,
    ddof: float | None = None,
    keepdims: bool = False,
    *,
    where: Any = None,
    mean: Any = None,
    correction: float | None = None,
) -> Any:
    """The standard deviation over `axis` of what is not NaN; derivative 0 where it is 0."""
    refuse_out("nanstd", out)
    how = {"where": where, "mean": mean, "correction": correction}
    variance = nanvar(x, axis, dtype, None, ddof, keepdims, **how)
    flat = variance == 0
    return _where(flat, 0.0, sqrt(_where(flat, 1.0, variance)))


nanargmax_over, nanargmin_over = (
    define(
        name,
        f"np.{name}(x, axis=axis, keepdims=keepdims)",
        jax=f'jnp.{name}(x, axis=axis, keepdims=keepdims).astype("int64")',
        infer=reduction(lambda dtype: "int64"),
        attributes={"axis": None, "keepdims": False},
        batch=batching_rules.over_one_axis,
        differentiable=False,
        domain="nonempty",
        raises="caught",
    )
    for name in ("nanargmax", "nanargmin")
)


@synonyms
def nanargmax(x: Any, axis: int | None = None, out: None = None, *, keepdims: bool = False) -> Any:
    """The index of the first largest element along `axis` that is not NaN."""
    refuse_out("nanargmax", out)
    return _reduce(nanargmax_over, x, axis, keepdims)


@synonyms
def nanargmin(x: Any, axis: int | None = None, out: None = None, *, keepdims: bool = False) -> Any:
    """The index of the first smallest element along `axis` that is not NaN."""
    refuse_out("nanargmin", out)
    return _reduce(nanargmin_over, x, axis, keepdims)


@synonyms
def nancumsum(x: Any, axis: int | None = None, dtype: Any = None, out: None = None) -> Any:
    """`cumsum` with 0 in place of NaN."""
    refuse_out("nancumsum", out)
    return cumsum(_without_nan(x, 0), axis, dtype)


@synonyms
def nancumprod(x: Any, axis: int | None = None, dtype: Any = None, out: None = None) -> Any:
    """`cumprod` with 1 in place of NaN."""
    refuse_out("nancumprod", out)
    return cumprod(_without_nan(x, 1), axis, dtype)


__all__ = [
    "nanargmax",
    "nanargmin",
    "nancumprod",
    "nancumsum",
    "nanmax",
    "nanmean",
    "nanmin",
    "nanprod",
    "nanstd",
    "nansum",
    "nanvar",
]
