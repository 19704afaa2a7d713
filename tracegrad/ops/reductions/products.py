"""Products over axes, and cumulative sums and products."""

from __future__ import annotations

from typing import Any

from codegen import sizes as sz
from codegen.sizes import Dim
from codegen.types import ArrayType
from tracegrad.errors import ShapeError
from tracegrad.ops import batching_rules
from tracegrad.ops.arguments import as_array, refuse_out, synonyms
from tracegrad.ops.elementwise.ufuncs import astype, logical_and, logical_not
from tracegrad.ops.record import OpRecord, define
from tracegrad.ops.reductions.sums_and_extremes import (
    _reduce,
    _where,
    reduce_chosen,
    reducer,
    restore,
    seeded,
    sum_over,
    under,
)
from tracegrad.ops.shape.creation import (
    bare,
    dtype_name,
    eye_of,
    ones_of_shape,
    tri_of,
    zeros_of_shape,
)
from tracegrad.ops.shape.indexing import getitem
from tracegrad.ops.shape.joining import concatenate
from tracegrad.ops.shape.reshaping import expand_axes, one_axis, permute_dims, ravel, reshape_to
from tracegrad.ops.type_rules import axes_of, reduction, same, sum_dtype
from tracegrad.values.dispatch import apply_in, dtype_of, ndim_of, shape_of

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
    batch=batching_rules.first_axis,
    doc="For each element the product of all others along the first axis; exact where some are 0.",
)


def products_of_others(x: Any, axes: tuple[int, ...]) -> Any:
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
    return (restore(ct, axis, keepdims, ndim_of(x)) * products_of_others(x, axes),)


prod_over = reducer("prod", reduction(sum_dtype), _prod_vjp)


def _prod_where_vjp(ct: Any, y: Any, x: Any, where: Any, axis: Any, keepdims: bool) -> Any:
    chosen = x if where is True else _where(where, x, 1)
    return under(where, _prod_vjp(ct, y, chosen, axis, keepdims)[0]), None


def _prod_from_vjp(
    ct: Any, y: Any, x: Any, initial: Any, where: Any, axis: Any, keepdims: bool
) -> Any:
    to_x, _ = _prod_where_vjp(ct * initial, y, x, where, axis, keepdims)
    return to_x, ct * PRODUCTS_OF_CHOSEN[0](x, where, axis=axis, keepdims=keepdims), None


PRODUCTS_OF_CHOSEN = seeded("prod", _prod_where_vjp, _prod_from_vjp)


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
    if initial is None and where is None:
        return _reduce(prod_over, x, axis, keepdims, dtype)
    return reduce_chosen(PRODUCTS_OF_CHOSEN, x, axis, keepdims, dtype, initial, where)


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
    batch=batching_rules.over_axes,
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
    batch=batching_rules.fronted_along,
    doc="The cotangent of x in y = cumprod(x), exact where elements are 0.",
)
cumprod_along = define(
    "cumprod",
    "x.cumprod(axis=axis)",
    infer=_running,
    vjp=_cumprod_vjp,
    attributes={"axis": ...},
    domain="axis",
    batch=batching_rules.over_axes,
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
        raise ShapeError(f"{record.name}: an array with {ndim_of(x)} axes needs axis=")
    axis = one_axis(0 if axis is None else axis, ndim_of(x))
    y = _run(record, x, axis, dtype)
    if first is None:
        return y
    shape = shape_of(y)
    attributes = {"shape": bare((*shape[:axis], 1, *shape[axis + 1 :])), "dtype": dtype_of(y)}
    begin = apply_in(y, ones_of_shape if first else zeros_of_shape, attributes)
    return concatenate([begin, y], axis)


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


__all__ = [
    "cumprod",
    "cumsum",
    "cumulative_prod",
    "cumulative_sum",
    "prod",
]
