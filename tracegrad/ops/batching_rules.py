"""The batching rules of ops: results for every example of a batch.

A batch is an array of which the first axis counts examples. A rule gets a `Batch`: the operands,
which of them are batches (`wide`), and the attributes as they are for one example. It gives the
results as batches, by ops that hold for all examples at once, or `NotImplemented` for operands
that it does not cover: the op then runs for one example after the other. Rules are mathematics over
operands, as derivative rules are, so they hold for staged values, Tensors and arrays.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any

from codegen import sizes as sz
from codegen.sizes import Dim
from codegen.spelling import Slot, Subscript, Window
from tracegrad.errors import NotBatchedError
from tracegrad.ops.record import TABLE
from tracegrad.runtime.provided import Provided
from tracegrad.values.dispatch import apply_in, dtype_of, is_number, ndim_of, shape_of

Axes = int | tuple[int, ...]


@dataclass(frozen=True)
class Batch:
    """One call of an op for all examples of a batch of `length`."""

    op: Any
    operands: tuple[Any, ...]
    wide: tuple[bool, ...]
    attributes: dict[str, Any]
    length: Dim

    def ndim(self, i: int) -> int:
        """The number of axes that operand `i` has in one example."""
        return ndim_of(self.operands[i]) - self.wide[i]

    def run(self, *operands: Any, **changes: Any) -> Any:
        """The op itself, with other operands (by default its own) and attributes."""
        return self.op(*(operands or self.operands), **{**self.attributes, **changes})

    @property
    def like(self) -> Any:
        """An operand that is a batch."""
        return next(x for x, wide in zip(self.operands, self.wide, strict=True) if wide)

    def front(self, i: int) -> Any:
        """Operand `i` as a batch: repeated, where it is the same in all examples."""
        x = self.operands[i]
        if self.wide[i]:
            return x
        shape = (self.length, *shape_of(x))
        return apply_in(self.like, TABLE["broadcast_to"], {"shape": shape}, x)

    def written(self, i: int) -> Any:
        """Operand `i` as a batch that is written to: the arrays of examples lie one after another.

        A copy of what repeats one array would have the examples last, and sums add as arrays lie.
        """
        x = self.front(i)
        return x if self.wide[i] or ndim_of(x) == 1 else TABLE["copy_in_order"](x)

    def beside(self, i: int) -> Any:
        """Operand `i` with an axis for the batch, of length 1 where it is the same in all."""
        x = self.operands[i]
        return x if self.wide[i] else expanded(x, (0,))

    def aligned(self, i: int, ndim: int) -> Any:
        """Operand `i` so that it broadcasts with others of `ndim` axes in one example."""
        x, missing = self.operands[i], ndim - self.ndim(i)
        if not self.wide[i] or missing <= 0:
            return x
        return expanded(x, tuple(range(1, missing + 1)))


@dataclass(frozen=True)
class Alike:
    """What a rule gives that is the same for all examples: no batch."""

    value: Any


# -- steps on axes ------------------------------------------------------------------------------


def one_or_many(axes: Sequence[int]) -> Axes:
    """A single axis as an int, as one writes it."""
    return axes[0] if len(axes) == 1 else tuple(axes)


def expanded(x: Any, axes: Sequence[int]) -> Any:
    """`x` with new axes of length 1 at these places of the result."""
    return TABLE["expand_dims"](x, axis=one_or_many(axes)) if axes else x


def squeezed(x: Any, axis: int) -> Any:
    """`x` without an axis of length 1."""
    return TABLE["squeeze"](x, axis=axis)


def reshaped(x: Any, shape: tuple[Dim, ...]) -> Any:
    """`x` in another shape."""
    return TABLE["reshape"](x, shape=shape)


def permuted(x: Any, order: Sequence[int]) -> Any:
    """`x` with its axes in another order."""
    if list(order) == list(range(len(order))):
        return x
    reverse = list(order) == list(reversed(range(len(order))))
    return TABLE["transpose"](x, axes=None if reverse else tuple(order))


def moved(x: Any, source: int, place: int) -> Any:
    """`x` with one axis at another place."""
    order = [axis for axis in range(ndim_of(x)) if axis != source]
    order.insert(place, source)
    return permuted(x, order)


def swapped(x: Any) -> Any:
    """`x` with its last two axes exchanged."""
    ndim = ndim_of(x)
    return permuted(x, (*range(ndim - 2), ndim - 1, ndim - 2))


def behind(axis: Any, ndim: int) -> Any:
    """An axis, or several, of one example as those of the batch; None stands for all."""
    if axis is None:
        return one_or_many(tuple(range(1, ndim + 1)))
    if isinstance(axis, tuple):
        return tuple([behind(a, ndim) for a in axis])
    return axis + 1 if axis >= 0 else axis + ndim + 1


def lengthened(shape: Any, length: Dim) -> tuple[Dim, ...]:
    """The attribute `shape`, which may be a single length, with the batch in front."""
    return (length, *(shape if isinstance(shape, tuple) else (shape,)))


# -- rules that families share ------------------------------------------------------------------


def elementwise(batch: Batch) -> Any:
    """Operands that broadcast: an example with fewer axes gets axes of length 1."""
    count = range(len(batch.operands))
    ndim = max(map(batch.ndim, count))
    return batch.run(*[batch.aligned(i, ndim) for i in count])


def spacing(batch: Batch) -> Any:
    """Elementwise, with the numbers of each example along an axis before it."""
    return moved(elementwise(batch), 1, 0)


leading = elementwise
"""The rule of ops on the last axes, which take any number of axes before."""


def over_axes(batch: Batch) -> Any:
    """A reduction, or anything along `axis`, of the first operand alone."""
    (x,), ndim, axis = batch.operands, batch.ndim(0), batch.attributes["axis"]
    if ndim == 0:
        keep = {"keepdims": False} if "keepdims" in batch.attributes else {}
        return batch.run(expanded(x, (1,)), axis=1, **keep)
    return batch.run(x, axis=behind(axis, ndim))


def over_one_axis(batch: Batch) -> Any:
    """A reduction that takes one axis or all: of several axes it sees one."""
    (x,), ndim, axis = batch.operands, batch.ndim(0), batch.attributes["axis"]
    if axis is not None and not isinstance(axis, tuple):
        return over_axes(batch)
    if ndim < 2:
        return over_axes(batch)
    axes = tuple(range(ndim)) if axis is None else axis
    kept = tuple(a for a in range(ndim) if a not in axes)
    x = permuted(x, (0, *(a + 1 for a in kept), *(a + 1 for a in axes)))
    shape = shape_of(x)
    flat = (*shape[: 1 + len(kept)], sz.mul(shape[1 + len(kept) :]))
    y = batch.run(reshaped(x, flat), axis=len(kept) + 1, keepdims=False)
    return expanded(y, tuple(a + 1 for a in axes)) if batch.attributes["keepdims"] else y


def largest(batch: Batch) -> Any:
    """`max` and `min`: where the first of equal elements counts, of several axes one is made."""
    return (over_one_axis if batch.attributes["first"] else over_axes)(batch)


def along(name: str) -> Callable[[Batch], Any]:
    """The rule of ops of one operand whose attribute `name` has axes; None stands for all."""

    def rule(batch: Batch) -> Any:
        axes = batch.attributes[name]
        if axes is None:
            axes = tuple(range(batch.ndim(0)))
        return batch.run(**{name: behind(axes, batch.ndim(0))})

    return rule


def per_axis(name: str, rest: Any) -> Callable[[Batch], Any]:
    """The rule of ops of one operand whose attribute `name` has something for each axis."""

    def rule(batch: Batch) -> Any:
        given = batch.attributes[name]
        x = batch.aligned(0, len(given))
        return batch.run(x, **{name: (rest, *given)})

    return rule


def joining(batch: Batch) -> Any:
    """Arrays side by side."""
    count = range(len(batch.operands))
    axis = batch.attributes["axis"]
    return batch.run(*map(batch.front, count), axis=behind(axis, batch.ndim(0)))


def placing(batch: Batch) -> Any:
    """Zeros of `shape` with the operand along part of an axis."""
    shape = batch.attributes["shape"]
    axis = behind(batch.attributes["axis"], len(lengthened(shape, 0)) - 1)
    return batch.run(axis=axis, shape=lengthened(shape, batch.length))


def only(*places: int) -> Callable[[Batch], Any]:
    """The rule of ops that take an array of any shape at these places, as it is."""

    def rule(batch: Batch) -> Any:
        if any(wide and i not in places for i, wide in enumerate(batch.wide)):
            return NotImplemented
        return batch.run()

    return rule


def fronted(batch: Batch) -> Any:
    """Operands with the same axes, all of which have the batch."""
    return batch.run(*map(batch.front, range(len(batch.operands))))


def fronted_along(batch: Batch) -> Any:
    """As `fronted`, for what goes along `axis`."""
    operands = map(batch.front, range(len(batch.operands)))
    return batch.run(*operands, axis=behind(batch.attributes["axis"], batch.ndim(0)))


def of_data(batch: Batch) -> Any:
    """Results whose lengths follow from what is in an example."""
    raise NotBatchedError(f"how much {batch.op.name} finds differs between examples")


# -- shapes -------------------------------------------------------------------------------------


def broadcasting(batch: Batch) -> Any:
    """`broadcast_to`, `full`."""
    shape = lengthened(batch.attributes["shape"], batch.length)
    return batch.run(batch.aligned(0, len(shape) - 1), shape=shape)


def made_like(plain: Any) -> Callable[[Batch], Any]:
    """The rule of arrays made like their first operand: `plain` makes them of a shape.

    Of a batch there is no memory of one example that they could lie as.
    """

    def rule(batch: Batch) -> Any:
        x, *value = batch.operands
        shape, dtype = batch.attributes["shape"], batch.attributes["dtype"] or dtype_of(x)
        attributes = {"shape": shape_of(x)[batch.wide[0] :] if shape is None else shape}
        attributes["dtype"] = dtype
        if not any(batch.wide[1:]):
            return Alike(apply_in(x, plain, attributes, *value))
        return broadcasting(Batch(plain, tuple(value), batch.wide[1:], attributes, batch.length))

    return rule


def reshaping(batch: Batch) -> Any:
    """`reshape`."""
    return batch.run(shape=lengthened(batch.attributes["shape"], batch.length))


def transposing(batch: Batch) -> Any:
    """`transpose`."""
    axes = batch.attributes["axes"]
    order = tuple(reversed(range(batch.ndim(0)))) if axes is None else axes
    return permuted(batch.operands[0], (0, *(a + 1 for a in order)))


def rolling(batch: Batch) -> Any:
    """`roll`; without an axis the elements of an example move as one row."""
    (x,), axis = batch.operands, batch.attributes["axis"]
    if axis is not None or batch.ndim(0) == 1:
        return batch.run(axis=behind(axis, batch.ndim(0)))
    if batch.ndim(0) == 0:
        return x
    shape = shape_of(x)
    flat = reshaped(x, (batch.length, sz.mul(shape[1:])))
    return reshaped(batch.run(flat, axis=1), shape)


def repeating(batch: Batch) -> Any:
    """`repeat`, which without an axis has a vector."""
    axis = batch.attributes["axis"]
    return batch.run(axis=1 if axis is None else axis + 1)


def on_diagonal(batch: Batch) -> Any:
    """`diagonal`, `trace`."""
    first, second = batch.attributes["axis1"], batch.attributes["axis2"]
    ndim = batch.ndim(0)
    return batch.run(axis1=behind(first, ndim), axis2=behind(second, ndim))


def diagonal_matrix(batch: Batch) -> Any:
    """`diag` of vectors: they stand on the diagonal of matrices of zeros."""
    (x,), k = batch.operands, batch.attributes["k"]
    n = shape_of(x)[1]
    size = sz.add(n, abs(k))
    zeros = {"shape": (batch.length, size, size), "dtype": dtype_of(x)}
    whole = apply_in(x, TABLE["zeros"], zeros)
    rows = _counting(x, n, 0)
    lines = [rows if start == 0 else rows + start for start in (max(-k, 0), max(k, 0))]
    index = Subscript((slice(None), Slot(0), Slot(1)))
    return TABLE["index_set"](whole, x, *lines, index=index, counts=(), repeats=False)


def first_axis(batch: Batch) -> Any:
    """Ops along the first axis, whatever comes behind."""
    return moved(batch.run(moved(batch.operands[0], 0, 1)), 1, 0)


# -- products -----------------------------------------------------------------------------------


def matrix_product(batch: Batch) -> Any:
    """`matmul`: vectors of a batch are the rows of a matrix."""
    (a, b), (wide_a, wide_b) = batch.operands, batch.wide
    na, nb = batch.ndim(0), batch.ndim(1)
    if na == nb == 1:
        if wide_a and wide_b:
            if dtype_of(a) in _REAL and dtype_of(b) in _REAL:
                return TABLE["row_dot"](a, b)
            column = batch.run(expanded(a, (1,)), expanded(b, (2,)))
            return TABLE["squeeze"](column, axis=(1, 2))
        return batch.run(a, b) if wide_a else batch.run(b, a)
    if na == 1:
        if not wide_a or (nb == 2 and not wide_b):
            return batch.run(a, b)
        row = expanded(a, tuple(range(1, nb)))
        product = batch.run(row, b)
        return squeezed(product, ndim_of(product) - 2)
    if nb == 1:
        if not wide_b:
            return batch.run(a, b)
        if not wide_a and na == 2:
            return batch.run(b, swapped(a))
        column = expanded(b, (*range(1, na - 1), na))
        product = batch.run(a, column)
        return squeezed(product, ndim_of(product) - 1)
    ndim = max(na, nb)
    return batch.run(batch.aligned(0, ndim), batch.aligned(1, ndim))


_REAL = ("float64", "float32", "int64")


def outer_product(batch: Batch) -> Any:
    """`outer` of vectors."""
    a, b = batch.operands
    column = expanded(a, (2,)) if batch.wide[0] else expanded(a, (1,))
    row = expanded(b, (1,)) if batch.wide[1] else b
    return TABLE["multiply"](column, row)


def tensor_product(batch: Batch) -> Any:
    """`tensordot`."""
    (a, b), (of_a, of_b) = batch.operands, batch.attributes["axes"]
    if batch.wide == (True, False):
        return batch.run(a, b, axes=(tuple(i + 1 for i in of_a), of_b))
    na, nb = batch.ndim(0), batch.ndim(1)
    letters = iter(_LETTERS)
    labels_a = [next(letters) for _ in range(na)]
    labels_b = [next(letters) for _ in range(nb)]
    for i, j in zip(of_a, of_b, strict=True):
        labels_b[j] = labels_a[i]
    free_a = [label for i, label in enumerate(labels_a) if i not in of_a]
    free_b = [label for j, label in enumerate(labels_b) if j not in of_b]
    return _contraction(batch, ["".join(labels_a), "".join(labels_b)], "".join(free_a + free_b))


def labelled_product(batch: Batch) -> Any:
    """`einsum`: the batch is one more label."""
    given, _, output = batch.attributes["subscripts"].partition("->")
    return _contraction(batch, given.split(","), output)


_LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"


contract = Provided("einsum by the plainest ops that do it")


def _contraction(batch: Batch, terms: Sequence[str], output: str) -> Any:
    used = {*output, *"".join(terms)}
    free = next(letter for letter in _LETTERS if letter not in used)
    wide = [free + t if w else t for t, w in zip(terms, batch.wide, strict=True)]
    return contract.call(wide, free + output, batch.operands)


def chain(batch: Batch) -> Any:
    """`multi_dot`, from left to right."""
    return reduce(TABLE["matmul"], batch.operands)


# -- linear algebra -----------------------------------------------------------------------------


def solving(batch: Batch) -> Any:
    """`solve`: a vector is a column."""
    b, vector = batch.operands[1], batch.ndim(1) == 1
    columns = 2 if vector else batch.ndim(1)
    ndim = max(batch.ndim(0), columns)
    missing = tuple(range(1, ndim - columns + 1)) if batch.wide[1] else ()
    if vector:
        b = expanded(b, (*missing, ndim_of(b) + len(missing)))
    else:
        b = expanded(b, missing)
    solution = batch.run(batch.aligned(0, ndim), b)
    return squeezed(solution, ndim_of(solution) - 1) if vector else solution


def solving_alike(batch: Batch) -> Any:
    """Triangular solves, whose operands have one batch."""
    last = len(batch.operands) - 1
    whole = [batch.front(i) for i in range(last + 1)]
    vector = batch.ndim(last) == 1
    if vector:
        whole[last] = expanded(whole[last], (2,))
    solution = batch.run(*whole)
    return squeezed(solution, ndim_of(solution) - 1) if vector else solution


# -- order --------------------------------------------------------------------------------------


def quantiles(batch: Batch) -> Any:
    """`quantile`: its results for several quantiles lie in front of the batch."""
    x, q = batch.operands
    if batch.wide[1] or batch.ndim(0) == 0:
        return NotImplemented
    y = batch.run(x, q, axis=behind(batch.attributes["axis"], batch.ndim(0)))
    return moved(y, 1, 0) if ndim_of(q) else y


# -- indices ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Indexed:
    """An index of one example as one of the whole batch.

    `arrays` and `items` are those of the index. What stands there, ``x[index]``, has its axes in
    the order of one example, with the batch in front, after `order` (a permutation of them).
    """

    arrays: tuple[Any, ...]
    items: tuple[object, ...]
    order: tuple[int, ...]

    def of_lanes(self, taken: Any) -> Any:
        """What was read, with the batch in front."""
        return permuted(taken, self.order)

    def of_index(self, value: Any) -> Any:
        """What is to be written, with its axes as the index has them."""
        return permuted(value, tuple(self.order.index(i) for i in range(len(self.order))))


def _counting(like: Any, length: Dim, more: int) -> Any:
    """0, 1, ... as the examples of a batch, with axes of length 1 behind."""
    bounds = {"start": 0, "stop": length, "step": 1, "dtype": None}
    numbers = apply_in(like, TABLE["arange"], bounds)
    return expanded(numbers, tuple(range(1, more + 1)))


def indexed(batch: Batch, first: int, whole: bool, ndim: int) -> Indexed:
    """The index of a batch whose arrays are the operands from `first` on.

    `whole` says whether what is indexed is a batch; it has `ndim` axes in one example.
    """
    items = batch.attributes["index"].items
    arrays, wide = batch.operands[first:], batch.wide[first:]
    lane_ndims = [batch.ndim(first + i) for i in range(len(arrays))]
    masks = [dtype_of(array) == "bool" for array in arrays]
    if any(w and m for w, m in zip(wide, masks, strict=True)):
        raise NotBatchedError("how many elements a mask selects differs between examples")
    windows = batch.attributes["index"].windows
    if any(wide[end] for window in windows for end in window.ends):
        raise NotBatchedError("where a slice begins differs between examples")
    block = max((1 if m else n for n, m in zip(lane_ndims, masks, strict=True)), default=0)
    kept, at, apart = _shape_of_index(items, lane_ndims, masks, ndim)
    total = kept + block
    if not any(wide):
        order = list(range(1 + total))
        if apart and whole:  # the arrays' axes come first, before the batch
            order = [block, *range(block), *range(block + 1, 1 + total)]
        return Indexed(arrays, (slice(None), *items), tuple(order))
    spread = tuple(
        [
            expanded(a, tuple(range(1, block - n + 1))) if w and block > n else a
            for a, w, n in zip(arrays, wide, lane_ndims, strict=True)
        ]
    )
    if not whole:
        place = 0 if apart else at
        order = [place, *(i for i in range(1 + total) if i != place)]
        return Indexed(spread, items, tuple(order))
    counting = _counting(batch.like, batch.length, block)
    shifted = [_moved(item) for item in items]
    lane_at = 0 if apart else at
    # as it is read: batch, the arrays' axes, the others
    others = list(range(1 + block, 1 + total))
    order = [0, *others[:lane_at], *range(1, 1 + block), *others[lane_at:]]
    return Indexed((counting, *spread), (Slot(0), *shifted), tuple(order))


def _moved(item: object) -> object:
    """An item of an index behind one more array."""
    match item:
        case Slot(position):
            return Slot(position + 1)
        case Window():
            return item.moved(1)
    return item


def _shape_of_index(
    items: Sequence[object], ndims: Sequence[int], masks: Sequence[bool], ndim: int
) -> tuple[int, int, bool]:
    """Of ``x[items]``: how many axes are kept, how many before the arrays', and whether something
    stands between the arrays (then their axes come first)."""
    several = any(isinstance(item, Slot) for item in items)

    def width(item: object) -> int:
        if isinstance(item, Slot):
            return ndims[item.position] if masks[item.position] else 1
        return int(item is not None and item is not Ellipsis)

    used = sum(map(width, items))
    kept, at = 0, 0
    places: list[int] = []
    for place, item in enumerate(items):
        if item is None or isinstance(item, slice | Window):
            kept += 1
            continue
        if item is Ellipsis:
            kept += ndim - used
            continue
        if not isinstance(item, Slot) and not several:
            continue
        if not places:
            at = kept
        places.append(place)
    if Ellipsis not in items:
        kept += ndim - used
    apart = bool(places) and places[-1] - places[0] >= len(places)
    return kept, 0 if apart else at, apart


def reading(batch: Batch) -> Any:
    """``x[index]``."""
    found = indexed(batch, 1, batch.wide[0], batch.ndim(0))
    x = batch.operands[0]
    index = Subscript(found.items)
    if not found.arrays:
        name = "getitem_copy" if batch.op.name == "getitem_copy" else "getitem"
        return TABLE[name](x, index=index)
    taken = TABLE["gather"](x, *found.arrays, **{**batch.attributes, "index": index})
    return found.of_lanes(taken)


def _value_at(batch: Batch, i: int, found: Indexed) -> Any:
    """Operand `i`, which is written at an index, with its axes as the index has them."""
    value, ndim = batch.operands[i], batch.ndim(i)
    target = len(found.order) - 1
    if is_number(value) or (ndim == 0 and not batch.wide[i]):
        return value
    if ndim > target:  # its first axes have length 1
        first = int(batch.wide[i])
        axes = tuple(range(first, first + ndim - target))
        value, ndim = TABLE["squeeze"](value, axis=one_or_many(axes)), target
    if found.order == tuple(range(len(found.order))):
        missing = target - ndim if batch.wide[i] else 0
        return expanded(value, tuple(range(1, missing + 1)))
    new = range(1, target - ndim + 1) if batch.wide[i] else range(target + 1 - ndim)
    return found.of_index(expanded(value, tuple(new)))


def scattering(batch: Batch) -> Any:
    """Zeros with a cotangent at an index."""
    shape = lengthened(batch.attributes["shape"], batch.length)
    found = indexed(batch, 1, True, len(shape) - 1)
    value = _value_at(batch, 0, found)
    return batch.run(value, *found.arrays, index=Subscript(found.items), shape=shape)


def writing(batch: Batch) -> Any:
    """An array with something written, added or subtracted at an index."""
    chosen = _choosing(batch)
    if chosen is not None:
        return chosen
    found = indexed(batch, 2, True, batch.ndim(0))
    value = _value_at(batch, 1, found)
    return batch.run(batch.written(0), value, *found.arrays, index=Subscript(found.items))


def axes_before_mask(index: Subscript) -> int | None:
    """How many whole axes stand before the one array of an index; None for any other index."""
    *whole, last = index.items or (None,)
    return len(whole) if type(last) is Slot and all(x == slice(None) for x in whole) else None


def _choosing(batch: Batch) -> Any:
    """What is written where a mask is true, of examples that have masks of their own."""
    before = axes_before_mask(batch.attributes["index"])
    if before is None or not batch.wide[2] or dtype_of(batch.operands[2]) != "bool":
        return None
    x, mask, ndim = batch.front(0), batch.operands[2], batch.ndim(0)
    value = _value_over_mask(batch, ndim - before - batch.ndim(2))
    if value is None:
        return None
    rest = tuple(range(1 + before + batch.ndim(2), 1 + ndim))
    mask = expanded(mask, (*range(1, 1 + before), *rest))
    if batch.op.name != "index_set":
        value = TABLE["add" if batch.op.name == "index_add" else "subtract"](x, value)
    y = TABLE["where"](mask, value, x)
    return y if dtype_of(y) == dtype_of(x) else TABLE["astype"](y, dtype=dtype_of(x))


def _value_over_mask(batch: Batch, behind: int) -> Any:
    """What is written where a mask is true, as it broadcasts against the whole array; `behind` axes
    follow the mask's. None where it has a value for each True."""
    value, ndim, masked = batch.operands[1], batch.ndim(1), batch.ndim(2)
    first = int(batch.wide[1])
    if ndim > behind:
        if shape_of(value)[first + ndim - behind - 1] != 1:
            return None
        place = first + ndim - behind
        if masked:
            value = expanded(value, tuple(range(place, place + masked - 1)))
        else:  # one True is an axis of its own
            value = squeezed(value, place - 1)
        ndim += masked - 1
    return expanded(value, tuple(range(1, batch.ndim(0) - ndim + 1))) if batch.wide[1] else value


