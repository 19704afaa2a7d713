"""The same elements in another shape or order.

Records are lean (canonical axes, full shapes); the public functions with NumPy's arguments stand
below each and turn what users write into what records take. Where there is nothing to do they
return an alias: writing to the result must not change the operand.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from operator import index as as_int
from typing import Any

import numpy as np

from codegen import sizes as sz
from codegen.ir import Trait
from codegen.sizes import Dim, Size, Sizes
from codegen.spelling import Spelling, spell
from codegen.types import ArrayType, broadcast, shape_text
from codegen.types import ShapeError as ShapeMismatch
from tracegrad.errors import ArgumentError, ArgumentValueError, AxisError, ShapeError
from tracegrad.ops import batching_rules
from tracegrad.ops.arguments import as_array, synonyms
from tracegrad.ops.elementwise.ufuncs import alias, copy_in_order
from tracegrad.ops.elementwise.ufuncs import copy as copy_of
from tracegrad.ops.record import TABLE, OpRecord, define
from tracegrad.ops.shape.creation import dtype_name, leaf, shape_tuple
from tracegrad.ops.type_rules import axes_of, broadcast_shape, permuted, reshaped, same
from tracegrad.values.dispatch import HANDLERS, SIZES, apply_in, dtype_of, ndim_of, shape_of

VIEW = (Trait.VIEW,)
VIEW_IN_ORDER = (Trait.VIEW, Trait.KEEPS_ORDER)


# -- axes as users write them -------------------------------------------------------------------


def one_axis(axis: Any, ndim: int) -> int:
    """A single axis as a non-negative int; raises NumPy's error."""
    number = as_int(axis)
    if not -ndim <= number < ndim:
        raise AxisError(f"axis {number} is out of bounds for an array with {ndim} axes")
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


def one_or_many(axes: tuple[int, ...]) -> int | tuple[int, ...]:
    """A single axis as an int, as one writes it."""
    return axes[0] if len(axes) == 1 else axes


def brackets(items: Mapping[int, str]) -> str:
    """The source between the brackets that treats these axes so and takes the others whole."""
    return ", ".join(items.get(axis, ":") for axis in range(max(items) + 1))


def apart_from(view: Any) -> Any:
    """A view that was just made, where the function gives memory of its own.

    A value of a graph is never written to: there it is enough that nobody counts it as a view.
    """
    if type(view) is np.ndarray:
        return view.copy()
    if getattr(view, "_traced", None) is not None:
        view._view, view._array = None, np.array(view._array)
        return view
    return copy_of(view) if hasattr(view, "_array") else view


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
    batch=batching_rules.broadcasting,
)
spread = define(
    "spread",
    "np.full(shape, x)",
    jax="jnp.broadcast_to(x, shape)",
    infer=broadcast_shape,
    vjp=_broadcast_vjp,
    attributes={"shape": ...},
    traits=(Trait.SPLAT, Trait.WRITTEN_OUT),
    memory=lambda x, shape: None,
    batch=batching_rules.broadcasting,
    doc="""The cotangent of a sum: `x` repeated to `shape`, but where arrays repeat it anyway.

    It is an array, and a view in programs where no bit depends on how it lies in memory.
    """,
)


def broadcast_to(x: Any, shape: Sequence[Dim] | int) -> Any:
    """`x` repeated to `shape`, a read-only view, as ``np.broadcast_to``."""
    return broadcast_to_shape(x, shape=shape_tuple(shape))


def broadcast_beside(x: Any, shape: Sequence[Dim], like: Any) -> Any:
    """`x`, which may be a plain array, repeated to lengths that belong to the graph of `like`."""
    like = like if type(like) in HANDLERS else x
    return apply_in(like, broadcast_to_shape, {"shape": tuple(shape)}, x)


def sizes_of(operands: Sequence[Any]) -> Sizes:
    """What is believed of lengths in the graph that these operands belong to, if in one."""
    for x in operands:
        believed = SIZES[type(x)](x) if type(x) in SIZES else None
        if believed is not None:
            return believed
    return Sizes()


