"""Norms of matrices that need singular values, and condition numbers."""

from __future__ import annotations

from typing import Any

from tracegrad.errors import ArgumentValueError
from tracegrad.ops.arguments import synonyms
from tracegrad.ops.elementwise.activations import as_inexact
from tracegrad.ops.elementwise.ufuncs import absolute, where
from tracegrad.ops.linear_algebra.decompositions import svdvals_of
from tracegrad.ops.linear_algebra.solving import inverse_of
from tracegrad.ops.linear_algebra.vector_norms import vector_norm
from tracegrad.ops.reductions.sums_and_extremes import INFINITY, max, min, sum
from tracegrad.ops.shape.reshaping import expand_dims, moveaxis, one_axis, squeeze_axes
from tracegrad.values.dispatch import ndim_of

OF_MATRICES = (None, "fro", "nuc", 1, -1, 2, -2, INFINITY, -INFINITY)


def _matrix_norm(x: Any, ord: Any, axes: tuple[int, int], keepdims: bool) -> Any:
    """The norm of the matrices along two axes (rows, columns)."""
    if ord not in OF_MATRICES:
        shown = ", ".join(map(repr, OF_MATRICES))
        raise ArgumentValueError(f"norm: ord={ord!r} of a matrix is none of {shown}")
    if ord in (None, "fro"):
        return vector_norm(x, axes, keepdims)
    if ord in (1, -1, INFINITY, -INFINITY):
        along, over = axes if ord in (1, -1) else axes[::-1]
        sums = sum(absolute(x), along, keepdims=True)
        largest = (max if ord > 0 else min)(sums, over, keepdims=True)
        return largest if keepdims else squeeze_axes(largest, axis=tuple(sorted(axes)))
    s = svdvals_of(moveaxis(x, axes, (-2, -1)))
    norms = sum(s, -1) if ord == "nuc" else max(s, -1) if ord == 2 else min(s, -1)
    return expand_dims(norms, tuple(sorted(axes))) if keepdims else norms


@synonyms
def norm(x: Any, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Any:
    """A norm as ``np.linalg.norm``: of vectors along one axis, of matrices along two.

    ord
        Of vectors: any number, `inf`, `-inf`, 0 (how many elements are not 0). Of matrices: "fro",
        "nuc" (the sum of singular values), 2 and -2 (the largest, the smallest one), 1, -1, `inf`,
        `-inf`. Without it the root of the sum of squares.
    """
    x = as_inexact(x)
    ndim = ndim_of(x)
    if axis is None and (ord is None or ndim == 1):
        return vector_norm(x, None, keepdims, 2 if ord is None else ord)
    axes = tuple(range(ndim)) if axis is None else axis if isinstance(axis, tuple) else (axis,)
    axes = tuple(one_axis(a, ndim) for a in axes)
    if len(axes) == 1:
        return vector_norm(x, axes[0], keepdims, 2 if ord is None else ord)
    if len(axes) != 2 or axes[0] == axes[1]:
        raise ArgumentValueError(f"norm: a vector has one axis and a matrix two, not {axes}")
    return _matrix_norm(x, ord, (axes[0], axes[1]), keepdims)


@synonyms
def matrix_norm(x: Any, /, *, keepdims: bool = False, ord: Any = "fro") -> Any:
    """The norms of the matrices along the last two axes; see `norm`."""
    x = as_inexact(x)
    ndim = ndim_of(x)
    one_axis(-2, ndim)
    return _matrix_norm(x, ord, (ndim - 2, ndim - 1), keepdims)


def cond(x: Any, p: Any = None) -> Any:
    """The condition numbers of matrices: the `p`-norm times that of the inverse.

    For `p` None or 2 the largest singular value over the smallest, -2 the other way round; infinite
    for singular matrices.
    """
    x = as_inexact(x)
    if p not in (None, 2, -2):
        return matrix_norm(x, ord=p) * matrix_norm(inverse_of(x), ord=p)
    s = svdvals_of(x)
    above, below = (s[..., 0], s[..., -1]) if p != -2 else (s[..., -1], s[..., 0])
    singular = below == 0
    return where(singular, INFINITY, above / where(singular, 1.0, below))


__all__ = ["cond", "matrix_norm", "norm"]
