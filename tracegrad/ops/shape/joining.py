"""Joins arrays and splits them.

Concatenating and stacking, splitting, repeating and tiling, padding. Lengths may be known only at
the call: where the parts of an array begin and end is kept as `Size` attributes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from operator import index as as_int
from typing import Any

import numpy as np

from codegen import sizes as sz
from codegen.ir import Trait
from codegen.sizes import Dim, Size, Sizes
from codegen.spelling import Spelling, Subscript, spell
from codegen.types import ArrayType, promote, shape_text
from codegen.types import ShapeError as ShapeMismatch
from tracegrad.errors import ShapeError
from tracegrad.ops import batching_rules
from tracegrad.ops.arguments import as_array, synonyms
from tracegrad.ops.elementwise.ufuncs import alias, astype
from tracegrad.ops.program_functions import apart_in_xla
from tracegrad.ops.record import define
from tracegrad.ops.reductions.sums_and_extremes import sum_over
from tracegrad.ops.shape.creation import bare, dims_of_shape, dtype_name, shape_tuple
from tracegrad.ops.shape.indexing import getitem, getitem_at
from tracegrad.ops.shape.reshaping import (
    VIEW,
    apart_from,
    atleast_1d,
    atleast_2d,
    atleast_3d,
    brackets,
    canonical_axis,
    length_of,
    matrix_transpose,
    one_axis,
    ravel,
    reshape_to,
    sizes_of,
)
from tracegrad.ops.type_rules import sum_dtype
from tracegrad.runtime.array_manners import is_array_to_function
from tracegrad.values.dispatch import SEQUENCES, dtype_of, is_number, ndim_of, shape_of

# -- joining ------------------------------------------------------------------------------------


def _with_length(x: ArrayType, axis: int, length: Dim) -> ArrayType:
    return ArrayType(x.dtype, (*x.shape[:axis], length, *x.shape[axis + 1 :]))


def _common_dtype(arrays: Sequence[ArrayType]) -> str:
    """The dtype of arrays put into one; numbers count as arrays of their own dtype."""
    return promote([ArrayType(x.dtype) for x in arrays])[0]


def _concatenated(sizes: Sizes, *arrays: ArrayType, axis: int, length: Dim | None) -> ArrayType:
    first = arrays[0]
    for x in arrays[1:]:
        matches = x.ndim == first.ndim and all(
            i == axis or sizes.same(a, b)
            for i, (a, b) in enumerate(zip(first.shape, x.shape, strict=True))
        )
        if not matches:
            raise ShapeMismatch(
                f"concatenate: {shape_text(sizes, first.shape)} and {shape_text(sizes, x.shape)} "
                f"differ in more than axis {axis}"
            )
    if length is None:
        length = sz.add(*(x.shape[axis] for x in arrays))
    return _with_length(first, axis, length).with_dtype(_common_dtype(arrays))


def _concatenate_vjp(
    ct: Any, y: Any, *arrays: Any, axis: int, length: Dim | None
) -> tuple[Any, ...]:
    """Each array's part of the cotangent."""
    parts = []
    start: Dim = 0
    for i, x in enumerate(arrays):
        size = shape_of(x)[axis]
        stop = sz.add(start, size)
        end = stop if i < len(arrays) - 1 else None
        parts.append(part_of(ct, axis=axis, start=start, stop=end, length=size))
        start = stop
    return tuple(parts)


joined = define(
    "concatenate",
    "np.concatenate(arrays, axis=axis)",
    operands="*arrays",
    infer=_concatenated,
    vjp=_concatenate_vjp,
    linear="together",
    attributes={"axis": 0, "length": None},
    traits=(Trait.KEEPS_ORDER,),
    batch=batching_rules.joining,
    doc="Arrays one after the other; `length` is the sum of theirs where that is known otherwise.",
)


def _stacked(sizes: Sizes, *arrays: ArrayType, axis: int) -> ArrayType:
    first = arrays[0]
    for x in arrays[1:]:
        if x.ndim != first.ndim or not all(map(sizes.same, first.shape, x.shape)):
            raise ShapeMismatch(
                f"stack: arrays must have one shape, not {shape_text(sizes, first.shape)} and "
                f"{shape_text(sizes, x.shape)}"
            )
    shape = (*first.shape[:axis], len(arrays), *first.shape[axis:])
    return ArrayType(_common_dtype(arrays), shape)


