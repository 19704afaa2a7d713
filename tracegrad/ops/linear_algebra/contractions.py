"""Products of vectors, matrices and tensors.

Besides `matmul`, `tensordot` and `einsum` stand here what they need for their derivatives and what
belongs to matrices: diagonals, triangles, outer and cross products.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from string import ascii_uppercase
from typing import Any

import numpy as np

from codegen import sizes as sz
from codegen.ir import Trait
from codegen.sizes import Dim, Size, Sizes
from codegen.spelling import Spelling, Subscript, spell
from codegen.types import ArrayType, broadcast, promote, shape_text
from codegen.types import ShapeError as MismatchError
from tracegrad.errors import ShapeError
from tracegrad.ops import batching_rules
from tracegrad.ops.arguments import as_array, refuse_out, synonyms
from tracegrad.ops.elementwise.ufuncs import (
    astype,
    conj,
    copy,
    is_complex,
    multiply,
    strengthen,
    where,
)
from tracegrad.ops.record import OpRecord, define
from tracegrad.ops.reductions.products import diagonal_mask
from tracegrad.ops.reductions.sums_and_extremes import sum_over
from tracegrad.ops.shape.creation import dtype_name
from tracegrad.ops.shape.indexing import scatter_into
from tracegrad.ops.shape.memory_order import row_after_row
from tracegrad.ops.shape.reshaping import (
    broadcast_to_shape,
    expand_dims,
    matrix_transpose,
    moveaxis,
    one_axis,
    permute_dims,
    ravel,
    reshape_to,
    sizes_of,
    squeeze,
)
from tracegrad.ops.type_rules import contraction, sum_dtype
from tracegrad.values.dispatch import dtype_of, is_weak, ndim_of, shape_of

# -- products of vectors and matrices -----------------------------------------------------------


def _matmul_vjp(ct: Any, y: Any, a: Any, b: Any) -> tuple[Any, Any]:
    """Vectors count as matrices of one row or column; the walker sums over batch axes.

    An operand without batch axes gets its sum over the other's from one product of all rows.
    """
    na, nb = ndim_of(a), ndim_of(b)
    if na == 1 and nb == 1:
        return ct * b, ct * a
    if na == 1:
        outer = multiply(expand_dims(a, 1), expand_dims(ct, -2))
        return (matmul(b, ct) if nb == 2 else _summed_over_batches(b, ct)), outer
    if nb == 1:
        outer = multiply(expand_dims(ct, -1), b)
        return outer, matmul(matrix_transpose(_as_rows(a)), ravel(ct))
    if nb == 2 and na > 2:
        rows = _as_rows(ct)
        to_a = reshape_to(matmul(rows, matrix_transpose(b)), shape=shape_of(a))
        return to_a, matmul(matrix_transpose(_as_rows(a)), rows)
    if na == 2 and nb > 2:
        return _summed_over_batches(ct, b), matmul(matrix_transpose(a), ct)
    return matmul(ct, matrix_transpose(b)), matmul(matrix_transpose(a), ct)


def _as_rows(x: Any) -> Any:
    """All vectors along the last axis as one matrix."""
    *batch, columns = shape_of(x)
    return x if len(batch) == 1 else reshape_to(x, shape=(sz.mul(batch), columns))


def _summed_over_batches(x: Any, y: Any) -> Any:
    """The sum over batches of x @ y.T, where y may be vectors."""
    last = ndim_of(x) - 1
    of_x, of_y = (*range(last - 1), last), (*range(last - 1), ndim_of(y) - 1)
    return contract_axes(x, y, axes=(of_x, of_y))


matmul = define(
    "matmul",
    "a @ b",
    operands="a b",
    infer=contraction,
    vjp=_matmul_vjp,
    linear="each",
    traits=(Trait.C_ORDER, Trait.NUMERIC),
    domain="matmul",
    batch=batching_rules.matrix_product,
    doc="""The matrix product over the last two axes, batches broadcast.

    Shapes ``(..., m, k)`` and ``(..., k, n)`` give ``(..., m, n)``; a vector as `a` is a row, as
    `b` a column, and its axis is not in the result. Raises ShapeError where the k differ.
    """,
)


def _of_numpy(x: Any) -> Any:
    """An operand as an array: beside others Python's numbers have dtypes of their own here."""
    return strengthen(as_array(x)) if is_weak(x) else as_array(x)


