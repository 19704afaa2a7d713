"""Covariance and correlation of variables."""

from __future__ import annotations

from typing import Any

import numpy as np

from tracegrad.errors import ArgumentValueError, ShapeError
from tracegrad.ops.arguments import as_array, synonyms
from tracegrad.ops.elementwise.activations import as_inexact
from tracegrad.ops.elementwise.ufuncs import (
    astype,
    clip,
    conj,
    imag,
    is_complex,
    maximum,
    real,
    sqrt,
)
from tracegrad.ops.linear_algebra.contractions import diagonal, matmul
from tracegrad.ops.reductions.averages import average
from tracegrad.ops.reductions.sums_and_extremes import sum as sum_of
from tracegrad.ops.shape.creation import dtype_name, extent_like
from tracegrad.ops.shape.indexing import getitem
from tracegrad.ops.shape.joining import concatenate
from tracegrad.ops.shape.reshaping import atleast_2d, expand_axes, matrix_transpose, squeeze
from tracegrad.values.dispatch import dtype_of, ndim_of, shape_of

# -- covariance ---------------------------------------------------------------------------------


def _variables(m: Any, y: Any, rowvar: bool, dtype: Any) -> Any:
    """The variables as rows of one matrix."""
    m = as_array(m)
    if ndim_of(m) > 2 or (y is not None and ndim_of(as_array(y)) > 2):
        raise ShapeError("cov: observations are a vector or a matrix, not more")
    rows = [_as_rows(m, rowvar)] if y is None else [_as_rows(v, rowvar) for v in (m, as_array(y))]
    x = as_inexact(rows[0] if y is None else concatenate(rows))
    wanted = np.result_type(dtype_of(x), np.float64) if dtype is None else dtype
    return x if dtype_of(x) == dtype_name(wanted) else astype(x, dtype=dtype_name(wanted))


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
    if ddof != int(ddof):
        raise ArgumentValueError(f"cov: ddof={ddof} must be a whole number")
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
    found = matmul(centred, conj(other) if is_complex(other) else other) * (
        1.0 / maximum(freedom, 0.0)
    )
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
]
