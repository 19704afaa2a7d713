"""Reads elements by an index, and replaces them.

`getitem` takes what NumPy's brackets take. Writing is functional: `index_set` gives a new array
(``x[i] = v`` on a Tensor rebinds the Tensor to it), and the lifetime pass turns it into a plain
assignment wherever the old array is dead.

An index is kept as a `Subscript` (ints, slices, None, Ellipsis, slots for arrays, and windows:
slices between numbers that a loop counts), the arrays in its slots, and what must be known of them:
`counts`, how many True each mask among them has (a length that only data tell), or how far apart
the ends of each window are, and `repeats`, whether a place may be named twice.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from operator import index as as_int
from typing import Any

import numpy as np

from codegen import sizes as sz
from codegen.errors import CodegenError
from codegen.ir import Trait
from codegen.sizes import Dim, Sizes
from codegen.spelling import Slot, Spelling, Subscript, Window, spell
from codegen.types import ArrayType, broadcast, kind, shape_text
from codegen.types import ShapeError as ShapeMismatch
from tracegrad.errors import ArgumentValueError, DTypeError, ShapeError
from tracegrad.ops import batching_rules
from tracegrad.ops.arguments import as_array
from tracegrad.ops.elementwise.ufuncs import alias, astype, copy_in_order
from tracegrad.ops.elementwise.ufuncs import where as choose
from tracegrad.ops.index_bounds import axes_used, inside, spans_in_turns, width
from tracegrad.ops.program_functions import needs
from tracegrad.ops.record import OpRecord, define
from tracegrad.ops.shape import windows_in_jax
from tracegrad.ops.shape.creation import (
    arange_in,
    bare,
    dims_of_shape,
)
from tracegrad.ops.shape.index_items import (
    array_of_item,
    count_true,
    has_static_lengths,
    with_axes_for_masks,
)
from tracegrad.ops.shape.reshaping import (
    expand_axes,
    flip_axes,
    one_or_many,
    ravel,
    reshape_to,
    sizes_of,
    squeeze_axes,
)
from tracegrad.ops.special_cotangents import Later, Negated
from tracegrad.values.dispatch import (
    HANDLERS,
    apply_in,
    dtype_of,
    length_of,
    ndim_of,
    shape_of,
    small_of,
)
from tracegrad.values.pandas_columns import numbers_of


class IndexingError(CodegenError, IndexError):
    """An index that an array of this shape does not have."""


# -- type rules ---------------------------------------------------------------------------------


def _indexed_shape(
    sizes: Sizes, x: ArrayType, arrays: Sequence[ArrayType], index: Subscript, counts: Any
) -> tuple[Dim, ...]:
    """The shape of ``x[index]`` (NumPy's rules for basic and advanced indices mixed).

    Arrays and, beside arrays, ints are advanced: together they make the axes to which the arrays
    broadcast. These stand where the advanced items stood if those are next to each other, and
    first if anything is between them.
    """
    used = axes_used(arrays, index)
    if used > x.ndim:
        raise IndexingError(f"too many indices: {used} for an array with {x.ndim} axes")
    several = any(isinstance(item, Slot) for item in index.items)
    kept: list[Dim] = []
    advanced: list[tuple[Dim, ...]] = []
    places: list[int] = []  # of the advanced items, among all
    at = 0  # how many kept axes precede the first advanced item
    axis, told = 0, iter(counts)
    for place, item in enumerate(index.items):
        match item:
            case None:
                kept.append(1)
                continue
            case slice():
                kept.append(sz.slice_length(sizes.resolve(x.shape[axis]), item))
                axis += 1
                continue
            case Window(step=step):
                kept.append(sz.slice_length(sizes.resolve(next(told)), slice(None, None, step)))
                axis += 1
                continue
            case _ if item is Ellipsis:
                rest = x.ndim - used
                kept.extend(x.shape[axis : axis + rest])
                axis += rest
                continue
            case Slot(position) if arrays[position].dtype == "bool":
                mask = arrays[position]
                _same_lengths(sizes, x.shape[axis : axis + mask.ndim], mask.shape)
                axis += mask.ndim
                advanced.append((next(told),))
            case Slot(position):
                axis += 1
                advanced.append(arrays[position].shape)
            case int():
                _in_bounds(sizes, item, x.shape[axis], axis)
                axis += 1
                if not several:
                    continue
        if not places:
            at = len(kept)
        places.append(place)
    kept.extend(x.shape[axis:])
    if places and places[-1] - places[0] >= len(places):
        at = 0
    return (*kept[:at], *broadcast(sizes, advanced), *kept[at:])


def constant_items(
    x: ArrayType, arrays: Sequence[ArrayType], index: Subscript
) -> list[tuple[int, int]]:
    """The axes of `x` that the index takes one fixed place of, with that place."""
    rest = x.ndim - axes_used(arrays, index)
    found, axis = [], 0
    for item in index.items:
        if isinstance(item, int):
            found.append((axis, item))
        axis += rest if item is Ellipsis else width(item, arrays)
    return found


def _same_lengths(sizes: Sizes, masked: tuple[Dim, ...], mask: tuple[Dim, ...]) -> None:
    for axis, (a, b) in enumerate(zip(masked, mask, strict=True)):
        if not sizes.same(a, b) and not sizes.same(b, 0):  # NumPy takes an empty mask of any axis
            raise IndexingError(
                f"a mask of shape {shape_text(sizes, mask)} cannot select from axes of shape "
                f"{shape_text(sizes, masked)}: they differ in axis {axis}"
            )


def _in_bounds(sizes: Sizes, item: int, length: Dim, axis: int) -> None:
    length = sizes.resolve(length)
    if isinstance(length, int) and not -length <= item < length:
        raise IndexingError(f"index {item} is out of bounds for axis {axis} with size {length}")


def _basic_type(sizes: Sizes, x: ArrayType, index: Subscript) -> ArrayType:
    return ArrayType(x.dtype, _indexed_shape(sizes, x, (), index, ()))


def _gathered_type(
    sizes: Sizes, x: ArrayType, *arrays: ArrayType, index: Subscript, counts: Any, **_: Any
) -> ArrayType:
    return ArrayType(x.dtype, _indexed_shape(sizes, x, arrays, index, counts))


def _scattered_type(
    sizes: Sizes, ct: ArrayType, *arrays: ArrayType, shape: Any, dtype: str, **_: Any
) -> ArrayType:
    return ArrayType(dtype, dims_of_shape(shape))


def _updated_type(
    sizes: Sizes,
    x: ArrayType,
    value: ArrayType,
    *arrays: ArrayType,
    index: Subscript,
    counts: Any,
    **_: Any,
) -> ArrayType:
    target = _indexed_shape(sizes, x, arrays, index, counts)
    extra = max(value.ndim - len(target), 0)
    if not all(map(sizes.is_one, value.shape[:extra])) or not all(
        sizes.same(a, b)
        for a, b in zip(broadcast(sizes, [value.shape[extra:], target]), target, strict=True)
    ):
        raise ShapeMismatch(
            f"a value of shape {shape_text(sizes, value.shape)} does not broadcast to the places "
            f"of shape {shape_text(sizes, target)} that it is assigned to"
        )
    if kind(value.dtype) == "complex" and kind(x.dtype) != "complex":
        raise DTypeError(
            f"{value.dtype} cannot be assigned into {x.dtype}: take its .real first"
        ).as_refusal()
    return ArrayType(x.dtype, x.shape)


# -- reading ------------------------------------------------------------------------------------


class Scattered:
    """A cotangent of `x` that is zero but at an index.

    The walker adds it in place to what there is, so reading n elements one by one has a backward
    of n steps on elements, not on arrays.
    """

    __slots__ = ("arrays", "at", "ct", "x")

    def __init__(self, ct: Any, x: Any, arrays: tuple[Any, ...], at: Mapping[str, Any]) -> None:
        self.ct = ct
        self.x = x
        self.arrays = arrays
        self.at = at

    def with_value(self, ct: Any) -> Scattered:
        """The same places with other values."""
        return Scattered(ct, self.x, self.arrays, self.at)

    def alone(self) -> Any:
        """The whole cotangent."""
        return scatter(self.ct, self.x, *self.arrays, **self.at)

    def onto(self, total: Any, negative: bool = False) -> Any:
        """Another cotangent of `x` with this one added, or taken from it."""
        combine = subtract_at if negative else add_at
        return combine(total, self.ct, *self.arrays, **{**_ONCE, **self.at})

    def into(self, total: Any, negative: bool = False) -> Any:
        """The same in the memory of the other, where it is an array."""
        if type(total) is not np.ndarray:
            return self.onto(total, negative)
        at = {**_ONCE, **self.at}
        add = _adding(at["repeats"], negative)
        return add(total, small_of(self.ct), *self.arrays, **at)

    def beside(self, total: Any, negative: bool = False) -> Any:
        """The same where the other is 0 at the index: the values are written there."""
        ct = -self.ct if negative else self.ct
        at = {**_ONCE, **self.at}
        if type(total) is not np.ndarray:
            return set_at(total, ct, *self.arrays, **at)
        return set_at.inplace_kernel(at)(total, small_of(ct), *self.arrays, **at)

    def index(self) -> Subscript | None:
        """What stands between the brackets, where lengths and numbers of Python tell it."""
        found: Subscript = self.at["index"]
        if not self.arrays:
            return found
        lengths = tuple(map(length_of, self.arrays))
        return None if None in lengths else Subscript(found.resolve(lengths))

    def sizes(self) -> Sizes:
        """What is known of lengths in the graph that it is of."""
        return sizes_of((self.x,))


_ONCE: dict[str, Any] = {"counts": (), "repeats": False}


@cache
def _adding(repeats: bool, negative: bool) -> Callable[..., Any]:
    """What adds or subtracts at an index in place."""
    at = {"index": Subscript(()), **_ONCE, "repeats": repeats}
    return (subtract_at if negative else add_at).inplace_kernel(at)


def _read_vjp(ct: Any, y: Any, x: Any, *arrays: Any, **at: Any) -> tuple[Any, ...]:
    return Scattered(ct, x, arrays, at), *([None] * len(arrays))


getitem_basic = define(
    "getitem",
    "x[index]",
    operands="x *arrays",
    infer=_basic_type,
    raises="caught",
    vjp=_read_vjp,
    attributes={"index": ...},
    traits=(Trait.VIEW, Trait.KEEPS_ORDER),
    batch=batching_rules.reading,
    doc="x[index] of ints, slices, None and Ellipsis: a view.",
)
getitem_copy = define(
    "getitem_copy",
    "x[index].copy()",
    jax="x[index]",
    operands="x *arrays",
    infer=_basic_type,
    raises="caught",
    vjp=_read_vjp,
    attributes={"index": ...},
    traits=(Trait.CONTIGUOUS,),
    batch=batching_rules.reading,
    doc="x[index] of ints, slices, None and Ellipsis in memory of its own.",
)
element = define(
    "element",
    "x[index]",
    operands="x *arrays",
    infer=_basic_type,
    raises="caught",
    vjp=_read_vjp,
    attributes={"index": ...},
    batch=batching_rules.reading,
    doc="x[i, j] of an int for every axis: a number, which shares no memory.",
)


def _gathered_memory(x: ArrayType, *arrays: ArrayType, index: Subscript, **_: Any) -> Trait | None:
    """NumPy takes an element of an array of ints for an int: ``x[:, k]`` is then a view."""
    if any(array.ndim or array.dtype == "bool" for array in arrays):
        return None
    numbers = [item for item in index.items if isinstance(item, int | Slot)]
    return None if len(numbers) == len(index.items) == x.ndim else Trait.VIEW


gather = define(
    "gather",
    "x[index]",
    jax=windows_in_jax.read,
    needs=windows_in_jax.READING,
    operands="x *arrays",
    infer=_gathered_type,
    vjp=_read_vjp,
    attributes={"index": ..., "counts": (), "repeats": True},
    traits=(Trait.KEEPS_ORDER,),
    memory=_gathered_memory,
    sound=lambda y, x, *arrays, index, **_: inside(x, arrays, index),
    batch=batching_rules.reading,
    doc="x[index] with arrays of ints or bool in the index: fresh memory, but for single ints.",
)


def getitem_at(x: Any, *arrays: Any, index: Subscript, **at: Any) -> Any:
    """``x[index]`` of a normalized index."""
    if arrays:
        return gather(x, *arrays, index=index, **at)
    return (element if _is_element(x, index) else getitem_basic)(x, index=index)


def _is_element(x: Any, index: Subscript) -> bool:
    numbers = [item for item in index.items if isinstance(item, int)]
    return len(numbers) == len(index.items) == ndim_of(x)


# Run here for its own kernel, read as source for programs, where `np` is known.


def added_at(index, ct, shape, dtype="float64"):
    """Zeros with ct added at arrays of ints, in order: np.add.at, in the flat array if many."""
    out = np.zeros(shape, dtype=dtype)
    index = index if isinstance(index, tuple) else (index,)
    if index[0].size < 512:
        np.add.at(out, index, ct)
        return out
    shape, axes = out.shape, len(index)
    places = np.ravel_multi_index(index, shape[:axes], mode="wrap")
    if axes == len(shape):
        np.add.at(out.reshape(-1), places, ct)
        return out
    columns = out[(0,) * axes].size
    ct = np.broadcast_to(ct, places.shape + shape[axes:])
    places = places[..., None] * columns + np.arange(columns)
    out = np.bincount(places.ravel(), ct.ravel(), minlength=out.size)
    return out.reshape(shape).astype(dtype, copy=False)


def _scatter_text(attributes: Mapping[str, Any]) -> Spelling:
    by_ints = all(isinstance(item, Slot) for item in attributes["index"].items)
    real = attributes["dtype"] in ("float32", "float64")
    if attributes["repeats"] and by_ints and real and not attributes["counts"]:
        return spell("added_at(index_tuple, ct, shape, dtype=dtype)")
    put = "np.add.at(out, index_tuple, ct)" if attributes["repeats"] else "out[index] = ct"
    return spell(f"out = np.zeros(shape, dtype=dtype)\n{put}")


def _scatter_jax(attributes: Mapping[str, Any]) -> Spelling:
    put = "add" if attributes["repeats"] else "set"
    return windows_in_jax.written("jnp.zeros(shape, dtype=dtype)", f"{put}(ct)")(attributes)


def _scatter_vjp(
    g: Any, y: Any, ct: Any, *arrays: Any, shape: Any, dtype: str, **at: Any
) -> tuple[Any, ...]:
    return getitem_at(g, *arrays, **at), *([None] * len(arrays))


scattered = define(
    "scatter",
    _scatter_text,
    jax=_scatter_jax,
    operands="ct *arrays",
    infer=_scattered_type,
    vjp=_scatter_vjp,
    attributes={"index": ..., "counts": (), "repeats": True, "shape": ..., "dtype": "float64"},
    traits=(Trait.C_ORDER, Trait.PLACES),
    needs=needs((added_at,), windows_in_jax.FUNCTIONS),
    scratch=0,
    batch=batching_rules.scattering,
    doc="Zeros of `shape` with `ct` at the index, added up where a place is named twice.",
)


def scatter_into(
    ct: Any,
    *arrays: Any,
    index: Subscript,
    shape: tuple[Dim, ...],
    dtype: str,
    counts: tuple[Dim, ...] = (),
    repeats: bool = False,
) -> Any:
    """Zeros with `ct` at an index, which names no place twice unless `repeats` says so."""
    at: dict[str, Any] = {"index": index, "counts": counts, "repeats": repeats}
    return scattered(ct, *arrays, **at, shape=bare(shape), dtype=dtype)


def scatter(ct: Any, x: Any, *arrays: Any, **at: Any) -> Any:
    """The transpose of ``x[index]``."""
    return scatter_into(ct, *arrays, **at, shape=shape_of(x), dtype=dtype_of(ct))


# -- writing ------------------------------------------------------------------------------------


COPIED = "out = np.array(x)"
"""The copy that is written to: laid out as `x` is, which in programs is written to itself."""


def _taken_out(x: Any, *arrays: Any, index: Subscript, **at: Any) -> Any:
    """``x[index]`` in memory of its own, so that writing to `x` needs no copy of the whole."""
    if not arrays and not _is_element(x, index):
        return getitem_copy(x, index=index)
    taken = getitem_at(x, *arrays, index=index, **at)
    apart = index.windows or not any(map(ndim_of, arrays))
    return copy_in_order(taken) if apart and ndim_of(taken) and _lies_apart(index) else taken


def _lies_apart(index: Subscript) -> bool:
    """Whether what an index without arrays names may lie in several parts, as a column does."""
    items = [*index.items]
    while items and items[-1] == slice(None):
        items.pop()
    return any(not isinstance(item, int | Slot) for item in items[:-1])


def _set_vjp(ct: Any, y: Any, x: Any, value: Any, *arrays: Any, **at: Any) -> tuple[Any, ...]:
    before = batching_rules.axes_before_mask(at["index"]) if at["counts"] else None
    if before is not None and ndim_of(value) == 0 and 0 not in shape_of(arrays[0]):
        mask = _over(arrays[0], ct, before)
        taken = choose(mask, ct, 0.0)  # summed over the whole, whatever the count
    else:
        taken = _taken_out(ct, *arrays, **at)
        if at["repeats"]:
            taken = choose(_last_writes(ct, taken, *arrays, **at), taken, 0.0)
    rest = set_at(ct, 0.0, *arrays, **at)  # after what is taken, so that it may be done in place
    return rest, _with_axes_of(value, taken), *([None] * len(arrays))


def _with_axes_of(value: Any, taken: Any) -> Any:
    """What is taken out for a value that had more axes, all of length 1, than its places."""
    more = ndim_of(value) - ndim_of(taken)
    return expand_axes(taken, axis=one_or_many(tuple(range(more)))) if more > 0 else taken


def _last_writes(ct: Any, taken: Any, *arrays: Any, **at: Any) -> Any:
    """Which of the values written at an index stay: of those for one place the last."""
    shape = shape_of(taken)
    order = reshape_to(arange_in(ct, sz.mul(shape)), shape=shape)
    at["repeats"] = False  # what is written last stays
    owner = scatter_into(order, *arrays, **at, shape=shape_of(ct), dtype="int64")
    return getitem_at(owner, *arrays, **at) == order


set_at = define(
    "index_set",
    Spelling(f"{COPIED}\nout[index] = value", "x[index] = value"),
    jax=windows_in_jax.written("x", "set(value)"),
    needs=windows_in_jax.WRITING,
    operands="x value *arrays",
    infer=_updated_type,
    vjp=_set_vjp,
    attributes={"index": ..., "counts": (), "repeats": False},
    traits=(Trait.UPDATE,),
    sound=lambda y, x, value, *arrays, index, **_: inside(x, arrays, index),
    batch=batching_rules.writing,
    doc="x with x[index] replaced by value.",
)


def _add_vjp(ct: Any, y: Any, x: Any, value: Any, *arrays: Any, **at: Any) -> tuple[Any, ...]:
    return ct, Later(lambda: _taken_for(value, ct, *arrays, **at)), *([None] * len(arrays))


def _subtract_vjp(ct: Any, y: Any, x: Any, value: Any, *arrays: Any, **at: Any) -> tuple[Any, ...]:
    taken = Later(lambda: Negated(_taken_for(value, ct, *arrays, **at)))
    return ct, taken, *([None] * len(arrays))


def _taken_for(value: Any, ct: Any, *arrays: Any, **at: Any) -> Any:
    """What flows to a value that was added at an index."""
    return _with_axes_of(value, getitem_at(ct, *arrays, **at))


def _is_view(index: Subscript) -> bool:
    """Whether ``x[index]`` looks at the memory of x, whatever the number of its axes."""
    free = any(isinstance(item, slice | Window) or item is Ellipsis for item in index.items)
    return free and not any(isinstance(item, Slot) for item in index.items)


def _combining(name: str, function: str, symbol: str, jax: str, vjp: Any, doc: str) -> OpRecord:
    """A record of what is done to some elements with others, for every time they are named."""

    def text(attributes: Mapping[str, Any]) -> Spelling:
        done = f"{{}}[index] {symbol}"
        if attributes["repeats"]:
            done = f"np.{function}.at({{}}, index_tuple, value)"
        elif _is_view(attributes["index"]):  # quicker than brackets, which assign it to itself
            done = f"part = {{}}[index]\npart {symbol}"
        return spell(f"{COPIED}\n{done.format('out')}", done.format("x"))

    return define(
        name,
        text,
        jax=windows_in_jax.written("x", jax),
        needs=windows_in_jax.WRITING,
        operands="x value *arrays",
        infer=_updated_type,
        vjp=vjp,
        attributes={"index": ..., "counts": (), "repeats": False},
        traits=(Trait.UPDATE,),
        sound=lambda y, x, value, *arrays, index, **_: inside(x, arrays, index),
        batch=batching_rules.writing,
        doc=doc,
    )


add_at = _combining(
    "index_add",
    "add",
    "+= value",
    "add(value)",
    _add_vjp,
    "x with value added at x[index], once for each time that a place is named.",
)
subtract_at = _combining(
    "index_subtract",
    "subtract",
    "-= value",
    "add(-value)",
    _subtract_vjp,
    "x with value subtracted at x[index], once for each time that a place is named.",
)
READING = (getitem_basic, getitem_copy, element, gather)
INDEXED = (*READING, set_at, add_at, subtract_at)
"""The ops whose attribute `index` is applied to their first operand."""


# -- indices as users write them ----------------------------------------------------------------


def normalize(x: Any, key: Any, writing: bool = False) -> tuple[list[Any], dict[str, Any]]:
    """What a user put between brackets: its arrays, and the attributes of the ops on it.

    A mask without axes where something is written need not tell a length.
    """
    items = key if isinstance(key, tuple) else (key,)
    spans = spans_in_turns(x, items)
    shown: list[object] = []
    arrays: list[Any] = []
    counts: list[Dim] = []
    of_ints: list[Any] = []
    for place, item in enumerate(items):
        item = list(item) if type(item) is range else item
        if item is None or item is Ellipsis:
            shown.append(item)
        elif place in spans:
            between: slice = items[place]
            ends: list[int | None] = [None, None]
            for side, end in enumerate((between.start, between.stop)):
                if end is not None:
                    ends[side] = len(arrays)
                    arrays.append(end)
            shown.append(Window(ends[0], ends[1], between.step))
            counts.append(spans[place])
        elif isinstance(item, slice):
            parts = (item.start, item.stop, item.step)
            shown.append(slice(*(None if p is None else as_int(p) for p in parts)))
        elif isinstance(item, int | np.integer) and not isinstance(item, bool):
            shown.append(int(item))
        else:
            array = array_of_item(numbers_of(item))
            found = [array]
            if dtype_of(array) == "bool" and ndim_of(array) and has_static_lengths(array, x):
                found = _places_of(x, array)
            elif dtype_of(array) == "bool":
                counts.append(count_true(array, x, is_length=not writing or ndim_of(array) > 0))
            else:
                of_ints.append(item if isinstance(item, list) else array)
            shown += [Slot(len(arrays) + i) for i in range(len(found))]
            arrays += found
    if sum(item is Ellipsis for item in shown) > 1:
        raise IndexError("an index can only have a single ellipsis ('...')")
    at = {"index": Subscript(tuple(shown)), "counts": tuple(counts)}
    return arrays, {**at, "repeats": _may_repeat(of_ints)}


def _may_repeat(of_ints: Sequence[Any]) -> bool:
    """Whether an index may name a place twice: arrays of ints may, one list of different ints not.

    (A negative int may be another's place.)
    """
    if len(of_ints) == 1 and isinstance(of_ints[0], list):
        numbers = of_ints[0]
        if all(type(n) is int and n >= 0 for n in numbers):
            return len(set(numbers)) < len(numbers)
    return any(isinstance(array, list) or ndim_of(array) for array in of_ints)


def _places_of(x: Any, mask: Any) -> list[Any]:
    """A mask as integer arrays, one an axis; the number of True is looked at."""
    if type(mask) not in HANDLERS:
        mask = apply_in(x, alias, {}, mask)
    return list(nonzero(mask))


def getitem(x: Any, key: Any) -> Any:
    """``x[key]`` with everything that NumPy's brackets take."""
    if type(key) is int:  # the usual case, without the search for others
        return (element if x.ndim == 1 else getitem_basic)(x, index=Subscript((key,)))
    x, key, _ = with_axes_for_masks(x, key)
    arrays, at = normalize(x, key)
    if not arrays:
        items = at["index"].items
        if None in items and all(item in WHOLE for item in items):
            return _with_new_axes(x, items)
        if REVERSED in items and all(item == REVERSED or item in WHOLE for item in items):
            return _reversed(x, items)
    return getitem_at(x, *arrays, **at)


WHOLE = (None, Ellipsis, slice(None))
REVERSED = slice(None, None, -1)


def _spread_out(items: tuple[Any, ...], ndim: int) -> list[Any]:
    """The items with a full slice for every axis that they leave out."""
    given = sum(item is not None and item is not Ellipsis for item in items)
    if given > ndim:
        raise IndexingError(f"too many indices: {given} for an array with {ndim} axes")
    at = items.index(Ellipsis) if Ellipsis in items else len(items)
    return [*items[:at], *[slice(None)] * (ndim - given), *items[at + 1 :]]


def _with_new_axes(x: Any, items: tuple[Any, ...]) -> Any:
    """``x[:, None]``: nothing is taken away, so the gradient needs no zeros around it."""
    spread = _spread_out(items, ndim_of(x))
    return expand_axes(x, axis=one_or_many(tuple(i for i, s in enumerate(spread) if s is None)))


def _reversed(x: Any, items: tuple[Any, ...]) -> Any:
    """``x[:, ::-1]``: likewise, unless there are new axes too."""
    if None in items:
        return getitem_basic(x, index=Subscript(items))
    spread = _spread_out(items, ndim_of(x))
    return flip_axes(x, axes=tuple(i for i, s in enumerate(spread) if s == REVERSED))


def setitem(x: Any, key: Any, value: Any) -> Any:
    """A copy of `x` with ``x[key]`` replaced by `value` (cast to the dtype of `x`)."""
    value = as_array(value)
    if _is_mask(key) and ndim_of(value) == 0 and has_static_lengths(x, key):
        chosen = choose(_over(key, x), value, x)  # a choice among elements needs no length
        return chosen if dtype_of(chosen) == dtype_of(x) else astype(chosen, dtype=dtype_of(x))
    return _written(set_at, x, key, value)


NUMBER_OVER_MASK: dict[str, Any] = {
    "index": Subscript((Slot(0),)),
    "counts": (1,),
    "repeats": False,
}
"""Where a number is written it does not matter how many True a mask has: no length is looked at."""


def _written(op: OpRecord, x: Any, key: Any, value: Any) -> Any:
    """What an op that writes at an index makes of an array."""
    whole, key, axes = with_axes_for_masks(x, key)
    if _is_mask(key) and ndim_of(value) == 0 and ndim_of(key) and 0 not in shape_of(key):
        arrays, at = [key], NUMBER_OVER_MASK
    else:
        arrays, at = normalize(whole, key, writing=True)
    result = op(whole, value, *arrays, **at)
    return squeeze_axes(result, axis=one_or_many(tuple(axes))) if axes else result


def _is_mask(key: Any) -> bool:
    array = isinstance(key, np.ndarray) or type(key) in HANDLERS
    return array and dtype_of(key) == "bool"


def _over(mask: Any, x: Any, before: int = 0) -> Any:
    """A mask over the axes of `x`, `before` in front, so that it broadcasts against the whole."""
    rest = tuple(range(ndim_of(mask), ndim_of(x) - before))
    return expand_axes(mask, axis=one_or_many(rest)) if rest else mask


def index_set(x: Any, key: Any, value: Any) -> Any:
    """`x` with ``x[key] = value`` as a new array; of two values for one place the last counts."""
    return setitem(x, key, value)


def index_add(x: Any, key: Any, value: Any) -> Any:
    """`x` with `value` added at ``x[key]`` as a new array; a place named twice gets both values."""
    return _written(add_at, x, key, as_array(value))


# -- where something is true --------------------------------------------------------------------


def _nonzero_type(sizes: Sizes, x: ArrayType, ndim: int, count: Dim) -> Any:
    found = ArrayType("int64", (count,))
    return found if ndim == 1 else (found,) * ndim


nonzero_of = define(
    "nonzero",
    lambda attributes: spell("np.flatnonzero(x)" if attributes["ndim"] == 1 else "np.nonzero(x)"),
    jax=lambda attributes: spell(
        f"jnp.{'flatnonzero' if attributes['ndim'] == 1 else 'nonzero'}(x, size=count)"
    ),
    infer=_nonzero_type,
    batch=batching_rules.of_data,
    attributes={"ndim": ..., "count": ...},
    differentiable=False,
    doc="The indices of the elements that are not 0, an array for each axis.",
)
argwhere_of = define(
    "argwhere",
    "np.argwhere(x)",
    jax="jnp.argwhere(x, size=count)",
    infer=lambda sizes, x, count: ArrayType("int64", (count, x.ndim)),
    batch=batching_rules.of_data,
    attributes={"count": ...},
    differentiable=False,
)


def nonzero(x: Any) -> tuple[Any, ...]:
    """The indices of the elements that are not 0: a tuple with an array for each axis."""
    ndim = ndim_of(x)
    if ndim == 0:
        raise ShapeError("nonzero: an array without axes has no indices: use atleast_1d")
    found = nonzero_of(x, ndim=ndim, count=count_true(x))
    return (found,) if ndim == 1 else tuple(found)


def flatnonzero(x: Any) -> Any:
    """The indices of the elements that are not 0 in the flattened array."""
    return nonzero(ravel(x))[0]


def argwhere(x: Any) -> Any:
    """The indices of the elements that are not 0, a row for each."""
    return argwhere_of(x, count=count_true(x))


def where(condition: Any, x: Any = None, y: Any = None) -> Any:
    """`x` where `condition` is true, else `y`; with the condition alone, the indices of True.

    Where a branch is not taken it contributes exactly 0 to gradients, whatever stands there.
    """
    given = (condition, x, y)
    condition, x, y = map(as_array, given)
    if x is None and y is None:
        return nonzero(condition)
    if x is None or y is None:
        raise ArgumentValueError("where takes a condition alone, or both x and y")
    return choose(condition, x, y)


__all__ = [
    "argwhere",
    "flatnonzero",
    "index_add",
    "index_set",
    "nonzero",
    "where",
]
