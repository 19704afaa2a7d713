"""Polynomials by their coefficients, the highest power's first: values, sums, products.

Lengths of coefficients decide what is computed: while tracing they are looked at.
"""

from __future__ import annotations

from operator import index as as_int
from typing import Any

import numpy as np

from tracegrad.errors import ArgumentValueError, ShapeError
from tracegrad.ops.arguments import as_array
from tracegrad.ops.elementwise.ufuncs import absolute, astype, copy_in_order
from tracegrad.ops.reductions.products import cumprod_along
from tracegrad.ops.shape.creation import arange_of, beside, ones_of_shape, zeros_like
from tracegrad.ops.shape.indexing import getitem, index_add
from tracegrad.ops.shape.joining import concatenate, joined
from tracegrad.ops.shape.reshaping import (
    atleast_1d,
    broadcast_to_shape,
    expand_axes,
    flip_axes,
    length_of,
)
from tracegrad.ops.signal.convolution_1d import convolve
from tracegrad.values.dispatch import apply_in, dtype_of, ndim_of, shape_of

# -- powers -------------------------------------------------------------------------------------


def vander(x: Any, N: int | None = None, increasing: bool = False) -> Any:
    """The powers of each element as the columns of a matrix, the highest first.

    N
        The number of columns (default: as many as elements, which are counted).
    """
    x = as_array(x)
    if ndim_of(x) != 1:
        raise ShapeError(f"vander: numbers stand in a vector, not in {ndim_of(x)} axes")
    columns = length_of(x, 0) if N is None else as_int(N)
    rows = shape_of(x)[0]
    dtype = np.promote_types(dtype_of(x), int).name
    x = x if dtype_of(x) == dtype else astype(x, dtype=dtype)
    found = apply_in(x, ones_of_shape, {"shape": (rows, min(columns, 1)), "dtype": dtype_of(x)})
    if columns > 1:
        repeated = broadcast_to_shape(expand_axes(x, axis=1), shape=(rows, columns - 1))
        found = joined(found, cumprod_along(repeated, axis=1), axis=1, length=columns)
    return found if increasing else copy_in_order(flip_axes(found, axes=(1,)))


def polyval(p: Any, x: Any) -> Any:
    """The value at `x` of the polynomial with the coefficients `p`, the highest power's first."""
    p, x = as_array(p), as_array(x)
    found = zeros_like(x)
    for i in range(length_of(p, 0)):
        found = found * x + getitem(p, i)
    return found


# -- sums, products, derivatives ----------------------------------------------------------------


def _both(a: Any, b: Any) -> tuple[Any, Any]:
    """The coefficients of two polynomials as vectors."""
    found = tuple(atleast_1d(as_array(beside(x, other))) for x, other in ((a, b), (b, a)))
    for x in found:
        if ndim_of(x) != 1:
            raise ShapeError(f"coefficients stand in a vector, not in {ndim_of(x)} axes")
    return found[0], found[1]


def polyadd(a1: Any, a2: Any) -> Any:
    """The coefficients of the sum of two polynomials."""
    a, b = _both(a1, a2)
    if length_of(a, 0) < length_of(b, 0):
        a, b = b, a
    more = length_of(a, 0) - length_of(b, 0)
    if more == 0:
        return a + b
    return concatenate([getitem(a, slice(None, more)), getitem(a, slice(more, None)) + b])


def polysub(a1: Any, a2: Any) -> Any:
    """The coefficients of the difference of two polynomials."""
    a, b = _both(a1, a2)
    return polyadd(a, -b)


def polymul(a1: Any, a2: Any) -> Any:
    """The coefficients of the product of two polynomials."""
    a, b = _both(a1, a2)
    return convolve(a, b)


def polydiv(u: Any, v: Any) -> tuple[Any, Any]:
    """The coefficients of the quotient of two polynomials, and of the remainder.

    Leading coefficients of the remainder that are 0 (below 1e-8) are left out: they are looked at.
    """
    u, v = _both(u, v)
    rest = u / 1.0 + 0 * getitem(v, 0)  # in the dtype of both
    degree = length_of(v, 0) - 1
    steps = length_of(u, 0) - degree
    quotient = []
    for k in range(steps):
        factor = getitem(rest, slice(k, k + 1)) / getitem(v, 0)
        quotient.append(factor)
        rest = index_add(rest, slice(k, k + degree + 1), -factor * v)
    start, length = 0, length_of(rest, 0)
    while start < length - 1 and absolute(getitem(rest, start)) <= 1e-8:
        start += 1
    found = concatenate(quotient) if quotient else 0 * getitem(rest, slice(0, 1))
    return found, getitem(rest, slice(start, None))


def trim_zeros(filt: Any, trim: str = "fb") -> Any:
    """A vector without the zeros at its front ("f"), its back ("b") or both: a look at values."""
    x = as_array(filt)
    if ndim_of(x) != 1:
        raise ShapeError(f"trim_zeros: takes a vector, not {ndim_of(x)} axes")
    if set(trim.lower()) - {"f", "b"}:
        raise ArgumentValueError(f'trim_zeros: trim={trim!r}: must be of "f" and "b"')
    start, stop = 0, length_of(x, 0)
    while "f" in trim.lower() and start < stop and getitem(x, start) == 0:
        start += 1
    while "b" in trim.lower() and start < stop and getitem(x, stop - 1) == 0:
        stop -= 1
    return getitem(x, slice(start, stop))


def _falling(p: Any, start: int) -> Any:
    """start, start - 1, ... 1, in the algebra of `p`."""
    return apply_in(p, arange_of, {"start": start, "stop": 0, "step": -1, "dtype": None})


def polyder(p: Any, m: int = 1) -> Any:
    """The coefficients of the m-th derivative of a polynomial."""
    p, m = atleast_1d(as_array(p)), as_int(m)
    if m < 0:
        raise ArgumentValueError(f"polyder: the order must not be negative: {m}; see polyint")
    for _ in range(min(m, length_of(p, 0))):
        degree = length_of(p, 0) - 1
        p = getitem(p, slice(None, -1)) * _falling(p, degree)
    return p


def polyint(p: Any, m: int = 1, k: Any = None) -> Any:
    """The coefficients of the m-th integral of a polynomial, with the constants `k` (default 0)."""
    p, m = atleast_1d(as_array(p)), as_int(m)
    if m < 0:
        raise ArgumentValueError(f"polyint: the order must not be negative: {m}; see polyder")
    constants = [0.0] * m if k is None else list(k) if ndim_of(as_array(k)) else [k] * max(m, 1)
    if len(constants) < m:
        raise ArgumentValueError(f"polyint: {len(constants)} constants for {m} integrals")
    for constant in constants[:m]:
        grown = p / _falling(p, length_of(p, 0))
        p = concatenate([grown, atleast_1d(beside(constant, grown))])
    return p


__all__ = [
    "polyadd",
    "polyder",
    "polydiv",
    "polyint",
    "polymul",
    "polysub",
    "polyval",
    "trim_zeros",
    "vander",
]
