"""Arrays enter, their contractions leave: products of vectors, matrices and tensors.

Besides `matmul`, `tensordot` and `einsum` stand here what they need for their derivatives and what
belongs to matrices: diagonals, triangles, outer and cross products.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np

from codegen import sizes as sz
from codegen.ir import Trait
from codegen.sizes import Dim, Sizes
from codegen.spelling import Subscript
from codegen.types import ArrayType, ShapeError, broadcast, promote, shape_text
from tracegrad.dispatch import apply_in, dtype_of, ndim_of, shape_of
from tracegrad.ops.arguments import as_array, dtype_name, refuse_out, synonyms
from tracegrad.ops.elementwise import astype, conj, is_complex, multiply, where
from tracegrad.ops.indexing import scatter_into
from tracegrad.ops.record import OpRecord, define
from tracegrad.ops.reductions import identity_mask, sum_over
from tracegrad.ops.rules import contraction, sum_dtype
from tracegrad.ops.shape import (
    broadcast_to_shape,
    expand_axes,
    expand_dims,
    matrix_transpose,
    moveaxis,
    one_axis,
    permute_dims,
    ravel,
    reshape_to,
    squeeze,
)

# -- products of vectors and matrices -----------------------------------------------------------


def _matmul_vjp(ct: Any, y: Any, a: Any, b: Any) -> tuple[Any, Any]:
    """Vectors count as matrices of one row or column; the walker sums over batch axes."""
    na, nb = ndim_of(a), ndim_of(b)
    if na == 1 and nb == 1:
        return ct * b, ct * a
    if na == 1:
        outer = multiply(expand_dims(a, 1), expand_dims(ct, -2))
        if nb == 2:
            return matmul(b, ct), outer
        return squeeze(matmul(b, expand_dims(ct, -1)), -1), outer
    if nb == 1:
        outer = multiply(expand_dims(ct, -1), b)
        if na == 2:
            return outer, matmul(matrix_transpose(a), ct)
        return outer, squeeze(matmul(matrix_transpose(a), expand_dims(ct, -1)), -1)
    return matmul(ct, matrix_transpose(b)), matmul(matrix_transpose(a), ct)


matmul = define(
    "matmul",
    "a @ b",
    operands="a b",
    infer=contraction,
    vjp=_matmul_vjp,
    traits=(Trait.C_ORDER,),
    domain="matmul",
    doc="The matrix product over the last two axes, batches broadcast.",
)
