"""Builds arrays of the parts of others: grids, blocks, repetitions.

Inserting and deleting, blocks, choices among arrays, grids of numbers, and NumPy's functions that
write into their argument (here always a Tensor).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import reduce
from operator import index as as_int
from typing import Any

import numpy as np

from codegen import sizes as sz
from codegen.ir import Trait
from codegen.sizes import Dim, Sizes
from codegen.spelling import Spelling, spell
from codegen.types import ArrayType, broadcast, kind, promote
from tracegrad.errors import ArgumentError, ArgumentValueError, DTypeError, ShapeError
from tracegrad.ops import batching_rules
from tracegrad.ops.arguments import as_array, synonyms
from tracegrad.ops.elementwise.powers import power
from tracegrad.ops.elementwise.ufuncs import (
    astype,
    log10,
    logical_not,
    logical_or,
    maximum,
    minimum,
    not_equal,
    remainder,
    sign,
    strengthen,
    where,
)
from tracegrad.ops.index_bounds import all_within
from tracegrad.ops.record import define
from tracegrad.ops.shape.creation import (
    arange,
    beside,
    dtype_name,
    linspace,
    shape_tuple,
    zeros_in,
    zeros_like,
)
from tracegrad.ops.shape.indexing import getitem, nonzero, setitem
from tracegrad.ops.shape.joining import concatenate, stack, tile, unstack
from tracegrad.ops.shape.memory_order import lies_as, row_after_row
from tracegrad.ops.shape.reshaping import (
    apart_from,
    broadcast_arrays,
    broadcast_beside,
    expand_axes,
    length_of,
    meshgrid,
    moveaxis,
    one_axis,
    one_or_many,
    ravel,
    reshape_to,
    sizes_of,
)
from tracegrad.ops.shape.selection import take, take_along_axis, tril_indices, triu_indices
from tracegrad.runtime.thread_state import call as call_user
from tracegrad.values.dispatch import (
    HANDLERS,
    apply_in,
    dtype_of,
    is_number,
    is_weak,
    ndim_of,
    shape_of,
    type_of,
)

# -- more and fewer elements --------------------------------------------------------------------


@synonyms
def append(x: Any, values: Any, axis: int | None = None) -> Any:
    """`x` with `values` behind it along `axis` (both flattened without one)."""
    x = np.asarray(x) if is_number(x) else as_array(x)
    return concatenate([x, beside(values, x)], axis)


def _places(obj: Any, length: int) -> list[int]:
    """The places that an int, a slice, a list of ints or a mask means, each from the start."""
    if isinstance(obj, slice):
        return list(range(*obj.indices(length)))
    given = np.asarray(obj.tolist() if type(obj) in HANDLERS else obj)  # while tracing, a look
    several = np.flatnonzero(given) if given.dtype == bool else given.reshape(-1)
    found = [as_int(place) for place in several]
    for place in found:
        if not -length <= place <= length:
            raise IndexError(f"index {place} is out of bounds for an axis of length {length}")
    return [place + length if place < 0 else place for place in found]


def _is_of_bools(obj: Any) -> bool:
    """Whether places are told by a mask."""
    if isinstance(obj, list | tuple):
        return all(isinstance(one, bool | np.bool_) for one in obj)
    return dtype_of(obj) == "bool"


@synonyms
def delete(x: Any, obj: Any, axis: int | None = None) -> Any:
    """`x` without the elements (without the slices along `axis`) at these places.

    Places in a Tensor are looked at: they decide the shape.
    """
    x = as_array(x)
    if axis is None:
        x, axis = ravel(x), 0
    axis = one_axis(axis, ndim_of(x))
    length = length_of(x, axis)
    places = _places(obj, length)
    kept = [i for i in range(length) if i not in set(places)]
    if isinstance(obj, slice) or (len(places) == 1 and not _is_of_bools(obj)):
        return lies_as(take(x, kept, axis), x)
    return getitem(x, (*[slice(None)] * axis, kept or slice(0, 0)))


@synonyms
def insert(x: Any, obj: Any, values: Any, axis: int | None = None) -> Any:
    """`x` with `values` inserted before these places, which are counted in the original `x`."""
    x = as_array(x)
    if axis is None:
        x, axis = ravel(x), 0
    axis = one_axis(axis, ndim_of(x))
    length = length_of(x, axis)
    single = not isinstance(obj, slice) and ndim_of(obj) == 0
    places = _places(obj, length)
    values = _as_slices(beside(values, x), x, axis, len(places), single)
    if single:
        places = places * length_of(values, axis)
    order = sorted(range(len(places)), key=places.__getitem__)
    both = concatenate([x, astype(values, dtype=dtype_of(x))], axis)
    sequence: list[int] = []
    next_new = iter(order)
    waiting = sorted(places)
    for i in range(length + 1):
        while waiting and waiting[0] == i:
            waiting.pop(0)
            sequence.append(length + next(next_new))
        if i < length:
            sequence.append(i)
    return lies_as(take(both, sequence, axis), x)


def _as_slices(values: Any, x: Any, axis: int, count: int, single: bool) -> Any:
    """What is inserted as slices along the axis, broadcast against the others."""
    ndim, shape = ndim_of(x), shape_of(x)
    if ndim_of(values) == 0:
        values = ravel(values)
    if single and ndim > 1 and ndim_of(values) < ndim:
        values = expand_axes(values, axis=axis if ndim_of(values) == ndim - 1 else 0)
    if ndim_of(values) < ndim:
        values = expand_axes(values, axis=one_or_many(tuple(range(ndim - ndim_of(values)))))
    along = shape_of(values)[axis]
    wanted = (*shape[:axis], along if along != 1 else count, *shape[axis + 1 :])
    return broadcast_beside(values, wanted, x)


def resize(x: Any, new_shape: Any) -> Any:
    """The elements of `x`, repeated from the start where more are needed, in another shape."""
    x, shape = ravel(as_array(x)), shape_tuple(new_shape)
    if any(isinstance(length, int) and length < 0 for length in shape):
        raise ShapeError(f"resize: all lengths must be non-negative, not {shape}")
    total, have = math.prod(shape), length_of(x, 0)  # type: ignore[arg-type]
    if have == 0 or total == 0:
        return zeros_in(x, shape, dtype_of(x))
    often = -(-total // have)
    whole = tile(x, often) if often > 1 else x
    return apart_from(reshape_to(getitem(whole, slice(None, total)), shape=shape))


def block(arrays: Any) -> Any:
    """One array of blocks: the innermost lists are joined along the last axis, and so on."""
    depth = _depth(arrays)
    ndim = max(_most_axes(arrays), depth)
    like = _first_array(arrays)
    return _joined_blocks(arrays, depth, ndim, like)


def _first_array(arrays: Any) -> Any:
    """A block that is no number, where there is one: numbers go where it lives."""
    if not isinstance(arrays, list):
        return None if is_number(arrays) else arrays
    return next((x for x in map(_first_array, arrays) if x is not None), None)


def _depth(arrays: Any) -> int:
    if not isinstance(arrays, list):
        return 0
    if not arrays:
        raise ShapeError("block: a list is empty")
    depths = {_depth(part) for part in arrays}
    if len(depths) > 1:
        raise ShapeError("block: lists of blocks must be nested to one depth")
    return 1 + depths.pop()


def _most_axes(arrays: Any) -> int:
    if isinstance(arrays, list):
        return max(map(_most_axes, arrays))
    return ndim_of(arrays)


def _joined_blocks(arrays: Any, depth: int, ndim: int, like: Any) -> Any:
    if not isinstance(arrays, list):
        x = beside(arrays, like)
        missing = ndim - ndim_of(x)
        return expand_axes(x, axis=one_or_many(tuple(range(missing)))) if missing else x
    parts = [_joined_blocks(part, depth - 1, ndim, like) for part in arrays]
    return concatenate(parts, ndim - depth)


# -- choices ------------------------------------------------------------------------------------


def in_one_dtype(choices: Sequence[Any]) -> list[Any]:
    """Choices in the dtype of all of them, which numbers of Python's take."""
    several = [as_array(choice) for choice in choices]
    dtype, weak = promote(list(map(type_of, several)))
    if weak:  # numbers alone
        return [strengthen(x) for x in several]
    to = np.dtype(dtype).type
    return [
        x if not is_weak(x) else to(x) if is_number(x) else astype(x, dtype=dtype) for x in several
    ]


