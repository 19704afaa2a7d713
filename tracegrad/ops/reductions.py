"""An array enters, fewer elements leave: sums, products, extremes, statistics and running sums.

Records come first in each section and take canonical attributes; the public functions below them
take NumPy's arguments (`axis`, `dtype`, `keepdims`, ...) and PyTorch's names for them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from codegen import sizes as sz
from codegen.sizes import Dim
from codegen.spelling import Spelling, SpellingOf, Subscript, spell
from codegen.types import ArrayType, is_inexact
from tracegrad.dispatch import apply_in, dtype_of, ndim_of, shape_of
from tracegrad.errors import ArgumentError
from tracegrad.ops.arguments import as_array, refuse_out, synonyms
from tracegrad.ops.creation import count, dtype_name, eye_of, full_of, tri_of
from tracegrad.ops.elementwise import (
    absolute,
    as_inexact,
    astype,
    conj,
    exp,
    is_complex,
    isfinite,
    isnan,
    logical_and,
    logical_not,
    logical_or,
    not_equal,
    number_power,
    real,
    sqrt,
    where,
)
from tracegrad.ops.indexing import getitem, scatter_into, setitem
from tracegrad.ops.record import OpRecord, define
from tracegrad.ops.rules import (
    axes_of,
    float_like,
    mean_dtype,
    real_part,
    reduced,
    reduction,
    same,
    sum_dtype,
    ufunc,
)
from tracegrad.ops.shape import (
    broadcast_to_shape,
    canonical_axis,
    expand_axes,
    many_axes,
    one_axis,
    permute_dims,
    ravel,
    reshape_to,
    squeeze_axes,
)

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
    return broadcast_to_shape(whole, shape=shape_of(x))


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
        **more,
    )


def _reduce(record: OpRecord, x: Any, axis: Any, keepdims: Any, dtype: Any = None) -> Any:
    """A record with the arguments that users give; `dtype` is that of the arithmetic and result."""
    x = as_array(x)
    if dtype is not None:
        dtype = dtype_name(dtype)
        x = astype(x, dtype=dtype)
    if axis is not None:
        axis = canonical_axis(axis, ndim_of(x))
    y = record(x, axis=axis, keepdims=bool(keepdims))
    return y if dtype is None or dtype_of(y) == dtype else astype(y, dtype=dtype)


def _chosen(x: Any, where: Any, otherwise: Any) -> Any:
    """The elements that an argument ``where=`` chooses, and a neutral one for the others."""
    return x if where is None else _where(where, x, otherwise)


# -- sums and means -----------------------------------------------------------------------------

sum_over = reducer(
    "sum",
    reduction(sum_dtype),
    lambda ct, y, x, axis, keepdims: (spread(ct, x, axis, keepdims),),
)


def _mean_vjp(ct: Any, y: Any, x: Any, axis: Any, keepdims: bool) -> tuple[Any]:
    return (spread(ct / count((length(x, axis),), ct), x, axis, keepdims),)


mean_over = reducer("mean", reduction(mean_dtype), _mean_vjp)


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
    total = _reduce(sum_over, _chosen(x, where, 0), axis, keepdims, dtype)
    return total if initial is None else total + initial


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
    total = sum(x, axis, dtype, keepdims=keepdims, where=where)
    chosen = broadcast_to_shape(where, shape=shape_of(x))
    return total / sum(chosen, axis, keepdims=keepdims)


@synonyms
def average(
    x: Any, axis: Any = None, weights: Any = None, returned: bool = False, keepdims: bool = False
) -> Any:
    """The mean over `axis` with `weights`; `returned` adds the sum of the weights."""
    x = as_array(x)
    if weights is None:
        average = mean(x, axis, keepdims=keepdims)
        number = count((length(x, canonical_axis(axis, ndim_of(x))),), average)
        total = full_of(number, shape=shape_of(average), dtype=dtype_of(average))
    else:
        weights = as_array(weights)
        if axis is not None and ndim_of(weights) < ndim_of(x):
            axes = many_axes(axis, ndim_of(x))
            others = tuple(i for i in range(ndim_of(x)) if i not in axes)
            weights = expand_axes(weights, axis=others[0] if len(others) == 1 else others)
        weights = broadcast_to_shape(weights, shape=shape_of(x))
        total = sum(weights, axis, keepdims=keepdims)
        average = sum(x * weights, axis, keepdims=keepdims) / total
    return (average, total) if returned else average


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
        raise ArgumentError("ddof=, correction= and unbiased= say the same: give one")
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
    correction: float | None = None,
    unbiased: bool | None = None,
) -> Any:
    """The variance over `axis`: squared deviations from the mean, over n - `correction`.

    The correction is 0 as in NumPy and the array API (PyTorch's default is 1); it may be given as
    `ddof`, as `correction`, or as ``unbiased=True`` for 1.
    """
    refuse_out("var", out)
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
    correction: float | None = None,
    unbiased: bool | None = None,
) -> Any:
    """The standard deviation over `axis`; arguments as for `var`, derivative 0 where it is 0."""
    refuse_out("std", out)
    return _spread_of(std_over, x, axis, dtype, keepdims, _degrees(ddof, correction, unbiased))


# -- extremes -----------------------------------------------------------------------------------


def _extreme_vjp(ct: Any, y: Any, x: Any, axis: Any, keepdims: bool, **_: Any) -> tuple[Any]:
    """Ties share the cotangent evenly."""
    ndim = ndim_of(x)
    at = x == restore(y, axis, keepdims, ndim)
    ties = _counted_in(sum_over(at, axis=axis, keepdims=keepdims), dtype_of(ct))
    return (_where(at, restore(ct / ties, axis, keepdims, ndim), 0.0),)


def _extreme(sizes: Any, x: ArrayType, axis: Any, keepdims: bool, initial: Any = None) -> ArrayType:
    return ArrayType(x.dtype, reduced(x.shape, axis, keepdims))


BOUNDED = {**AXES, "initial": None}
max_over = reducer("max", _extreme, _extreme_vjp, BOUNDED, domain="nonempty")
min_over = reducer("min", _extreme, _extreme_vjp, BOUNDED, domain="nonempty")
nanmax_over = reducer(
    "nanmax",
    _extreme,
    _extreme_vjp,
    text="np.nanmax(x, axis=axis, keepdims=keepdims)",
    domain="nonempty",
)
nanmin_over = reducer(
    "nanmin",
    _extreme,
    _extreme_vjp,
    text="np.nanmin(x, axis=axis, keepdims=keepdims)",
    domain="nonempty",
)


def _bounded(record: OpRecord, x: Any, axis: Any, keepdims: Any, initial: Any, where: Any) -> Any:
    x = as_array(x)
    if where is not None:
        if initial is None:
            raise ArgumentError(
                f"{record.name}: where= needs initial=, the result where it is False"
            )
        x = _where(where, x, initial)
    if axis is not None:
        axis = canonical_axis(axis, ndim_of(x))
    return record(x, axis=axis, keepdims=bool(keepdims), initial=initial)


@synonyms
def max(
    x: Any,
    axis: Any = None,
    out: None = None,
    keepdims: bool = False,
    initial: Any = None,
    where: Any = None,
) -> Any:
    """The largest element over `axis`; ties share the gradient evenly."""
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
    """The smallest element over `axis`; ties share the gradient evenly."""
    refuse_out("min", out)
    return _bounded(min_over, x, axis, keepdims, initial, where)


amax, amin = max, min


@synonyms
def ptp(x: Any, axis: Any = None, out: None = None, keepdims: bool = False) -> Any:
    """The largest less the smallest element over `axis`."""
    refuse_out("ptp", out)
    return max(x, axis, keepdims=keepdims) - min(x, axis, keepdims=keepdims)


def _position(sizes: Any, x: ArrayType, axis: Any, keepdims: bool) -> ArrayType:
    return ArrayType("int64", reduced(x.shape, axis, keepdims))


argmax_over = reducer("argmax", _position, None, differentiable=False, domain="nonempty")
argmin_over = reducer("argmin", _position, None, differentiable=False, domain="nonempty")


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


# -- products -----------------------------------------------------------------------------------


def diagonal_mask(like: Any, rows: Dim, columns: Dim, offset: int = 0) -> Any:
    """True on one diagonal of a matrix, in the algebra of `like`."""
    return apply_in(like, eye_of, {"rows": rows, "columns": columns, "k": offset, "dtype": "bool"})


def _on_diagonal(x: Any) -> Any:
    """True where the first two indices are equal, for arrays with one axis more than `x` has."""
    n, ndim = shape_of(x)[0], ndim_of(x)
    mask = diagonal_mask(x, n, n)
    return mask if ndim == 1 else expand_axes(mask, axis=_after_two(ndim))


def _after_two(ndim: int) -> int | tuple[int, ...]:
    return 2 if ndim == 2 else tuple(range(2, ndim + 1))


def _exclusive_prod_vjp(ct: Any, y: Any, x: Any) -> tuple[Any]:
    """The derivative of a product of others in another is the product without both."""
    same = _on_diagonal(x)
    without = exclusive_prod(_where(same, 1.0, expand_axes(x, axis=1)))
    return (sum_over(_where(same, 0.0, expand_axes(ct, axis=0) * without), axis=1, keepdims=False),)


exclusive_prod = define(
    "exclusive_prod",
    "out = np.ones_like(x)\n"
    "out[1:] = np.cumprod(x[:-1], axis=0)\n"
    "out[:-1] *= np.cumprod(x[:0:-1], axis=0)[::-1]",
    jax="jnp.concatenate([jnp.ones_like(x[:1]), jnp.cumprod(x[:-1], axis=0)])"
    " * jnp.concatenate([jnp.cumprod(x[:0:-1], axis=0)[::-1], jnp.ones_like(x[:1])])",
    infer=same,
    vjp=_exclusive_prod_vjp,
    doc="For each element the product of all others along the first axis; exact where some are 0.",
)


def _others(x: Any, axes: tuple[int, ...]) -> Any:
    """For each element the product of all others over these axes."""
    ndim = ndim_of(x)
    order = (*axes, *(i for i in range(ndim) if i not in axes))
    front = permute_dims(x, order)
    shape = shape_of(front)
    if len(axes) == 1:
        others = exclusive_prod(front)
    else:
        flat = (sz.mul(shape[: len(axes)]), *shape[len(axes) :])
        others = reshape_to(exclusive_prod(reshape_to(front, shape=flat)), shape=shape)
    return permute_dims(others, tuple(order.index(i) for i in range(ndim)))


def _prod_vjp(ct: Any, y: Any, x: Any, axis: Any, keepdims: bool) -> tuple[Any]:
    axes = axes_of(axis, ndim_of(x))
    if not axes:
        return (ct,)
    return (restore(ct, axis, keepdims, ndim_of(x)) * _others(x, axes),)


prod_over = reducer("prod", reduction(sum_dtype), _prod_vjp)


@synonyms
def prod(
    x: Any,
    axis: Any = None,
    dtype: Any = None,
    out: None = None,
    keepdims: bool = False,
    initial: Any = None,
    where: Any = None,
) -> Any:
    """The product over `axis`; its derivatives are exact where elements are 0."""
    refuse_out("prod", out)
    product = _reduce(prod_over, _chosen(x, where, 1), axis, keepdims, dtype)
    return product if initial is None else product * initial


# -- running sums and products ------------------------------------------------------------------


def _running(sizes: Any, x: ArrayType, axis: int) -> ArrayType:
    return ArrayType(sum_dtype(x.dtype), x.shape)


def _backwards(x: Any, axis: int) -> Any:
    """`x` reversed along one axis."""
    return getitem(x, (*(slice(None),) * axis, slice(None, None, -1)))


def _later(x: Any, axis: int) -> Any:
    """Sums from each place to the end."""
    return _backwards(cumsum_along(_backwards(x, axis), axis=axis), axis)


cumsum_along = define(
    "cumsum",
    "x.cumsum(axis=axis)",
    infer=_running,
    vjp=lambda ct, y, x, axis: (_later(ct, axis),),
    attributes={"axis": ...},
    domain="axis",
)


def _cumprod_vjp(ct: Any, y: Any, x: Any, axis: int) -> tuple[Any]:
    """Before the first zero: the later ct * y, summed, over x. At it: as if it were 1. After: 0."""
    zero = x == 0
    first = logical_and(zero, cumsum_along(zero, axis=axis) == 1)
    at_first = _later(ct * cumprod_along(_where(first, 1, x), axis=axis), axis)
    elsewhere = _later(ct * y, axis) / _where(zero, 1, x)
    return (cumprod_pullback(ct, x, first, at_first, elsewhere, axis=axis),)


def _cumprod_pullback_vjp(
    g: Any, _: Any, ct: Any, x: Any, first: Any, at_first: Any, elsewhere: Any, axis: int
) -> tuple[Any, ...]:
    """Over all pairs of a product and a factor; the operands that are read are made of ct and x."""
    order = (axis, *(i for i in range(ndim_of(x)) if i != axis))
    back = tuple(order.index(i) for i in range(len(order)))
    ct, x, g = (permute_dims(v, order) for v in (ct, x, g))
    n, ndim = shape_of(x)[0], ndim_of(x)
    beyond = apply_in(x, tri_of, {"rows": n, "columns": n, "k": -1, "dtype": "bool"})
    within = logical_not(beyond)  # [k, i]: x[k] is a factor of the product y[i]
    if ndim > 1:
        within = expand_axes(within, axis=_after_two(ndim))
    factors = _where(within, expand_axes(x, axis=1), 1.0)
    g_k, ct_i = expand_axes(g, axis=1), expand_axes(ct, axis=0)
    to_ct = sum_over(_where(within, g_k * exclusive_prod(factors), 0.0), axis=0, keepdims=False)
    (to_factors,) = _exclusive_prod_vjp(_where(within, g_k * ct_i, 0.0), None, factors)
    to_x = sum_over(_where(within, to_factors, 0.0), axis=1, keepdims=False)
    return permute_dims(to_ct, back), permute_dims(to_x, back), None, None, None


cumprod_pullback = define(
    "cumprod_pullback",
    "np.where(first, at_first, elsewhere)",
    operands="ct x first at_first elsewhere",
    infer=lambda sizes, ct, x, first, at_first, elsewhere, axis: x.with_dtype(elsewhere.dtype),
    vjp=_cumprod_pullback_vjp,
    attributes={"axis": ...},
    doc="The cotangent of x in y = cumprod(x), exact where elements are 0.",
)
cumprod_along = define(
    "cumprod",
    "x.cumprod(axis=axis)",
    infer=_running,
    vjp=_cumprod_vjp,
    attributes={"axis": ...},
    domain="axis",
)


def _run(record: OpRecord, x: Any, axis: Any, dtype: Any) -> Any:
    x = as_array(x)
    if dtype is not None:
        dtype = dtype_name(dtype)
        x = astype(x, dtype=dtype)
    if axis is None:
        x, axis = ravel(x), 0
    y = record(x, axis=one_axis(axis, ndim_of(x)))
    return y if dtype is None or dtype_of(y) == dtype else astype(y, dtype=dtype)


@synonyms
def cumsum(x: Any, axis: int | None = None, dtype: Any = None, out: None = None) -> Any:
    """The sums of the elements up to each one, along `axis` (None: of the flattened array)."""
    refuse_out("cumsum", out)
    return _run(cumsum_along, x, axis, dtype)


@synonyms
def cumprod(x: Any, axis: int | None = None, dtype: Any = None, out: None = None) -> Any:
    """The products of the elements up to each one, along `axis` (None: of the flattened array)."""
    refuse_out("cumprod", out)
    return _run(cumprod_along, x, axis, dtype)


def _cumulative(record: OpRecord, x: Any, axis: Any, dtype: Any, first: int | None) -> Any:
    """The array API's running sums and products, which may start with what no element gives."""
    x = as_array(x)
    if axis is None and ndim_of(x) != 1:
        raise ArgumentError(f"{record.name}: an array with {ndim_of(x)} axes needs axis=")
    axis = one_axis(0 if axis is None else axis, ndim_of(x))
    y = _run(record, x, axis, dtype)
    if first is None:
        return y
    shape, before = shape_of(y), (slice(None),) * axis
    longer = (*shape[:axis], sz.add(shape[axis], 1), *shape[axis + 1 :])
    behind = Subscript((*before, slice(1, None)))
    moved = scatter_into(y, index=behind, shape=longer, dtype=dtype_of(y))
    return setitem(moved, (*before, 0), first) if first else moved


@synonyms
def cumulative_sum(
    x: Any, axis: int | None = None, dtype: Any = None, include_initial: bool = False
) -> Any:
    """The sums of the elements up to each one, along `axis`; `include_initial`: a 0 first."""
    return _cumulative(cumsum_along, x, axis, dtype, 0 if include_initial else None)


@synonyms
def cumulative_prod(
    x: Any, axis: int | None = None, dtype: Any = None, include_initial: bool = False
) -> Any:
    """The products of the elements up to each one, along `axis`; `include_initial`: a 1 first."""
    return _cumulative(cumprod_along, x, axis, dtype, 1 if include_initial else None)


# -- exponentials -------------------------------------------------------------------------------


def _logsumexp_text(attributes: Mapping[str, Any]) -> Spelling:
    """The largest element (0 for an infinite one) is subtracted first, so nothing overflows."""
    last = "out = np.log(np.exp(x - out).sum(axis=axis, keepdims=keepdims)) + out"
    keep = ", keepdims=True"
    if attributes["axis"] is None and not attributes["keepdims"]:
        keep = ""
    elif not attributes["keepdims"]:
        last = last[: -len("out")] + "np.squeeze(out, axis=axis)"
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
    domain="nonempty",
)