def _row(x: Any, i: int, axis: int) -> Any:
    return getitem_at(x, index=Subscript((*[slice(None)] * axis, i)))


stacked = define(
    "stack",
    "np.stack(arrays, axis=axis)",
    operands="*arrays",
    infer=_stacked,
    vjp=lambda ct, y, *arrays, axis: tuple(_row(ct, i, axis) for i in range(len(arrays))),
    linear="together",
    attributes={"axis": 0},
    traits=(Trait.KEEPS_ORDER,),
    batch=batching_rules.joining,
)


def _sequence(arrays: Any, name: str) -> list[Any]:
    """The arrays to join; the rows of an array when it is a single one."""
    several = list(arrays)
    if not several:
        raise ShapeError(f"{name}: no arrays were given")
    return [np.asarray(x) if isinstance(x, np.generic) else as_array(x) for x in several]


@synonyms
def concatenate(arrays: Any, axis: Any = 0, dtype: Any = None) -> Any:
    """The arrays one after the other along `axis` (flattened for None)."""
    several = _sequence(arrays, "concatenate")
    if axis is None:
        several, axis = [ravel(np.asarray(x) if is_number(x) else x) for x in several], 0
    if not ndim_of(several[0]):
        raise ShapeError("concatenate: arrays without axes cannot be concatenated: use stack")
    axis = one_axis(axis, ndim_of(several[0]))
    if dtype is not None:
        several = [astype(x, dtype=dtype_name(dtype)) for x in several]
    return joined(*several, axis=axis, length=None)


concat = concatenate


@synonyms
def stack(arrays: Any, axis: Any = 0, dtype: Any = None) -> Any:
    """The arrays, all of one shape, along a new axis."""
    several = _sequence(arrays, "stack")
    if dtype is not None:
        several = [astype(x, dtype=dtype_name(dtype)) for x in several]
    return stacked(*several, axis=one_axis(axis, ndim_of(several[0]) + 1))


def hstack(arrays: Any, dtype: Any = None) -> Any:
    """The arrays side by side: along the second axis, vectors along their only one."""
    several = [atleast_1d(x) for x in _sequence(arrays, "hstack")]
    return concatenate(several, 0 if ndim_of(several[0]) == 1 else 1, dtype)


def vstack(arrays: Any, dtype: Any = None) -> Any:
    """The arrays on top of each other: along the first axis, vectors as rows."""
    return concatenate([atleast_2d(x) for x in _sequence(arrays, "vstack")], 0, dtype)


def dstack(arrays: Any, dtype: Any = None) -> Any:
    """The arrays one behind the other: along the third axis."""
    return concatenate([atleast_3d(x) for x in _sequence(arrays, "dstack")], 2, dtype)


def column_stack(arrays: Any) -> Any:
    """Vectors as the columns of a matrix, matrices side by side."""
    several = _sequence(arrays, "column_stack")
    columns = [x if ndim_of(x) >= 2 else matrix_transpose(atleast_2d(x)) for x in several]
    return concatenate(columns, 1)


# -- parts --------------------------------------------------------------------------------------


def _part_brackets(attributes: Mapping[str, Any]) -> str:
    start = "" if attributes["start"] == 0 else "start"
    stop = "" if attributes["stop"] is None else "stop"
    return brackets({attributes["axis"]: f"{start}:{stop}"})


def _part_vjp(ct: Any, y: Any, x: Any, length: Dim, **bounds: Any) -> tuple[Any]:
    return (place_in(ct, **bounds, shape=bare(shape_of(x)), dtype=dtype_of(ct)),)


part_of = define(
    "part",
    lambda attributes: spell(f"x[{_part_brackets(attributes)}]"),
    infer=lambda sizes, x, axis, start, stop, length: _with_length(x, axis, length),
    vjp=_part_vjp,
    attributes={"axis": ..., "start": 0, "stop": None, "length": ...},
    traits=VIEW,
    batch=batching_rules.along("axis"),
    doc="x along an axis from one place to another, which may be known only at the call.",
)


def _placed_type(sizes: Sizes, ct: ArrayType, shape: Any, dtype: str, **_: Any) -> ArrayType:
    return ArrayType(dtype, dims_of_shape(shape))


