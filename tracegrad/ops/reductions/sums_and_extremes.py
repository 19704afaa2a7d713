"""Reductions over axes: sums, means, variances, extremes.

Records come first in each section and take canonical attributes; the public functions below them
take NumPy's arguments (`axis`, `dtype`, `keepdims`, ...) and PyTorch's names for them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from codegen import sizes as sz
from codegen.ir import Trait
from codegen.sizes import Dim
from codegen.spelling import Spelling, SpellingOf, spell
from codegen.types import ArrayType, is_inexact
from tracegrad.errors import ArgumentValueError, DTypeError
from tracegrad.ops import batching_rules
from tracegrad.ops.arguments import as_array, refuse_out, synonyms
from tracegrad.ops.elementwise.activations import as_inexact
from tracegrad.ops.elementwise.ufuncs import (
    absolute,
    astype,
    conj,
    is_complex,
    isfinite,
    isnan,
    logical_and,
    logical_or,
    not_equal,
    real,
    sqrt,
    where,
)
from tracegrad.ops.program_functions import needs
from tracegrad.ops.record import TABLE, OpRecord, define
from tracegrad.ops.repeated_cotangents import repeated
from tracegrad.ops.shape.creation import count, dtype_name
from tracegrad.ops.shape.reshaping import broadcast_beside, canonical_axis, expand_axes
from tracegrad.ops.shape.selection import PutBack
from tracegrad.ops.type_rules import (
    axes_of,
    float_like,
    mean_dtype,
    real_part,
    reduced,
    reduction,
    sum_dtype,
)
from tracegrad.values.dispatch import dtype_of, is_number, ndim_of, shape_of

AXES = {"axis": None, "keepdims": False}
INFINITY = float("inf")
_where = where  # `where` is also the name of an argument of NumPy's reductions


# -- what the rules share -----------------------------------------------------------------------


def restore(y: Any, axis: Any, keepdims: bool, ndim: int) -> Any:
    """A reduced array with its axes back, of length 1, so that it broadcasts against the whole."""
    if keepdims or axis is None or axis == () or ndim == 0:
        return y
    return expand_axes(y, axis=axis)


def spread(ct: Any, x: Any, axis: Any, keepdims: bool) -> Any:
    """A cotangent of a sum repeated over what was summed."""
    whole = restore(ct, axis, keepdims, ndim_of(x))
    return repeated(whole, shape_of(x))


def length(x: Any, axis: Any) -> Dim:
    """The number of elements that are reduced to one."""
    shape = shape_of(x)
    return sz.mul(shape[i] for i in axes_of(axis, len(shape)))


def _counted_in(number: Any, dtype: str) -> Any:
    """A count as a divisor of values of a dtype, whose dtype it does not change."""
    exact = dtype in ("float64", "complex128") or not is_inexact(dtype)
    return number if exact else astype(number, dtype=dtype)


def reducer(
    name: str,
    infer: Callable[..., ArrayType],
    vjp: Callable[..., Any] | None,
    attributes: Mapping[str, Any] = AXES,
    text: SpellingOf | str | None = None,
    batch: Callable[..., Any] = batching_rules.over_axes,
    **more: Any,
) -> OpRecord:
    """A record of a reduction, spelled as the array's method of that name."""
    arguments = ", ".join(f"{attribute}={attribute}" for attribute in attributes)
    return define(
        name,
        text or f"x.{name}({arguments})",
        infer=infer,
        vjp=vjp,
        attributes=attributes,
        batch=batch,
        **more,
    )


def _reduce(
    record: OpRecord, x: Any, axis: Any, keepdims: Any, dtype: Any = None, others: Sequence = ()
) -> Any:
    """A record with the arguments that users give; `dtype` is that of the arithmetic and result."""
    x = as_array(x)
    if dtype is not None:
        dtype = dtype_name(dtype)
        x = astype(x, dtype=dtype)
    if axis is not None:
        axis = canonical_axis(axis, ndim_of(x))
    y = record(x, *others, axis=axis, keepdims=bool(keepdims))
    return y if dtype is None or dtype_of(y) == dtype else astype(y, dtype=dtype)


