"""Pseudoinverses, least squares and ranks of matrices of any shape.

Reference: Golub and Pereyra 1973, The differentiation of pseudo-inverses and nonlinear least
squares problems whose variables separate. The derivative exists where the rank is constant.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from codegen.sizes import Sizes
from codegen.spelling import Spelling, spell
from codegen.types import ArrayType, shape_text
from tracegrad.errors import ArgumentValueError, ShapeError
from tracegrad.ops import batching_rules
from tracegrad.ops.arguments import as_array
from tracegrad.ops.elementwise.activations import as_inexact
from tracegrad.ops.elementwise.ufuncs import absolute, astype, greater, not_equal, square
from tracegrad.ops.linear_algebra.contractions import matmul
from tracegrad.ops.linear_algebra.decompositions import svdvals_of
from tracegrad.ops.linear_algebra.shared_rules import (
    NoMatrixError,
    adjoint,
    computed_dtype,
    conjugated,
    matrix_axes,
)
from tracegrad.ops.record import OpRecord, define
from tracegrad.ops.reductions.sums_and_extremes import any, max, sum_over
from tracegrad.ops.shape.creation import beside
from tracegrad.ops.shape.reshaping import expand_dims
from tracegrad.values.dispatch import is_number, ndim_of

DEFAULT = 1e-15
AUTO = "auto"
"""What counts as 0 beside the largest singular value; `AUTO` is ``max(m, n) * eps``."""


def _cutoffs(rcond: Any, x: Any, name: str) -> Any:
    """A cutoff for each matrix of `x`, where that is what is given: an array with axes."""
    cutoffs = as_array(rcond)
    if is_number(cutoffs) or ndim_of(cutoffs) == 0:
        return None
    if ndim_of(cutoffs) > ndim_of(x) - 2:
        raise ShapeError(
            f"{name}: an array with {ndim_of(x)} axes takes a cutoff, or one for each matrix, "
            f"not {ndim_of(cutoffs)} axes of them"
        )
    return beside(cutoffs, x)


def _pinv_type(sizes: Sizes, x: ArrayType, rcond: Any) -> ArrayType:
    batch, rows, columns = matrix_axes("pinv", x)
    return ArrayType(computed_dtype("pinv", x), (*batch, columns, rows))


def _pinv_text(attributes: Mapping[str, Any]) -> Spelling:
    if attributes["rcond"] == DEFAULT:
        return spell("np.linalg.pinv(x)")
    return spell(f"np.linalg.pinv(x, {'rtol=None' if attributes['rcond'] == AUTO else 'rcond'})")


def _pinv_jax(attributes: Mapping[str, Any]) -> Spelling:
    if attributes["rcond"] != AUTO:
        return spell("jnp.linalg.pinv(x, rcond)")
    return spell("jnp.linalg.pinv(x, max(x.shape[-2:]) * jnp.finfo(x.dtype).eps)")


def _pinv_vjp(ct: Any, y: Any, x: Any, rcond: Any) -> tuple[Any]:
    """Through ``dY = -Y dX Y + Y Y^H dX^H (1 - X Y) + (1 - Y X) dX^H Y^H Y``."""
    g = conjugated(ct)
    back, g_back = adjoint(y), adjoint(g)
    first = matmul(matmul(back, g), back)
    outside = g_back - matmul(x, matmul(y, g_back))  # (1 - X Y) G^H
    rows = matmul(matmul(outside, y), back)
    beside = g_back - matmul(matmul(g_back, y), x)  # G^H (1 - Y X)
    return (conjugated(rows + matmul(back, matmul(y, beside)) - first),)


pinv_of: OpRecord = define(
    "pinv",
    _pinv_text,
    jax=_pinv_jax,
    infer=_pinv_type,
    raises="always",
    vjp=_pinv_vjp,
    attributes={"rcond": ...},
    domain="matrix",
    batch=batching_rules.leading,
    doc="The pseudoinverse; singular values below rcond times the largest count as 0.",
)


pinv_beyond = define(
    "pinv_beyond",
    "np.linalg.pinv(x, cutoffs)",
    operands="x cutoffs",
    infer=lambda sizes, x, cutoffs: _pinv_type(sizes, x, None),
    raises="always",
    vjp=lambda ct, y, x, cutoffs: (*_pinv_vjp(ct, y, x, None), None),
    domain="matrix",
    batch=batching_rules.fronted,
    doc="`pinv` with a cutoff for each matrix.",
)


def pinv(a: Any, rcond: Any = None, hermitian: bool = False, *, rtol: Any = DEFAULT) -> Any:
    """The pseudoinverses of matrices of any shape and rank.

    Singular values below `rcond` (or `rtol`) times the largest count as 0; ``rtol=None`` stands for
    the larger length times the machine precision, and an array has one for each matrix. The
    gradient is that for a constant rank. `hermitian` says no more of `a` and changes nothing.
    """
    x, given = as_inexact(a), rtol if rcond is None else rcond
    if given is None:
        return pinv_of(x, rcond=AUTO)
    cutoffs = _cutoffs(given, x, "pinv")
    if cutoffs is not None:
        return pinv_beyond(x, cutoffs)
    return pinv_of(x, rcond=float(given))


# -- least squares ------------------------------------------------------------------------------


def _lstsq_type(sizes: Sizes, a: ArrayType, b: ArrayType, rcond: Any) -> ArrayType:
    shown = " and ".join(shape_text(sizes, x.shape) for x in (a, b))
    if a.ndim != 2 or b.ndim not in (1, 2) or not sizes.same(a.shape[0], b.shape[0]):
        raise NoMatrixError(f"lstsq: takes a matrix and as many right-hand sides, not {shown}")
    return ArrayType(computed_dtype("lstsq", a, b), (a.shape[1], *b.shape[1:]))


def _lstsq_vjp(ct: Any, y: Any, a: Any, b: Any, rcond: Any) -> tuple[Any, Any]:
    """Through ``dx = -P dA x + P P^H dA^H r + (1 - P A) dA^H P^H x``, r what is left of b."""
    p = pinv_of(a, rcond=AUTO if rcond is None else rcond)
    g, x = conjugated(ct), y
    if ndim_of(b) == 1:
        g, x, b = (expand_dims(v, -1) for v in (g, x, b))
    back = adjoint(p)
    g_b = matmul(back, g)
    left = b - matmul(a, x)
    g_a = matmul(left, adjoint(matmul(p, g_b))) - matmul(g_b, adjoint(x))
    beside = adjoint(g) - matmul(adjoint(g_b), a)  # g^H (1 - P A)
    g_a = g_a + matmul(matmul(back, x), beside)
    ct_b = conjugated(g_b)
    return conjugated(g_a), ct_b[:, 0] if ndim_of(ct) == 1 else ct_b


lstsq_of = define(
    "lstsq",
    "np.linalg.lstsq(a, b, rcond=rcond)[0]",
    operands="a b",
    infer=_lstsq_type,
    raises="always",
    vjp=_lstsq_vjp,
    attributes={"rcond": None},
    domain="matrix",
    doc="The shortest x with the least norm of a @ x - b.",
)


def lstsq(a: Any, b: Any, rcond: Any = None) -> tuple[Any, Any, Any, Any]:
    """``(x, residuals, rank, s)``: the shortest x with the least norm of ``a @ x - b``.

    The residuals are the sums of squares of ``b - a @ x`` for every column (NumPy's are empty where
    `a` has not full rank or not more rows than columns). The gradient is that for a constant rank.
    """
    a, b = as_array(a), as_array(b)
    rcond = None if rcond is None else float(rcond)
    x = lstsq_of(a, b, rcond=rcond)
    left = absolute(b - matmul(a, x))
    residuals = sum_over(square(left), axis=0, keepdims=ndim_of(b) == 1)
    rank, singular_values = BESIDE
    return x, residuals, astype(rank(a, rtol=rcond), dtype="int32"), singular_values(a)


# -- rank ---------------------------------------------------------------------------------------


def _rank_type(sizes: Sizes, x: ArrayType, rtol: Any) -> ArrayType:
    batch, _, _ = matrix_axes("matrix_rank", x)
    computed_dtype("matrix_rank", x)
    return ArrayType("int64", batch)


rank_of = define(
    "matrix_rank",
    "np.linalg.matrix_rank(x, rtol=rtol)",
    jax="jnp.linalg.matrix_rank(x, rtol=rtol).astype(jnp.int64)",
    infer=_rank_type,
    raises="always",
    attributes={"rtol": None},
    differentiable=False,
    domain="matrix",
    batch=batching_rules.leading,
    doc="How many singular values are larger than rtol times the largest.",
)


BESIDE = tuple(replace(record, raises="") for record in (rank_of, svdvals_of))
"""Of a matrix whose equations were solved, which has raised what there is to raise."""


def matrix_rank(A: Any, tol: Any = None, hermitian: bool = False, *, rtol: Any = None) -> Any:
    """The number of singular values above `tol`, or above `rtol` times the largest.

    By default `rtol` is the larger length times the machine precision. Either may be an array with
    one for each matrix.
    """
    a = as_array(A)
    if tol is not None and rtol is not None:
        raise ArgumentValueError("matrix_rank: both tol= and rtol= are given")
    if ndim_of(a) < 2:
        return astype(any(not_equal(a, 0)), dtype="int64")
    if rtol is None and tol is None:
        return rank_of(a, rtol=None)
    several = _cutoffs(rtol if tol is None else tol, a, "matrix_rank")
    if tol is None and several is None:
        return rank_of(a, rtol=float(rtol))
    s = svdvals_of(a)
    last = ndim_of(s) - 1
    least = tol if several is None else expand_dims(several, -1)
    if tol is None:
        least = least * max(s, last, keepdims=True, initial=0)
    return sum_over(greater(s, least), axis=last, keepdims=False)


__all__ = ["lstsq", "matrix_rank", "pinv"]
