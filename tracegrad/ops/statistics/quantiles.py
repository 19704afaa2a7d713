"""Medians, quantiles and percentiles of arrays.

The gradient of a quantile goes to the two elements between which it lies.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from codegen import sizes as sz
from codegen.sizes import Sizes
from codegen.spelling import Spelling, spell
from codegen.types import ArrayType, is_inexact, promote
from tracegrad.errors import ArgumentValueError, DTypeError, ShapeError
from tracegrad.ops import batching_rules
from tracegrad.ops.arguments import as_array, holds_tensors, refuse_out, stacked, synonyms
from tracegrad.ops.elementwise.activations import as_inexact
from tracegrad.ops.elementwise.ufuncs import (
    astype,
    ceil,
    floor,
    is_complex,
    isnan,
    logical_and,
    logical_not,
    maximum,
    minimum,
    remainder,
    rint,
    where,
)
from tracegrad.ops.record import OpRecord, define
from tracegrad.ops.reductions.products import cumsum
from tracegrad.ops.reductions.sums_and_extremes import restore
from tracegrad.ops.reductions.sums_and_extremes import sum as sum_of
from tracegrad.ops.shape.creation import arange_in, beside, extent_like
from tracegrad.ops.shape.indexing import getitem
from tracegrad.ops.shape.memory_order import row_after_row
from tracegrad.ops.shape.reshaping import (
    broadcast_arrays,
    canonical_axis,
    expand_axes,
    moveaxis,
    one_or_many,
    ravel,
    reshape_to,
    squeeze,
)
from tracegrad.ops.shape.selection import add_along, put_back, take_along
from tracegrad.ops.statistics.sorting import argsort_along, sort_along
from tracegrad.ops.type_rules import axes_of, reduced
from tracegrad.values.dispatch import dtype_of, is_number, ndim_of, shape_of

# -- the lines that are sorted ------------------------------------------------------------------


def _ordered(x: Any, name: str) -> Any:
    """A floating array, of which elements can be compared."""
    x = as_inexact(as_array(x))
    if is_complex(x):
        raise _without_order(name)
    return x


def _without_order(name: str) -> DTypeError:
    return DTypeError(f"{name}: complex numbers have no order: take .real or tg.abs")


def _lines(x: Any, axis: Any) -> Any:
    """`x` with the axes that are reduced as one, the last."""
    ndim = ndim_of(x)
    axes = axes_of(axis, ndim)
    if len(axes) == ndim:
        return ravel(x)
    kept = ndim - len(axes)
    x = moveaxis(x, axes, tuple(range(kept, ndim)))
    shape = shape_of(x)
    return x if len(axes) == 1 else reshape_to(x, shape=(*shape[:kept], sz.mul(shape[kept:])))


def _from_lines(lines: Any, x: Any, axis: Any) -> Any:
    """What `_lines` made of `x`, with its axes back where they were."""
    shape, ndim = shape_of(x), ndim_of(x)
    axes = axes_of(axis, ndim)
    if len(axes) == ndim:
        return reshape_to(lines, shape=shape) if ndim != 1 else lines
    kept = tuple(length for i, length in enumerate(shape) if i not in axes)
    if len(axes) > 1:
        lines = reshape_to(lines, shape=(*kept, *(shape[i] for i in axes)))
    return moveaxis(lines, tuple(range(len(kept), ndim)), axes)


def _at(order: Any, place: Any) -> Any:
    """What stands at places (of a last axis, broadcast over the others) of sorted lines."""
    place = expand_axes(place, axis=0) if ndim_of(place) == 0 else place
    place = astype(place, dtype="int64") if is_inexact(dtype_of(place)) else place
    missing = ndim_of(order) - ndim_of(place)
    if missing:
        place = expand_axes(place, axis=one_or_many(tuple(range(missing))))
    return take_along(order, place, axis=ndim_of(order) - 1)


def _numbers(lines: Any, dtype: str, skip: bool) -> Any:
    """How many elements each line has; with `skip` how many that are not NaN."""
    if skip:
        many = sum_of(logical_not(isnan(lines)), -1, keepdims=True)
        return astype(many, dtype=dtype)
    return extent_like(lines, shape_of(lines)[-1], dtype)


def _reduced_type(sizes: Sizes, x: ArrayType, axis: Any, keepdims: bool) -> ArrayType:
    return ArrayType(x.dtype, reduced(x.shape, axis, keepdims))


# -- the middle ---------------------------------------------------------------------------------


def _middle_vjp(ct: Any, x: Any, axis: Any, keepdims: bool, skip: bool) -> tuple[Any]:
    """Half to each of the two elements in the middle, which may be one."""
    lines = _lines(x, axis)
    n = _numbers(lines, "int64", skip)
    half = _lines(restore(ct * 0.5, axis, keepdims, ndim_of(x)), axis)
    low, high = (_share(half, lines, place) for place in ((n - 1) // 2, n // 2))
    return (_from_lines(_in_place(low + high, lines), x, axis),)


def _share(ct: Any, lines: Any, place: Any) -> Any:
    """Zeros, as sorted lines, with `ct` at one place of each."""
    return where(arange_in(lines, shape_of(lines)[-1]) == place, ct, 0.0)


def _in_place(ct: Any, lines: Any) -> Any:
    """A cotangent of sorted lines, each element where it came from."""
    last = ndim_of(lines) - 1
    return put_back(ct, lines, argsort_along(lines, axis=last), last)


def _median(name: str, skip: bool) -> OpRecord:
    return define(
        name,
        f"np.{name}(x, axis=axis, keepdims=keepdims)",
        infer=_reduced_type,
        vjp=lambda ct, y, x, axis, keepdims: _middle_vjp(ct, x, axis, keepdims, skip),
        attributes={"axis": None, "keepdims": False},
        batch=batching_rules.over_axes,
        domain="floats",
    )


median_over = _median("median", False)
nanmedian_over = _median("nanmedian", True)


@synonyms
def median(
    x: Any,
    axis: Any = None,
    out: None = None,
    overwrite_input: bool = False,
    keepdims: bool = False,
) -> Any:
    """The middle of the sorted elements over `axis`, or the mean of the two in the middle.

    The gradient goes to those two, half to each.

    Examples
    --------
    >>> import tracegrad as tg
    >>> tg.median(tg.tensor([3.0, 1.0, 2.0]))
    tensor(2.)
    """
    refuse_out("median", out)
    x = _ordered(x, "median")
    return median_over(x, axis=canonical_axis(axis, ndim_of(x)), keepdims=bool(keepdims))


@synonyms
def nanmedian(
    x: Any,
    axis: Any = None,
    out: None = None,
    overwrite_input: bool = False,
    keepdims: bool = False,
) -> Any:
    """The median over `axis` of what is not NaN."""
    refuse_out("nanmedian", out)
    x = _ordered(x, "nanmedian")
    return nanmedian_over(x, axis=canonical_axis(axis, ndim_of(x)), keepdims=bool(keepdims))


# -- quantiles ----------------------------------------------------------------------------------


def _between(alpha: float, beta: float) -> Callable[[Any, Any], Any]:
    """The place of a quantile by the two parameters of Hyndman and Fan."""
    return lambda n, q: n * q + (alpha + q * (1 - alpha - beta)) - 1


def _averaged(n: Any, q: Any) -> Any:
    """The element that reaches `q`, half-way to the next where `q` is met exactly."""
    place = n * q - 1
    return where(floor(place) == place, place + 0.5, ceil(place))


def _closest(n: Any, q: Any) -> Any:
    """The closest element; half-way between two, the one of even number (counted from 1)."""
    place = n * q - 1.5
    low = floor(place)
    stays = logical_and(place == low, remainder(low, 2) == 1)
    return where(stays, low, low + 1)


PLACES: dict[str, Callable[[Any, Any], Any]] = {
    "linear": lambda n, q: (n - 1) * q,
    "lower": lambda n, q: floor((n - 1) * q),
    "higher": lambda n, q: ceil((n - 1) * q),
    "nearest": lambda n, q: rint((n - 1) * q),
    "midpoint": lambda n, q: 0.5 * (floor((n - 1) * q) + ceil((n - 1) * q)),
    "inverted_cdf": lambda n, q: ceil(n * q) - 1,
    "averaged_inverted_cdf": _averaged,
    "closest_observation": _closest,
    "interpolated_inverted_cdf": _between(0, 1),
    "hazen": _between(0.5, 0.5),
    "weibull": _between(0, 0),
    "median_unbiased": _between(1 / 3, 1 / 3),
    "normal_unbiased": _between(3 / 8, 3 / 8),
}
"""Where in the order of n elements a quantile lies, by NumPy's names of the methods."""