def _chosen(x: Any, where: Any, otherwise: Any) -> Any:
    """The elements that an argument ``where=`` chooses, and a neutral one for the others."""
    return x if where is None else _where(where, x, otherwise)


def seeded(
    name: str, vjp: Callable[..., Any], from_vjp: Callable[..., Any]
) -> tuple[OpRecord, OpRecord]:
    """The records of a reduction of the elements under a mask, and of one that starts elsewhere.

    NumPy adds (multiplies) the elements of each run of a mask apart, and starts with `initial`.
    A mask that is the number True chooses all.
    """
    text = f"x.{name}(axis=axis, keepdims=keepdims, where=where)"
    of_mask = define(
        f"{name}_where",
        text,
        operands="x where",
        infer=_of_chosen,
        vjp=vjp,
        attributes=AXES,
        batch=_batch_of_chosen,
        doc=f"The {name} over `axis` of the elements under a mask.",
    )
    started = define(
        f"{name}_from",
        text.replace("where=where", "initial=initial, where=where"),
        operands="x initial where",
        infer=lambda sizes, x, initial, where, **axes: _of_chosen(sizes, x, where, **axes),
        vjp=from_vjp,
        attributes=AXES,
        doc=f"The {name} over `axis` of a number and of the elements under a mask.",
    )
    return of_mask, started


def _of_chosen(sizes: Any, x: ArrayType, where: ArrayType, axis: Any, keepdims: bool) -> ArrayType:
    if where.dtype != "bool":
        raise DTypeError(f"where= is a mask of bools, not of {where.dtype}")
    return reduction(sum_dtype)(sizes, x, axis, keepdims)


def _batch_of_chosen(batch: batching_rules.Batch) -> Any:
    ndim, axis = batch.ndim(0), batch.attributes["axis"]
    if ndim == 0:
        return NotImplemented
    axis = batching_rules.behind(axis, ndim)
    return batch.run(batch.front(0), batch.aligned(1, ndim), axis=axis)


def reduce_chosen(
    records: tuple[OpRecord, OpRecord],
    x: Any,
    axis: Any,
    keepdims: Any,
    dtype: Any,
    initial: Any,
    where: Any,
) -> Any:
    """A reduction that starts with `initial`, or takes the elements of a mask, or both."""
    (of_mask, started), x = records, as_array(x)
    mask = True if where is None else as_array(where)
    if initial is None:
        return _reduce(of_mask, x, axis, keepdims, dtype, (mask,))
    if not is_number(initial):
        own = sum_dtype(dtype_of(x) if dtype is None else dtype_name(dtype))
        initial = astype(as_array(initial), dtype=own)
    return _reduce(started, x, axis, keepdims, dtype, (initial, mask))


def under(mask: Any, ct: Any) -> Any:
    """The cotangent of elements, of which a mask chooses some."""
    return ct if mask is True else _where(mask, ct, 0.0)


# -- sums and means -----------------------------------------------------------------------------

# Run here for its own kernel, read as source for programs, where `np` is known.


def sum_along(x, axis, keepdims=False):
    """x.sum(axis); a product with ones where NumPy would add up only few numbers at a time."""
    if x.size < 1024 or x.dtype.char not in "fd" or not x.flags.c_contiguous:
        return x.sum(axis=axis, keepdims=keepdims)
    n, inner = x.shape[axis], 1
    for length in x.shape[axis + 1 :]:
        inner *= length
    if (n if inner == 1 else inner) > 64:
        return x.sum(axis=axis, keepdims=keepdims)
    if inner == 1:
        out = x.reshape(-1, n) @ np.ones(n, x.dtype)
    else:
        out = np.ones(n, x.dtype) @ x.reshape(-1, n, inner)
    return out.reshape(x.shape[:axis] + (1,) * keepdims + x.shape[axis + 1 :])


