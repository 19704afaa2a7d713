"""An array enters, the same elements in another shape or order leave.

Records are lean (canonical axes, full shapes); the public functions with NumPy's arguments stand
below each and turn what users write into what records take.
"""

from __future__ import annotations

from collections.abc import Sequence
from operator import index as as_int
from typing import Any

from codegen import sizes as sz
from codegen.ir import Trait
from codegen.sizes import Dim, Size, Sizes
from codegen.spelling import Spelling, spell
from codegen.types import ArrayType
from tracegrad.dispatch import ndim_of, shape_of
from tracegrad.errors import ShapeError
from tracegrad.ops.record import define
from tracegrad.ops.rules import broadcast_shape, permuted, reshaped

VIEW = (Trait.VIEW,)


# -- axes as users write them -------------------------------------------------------------------


def one_axis(axis: Any, ndim: int) -> int:
    """A single axis as a non-negative int; raises NumPy's error."""
    number = as_int(axis)
    if not -ndim <= number < ndim:
        raise ShapeError(f"axis {number} is out of bounds for an array with {ndim} axes")
    return number % ndim if ndim else 0


def many_axes(axis: Any, ndim: int) -> tuple[int, ...]:
    """Axes as sorted non-negative ints."""
    several = tuple(axis) if isinstance(axis, tuple | list) else (axis,)
    axes = tuple(sorted(one_axis(a, ndim) for a in several))
    if len(set(axes)) != len(axes):
        raise ShapeError(f"an axis is named twice: {axis}")
    return axes


def canonical_axis(axis: Any, ndim: int) -> int | tuple[int, ...] | None:
    """What reductions take: None for all axes, an int for one, a tuple for several."""
    if axis is None:
        return None
    axes = many_axes(axis, ndim)
    if len(axes) == ndim and ndim != 1:
        return None
    return axes[0] if len(axes) == 1 else axes


# -- broadcasting -------------------------------------------------------------------------------


def _broadcast_vjp(ct: Any, y: Any, x: Any, shape: Any) -> tuple[Any]:
    return (ct,)  # the walker sums it down


broadcast_to_shape = define(
    "broadcast_to",
    "np.broadcast_to(x, shape)",
    infer=broadcast_shape,
    vjp=_broadcast_vjp,
    attributes={"shape": ...},
    traits=(Trait.SPLAT,),
)


def broadcast_to(x: Any, shape: Sequence[Dim] | int) -> Any:
    """`x` repeated to `shape`, a read-only view, as ``np.broadcast_to``."""
    return broadcast_to_shape(x, shape=shape_tuple(shape))


def shape_tuple(shape: Any) -> tuple[Dim, ...]:
    """A shape as users give it (an int, a sequence, Tensors in it) as a tuple."""
    several = shape if isinstance(shape, tuple | list) else (shape,)
    return tuple(d if isinstance(d, int | Size) else as_int(d) for d in several)


# -- reshaping ----------------------------------------------------------------------------------

reshape_to = define(
    "reshape",
    "x.reshape(shape)",
    infer=reshaped,
    vjp=lambda ct, y, x, shape: (reshape_to(ct, shape=shape_of(x)),),
    attributes={"shape": ...},
    traits=VIEW,
)


def reshape(x: Any, *shape: Any, order: str = "C") -> Any:
    """`x` in another shape with as many elements; one length may be -1."""
    wanted = shape_tuple(shape[0] if len(shape) == 1 else shape)
    if order != "C":
        raise ShapeError(f"reshape: only order='C' is differentiable here, not {order!r}")
    if -1 in wanted:
        known = sz.mul([d for d in wanted if d != -1])
        rest = sz.quotient(sz.mul(shape_of(x)), known)
        wanted = tuple(rest if d == -1 else d for d in wanted)
    return reshape_to(x, shape=wanted)


def ravel(x: Any) -> Any:
    """`x` with one axis."""
    return x if ndim_of(x) == 1 else reshape(x, -1)


flatten = ravel


def _squeezed(sizes: Sizes, x: ArrayType, axis: Any) -> ArrayType:
    axes = (axis,) if isinstance(axis, int) else axis
    for a in axes:
        if not sizes.is_one(x.shape[a]):
            raise ShapeError(f"squeeze: axis {a} has a length other than 1")
        sizes.fix(sizes.resolve(x.shape[a]))
    return x.with_shape([d for i, d in enumerate(x.shape) if i not in axes])


