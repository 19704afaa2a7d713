"""Arrays enter, their contractions leave: products of vectors, matrices and tensors."""

from __future__ import annotations

from typing import Any

from codegen.ir import Trait
from tracegrad.dispatch import ndim_of
from tracegrad.ops.elementwise import multiply
from tracegrad.ops.record import define
from tracegrad.ops.rules import contraction
from tracegrad.ops.shape import expand_dims, matrix_transpose, squeeze


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
)


__all__ = [
    "matmul",
]
