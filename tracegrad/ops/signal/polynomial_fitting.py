"""Polynomials that fit points, and from their zeros to coefficients and back.

Coefficients have the highest power's first. How many there are decides what is computed: while
tracing it is looked at.
"""

from __future__ import annotations

from operator import index as as_int
from typing import Any

import numpy as np

from tracegrad.errors import ArgumentError, ArgumentValueError, ShapeError
from tracegrad.ops.arguments import as_array
from tracegrad.ops.elementwise.activations import as_inexact
from tracegrad.ops.elementwise.ufuncs import astype, is_complex, real, sqrt
from tracegrad.ops.linear_algebra.contractions import matmul, outer
from tracegrad.ops.linear_algebra.decompositions import eigvals
from tracegrad.ops.linear_algebra.least_squares import lstsq
from tracegrad.ops.linear_algebra.solving import inv
from tracegrad.ops.reductions.sums_and_extremes import sum as sum_of
from tracegrad.ops.shape.creation import beside, eye, zeros_in
from tracegrad.ops.shape.indexing import getitem
from tracegrad.ops.shape.joining import concatenate
from tracegrad.ops.shape.reshaping import atleast_1d, expand_axes, length_of, matrix_transpose
from tracegrad.ops.signal.convolution_1d import convolve
from tracegrad.ops.signal.polynomials import vander
from tracegrad.values.dispatch import dtype_of, ndim_of

# -- zeros --------------------------------------------------------------------------------------


def roots(p: Any) -> Any:
    """The zeros of the polynomial with the coefficients `p`, the highest power's first: complex.

    They are the eigenvalues of its companion matrix, in the order in which these are found. The
    derivative is that of simple zeros. The first coefficient must not be 0: there is a zero at
    infinity then.

    Examples
    --------
    >>> import tracegrad as tg
    >>> tg.real(tg.roots(tg.tensor([2.0, -6.0, 4.0])))
    tensor([2., 1.])
    """
    p = atleast_1d(as_inexact(as_array(p)))
    if ndim_of(p) != 1:
        raise ShapeError(f"roots: coefficients stand in a vector, not in {ndim_of(p)} axes")
    degree = length_of(p, 0) - 1
    if degree < 1:
        return zeros_in(p, (0,), "complex128")
    if getitem(p, 0) == 0:
        raise ArgumentError(
            "roots: the first coefficient is 0: leave it out, as in tg.roots(p[1:]) or "
            'tg.roots(tg.trim_zeros(p, "f"))'
        ).as_refusal()
    row = expand_axes(-(getitem(p, slice(1, None)) / getitem(p, 0)), axis=0)
    below = astype(as_array(beside(eye(degree - 1, degree), p)), dtype=dtype_of(p))
    return eigvals(concatenate([row, below]) if degree > 1 else row)


def poly(seq_of_zeros: Any) -> Any:
    """The coefficients of the polynomial with these zeros, or with the eigenvalues of a matrix.

    Real zeros, and real matrices, have real coefficients; complex zeros complex ones.
    """
    zeros = atleast_1d(as_array(seq_of_zeros))
    if ndim_of(zeros) > 2:
        raise ShapeError(f"poly: takes a vector of zeros or a matrix, not {ndim_of(zeros)} axes")
    matrix = zeros if ndim_of(zeros) == 2 else None
    if matrix is not None:
        zeros = eigvals(matrix)
    zeros = as_inexact(zeros)
    if dtype_of(zeros) == "float16":
        zeros = astype(zeros, dtype="float64")
    found = zeros_in(zeros, (1,), dtype_of(zeros)) + 1
    for i in range(length_of(zeros, 0)):
        zero = getitem(zeros, slice(i, i + 1))
        found = convolve(found, concatenate([zeros_in(zero, (1,), dtype_of(zero)) + 1, -zero]))
    return real(found) if matrix is not None and not is_complex(matrix) else found


# -- points -------------------------------------------------------------------------------------


def polyfit(
    x: Any,
    y: Any,
    deg: int,
    rcond: float | None = None,
    full: bool = False,
    w: Any = None,
    cov: bool | str = False,
) -> Any:
    """The coefficients of the polynomial of a degree whose squared distances to points are least.

    x, y
        A vector of places, and what is there: a vector, or a matrix with a column for each fit.
    w
        Weights of the distances (not of their squares).
    full
        Gives residuals, rank, singular values and `rcond` as well.
    cov
        Gives the covariance of the coefficients as well, scaled by the residuals unless it is
        ``"unscaled"``.

    Examples
    --------
    >>> import tracegrad as tg
    >>> tg.polyfit(tg.tensor([0.0, 1.0, 2.0]), tg.tensor([1.0, 3.0, 5.0]), 1)
    tensor([2.0000, 1.0000])
    """
    x, y, order = as_inexact(as_array(x)), as_inexact(as_array(beside(y, x))), as_int(deg) + 1
    if order < 1:
        raise ArgumentValueError(f"polyfit: the degree must not be negative: {deg}")
    if ndim_of(x) != 1 or ndim_of(y) not in (1, 2):
        raise ArgumentError(
            "polyfit: takes a vector of places, and a vector or a matrix of what is there, not "
            f"{ndim_of(x)} and {ndim_of(y)} axes"
        )
    powers, target = vander(x, order), y
    if w is not None:
        weights = as_array(beside(w, x))
        powers = powers * expand_axes(weights, axis=1)
        target = y * (weights if ndim_of(y) == 1 else expand_axes(weights, axis=1))
    scale = sqrt(sum_of(powers * powers, 0))
    powers = powers / scale
    cutoff: Any = rcond
    if rcond is None and (full or dtype_of(x) != dtype_of(powers)):
        cutoff = length_of(x, 0) * np.finfo(dtype_of(x)).eps
    found, residuals, rank, singular = lstsq(powers, target, cutoff)
    scaled = found / (scale if ndim_of(y) == 1 else expand_axes(scale, axis=1))
    if full:
        return scaled, residuals, rank, singular, cutoff
    if not cov:
        return scaled
    return scaled, _covariance(powers, scale, residuals, cov != "unscaled", order, ndim_of(y))


def _covariance(
    powers: Any, scale: Any, residuals: Any, scaled: bool, order: int, ndim: int
) -> Any:
    spread = inv(matmul(matrix_transpose(powers), powers)) / outer(scale, scale)
    spread = spread if ndim == 1 else expand_axes(spread, axis=2)
    if not scaled:
        return spread
    free = length_of(powers, 0) - order
    if free <= 0:
        raise ArgumentValueError(
            f"polyfit: the covariance of {order} coefficients takes more points than "
            f'{order + free}; cov="unscaled" needs no residuals'
        )
    return spread * (residuals / free)


__all__ = ["poly", "polyfit", "roots"]