def sum_slices(x, axis, keepdims=False):
    """x.sum(axis) over several axes; their slices are added where they are few."""
    lengths = [x.shape[a] for a in axis]
    few = lengths and min(lengths) >= 2 and max(lengths) <= 4
    if x.size < 1024 or x.dtype.char not in "fd" or not few:
        return x.sum(axis=axis, keepdims=keepdims)
    shape = tuple(1 if a in axis else n for a, n in enumerate(x.shape))
    for removed, a in enumerate(sorted(axis)):
        front = (slice(None),) * (a - removed)
        total = x[(*front, 0)] + x[(*front, 1)]
        for i in range(2, x.shape[a - removed]):
            total += x[(*front, i)]
        x = total
    return x.reshape(shape) if keepdims else x


def is_inner(axis: Any) -> bool:
    """Whether an axis stands behind the first (rows are added to each other as they are)."""
    return isinstance(axis, int) and axis > 0


def are_inner(axis: Any) -> bool:
    """The same for several axes."""
    return isinstance(axis, tuple) and len(axis) > 1 and 0 not in axis


def _sum_text(attributes: Mapping[str, Any]) -> Spelling:
    """Along axes that are not the first the lengths decide, when the program runs, how to add."""
    if is_inner(attributes["axis"]):
        return spell("sum_along(x, axis=axis, keepdims=keepdims)")
    if are_inner(attributes["axis"]):
        return spell("sum_slices(x, axis=axis, keepdims=keepdims)")
    return spell("x.sum(axis=axis, keepdims=keepdims)")


def _mean_text(attributes: Mapping[str, Any]) -> Spelling:
    """What the optimizer makes of it: the sum / n, but for dtypes in which NumPy sums wider."""
    axis, numpy = attributes["axis"], "x.mean(axis=axis, keepdims=keepdims)"
    if not is_inner(axis) and not are_inner(axis):
        return spell(numpy)
    n = " * ".join(f"x.shape[{a}]" for a in ([axis] if isinstance(axis, int) else axis))
    total = _sum_text(attributes).text
    return spell(f'out = {total} / ({n}) if x.dtype.char in "fd" else {numpy}')


sum_over = reducer(
    "sum",
    reduction(sum_dtype),
    lambda ct, y, x, axis, keepdims: (spread(ct, x, axis, keepdims),),
    linear="together",
    traits=(Trait.TOTAL,),
    text=_sum_text,
    jax="x.sum(axis=axis, keepdims=keepdims)",
    needs=needs((sum_along, sum_slices)),
    scratch=0,
)


def _mean_vjp(ct: Any, y: Any, x: Any, axis: Any, keepdims: bool) -> tuple[Any]:
    return (spread(ct / count((length(x, axis),), ct), x, axis, keepdims),)


mean_over = reducer(
    "mean",
    reduction(mean_dtype),
    _mean_vjp,
    linear="together",
    text=_mean_text,
    jax="x.mean(axis=axis, keepdims=keepdims)",
    needs=needs((sum_along, sum_slices)),
    scratch=0,
)


def _sum_where_vjp(ct: Any, y: Any, x: Any, where: Any, axis: Any, keepdims: bool) -> Any:
    return under(where, spread(ct, x, axis, keepdims)), None


def _sum_from_vjp(
    ct: Any, y: Any, x: Any, initial: Any, where: Any, axis: Any, keepdims: bool
) -> Any:
    return under(where, spread(ct, x, axis, keepdims)), ct, None


SUMS_OF_CHOSEN = seeded("sum", _sum_where_vjp, _sum_from_vjp)