def select(condlist: Sequence[Any], choicelist: Sequence[Any], default: Any = 0) -> Any:
    """For each place the choice whose condition is the first that is true there.

    Examples
    --------
    >>> import tracegrad as tg
    >>> x = tg.arange(4.0)
    >>> tg.select([x < 1, x < 3], [-x, x * x], 9.0)
    tensor([-0., 1., 4., 9.])
    """
    if len(condlist) != len(choicelist) or not condlist:
        raise ArgumentValueError(
            f"select: {len(condlist)} conditions for {len(choicelist)} choices: give as many, and "
            "one at least"
        )
    found, (*choices, _) = default, in_one_dtype([*choicelist, default])
    for condition, choice in zip(reversed(condlist), reversed(choices), strict=True):
        mask = as_array(condition)
        if dtype_of(mask) != "bool":
            raise DTypeError(f"select: conditions are arrays of bools, not of {dtype_of(mask)}")
        found = where(mask, choice, found)
    return row_after_row(found)


def choose(a: Any, choices: Any, mode: str = "raise") -> Any:
    """For each place, the element of the choice whose number is in `a`."""
    several = broadcast_arrays(as_array(a), *in_one_dtype(choices))
    numbers, several = several[0], several[1:]
    if mode == "clip":
        numbers = minimum(maximum(numbers, 0), len(several) - 1)
    elif mode == "wrap":
        numbers = remainder(numbers, len(several))
    elif mode != "raise":
        raise ArgumentValueError(f'mode={mode!r}: must be "raise", "wrap" or "clip"')
    stacked = stack(several)
    try:
        chosen = getitem(take_along_axis(stacked, expand_axes(numbers, axis=0), 0), 0)
    except IndexError as error:
        raise ShapeError("choose: invalid entry in choice array") from error
    return row_after_row(chosen)