def dot(a: Any, b: Any) -> Any:
    """NumPy's dot product: over the last axis of `a` and the last but one of `b`."""
    a, b = _of_numpy(a), _of_numpy(b)
    if not (ndim_of(a) and ndim_of(b)):
        return row_after_row(multiply(a, b))
    if ndim_of(b) <= 2 or ndim_of(a) == 1:
        return matmul(a, b)
    return contract_axes(a, b, axes=((ndim_of(a) - 1,), (ndim_of(b) - 2,)))


def vdot(a: Any, b: Any) -> Any:
    """The product of two arrays as vectors, the first conjugated."""
    return matmul(_conjugated(ravel(as_array(a))), ravel(as_array(b)))


@synonyms
def vecdot(x1: Any, x2: Any, axis: int = -1) -> Any:
    """The products of vectors along `axis`, the first conjugated, batches broadcast.

    The vectors have one length, which is not broadcast, and the result has the dtype to which both
    are promoted.
    """
    x1, x2 = _conjugated(as_array(x1)), as_array(x2)
    from_end, its_own = (one_axis(axis, ndim_of(x)) - ndim_of(x) for x in (x1, x2))
    if from_end != its_own:
        x1, x2, from_end = moveaxis(x1, axis, -1), moveaxis(x2, axis, -1), -1
    sizes, one, two = sizes_of([x1, x2]), shape_of(x1), shape_of(x2)
    if not sizes.same(one[from_end], two[from_end]):
        raise ShapeError(
            f"vecdot: the vectors along axis {axis} of {shape_text(sizes, one)} and "
            f"{shape_text(sizes, two)} differ in length"
        )
    products = x1 * x2
    total = sum_over(products, axis=ndim_of(products) + from_end, keepdims=False)
    dtype = dtype_of(products)
    return total if dtype_of(total) == dtype else astype(total, dtype=dtype)


def matvec(x1: Any, x2: Any) -> Any:
    """Matrices times vectors, which lie along the last axis, batches broadcast."""
    return squeeze(matmul(as_array(x1), expand_dims(as_array(x2), -1)), -1)


def vecmat(x1: Any, x2: Any) -> Any:
    """Vectors, conjugated, times matrices: along the last axis, batches broadcast."""
    return squeeze(matmul(expand_dims(_conjugated(as_array(x1)), -2), as_array(x2)), -2)


def inner(a: Any, b: Any) -> Any:
    """The products of vectors along the last axes, of every vector of `a` with every one of `b`."""
    a, b = _of_numpy(a), _of_numpy(b)
    na, nb = ndim_of(a), ndim_of(b)
    if not (na and nb):
        return multiply(a, b)
    if nb == 1:
        return matmul(a, b)
    if na == 1:
        return matmul(b, a)
    if na == nb == 2:
        return matmul(a, matrix_transpose(b))
    return contract_axes(a, b, axes=((na - 1,), (nb - 1,)))


def _conjugated(x: Any) -> Any:
    return conj(x) if is_complex(x) else x


def _outer_type(sizes: Sizes, a: ArrayType, b: ArrayType) -> ArrayType:
    return ArrayType(promote((a, b))[0], (sz.mul(a.shape), sz.mul(b.shape)))


outer_of = define(
    "outer",
    "np.outer(a, b)",
    operands="a b",
    infer=_outer_type,
    linear="each",
    vjp=lambda ct, y, a, b: (matmul(ct, b), matmul(a, ct)),
    traits=(Trait.C_ORDER, Trait.NUMERIC),
    domain="vectors",
    batch=batching_rules.outer_product,
)