AT_ELEMENTS = ("inverted_cdf", "closest_observation", "lower", "higher", "nearest")
"""The methods whose quantiles are elements: they have the dtype of these."""

COMMON = ("linear", "lower", "higher", "midpoint", "nearest")
"""The methods that JAX has too: these are one op."""


def _quantile_type(
    sizes: Sizes, x: ArrayType, q: ArrayType, axis: Any, method: str, keepdims: bool
) -> ArrayType:
    own = q.weak or not is_inexact(q.dtype) or method in AT_ELEMENTS
    dtype = x.dtype if own else promote((x, q))[0]
    return ArrayType(dtype, (*q.shape, *reduced(x.shape, axis, keepdims)))


def _quantile_vjp(
    ct: Any, x: Any, q: Any, axis: Any, method: str, keepdims: bool, skip: bool
) -> tuple[Any, Any]:
    """To the two elements around each place, by how near they are; to `q` what lies between."""
    of_q, lines = ndim_of(q), _lines(x, axis)
    ct = _for_parts(ct, of_q, axis, keepdims, ndim_of(x))
    n = _numbers(lines, dtype_of(ct), skip)
    place = maximum(minimum(PLACES[method](n, q), n - 1), 0)
    below = floor(place)
    above = maximum(minimum(below + 1, n - 1), 0)
    share = place - below
    low, high = ct * (1 - share), ct * share
    if of_q:
        order = argsort_along(lines, axis=ndim_of(lines) - 1)
        to_x = _added(low, lines, order, below) + _added(high, lines, order, above)
    else:
        shares = _share(low, lines, below) + _share(high, lines, above)
        to_x = _in_place(shares, lines)
    to_q = None
    if method == "linear" and not is_number(q):
        ordered = sort_along(lines, axis=ndim_of(lines) - 1)
        each = ct * (_at(ordered, above) - _at(ordered, below)) * (n - 1)
        outer = tuple(range(ndim_of(each) - 1))
        each = sum_of(each, outer) if outer else each
        to_q = each if of_q else reshape_to(each, shape=())
    return _from_lines(to_x, x, axis), to_q


