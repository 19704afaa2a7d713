"""Elements chosen along an axis or by a shape: take, diagonals, triangles."""

from __future__ import annotations

from operator import index as as_int
from typing import Any

import numpy as np

from codegen.ir import Trait
from codegen.sizes import Sizes
from codegen.spelling import Slot, Spelling, Subscript
from codegen.types import ArrayType, broadcast
from codegen.types import ShapeError as ShapeMismatch
from tracegrad.errors import ArgumentValueError, ShapeError
from tracegrad.ops import batching_rules
from tracegrad.ops.arguments import as_array, holds_tensors, synonyms
from tracegrad.ops.elementwise.ufuncs import copy_in_order, maximum, minimum, not_equal, remainder
from tracegrad.ops.index_bounds import all_within
from tracegrad.ops.program_functions import needs
from tracegrad.ops.record import define
from tracegrad.ops.shape.creation import (
    arange_in,
    arange_of,
    bare,
    beside,
    dims_of_shape,
    extent_like,
    new,
)
from tracegrad.ops.shape.indexing import COPIED, Scattered, getitem, scatter
from tracegrad.ops.shape.memory_order import row_after_row
from tracegrad.ops.shape.reshaping import (
    apart_from,
    expand_axes,
    one_axis,
    one_or_many,
    ravel,
    sizes_of,
)
from tracegrad.values.dispatch import SEQUENCES, dtype_of, ndim_of, shape_of, small_of

# -- along an axis ------------------------------------------------------------------------------


@synonyms
def take(x: Any, indices: Any, axis: Any = None, mode: str = "raise") -> Any:
    """The elements, or whole slices along `axis`, at these indices.

    mode
        What an index out of bounds does: ``"raise"``, ``"wrap"`` or ``"clip"``.
    """
    if axis is None:
        x, axis = ravel(x), 0
    axis = one_axis(axis, ndim_of(x))
    if mode != "raise":
        indices = _within(
            as_array(beside(indices, x)), extent_like(x, shape_of(x)[axis], "int64"), mode
        )
    taken = getitem(x, (*[slice(None)] * axis, indices))
    if isinstance(indices, int | np.integer):
        taken = apart_from(taken)
    elif axis and ndim_of(indices):
        return copy_in_order(taken)
    return row_after_row(taken)


def _within(indices: Any, length: Any, mode: str) -> Any:
    match mode:
        case "wrap":
            return remainder(indices, length)
        case "clip":
            return minimum(maximum(indices, 0), length - 1)
    raise ArgumentValueError(f'mode={mode!r}: must be "raise", "wrap" or "clip"')


def _along(x: Any, indices: Any, axis: int) -> tuple[Any, ...]:
    """Arrays that name, for every place of `indices`, the element of `x` that it means."""
    ndim, shape = ndim_of(x), shape_of(x)
    grid = []
    for a in range(ndim):
        numbers = indices
        if a != axis:
            numbers = arange_in(x, shape[a])
            if a < ndim - 1:
                numbers = expand_axes(numbers, axis=one_or_many(tuple(range(1, ndim - a))))
        grid.append(numbers)
    return tuple(grid)


def _take_along_type(sizes: Sizes, x: ArrayType, indices: ArrayType, axis: int) -> ArrayType:
    if x.ndim != indices.ndim:
        raise ShapeMismatch(f"indices have {indices.ndim} axes, the array has {x.ndim}")
    own = [shape[:axis] + shape[axis + 1 :] for shape in (x.shape, indices.shape)]
    others = broadcast(sizes, own)
    return ArrayType(x.dtype, (*others[:axis], indices.shape[axis], *others[axis:]))


def _take_along_vjp(ct: Any, y: Any, x: Any, indices: Any, axis: int) -> tuple[Any, None]:
    return add_along(ct, x, indices, axis), None


take_along = define(
    "take_along_axis",
    "np.take_along_axis(x, indices, axis=axis)",
    operands="x indices",
    infer=_take_along_type,
    vjp=_take_along_vjp,
    attributes={"axis": ...},
    traits=(Trait.KEEPS_ORDER,),
    sound=lambda y, x, indices, axis: (
        all_within(indices, length=shape_of(x)[axis], from_end=True),
    ),
    batch=batching_rules.along_an_axis,
)


def add_along(ct: Any, like: Any, indices: Any, axis: int) -> Any:
    """Zeros of the shape of `like` with `ct` added at these indices along an axis."""
    grid = _along(like, indices, axis)
    index = Subscript(tuple(map(Slot, range(len(grid)))))
    once = shape_of(indices)[axis] == 1  # then no place is named twice
    return scatter(ct, like, *grid, index=index, repeats=not once)


place_along: Any = define(
    "place_along_axis",
    "out = np.zeros(shape, dtype=dtype)\nnp.put_along_axis(out, indices, ct, axis=axis)",
    jax="jnp.put_along_axis(jnp.zeros(shape, dtype=dtype), indices, ct, axis=axis, inplace=False)",
    operands="ct indices",
    infer=lambda sizes, ct, indices, axis, shape, dtype: ArrayType(dtype, dims_of_shape(shape)),
    vjp=lambda g, y, ct, indices, axis, shape, dtype: (take_along(g, indices, axis=axis), None),
    attributes={"axis": ..., "shape": ..., "dtype": "float64"},
    traits=(Trait.C_ORDER,),
    batch=batching_rules.placing_along,
    doc="Zeros of `shape` with `ct` at indices along an axis, which name no place twice.",
)


def put_back(ct: Any, like: Any, indices: Any, axis: int) -> Any:
    """`place_along` for a cotangent of what was taken from `like` at different indices."""
    shape = bare(shape_of(like))
    return place_along(ct, indices, axis=axis, shape=shape, dtype=dtype_of(ct))


