"""The ops of fast math: sums of products as BLAS and NumPy compute them.

Not in the table of ops: programs alone have them, behind derivatives.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from codegen.ir import Trait
from codegen.sizes import Sizes
from codegen.spelling import spell
from codegen.types import ArrayType, weak
from tracegrad.ops.linear_algebra import contractions
from tracegrad.ops.program_functions import needs
from tracegrad.ops.record import OpRecord
from tracegrad.ops.reductions.sums_and_extremes import sum_along

# Read as source for programs, where `np` is known.


def inner_product(a, b):
    """(a * b).sum(), without the products where both lie in memory as they are read."""
    if a.flags.c_contiguous and b.flags.c_contiguous:
        return np.vdot(a, b)
    return (a * b).sum()


def dot_in_parts(a, b):
    """(a * b).sum(), of parts that are added pairwise: BLAS alone would lose digits of float32."""
    if a.ndim > 1:
        if not (a.flags.c_contiguous and b.flags.c_contiguous):
            return (a * b).sum()
        a, b = a.reshape(-1), b.reshape(-1)
    if a.size < 16384:
        return a.dot(b)
    even = a.size // 4096 * 4096
    parts = np.vecdot(a[:even].reshape(-1, 4096), b[:even].reshape(-1, 4096))
    return parts.sum() + a[even:].dot(b[even:])


def row_products(a, b):
    """np.vecdot(a, b); of many short rows the products are summed, which is sooner there."""
    if a.shape[-1] >= 24 or a.size < 1024:
        return np.vecdot(a, b)
    return sum_along(a * b, axis=a.ndim - 1)


def sum_rows(x):
    """x.sum(axis=0), as a product with ones: NumPy adds short rows one after the other."""
    if len(x) < 128 or x.size < 1024 or not x.flags.c_contiguous:
        return x.sum(axis=0)
    return (np.ones(len(x), x.dtype) @ x.reshape(len(x), -1)).reshape(x.shape[1:])


def sum_around(x, axis):
    """x.sum(axis) over all axes before some and behind them, as products with ones."""
    kept = [i for i in range(x.ndim) if i not in axis]
    if x.size < 4096 or not x.flags.c_contiguous:
        return x.sum(axis=axis)
    start, stop = kept[0], kept[-1] + 1
    rows, row = int(np.prod(x.shape[:start])), int(np.prod(x.shape[stop:]))
    y = x.reshape(-1, row) @ np.ones(row, x.dtype) if stop < x.ndim else x
    return (np.ones(rows, x.dtype) @ y.reshape(rows, -1)).reshape(x.shape[start:stop])


SHORT = 16
"""Rows of fewer elements are short."""


def columns_first(x):
    """x, with its columns one after the other in memory where they are long and rows short."""
    return np.asfortranarray(x) if x.shape[1] < 16 < len(x) else x


def product_of_columns(a, b):
    """a @ b, its columns apart where those of a are and its rows are short."""
    apart = a.strides[-1] > a.strides[-2] and b.shape[-1] < 16
    return (b.mT @ a.mT).mT if apart else a @ b


def _same(sizes: Sizes, x: ArrayType) -> ArrayType:
    return x


def _integer(sizes: Sizes, n: ArrayType) -> ArrayType:
    return weak("int")


def _over_all(sizes: Sizes, a: ArrayType, b: ArrayType) -> ArrayType:
    return ArrayType(a.dtype)


def _over_last(sizes: Sizes, a: ArrayType, b: ArrayType) -> ArrayType:
    return ArrayType(a.dtype, a.shape[:-1])


def _over_first(sizes: Sizes, x: ArrayType) -> ArrayType:
    return ArrayType(x.dtype, x.shape[1:])


def _over_others(sizes: Sizes, x: ArrayType, axis: tuple[int, ...]) -> ArrayType:
    return ArrayType(x.dtype, tuple(d for i, d in enumerate(x.shape) if i not in axis))


def _record(
    name: str,
    text: str,
    operands: str,
    infer: Callable[..., ArrayType | tuple[ArrayType, ...]],
    doc: str,
    functions: tuple[Any, ...] = (),
    traits: tuple[Trait, ...] = (),
    attributes: tuple[str, ...] = (),
) -> OpRecord:
    return OpRecord(
        name=name,
        operands=tuple(operands.split()),
        infer=infer,
        spelling={"numpy": spell(text)},
        attributes=dict.fromkeys(attributes, ...),
        traits=frozenset(traits),
        differentiable=False,
        needs=needs(functions) if functions else {},
        doc=doc,
    )


vector_dot = _record(
    "vector_dot",
    "a.dot(b)",
    "a b",
    _over_all,
    "The sum of products of two vectors.",
    traits=(Trait.DOT,),
)
array_dot = _record(
    "array_dot",
    "inner_product(a, b)",
    "a b",
    _over_all,
    "The sum of products of two arrays of one shape.",
    (inner_product,),
    traits=(Trait.DOT,),
)
ordered_dot = _record(
    "ordered_dot",
    "np.vdot(a, b)",
    "a b",
    _over_all,
    "The same, of arrays that are known to be in C order.",
    traits=(Trait.DOT,),
)
dot_of_parts = _record(
    "dot_of_parts",
    "dot_in_parts(a, b)",
    "a b",
    _over_all,
    "The sum of products of two arrays of one shape in float32.",
    (dot_in_parts,),
    traits=(Trait.DOT,),
)
rows_dot = _record(
    "rows_dot",
    "row_products(a, b)",
    "a b",
    _over_last,
    "The sums of products of two arrays of one shape over the last axis, however long it is.",
    (row_products, sum_along),
)
rows_sum = _record(
    "rows_sum",
    "sum_rows(x)",
    "x",
    _over_first,
    "The sum over the first axis.",
    (sum_rows,),
)
sum_of_others = _record(
    "sum_of_others",
    "sum_around(x, axis=axis)",
    "x",
    _over_others,
    "The sum over the axes before some and behind them.",
    (sum_around,),
    attributes=("axis",),
)
columns_apart = _record(
    "columns_apart",
    "columns_first(x)",
    "x",
    _same,
    "A matrix, its columns one after the other in memory where rows are short.",
    (columns_first,),
    traits=(Trait.VIEW,),
)
columns_product = _record(
    "columns_product",
    "product_of_columns(a, b)",
    "a b",
    contractions.matmul.infer,
    "A product of matrices; its columns are apart where those of the first are.",
    (product_of_columns,),
)
at_least_one = _record(
    "at_least_one",
    "max(n, 1)",
    "n",
    _integer,
    "A number of elements, 1 if there are none.",
    traits=(Trait.ELEMENTWISE,),
)