def piecewise(x: Any, condlist: Any, funclist: Sequence[Any], *args: Any, **kw: Any) -> Any:
    """Functions of `x`, or numbers, where their conditions are true; one more is the default."""
    x = as_array(x)
    masks = _conditions(condlist, ndim_of(x))
    if len(funclist) == len(masks) + 1:
        masks.append(logical_not(reduce(logical_or, masks)))
    if len(funclist) != len(masks):
        raise ArgumentValueError(
            f"piecewise: {len(funclist)} functions for {len(masks)} conditions"
        )
    found = zeros_like(x)
    for mask, value in zip(masks, funclist, strict=True):
        if callable(value):
            value = call_user(value, (getitem(x, mask), *args), kw)
        found = setitem(found, mask, value)
    return found


def _conditions(condlist: Any, ndim: int) -> list[Any]:
    """The masks of ``piecewise``: an array without rows, or a list of bools, is a single one."""
    if ndim_of(as_array(condlist)) == 0 or (ndim and _is_one_mask(condlist)):
        condlist = [condlist]
    elif not isinstance(condlist, list | tuple):
        condlist = unstack(condlist, 0)
    masks = [as_array(mask) for mask in condlist]
    return [mask if dtype_of(mask) == "bool" else not_equal(mask, 0) for mask in masks]


def _is_one_mask(condlist: Any) -> bool:
    """Whether what stands first in it are no conditions of their own."""
    if isinstance(condlist, list | tuple):
        return is_number(condlist[0]) or isinstance(condlist[0], tuple)
    return ndim_of(condlist) == 1


def apply_along_axis(func1d: Callable[..., Any], axis: int, x: Any, *args: Any, **kw: Any) -> Any:
    """A function of vectors on every line along `axis`; its results lie along that axis."""
    x = as_array(x)
    axis = one_axis(axis, ndim_of(x))
    lines = moveaxis(x, axis, -1)
    outer = shape_of(lines)[:-1]
    rows = unstack(reshape_to(lines, shape=(sz.mul(outer), shape_of(lines)[-1])), 0)
    results = [call_user(func1d, (row, *args), kw) for row in rows]
    if not results:
        raise ShapeError("apply_along_axis: there are no lines to apply the function to")
    found = stack([np.asarray(r) if is_number(r) else r for r in results])
    inner = shape_of(found)[1:]
    found = reshape_to(found, shape=(*outer, *inner))
    for i in range(len(inner)):
        found = moveaxis(found, len(outer) + i, axis + i)
    return found