squeeze_axes = define(
    "squeeze",
    "np.squeeze(x, axis=axis)",
    infer=_squeezed,
    vjp=lambda ct, y, x, axis: (expand_axes(ct, axis=axis),),
    attributes={"axis": ...},
    traits=VIEW,
)


def squeeze(x: Any, axis: Any = None) -> Any:
    """`x` without axes of length 1: those named, or all of them."""
    shape = shape_of(x)
    if axis is None:
        seen = getattr(x, "shape", ())  # which axes go is a look at the lengths
        axes = tuple(i for i, d in enumerate(seen) if d == 1)
    else:
        axes = many_axes(axis, len(shape))
    if not axes:
        return x
    return squeeze_axes(x, axis=axes[0] if len(axes) == 1 else axes)


def _expanded(sizes: Sizes, x: ArrayType, axis: Any) -> ArrayType:
    axes = (axis,) if isinstance(axis, int) else axis
    shape = list(x.shape)
    for a in sorted(axes):
        shape.insert(a, 1)
    return ArrayType(x.dtype, tuple(shape))


expand_axes = define(
    "expand_dims",
    "np.expand_dims(x, axis)",
    infer=_expanded,
    vjp=lambda ct, y, x, axis: (squeeze_axes(ct, axis=axis),),
    attributes={"axis": ...},
    traits=VIEW,
)


def expand_dims(x: Any, axis: Any = 0) -> Any:
    """`x` with new axes of length 1 at these places of the result."""
    count = len(axis) if isinstance(axis, tuple | list) else 1
    axes = many_axes(axis, ndim_of(x) + count)
    return expand_axes(x, axis=axes[0] if len(axes) == 1 else axes)


# -- order of axes ------------------------------------------------------------------------------


def _inverse(axes: tuple[int, ...] | None) -> tuple[int, ...] | None:
    return None if axes is None else tuple(axes.index(i) for i in range(len(axes)))


def _transpose_text(attributes: Any) -> Spelling:
    return spell("x.T" if attributes["axes"] is None else "x.transpose(axes)")


transpose_axes = define(
    "transpose",
    _transpose_text,
    infer=permuted,
    vjp=lambda ct, y, x, axes: (transpose_axes(ct, axes=_inverse(axes)),),
    attributes={"axes": ...},
    traits=VIEW,
)


def transpose(x: Any, *axes: Any) -> Any:
    """`x` with its axes in another order (reversed when none is given)."""
    given = axes[0] if len(axes) == 1 and not isinstance(axes[0], int) else axes
    ndim = ndim_of(x)
    if not given:
        return x if ndim < 2 else transpose_axes(x, axes=None)
    return permute_dims(x, given)


def permute_dims(x: Any, axes: Sequence[int]) -> Any:
    """`x` with axis ``axes[i]`` at place i."""
    ndim = ndim_of(x)
    order = tuple(one_axis(a, ndim) for a in axes)
    if sorted(order) != list(range(ndim)):
        raise ShapeError(f"axes {tuple(axes)} are no permutation of {ndim} axes")
    if order == tuple(range(ndim)):
        return x
    return transpose_axes(x, axes=None if order == tuple(reversed(range(ndim))) else order)


def matrix_transpose(x: Any) -> Any:
    """`x` with its last two axes exchanged."""
    return swapaxes(x, -1, -2)


def swapaxes(x: Any, axis1: int, axis2: int) -> Any:
    """`x` with two axes exchanged."""
    ndim = ndim_of(x)
    order = list(range(ndim))
    a, b = one_axis(axis1, ndim), one_axis(axis2, ndim)
    order[a], order[b] = order[b], order[a]
    return permute_dims(x, order)


def moveaxis(x: Any, source: Any, destination: Any) -> Any:
    """`x` with axes moved to other places, the rest in order."""
    ndim = ndim_of(x)
    several = [list(a) if isinstance(a, tuple | list) else [a] for a in (source, destination)]
    froms, tos = ([one_axis(a, ndim) for a in axes] for axes in several)
    if len(froms) != len(tos):
        raise ShapeError("moveaxis: source and destination have different lengths")
    order = [i for i in range(ndim) if i not in froms]
    for to, origin in sorted(zip(tos, froms, strict=True)):
        order.insert(to, origin)
    return permute_dims(x, order)


__all__ = [
    "broadcast_to",
    "expand_dims",
    "flatten",
    "matrix_transpose",
    "moveaxis",
    "permute_dims",
    "ravel",
    "reshape",
    "squeeze",
    "swapaxes",
    "transpose",
]