def broadcast_arrays(*arrays: Any) -> list[Any]:
    """A list of the arrays, repeated to the shape that they broadcast to together."""
    arrays = tuple(map(as_array, arrays))
    shapes = [shape_of(x) for x in arrays]
    try:
        whole = broadcast(sizes_of(arrays), shapes)
    except ShapeMismatch as error:
        raise ShapeError(f"broadcast_arrays: {error}") from None
    like = next((x for x in arrays if type(x) in HANDLERS), None)
    return [
        alias(x) if shape == whole else apply_in(like, broadcast_to_shape, {"shape": whole}, x)
        for x, shape in zip(arrays, shapes, strict=True)
    ]


def length_of(x: Any, axis: int) -> int:
    """A length as a number, where a result depends on it: while tracing, a look."""
    return sizes_of([x]).fix(shape_of(x)[axis])


def broadcast_shapes(*shapes: Any) -> tuple[int, ...]:
    """The shape that arrays of these shapes broadcast to."""
    return np.broadcast_shapes(*shapes)


def meshgrid(
    *arrays: Any, indexing: str = "xy", copy: bool = True, sparse: bool = False
) -> list[Any]:
    """Coordinate arrays of a grid: for each vector one in the list, that varies along its own axis.

    With ``indexing="xy"`` the first two axes are exchanged, as ``np.meshgrid`` does. With `sparse`
    the other axes have length 1.
    """
    if indexing not in ("xy", "ij"):
        raise ArgumentValueError(f'indexing={indexing!r}: must be "xy" or "ij"')
    vectors = [ravel(as_array(x)) for x in arrays]
    places = list(range(len(vectors)))
    if indexing == "xy" and len(vectors) > 1:
        places[:2] = [1, 0]
    lengths = dict(zip(places, (shape_of(v)[0] for v in vectors), strict=True))
    whole = tuple(lengths[i] for i in range(len(vectors)))
    like = next((v for v in vectors if type(v) in HANDLERS), None)
    grids = []
    for vector, place in zip(vectors, places, strict=True):
        others = tuple(i for i in range(len(whole)) if i != place)
        if others:
            vector = expand_axes(vector, axis=one_or_many(others))
        if others and not sparse:
            vector = apply_in(like, broadcast_to_shape, {"shape": whole}, vector)
        grids.append(copy_in_order(vector) if copy else vector)
    return grids


# -- reshaping ----------------------------------------------------------------------------------


def _reshape_text(attributes: Mapping[str, Any]) -> Spelling:
    shape = attributes["shape"]
    if len(shape) == 1 and isinstance(shape[0], Size):  # a number might be a wrong one
        return spell("x.reshape(-1)")  # a view where the lengths, as numbers, would make one
    free = sum(isinstance(dim, Size) for dim in shape)
    if free == 1 and 0 not in shape:  # it follows from the others
        lengths = ", ".join("-1" if isinstance(dim, Size) else str(dim) for dim in shape)
        return spell(f"x.reshape({lengths})")
    return spell("x.reshape(shape)")


reshape_to: OpRecord = define(
    "reshape",
    _reshape_text,
    infer=reshaped,
    vjp=lambda ct, y, x, shape: (reshape_to(ct, shape=shape_of(x)),),
    attributes={"shape": ...},
    traits=VIEW_IN_ORDER,
    batch=batching_rules.reshaping,
)


def reshape(x: Any, shape: Any = (), *lengths: Any, order: str = "C", copy: Any = None) -> Any:
    """`x` in another shape with as many elements; one length may be -1.

    The shape is a tuple, or lengths one by one. With ``order="F"`` the elements are taken, and put,
    column after column. With ``copy=True`` the result has memory of its
    own; otherwise it shares that of `x` where it can, and ``copy=False`` raises where it cannot.
    """
    if copy:
        x = copy_of(x)
    wanted, order = shape_tuple((shape, *lengths) if lengths else shape), _order_of(x, order)
    if any(isinstance(d, int) and d < 0 for d in wanted):
        return _reshape_to_rest(x, wanted, order, copy)
    return _reshape(x, wanted, order, copy)


