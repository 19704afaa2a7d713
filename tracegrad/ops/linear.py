"""Arrays enter, their contractions leave: products of vectors, matrices and tensors.

Besides `matmul`, `tensordot` and `einsum` stand here what they need for their derivatives and what
belongs to matrices: diagonals, triangles, outer and cross products.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import Any

import numpy as np

from codegen import sizes as sz
from codegen.ir import Trait
from codegen.sizes import Dim, Size, Sizes
from codegen.spelling import Subscript
from codegen.types import ArrayType, broadcast, promote, shape_text
from codegen.types import ShapeError as MismatchError
from tracegrad.dispatch import dtype_of, ndim_of, shape_of, type_of
from tracegrad.errors import ShapeError
from tracegrad.ops.arguments import as_array, refuse_out, synonyms
from tracegrad.ops.creation import dtype_name
from tracegrad.ops.elementwise import astype, conj, is_complex, multiply, where
from tracegrad.ops.indexing import scatter_into
from tracegrad.ops.record import OpRecord, define
from tracegrad.ops.reductions import diagonal_mask, sum_over
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


def dot(a: Any, b: Any) -> Any:
    """NumPy's dot product: over the last axis of `a` and the last but one of `b`."""
    a, b = as_array(a), as_array(b)
    if not (ndim_of(a) and ndim_of(b)):
        return multiply(a, b)
    if ndim_of(b) <= 2 or ndim_of(a) == 1:
        return matmul(a, b)
    return contract_axes(a, b, axes=((ndim_of(a) - 1,), (ndim_of(b) - 2,)))


def vdot(a: Any, b: Any) -> Any:
    """The product of two arrays as vectors, the first conjugated."""
    return matmul(_conjugated(ravel(as_array(a))), ravel(as_array(b)))


@synonyms
def vecdot(x1: Any, x2: Any, axis: int = -1) -> Any:
    """The products of vectors along `axis`, the first conjugated, batches broadcast."""
    x1, x2 = _conjugated(as_array(x1)), as_array(x2)
    products = x1 * x2
    return sum_over(products, axis=one_axis(axis, ndim_of(products)), keepdims=False)


def inner(a: Any, b: Any) -> Any:
    """The products of vectors along the last axes, of every vector of `a` with every one of `b`."""
    a, b = as_array(a), as_array(b)
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
    vjp=lambda ct, y, a, b: (matmul(ct, b), matmul(a, ct)),
    traits=(Trait.C_ORDER,),
    domain="vectors",
)


def outer(a: Any, b: Any) -> Any:
    """All products of an element of `a` with one of `b`: a matrix."""
    return outer_of(ravel(as_array(a)), ravel(as_array(b)))


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


def _cross_type(sizes: Sizes, a: ArrayType, b: ArrayType) -> ArrayType:
    for x in (a, b):
        if not (x.shape and sizes.same(x.shape[-1], 3)):
            raise MismatchError(
                f"cross: vectors have 3 components, not {shape_text(sizes, x.shape)}"
            )
    return ArrayType(promote((a, b))[0], broadcast(sizes, [a.shape, b.shape]))


cross_of: OpRecord = define(
    "cross",
    "np.cross(a, b)",
    operands="a b",
    infer=_cross_type,
    vjp=lambda ct, y, a, b: (cross_of(b, ct), cross_of(ct, a)),
    domain="triples",
)


def cross(
    a: Any, b: Any, axisa: int = -1, axisb: int = -1, axisc: int = -1, axis: int | None = None
) -> Any:
    """The cross product of vectors of 3 components, which lie along the axes named."""
    if axis is not None:
        axisa = axisb = axisc = axis
    a, b = moveaxis(as_array(a), axisa, -1), moveaxis(as_array(b), axisb, -1)
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
    ct_a = contract_axes(ct, b, axes=(columns, free_b))
    order_a = (*free_a, *(i for _, i in sorted(zip(of_b, of_a, strict=True))))
    ct_b = contract_axes(a, ct, axes=(free_a, rows))
    order_b = (*(j for _, j in sorted(zip(of_a, of_b, strict=True))), *free_b)
    return permute_dims(ct_a, _inverse(order_a)), permute_dims(ct_b, _inverse(order_b))