place_in = define(
    "place",
    lambda attributes: spell(
        f"out = np.zeros(shape, dtype=dtype)\nout[{_part_brackets(attributes)}] = ct"
    ),
    jax=lambda attributes: spell(
        apart_in_xla(f"jnp.zeros(shape, dtype=dtype).at[{_part_brackets(attributes)}].set(ct)")
    ),
    operands="ct",
    infer=_placed_type,
    vjp=lambda g, y, ct, axis, start, stop, shape, dtype: (
        part_of(g, axis=axis, start=start, stop=stop, length=shape_of(ct)[axis]),
    ),
    attributes={"axis": ..., "start": 0, "stop": None, "shape": ..., "dtype": "float64"},
    traits=(Trait.C_ORDER, Trait.PLACES),
    batch=batching_rules.placing,
    doc="Zeros of `shape` with `ct` from one place along an axis to another.",
)


def _split_text(attributes: Mapping[str, Any]) -> Spelling:
    at = attributes["at"]
    return spell(f"np.split(x, {at if isinstance(at, int) else list(at)}, axis=axis)")


def _split_type(sizes: Sizes, x: ArrayType, at: Any, axis: int) -> tuple[ArrayType, ...]:
    length = sizes.resolve(x.shape[axis])
    if isinstance(at, int):
        each = sz.quotient(length, at)
        if not sizes.same(sz.mul([each, at]), length):
            raise ShapeMismatch(
                f"split: an axis of length {shape_text(sizes, (length,))[1:-2]} has no {at} equal "
                "parts: use array_split"
            )
        lengths: list[Dim] = [each] * at
    else:
        bounds = zip((None, *at), (*at, None), strict=True)
        lengths = [sz.slice_length(length, slice(*pair)) for pair in bounds]
    return tuple(_with_length(x, axis, length) for length in lengths)


def _split_jax(attributes: Mapping[str, Any]) -> Spelling:
    """As slices where the bounds are given: jnp.split takes none beyond the end."""
    at, axis = attributes["at"], attributes["axis"]
    if isinstance(at, int):
        return spell("jnp.split(x, at, axis=axis)")
    bounds = zip(("", *at), (*at, ""), strict=True)
    pieces = [f"x[{brackets({axis: f'{a}:{b}'})}]" for a, b in bounds]
    return spell(f"({', '.join(pieces)})")


split_at = define(
    "split",
    _split_text,
    jax=_split_jax,
    infer=_split_type,
    vjp=lambda ct, y, x, at, axis: (joined(*ct, axis=axis, length=shape_of(x)[axis]),),
    attributes={"at": ..., "axis": 0},
    traits=VIEW,
    batch=batching_rules.along("axis"),
    doc="Two or more parts: so many equal ones, or with bounds at these places in order.",
)


@synonyms
def split(x: Any, indices_or_sections: Any, axis: Any = 0) -> tuple[Any, ...]:
    """The parts of `x` along `axis`: a number of equal parts, or parts cut at these places."""
    axis = one_axis(axis, ndim_of(x))
    if _are_places(indices_or_sections):
        return _cut(x, tuple(map(as_int, indices_or_sections)), axis)
    sections = as_int(indices_or_sections)
    if sections <= 0:
        raise ShapeError(f"split: the number of sections must be positive, not {sections}")
    return (alias(x),) if sections == 1 else tuple(split_at(x, at=sections, axis=axis))


def _are_places(given: Any) -> bool:
    """Whether these are the places to cut at, not a number of parts."""
    return isinstance(given, SEQUENCES) or ndim_of(given) > 0


def _cut(x: Any, at: tuple[int, ...], axis: int) -> tuple[Any, ...]:
    if at and all(0 <= a <= b for a, b in zip((0, *at), at)):
        return tuple(split_at(x, at=at, axis=axis))
    before = [slice(None)] * axis
    pieces = zip((None, *at), (*at, None), strict=True)
    return tuple(getitem_at(x, index=Subscript((*before, slice(*pair)))) for pair in pieces)


@synonyms
def array_split(x: Any, indices_or_sections: Any, axis: Any = 0) -> tuple[Any, ...]:
    """As `split`, but parts need not be equal: where they differ, the first are longer by 1."""
    if _are_places(indices_or_sections):
        return split(x, indices_or_sections, axis)
    axis, sections = one_axis(axis, ndim_of(x)), as_int(indices_or_sections)
    if sections <= 0:
        raise ShapeError(f"array_split: the number of sections must be positive, not {sections}")
    each, longer = divmod(length_of(x, axis), sections)
    lengths = [each + 1] * longer + [each] * (sections - longer)
    bounds = tuple(sum(lengths[: i + 1]) for i in range(sections - 1))
    return _cut(x, bounds, axis) if bounds else (alias(x),)


