"""An array and an index enter; the elements there, or the array with them replaced, leave.

`getitem` takes what NumPy's brackets take. Writing is functional: `index_set` gives a new array
(``x[i] = v`` on a Tensor rebinds the Tensor to it), and the lifetime pass turns it into a plain
assignment wherever the old array is dead.
"""

from __future__ import annotations

from collections.abc import Sequence
from operator import index as as_int
from typing import Any

import numpy as np

from codegen import sizes as sz
from codegen.ir import Trait
from codegen.sizes import Dim, Sizes
from codegen.spelling import Slot, Spelling, Subscript, spell
from codegen.types import ArrayType, ShapeError, broadcast, promote
from tracegrad.dispatch import HANDLERS, apply_in, dtype_of, ndim_of, shape_of, type_of
from tracegrad.errors import TracegradError
from tracegrad.ops.elementwise import alias, astype, where
from tracegrad.ops.record import define
from tracegrad.ops.shape import expand_axes
from tracegrad.state import STATE


def _indexed_shape(
    sizes: Sizes, x: ArrayType, arrays: tuple[ArrayType, ...], index: Subscript, counts: Any
) -> tuple[Dim, ...]:
    """The shape of ``x[index]`` (NumPy's rules for basic and advanced indices mixed)."""
    used = 0
    for item in index.items:
        if isinstance(item, Slot) and arrays[item.position].dtype == "bool":
            used += arrays[item.position].ndim
        elif item is not None and item is not Ellipsis:
            used += 1
    if used > x.ndim:
        raise ShapeError(f"too many indices: {used} for an array with {x.ndim} axes")
    advanced = any(isinstance(item, Slot) for item in index.items)
    shape: list[Dim | None] = []  # None marks where the advanced indices stand
    broadcasted: list[tuple[Dim, ...]] = []
    axis, mask = 0, 0
    for item in index.items:
        match item:
            case None:
                shape.append(1)
            case slice():
                shape.append(sz.slice_length(sizes.resolve(x.shape[axis]), item))
                axis += 1
            case Slot(position):
                array = arrays[position]
                if array.dtype == "bool":
                    for d, length in enumerate(array.shape):
                        if not sizes.same(length, x.shape[axis + d]):
                            raise ShapeError("a mask has another shape than what it masks")
                    axis += array.ndim
                    broadcasted.append((counts[mask],))
                    mask += 1
                else:
                    axis += 1
                    broadcasted.append(array.shape)
                shape.append(None)
            case _ if item is Ellipsis:
                rest = x.ndim - used
                shape.extend(x.shape[axis : axis + rest])
                axis += rest
            case _:
                axis += 1
                if advanced:
                    shape.append(None)
    shape.extend(x.shape[axis:])
    if not advanced:
        return tuple(d for d in shape if d is not None)
    places = [i for i, d in enumerate(shape) if d is None]
    whole = broadcast(sizes, broadcasted)
    kept = [d for d in shape if d is not None]
    together = places == list(range(places[0], places[0] + len(places)))
    at = places[0] if together else 0
    return (*kept[:at], *whole, *kept[at:])


def constant_items(
    x: ArrayType, arrays: Sequence[ArrayType], index: Subscript
) -> list[tuple[int, int]]:
    """The axes of `x` that the index takes one fixed place of, with that place."""

    def width(item: object) -> int:
        if isinstance(item, Slot) and arrays[item.position].dtype == "bool":
            return arrays[item.position].ndim
        return 0 if item is None or item is Ellipsis else 1

    rest = x.ndim - sum(map(width, index.items))
    found, axis = [], 0
    for item in index.items:
        if isinstance(item, int):
            found.append((axis, item))
        axis += rest if item is Ellipsis else width(item)
    return found


def _getitem_type(sizes: Sizes, x: ArrayType, *arrays: ArrayType, index: Any, counts: Any) -> Any:
    return ArrayType(x.dtype, _indexed_shape(sizes, x, arrays, index, counts))


def _getitem_vjp(ct: Any, y: Any, x: Any, *arrays: Any, index: Any, counts: Any) -> tuple[Any, ...]:
    return scatter(ct, x, *arrays, index=index, counts=counts), *([None] * len(arrays))


getitem_at = define(
    "getitem",
    "x[index]",
    operands="x *arrays",
    infer=_getitem_type,
    vjp=_getitem_vjp,
    attributes={"index": ..., "counts": ()},
    traits=(Trait.VIEW,),
    domain="index",
)


def _scatter_text(attributes: Any) -> Spelling:
    items = attributes["index"].items
    if any(isinstance(item, Slot) for item in items):
        return spell("out = np.zeros(shape, dtype=dtype)\nnp.add.at(out, index_tuple, ct)")
    return spell("out = np.zeros(shape, dtype=dtype)\nout[index] = ct")


def _scatter_type(
    sizes: Sizes, ct: ArrayType, *arrays: ArrayType, index: Any, counts: Any, shape: Any, dtype: Any
) -> ArrayType:
    return ArrayType(dtype, tuple(shape))


scatter_into = define(
    "scatter",
    _scatter_text,
    jax=lambda attributes: spell("jnp.zeros(shape, dtype=dtype).at[index].add(ct)"),
    operands="ct *arrays",
    infer=_scatter_type,
    vjp=lambda g, y, ct, *arrays, index, counts, shape, dtype: (
        getitem_at(g, *arrays, index=index, counts=counts),
        *([None] * len(arrays)),
    ),
    attributes={"index": ..., "counts": (), "shape": ..., "dtype": ...},
    traits=(Trait.C_ORDER,),
    doc="Zeros of `shape` with `ct` added at the index (repeated places add up).",
)