def apply_over_axes(func: Callable[..., Any], a: Any, axes: Any) -> Any:
    """A reduction ``func(a, axis)`` over several axes, one after the other, which stay as 1."""
    found = as_array(a)
    ndim = ndim_of(found)
    for axis in axes if isinstance(axes, tuple | list) else (axes,):
        place = one_axis(axis, ndim)
        found = call_user(func, (found, place), {})
        if ndim_of(found) == ndim - 1:
            found = expand_axes(found, axis=place)
    return found


# -- grids of numbers ---------------------------------------------------------------------------


def logspace(
    start: Any,
    stop: Any,
    num: int = 50,
    endpoint: bool = True,
    base: Any = 10.0,
    dtype: Any = None,
    axis: int = 0,
) -> Any:
    """Powers of `base` whose exponents are evenly spaced from `start` to `stop`."""
    found = power(base, linspace(start, stop, num, endpoint, axis=axis))
    return found if dtype is None else astype(found, dtype=dtype_name(dtype))


def geomspace(
    start: Any,
    stop: Any,
    num: int = 50,
    endpoint: bool = True,
    dtype: Any = None,
    axis: int = 0,
) -> Any:
    """`num` numbers from `start` to `stop`, each the same multiple of the one before."""
    start, stop = map(as_array, (start, stop))
    wide = np.result_type(dtype_of(start), dtype_of(stop), np.float64).name
    start, stop = (x * 1.0 if dtype_of(x) == wide else astype(x, dtype=wide) for x in (start, stop))
    way = sign(start)
    found = logspace(log10(start * way), log10(stop * way), num, endpoint) * way
    if num > 0:
        found = setitem(found, 0, start)
        if num > 1 and endpoint:
            found = setitem(found, -1, stop)
    found = found if axis == 0 else moveaxis(found, 0, axis)
    return found if dtype is None else astype(found, dtype=dtype_name(dtype))


def indices(dimensions: Sequence[int], dtype: Any = int, sparse: bool = False) -> Any:
    """For each axis of an array of these lengths the index of every place along it."""
    lengths = shape_tuple(tuple(dimensions))
    name = dtype_name(dtype)
    if sparse:
        return ix_(*[arange(n, dtype=name) for n in lengths])
    return stack(meshgrid(*[arange(n, dtype=name) for n in lengths], indexing="ij"))


def ix_(*args: Any) -> tuple[Any, ...]:
    """Vectors shaped so that together they index every combination of their elements."""
    vectors = [as_array(v) for v in args]
    found = []
    for i, v in enumerate(vectors):
        if ndim_of(v) != 1:
            raise ShapeError("ix_: every argument is a vector")
        others = tuple(j for j in range(len(vectors)) if j != i)
        found.append(expand_axes(v, axis=one_or_many(others)) if others else v)
    return tuple(found)


def fromfunction(function: Callable[..., Any], shape: Any, *, dtype: Any = float, **kw: Any) -> Any:
    """The values of a function at the indices of every place of an array of this shape."""
    grid = indices(shape, dtype)
    return call_user(function, unstack(grid, 0), kw)


def _places_type(sizes: Sizes, x: ArrayType, shape: tuple[Dim, ...]) -> Any:
    _only_integers("unravel_index", x)
    found = tuple(ArrayType("int64", x.shape) for _ in shape)
    return found if len(found) > 1 else found[0]


def _places_text(library: str) -> Callable[[Mapping[str, Any]], Spelling]:
    def text(attributes: Mapping[str, Any]) -> Spelling:
        item = "[0]" if len(attributes["shape"]) == 1 else ""
        return spell(f"{library}.unravel_index(x, shape){item}")

    return text


places_of = define(
    "unravel_index",
    _places_text("np"),
    jax=_places_text("jnp"),
    infer=_places_type,
    attributes={"shape": ...},
    memory=lambda x, shape: Trait.LOOSE if x.shape else None,
    differentiable=False,
    sound=lambda y, x, shape: (all_within(x, length=sz.mul(shape), from_end=False),),
    domain="places",
    batch=batching_rules.only(0),
    doc="The indices along each axis of places that are numbered in the order of an array.",
)


def _numbers_type(sizes: Sizes, *places: ArrayType, dims: tuple[Dim, ...], mode: str) -> ArrayType:
    _only_integers("ravel_multi_index", *places)
    return ArrayType("int64", broadcast(sizes, [x.shape for x in places]))