def outer(a: Any, b: Any) -> Any:
    """All products of an element of `a` with one of `b`: a matrix."""
    return outer_of(*map(_in_one_piece, map(as_array, (a, b))))


def _in_one_piece(x: Any) -> Any:
    """What `ravel` gives; of a vector that lies apart a copy, whose products have other bits."""
    if ndim_of(x) != 1:
        return ravel(x)
    array = getattr(x, "_array", x)
    lies_apart = isinstance(array, np.ndarray) and not array.flags.c_contiguous
    return copy(x) if lies_apart else x


def kron(a: Any, b: Any) -> Any:
    """The Kronecker product: every element of `a` times the whole of `b`, as blocks."""
    a, b = as_array(a), as_array(b)
    ndim = max(ndim_of(a), ndim_of(b))
    a, b = (reshape_to(x, shape=_padded(shape_of(x), ndim)) for x in (a, b))
    shape = tuple(sz.mul(pair) for pair in zip(shape_of(a), shape_of(b), strict=True))
    if ndim == 0:
        return multiply(a, b)
    a = expand_dims(a, tuple(range(1, 2 * ndim, 2)))
    b = expand_dims(b, tuple(range(0, 2 * ndim, 2)))
    return reshape_to(a * b, shape=shape)


def _padded(shape: tuple[Dim, ...], ndim: int) -> tuple[Dim, ...]:
    return (1,) * (ndim - len(shape)) + shape


def _check_vectors(sizes: Sizes, *shapes: tuple[Dim, ...]) -> None:
    """Refuses vectors of 2 components, of which NumPy warns that it will not take them."""
    for shape in shapes:
        if not (shape and sizes.same(shape[-1], 3)):
            raise ShapeError(f"cross: vectors have 3 components, not {shape_text(sizes, shape)}")


def _cross_type(sizes: Sizes, a: ArrayType, b: ArrayType) -> ArrayType:
    _check_vectors(sizes, a.shape, b.shape)
    return ArrayType(promote((a, b))[0], broadcast(sizes, [a.shape, b.shape]))


cross_of: OpRecord = define(
    "cross",
    "np.cross(a, b)",
    operands="a b",
    infer=_cross_type,
    linear="each",
    vjp=lambda ct, y, a, b: (cross_of(b, ct), cross_of(ct, a)),
    traits=(Trait.NUMERIC,),
    domain="triples",
    batch=batching_rules.leading,
)


def cross(
    a: Any, b: Any, axisa: int = -1, axisb: int = -1, axisc: int = -1, axis: int | None = None
) -> Any:
    """The cross product of vectors of 3 components, which lie along the axes named."""
    if axis is not None:
        axisa = axisb = axisc = axis
    a, b = moveaxis(as_array(a), axisa, -1), moveaxis(as_array(b), axisb, -1)
    _check_vectors(sizes_of([a, b]), shape_of(a), shape_of(b))
    return moveaxis(cross_of(a, b), -1, axisc)


# -- tensordot ----------------------------------------------------------------------------------