plain_mean = OpRecord(
    name="plain_mean",
    operands=("x",),
    infer=reduction(mean_dtype),
    spelling={target: spell("x.mean(axis=axis, keepdims=keepdims)") for target in ("numpy", "jax")},
    attributes=AXES,
    vjp=_mean_vjp,
    doc="NumPy's mean, of dtypes that it sums wider. Not in the table: programs alone have it.",
)


@synonyms
def sum(
    x: Any,
    axis: Any = None,
    dtype: Any = None,
    out: None = None,
    keepdims: bool = False,
    initial: Any = None,
    where: Any = None,
) -> Any:
    """The sum over `axis` (None, an int or a tuple of ints); small integers are summed in int64."""
    refuse_out("sum", out)
    if initial is None and where is None:
        return _reduce(sum_over, x, axis, keepdims, dtype)
    return reduce_chosen(SUMS_OF_CHOSEN, x, axis, keepdims, dtype, initial, where)


@synonyms
def mean(
    x: Any,
    axis: Any = None,
    dtype: Any = None,
    out: None = None,
    keepdims: bool = False,
    where: Any = None,
) -> Any:
    """The arithmetic mean over `axis`; of integers in float64."""
    refuse_out("mean", out)
    if where is None:
        return _reduce(mean_over, x, axis, keepdims, dtype)
    x = as_array(x)
    total = sum(x, axis, dtype, keepdims=keepdims, where=where)
    number = _number_chosen(x, axis, keepdims, where)
    return total / _counted_in(number, dtype_of(total))


def _number_chosen(x: Any, axis: Any, keepdims: bool, where: Any) -> Any:
    """How many elements over `axis` are chosen."""
    return sum(broadcast_beside(as_array(where), shape_of(x), x), axis, keepdims=keepdims)


# -- variance -----------------------------------------------------------------------------------


def _spread_type(sizes: Any, x: ArrayType, axis: Any, ddof: Any, keepdims: bool) -> ArrayType:
    found = real_part(sizes, float_like(sizes, x))
    return found.with_shape(reduced(x.shape, axis, keepdims))


def _freedom(x: Any, axis: Any, ddof: float, like: Any) -> Any:
    """n - ddof, as a number to divide by."""
    n = length(x, axis)
    if isinstance(ddof, int):
        return count((sz.add(n, -ddof),), like)
    return count((n,), like) - ddof


def _deviation(x: Any, axis: Any) -> Any:
    deviation = x - mean_over(x, axis=axis, keepdims=axis is not None)
    return conj(deviation) if is_complex(x) else deviation


def _var_vjp(ct: Any, y: Any, x: Any, axis: Any, ddof: float, keepdims: bool) -> tuple[Any]:
    scale = 2.0 * ct / _freedom(x, axis, ddof, ct)
    return (restore(scale, axis, keepdims, ndim_of(x)) * _deviation(x, axis),)


def _std_vjp(ct: Any, y: Any, x: Any, axis: Any, ddof: float, keepdims: bool) -> tuple[Any]:
    """Where nothing deviates the derivative is taken as 0."""
    scale = ct / (_where(y == 0, 1.0, y) * _freedom(x, axis, ddof, ct))
    return (restore(scale, axis, keepdims, ndim_of(x)) * _deviation(x, axis),)


SPREAD = {"axis": None, "ddof": 0, "keepdims": False}
var_over = reducer("var", _spread_type, _var_vjp, SPREAD, domain="nonempty")
std_over = reducer("std", _spread_type, _std_vjp, SPREAD, domain="nonempty")


def _degrees(ddof: float | None, correction: float | None, unbiased: bool | None) -> float:
    """The three spellings of what is subtracted from n."""
    given = [
        d for d in (ddof, correction, None if unbiased is None else int(unbiased)) if d is not None
    ]
    if len(given) > 1:
        raise ArgumentValueError("ddof=, correction= and unbiased= say the same: give one")
    number = given[0] if given else 0
    return int(number) if number == int(number) else float(number)