def scatter(ct: Any, x: Any, *arrays: Any, index: Any, counts: Any) -> Any:
    """The transpose of ``x[index]``."""
    return scatter_into(
        ct, *arrays, index=index, counts=counts, shape=shape_of(x), dtype=dtype_of(ct)
    )


# -- writing ------------------------------------------------------------------------------------


def _set_type(
    sizes: Sizes, x: ArrayType, value: ArrayType, *arrays: ArrayType, index: Any, counts: Any
) -> ArrayType:
    target = _indexed_shape(sizes, x, arrays, index, counts)
    shape = broadcast(sizes, [value.shape, target])
    while len(shape) > len(target) and shape[0] == 1:
        shape = shape[1:]
    if len(shape) != len(target) or not all(map(sizes.same, shape, target)):
        raise ShapeError("the value does not broadcast to the places that it is assigned to")
    if promote((x, value))[0] != x.dtype and value.dtype.startswith("complex"):
        raise ShapeError(f"cannot assign {value.dtype} into {x.dtype}")
    return ArrayType(x.dtype, x.shape)


def _set_vjp(
    ct: Any, y: Any, x: Any, value: Any, *arrays: Any, index: Any, counts: Any
) -> tuple[Any, ...]:
    rest = index_set(ct, 0.0, *arrays, index=index, counts=counts)
    return rest, getitem_at(ct, *arrays, index=index, counts=counts), *([None] * len(arrays))


index_set = define(
    "index_set",
    lambda attributes: spell("out = x.copy()\nout[index] = value", "x[index] = value"),
    jax=lambda attributes: spell("x.at[index].set(value)"),
    operands="x value *arrays",
    infer=_set_type,
    vjp=_set_vjp,
    attributes={"index": ..., "counts": ()},
    traits=(Trait.UPDATE,),
    domain="index",
)


# -- indices as users write them ----------------------------------------------------------------


def normalize(x: Any, key: Any) -> tuple[Subscript, list[Any], tuple[Dim, ...]]:
    """What a user put between brackets, as a subscript, its array operands and mask counts."""
    items = key if isinstance(key, tuple) else (key,)
    shown: list[object] = []
    arrays: list[Any] = []
    counts: list[Dim] = []
    for item in items:
        if item is None or item is Ellipsis:
            shown.append(item)
        elif isinstance(item, slice):
            parts = (item.start, item.stop, item.step)
            shown.append(slice(*(None if p is None else as_int(p) for p in parts)))
        elif isinstance(item, int | np.integer) and not isinstance(item, bool | np.bool_):
            shown.append(int(item))
        else:
            array = item
            if isinstance(item, list | tuple | bool | np.bool_):
                array = np.asarray(item)
                if array.size == 0 and array.dtype == np.float64:
                    array = array.astype(np.intp)
            kind = type_of(array)
            if kind.dtype != "bool" and "int" not in kind.dtype:
                raise TracegradError(f"arrays used as indices must be integer or bool, not {kind}")
            if kind.dtype == "bool" and kind.ndim and _static_lengths(x, array):
                found = _places_of(x, array)
                shown += [Slot(len(arrays) + i) for i in range(len(found))]
                arrays += found
                continue
            if kind.dtype == "bool":
                counts.append(_count_true(array))
            shown.append(Slot(len(arrays)))
            arrays.append(array)
    return Subscript(tuple(shown)), arrays, tuple(counts)


def _count_true(mask: Any) -> Dim:
    trace = getattr(mask, "_count_true", None)
    return trace() if trace is not None else int(np.count_nonzero(mask))


places = define(
    "places",
    "np.nonzero(x)[axis]",
    jax="jnp.nonzero(x, size=size)[axis]",
    infer=lambda sizes, x, axis, size: ArrayType("int64", (size,)),
    attributes={"axis": ..., "size": ...},
    differentiable=False,
    doc="Where a mask is True, along one of its axes.",
)


def _static_lengths(*operands: Any) -> bool:
    """Whether these are recorded for a target that must know every length beforehand."""
    trace = STATE.trace
    return (
        trace is not None
        and trace.static_lengths
        and any(type(operand) in HANDLERS for operand in operands)
    )


def _places_of(x: Any, mask: Any) -> list[Any]:
    """A mask as integer arrays, one an axis; the number of True is looked at."""
    if type(mask) not in HANDLERS:
        mask = apply_in(x, alias, {}, mask)
    size = _count_true(mask)
    return [places(mask, axis=axis, size=size) for axis in range(ndim_of(mask))]


def getitem(x: Any, key: Any) -> Any:
    """``x[key]`` with everything that NumPy's brackets take."""
    index, arrays, counts = normalize(x, key)
    return getitem_at(x, *arrays, index=index, counts=counts)


def setitem(x: Any, key: Any, value: Any) -> Any:
    """A copy of `x` with ``x[key]`` replaced by `value` (cast to the dtype of `x`)."""
    if _is_mask(key) and ndim_of(value) == 0 and _static_lengths(x, key):
        return _choose(x, key, value)  # a choice among elements needs no length
    index, arrays, counts = normalize(x, key)
    return index_set(x, value, *arrays, index=index, counts=counts)


def _is_mask(key: Any) -> bool:
    array = isinstance(key, np.ndarray) or type(key) in HANDLERS
    return array and dtype_of(key) == "bool" and ndim_of(key) > 0


def _choose(x: Any, mask: Any, value: Any) -> Any:
    """`x` with one number where a mask over its first axes is True."""
    ndim, wide = ndim_of(mask), ndim_of(x)
    if wide > ndim:
        mask = expand_axes(mask, axis=wide - 1 if wide == ndim + 1 else tuple(range(ndim, wide)))
    chosen = where(mask, value, x)
    return chosen if dtype_of(chosen) == dtype_of(x) else astype(chosen, dtype=dtype_of(x))


__all__ = [
]
