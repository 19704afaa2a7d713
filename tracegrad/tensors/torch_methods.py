"""Methods of Tensors that PyTorch has and NumPy's arrays have not.

Each is a few functions of the namespace under PyTorch's name and arguments (`dim`, `keepdim`).
Where PyTorch gives values and indices together (``sort``, ``max``), the method gives the values, as
the function of that name does; ``topk`` alone has no such function and gives both.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import accumulate
from operator import index as as_int
from typing import Any, NamedTuple

from tracegrad.errors import ArgumentError, ShapeError
from tracegrad.ops.arguments import as_array
from tracegrad.ops.linear_algebra import matrix_norms, vector_norms
from tracegrad.ops.shape.joining import array_split, split
from tracegrad.ops.shape.reshaping import length_of, one_axis
from tracegrad.ops.shape.selection import add_along
from tracegrad.tensors import array_functions as ns
from tracegrad.tensors.tensor import Tensor
from tracegrad.values.dispatch import dtype_of, ndim_of, shape_of


class TopK(NamedTuple):
    """What `topk` gives."""

    values: Any
    indices: Any


# -- products and sums --------------------------------------------------------------------------


def addcdiv(x: Any, tensor1: Any, tensor2: Any, *, value: Any = 1) -> Any:
    """``x + value * tensor1 / tensor2``."""
    return x + value * (tensor1 / tensor2)


def addcmul(x: Any, tensor1: Any, tensor2: Any, *, value: Any = 1) -> Any:
    """``x + value * tensor1 * tensor2``."""
    return x + value * (tensor1 * tensor2)


def addmm(x: Any, mat1: Any, mat2: Any, *, beta: Any = 1, alpha: Any = 1) -> Any:
    """``beta * x + alpha * (mat1 @ mat2)``."""
    return beta * x + alpha * ns.matmul(mat1, mat2)


def _product(name: str, of_x: int, of_other: int) -> Callable[[Any, Any], Any]:
    def method(x: Any, other: Any) -> Any:
        if ndim_of(x) != of_x or ndim_of(other) != of_other:
            raise ShapeError(
                f"{name}: takes {of_x} and {of_other} axes, not {ndim_of(x)} and {ndim_of(other)}: "
                "write x @ other"
            )
        return ns.matmul(x, other)

    method.__name__ = name
    method.__doc__ = f"``x @ other`` of {of_x} and {of_other} axes."
    return method


def norm(
    x: Any,
    p: Any = None,
    dim: Any = None,
    keepdim: bool = False,
    *,
    axis: Any = None,
    keepdims: bool = False,
) -> Any:
    """The p-norm of all elements, or of those along `dim`: the root of the sum of squares, with 2.

    PyTorch's: that of a matrix as well, of which `tg.linalg.norm` gives the norm as an operator.
    ``p="nuc"`` is the sum of the singular values.
    """
    axis, keepdims = dim if axis is None else axis, keepdim or keepdims
    if p is None or p == "fro":
        p = 2
    if p == "nuc":
        return matrix_norms.norm(x, p, axis=axis, keepdims=keepdims)
    return vector_norms.vector_norm(x, axis=axis, keepdims=keepdims, ord=p)


def lerp(x: Any, end: Any, weight: Any) -> Any:
    """From `x` to `end` by the part `weight`."""
    return x + weight * (end - x)


def frac(x: Any) -> Any:
    """What stands behind the point, with the sign of `x`."""
    return x - ns.trunc(x)


def rsqrt(x: Any) -> Any:
    """``1 / sqrt(x)``."""
    return 1.0 / ns.sqrt(x)


def clamp_min(x: Any, min: Any) -> Any:
    """`x`, and `min` where that is more."""
    return ns.clip(x, min, None)


def clamp_max(x: Any, max: Any) -> Any:
    """`x`, and `max` where that is less."""
    return ns.clip(x, None, max)


# -- parts and places ---------------------------------------------------------------------------


def chunk(x: Any, chunks: int, dim: int = 0) -> tuple[Any, ...]:
    """At most so many parts along `dim`, all but the last of one length."""
    length = length_of(x, one_axis(dim, ndim_of(x)))
    each = max(1, -(-length // as_int(chunks)))
    return split(x, list(range(each, length, each)), dim)


def split_into(x: Any, split_size: Any, dim: int = 0) -> tuple[Any, ...]:
    """Parts along `dim`, each of so many places (the last may have less), or of these lengths.

    PyTorch's ``split``, and not NumPy's, which arrays have as a function alone: `tg.split` takes
    the number of parts, or where they begin.
    """
    dim = one_axis(dim, ndim_of(x))
    length = length_of(x, dim)
    if isinstance(split_size, tuple | list):
        sizes = [as_int(n) for n in split_size]
        if sum(sizes) != length or min(sizes, default=0) < 0:
            raise ShapeError(f"split: lengths of {sizes} do not sum to {length}, that of the axis")
        return split(x, list(accumulate(sizes))[:-1], dim)
    each = as_int(split_size)
    if each <= 0:
        raise ArgumentError(f"split: parts of {each} places")
    return split(x, list(range(each, length, each)), dim)


def tensor_split(x: Any, indices_or_sections: Any, dim: int = 0) -> tuple[Any, ...]:
    """`array_split`."""
    return array_split(x, indices_or_sections, dim)


def narrow(x: Any, dim: int, start: int, length: int) -> Any:
    """So many places along `dim`, from `start`."""
    dim = one_axis(dim, ndim_of(x))
    return x[(*[slice(None)] * dim, slice(as_int(start), as_int(start) + as_int(length)))]


def select(x: Any, dim: int, index: int) -> Any:
    """One place along `dim`, whose axis goes."""
    return x[(*[slice(None)] * one_axis(dim, ndim_of(x)), as_int(index))]


def index_select(x: Any, dim: int, index: Any) -> Any:
    """The places along `dim` whose numbers stand in a vector."""
    return ns.take(x, index, axis=dim)


def gather(x: Any, dim: int, index: Any) -> Any:
    """For each place of `index` the element along `dim` whose number stands there."""
    return ns.take_along_axis(_as_far_as(x, index, dim), index, axis=dim)


def _as_far_as(x: Any, index: Any, dim: int) -> Any:
    """The part of `x` that an index of a smaller shape is about."""
    dim = one_axis(dim, ndim_of(x))
    wanted = shape_of(index)
    if all(i == dim or a == b for i, (a, b) in enumerate(zip(shape_of(x), wanted, strict=True))):
        return x
    lengths = [
        slice(None) if i == dim else slice(0, length_of(index, i)) for i in range(ndim_of(x))
    ]
    return x[tuple(lengths)]


def scatter_add(x: Any, dim: int, index: Any, src: Any) -> Any:
    """`x` with each element of `src` added at the place along `dim` that `index` says."""
    src = src[tuple([slice(0, n) for n in shape_of(index)])]
    added = add_along(src, x, index, one_axis(dim, ndim_of(x)))
    return x + added


def index_add(x: Any, dim: int, index: Any, source: Any, *, alpha: Any = 1) -> Any:
    """`x` with the places of `source` along `dim` added at those that a vector says.

    `tg.index_add` takes an index of any kind: ``tg.index_add(x, key, value)``.
    """
    places = (*[slice(None)] * one_axis(dim, ndim_of(x)), index)
    one = isinstance(alpha, int) and alpha == 1
    return ns.index_add(x, places, source if one else alpha * source)


def masked_fill(x: Any, mask: Any, value: Any) -> Any:
    """`value` where the mask is true, else `x`."""
    found = ns.where(mask, value, x)
    return found if dtype_of(found) == dtype_of(x) else ns.astype(found, dtype_of(x))


def masked_select(x: Any, mask: Any) -> Any:
    """The elements where the mask is true, as a vector."""
    x, mask = ns.broadcast_arrays(x, as_array(mask))
    return x[mask]


def where(x: Any, condition: Any, other: Any) -> Any:
    """`x` where the condition is true, else `other`."""
    return ns.where(condition, x, other)


def topk(x: Any, k: int, dim: int = -1, largest: bool = True, sorted: bool = True) -> TopK:
    """The k largest (or smallest) elements along `dim`, in order, and their indices."""
    dim = one_axis(dim, ndim_of(x))
    order = narrow(ns.argsort(x, axis=dim, descending=largest), dim, 0, k)
    return TopK(ns.take_along_axis(x, order, axis=dim), order)


# -- shapes -------------------------------------------------------------------------------------


def expand(x: Any, *sizes: Any) -> Any:
    """`x` repeated along axes of length 1, and along new ones in front; -1 keeps a length."""
    several = sizes[0] if len(sizes) == 1 and isinstance(sizes[0], tuple | list) else sizes
    own = (*[1] * (len(several) - ndim_of(x)), *shape_of(x))
    if len(own) != len(several):
        raise ShapeError(f"expand: {len(several)} lengths for {ndim_of(x)} axes")
    wanted = [
        have if isinstance(n, int) and n == -1 else n for n, have in zip(several, own, strict=True)
    ]
    return ns.broadcast_to(x, tuple(wanted))


def expand_as(x: Any, other: Any) -> Any:
    """`x` repeated to the shape of another."""
    return ns.broadcast_to(x, shape_of(other))


def reshape_as(x: Any, other: Any) -> Any:
    """`x` in the shape of another."""
    return ns.reshape(x, shape_of(other))


def unflatten(x: Any, dim: int, sizes: Any) -> Any:
    """One axis as several, of which one length may be -1."""
    dim, shape = one_axis(dim, ndim_of(x)), shape_of(x)
    inner = tuple(sizes)
    if sum(n == -1 for n in inner) > 1:
        raise ArgumentError(f"unflatten: {inner} has more than one unknown length")
    return ns.reshape(x, (*shape[:dim], *inner, *shape[dim + 1 :]))


def repeat_interleave(x: Any, repeats: Any, dim: int | None = None) -> Any:
    """`tg.repeat`: each element so many times in a row."""
    return ns.repeat(x, repeats, axis=dim)


METHODS: dict[str, Callable[..., Any]] = {
    "addcdiv": addcdiv,
    "addcmul": addcmul,
    "addmm": addmm,
    "bmm": _product("bmm", 3, 3),
    "chunk": chunk,
    "clamp_max": clamp_max,
    "clamp_min": clamp_min,
    "expand": expand,
    "expand_as": expand_as,
    "frac": frac,
    "gather": gather,
    "index_add": index_add,
    "index_select": index_select,
    "lerp": lerp,
    "masked_fill": masked_fill,
    "masked_select": masked_select,
    "mm": _product("mm", 2, 2),
    "mv": _product("mv", 2, 1),
    "narrow": narrow,
    "norm": norm,
    "repeat_interleave": repeat_interleave,
    "reshape_as": reshape_as,
    "rsqrt": rsqrt,
    "scatter_add": scatter_add,
    "select": select,
    "split": split_into,
    "tensor_split": tensor_split,
    "topk": topk,
    "unflatten": unflatten,
    "view_as": reshape_as,
    "where": where,
}


def install() -> None:
    """Gives Tensors these methods."""
    for name, function in METHODS.items():
        setattr(Tensor, name, function)