def _spread_of(record: OpRecord, x: Any, axis: Any, dtype: Any, keepdims: Any, ddof: float) -> Any:
    x = as_array(x)
    if dtype is not None:
        x = astype(x, dtype=dtype_name(dtype))
    if axis is not None:
        axis = canonical_axis(axis, ndim_of(x))
    return record(x, axis=axis, ddof=ddof, keepdims=bool(keepdims))


@synonyms
def var(
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
    unbiased: bool | None = None,
) -> Any:
    """The variance over `axis`: squared deviations from the mean, over n - `correction`.

    The correction is 0 as in NumPy and the array API (PyTorch's default is 1); it may be given as
    `ddof`, as `correction`, or as ``unbiased=True`` for 1. `where` chooses elements; a `mean` that
    is known already, with its axes kept, is taken as it is.
    """
    refuse_out("var", out)
    if where is not None or mean is not None:
        degrees = _degrees(ddof, correction, unbiased)
        return _chosen_spread(x, axis, dtype, keepdims, degrees, where, mean)
    return _spread_of(var_over, x, axis, dtype, keepdims, _degrees(ddof, correction, unbiased))


@synonyms
def std(
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
    unbiased: bool | None = None,
) -> Any:
    """The standard deviation over `axis`; arguments as for `var`, derivative 0 where it is 0."""
    refuse_out("std", out)
    if where is not None or mean is not None:
        degrees = _degrees(ddof, correction, unbiased)
        found = _chosen_spread(x, axis, dtype, keepdims, degrees, where, mean)
        flat = found == 0
        return _where(flat, 0.0, sqrt(_where(flat, 1.0, found)))
    return _spread_of(std_over, x, axis, dtype, keepdims, _degrees(ddof, correction, unbiased))


def _chosen_spread(
    x: Any, axis: Any, dtype: Any, keepdims: bool, ddof: float, where: Any, known: Any
) -> Any:
    """The variance of the elements that `where` chooses, around a mean that may be known."""
    x = as_array(x)
    if dtype is not None or not is_inexact(dtype_of(x)):
        x = astype(x, dtype="float64" if dtype is None else dtype_name(dtype))
    deviation = x - (mean(x, axis, keepdims=True, where=where) if known is None else known)
    squares = real(deviation * conj(deviation)) if is_complex(x) else deviation * deviation
    total = sum(squares, axis, keepdims=keepdims, where=where)
    if where is None:
        return total / _freedom(x, canonical_axis(axis, ndim_of(x)), ddof, total)
    number = _number_chosen(x, axis, keepdims, where)
    return total / (_counted_in(number, dtype_of(total)) - ddof)


# -- extremes -----------------------------------------------------------------------------------


def _extreme_vjp(ct: Any, y: Any, x: Any, axis: Any, keepdims: bool, **_: Any) -> tuple[Any]:
    """Of ties the first has the cotangent where `first` is set, else they share it evenly."""
    ndim = ndim_of(x)
    at = x == restore(y, axis, keepdims, ndim)
    ties = _counted_in(sum_over(at, axis=axis, keepdims=keepdims), dtype_of(ct))
    return (_where(at, restore(ct / ties, axis, keepdims, ndim), 0.0),)


def _first_or_shared(name: str) -> Callable[..., tuple[Any]]:
    """The rule of an extreme whose place is told by the record of this name."""

    def vjp(ct: Any, y: Any, x: Any, axis: Any, keepdims: bool, first: bool, **_: Any) -> Any:
        if not first:
            return _extreme_vjp(ct, y, x, axis, keepdims)
        at = TABLE[name](x, axis=axis, keepdims=True)
        return (PutBack(restore(ct, axis, keepdims, ndim_of(x)), x, (at,), {"axis": axis}),)

    return vjp


def _extreme(sizes: Any, x: ArrayType, axis: Any, keepdims: bool, **_: Any) -> ArrayType:
    return ArrayType(x.dtype, reduced(x.shape, axis, keepdims))