def _added(ct: Any, lines: Any, order: Any, place: Any) -> Any:
    """Zeros, as lines, with `ct` added where the elements at these places of their order are."""
    return add_along(ct, lines, _at(order, place), ndim_of(lines) - 1)


def _for_parts(ct: Any, of_q: int, axis: Any, keepdims: bool, ndim: int) -> Any:
    """A cotangent of quantiles as lines with one element a part."""
    ct = ct if of_q else expand_axes(ct, axis=0)
    if keepdims and ndim:
        dropped = tuple(a + 1 for a in axes_of(axis, ndim))
        ct = squeeze(ct, dropped) if dropped else ct
    return moveaxis(ct, 0, -1)


def _quantile_in_jax(name: str, attributes: Mapping[str, Any]) -> Spelling:
    """JAX's own, which promotes elements with `q` for all methods."""
    text = f"jnp.{name}(x, q, axis=axis, method=method, keepdims=keepdims)"
    return spell(f"{text}.astype(x.dtype)" if attributes["method"] in AT_ELEMENTS else text)


def _quantile_record(name: str, skip: bool) -> OpRecord:
    return define(
        name,
        f"np.{name}(x, q, axis=axis, method=method, keepdims=keepdims)",
        jax=lambda attributes: _quantile_in_jax(name, attributes),
        operands="x q",
        infer=_quantile_type,
        raises="caught",
        vjp=lambda ct, y, x, q, **how: _quantile_vjp(ct, x, q, **how, skip=skip),
        attributes={"axis": None, "method": "linear", "keepdims": False},
        batch=batching_rules.quantiles,
        domain="floats",
        doc="Quantiles by one of the methods in `COMMON`; q is a number or a vector.",
    )


quantile_over = _quantile_record("quantile", False)
nanquantile_over = _quantile_record("nanquantile", True)