def _numbers_text(attributes: Mapping[str, Any]) -> Spelling:
    mode = "" if attributes["mode"] == "raise" else ", mode=mode"
    return spell(f"np.ravel_multi_index(places, dims{mode})")


def _numbers_text_jax(attributes: Mapping[str, Any]) -> Spelling:
    mode = '"clip"' if attributes["mode"] == "raise" else "mode"  # `sound` tells what NumPy raises
    return spell(f"jnp.ravel_multi_index(places, dims, mode={mode})")


def _within_axes(y: Any, *places: Any, dims: tuple[Dim, ...], mode: str) -> Iterator[Any]:
    if mode == "raise":
        for x, length in zip(places, dims, strict=True):
            yield all_within(x, length=length, from_end=False)


numbers_of = define(
    "ravel_multi_index",
    _numbers_text,
    jax=_numbers_text_jax,
    operands="*places",
    infer=_numbers_type,
    attributes={"dims": ..., "mode": "raise"},
    differentiable=False,
    sound=_within_axes,
    domain="places",
    batch=batching_rules.elementwise,
    doc="The numbers, in the order of an array, of places given by an index along each axis.",
)


def _only_integers(name: str, *arrays: ArrayType) -> None:
    for x in arrays:
        if kind(x.dtype) not in ("int", "bool"):
            raise DTypeError(f"{name}: only int indices permitted, not {x.dtype}")


def unravel_index(indices: Any, shape: Any, order: str = "C") -> tuple[Any, ...]:
    """The indices along each axis of places that are numbered in the order of an array.

    Raises where there is no such place. With ``order="F"`` they are numbered column after column.
    """
    lengths, indices = shape_tuple(shape), as_array(indices)
    if not lengths:
        return np.unravel_index(np.asarray(indices), ())
    if order == "F":
        return unravel_index(indices, lengths[::-1])[::-1]
    if order != "C":
        raise ArgumentValueError(f'unravel_index: order={order!r}: must be "C" or "F"')
    found = places_of(indices, shape=lengths)
    return tuple(found) if len(lengths) > 1 else (found,)


def ravel_multi_index(
    multi_index: Any, dims: Any, mode: str | Sequence[str] = "raise", order: str = "C"
) -> Any:
    """The numbers, in the order of an array, of places given by an index along each axis.

    Places that are not there raise; with the `mode` ``"wrap"`` they are counted on from the other
    end, with ``"clip"`` they are the last or first along the axis. Each axis may have its own.
    """
    lengths, places = shape_tuple(dims), [as_array(x) for x in multi_index]
    if len(places) != len(lengths):
        raise ShapeError(
            f"ravel_multi_index: {len(places)} indices for the {len(lengths)} axes of {lengths}"
        )
    modes = [mode] * len(places) if isinstance(mode, str) else list(mode)
    unknown = next((m for m in modes if m not in ("raise", "wrap", "clip")), None)
    if unknown is not None or len(modes) != len(places):
        raise ArgumentValueError(
            f'mode={mode!r}: must be "raise", "wrap" or "clip", or one for each axis'
        )
    if order not in ("C", "F"):
        raise ArgumentValueError(f'ravel_multi_index: order={order!r}: must be "C" or "F"')
    if order == "F":
        lengths, places, modes = lengths[::-1], places[::-1], modes[::-1]
    if len(set(modes)) > 1:
        places = [_inside(*axis) for axis in zip(places, lengths, modes, strict=True)]
        modes = ["raise"]
    places = [beside(x, next((y for y in places if type(y) in HANDLERS), x)) for x in places]
    return numbers_of(*places, dims=lengths, mode=modes[0])


def _inside(x: Any, length: Dim, mode: str) -> Any:
    """Indices along an axis that `mode` puts inside it."""
    if mode == "wrap":
        return remainder(x, length)
    return minimum(maximum(x, 0), sz.add(length, -1)) if mode == "clip" else x


def tril_indices_from(x: Any, k: int = 0) -> tuple[Any, Any]:
    """The index of what stands at and below the k-th diagonal of `x`."""
    return tril_indices(length_of(x, 0), k, length_of(x, 1))


