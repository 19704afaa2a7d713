"""Sorts elements, and finds their places in that order.

Orders are stable, so every target finds the same one; NaN counts as the largest. The gradient of
what is sorted goes back to where each element came from.
"""

from __future__ import annotations

from collections.abc import Mapping
from operator import index as as_int
from typing import Any

from codegen import sizes as sz
from codegen.ir import Trait
from codegen.sizes import Sizes
from codegen.spelling import Spelling, spell
from codegen.types import ArrayType, shape_text
from codegen.types import ShapeError as ShapeMismatch
from tracegrad.errors import ArgumentError, ArgumentValueError, ShapeError
from tracegrad.ops import batching_rules
from tracegrad.ops.arguments import as_array, synonyms
from tracegrad.ops.elementwise.ufuncs import where
from tracegrad.ops.record import OpRecord, define
from tracegrad.ops.shape.creation import arange_in, beside
from tracegrad.ops.shape.reshaping import expand_axes, one_axis, one_or_many, ravel, sizes_of
from tracegrad.ops.shape.selection import add_along, put_back, take_along_axis
from tracegrad.ops.type_rules import same
from tracegrad.values.dispatch import ndim_of, shape_of

# -- order --------------------------------------------------------------------------------------


ORDER = {"axis": ..., "descending": False}


def _argsort_text(attributes: Mapping[str, Any]) -> Spelling:
    """In falling order equal elements keep theirs too, so the line is turned round twice."""
    if not attributes["descending"]:
        return spell('np.argsort(x, axis=axis, kind="stable")')
    turned = 'np.argsort(np.flip(x, axis=axis), axis=axis, kind="stable")'
    return spell(f"x.shape[axis] - 1 - np.flip({turned}, axis=axis)")


argsort_of = define(
    "argsort",
    _argsort_text,
    jax="jnp.argsort(x, axis=axis, descending=descending)",
    infer=lambda sizes, x, axis, descending: ArrayType("int64", x.shape),
    attributes=ORDER,
    differentiable=False,
    batch=batching_rules.over_axes,
    doc="The places of the elements along an axis in rising (or falling) order.",
)


def _sort_text(attributes: Mapping[str, Any]) -> Spelling:
    rising = "np.sort(x, axis=axis)"
    return spell(f"np.flip({rising}, axis=axis)" if attributes["descending"] else rising)


def _sort_vjp(ct: Any, y: Any, x: Any, axis: int, descending: bool) -> tuple[Any]:
    return (put_back(ct, x, argsort_along(x, axis=axis, descending=descending), axis),)


sort_of = define(
    "sort",
    _sort_text,
    jax="jnp.sort(x, axis=axis, descending=descending)",
    infer=same,
    vjp=_sort_vjp,
    attributes=ORDER,
    memory=lambda x, axis, descending: Trait.LOOSE if descending else None,
    batch=batching_rules.over_axes,
)


def argsort_along(x: Any, *, axis: int, descending: bool = False) -> Any:
    """The places of the elements of `x` along a canonical axis in order."""
    return argsort_of(x, axis=axis, descending=descending)


def sort_along(x: Any, *, axis: int, descending: bool = False) -> Any:
    """`x` in order along a canonical axis."""
    return sort_of(x, axis=axis, descending=descending)


def _one_axis(x: Any, axis: Any, name: str) -> tuple[Any, int]:
    x = as_array(x)
    if axis is None:
        return ravel(x), 0
    if not ndim_of(x):
        raise ShapeError(f"{name}: an array without axes has no order: use atleast_1d")
    return x, one_axis(axis, ndim_of(x))


def _refuse_fields(name: str, order: Any) -> None:
    if order is not None:
        raise ArgumentValueError(
            f"{name}: order= names fields, which arrays of numbers do not have"
        )


@synonyms
def sort(
    x: Any,
    axis: int | None = -1,
    kind: Any = None,
    order: None = None,
    *,
    descending: bool = False,
    stable: bool | None = True,
) -> Any:
    """`x` in ascending order along `axis` (None: flattened), NaN last.

    With `descending` the other way round. Equal elements keep their order in any case, so `kind`
    and `stable` decide nothing. The gradient of each element goes to where it came from.

    Examples
    --------
    >>> import tracegrad as tg
    >>> tg.sort(tg.tensor([3.0, 1.0, 2.0]))
    tensor([1., 2., 3.])
    """
    _refuse_fields("sort", order)
    x, axis = _one_axis(x, axis, "sort")
    return sort_along(x, axis=axis, descending=bool(descending))


@synonyms
def argsort(
    x: Any,
    axis: int | None = -1,
    kind: Any = None,
    order: None = None,
    *,
    descending: bool = False,
    stable: bool | None = True,
) -> Any:
    """The indices that put `x` in order along `axis`, as `sort` does; equal elements stay so.

    Examples
    --------
    >>> import tracegrad as tg
    >>> tg.argsort(tg.tensor([3.0, 1.0, 2.0]))
    tensor([1, 2, 0])
    """
    _refuse_fields("argsort", order)
    x, axis = _one_axis(x, axis, "argsort")
    return argsort_along(x, axis=axis, descending=bool(descending))


def lexsort(keys: Any, axis: int = -1) -> Any:
    """The indices that sort by the last key, then by the one before it, and so on."""
    several = [as_array(key) for key in keys]
    if not several:
        raise ArgumentError("lexsort: no keys were given")
    found = argsort(several[0], axis)
    for key in several[1:]:
        found = take_along_axis(found, argsort(take_along_axis(key, found, axis), axis), axis)
    return found


