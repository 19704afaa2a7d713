"""The different elements of arrays, and what two arrays have in common.

How many there are only the data tell: while tracing, the number is a length of its own
(`tracegrad.ops.shape.index_items.count_true`), as for boolean masks. The gradient of a unique value
goes to the first element that has it.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any, NamedTuple

from codegen import sizes as sz
from codegen.spelling import Spelling, spell
from codegen.types import ArrayType, is_inexact
from tracegrad.errors import ArgumentError
from tracegrad.ops import batching_rules
from tracegrad.ops.arguments import as_array, synonyms
from tracegrad.ops.elementwise.ufuncs import logical_not
from tracegrad.ops.record import define
from tracegrad.ops.reductions.products import cumsum_along
from tracegrad.ops.shape.creation import beside
from tracegrad.ops.shape.indexing import getitem
from tracegrad.ops.shape.joining import concatenate, unstack
from tracegrad.ops.shape.reshaping import moveaxis, one_axis, ravel, reshape_to
from tracegrad.ops.shape.selection import put_back
from tracegrad.ops.statistics.histograms import counted
from tracegrad.ops.statistics.sorting import argsort_along, lexsort, sort_along
from tracegrad.values.dispatch import dtype_of, ndim_of, shape_of

FROM_SECOND, UP_TO_LAST = slice(1, None), slice(None, -1)

# -- membership ---------------------------------------------------------------------------------

is_in = define(
    "isin",
    "np.isin(x, values, invert=invert)",
    operands="x values",
    infer=lambda sizes, x, values, invert: ArrayType("bool", x.shape),
    attributes={"invert": False},
    differentiable=False,
    domain="sorted",
    batch=batching_rules.only(0),
)


def isin(
    element: Any,
    test_elements: Any,
    assume_unique: bool = False,
    invert: bool = False,
    *,
    kind: Any = None,
) -> Any:
    """Where elements of the first are among those of the second (with `invert`: are not)."""
    element, values = as_array(element), as_array(beside(test_elements, element))
    return is_in(element, values, invert=bool(invert))


# -- different elements -------------------------------------------------------------------------


class UniqueAll(NamedTuple):
    """What `unique_all` gives."""

    values: Any
    indices: Any
    inverse_indices: Any
    counts: Any


class UniqueCounts(NamedTuple):
    """What `unique_counts` gives."""

    values: Any
    counts: Any


class UniqueInverse(NamedTuple):
    """What `unique_inverse` gives."""

    values: Any
    inverse_indices: Any


def _firsts_text(attributes: Mapping[str, Any]) -> Spelling:
    """Against the element before; of NaN, which stand last, only the first is new if they count
    as equal."""
    changes = "x[1:] != x[:-1]"
    if attributes["equal_nan"]:
        changes = f"({changes}) & ((x[1:] == x[1:]) | (x[:-1] == x[:-1]))"
    if attributes["rows"]:
        changes = f"({changes}).any(axis=1)"
    return spell(f"np.concatenate([np.ones(x[:1].shape[0], dtype=bool), {changes}])")


firsts_of = define(
    "firsts",
    _firsts_text,
    jax=_firsts_text,
    infer=lambda sizes, x, rows, equal_nan: ArrayType("bool", x.shape[:1]),
    attributes={"rows": False, "equal_nan": False},
    differentiable=False,
    domain="sorted",
    doc="True at the first of equal elements (or rows) of what is sorted.",
)


def _firsts(x: Any, equal_nan: bool) -> Any:
    equal_nan = equal_nan and is_inexact(dtype_of(x))
    return firsts_of(x, rows=ndim_of(x) > 1, equal_nan=equal_nan)


class _Distinct:
    """The different elements of a vector (rows of a matrix) and where they were."""

    def __init__(self, x: Any, equal_nan: bool) -> None:
        self.order = _row_order(x) if ndim_of(x) > 1 else argsort_along(x, axis=0)
        self.sorted = getitem(x, self.order)
        self.first = _firsts(self.sorted, equal_nan)

    @cached_property
    def values(self) -> Any:
        return getitem(self.sorted, self.first)

    @cached_property
    def indices(self) -> Any:
        return getitem(self.order, self.first)

    @cached_property
    def inverse(self) -> Any:
        numbers = cumsum_along(self.first, axis=0) - 1
        return put_back(numbers, self.order, self.order, 0)

    @cached_property
    def counts(self) -> Any:
        return counted(self.inverse, length=shape_of(self.values)[0])


def _row_order(x: Any) -> Any:
    """The indices that put the rows of a matrix in order."""
    return lexsort(unstack(x, 1)[::-1])


def _sorted_values(x: Any, equal_nan: bool) -> Any:
    """The different elements of a vector alone: no indices are needed."""
    x = sort_along(x, axis=0)
    return getitem(x, _firsts(x, equal_nan))


@synonyms
def unique(
    x: Any,
    return_index: bool = False,
    return_inverse: bool = False,
    return_counts: bool = False,
    axis: int | None = None,
    *,
    equal_nan: bool = True,
    sorted: bool = True,
) -> Any:
    """The different elements of `x` in ascending order (the different slices along `axis`).

    Besides, where each first stands, for each element of `x` which one it is, and how often each
    is there, as far as asked for: then a tuple.

    Examples
    --------
    >>> import tracegrad as tg
    >>> tg.unique(tg.tensor([3, 1, 3]), return_counts=True)
    (tensor([1, 3]), tensor([1, 2]))
    """
    x = as_array(x)
    if axis is None and not (return_index or return_inverse or return_counts):
        return _sorted_values(ravel(x), equal_nan)
    if axis is not None:
        axis = one_axis(axis, ndim_of(x))
        front = moveaxis(x, axis, 0)
        lengths = shape_of(front)
        rows = reshape_to(front, shape=(lengths[0], sz.mul(lengths[1:])))
        found = _Distinct(rows, equal_nan)
        values = found.values
        shape = (shape_of(values)[0], *shape_of(front)[1:])
        values = moveaxis(reshape_to(values, shape=shape), 0, axis)
    else:
        found = _Distinct(ravel(x), equal_nan)
        values = found.values
    result = [values]
    if return_index:
        result.append(found.indices)
    if return_inverse:
        inverse = found.inverse
        result.append(inverse if axis is not None else reshape_to(inverse, shape=shape_of(x)))
    if return_counts:
        result.append(found.counts)
    return result[0] if len(result) == 1 else tuple(result)


def unique_values(x: Any) -> Any:
    """The different elements of `x` in ascending order; every NaN differs from every other."""
    return _sorted_values(ravel(as_array(x)), False)


def unique_counts(x: Any) -> UniqueCounts:
    """The different elements of `x`, and how often each is there; NaN as in `unique_values`."""
    found = _Distinct(ravel(as_array(x)), False)
    return UniqueCounts(found.values, found.counts)


def unique_inverse(x: Any) -> UniqueInverse:
    """The different elements of `x`, and for each element of `x` its index among these."""
    x = as_array(x)
    found = _Distinct(ravel(x), False)
    return UniqueInverse(found.values, reshape_to(found.inverse, shape=shape_of(x)))


def unique_all(x: Any) -> UniqueAll:
    """The different elements of `x`, their first indices, the inverse indices, and the counts."""
    x = as_array(x)
    found = _Distinct(ravel(x), False)
    inverse = reshape_to(found.inverse, shape=shape_of(x))
    return UniqueAll(found.values, found.indices, inverse, found.counts)


# -- two sets -----------------------------------------------------------------------------------


def union1d(a: Any, b: Any) -> Any:
    """The different elements of both."""
    return unique(concatenate([a, b], axis=None))


def _neighbours(x: Any) -> Any:
    """Where an element of a sorted vector equals the next one (its last element aside)."""
    return getitem(x, FROM_SECOND) == getitem(x, UP_TO_LAST)


def intersect1d(a: Any, b: Any, assume_unique: bool = False, return_indices: bool = False) -> Any:
    """The different elements that are in both; their gradient goes to `a`."""
    if return_indices:
        raise ArgumentError(
            "intersect1d: return_indices= is not taken: write tg.nonzero(tg.isin(a, b))"
        ).as_refusal()
    a, b = (ravel(as_array(x)) if assume_unique else unique(x) for x in (a, b))
    both = sort_along(concatenate([a, b]), axis=0)
    return _doubled(both)


def setdiff1d(a: Any, b: Any, assume_unique: bool = False) -> Any:
    """The different elements of the first that are not in the second."""
    a = ravel(as_array(a)) if assume_unique else unique(a)
    return getitem(a, isin(a, b, invert=True))


def setxor1d(a: Any, b: Any, assume_unique: bool = False) -> Any:
    """The different elements that are in one of both, not in the other."""
    a, b = (ravel(as_array(x)) if assume_unique else unique(x) for x in (a, b))
    either = sort_along(concatenate([a, b]), axis=0)
    return getitem(either, logical_not(is_in(either, _doubled(either), invert=False)))


def _doubled(x: Any) -> Any:
    return getitem(getitem(x, UP_TO_LAST), _neighbours(x))


__all__ = [
    "intersect1d",
    "isin",
    "setdiff1d",
    "setxor1d",
    "union1d",
    "unique",
    "unique_all",
    "unique_counts",
    "unique_inverse",
    "unique_values",
]