def _reshape_to_rest(x: Any, asked: tuple[Dim, ...], order: str, copy: Any) -> Any:
    """`x` in a shape of which one length stands for what is left; errors tell it as it is asked."""
    wanted = _completed(x, asked)
    try:
        return _reshape(x, wanted, order, copy)
    except ShapeError as error:
        sizes = sizes_of([x])
        told, plainly = (f" into {shape_text(sizes, dims)}" for dims in (wanted, asked))
        error.args = (str(error).replace(told, plainly, 1),)
        raise


def _reshape(x: Any, wanted: tuple[Dim, ...], order: str, copy: Any) -> Any:
    """`x` in a shape of known lengths."""
    if copy is False:
        _refuse_copy(x, wanted)
    if order == "F" and (ndim_of(x) > 1 or len(wanted) > 1):
        turned = transpose(x) if ndim_of(x) > 1 else x
        found = reshape_to(turned, shape=wanted[::-1])
        return transpose(found) if len(wanted) > 1 else found
    return reshape_to(x, shape=wanted)


def _order_of(x: Any, order: str) -> str:
    """``"C"`` or ``"F"``: of ``"A"`` and ``"K"``, whichever is that of the elements in memory."""
    order = str(order).upper()
    if order in ("C", "F"):
        return order
    if order not in ("A", "K"):
        raise ArgumentValueError(f'order={order!r}: must be "C", "F", "A" or "K"')
    array, traced = getattr(x, "_array", x), getattr(x, "_traced", None)
    if not isinstance(array, np.ndarray) or array.ndim < 2:
        return "C"
    if traced is not None:  # the program is for arrays that lie as those of this call
        trace, value = traced
        trace.depends_on_order(2)
        for axis in range(array.ndim):
            trace.look_at_length(value, axis)
    if order == "K" and not array.flags.forc:
        raise ArgumentError(
            'order="K": the elements lie in memory neither row after row nor column after column; '
            'say order="C" or order="F"'
        )
    return "F" if array.flags.fnc else "C"


def _refuse_copy(x: Any, shape: tuple[Dim, ...]) -> None:
    """Raises where the memory of an array, as it lies now, cannot be seen in this shape."""
    array = getattr(x, "_array", x)
    if isinstance(array, np.ndarray) and all(isinstance(length, int) for length in shape):
        np.reshape(array, shape, copy=False)  # type: ignore[type-var]


def _completed(x: Any, wanted: tuple[Dim, ...]) -> tuple[Dim, ...]:
    """The shape with its negative length, which stands for what is left, replaced."""
    shape = shape_of(x)
    known = [d for d in wanted if not (isinstance(d, int) and d < 0)]
    if len(known) + 1 != len(wanted):
        raise ShapeError(f"reshape: {wanted} has more than one unknown length")
    if 0 in known:
        old, new = (shape_text(sizes_of([x]), dims) for dims in (shape, wanted))
        raise ShapeError(f"reshape: cannot reshape {old} into {new}")
    rest = sz.quotient(sz.mul(shape), sz.mul(known))
    return tuple(rest if isinstance(d, int) and d < 0 else d for d in wanted)


def ravel(x: Any, order: str = "C") -> Any:
    """`x` with one axis; a copy where its elements do not lie one after the other in memory."""
    order = _order_of(x, order)
    flat = alias(x) if ndim_of(x) == 1 else reshape(x, -1, order=order)
    array = getattr(x, "_array", x)
    if not isinstance(array, np.ndarray) or flat is x:
        return flat
    if not (array.flags.f_contiguous if order == "F" else array.flags.c_contiguous):
        lies_apart = hasattr(flat, "_array") and not flat._array.flags.c_contiguous
        # Products add the elements of a copy in another order than those that lie apart.
        flat = copy_of(flat) if lies_apart else apart_from(flat)
    if getattr(x, "_traced", None) is not None:
        x._traced[0].note_reshape(x, flat, axes=1)
    return flat


in_order: OpRecord = define(
    "in_order",
    "np.asarray(x, order=order)",
    jax="x",  # immutable, and without an order
    infer=same,
    vjp=lambda ct, y, x, order: (ct,),
    attributes={"order": ...},
    traits=VIEW,
    batch=batching_rules.elementwise,
    doc="x where its elements lie in this order (C, F, A) in memory, else a copy in it.",
)


