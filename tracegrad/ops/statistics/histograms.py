"""Counts of equal elements, and of elements in bins.

Counts are whole numbers, so no gradient flows to what is counted; it flows to weights, and from
the edges of bins to the extremes between which they lie.
"""

from __future__ import annotations

import builtins
from operator import index as as_int
from typing import Any

from codegen import sizes as sz
from codegen.sizes import Dim, Sizes
from codegen.types import BFLOAT16, ArrayType, shape_text
from codegen.types import ShapeError as ShapeMismatch
from tracegrad.errors import ArgumentError, ArgumentValueError, ShapeError
from tracegrad.ops.arguments import as_array
from tracegrad.ops.elementwise.ufuncs import alias, astype, logical_and, where
from tracegrad.ops.record import define
from tracegrad.ops.reductions.sums_and_extremes import INFINITY, amax, amin
from tracegrad.ops.reductions.sums_and_extremes import max as max_of
from tracegrad.ops.reductions.sums_and_extremes import sum as sum_of
from tracegrad.ops.shape.creation import arange_in, beside, zeros_in
from tracegrad.ops.shape.indexing import getitem, index_add
from tracegrad.ops.shape.reshaping import length_of, ravel
from tracegrad.ops.special_cotangents import ZERO
from tracegrad.ops.statistics.sorting import search
from tracegrad.ops.type_rules import sum_dtype
from tracegrad.values.dispatch import HANDLERS, apply_in, dtype_of, ndim_of, shape_of

# -- equal elements -----------------------------------------------------------------------------


def _counted_type(sizes: Sizes, x: ArrayType, length: Dim) -> ArrayType:
    if x.ndim != 1:
        raise ShapeMismatch(
            f"bincount: elements stand in a vector, not {shape_text(sizes, x.shape)}"
        )
    return ArrayType("int64", (length,))


counted = define(
    "bincount",
    "np.bincount(x, minlength=length)",
    jax='jnp.bincount(x, length=length).astype("int64")',
    infer=_counted_type,
    raises="caught",
    attributes={"length": ...},
    differentiable=False,
    domain="counts",
    doc="How often each number below `length` is there; larger ones there are none.",
)


def bincount(x: Any, weights: Any = None, minlength: int = 0) -> Any:
    """How often each of the numbers 0, 1, ... is in a vector of such numbers.

    The result is as long as the largest number tells (it is looked at), at least `minlength`.
    With `weights` they are added up in place of ones; gradients flow to them.
    """
    x = as_array(x)
    if ndim_of(x) != 1:
        raise ShapeError(f"bincount: elements stand in a vector, not in {ndim_of(x)} axes")
    if dtype_of(x) == "bool" or dtype_of(x).startswith("u"):  # -1 is none of these
        x = astype(x, dtype="int64")
    length = max(int(max_of(x, initial=-1)) + 1, as_int(minlength))
    if weights is None:
        return counted(x, length=length)
    weights = astype(as_array(weights), dtype="float64")
    like = weights if type(weights) in HANDLERS else x
    return index_add(zeros_in(like, (length,), "float64"), x, weights)


# -- bins ---------------------------------------------------------------------------------------


def _edges_vjp(ct: Any, y: Any, x: Any, bins: int, range: Any) -> tuple[Any]:
    """The edges lie evenly between the extremes, which ties share."""
    if range is not None:
        return (ZERO,)
    part = astype(arange_in(ct, bins + 1), dtype=dtype_of(ct)) / bins
    least, most = amin(x, initial=INFINITY), amax(x, initial=-INFINITY)  # there may be nothing
    return (_at(x, least, sum_of(ct * (1 - part))) + _at(x, most, sum_of(ct * part)),)


def _at(x: Any, extreme: Any, ct: Any) -> Any:
    """Zeros, with a cotangent shared by the elements that are the extreme."""
    chosen = x == extreme
    return where(chosen, ct / astype(sum_of(chosen), dtype=dtype_of(ct)), 0.0)


edges_of = define(
    "histogram_bin_edges",
    "np.histogram_bin_edges(x, bins=bins, range=range)",
    infer=lambda sizes, x, bins, range: ArrayType(_edge_dtype(x), (bins + 1,)),
    raises="caught",
    vjp=_edges_vjp,
    attributes={"bins": 10, "range": None},
    domain="ordered",
)
in_bins = define(
    "histogram",
    "np.histogram(x, bins=edges)[0]",
    jax='jnp.histogram(x, bins=edges)[0].astype("int64")',
    operands="x edges",
    infer=lambda sizes, x, edges: ArrayType("int64", (sz.add(edges.shape[0], -1),)),
    raises="caught",
    differentiable=False,
    domain="sorted",
    doc="How many elements are in each bin between rising edges; the last bin has both edges.",
)


ESTIMATORS = ("auto", "doane", "fd", "rice", "scott", "sqrt", "stone", "sturges")
"""NumPy's ways to choose a number of bins."""


def _edge_dtype(x: ArrayType) -> str:
    return x.dtype if x.dtype in (BFLOAT16, "float16", "float32", "float64") else "float64"


def _edges(x: Any, bins: Any, range: Any) -> Any:
    """The edges of the bins: those given, or so many between the extremes or in a range."""
    if isinstance(bins, str):
        if bins not in ESTIMATORS:
            raise ArgumentValueError(f"histogram: bins={bins!r}: the estimators are {ESTIMATORS}")
        raise ArgumentError(
            f"histogram: bins={bins!r} would make the number of bins depend on the data: give a "
            "number, or np.histogram_bin_edges(data, bins=...) of plain data"
        ).as_refusal()
    if ndim_of(bins) == 0:
        limits = None if range is None else tuple(map(float, range))
        return edges_of(x, bins=as_int(bins), range=limits)
    edges = apply_in(x, alias, {}, as_array(beside(bins, x)))
    if ndim_of(edges) != 1:
        raise ShapeError(f"histogram: edges stand in a vector, not in {ndim_of(edges)} axes")
    return edges


