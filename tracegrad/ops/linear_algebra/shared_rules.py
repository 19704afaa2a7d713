"""What the derivative rules of linear algebra share.

Cotangents here and everywhere pair without conjugation: a change dx of x changes the result by
``real(sum(ct * dx))``. Rules of functions that are not holomorphic (Cholesky, eigenvectors, ...)
are derived for gradients, which are the conjugates of cotangents: see `conjugated`.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from codegen.sizes import Dim, Sizes
from codegen.types import ArrayType, ShapeError, promote, shape_text
from tracegrad.errors import DTypeError
from tracegrad.ops.elementwise.ufuncs import (
    absolute,
    conj,
    is_complex,
    isfinite,
    isnan,
    logical_and,
    logical_not,
    logical_or,
    where,
)
from tracegrad.ops.linear_algebra.vector_norms import norm_over
from tracegrad.ops.reductions.products import diagonal_mask
from tracegrad.ops.reductions.sums_and_extremes import all as all_of
from tracegrad.ops.reductions.sums_and_extremes import any as any_of
from tracegrad.ops.reductions.sums_and_extremes import max
from tracegrad.ops.shape.reshaping import expand_dims, matrix_transpose
from tracegrad.ops.type_rules import mean_dtype
from tracegrad.values.dispatch import dtype_of, ndim_of, shape_of

# -- what NumPy raises for ----------------------------------------------------------------------


def is_known(y: Any, *_: Any, **__: Any) -> tuple[Any]:
    """Of a factor in JAX: there is one, where no number of it is NaN."""
    return (logical_not(any_of(isnan(y))),)


def is_finite(y: Any, *_: Any, **__: Any) -> tuple[Any]:
    """Of a solution in JAX: the matrix is not singular, where all numbers are finite."""
    return (all_of(isfinite(y)),)


def is_of_finite(y: Any, x: Any, *_: Any, **__: Any) -> tuple[Any]:
    """Of eigenvalues and singular values: LAPACK finds them of matrices of finite numbers."""
    return (all_of(isfinite(x)),)


# -- types --------------------------------------------------------------------------------------


class NoMatrixError(ShapeError, np.linalg.LinAlgError):
    """Where linear algebra needs a matrix, or a square one: NumPy's ``LinAlgError``."""


def computed_dtype(name: str, *types: ArrayType) -> str:
    """The dtype in which LAPACK computes: integers become float64; float16 is refused."""
    if any(x.dtype == "float16" for x in types):
        raise DTypeError(f"{name}: float16 is too short for linear algebra: use float32")
    dtype, _ = promote([replace(x, dtype=mean_dtype(x.dtype)) for x in types])
    return dtype


def real_dtype(dtype: str) -> str:
    """The dtype of the parts of a complex number."""
    return {"complex64": "float32", "complex128": "float64"}.get(dtype, dtype)


def complex_dtype(dtype: str) -> str:
    """The complex dtype with parts of this dtype."""
    return {"float32": "complex64", "float64": "complex128"}.get(dtype, dtype)


def matrix_axes(name: str, x: ArrayType) -> tuple[tuple[Dim, ...], Dim, Dim]:
    """The batch axes, the number of rows and that of columns."""
    if x.ndim < 2:
        raise NoMatrixError(f"{name}: a matrix has two axes or more, not {x.ndim}")
    return x.shape[:-2], x.shape[-2], x.shape[-1]


def square_axes(name: str, sizes: Sizes, x: ArrayType) -> tuple[tuple[Dim, ...], Dim]:
    """The batch axes and the order of a square matrix; raises for one that is not square."""
    batch, rows, columns = matrix_axes(name, x)
    if not sizes.same(rows, columns):
        raise NoMatrixError(f"{name}: the matrix is not square: {shape_text(sizes, x.shape)}")
    return batch, rows


def smaller(sizes: Sizes, rows: Dim, columns: Dim) -> Dim:
    """The smaller of two lengths; where they differ, they are constants from here on."""
    if sizes.same(rows, columns):
        return rows
    return min(sizes.fix(sizes.resolve(rows)), sizes.fix(sizes.resolve(columns)))


# -- values -------------------------------------------------------------------------------------


def conjugated(x: Any) -> Any:
    """The conjugate, which of real numbers is the number itself; between cotangent and gradient."""
    return conj(x) if is_complex(x) else x


def adjoint(x: Any) -> Any:
    """The conjugate transpose."""
    return matrix_transpose(conjugated(x))


def columns_times(x: Any, factors: Any) -> Any:
    """``x @ diag(factors)``."""
    return x * expand_dims(factors, -2)


def identity_mask(x: Any) -> Any:
    """True on the diagonal of a square matrix like `x`."""
    rows, columns = shape_of(x)[-2:]
    return diagonal_mask(x, rows, columns)


def on_diagonal(values: Any, elsewhere: Any) -> Any:
    """A square matrix with a vector on its diagonal."""
    return where(identity_mask(elsewhere), expand_dims(values, -2), elsewhere)


def hermitian_from(triangle: Any, strict: Any) -> Any:
    """The Hermitian matrix that has this triangle; `strict` is it without its diagonal."""
    whole = triangle + adjoint(strict)
    return 0.5 * (whole + adjoint(whole)) if is_complex(whole) else whole


def over_gaps(
    part: Any, gap: Any, spectrum: Any, scale: Any, free: Any = None, ct: Any = None
) -> Any:
    """``part / gap`` for gaps between eigenvalues (or singular values), some of which may be 0.

    A gap that is nothing but rounding stands for 0. There `part` says how the function would change
    if other vectors were taken in the common space: where that is 0 (within rounding), as for every
    function that is well defined, the quotient is 0; else there is no derivative, and it is
    infinite. `spectrum` are the values, `scale` is what `part` is rounded against, and `free` marks
    places that are 0 in any case.

    With `ct`, the cotangent of the values, it is infinite also where the function depends on both
    the values and the vectors of a common space, as ``v * f(w) @ v.T`` does: the derivative there
    has a share of ``f'`` that no cotangent tells.
    """
    eps = float(np.finfo(dtype_of(gap)).eps)
    alone = ndim_of(gap) == 2  # one matrix: numbers instead of arrays of one number each
    largest = max(absolute(spectrum), None if alone else -1, keepdims=not alone, initial=0.0)
    largest = largest if alone else expand_dims(largest, -1)
    axes = None if alone else (ndim_of(scale) - 2, ndim_of(scale) - 1)
    small = eps**0.5 * norm_over(scale, axis=axes, keepdims=not alone)
    near = absolute(gap) <= 64 * eps * largest
    settled = absolute(part) <= small
    if ct is not None:
        used = logical_or(expand_dims(ct, -2) != 0, expand_dims(ct, -1) != 0)
        shared = absolute(scale + adjoint(scale)) > small
        settled = logical_and(settled, logical_not(logical_and(used, shared)))
        free = identity_mask(gap)
    if free is not None:
        settled = logical_or(settled, free)
    return part / where(logical_and(near, settled), float("inf"), where(near, 0.0, gap))