def hsplit(x: Any, indices_or_sections: Any) -> tuple[Any, ...]:
    """`split` along the second axis; of vectors along their only one."""
    return split(x, indices_or_sections, 0 if ndim_of(x) == 1 else 1)


def vsplit(x: Any, indices_or_sections: Any) -> tuple[Any, ...]:
    """`split` along the first axis of a matrix."""
    if ndim_of(x) < 2:
        raise ShapeError("vsplit: the array needs two axes or more")
    return split(x, indices_or_sections, 0)


def dsplit(x: Any, indices_or_sections: Any) -> tuple[Any, ...]:
    """`split` along the third axis."""
    if ndim_of(x) < 3:
        raise ShapeError("dsplit: the array needs three axes or more")
    return split(x, indices_or_sections, 2)


def _unstack_text(attributes: Mapping[str, Any]) -> Spelling:
    axis = attributes["axis"]
    return spell("tuple(x)" if axis == 0 else f"tuple(np.moveaxis(x, {axis}, 0))")


def _unstacked(sizes: Sizes, x: ArrayType, axis: int, count: int) -> tuple[ArrayType, ...]:
    if not sizes.same(x.shape[axis], count):
        raise ShapeMismatch(f"unstack: axis {axis} is not of length {count}")
    return (ArrayType(x.dtype, (*x.shape[:axis], *x.shape[axis + 1 :])),) * count


unstacked = define(
    "unstack",
    _unstack_text,
    infer=_unstacked,
    vjp=lambda ct, y, x, axis, count: (stacked(*ct, axis=axis),),
    attributes={"axis": 0, "count": ...},
    traits=VIEW,
    batch=batching_rules.along("axis"),
    doc="The two or more slices along an axis.",
)


@synonyms
def unstack(x: Any, axis: Any = 0) -> tuple[Any, ...]:
    """The slices of `x` along `axis`, one for each index."""
    axis = one_axis(axis, ndim_of(x))
    count = length_of(x, axis)
    if ndim_of(x) == 1 and hasattr(x, "_array") and not is_array_to_function(x):
        return tuple(x[i] for i in range(count))  # Tensors that look at their places
    if count < 2:
        return tuple(_row(x, i, axis) for i in range(count))
    return tuple(unstacked(x, axis=axis, count=count))


# -- repeating ----------------------------------------------------------------------------------


def _repeated(sizes: Sizes, x: ArrayType, repeats: Any, axis: int | None) -> ArrayType:
    a = axis or 0
    if not isinstance(repeats, tuple):
        return _with_length(x, a, sz.mul([x.shape[a], repeats]))
    if not sizes.same(x.shape[a], len(repeats)):
        raise ShapeMismatch(
            f"repeat: {len(repeats)} repeats for an axis of length "
            f"{shape_text(sizes, x.shape[a : a + 1])[1:-2]}"
        )
    return _with_length(x, a, sum(repeats))


def _repeat_vjp(ct: Any, y: Any, x: Any, repeats: Any, axis: int | None) -> tuple[Any]:
    a, shape = axis or 0, shape_of(x)
    if isinstance(repeats, tuple):
        return (segment_sums(ct, lengths=repeats, axis=a),)
    apart = reshape_to(ct, shape=(*shape[: a + 1], repeats, *shape[a + 1 :]))
    return (sum_over(apart, axis=a + 1, keepdims=False),)


def _repeat_jax(attributes: Mapping[str, Any]) -> Spelling:
    repeats = attributes["repeats"]
    if not isinstance(repeats, tuple):
        return spell("jnp.repeat(x, repeats, axis=axis)")
    total = f"total_repeat_length={sum(repeats)}"
    return spell(f"jnp.repeat(x, jnp.array({list(repeats)}), axis=axis, {total})")


repeat_along = define(
    "repeat",
    "np.repeat(x, repeats, axis=axis)",
    jax=_repeat_jax,
    infer=_repeated,
    raises="caught",
    vjp=_repeat_vjp,
    attributes={"repeats": ..., "axis": None},
    traits=(Trait.CONTIGUOUS,),
    batch=batching_rules.repeating,
    doc="Each element so many times: one number for all, or a positive one for each.",
)