def histogram_bin_edges(x: Any, bins: Any = 10, range: Any = None, weights: Any = None) -> Any:
    """The edges of the bins that `histogram` counts in."""
    return _edges(ravel(as_array(x)), bins, range)


def histogram(
    x: Any, bins: Any = 10, range: Any = None, density: bool | None = None, weights: Any = None
) -> tuple[Any, Any]:
    """How many elements of `x` are in each bin, and the edges of the bins.

    bins
        A number of equal bins between the extremes of `x` (or in `range`), or rising edges.
    density
        Counts over their sum and the widths of the bins: the integral is 1.
    weights
        For each element what it counts. Counts are whole numbers: gradients flow to the weights
        alone, and from the edges (and so with `density`) to given edges or to the extremes of `x`.
    """
    x = ravel(as_array(x))
    edges = _edges(x, bins, range)
    found = in_bins(x, edges) if weights is None else _weighed(x, edges, ravel(as_array(weights)))
    if density:
        widths = getitem(edges, slice(1, None)) - getitem(edges, slice(None, -1))
        found = found / widths / sum_of(found)
    return found, edges


def _weighed(x: Any, edges: Any, weights: Any) -> Any:
    """The weights of what is in each bin, added up."""
    number = sz.add(shape_of(edges)[0], -1)
    inside = logical_and(x >= getitem(edges, 0), x <= getitem(edges, -1))
    place = search(getitem(edges, slice(1, -1)), x, side="right")
    dtype = sum_dtype(dtype_of(weights))
    like = next((v for v in (weights, x, edges) if type(v) in HANDLERS), weights)
    total = zeros_in(like, (number,), dtype)
    return index_add(total, place, where(inside, weights, 0))


# -- bins of several numbers --------------------------------------------------------------------


def histogramdd(
    sample: Any, bins: Any = 10, range: Any = None, density: bool | None = None, weights: Any = None
) -> tuple[Any, list[Any]]:
    """How many points are in each box of bins, and the edges of the bins of every coordinate.

    sample
        An array with a row for each point, or a list with an array for each coordinate.
    bins, range
        One number for all coordinates, or what `histogram` takes, for each.
    density, weights
        As in `histogram`: gradients flow to the weights, and with `density` to given edges.
    """
    columns = _columns(sample)
    many = [bins] * len(columns) if not isinstance(bins, list | tuple) else list(bins)
    ranges = [None] * len(columns) if range is None else list(range)
    if len(many) != len(columns) or len(ranges) != len(columns):
        raise ArgumentValueError(
            f"histogramdd: {len(columns)} coordinates, but bins for {len(many)} and ranges for "
            f"{len(ranges)}"
        )
    edges = tuple(map(_edges, columns, many, ranges))
    found = _in_boxes(columns, edges, weights)
    if density:
        total = sum_of(found)
        for axis, of_axis in enumerate(edges):
            widths = getitem(of_axis, slice(1, None)) - getitem(of_axis, slice(None, -1))
            behind = (None,) * (len(edges) - axis - 1)
            found = found / getitem(widths, (Ellipsis, *behind))
        found = found / total
    return found, list(edges)


def histogram2d(
    x: Any,
    y: Any,
    bins: Any = 10,
    range: Any = None,
    density: bool | None = None,
    weights: Any = None,
) -> tuple[Any, Any, Any]:
    """How many points are in each rectangle of bins, and the edges of the bins in `x` and in `y`.

    `bins` is a number or edges for both, or a pair with one for each; see `histogramdd`.
    """
    pair = isinstance(bins, list | tuple) and len(bins) == 2
    found, edges = histogramdd(
        [x, y], list(bins) if pair else [bins, bins], range, density, weights
    )
    return found, edges[0], edges[1]


def _columns(sample: Any) -> list[Any]:
    """A vector for each coordinate of points."""
    if isinstance(sample, list | tuple):
        return [ravel(as_array(x)) for x in sample]
    points = as_array(sample)
    if ndim_of(points) == 1:
        return [points]
    if ndim_of(points) != 2:
        raise ShapeError(f"histogramdd: points are rows of a matrix, not {ndim_of(points)} axes")
    return [getitem(points, (slice(None), i)) for i in builtins.range(length_of(points, 1))]


def _in_boxes(columns: list[Any], edges: tuple[Any, ...], weights: Any) -> Any:
    """The weights, or ones, of the points in each box, added up."""
    inside: Any = True
    places = []
    for x, of_x in zip(columns, edges, strict=True):
        here = logical_and(x >= getitem(of_x, 0), x <= getitem(of_x, -1))
        inside = here if inside is True else logical_and(inside, here)
        places.append(search(getitem(of_x, slice(1, -1)), x, side="right"))
    counted_for = 1.0 if weights is None else astype(ravel(as_array(weights)), dtype="float64")
    several = [counted_for, *columns, *edges]
    like = next((v for v in several if type(v) in HANDLERS), columns[0])
    shape = tuple(sz.add(shape_of(of_x)[0], -1) for of_x in edges)
    return index_add(
        zeros_in(like, shape, "float64"), tuple(places), where(inside, counted_for, 0.0)
    )


__all__ = [
    "bincount",
    "histogram",
    "histogram2d",
    "histogram_bin_edges",
    "histogramdd",
]