def _checked_kth(x: Any, kth: Any, axis: int | None) -> None:
    shape = shape_of(x)
    length = sz.mul(shape) if axis is None else shape[one_axis(axis, len(shape))]
    for k in kth if isinstance(kth, list | tuple) else (kth,):
        k = as_int(k)
        there = sz.slice_length(length, slice(k, k + 1 or None))
        if not sizes_of([x]).same(there, 1):
            raise ShapeError(f"kth={k} is out of bounds for the axis that is parted")


@synonyms
def partition(x: Any, kth: Any, axis: int | None = -1, kind: Any = None, order: None = None) -> Any:
    """`x` with the k-th smallest elements in place, smaller ones before: here, wholly in order."""
    _checked_kth(x, kth, axis)
    return sort(x, axis, kind, order)


@synonyms
def argpartition(
    x: Any, kth: Any, axis: int | None = -1, kind: Any = None, order: None = None
) -> Any:
    """The indices of `partition`."""
    _checked_kth(x, kth, axis)
    return argsort(x, axis, kind, order)


def sort_complex(x: Any) -> Any:
    """`x`, as complex numbers, in order of the real parts, then of the imaginary ones."""
    return sort(as_array(x) + 0j)


# -- the largest and smallest so far ------------------------------------------------------------


def _numbered(x: Any, axis: int) -> Any:
    """0, 1, ... along an axis, so that it broadcasts against `x`."""
    numbers = arange_in(x, shape_of(x)[axis])
    behind = tuple(range(1, ndim_of(x) - axis))
    return expand_axes(numbers, axis=one_or_many(behind)) if behind else numbers


def _running_vjp(ct: Any, y: Any, x: Any, axis: int) -> tuple[Any]:
    """The cotangent goes to the latest place that holds the extreme, as in PyTorch."""
    latest = cummax_along(where(x == y, _numbered(x, axis), 0), axis=axis)
    return (add_along(ct, x, latest, axis),)


def _running(name: str, ufunc: str) -> OpRecord:
    return define(
        name,
        f"np.{ufunc}.accumulate(x, axis=axis)",
        jax=f"jax.lax.associative_scan(jnp.{ufunc}, x, axis=axis)",
        infer=same,
        vjp=_running_vjp,
        attributes={"axis": ...},
        batch=batching_rules.over_axes,
        domain="ordered",
    )


cummax_along = _running("cummax", "maximum")
cummin_along = _running("cummin", "minimum")


@synonyms
def cummax(x: Any, axis: int | None = None) -> Any:
    """The largest element up to each one, along `axis` (None: of the flattened array).

    Of ties the latest has the gradient, as in PyTorch; the values alone are returned, as NumPy's
    ``maximum.accumulate`` does.
    """
    x, axis = _one_axis(x, axis, "cummax")
    return cummax_along(x, axis=axis)


@synonyms
def cummin(x: Any, axis: int | None = None) -> Any:
    """The smallest element up to each one, along `axis` (None: of the flattened array).

    Ties as in `cummax`.
    """
    x, axis = _one_axis(x, axis, "cummin")
    return cummin_along(x, axis=axis)


# -- places in what is sorted -------------------------------------------------------------------


def _found(sizes: Sizes, a: ArrayType, v: ArrayType, **_: Any) -> ArrayType:
    if a.ndim != 1:
        raise ShapeMismatch(
            f"searchsorted: what is searched is a sorted vector, not {shape_text(sizes, a.shape)}"
        )
    return ArrayType("int64", v.shape)


search = define(
    "searchsorted",
    "np.searchsorted(a, v, side=side)",
    jax='jnp.searchsorted(a, v, side=side).astype("int64")',
    operands="a v",
    infer=_found,
    attributes={"side": "left"},
    differentiable=False,
    domain="sorted",
    batch=batching_rules.only(1),
)
digitized = define(
    "digitize",
    "np.digitize(x, bins, right=right)",
    jax='jnp.digitize(x, bins, right=right).astype("int64")',
    operands="x bins",
    infer=lambda sizes, x, bins, right: ArrayType("int64", x.shape),
    attributes={"right": False},
    differentiable=False,
    domain="sorted",
    batch=batching_rules.only(0),
)


def searchsorted(a: Any, v: Any, side: str = "left", sorter: Any = None) -> Any:
    """The places in the sorted vector `a` before which the elements of `v` keep it sorted.

    side
        ``"left"``: the first such place, ``"right"``: the last.
    sorter
        The indices that sort `a` where it is not sorted itself.
    """
    if side not in ("left", "right"):
        raise ArgumentValueError(f'side={side!r}: must be "left" or "right"')
    a, v = as_array(beside(a, v)), as_array(beside(v, a))
    if sorter is not None:
        a = take_along_axis(a, as_array(sorter), 0)
    return search(a, v, side=side)


def digitize(x: Any, bins: Any, right: bool = False) -> Any:
    """The number of the bin that each element is in: i where ``bins[i-1] <= x < bins[i]``.

    `bins` rise, or fall; with `right` they hold their right edge in place of the left one.
    """
    return digitized(as_array(beside(x, bins)), as_array(beside(bins, x)), right=bool(right))


__all__ = [
    "argpartition",
    "argsort",
    "cummax",
    "cummin",
    "digitize",
    "lexsort",
    "partition",
    "searchsorted",
    "sort",
    "sort_complex",
]
