"""Linear algebra: what ``np.linalg`` computes, as ``tg.linalg``.

The names and arguments of NumPy and of the array API standard's extension, and `solve_triangular`.
``np.linalg.f(tensor)`` finds its counterpart here. Every function takes batches of matrices along
the last two axes.
"""

from __future__ import annotations

from typing import Any

from numpy.linalg import LinAlgError

from tracegrad.errors import ShapeError
from tracegrad.ops.arguments import as_array
from tracegrad.ops.linear_algebra import contractions
from tracegrad.ops.linear_algebra.chained_products import *
from tracegrad.ops.linear_algebra.contractions import vecdot
from tracegrad.ops.linear_algebra.decompositions import *
from tracegrad.ops.linear_algebra.determinants import *
from tracegrad.ops.linear_algebra.least_squares import *
from tracegrad.ops.linear_algebra.matrix_norms import *
from tracegrad.ops.linear_algebra.solving import *
from tracegrad.ops.linear_algebra.vector_norms import vector_norm
from tracegrad.ops.shape.reshaping import matrix_transpose
from tracegrad.runtime.missing_names import missing_names_of
from tracegrad.tensors.public_functions import function_of
from tracegrad.values.dispatch import ndim_of

matmul = function_of(contractions.matmul)

# ruff: noqa: F403, F405


def cross(x1: Any, x2: Any, /, *, axis: int = -1) -> Any:
    """The cross products of vectors of 3 components along `axis`."""
    return contractions.cross(x1, x2, axis=axis)


def diagonal(x: Any, /, *, offset: int = 0) -> Any:
    """A diagonal of the matrices along the last two axes, as the last axis."""
    return contractions.diagonal(x, offset, *_last_two("diagonal", x))


def tensordot(x1: Any, x2: Any, /, *, axes: Any = 2) -> Any:
    """Sums of products over `axes`: a number (last of `x1`, first of `x2`) or a list for each."""
    return contractions.tensordot(x1, x2, axes)


def trace(x: Any, /, *, offset: int = 0, dtype: Any = None) -> Any:
    """The sum of a diagonal of the matrices along the last two axes."""
    return contractions.trace(x, offset, *_last_two("trace", x), dtype=dtype)


def outer(x1: Any, x2: Any, /) -> Any:
    """All products of an element of the vector `x1` with one of `x2`: a matrix."""
    axes = [ndim_of(as_array(x)) for x in (x1, x2)]
    if axes != [1, 1]:
        raise ShapeError(f"outer: takes two vectors, not arrays of {axes[0]} and {axes[1]} axes")
    return contractions.outer(x1, x2)


def _last_two(name: str, x: Any) -> tuple[int, int]:
    ndim = ndim_of(as_array(x))
    if ndim < 2:
        raise ShapeError(f"{name}: a matrix has two axes, this array has {ndim}")
    return ndim - 2, ndim - 1


__getattr__ = missing_names_of(__name__)

__all__ = [
    "LinAlgError",
    "cholesky",
    "cond",
    "cross",
    "det",
    "diagonal",
    "eig",
    "eigh",
    "eigvals",
    "eigvalsh",
    "inv",
    "lstsq",
    "matmul",
    "matrix_norm",
    "matrix_power",
    "matrix_rank",
    "matrix_transpose",
    "multi_dot",
    "norm",
    "outer",
    "pinv",
    "qr",
    "slogdet",
    "solve",
    "solve_triangular",
    "svd",
    "svdvals",
    "tensordot",
    "tensorinv",
    "tensorsolve",
    "trace",
    "vecdot",
    "vector_norm",
]