def laid_out(x: Any, order: str | None, copy: bool | None) -> Any:
    """`x` in an order of elements in memory, as ``np.array(x, order=order, copy=copy)`` has it.

    ``copy=False`` raises where that takes a copy.
    """
    order = str(order or "K").upper()
    if order not in ("C", "F", "A", "K"):
        raise ArgumentValueError(f'order={order!r}: must be "C", "F", "A" or "K"')
    if order == "K" or not ndim_of(x):
        return copy_of(x) if copy else x
    if copy and order == "C":
        return TABLE["copy_in_order"](x)
    found = in_order(x, order=order)
    if copy:
        return apart_from(found)
    if copy is False:
        _refuse_other_order(x, order)
    return found


def copy(x: Any, order: str = "K") -> Any:
    """The same values in memory of their own, in the order of `x` or in that of rows ("C")."""
    return laid_out(x, order, True)


def astype(
    x: Any, dtype: Any, copy: bool = True, device: Any = None, order: str | None = "K"
) -> Any:
    """`x` in another dtype; with ``copy=False`` `x` itself where it has that dtype."""
    name = dtype_name(dtype)
    if copy or dtype_of(x) != name:
        x = TABLE["astype"](x, dtype=name)
    return leaf(laid_out(x, order, None), False, device)


def _refuse_other_order(x: Any, order: str) -> None:
    """Raises where the elements of an array do not lie in an order; so it is in every call."""
    traced = getattr(x, "_traced", None)
    if traced is not None:
        traced[0].depends_on_order(1)
    array = getattr(x, "_array", x)
    if isinstance(array, np.ndarray):
        np.array(array, copy=False, order=order)  # type: ignore[call-overload]


def flatten(x: Any, start_dim: int | str = 0, end_dim: int = -1, order: str = "C") -> Any:
    """`x` with one axis for those from `start_dim` to `end_dim`, in memory of its own."""
    if isinstance(start_dim, str):  # as NumPy has it: x.flatten("F")
        return copy_of(ravel(x, start_dim))
    count = ndim_of(x)
    if start_dim in (0, -count) and end_dim in (-1, count - 1):
        return copy_of(ravel(x, order))
    first, last = (one_axis(axis, count) for axis in (start_dim, end_dim))
    if last < first:
        raise ArgumentError(f"flatten: start_dim={start_dim} comes after end_dim={end_dim}")
    shape = shape_of(x)
    whole = sz.mul(shape[first : last + 1])
    return copy_of(reshape(x, (*shape[:first], whole, *shape[last + 1 :]), order=order))


def _squeezed(sizes: Sizes, x: ArrayType, axis: Any) -> ArrayType:
    axes = (axis,) if isinstance(axis, int) else axis
    for a in axes:
        if not sizes.is_one(x.shape[a]):
            raise ShapeMismatch(f"squeeze: axis {a} has a length other than 1")
        sizes.fix(sizes.resolve(x.shape[a]))
    return x.with_shape([d for i, d in enumerate(x.shape) if i not in axes])


squeeze_axes = define(
    "squeeze",
    "x.squeeze(axis=axis)",
    infer=_squeezed,
    vjp=lambda ct, y, x, axis: (expand_axes(ct, axis=axis),),
    attributes={"axis": ...},
    traits=VIEW_IN_ORDER,
    batch=batching_rules.along("axis"),
)


@synonyms
def squeeze(x: Any, axis: Any = None) -> Any:
    """`x` without axes of length 1: those named, or all of them."""
    if axis is None:
        axes = tuple(i for i in range(ndim_of(x)) if length_of(x, i) == 1)
    else:
        axes = many_axes(axis, ndim_of(x))
    return squeeze_axes(x, axis=one_or_many(axes)) if axes else alias(x)


def _expanded(sizes: Sizes, x: ArrayType, axis: Any) -> ArrayType:
    axes = (axis,) if isinstance(axis, int) else axis
    shape = list(x.shape)
    for a in sorted(axes):
        shape.insert(a, 1)
    return ArrayType(x.dtype, tuple(shape))