def _inverse(order: Sequence[int]) -> tuple[int, ...]:
    return tuple(order.index(i) for i in range(len(order)))


contract_axes = define(
    "tensordot",
    "np.tensordot(a, b, axes=axes)",
    operands="a b",
    infer=_tensordot_type,
    vjp=_tensordot_vjp,
    attributes={"axes": ...},
    domain="tensordot",
)


def _axes_given(axes: Any, ndim: int) -> tuple[int, ...]:
    several = axes if isinstance(axes, tuple | list) else (axes,)
    return tuple(one_axis(axis, ndim) for axis in several)


def tensordot(a: Any, b: Any, axes: Any = 2) -> Any:
    """Sums of products over `axes`: a number (last of `a`, first of `b`) or a list for each."""
    a, b = as_array(a), as_array(b)
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


# -- einsum -------------------------------------------------------------------------------------

LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"


def _einsum_type(sizes: Sizes, *types: ArrayType, subscripts: str) -> ArrayType:
    inputs, output = _terms(subscripts)
    lengths: dict[str, Dim] = {}
    for labels, x in zip(inputs, types, strict=True):
        for label, dim in zip(labels, x.shape, strict=True):
            try:
                (lengths[label],) = broadcast(sizes, [(lengths.get(label, 1),), (dim,)])
            except MismatchError:
                shapes = ", ".join(shape_text(sizes, t.shape) for t in types)
                raise MismatchError(
                    f"einsum: in {subscripts!r} the label {label} stands for axes of different "
                    f"lengths; the shapes are {shapes}"
                ) from None
    return ArrayType(promote(types)[0], tuple(lengths[label] for label in output))


def _terms(subscripts: str) -> tuple[list[str], str]:
    given, _, output = subscripts.partition("->")
    return given.split(","), output


def _einsum_vjp(ct: Any, y: Any, *operands: Any, subscripts: str) -> tuple[Any, ...]:
    """Each operand's cotangent is the einsum of `ct` and the others, onto the operand's labels."""
    inputs, output = _terms(subscripts)
    found = []
    for i, operand in enumerate(operands):
        others = [x for j, x in enumerate(operands) if j != i]
        terms = [output, *(labels for j, labels in enumerate(inputs) if j != i)]
        part = contract(terms, inputs[i], [ct, *others])
        found.append(_stretched(part, operand))
    return tuple(found)


def _stretched(ct: Any, operand: Any) -> Any:
    """A cotangent repeated along the axes that only the operand itself is long in."""
    pairs = list(zip(shape_of(ct), shape_of(operand), strict=True))
    if all(have == want or want == 1 for have, want in pairs):
        return ct
    return broadcast_to_shape(ct, shape=tuple(w if have == 1 else have for have, w in pairs))


def _einsum_record(count: int) -> OpRecord:
    names = " ".join(LETTERS[:count])
    arguments = ", ".join(LETTERS[:count])
    optimize = "" if count == 2 else ", optimize=True"  # several: NumPy finds the best order
    return define(
        "einsum" if count == 2 else f"einsum_{count}",
        f"np.einsum(subscripts, {arguments}{optimize})",
        operands=names,
        infer=_einsum_type,
        vjp=_einsum_vjp,
        attributes={"subscripts": ...},
        domain="einsum",
        doc=f"The sum of products of {count} arrays; a label of one alone is in the result.",
    )


einsum_of = {count: _einsum_record(count) for count in (2, 3, 4)}


def einsum(subscripts: Any, *operands: Any, out: None = None, dtype: Any = None, **_: Any) -> Any:
    """Sums of products by labelled axes, as ``np.einsum``; written as a matmul where it is one."""
    refuse_out("einsum", out)
    if not isinstance(subscripts, str):
        subscripts, operands = _from_lists((subscripts, *operands))
    arrays = [as_array(x) for x in operands]
    if dtype is not None:
        arrays = [astype(x, dtype=dtype_name(dtype)) for x in arrays]
    terms, output = _explicit(subscripts, [ndim_of(x) for x in arrays])
    result = contract(terms, output, arrays)
    common = promote([type_of(x) for x in arrays])[0]  # which sums of small integers exceed
    return result if dtype_of(result) == common else astype(result, dtype=common)