# Run here for its own kernel, read as source for programs, where `np` is known.


def increase_along(x, indices, ct, axis):
    """Adds ct in place at indices along an axis, which name no place twice."""
    index = []
    for a, n in enumerate(x.shape):
        index.append(np.arange(n).reshape((n,) + (1,) * (x.ndim - a - 1)))
    index[axis] = indices
    x[tuple(index)] += ct


increased_along: Any = define(
    "increase_along",
    Spelling(
        f"{COPIED}\nincrease_along(out, indices, ct, axis)",
        "increase_along(x, indices, ct, axis)",
    ),
    jax="jnp.put_along_axis(x, indices, jnp.take_along_axis(x, indices, axis=axis) + ct,"
    " axis=axis, inplace=False)",
    operands="x ct indices",
    infer=lambda sizes, x, ct, indices, axis: x,
    vjp=lambda g, y, x, ct, indices, axis: (g, take_along(g, indices, axis=axis), None),
    attributes={"axis": ...},
    traits=(Trait.UPDATE,),
    needs=needs((increase_along,)),
    batch=batching_rules.increasing_along,
    doc="x with `ct` added at indices along an axis, which name no place twice.",
)


class PutBack(Scattered):
    """A cotangent of `x` that is zero but at different indices along an axis."""

    __slots__ = ()

    def with_value(self, ct: Any) -> PutBack:
        """The same places with other values."""
        return PutBack(ct, self.x, self.arrays, self.at)

    def alone(self) -> Any:
        """The whole cotangent."""
        return put_back(self.ct, self.x, *self.arrays, **self.at)

    def onto(self, total: Any, negative: bool = False) -> Any:
        """Another cotangent of `x` with this one added, or taken from it."""
        ct = -self.ct if negative else self.ct
        return increased_along(total, ct, *self.arrays, **self.at)

    def into(self, total: Any, negative: bool = False) -> Any:
        """The same in the memory of the other, where it is an array."""
        if type(total) is not np.ndarray:
            return self.onto(total, negative)
        increase = increased_along.inplace_kernel(self.at)
        ct = small_of(self.ct)
        return increase(total, -ct if negative else ct, *self.arrays, **self.at)

    def index(self) -> None:
        """No index without arrays."""


@synonyms
def take_along_axis(x: Any, indices: Any, axis: Any = -1) -> Any:
    """The elements at these indices along `axis`, one for each place of `indices`."""
    if axis is None:
        x, axis = ravel(x), 0
    return take_along(x, as_array(indices), axis=one_axis(axis, ndim_of(x)))


@synonyms
def put_along_axis(x: Any, indices: Any, values: Any, axis: Any) -> None:
    """Writes `values` into the Tensor `x` at these indices along `axis`."""
    x[_along(x, as_array(indices), one_axis(axis, ndim_of(x)))] = values


@synonyms
def compress(condition: Any, x: Any, axis: Any = None) -> Any:
    """The slices along `axis` (the elements, without one) where `condition` is true."""
    x = as_array(x)
    if axis is None:
        x, axis = ravel(x), 0
    axis = one_axis(axis, ndim_of(x))
    if isinstance(condition, SEQUENCES) and not holds_tensors(condition):
        chosen: Any = np.flatnonzero(condition)  # may be shorter than the axis
    else:
        chosen = not_equal(as_array(condition), 0)
    return row_after_row(getitem(x, (*[slice(None)] * axis, chosen)))


def extract(condition: Any, x: Any) -> Any:
    """The elements of `x` where `condition` is true."""
    return getitem(ravel(as_array(x)), not_equal(ravel(as_array(condition)), 0))


# -- indices of diagonals and triangles ---------------------------------------------------------


def diag_indices(n: int, ndim: int = 2) -> tuple[Any, ...]:
    """The index of the main diagonal of an array of `ndim` axes of length `n`."""
    return (new(arange_of, start=0, stop=as_int(n), step=1, dtype=None),) * ndim


def diag_indices_from(x: Any) -> tuple[Any, ...]:
    """The index of the main diagonal of `x`."""
    shape = shape_of(x)
    if len(shape) < 2 or not all(sizes_of([x]).same(shape[0], dim) for dim in shape):
        raise ShapeError(f"diag_indices_from: all axes must be of one length, not {shape}")
    return (arange_in(x, shape[0]),) * len(shape)


def _triangle(name: str) -> Any:
    return define(
        name,
        f"np.{name}(rows, k, columns)",
        operands="",
        infer=lambda sizes, rows, k, columns: (
            (ArrayType("int64", (len(getattr(np, name)(rows, k, columns)[0]),)),) * 2
        ),
        attributes={"rows": ..., "k": ..., "columns": ...},
        differentiable=False,
    )


lower_triangle = _triangle("tril_indices")
upper_triangle = _triangle("triu_indices")


def tril_indices(n: int, k: int = 0, m: int | None = None) -> tuple[Any, Any]:
    """The index of what stands at and below the k-th diagonal of an n by m matrix."""
    columns = as_int(n if m is None else m)
    found: Any = new(lower_triangle, rows=as_int(n), k=as_int(k), columns=columns)
    return found


def triu_indices(n: int, k: int = 0, m: int | None = None) -> tuple[Any, Any]:
    """The index of what stands at and above the k-th diagonal of an n by m matrix."""
    columns = as_int(n if m is None else m)
    found: Any = new(upper_triangle, rows=as_int(n), k=as_int(k), columns=columns)
    return found


__all__ = [
    "compress",
    "diag_indices",
    "diag_indices_from",
    "extract",
    "put_along_axis",
    "take",
    "take_along_axis",
    "tril_indices",
    "triu_indices",
]