def _quantile(
    record: OpRecord, x: Any, q: Any, axis: Any, method: str, keepdims: bool, weights: Any
) -> Any:
    if weights is not None:
        skip = record is nanquantile_over
        return _weighed(x, q, axis, method, keepdims, weights, skip)
    if method not in PLACES:
        raise ArgumentValueError(
            f"{record.name}: method={method!r}: must be one of {', '.join(PLACES)}"
        )
    x = as_array(x)
    if is_inexact(dtype_of(x)) or method not in AT_ELEMENTS:
        if dtype_of(x) == "bool":
            raise DTypeError(
                f"{record.name}: between bools there is nothing: take .astype(float), or one of "
                f"the methods {', '.join(AT_ELEMENTS)}"
            )
        x = _ordered(x, record.name)
    q = q if is_number(q) else as_array(beside(q, x))
    if not is_inexact(dtype_of(q)):
        q = float(q) if is_number(q) else astype(q, dtype="float64")
    axis, keepdims = canonical_axis(axis, ndim_of(x)), bool(keepdims)
    asked = shape_of(q)
    if len(asked) > 1:
        q = ravel(q)
    if method in COMMON and is_inexact(dtype_of(x)):
        found = record(x, q, axis=axis, method=method, keepdims=keepdims)
    else:
        found = _interpolated(x, q, axis, method, keepdims, record is nanquantile_over)
    if len(asked) > 1:
        found = reshape_to(found, shape=(*asked, *shape_of(found)[1:]))
    return found


def _interpolated(x: Any, q: Any, axis: Any, method: str, keepdims: bool, skip: bool) -> Any:
    """Quantiles by sorting and taking what is around each place, rounded as NumPy does."""
    lines = _lines(x, axis)
    ordered = sort_along(lines, axis=ndim_of(lines) - 1)
    floats = is_inexact(dtype_of(x))
    n = _numbers(lines, dtype_of(x if is_number(q) and floats else as_array(q)), skip and floats)
    place = maximum(minimum(PLACES[method](n, q), n - 1), 0)
    below = floor(place)
    found = _at(ordered, below)
    if method not in AT_ELEMENTS:
        share = expand_axes(place - below, axis=0) if ndim_of(place) == 0 else place - below
        high = _at(ordered, maximum(minimum(below + 1, n - 1), 0))
        rise = high - found
        found = where(share >= 0.5, high - rise * (1 - share), found + rise * share)
    if floats and not skip:
        last = getitem(ordered, (Ellipsis, slice(-1, None)))
        found = where(isnan(last), last, found)
    of_q = ndim_of(q)
    found = moveaxis(found, -1, 0) if of_q else getitem(found, (Ellipsis, 0))
    if keepdims and ndim_of(x):
        axes = tuple(a + of_q for a in axes_of(axis, ndim_of(x)))
        found = expand_axes(found, axis=one_or_many(axes)) if axes else found
    return found


def _check_q(q: Any, most: float, name: str) -> None:
    """Raises where plain numbers are out of range; those of Tensors are taken as they are."""
    if holds_tensors(q):
        return
    if is_number(q) or isinstance(q, list | tuple | np.ndarray | np.generic):
        numbers = np.asarray(q)
        if not np.all((numbers >= 0) & (numbers <= most)):
            raise ArgumentValueError(f"{name}: q must be in [0, {most:g}], not {q}")


def _weighed(
    x: Any, q: Any, axis: Any, method: str, keepdims: bool, weights: Any, skip: bool
) -> Any:
    """Quantiles of elements that count as often as their weights say."""
    name = "nanquantile" if skip else "quantile"
    if method != "inverted_cdf":
        raise ArgumentValueError(
            f'{name}: with weights= the method is "inverted_cdf", not {method!r}: one of the '
            "elements, for their shares have no places between"
        )
    x = as_array(x)
    if is_complex(x):
        raise _without_order(name)
    q, axis = as_array(beside(q, x)), canonical_axis(axis, ndim_of(x))
    weights = as_array(beside(weights, x))
    if ndim_of(weights) != ndim_of(x):
        if not isinstance(axis, int) or ndim_of(weights) != 1:
            raise ShapeError(f"{name}: weights have the shape of the elements, or that of one axis")
        behind = (None,) * (ndim_of(x) - axis - 1)
        weights = getitem(weights, (Ellipsis, *behind))
    x, weights = broadcast_arrays(x, weights)  # and raises where the lengths are others
    lines, shares = _lines(x, axis), astype(_lines(weights, axis), dtype="float64")
    last = ndim_of(lines) - 1
    if skip:
        shares = where(isnan(lines), 0.0, shares)
    order = argsort_along(lines, axis=last)
    reached = cumsum(take_along(shares, order, axis=last), last)
    reached = reached / getitem(reached, (Ellipsis, slice(-1, None)))
    parts = ravel(astype(q, dtype="float64")) if ndim_of(q) else reshape_to(q, shape=(1,))
    before = expand_axes(reached, axis=last) < expand_axes(parts, axis=1)
    place = minimum(sum_of(before, -1), extent_like(lines, shape_of(lines)[-1], "int64") - 1)
    ordered = take_along(lines, order, axis=last)
    found = take_along(ordered, place, axis=last)
    if not skip:
        end = getitem(ordered, (Ellipsis, slice(-1, None)))
        found = where(isnan(end), end, found)
    found = moveaxis(found, -1, 0)
    found = reshape_to(found, shape=(*shape_of(q), *shape_of(found)[1:]))
    if keepdims and ndim_of(x):
        axes = tuple(a + ndim_of(q) for a in axes_of(axis, ndim_of(x)))
        found = expand_axes(found, axis=one_or_many(axes)) if axes else found
    return found if skip else row_after_row(found)