def triu_indices_from(x: Any, k: int = 0) -> tuple[Any, Any]:
    """The index of what stands at and above the k-th diagonal of `x`."""
    return triu_indices(length_of(x, 0), k, length_of(x, 1))


# -- written into Tensors -----------------------------------------------------------------------


def copyto(dst: Any, src: Any, casting: str = "same_kind", where: Any = True) -> None:
    """Writes `src`, broadcast, into the Tensor `dst`, where `where` is true."""
    dst[...] = src if where is True else _chosen(where, src, dst)


def _count(x: Any) -> int:
    """The number of elements, which is looked at."""
    return math.prod([length_of(x, axis) for axis in range(ndim_of(x))])


def _chosen(mask: Any, a: Any, b: Any) -> Any:
    return where(as_array(mask), a, b)


def putmask(x: Any, mask: Any, values: Any) -> None:
    """Writes the elements of `values`, repeated to the size of `x`, to `x` where `mask` is true."""
    values, mask = as_array(values), _mask_over(x, mask, "putmask")
    if ndim_of(values) and shape_of(values) != shape_of(x):
        if not _count(values):
            return
        values = resize(values, tuple(length_of(x, i) for i in range(ndim_of(x))))
    x[...] = _chosen(mask, values, x)


def _mask_over(x: Any, mask: Any, function: str) -> Any:
    """A mask of as many elements as `x`, in the shape of `x`."""
    mask = as_array(mask)
    sizes, own, given = sizes_of([x, mask]), shape_of(x), shape_of(mask)
    if len(own) == len(given) and all(map(sizes.same, own, given)):
        return mask
    if not sizes.same(sz.mul(own), sz.mul(given)):
        raise ShapeError(f"{function}: mask and data must be the same size")
    return apply_in(x, reshape_to, {"shape": own}, mask)


def place(x: Any, mask: Any, vals: Any) -> None:
    """Writes values, repeated, into the Tensor `x`, one after the other where `mask` is true."""
    places = nonzero(ravel(_mask_over(x, mask, "place")))[0]
    count = length_of(places, 0)
    if count:
        if not _count(as_array(vals)):
            raise ShapeError("place: cannot insert from an empty array")
        written = setitem(ravel(x), places, resize(ravel(as_array(vals)), (count,)))
        x[...] = reshape_to(written, shape=shape_of(x))


def put(x: Any, ind: Any, v: Any, mode: str = "raise") -> None:
    """Writes `v` into the Tensor `x` at these places, which number its elements in order."""
    if mode != "raise":
        raise ArgumentError(f"put: mode={mode!r} is not taken: write x[i, j] = v").as_refusal()
    places = as_array(ind)
    if ndim_of(v) and shape_of(v) != shape_of(places):
        if not _count(v):
            return
        v = resize(v, tuple(length_of(places, axis) for axis in range(ndim_of(places))))
    if ndim_of(x) == 1:
        x[places] = v
    else:
        try:
            written = setitem(ravel(x), places, v)
        except IndexError:
            x[...] = x  # where nobody may write, NumPy says that first
            raise
        x[...] = reshape_to(written, shape=shape_of(x))


def fill_diagonal(x: Any, val: Any, wrap: bool = False) -> None:
    """Writes `val` into the main diagonal of the Tensor `x`."""
    if ndim_of(x) < 2:
        raise ShapeError("fill_diagonal: array must be at least 2-d")
    if wrap:
        raise ArgumentError("fill_diagonal: wrap= is not taken: write x[i, j] = val").as_refusal()
    lengths = [length_of(x, i) for i in range(ndim_of(x))]
    if len(lengths) > 2 and len(set(lengths)) > 1:
        raise ShapeError("fill_diagonal: All dimensions of input must be of equal length")
    places = arange(min(lengths))
    x[(places,) * ndim_of(x)] = val


__all__ = [
    "append",
    "apply_along_axis",
    "apply_over_axes",
    "block",
    "choose",
    "copyto",
    "delete",
    "fill_diagonal",
    "fromfunction",
    "geomspace",
    "indices",
    "insert",
    "ix_",
    "logspace",
    "piecewise",
    "place",
    "put",
    "putmask",
    "ravel_multi_index",
    "resize",
    "select",
    "tril_indices_from",
    "triu_indices_from",
    "unravel_index",
]
