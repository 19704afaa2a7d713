"""Products of many matrices in the best order, and powers of matrices."""

from __future__ import annotations

from itertools import pairwise
from operator import index as as_int
from typing import Any

from codegen.sizes import Sizes
from codegen.types import ArrayType, ShapeError, promote, shape_text
from tracegrad.errors import ArgumentValueError, MatrixError
from tracegrad.ops import batching_rules
from tracegrad.ops.arguments import as_array, refuse_out
from tracegrad.ops.elementwise.ufuncs import alias
from tracegrad.ops.linear_algebra.contractions import matmul
from tracegrad.ops.linear_algebra.shared_rules import NoMatrixError, square_axes
from tracegrad.ops.linear_algebra.solving import inverse_of
from tracegrad.ops.record import OpRecord, define
from tracegrad.ops.shape.creation import eye_of
from tracegrad.ops.shape.memory_order import in_place_of
from tracegrad.ops.shape.reshaping import (
    broadcast_to_shape,
    expand_dims,
    matrix_transpose,
    sizes_of,
    squeeze,
)
from tracegrad.values.dispatch import apply_in, dtype_of, ndim_of, shape_of, type_of


def _chain_type(sizes: Sizes, *arrays: ArrayType) -> ArrayType:
    for a, b in pairwise(arrays):
        if a.ndim != 2 or b.ndim != 2 or not sizes.same(a.shape[1], b.shape[0]):
            shown = " with ".join(shape_text(sizes, x.shape) for x in arrays)
            raise ShapeError(f"multi_dot: cannot multiply {shown}")
    return ArrayType(promote(arrays)[0], (arrays[0].shape[0], arrays[-1].shape[1]))


def _chain_vjp(ct: Any, y: Any, *arrays: Any) -> tuple[Any, ...]:
    """The cotangent between the transposed products of what stands before and behind."""
    back = [matrix_transpose(x) for x in arrays]
    count = len(back)
    return tuple(chain_of(*back[:i][::-1], ct, *back[i + 1 :][::-1]) for i in range(count))


chain_of: OpRecord = define(
    "multi_dot",
    "np.linalg.multi_dot(arrays)",
    operands="*arrays",
    infer=_chain_type,
    vjp=_chain_vjp,
    domain="matrix",
    batch=batching_rules.chain,
    doc="The product of three matrices or more, in the order that costs least.",
)


def multi_dot(arrays: Any, *, out: None = None) -> Any:
    """The product of matrices in the order that costs least; the first and last may be vectors."""
    refuse_out("multi_dot", out)
    factors = [as_array(x) for x in arrays]
    if len(factors) < 2:
        raise ArgumentValueError(f"multi_dot: takes two arrays or more, not {len(factors)}")
    if len(factors) == 2:
        return matmul(*factors)
    row, column = ndim_of(factors[0]) == 1, ndim_of(factors[-1]) == 1
    if row:
        factors[0] = expand_dims(factors[0], 0)
    if column:
        factors[-1] = expand_dims(factors[-1], 1)
    product = chain_of(*factors)
    ends = tuple(axis for axis, dropped in ((0, row), (1, column)) if dropped)
    return squeeze(product, ends) if ends else product


def matrix_power(a: Any, n: int) -> Any:
    """The square matrices multiplied `n` times; the inverses where `n` is negative.

    By repeated squaring, in the order of ``np.linalg.matrix_power``.
    """
    a, n = as_array(a), as_int(n)
    try:
        square_axes("matrix_power", sizes_of([a]), type_of(a))
    except NoMatrixError as error:
        raise MatrixError(str(error)) from None
    if n == 0:
        order, dtype = shape_of(a)[-1], dtype_of(a)
        one = apply_in(a, eye_of, {"rows": order, "columns": order, "k": 0, "dtype": dtype})
        return in_place_of(broadcast_to_shape(one, shape=shape_of(a)), a)
    if n < 0:
        a, n = inverse_of(a), -n
    if n == 3:
        return matmul(matmul(a, a), a)
    result = None
    while n:
        if n % 2:
            result = a if result is None else matmul(result, a)
        n //= 2
        if n:
            a = matmul(a, a)
    return alias(result)


__all__ = ["matrix_power", "multi_dot"]