def _free(ndim: int, contracted: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(i for i in range(ndim) if i not in contracted)


def _tensordot_type(sizes: Sizes, a: ArrayType, b: ArrayType, axes: Any) -> ArrayType:
    for i, j in zip(*axes, strict=True):
        if not sizes.same(a.shape[i], b.shape[j]):
            shapes = " with ".join(shape_text(sizes, x.shape) for x in (a, b))
            raise MismatchError(
                f"tensordot: cannot contract {shapes} over axis {i} of the first and axis {j} of "
                "the second: their lengths differ"
            )
    free_a = [a.shape[i] for i in _free(a.ndim, axes[0])]
    free_b = [b.shape[i] for i in _free(b.ndim, axes[1])]
    return ArrayType(promote((a, b))[0], (*free_a, *free_b))


def _tensordot_vjp(ct: Any, y: Any, a: Any, b: Any, axes: Any) -> tuple[Any, Any]:
    """The cotangent contracted with the other operand over that one's free axes."""
    of_a, of_b = axes
    free_a, free_b = _free(ndim_of(a), of_a), _free(ndim_of(b), of_b)
    rows, columns = tuple(range(len(free_a))), tuple(range(len(free_a), len(free_a) + len(free_b)))
    ct_a = _contracted(ct, b, columns, free_b)
    order_a = (*free_a, *(i for _, i in sorted(zip(of_b, of_a, strict=True))))
    ct_b = _contracted(a, ct, free_a, rows)
    order_b = (*(j for _, j in sorted(zip(of_a, of_b, strict=True))), *free_b)
    return permute_dims(ct_a, _inverse(order_a)), permute_dims(ct_b, _inverse(order_b))


def _contracted(a: Any, b: Any, of_a: tuple[int, ...], of_b: tuple[int, ...]) -> Any:
    """The tensordot, or the products of every element of one with every one of the other."""
    if of_a:
        return contract_axes(a, b, axes=(of_a, of_b))
    ndim = ndim_of(b)
    return multiply(expand_dims(a, tuple(range(-ndim, 0))) if ndim else a, b)


def _inverse(order: Sequence[int]) -> tuple[int, ...]:
    return tuple(order.index(i) for i in range(len(order)))


contract_axes = define(
    "tensordot",
    "np.tensordot(a, b, axes=axes)",
    operands="a b",
    infer=_tensordot_type,
    linear="each",
    vjp=_tensordot_vjp,
    attributes={"axes": ...},
    traits=(Trait.NUMERIC,),
    domain="tensordot",
    batch=batching_rules.tensor_product,
)


def _axes_given(axes: Any, ndim: int) -> tuple[int, ...]:
    several = axes if isinstance(axes, tuple | list) else (axes,)
    return tuple(one_axis(axis, ndim) for axis in several)


def tensordot(a: Any, b: Any, axes: Any = 2) -> Any:
    """Sums of products over `axes`: a number (last of `a`, first of `b`) or a list for each."""
    a, b = _of_numpy(a), _of_numpy(b)
    na, nb = ndim_of(a), ndim_of(b)
    if isinstance(axes, int):
        if not 0 <= axes <= min(na, nb):
            raise ShapeError(f"tensordot: {axes} axes of arrays with {na} and {nb} axes")
        of_a, of_b = tuple(range(na - axes, na)), tuple(range(axes))
    else:
        of_a, of_b = (_axes_given(of, ndim) for of, ndim in zip(axes, (na, nb), strict=True))
        if len(of_a) != len(of_b):
            raise ShapeError(f"tensordot: {len(of_a)} axes cannot be contracted with {len(of_b)}")
    if of_a == (na - 1,) and of_b == (0,) and nb <= 2:
        return matmul(a, b)
    return contract_axes(a, b, axes=(of_a, of_b))


# -- diagonals and triangles --------------------------------------------------------------------


def _places(ndim: int, axis1: int, axis2: int) -> tuple[int, ...]:
    return tuple(i for i in range(ndim) if i not in (axis1, axis2))


def _diagonal_length(sizes: Sizes, rows: Dim, columns: Dim, offset: int) -> Dim:
    """How long a diagonal is; a free matrix that is not square becomes fixed."""
    below, right = _starts(offset)
    if not sizes.same(rows, columns):
        rows, columns = sizes.fix(rows), sizes.fix(columns)
    rows, columns = sizes.resolve(rows), sizes.resolve(columns)
    in_rows, in_columns = _behind(rows, below), _behind(columns, right)
    if isinstance(in_rows, int) and isinstance(in_columns, int):
        return min(in_rows, in_columns)
    return in_columns if offset > 0 else in_rows


def _behind(length: Dim, start: int) -> Dim:
    """What is left of a length behind `start`."""
    if isinstance(length, Size):
        factors = dict(length.terms)
        if factors.get((), 0) >= start and all(factor > 0 for factor in factors.values()):
            return sz.add(length, -start)
    return sz.slice_length(length, slice(start, None))


def _starts(offset: int) -> tuple[int, int]:
    """Row and column of the first element of a diagonal."""
    return max(-offset, 0), max(offset, 0)


def _diagonal_type(sizes: Sizes, x: ArrayType, offset: int, axis1: int, axis2: int) -> ArrayType:
    length = _diagonal_length(sizes, x.shape[axis1], x.shape[axis2], offset)
    return x.with_shape([*(x.shape[i] for i in _places(x.ndim, axis1, axis2)), length])


def _diagonal_vjp(ct: Any, y: Any, x: Any, offset: int, axis1: int, axis2: int) -> tuple[Any]:
    shape = shape_of(x)
    rows, columns = shape[axis1], shape[axis2]
    if len(shape) == 2 and rows == columns and offset == 0:
        return (diagonal_matrix(ct, k=0),)
    below, right = _starts(offset)
    if _behind(rows, below) == shape_of(ct)[-1]:
        lines = expand_dims(_from(ct, below, rows), -1)
    else:
        lines = expand_dims(_from(ct, right, columns), -2)
    return (_on_axes(_masked(lines, x, rows, columns, offset), axis1, axis2),)


def _from(ct: Any, start: int, length: Dim) -> Any:
    """`ct` behind `start` zeros along its last axis."""
    if not start:
        return ct
    behind = slice(start, None)
    index = Subscript((behind,) if ndim_of(ct) == 1 else (Ellipsis, behind))
    shape = (*shape_of(ct)[:-1], length)
    return scatter_into(ct, index=index, shape=shape, dtype=dtype_of(ct))


def _masked(values: Any, like: Any, rows: Dim, columns: Dim, offset: int) -> Any:
    """`values` on one diagonal of the last two axes, 0 elsewhere."""
    return where(diagonal_mask(like, rows, columns, offset), values, 0.0)


def _on_axes(x: Any, axis1: int, axis2: int) -> Any:
    """The last two axes moved to where a matrix had them."""
    return moveaxis(x, (-2, -1), (axis1, axis2))


diagonal_of = define(
    "diagonal",
    "x.diagonal(offset=offset, axis1=axis1, axis2=axis2)",
    infer=_diagonal_type,
    vjp=_diagonal_vjp,
    attributes={"offset": 0, "axis1": 0, "axis2": 1},
    traits=(Trait.VIEW,),
    domain="matrix",
    batch=batching_rules.on_diagonal,
)


def _view_text(attributes: Mapping[str, Any]) -> Spelling:
    pair = attributes["axis1"], attributes["axis2"]
    letters = iter(ascii_uppercase)
    labels = ["i" if axis in pair else next(letters) for axis in range(max(pair) + 1)]
    rest = "".join(label for label in labels if label != "i")
    return spell(f'np.einsum("{"".join(labels)}...->{rest}...i", x)')


diagonal_view = replace(
    diagonal_of,
    name="diagonal_view",
    spelling={**diagonal_of.spelling, "numpy": _view_text},
    doc="A main diagonal as np.einsum gives it, which may be written to; x.diagonal() locks it.",
)
diagonal_matrix = define(
    "diag",
    "np.diag(x, k=k)",
    infer=lambda sizes, x, k: x.with_shape((sz.add(x.shape[0], abs(k)),) * 2),
    vjp=lambda ct, y, x, k: (diagonal_of(ct, offset=k, axis1=0, axis2=1),),
    attributes={"k": 0},
    traits=(Trait.C_ORDER,),
    domain="vector",
    batch=batching_rules.diagonal_matrix,
    doc="A square matrix with a vector on one diagonal.",
)


def diagonal(x: Any, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Any:
    """A diagonal of the matrices along two axes, as the last axis; a read-only view."""
    x = as_array(x)
    first, second = _two_axes("diagonal", x, axis1, axis2)
    return diagonal_of(x, offset=int(offset), axis1=first, axis2=second)


def _two_axes(name: str, x: Any, axis1: int, axis2: int) -> tuple[int, int]:
    ndim = ndim_of(x)
    if ndim < 2:
        raise ShapeError(f"{name}: a matrix has two axes, this array has {ndim}")
    first, second = one_axis(axis1, ndim), one_axis(axis2, ndim)
    if first == second:
        raise ShapeError(f"{name}: axis1 and axis2 are both {axis1}")
    return first, second


def diag(x: Any, k: int = 0) -> Any:
    """The k-th diagonal of a matrix, or the matrix with a vector on its k-th diagonal."""
    x = as_array(x)
    if ndim_of(x) == 1:
        return diagonal_matrix(x, k=int(k))
    if ndim_of(x) == 2:
        return diagonal(x, k)
    raise ShapeError(f"diag: takes a vector or a matrix, not an array with {ndim_of(x)} axes")


def diagflat(x: Any, k: int = 0) -> Any:
    """The matrix with all elements of `x` on its k-th diagonal."""
    return diagonal_matrix(ravel(as_array(x)), k=int(k))


def _trace_type(sizes: Sizes, x: ArrayType, offset: int, axis1: int, axis2: int) -> ArrayType:
    shape = [x.shape[i] for i in _places(x.ndim, axis1, axis2)]
    return ArrayType(sum_dtype(x.dtype), tuple(shape))


def _trace_vjp(ct: Any, y: Any, x: Any, offset: int, axis1: int, axis2: int) -> tuple[Any]:
    shape = shape_of(x)
    if len(shape) > 2:
        ct = expand_dims(ct, (-2, -1))
    return (_on_axes(_masked(ct, x, shape[axis1], shape[axis2], offset), axis1, axis2),)


trace_of = define(
    "trace",
    "x.trace(offset=offset, axis1=axis1, axis2=axis2)",
    infer=_trace_type,
    vjp=_trace_vjp,
    linear="together",
    attributes={"offset": 0, "axis1": 0, "axis2": 1},
    domain="matrix",
    batch=batching_rules.on_diagonal,
)


def trace(
    x: Any, offset: int = 0, axis1: int = 0, axis2: int = 1, dtype: Any = None, out: None = None
) -> Any:
    """The sum of a diagonal of the matrices along two axes."""
    refuse_out("trace", out)
    x = as_array(x)
    if dtype is not None:
        x = astype(x, dtype=dtype_name(dtype))
    first, second = _two_axes("trace", x, axis1, axis2)
    return trace_of(x, offset=int(offset), axis1=first, axis2=second)


lower_triangle: OpRecord = define(
    "tril",
    "np.tril(x, k=k)",
    infer=lambda sizes, x, k: ArrayType(x.dtype, x.shape),
    vjp=lambda ct, y, x, k: (lower_triangle(ct, k=k),),
    attributes={"k": 0},
    domain="matrix",
    batch=batching_rules.leading,
)
upper_triangle: OpRecord = define(
    "triu",
    "np.triu(x, k=k)",
    infer=lambda sizes, x, k: ArrayType(x.dtype, x.shape),
    vjp=lambda ct, y, x, k: (upper_triangle(ct, k=k),),
    attributes={"k": 0},
    domain="matrix",
    batch=batching_rules.leading,
)


def tril(x: Any, k: int = 0) -> Any:
    """The matrices along the last two axes with zeros above the k-th diagonal."""
    return lower_triangle(_as_matrix(x), k=int(k))


def triu(x: Any, k: int = 0) -> Any:
    """The matrices along the last two axes with zeros below the k-th diagonal."""
    return upper_triangle(_as_matrix(x), k=int(k))


def _as_matrix(x: Any) -> Any:
    """A vector as NumPy's triangles take it: as each row of a square matrix."""
    x = as_array(x)
    return x if ndim_of(x) > 1 else broadcast_to_shape(x, shape=shape_of(x) * 2)


__all__ = [
    "cross",
    "diag",
    "diagflat",
    "diagonal",
    "dot",
    "inner",
    "kron",
    "matmul",
    "matvec",
    "outer",
    "tensordot",
    "trace",
    "tril",
    "triu",
    "vdot",
    "vecdot",
    "vecmat",
]