BOUNDED = {**AXES, "initial": None, "first": False}
max_over = reducer(
    "max",
    _extreme,
    _first_or_shared("argmax"),
    BOUNDED,
    text="x.max(axis=axis, keepdims=keepdims, initial=initial)",
    domain="nonempty",
    raises="caught",
    batch=batching_rules.largest,
)
min_over = reducer(
    "min",
    _extreme,
    _first_or_shared("argmin"),
    BOUNDED,
    text="x.min(axis=axis, keepdims=keepdims, initial=initial)",
    domain="nonempty",
    raises="caught",
    batch=batching_rules.largest,
)
nanmax_over = reducer(
    "nanmax",
    _extreme,
    _extreme_vjp,
    text="np.nanmax(x, axis=axis, keepdims=keepdims)",
    domain="nonempty",
    raises="caught",
)
nanmin_over = reducer(
    "nanmin",
    _extreme,
    _extreme_vjp,
    text="np.nanmin(x, axis=axis, keepdims=keepdims)",
    domain="nonempty",
    raises="caught",
)


def _bounded(
    record: OpRecord,
    x: Any,
    axis: Any,
    keepdims: Any,
    initial: Any,
    where: Any,
    shared: bool = False,
) -> Any:
    """An extreme; along one axis the first of ties has the gradient unless it is `shared`."""
    x = as_array(x)
    if where is not None:
        if initial is None:
            raise ArgumentValueError(
                f"{record.name}: where= needs initial=, the result where it is False"
            )
        x = _where(where, x, initial)
    if axis is not None:
        axis = canonical_axis(axis, ndim_of(x))
    first = isinstance(axis, int) and initial is None and not shared
    return record(x, axis=axis, keepdims=bool(keepdims), initial=initial, first=first)


@synonyms
def max(
    x: Any,
    axis: Any = None,
    out: None = None,
    keepdims: bool = False,
    initial: Any = None,
    where: Any = None,
) -> Any:
    """The largest element over `axis`.

    Of ties along a single axis the first has the gradient, as in PyTorch's ``max(dim)``; over the
    whole array, or over several axes, they share it evenly, as always in ``amax``.
    """
    refuse_out("max", out)
    return _bounded(max_over, x, axis, keepdims, initial, where)


@synonyms
def min(
    x: Any,
    axis: Any = None,
    out: None = None,
    keepdims: bool = False,
    initial: Any = None,
    where: Any = None,
) -> Any:
    """The smallest element over `axis`.

    Of ties along a single axis the first has the gradient, as in PyTorch's ``max(dim)``; over the
    whole array, or over several axes, they share it evenly, as always in ``amin``.
    """
    refuse_out("min", out)
    return _bounded(min_over, x, axis, keepdims, initial, where)


@synonyms
def amax(
    x: Any,
    axis: Any = None,
    out: None = None,
    keepdims: bool = False,
    initial: Any = None,
    where: Any = None,
) -> Any:
    """The largest element over `axis`; ties share the gradient evenly."""
    refuse_out("amax", out)
    return _bounded(max_over, x, axis, keepdims, initial, where, shared=True)


@synonyms
def amin(
    x: Any,
    axis: Any = None,
    out: None = None,
    keepdims: bool = False,
    initial: Any = None,
    where: Any = None,
) -> Any:
    """The smallest element over `axis`; ties share the gradient evenly."""
    refuse_out("amin", out)
    return _bounded(min_over, x, axis, keepdims, initial, where, shared=True)


@synonyms
def ptp(x: Any, axis: Any = None, out: None = None, keepdims: bool = False) -> Any:
    """The largest less the smallest element over `axis`."""
    refuse_out("ptp", out)
    return max(x, axis, keepdims=keepdims) - min(x, axis, keepdims=keepdims)


def _position(sizes: Any, x: ArrayType, axis: Any, keepdims: bool) -> ArrayType:
    return ArrayType("int64", reduced(x.shape, axis, keepdims))