def along_an_axis(batch: Batch) -> Any:
    """Indices along an axis, into the first operand."""
    count = range(len(batch.operands))
    axis = behind(batch.attributes["axis"], batch.ndim(0))
    return batch.run(*map(batch.beside, count), axis=axis)


def placing_along(batch: Batch) -> Any:
    """Zeros of `shape` with something at indices along an axis."""
    shape = lengthened(batch.attributes["shape"], batch.length)
    axis = behind(batch.attributes["axis"], len(shape) - 1)
    return batch.run(batch.front(0), batch.front(1), axis=axis, shape=shape)


def increasing_along(batch: Batch) -> Any:
    """The first operand with something added at indices along an axis."""
    axis = behind(batch.attributes["axis"], batch.ndim(0))
    return batch.run(*map(batch.front, range(3)), axis=axis)


# -- windows ------------------------------------------------------------------------------------


def over_windows(batch: Batch) -> Any:
    """`windows`, whose results have the elements of a window in front."""
    ndim = batch.ndim(0) + 1
    return moved(batch.run(ndim=ndim), len(batch.attributes["span"]), 0)


def adding_windows(batch: Batch) -> Any:
    """`overlap_add`, the way back."""
    x, n = batch.operands[0], len(batch.attributes["span"])
    return batch.run(moved(x, 0, n))


def images(*places: int) -> Callable[[Batch], Any]:
    """The rule of convolutions of images at these places, whose first axis is a batch already."""

    def rule(batch: Batch) -> Any:
        if any(wide != (i in places) for i, wide in enumerate(batch.wide)):
            return NotImplemented
        shape = shape_of(batch.like)
        merged = [
            reshaped(x, (sz.mul(shape_of(x)[:2]), *shape_of(x)[2:])) if i in places else x
            for i, x in enumerate(batch.operands)
        ]
        y = batch.run(*merged)
        return reshaped(y, (*shape[:2], *shape_of(y)[1:]))

    return rule