def _expand_text(attributes: Mapping[str, Any]) -> Spelling:
    axes = axes_of(attributes["axis"], 0)
    return spell(f"x[{brackets(dict.fromkeys(axes, 'None'))}]")


expand_axes: OpRecord = define(
    "expand_dims",
    _expand_text,
    infer=_expanded,
    vjp=lambda ct, y, x, axis: (squeeze_axes(ct, axis=axis),),
    attributes={"axis": ...},
    traits=VIEW_IN_ORDER,
    batch=batching_rules.along("axis"),
)


@synonyms
def expand_dims(x: Any, axis: Any = 0) -> Any:
    """`x` with new axes of length 1 at these places of the result."""
    count = len(axis) if isinstance(axis, tuple | list) else 1
    axes = many_axes(axis, ndim_of(x) + count)
    return expand_axes(x, axis=one_or_many(axes)) if axes else alias(x)


def _at_least(ndim: int, place: Callable[[int], tuple[int, ...]]) -> Callable[..., Any]:
    def function(*arrays: Any) -> Any:
        grown = tuple(
            expand_dims(x, place(ndim_of(x))) if ndim_of(x) < ndim else alias(x)
            for x in map(as_array, arrays)
        )
        return grown[0] if len(grown) == 1 else grown

    function.__name__ = function.__qualname__ = f"atleast_{ndim}d"
    function.__doc__ = f"The arrays with at least {ndim} ax{'es' if ndim > 1 else 'is'}."
    return function


atleast_1d = _at_least(1, lambda ndim: (0,))
atleast_2d = _at_least(2, lambda ndim: tuple(range(2 - ndim)))
atleast_3d = _at_least(3, lambda ndim: {0: (0, 1, 2), 1: (0, 2), 2: (2,)}[ndim])


# -- order of axes ------------------------------------------------------------------------------


def _inverse(axes: tuple[int, ...] | None) -> tuple[int, ...] | None:
    return None if axes is None else tuple(axes.index(i) for i in range(len(axes)))


def _transpose_text(attributes: Mapping[str, Any]) -> Spelling:
    axes = attributes["axes"]
    if axes is None:
        return spell("x.T")
    n = len(axes)
    last_two_exchanged = axes == (*range(n - 2), n - 1, n - 2)
    return spell("x.mT" if last_two_exchanged else "x.transpose(axes)")


transpose_axes: OpRecord = define(
    "transpose",
    _transpose_text,
    infer=permuted,
    vjp=lambda ct, y, x, axes: (transpose_axes(ct, axes=_inverse(axes)),),
    attributes={"axes": ...},
    traits=VIEW,
    batch=batching_rules.transposing,
)


def transpose(x: Any, axes: Any = None, *other: int) -> Any:
    """`x` with its axes in another order (reversed when none is given).

    ``transpose(x, 0, 1)`` exchanges these two, as PyTorch has it.
    """
    if other:
        return swapaxes(x, axes, *other)
    ndim = ndim_of(x)
    if axes is None or (not isinstance(axes, int) and not len(axes)):
        return alias(x) if ndim < 2 else transpose_axes(x, axes=None)
    return permute_dims(x, (axes,) if isinstance(axes, int) else axes)


def permute_dims(x: Any, axes: Sequence[int]) -> Any:
    """`x` with axis ``axes[i]`` at place i."""
    ndim = ndim_of(x)
    order = tuple(one_axis(a, ndim) for a in axes)
    if sorted(order) != list(range(ndim)):
        raise ShapeError(f"axes {tuple(axes)} are no permutation of {ndim} axes")
    if order == tuple(range(ndim)):
        return alias(x)
    return transpose_axes(x, axes=None if order == tuple(reversed(range(ndim))) else order)


def matrix_transpose(x: Any) -> Any:
    """`x` with its last two axes exchanged."""
    if ndim_of(x) < 2:
        raise ShapeError(f"a matrix has two axes or more, not {ndim_of(x)}")
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