argmax_over = reducer(
    "argmax",
    _position,
    None,
    differentiable=False,
    domain="nonempty",
    raises="caught",
    batch=batching_rules.over_one_axis,
)
argmin_over = reducer(
    "argmin",
    _position,
    None,
    differentiable=False,
    domain="nonempty",
    raises="caught",
    batch=batching_rules.over_one_axis,
)


@synonyms
def argmax(x: Any, axis: int | None = None, out: None = None, *, keepdims: bool = False) -> Any:
    """The index of the first largest element along `axis` (None: of the flattened array)."""
    refuse_out("argmax", out)
    return _reduce(argmax_over, x, axis, keepdims)


@synonyms
def argmin(x: Any, axis: int | None = None, out: None = None, *, keepdims: bool = False) -> Any:
    """The index of the first smallest element along `axis` (None: of the flattened array)."""
    refuse_out("argmin", out)
    return _reduce(argmin_over, x, axis, keepdims)


# -- truth --------------------------------------------------------------------------------------

any_over = reducer("any", reduction(lambda dtype: "bool"), None, differentiable=False)
all_over = reducer("all", reduction(lambda dtype: "bool"), None, differentiable=False)


@synonyms
def any(
    x: Any, axis: Any = None, out: None = None, keepdims: bool = False, *, where: Any = None
) -> Any:
    """Whether any element over `axis` is true."""
    refuse_out("any", out)
    return _reduce(any_over, _chosen(x, where, False), axis, keepdims)


@synonyms
def all(
    x: Any, axis: Any = None, out: None = None, keepdims: bool = False, *, where: Any = None
) -> Any:
    """Whether all elements over `axis` are true."""
    refuse_out("all", out)
    return _reduce(all_over, _chosen(x, where, True), axis, keepdims)


@synonyms
def count_nonzero(x: Any, axis: Any = None, *, keepdims: bool = False) -> Any:
    """The number of elements over `axis` that are not 0."""
    x = as_array(x)
    return sum(x if dtype_of(x) == "bool" else not_equal(x, 0), axis, keepdims=keepdims)


def isclose(
    a: Any, b: Any, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False
) -> Any:
    """Where `a` and `b` are equal within ``atol + rtol * abs(b)``."""
    a, b = as_inexact(a), as_inexact(b)
    near = logical_and(absolute(a - b) <= atol + rtol * absolute(b), isfinite(b))
    close = logical_or(near, a == b)
    return logical_or(close, logical_and(isnan(a), isnan(b))) if equal_nan else close


def allclose(
    a: Any, b: Any, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False
) -> bool:
    """Whether `a` and `b` are equal everywhere within ``atol + rtol * abs(b)``."""
    return bool(all(isclose(a, b, rtol, atol, equal_nan)))


def array_equal(a: Any, b: Any, equal_nan: bool = False) -> bool:
    """Whether two arrays have one shape and the same elements."""
    a, b = as_array(a), as_array(b)
    if np.shape(a) != np.shape(b):  # the outcome depends on the lengths: they are looked at
        return False
    same = a == b
    if equal_nan and is_inexact(dtype_of(a)) and is_inexact(dtype_of(b)):
        same = logical_or(same, logical_and(isnan(a), isnan(b)))
    return bool(all(same))


def array_equiv(a1: Any, a2: Any) -> bool:
    """Whether two arrays, broadcast against each other, have the same elements."""
    a, b = as_array(a1), as_array(a2)
    try:
        np.broadcast_shapes(np.shape(a), np.shape(b))  # the lengths are looked at
    except ValueError:
        return False
    return bool(all(a == b))


__all__ = [
    "all",
    "allclose",
    "amax",
    "amin",
    "any",
    "argmax",
    "argmin",
    "array_equal",
    "array_equiv",
    "count_nonzero",
    "isclose",
    "max",
    "mean",
    "min",
    "ptp",
    "std",
    "sum",
    "var",
]