def _segment_starts(attributes: Mapping[str, Any]) -> list[int]:
    lengths = attributes["lengths"]
    return [sum(lengths[:i]) for i in range(len(lengths))]


def _segment_type(sizes: Sizes, x: ArrayType, lengths: tuple[int, ...], axis: int) -> ArrayType:
    return _with_length(x, axis, len(lengths)).with_dtype(sum_dtype(x.dtype))


segment_sums = define(
    "segment_sums",
    lambda attributes: spell(f"np.add.reduceat(x, {_segment_starts(attributes)}, axis=axis)"),
    jax=lambda attributes: spell(
        f"jnp.add.reduceat(x, jnp.array({_segment_starts(attributes)}), axis=axis)"
    ),
    infer=_segment_type,
    vjp=lambda ct, y, x, lengths, axis: (
        repeat_along(ct, repeats=lengths, axis=None if ndim_of(ct) == 1 else axis),
    ),
    attributes={"lengths": ..., "axis": 0},
    batch=batching_rules.along("axis"),
    doc="The sums of neighbours along an axis: of so many, then so many, ...; none is 0.",
)


@synonyms
def repeat(x: Any, repeats: Any, axis: Any = None) -> Any:
    """`x` with each element (each slice along `axis`) so many times in a row.

    repeats
        One number for all, or a sequence with a number for each.
    """
    if axis is None:
        x, axis = ravel(x), 0
    axis = one_axis(axis, ndim_of(x))
    if np.ndim(getattr(repeats, "_array", repeats)) == 0:
        several: Any = repeats if isinstance(repeats, Size) else as_int(repeats)
    else:
        several = tuple(as_int(n) for n in repeats)
        several = several[0] if len(several) == 1 else several
    numbers = several if isinstance(several, tuple) else (several,)
    if any(isinstance(n, int) and n < 0 for n in numbers):
        raise ShapeError(f"repeat: the numbers of repeats cannot be negative: {several}")
    if isinstance(several, tuple) and 0 in several:
        if not sizes_of([x]).same(shape_of(x)[axis], len(several)):
            raise ShapeError(f"repeat: {len(several)} repeats for an axis of another length")
        kept = [i for i, n in enumerate(several) if n]
        x = getitem(x, (*[slice(None)] * axis, kept or slice(0, 0)))
        several = tuple(several[i] for i in kept) or 1
    return repeat_along(x, repeats=several, axis=None if ndim_of(x) == 1 else axis)


def _tiled(sizes: Sizes, x: ArrayType, reps: tuple[Dim, ...]) -> ArrayType:
    shape = (*[1] * (len(reps) - x.ndim), *x.shape)
    return ArrayType(x.dtype, tuple(sz.mul(pair) for pair in zip(reps, shape, strict=True)))


def _tile_vjp(ct: Any, y: Any, x: Any, reps: tuple[Dim, ...]) -> tuple[Any]:
    shape = shape_of(x)
    extra = len(reps) - len(shape)
    apart = [n for pair in zip(reps, (*[1] * extra, *shape), strict=True) for n in pair]
    ct = reshape_to(ct, shape=tuple(apart))
    summed = tuple(range(0, 2 * len(reps), 2)) + tuple(range(1, 2 * extra, 2))
    axis = canonical_axis(summed, len(apart))
    return (sum_over(ct, axis=axis, keepdims=False),)


def _tile_text(attributes: Mapping[str, Any]) -> Spelling:
    first, *more = attributes["reps"]
    return spell("np.tile(x, reps)" if more or isinstance(first, Size) else f"np.tile(x, {first})")


tile_by = define(
    "tile",
    _tile_text,
    infer=_tiled,
    vjp=_tile_vjp,
    linear="together",
    attributes={"reps": ...},
    batch=batching_rules.per_axis("reps", 1),
    doc="x side by side with itself, so many times along each axis (of the result).",
)


def tile(x: Any, reps: Any) -> Any:
    """`x` side by side with itself, so many times along each axis."""
    several = shape_tuple(reps)
    several = (*[1] * (ndim_of(x) - len(several)), *several)
    return tile_by(x, reps=several) if several else apart_from(alias(x))


__all__ = [
    "array_split",
    "column_stack",
    "concat",
    "concatenate",
    "dsplit",
    "dstack",
    "hsplit",
    "hstack",
    "repeat",
    "split",
    "stack",
    "tile",
    "unstack",
    "vsplit",
    "vstack",
]