def rollaxis(x: Any, axis: int, start: int = 0) -> Any:
    """`x` with an axis moved before the one at `start` (`moveaxis` says it better)."""
    ndim = ndim_of(x)
    origin = one_axis(axis, ndim)
    before = one_axis(start, ndim + 1)
    return moveaxis(x, origin, before - (before > origin))


# -- order along axes ---------------------------------------------------------------------------


def _flip_text(attributes: Mapping[str, Any]) -> Spelling:
    return spell(f"x[{brackets(dict.fromkeys(attributes['axes'], '::-1'))}]")


flip_axes: OpRecord = define(
    "flip",
    _flip_text,
    infer=same,
    vjp=lambda ct, y, x, axes: (flip_axes(ct, axes=axes),),
    attributes={"axes": ...},
    traits=(Trait.VIEW, Trait.INVOLUTION),
    batch=batching_rules.along("axes"),
)


@synonyms
def flip(x: Any, axis: Any = None) -> Any:
    """`x` with the order along these axes reversed (all axes by default)."""
    ndim = ndim_of(x)
    axes = tuple(range(ndim)) if axis is None else many_axes(axis, ndim)
    return flip_axes(x, axes=axes) if axes else alias(x)


def fliplr(x: Any) -> Any:
    """`x` with its columns in reverse order."""
    return flip(x, 1)


def flipud(x: Any) -> Any:
    """`x` with its rows in reverse order."""
    return flip(x, 0)


@synonyms
def rot90(x: Any, k: int = 1, axes: Any = (0, 1)) -> Any:
    """`x` turned by `k` times 90 degrees, from the first of two axes towards the second."""
    a, b = (one_axis(axis, ndim_of(x)) for axis in axes)
    if a == b:
        raise ShapeError(f"rot90: the plane needs two different axes, not {tuple(axes)}")
    match as_int(k) % 4:
        case 0:
            return alias(x)
        case 1:
            return swapaxes(flip(x, b), a, b)
        case 2:
            return flip(x, (a, b))
        case _:
            return flip(swapaxes(x, a, b), b)


def _negated(shift: Any) -> Any:
    return -shift if isinstance(shift, int) else tuple(-s for s in shift)


roll_by: OpRecord = define(
    "roll",
    "np.roll(x, shift, axis=axis)",
    infer=same,
    vjp=lambda ct, y, x, shift, axis: (roll_by(ct, shift=_negated(shift), axis=axis),),
    attributes={"shift": ..., "axis": None},
    batch=batching_rules.rolling,
)


@synonyms
def roll(x: Any, shift: Any, axis: Any = None) -> Any:
    """`x` with its elements shifted along axes (along the whole without one), the last first."""
    shifts = [as_int(s) for s in shift] if isinstance(shift, tuple | list) else [as_int(shift)]
    if axis is None:
        return roll_by(x, shift=sum(shifts), axis=None)
    ndim = ndim_of(x)
    given = axis if isinstance(axis, tuple | list) else (axis,)
    axes = [one_axis(a, ndim) for a in given]
    length = max(len(axes), len(shifts))
    if not {len(axes), len(shifts)} <= {1, length}:
        raise ShapeError(f"roll: {len(shifts)} shifts for {len(axes)} axes")
    total: dict[int, int] = {}
    for i in range(length):
        a = axes[i % len(axes)]
        total[a] = total.get(a, 0) + shifts[i % len(shifts)]
    if not total:
        return apart_from(alias(x))
    return roll_by(x, shift=one_or_many(tuple(total.values())), axis=one_or_many(tuple(total)))


__all__ = [
    "astype",
    "atleast_1d",
    "atleast_2d",
    "atleast_3d",
    "broadcast_arrays",
    "broadcast_shapes",
    "broadcast_to",
    "copy",
    "expand_dims",
    "flatten",
    "flip",
    "fliplr",
    "flipud",
    "matrix_transpose",
    "meshgrid",
    "moveaxis",
    "permute_dims",
    "ravel",
    "reshape",
    "roll",
    "rollaxis",
    "rot90",
    "squeeze",
    "swapaxes",
    "transpose",
]