@synonyms
def quantile(
    x: Any,
    q: Any,
    axis: Any = None,
    out: None = None,
    overwrite_input: bool = False,
    method: str = "linear",
    keepdims: bool = False,
    *,
    weights: Any = None,
) -> Any:
    """The values at the fraction `q`, in [0, 1], of the sorted elements over `axis`.

    Several `q` give as many quantiles, on axes of their own in front. Differentiable in `x` and,
    where the method interpolates, in `q`.

    method
        NumPy's methods: ``"linear"``, ``"lower"``, ``"higher"``, ``"nearest"``, ``"midpoint"``,
        ``"hazen"``, ``"weibull"``, ``"median_unbiased"`` and so on.
    weights
        How often each element counts, for the method ``"inverted_cdf"``: they have the shape of
        `x`, or that of its `axis`. The quantile is an element: weights have no gradient.

    Examples
    --------
    >>> import tracegrad as tg
    >>> tg.quantile(tg.tensor([3.0, 1.0, 2.0]), [0.25, 1.0])
    tensor([1.5000, 3.0000])
    """
    refuse_out("quantile", out)
    _check_q(q, 1, "quantile")
    return _quantile(quantile_over, x, q, axis, method, keepdims, weights)


@synonyms
def nanquantile(
    x: Any,
    q: Any,
    axis: Any = None,
    out: None = None,
    overwrite_input: bool = False,
    method: str = "linear",
    keepdims: bool = False,
    *,
    weights: Any = None,
) -> Any:
    """`quantile` of what is not NaN."""
    refuse_out("nanquantile", out)
    _check_q(q, 1, "nanquantile")
    return _quantile(nanquantile_over, x, q, axis, method, keepdims, weights)


def _hundredth(x: Any, q: Any) -> Any:
    """Percents as parts, in the dtype in which NumPy divides them."""
    if holds_tensors(q):
        return stacked(q) / 100
    if not is_number(q):
        return (np.asarray(q) / 100).tolist() if isinstance(q, list | tuple) else q / 100
    dtype = dtype_of(as_array(x))
    return (
        float(np.dtype(dtype).type(q) / np.dtype(dtype).type(100)) if "float" in dtype else q / 100
    )


@synonyms
def percentile(
    x: Any,
    q: Any,
    axis: Any = None,
    out: None = None,
    overwrite_input: bool = False,
    method: str = "linear",
    keepdims: bool = False,
    *,
    weights: Any = None,
) -> Any:
    """`quantile` with `q` in percent."""
    refuse_out("percentile", out)
    _check_q(q, 100, "percentile")
    return _quantile(quantile_over, x, _hundredth(x, q), axis, method, keepdims, weights)


@synonyms
def nanpercentile(
    x: Any,
    q: Any,
    axis: Any = None,
    out: None = None,
    overwrite_input: bool = False,
    method: str = "linear",
    keepdims: bool = False,
    *,
    weights: Any = None,
) -> Any:
    """`percentile` of what is not NaN."""
    refuse_out("nanpercentile", out)
    _check_q(q, 100, "nanpercentile")
    return _quantile(nanquantile_over, x, _hundredth(x, q), axis, method, keepdims, weights)


__all__ = [
    "median",
    "nanmedian",
    "nanpercentile",
    "nanquantile",
    "percentile",
    "quantile",
]