def _from_lists(arguments: tuple[Any, ...]) -> tuple[str, tuple[Any, ...]]:
    """``einsum(a, [0, 1], b, [1, 2], [0, 2])`` as labels."""

    def text(labels: Sequence[Any]) -> str:
        return "".join("..." if label is Ellipsis else LETTERS[label] for label in labels)

    pairs = len(arguments) // 2
    subscripts = ",".join(text(labels) for labels in arguments[1 : 2 * pairs : 2])
    if len(arguments) % 2:
        subscripts += f"->{text(arguments[-1])}"
    return subscripts, arguments[0 : 2 * pairs : 2]


def _explicit(subscripts: str, ndims: Sequence[int]) -> tuple[list[str], str]:
    """The labels of every operand and of the result, without ellipses."""
    given, arrow, output = subscripts.replace(" ", "").partition("->")
    terms = given.split(",")
    if len(terms) != len(ndims):
        raise ShapeError(f"einsum: {subscripts!r} has {len(terms)} terms for {len(ndims)} operands")
    unused = [letter for letter in reversed(LETTERS) if letter not in subscripts]
    rest = [n - len(term.replace("...", "")) for term, n in zip(terms, ndims, strict=True)]
    for term, n, missing in zip(terms, ndims, rest, strict=True):
        if missing < 0 or (missing and "..." not in term):
            raise ShapeError(f"einsum: {term!r} in {subscripts!r} stands for an array of {n} axes")
    most = max((n for term, n in zip(terms, rest, strict=True) if "..." in term), default=0)
    dots = "".join(reversed(unused[:most]))
    terms = [
        term.replace("...", dots[len(dots) - n :]) for term, n in zip(terms, rest, strict=True)
    ]
    if arrow:
        output = output.replace("...", dots)
    else:
        labels = "".join(terms)
        output = dots + "".join(
            sorted(label for label in set(labels) - set(dots) if labels.count(label) == 1)
        )
    named = set("".join(terms))
    for label in output:
        if label not in named or output.count(label) > 1:
            raise ShapeError(f"einsum: {label!r} in the result of {subscripts!r} is not one axis")
    return terms, output


def contract(terms: Sequence[str], output: str, operands: Sequence[Any]) -> Any:
    """The einsum of `operands`, by the plainest ops that do it."""
    terms, operands = list(terms), list(operands)
    for i, labels in enumerate(terms):
        elsewhere = {*output, *(label for j, term in enumerate(terms) if j != i for label in term)}
        terms[i], operands[i] = _alone(labels, operands[i], elsewhere)
    factors = [x for labels, x in zip(terms, operands, strict=True) if not labels]
    if factors and any(terms):
        rest = [(labels, x) for labels, x in zip(terms, operands, strict=True) if labels]
        whole = contract([labels for labels, _ in rest], output, [x for _, x in rest])
        return reduce(multiply, factors, whole)
    while len(terms) > max(einsum_of):
        both = "".join(dict.fromkeys(terms[0] + terms[1]))
        later = {*output, *(label for term in terms[2:] for label in term)}
        kept = "".join(label for label in both if label in later)
        terms[:2], operands[:2] = [kept], [contract(terms[:2], kept, operands[:2])]
    if len(terms) == 1:
        return _onto(terms[0], output, operands[0])
    if len(terms) == 2:
        product = _as_matmul(terms[0], terms[1], output, *operands)
        if product is not None:
            return product
    written = "".join(label for label in output if any(label in term for term in terms))
    whole = einsum_of[len(terms)](*operands, subscripts=f"{','.join(terms)}->{written}")
    return _onto(written, output, whole)


