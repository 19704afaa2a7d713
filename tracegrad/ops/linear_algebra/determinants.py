"""Determinants of square matrices.

The gradient of a determinant is the matrix of cofactors. It is computed from singular values,
because it is finite, and often not 0, where the determinant is 0 and no inverse exists.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from codegen.ir import Trait
from codegen.sizes import Sizes
from codegen.types import ArrayType
from tracegrad.ops import batching_rules
from tracegrad.ops.arguments import as_array
from tracegrad.ops.elementwise.ufuncs import imag, is_complex, where
from tracegrad.ops.linear_algebra.contractions import diagonal_of, matmul
from tracegrad.ops.linear_algebra.decompositions import svd_of
from tracegrad.ops.linear_algebra.shared_rules import (
    adjoint,
    columns_times,
    computed_dtype,
    conjugated,
    identity_mask,
    on_diagonal,
    real_dtype,
    square_axes,
)
from tracegrad.ops.linear_algebra.solving import inverse_of
from tracegrad.ops.record import OpRecord, define
from tracegrad.ops.reductions.products import products_of_others
from tracegrad.ops.shape.reshaping import expand_dims, matrix_transpose
from tracegrad.ops.special_cotangents import ZERO
from tracegrad.ops.type_rules import same
from tracegrad.values.dispatch import ndim_of

SlogdetResult: Any = type(np.linalg.slogdet(np.eye(1)))


def _over_matrices(ct: Any) -> Any:
    """A cotangent of numbers, one a matrix, with axes for the matrices."""
    return expand_dims(ct, (-2, -1)) if ndim_of(ct) else ct


def _cofactors(x: Any) -> Any:
    """``det(x) * inv(x).T``, also where there is no inverse."""
    u, s, vh = svd_of(x, full_matrices=False)
    others = products_of_others(s, (ndim_of(s) - 1,))
    sign = _over_matrices(determinant(u) * determinant(vh))
    return cofactors_of(sign * conjugated(matmul(columns_times(u, others), vh)), x)


def _cofactors_vjp(ct: Any, y: Any, value: Any, x: Any) -> tuple[None, Any]:
    """Of cofactors of ``U (S + M) V^H`` in M: the products of all singular values but two."""
    u, s, vh = svd_of(x, full_matrices=False)
    sign = _over_matrices(determinant(u) * determinant(vh))
    inner = sign * matmul(matmul(adjoint(u), ct), adjoint(vh))
    mask = identity_mask(inner)
    without = where(mask, 1.0, expand_dims(s, -2))
    pairs = products_of_others(without, (ndim_of(without) - 1,))
    last = ndim_of(inner)
    lines = diagonal_of(inner, offset=0, axis1=last - 2, axis2=last - 1)
    along = matmul(where(mask, 0.0, pairs), expand_dims(lines, -1))
    turned = on_diagonal(along[..., 0], -(matrix_transpose(inner) * pairs))
    return None, matmul(matmul(conjugated(u), turned), conjugated(vh))


cofactors_of: OpRecord = define(
    "cofactors",
    "value",
    operands="value x",
    infer=lambda sizes, value, x: same(sizes, value),
    vjp=_cofactors_vjp,
    traits=(Trait.VIEW,),  # to a program it is nothing: see `tracegrad.optimizer.rewrites`
    domain="square",
    batch=batching_rules.fronted,
    doc="`value`, which is the matrix of cofactors of x, with its derivative in x.",
)


def _determinant_type(sizes: Sizes, x: ArrayType) -> ArrayType:
    batch, _ = square_axes("det", sizes, x)
    return ArrayType(computed_dtype("det", x), batch)


determinant: OpRecord = define(
    "det",
    "np.linalg.det(x)",
    infer=_determinant_type,
    vjp=lambda ct, y, x: (_over_matrices(ct) * _cofactors(x),),
    domain="square",
    batch=batching_rules.leading,
)


def _slogdet_type(sizes: Sizes, x: ArrayType) -> tuple[ArrayType, ArrayType]:
    batch, _ = square_axes("slogdet", sizes, x)
    dtype = computed_dtype("slogdet", x)
    return ArrayType(dtype, batch), ArrayType(real_dtype(dtype), batch)


def _slogdet_vjp(cts: Any, ys: Any, x: Any) -> tuple[Any]:
    """The transposed inverse; the sign of a real matrix is constant, of a complex one it turns."""
    (ct_sign, ct_log), (sign, _) = cts, ys
    if ct_sign is not None and is_complex(x):
        turned = 1j * imag(ct_sign * sign)
        ct_log = turned if ct_log is None else ct_log + turned
    if ct_log is None:
        return (ZERO,)
    return (_over_matrices(ct_log) * matrix_transpose(inverse_of(x)),)


log_determinant = define(
    "slogdet",
    "np.linalg.slogdet(x)",
    infer=_slogdet_type,
    vjp=_slogdet_vjp,
    results="sign logdet",
    partial=True,
    domain="square",
    batch=batching_rules.leading,
    doc="The sign of a determinant and the logarithm of its absolute value.",
)


def det(a: Any) -> Any:
    """The determinants of square matrices; the gradient is finite for singular ones, too.

    >>> import numpy as np
    >>> import tracegrad as tg
    >>> tg.grad(np.linalg.det)(np.array([[1.0, 2.0], [2.0, 4.0]])).round(12)
    array([[ 4., -2.],
           [-2.,  1.]])
    """
    return determinant(as_array(a))


def slogdet(a: Any) -> Any:
    """``(sign, logabsdet)``: the determinant is ``sign * exp(logabsdet)``."""
    return SlogdetResult(*log_determinant(as_array(a)))


__all__ = ["det", "slogdet"]