@synonyms
def logsumexp(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    """``log(sum(exp(x)))`` over `axis` without overflow."""
    return _reduce(logsumexp_over, as_inexact(x), axis, keepdims)


def _softmax_vjp(ct: Any, y: Any, x: Any, axis: Any) -> tuple[Any]:
    return ((ct - sum_over(ct * y, axis=axis, keepdims=True)) * y,)


softmax_over = define(
    "softmax",
    "out = np.exp(x - x.max(axis=axis, keepdims=True))\nout /= out.sum(axis=axis, keepdims=True)",
    infer=lambda sizes, x, axis: ufunc("exp")(sizes, x),
    vjp=_softmax_vjp,
    attributes={"axis": ...},
    domain="nonempty",
)


def _log_softmax_vjp(ct: Any, y: Any, x: Any, axis: Any) -> tuple[Any]:
    return (ct - exp(y) * sum_over(ct, axis=axis, keepdims=True),)


log_softmax_over = define(
    "log_softmax",
    "out = x - x.max(axis=axis, keepdims=True)\n"
    "out = out - np.log(np.exp(out).sum(axis=axis, keepdims=True))",
    infer=lambda sizes, x, axis: ufunc("exp")(sizes, x),
    vjp=_log_softmax_vjp,
    attributes={"axis": ...},
    domain="nonempty",
)


@synonyms
def softmax(x: Any, axis: Any = -1) -> Any:
    """``exp(x)`` over its sum along `axis`, without overflow."""
    x = as_inexact(x)
    return softmax_over(x, axis=canonical_axis(axis, ndim_of(x)))


@synonyms
def log_softmax(x: Any, axis: Any = -1) -> Any:
    """``log(softmax(x))``, exact where the softmax underflows."""
    x = as_inexact(x)
    return log_softmax_over(x, axis=canonical_axis(axis, ndim_of(x)))


# -- norms --------------------------------------------------------------------------------------


def _norm_text(attributes: Mapping[str, Any]) -> Spelling:
    axis = attributes["axis"]
    if isinstance(axis, tuple) and len(axis) > 2:  # for NumPy a norm has one axis, two or all
        return spell("np.sqrt(np.square(np.abs(x)).sum(axis=axis, keepdims=keepdims))")
    return spell("np.linalg.norm(x, axis=axis, keepdims=keepdims)")


def _norm_vjp(ct: Any, y: Any, x: Any, axis: Any, keepdims: bool) -> tuple[Any]:
    """x / |x|, and 0 at the origin."""
    scale = ct / _where(y == 0, 1.0, y)
    direction = conj(x) if is_complex(x) else x
    return (restore(scale, axis, keepdims, ndim_of(x)) * direction,)


norm_over = reducer(
    "norm",
    lambda sizes, x, axis, keepdims: real_part(sizes, float_like(sizes, x)).with_shape(
        reduced(x.shape, axis, keepdims)
    ),
    _norm_vjp,
    text=_norm_text,
    doc="The root of the sum of squares.",
)


@synonyms
def vector_norm(x: Any, axis: Any = None, keepdims: bool = False, ord: float = 2) -> Any:
    """The `ord`-norm over `axis`, all elements as one vector; 0 has the gradient 0."""
    x = as_inexact(x)
    if ord == 2:
        return _reduce(norm_over, x, axis, keepdims)
    if ord == 0:
        number = count_nonzero(x, axis, keepdims=keepdims)
        return astype(number, dtype=dtype_of(real(x) if is_complex(x) else x))
    size = absolute(x)
    if ord == 1:
        return sum(size, axis, keepdims=keepdims)
    if ord in (INFINITY, -INFINITY):
        return (max if ord > 0 else min)(size, axis, keepdims=keepdims)
    if 0 < ord < 1:  # its derivative is infinite at 0, and taken as 0
        powers = _where(size == 0, 0.0, number_power(_where(size == 0, 1.0, size), exponent=ord))
    else:
        powers = number_power(size, exponent=ord)
    total = sum(powers, axis, keepdims=keepdims)
    root = number_power(_where(total == 0, 1.0, total), exponent=1 / ord)
    return _where(total == 0, 0.0 if ord > 0 else INFINITY, root)


@synonyms
def norm(x: Any, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Any:
    """A norm as ``np.linalg.norm``: of vectors along one axis, of matrices along two."""
    x = as_inexact(x)
    ndim = ndim_of(x)
    if axis is None and (ord is None or ndim == 1):
        return vector_norm(x, None, keepdims, 2 if ord is None else ord)
    axes = tuple(range(ndim)) if axis is None else axis if isinstance(axis, tuple) else (axis,)
    axes = tuple(one_axis(a, ndim) for a in axes)
    if len(axes) == 1:
        return vector_norm(x, axes[0], keepdims, 2 if ord is None else ord)
    if len(axes) != 2:
        raise ArgumentError(f"norm: a vector has one axis and a matrix two, not {len(axes)}")
    if ord in (None, "fro"):
        return vector_norm(x, axes, keepdims)
    if ord not in (1, -1, INFINITY, -INFINITY):
        raise ArgumentError(f"norm: ord={ord!r} of a matrix needs its singular values (svdvals)")
    along, over = axes if ord in (1, -1) else axes[::-1]
    sums = sum(absolute(x), along, keepdims=True)
    largest = (max if ord > 0 else min)(sums, over, keepdims=True)
    return largest if keepdims else squeeze_axes(largest, axis=tuple(sorted(axes)))


# -- statistics that pass over NaN --------------------------------------------------------------


def _without_nan(x: Any, instead: Any) -> Any:
    x = as_array(x)
    return _where(isnan(x), instead, x) if is_inexact(dtype_of(x)) else x


@synonyms
def nansum(
    x: Any, axis: Any = None, dtype: Any = None, out: None = None, keepdims: bool = False
) -> Any:
    """The sum over `axis` of what is not NaN."""
    refuse_out("nansum", out)
    return sum(_without_nan(x, 0), axis, dtype, keepdims=keepdims)


@synonyms
def nanprod(
    x: Any, axis: Any = None, dtype: Any = None, out: None = None, keepdims: bool = False
) -> Any:
    """The product over `axis` of what is not NaN."""
    refuse_out("nanprod", out)
    return prod(_without_nan(x, 1), axis, dtype, keepdims=keepdims)


@synonyms
def nanmax(x: Any, axis: Any = None, out: None = None, keepdims: bool = False) -> Any:
    """The largest element over `axis` that is not NaN; ties share the gradient evenly."""
    refuse_out("nanmax", out)
    return _reduce(nanmax_over, x, axis, keepdims)


@synonyms
def nanmin(x: Any, axis: Any = None, out: None = None, keepdims: bool = False) -> Any:
    """The smallest element over `axis` that is not NaN; ties share the gradient evenly."""
    refuse_out("nanmin", out)
    return _reduce(nanmin_over, x, axis, keepdims)


def _numbers(x: Any, axis: Any, keepdims: bool) -> Any:
    """How many elements over `axis` are not NaN."""
    return sum(logical_not(isnan(x)), axis, keepdims=keepdims)


@synonyms
def nanmean(
    x: Any, axis: Any = None, dtype: Any = None, out: None = None, keepdims: bool = False
) -> Any:
    """The mean over `axis` of what is not NaN."""
    refuse_out("nanmean", out)
    x = as_array(x)
    total = nansum(x, axis, dtype, keepdims=keepdims)
    return _over_numbers(total, _numbers(x, axis, keepdims))


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
    correction: float | None = None,
) -> Any:
    """The variance over `axis` of what is not NaN; arguments as for `var`."""
    refuse_out("nanvar", out)
    x = as_inexact(x) if dtype is None else astype(as_array(x), dtype=dtype_name(dtype))
    deviation = _without_nan(x - nanmean(x, axis, keepdims=True), 0)
    squares = real(deviation * conj(deviation)) if is_complex(x) else deviation * deviation
    freedom = _numbers(x, axis, keepdims) - _degrees(ddof, correction, None)
    return _over_numbers(sum(squares, axis, keepdims=keepdims), freedom)


@synonyms
def nanstd(
    x: Any,
    axis: Any = None,
    dtype: Any = None,
    out: None = None,
    ddof: float | None = None,
    keepdims: bool = False,
    *,
    correction: float | None = None,
) -> Any:
    """The standard deviation over `axis` of what is not NaN; derivative 0 where it is 0."""
    refuse_out("nanstd", out)
    variance = nanvar(x, axis, dtype, None, ddof, keepdims, correction=correction)
    flat = variance == 0
    return _where(flat, 0.0, sqrt(_where(flat, 1.0, variance)))


__all__ = [
    "all",
    "allclose",
    "amax",
    "amin",
    "any",
    "argmax",
    "argmin",
    "average",
    "count_nonzero",
    "cumprod",
    "cumsum",
    "cumulative_prod",
    "cumulative_sum",
    "isclose",
    "log_softmax",
    "logsumexp",
    "max",
    "mean",
    "min",
    "nanmax",
    "nanmean",
    "nanmin",
    "nanprod",
    "nanstd",
    "nansum",
    "nanvar",
    "norm",
    "prod",
    "ptp",
    "softmax",
    "std",
    "sum",
    "var",
    "vector_norm",
]