def _alone(labels: str, x: Any, elsewhere: set[str]) -> tuple[str, Any]:
    """An operand after what concerns it alone: its diagonals, and sums over labels of its own."""
    if len(labels) == 2 and labels[0] == labels[1] and labels[0] not in elsewhere:
        return "", trace(x)
    for label in dict.fromkeys(labels):
        while labels.count(label) > 1:
            first = labels.index(label)
            second = labels.index(label, first + 1)
            x = diagonal(x, 0, first, second)
            labels = labels[:first] + labels[first + 1 : second] + labels[second + 1 :] + label
    own = tuple(i for i, label in enumerate(labels) if label not in elsewhere)
    if own:
        axis = None if len(own) == len(labels) and len(own) > 1 else own
        x = sum_over(x, axis=own[0] if len(own) == 1 else axis, keepdims=False)
    return "".join(label for label in labels if label in elsewhere), x


def _onto(labels: str, output: str, x: Any) -> Any:
    """`x` with its axes in the order of `output`; labels that it lacks become axes of length 1."""
    x = permute_dims(x, tuple(labels.index(label) for label in output if label in labels))
    new = tuple(i for i, label in enumerate(output) if label not in labels)
    return expand_axes(x, axis=new[0] if len(new) == 1 else new) if new else x


def _as_matmul(p: str, q: str, output: str, a: Any, b: Any) -> Any:
    """The contraction as a matrix product, or None where it is none."""
    shared = [label for label in p if label in q and label not in output]
    if p == q == output:
        return multiply(a, b)
    if len(shared) != 1 or not _equally_long(p, q, shared[0], a, b):
        return None
    for first, second, x, y in ((p, q, a, b), (q, p, b, a)):
        found = _rows_times_columns(first, second, shared[0], output)
        if found is not None:
            x = matrix_transpose(x) if found[0] else x
            return matmul(x, matrix_transpose(y) if found[1] else y)
    return None


def _rows_times_columns(p: str, q: str, k: str, output: str) -> tuple[bool, bool] | None:
    """Which of two operands are to be transposed so that their matmul is `output`."""
    if q == k:
        return (False, False) if p == output + k else None
    if p == k:
        vector_first = q[-2:-1] == k and q[:-2] + q[-1:] == output
        return (False, False) if vector_first else None
    if len(output) < 2 or len(p) < 2 or len(q) < 2:
        return None
    batch, i, j = output[:-2], output[-2], output[-1]
    if {i, k} != set(p[-2:]) or {k, j} != set(q[-2:]):
        return None
    if batch not in (p[:-2], q[:-2]) or not {p[:-2], q[:-2]} <= {batch, ""}:
        return None
    return p[-1] == i, q[-1] == k


def _equally_long(p: str, q: str, label: str, a: Any, b: Any) -> bool:
    """False for a length of 1 against another, which einsum broadcasts and matmul refuses."""
    one, other = (np.shape(getattr(x, "_array", x)) for x in (a, b))  # no look: ops guard it
    return bool(one[p.index(label)] == other[q.index(label)])


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
)
diagonal_matrix = define(
    "diag",
    "np.diag(x, k=k)",
    infer=lambda sizes, x, k: x.with_shape((sz.add(x.shape[0], abs(k)),) * 2),
    vjp=lambda ct, y, x, k: (diagonal_of(ct, offset=k, axis1=0, axis2=1),),
    attributes={"k": 0},
    traits=(Trait.C_ORDER,),
    domain="vector",
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
    attributes={"offset": 0, "axis1": 0, "axis2": 1},
    domain="matrix",
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
)
upper_triangle: OpRecord = define(
    "triu",
    "np.triu(x, k=k)",
    infer=lambda sizes, x, k: ArrayType(x.dtype, x.shape),
    vjp=lambda ct, y, x, k: (upper_triangle(ct, k=k),),
    attributes={"k": 0},
    domain="matrix",
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
    "einsum",
    "inner",
    "kron",
    "matmul",
    "outer",
    "tensordot",
    "trace",
    "tril",
    "triu",
    "vdot",
    "vecdot",
]
