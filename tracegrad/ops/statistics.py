"""An array enters, what is said of its distribution leaves: quantiles and covariances.

All are made of sorting, taking and sums, so their derivatives are those of these ops: a quantile's
gradient goes to the two elements between which it lies.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from codegen import sizes as sz
from codegen.sizes import Sizes
from codegen.spelling import Spelling, spell
from codegen.types import ArrayType, is_inexact, promote
from tracegrad.dispatch import dtype_of, is_number, ndim_of, shape_of
from tracegrad.errors import ArgumentError, DTypeError, ShapeError
from tracegrad.ops.activations import as_inexact
from tracegrad.ops.arguments import as_array, refuse_out, synonyms
from tracegrad.ops.creation import dtype_name, extent_like
from tracegrad.ops.elementwise import (
    astype,
    ceil,
    clip,
    conj,
    floor,
    imag,
    is_complex,
    isnan,
    logical_and,
    logical_not,
    maximum,
    minimum,
    real,
    remainder,
    rint,
    sqrt,
    where,
)
from tracegrad.ops.indexing import getitem
from tracegrad.ops.joining import concatenate
from tracegrad.ops.linear import diagonal, matmul
from tracegrad.ops.record import OpRecord, define
from tracegrad.ops.reductions import average, restore
from tracegrad.ops.reductions import sum as sum_of
from tracegrad.ops.rules import axes_of, reduced
from tracegrad.ops.selecting import add_along, take_along
from tracegrad.ops.shape import (
    atleast_2d,
    canonical_axis,
    expand_axes,
    matrix_transpose,
    moveaxis,
    one_or_many,
    ravel,
    reshape_to,
    squeeze,
)
from tracegrad.ops.sorting import argsort_along

# -- the lines that are sorted ------------------------------------------------------------------


def _ordered(x: Any, name: str) -> Any:
    """A floating array, of which elements can be compared."""
    x = as_inexact(as_array(x))
    if is_complex(x):
        raise DTypeError(f"{name}: complex numbers have no order: take .real or tg.abs")
    return x


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
    """What stands at places (of a last axis, broadcast over the others) of an order of lines."""
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
    last = ndim_of(lines) - 1
    order = argsort_along(lines, axis=last)
    n = _numbers(lines, "int64", skip)
    half = _lines(restore(ct * 0.5, axis, keepdims, ndim_of(x)), axis)
    half = expand_axes(half, axis=0) if ndim_of(half) == 0 else half
    parts = (add_along(half, lines, _at(order, p), last) for p in ((n - 1) // 2, n // 2))
    low, high = parts
    return (_from_lines(low + high, x, axis),)


def _median(name: str, skip: bool) -> OpRecord:
    return define(
        name,
        f"np.{name}(x, axis=axis, keepdims=keepdims)",
        infer=_reduced_type,
        vjp=lambda ct, y, x, axis, keepdims: _middle_vjp(ct, x, axis, keepdims, skip),
        attributes={"axis": None, "keepdims": False},
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

SLOPES: dict[str, Callable[[Any], Any]] = {
    "linear": lambda n: n - 1,
    "interpolated_inverted_cdf": lambda n: n,
    "hazen": lambda n: n,
    "weibull": lambda n: n + 1,
    "median_unbiased": lambda n: n + 1 / 3,
    "normal_unbiased": lambda n: n + 0.25,
}
"""How fast that place moves with the part, for the methods with which it moves smoothly."""

IN_JAX = ("linear", "lower", "higher", "midpoint", "nearest")


def _quantile_type(
    sizes: Sizes, x: ArrayType, q: ArrayType, axis: Any, method: str, keepdims: bool
) -> ArrayType:
    dtype = x.dtype if q.weak or not is_inexact(q.dtype) else promote((x, q))[0]
    return ArrayType(dtype, (*q.shape, *reduced(x.shape, axis, keepdims)))


def _quantile_vjp(
    ct: Any, x: Any, q: Any, axis: Any, method: str, keepdims: bool, skip: bool
) -> tuple[Any, Any]:
    """To the two elements around each place, by how near they are; to `q` what lies between."""
    of_q, ndim = ndim_of(q), ndim_of(x)
    lines, parts = _lines(x, axis), ravel(q) if of_q else q
    ct = _for_parts(ct, of_q, axis, keepdims, ndim)
    dtype = dtype_of(ct)
    n = _numbers(lines, dtype, skip)
    free = PLACES[method](n, parts)
    place = maximum(minimum(free, n - 1), 0)
    place = expand_axes(place, axis=0) if ndim_of(place) == 0 else place
    below = floor(place)
    above = maximum(minimum(below + 1, n - 1), 0)
    share = place - below
    last = ndim_of(lines) - 1
    order = argsort_along(lines, axis=last)
    low, high = _at(order, below), _at(order, above)
    to_x = add_along(ct * (1 - share), lines, low, last) + add_along(ct * share, lines, high, last)
    to_q = None
    if method in SLOPES and not is_number(q):
        rise = take_along(lines, high, axis=last) - take_along(lines, low, axis=last)
        moves = where(logical_and(free >= 0, free <= n - 1), SLOPES[method](n), 0.0)
        each = ct * rise * moves
        summed = tuple(range(last))
        each = sum_of(each, summed) if summed else each
        to_q = reshape_to(each, shape=shape_of(q)) if of_q != 1 else each
    return _from_lines(to_x, x, axis), to_q


def _for_parts(ct: Any, of_q: int, axis: Any, keepdims: bool, ndim: int) -> Any:
    """A cotangent of quantiles as lines with one element a part."""
    shape = shape_of(ct)
    ct = reshape_to(ct, shape=(sz.mul(shape[:of_q]), *shape[of_q:])) if of_q != 1 else ct
    if keepdims and ndim:
        dropped = tuple(a + 1 for a in axes_of(axis, ndim))
        ct = squeeze(ct, dropped) if dropped else ct
    return moveaxis(ct, 0, -1)


def _quantile_record(name: str, skip: bool) -> OpRecord:
    text = f"np.{name}(x, q, axis=axis, method=method, keepdims=keepdims)"

    def in_jax(attributes: Mapping[str, Any]) -> Spelling:
        if attributes["method"] not in IN_JAX:
            raise ArgumentError(
                f"{name}: JAX has no method={attributes['method']!r}: it has {', '.join(IN_JAX)}"
            )
        return spell(text)

    return define(
        name,
        text,
        jax=in_jax,
        operands="x q",
        infer=_quantile_type,
        vjp=lambda ct, y, x, q, **how: _quantile_vjp(ct, x, q, **how, skip=skip),
        attributes={"axis": None, "method": "linear", "keepdims": False},
        domain="floats",
    )


quantile_over = _quantile_record("quantile", False)
nanquantile_over = _quantile_record("nanquantile", True)


def _quantile(record: OpRecord, x: Any, q: Any, axis: Any, method: str, keepdims: bool) -> Any:
    if method not in PLACES:
        raise ArgumentError(f"{record.name}: method={method!r}: must be one of {', '.join(PLACES)}")
    x = _ordered(x, record.name)
    q = as_array(q)
    if isinstance(q, int) or "int" in dtype_of(q):
        q = float(q) if isinstance(q, int) else astype(q, dtype="float64")
    axis = canonical_axis(axis, ndim_of(x))
    return record(x, q, axis=axis, method=method, keepdims=bool(keepdims))


def _check_q(q: Any, most: float, name: str) -> None:
    """Raises where plain numbers are out of range; those of Tensors are taken as they are."""
    if is_number(q) or isinstance(q, list | tuple | np.ndarray | np.generic):
        numbers = np.asarray(q)
        if not np.all((numbers >= 0) & (numbers <= most)):
            raise ArgumentError(f"{name}: q must be in [0, {most:g}], not {q}")


def _refuse_weights(name: str, weights: Any) -> None:
    if weights is not None:
        raise ArgumentError(f"{name}: weights= are not taken: sort, and take cumulative weights")


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
    weights: None = None,
) -> Any:
    """What lies at the part `q`, in [0, 1], of the sorted elements over `axis`.

    Several `q` give as many quantiles, on axes of their own in front. Differentiable in `x` and,
    where the method interpolates, in `q`.

    method
        NumPy's methods: ``"linear"``, ``"lower"``, ``"higher"``, ``"nearest"``, ``"midpoint"``,
        ``"hazen"``, ``"weibull"``, ``"median_unbiased"`` and so on.

    Examples
    --------
    >>> import tracegrad as tg
    >>> tg.quantile(tg.tensor([3.0, 1.0, 2.0]), [0.25, 1.0])
    tensor([1.5000, 3.0000])
    """
    refuse_out("quantile", out)
    _refuse_weights("quantile", weights)
    _check_q(q, 1, "quantile")
    return _quantile(quantile_over, x, q, axis, method, keepdims)


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
    weights: None = None,
) -> Any:
    """`quantile` of what is not NaN."""
    refuse_out("nanquantile", out)
    _refuse_weights("nanquantile", weights)
    _check_q(q, 1, "nanquantile")
    return _quantile(nanquantile_over, x, q, axis, method, keepdims)


def _hundredth(x: Any, q: Any) -> Any:
    """Percents as parts, in the dtype in which NumPy divides them."""
    if not is_number(q):
        return as_array(q) / 100
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
    weights: None = None,
) -> Any:
    """`quantile` with `q` in percent."""
    refuse_out("percentile", out)
    _refuse_weights("percentile", weights)
    _check_q(q, 100, "percentile")
    return _quantile(quantile_over, x, _hundredth(x, q), axis, method, keepdims)


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
    weights: None = None,
) -> Any:
    """`percentile` of what is not NaN."""
    refuse_out("nanpercentile", out)
    _refuse_weights("nanpercentile", weights)
    _check_q(q, 100, "nanpercentile")
    return _quantile(nanquantile_over, x, _hundredth(x, q), axis, method, keepdims)


# -- covariance ---------------------------------------------------------------------------------


def _variables(m: Any, y: Any, rowvar: bool, dtype: Any) -> Any:
    """The variables as rows of one matrix."""
    m = as_array(m)
    if ndim_of(m) > 2 or (y is not None and ndim_of(as_array(y)) > 2):
        raise ShapeError("cov: observations are a vector or a matrix, not more")
    rows = [_as_rows(m, rowvar)] if y is None else [_as_rows(v, rowvar) for v in (m, as_array(y))]
    x = as_inexact(rows[0] if y is None else concatenate(rows))
    return x if dtype is None else astype(x, dtype=dtype_name(dtype))


def _as_rows(m: Any, rowvar: bool) -> Any:
    return atleast_2d(m) if rowvar or ndim_of(m) < 2 else matrix_transpose(m)


@synonyms
def cov(
    m: Any,
    y: Any = None,
    rowvar: bool = True,
    bias: bool = False,
    ddof: int | None = None,
    fweights: Any = None,
    aweights: Any = None,
    *,
    dtype: Any = None,
    correction: int | None = None,
) -> Any:
    """The covariances of variables, which are the rows of `m` (the columns without `rowvar`).

    Sums of products of deviations over n - 1, or over n with `bias`, or over n - `ddof` (PyTorch's
    `correction`); `fweights` are numbers of repetitions, `aweights` weights of observations.
    """
    x = _variables(m, y, rowvar, dtype)
    if correction is not None:
        ddof = correction
    ddof = (0 if bias else 1) if ddof is None else ddof
    if fweights is None and aweights is None:
        mean = average(x, 1)
        freedom = extent_like(x, shape_of(x)[1], _real_dtype(x)) - ddof
        weights = None
    else:
        given = [as_array(w) for w in (fweights, aweights) if w is not None]
        weights = given[0] if len(given) == 1 else given[0] * given[1]
        mean, total = average(x, 1, weights, returned=True)
        total = getitem(total, 0)
        if ddof == 0:
            freedom = total
        elif aweights is None:
            freedom = total - ddof
        else:
            freedom = total - ddof * sum_of(weights * as_array(aweights)) / total
    centred = x - expand_axes(mean, axis=1)
    other = matrix_transpose(centred if weights is None else centred * weights)
    found = matmul(centred, conj(other) if is_complex(other) else other) * (1.0 / freedom)
    return squeeze(found)


def _real_dtype(x: Any) -> str:
    return {"complex64": "float32", "complex128": "float64"}.get(dtype_of(x), dtype_of(x))


@synonyms
def corrcoef(x: Any, y: Any = None, rowvar: bool = True, *, dtype: Any = None) -> Any:
    """The correlations of variables, which are the rows of `x`: covariances over deviations."""
    c = cov(x, y, rowvar, dtype=dtype)
    if ndim_of(c) == 0:
        return c / c
    spread = sqrt(real(diagonal(c)) if is_complex(c) else diagonal(c))
    c = c / expand_axes(spread, axis=1) / expand_axes(spread, axis=0)
    if is_complex(c):
        return clip(real(c), -1, 1) + 1j * clip(imag(c), -1, 1)
    return clip(c, -1, 1)


__all__ = [
    "corrcoef",
    "cov",
    "median",
    "nanmedian",
    "nanpercentile",
    "nanquantile",
    "percentile",
    "quantile",
]
