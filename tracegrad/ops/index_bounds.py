"""Tells how many axes an index stands for, and whether it is known to be within bounds."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np

from codegen.sizes import Dim, Size, Sizes, add
from codegen.spelling import Slot, Spelling, Subscript, spell
from codegen.types import ArrayType
from tracegrad.ops.record import define
from tracegrad.runtime.thread_state import STATE
from tracegrad.values.dispatch import shape_of, type_of

Place: TypeAlias = int | Size | slice
"""What names places along an axis whatever arrays hold."""


def width(item: object, arrays: Sequence[ArrayType]) -> int:
    """How many axes an item of an index stands for (of Ellipsis that depends on the others)."""
    if isinstance(item, Slot) and arrays[item.position].dtype == "bool":
        return arrays[item.position].ndim
    return 0 if item is None or item is Ellipsis else 1


def axes_used(arrays: Sequence[ArrayType], index: Subscript) -> int:
    """How many axes the items of an index stand for, the Ellipsis aside."""
    return sum(width(item, arrays) for item in index.items)


def _text_within(first: str) -> Callable[[Mapping[str, Any]], Spelling]:
    """The source for integers that `first` makes of an array."""

    def text(attributes: Mapping[str, Any]) -> Spelling:
        least = "-length" if attributes["from_end"] else "0"
        return spell(f"{first}\nout = (({least} <= out) & (out < length)).all()")

    return text


all_within = define(
    "all_within",
    _text_within("out = x.astype(np.int64)"),
    jax=_text_within("out = jnp.asarray(x, dtype=jnp.int64)"),
    infer=lambda sizes, x, length, from_end: ArrayType("bool"),
    attributes={"length": ..., "from_end": ...},
    differentiable=False,
    doc="Whether all are indices of an axis of this length, which `from_end` may be negative.",
)


def inside(x: Any, arrays: Sequence[Any], index: Subscript) -> Iterator[Any]:
    """For each array of ints in an index of `x` whether it names places that there are."""
    types = [type_of(array) for array in arrays]
    shape, axis = shape_of(x), 0
    rest = len(shape) - axes_used(types, index)
    for item in index.items:
        if isinstance(item, Slot) and types[item.position].dtype != "bool":
            yield all_within(arrays[item.position], length=shape[axis], from_end=True)
        axis += rest if item is Ellipsis else width(item, types)


def spans_in_turns(x: Any, items: Sequence[Any]) -> dict[int, Dim]:
    """By their places, the slices of an index that lie within their axes whatever loops count.

    With them how far apart their ends are.
    """
    found: dict[int, Dim] = {}
    if STATE.trace is None or not any(map(_is_between_tensors, items)):
        return found
    shape, axis = shape_of(x), 0
    for place, item in enumerate(items):
        if item is Ellipsis:
            axis = len(shape) - sum(y is not None for y in items[place + 1 :])
        elif item is not None:
            if not isinstance(item, slice) and (isinstance(item, list) or np.ndim(item)):
                return {}  # an array or a mask: the slices are of the numbers of now
            if _is_between_tensors(item) and axis < len(shape):
                span = STATE.trace.span_of(item.start, item.stop, item.step, shape[axis])
                if span is not None:
                    found[place] = span
            axis += 1
    return found


def _is_between_tensors(item: Any) -> bool:
    """Whether an end of a slice is recorded, and the other one recorded, a number or left out."""
    if not isinstance(item, slice):
        return False
    ends = [end for end in (item.start, item.stop) if end is not None]
    numbers = [end for end in ends if getattr(end, "_traced", None) is None]
    return len(numbers) < len(ends) and all(type(end) is int for end in numbers)


def may_be_whole(index: Subscript) -> bool:
    """Whether an index without numbers may name every place, as ``[:2]`` does of two."""
    return all(
        item is None or item is Ellipsis or (isinstance(item, slice) and _from_the_first(item))
        for item in index.items
    )


def _from_the_first(item: slice) -> bool:
    """Whether a slice may be a whole axis: ``[:2]``, ``[-2:]``, not ``[1:]`` or ``[::2]``."""
    return item.step in (None, 1) and (item.start or 0) <= 0 <= (item.stop or 0)


# -- indices without arrays --------------------------------------------------------------------


def apart(a: Subscript, b: Subscript, sizes: Callable[[], Sizes] = Sizes) -> bool:
    """Whether two indices name no place in common, in arrays of whatever lengths.

    Where they have lengths between the brackets, that is so for the lengths of now, and for all
    that are assumed.
    """
    for one, other in zip(a.items, b.items, strict=False):
        if not isinstance(one, Place) or not isinstance(other, Place):
            return False
        if _before(one, other, sizes) or _before(other, one, sizes) or _interleaved(one, other):
            return True
    return False


def _is_at_most(a: Dim, b: Dim, sizes: Callable[[], Sizes]) -> bool:
    """Whether one place is not behind another."""
    if isinstance(a, int) and isinstance(b, int):
        return a <= b
    known = sizes()
    holds = known.value(a) <= known.value(b)
    known.require_at_least(*((b, a) if holds else (a, add(b, 1))))
    return holds


def joined(a: Subscript, b: Subscript) -> Subscript | None:
    """The index of what two slices name together, where these overlap or follow one another."""
    if len(a.items) != len(b.items):
        return None
    differing = [
        i for i, pair in enumerate(zip(a.items, b.items, strict=True)) if pair[0] != pair[1]
    ]
    if len(differing) != 1:
        return a if not differing else None
    at = differing[0]
    one, other = _ends(a.items[at]), _ends(b.items[at])
    if one is None or other is None:
        return None
    (low, end), (begin, high) = sorted((one, other))
    if begin > end:
        return None
    return Subscript((*a.items[:at], slice(low, max(end, high)), *a.items[at + 1 :]))


def _ends(item: object) -> tuple[int, int] | None:
    """The ends of a slice of neighbours that is the same for all long axes."""
    if not isinstance(item, slice) or item.step not in (None, 1) or type(item.stop) is not int:
        return None
    start = item.start or 0
    if type(start) is not int:
        return None
    return (start, item.stop) if 0 <= start <= item.stop else None


def _before(a: Place, b: Place, sizes: Callable[[], Sizes]) -> bool:
    """Whether what `a` names along an axis ends where `b` begins, or before that."""
    end = a.stop if isinstance(a, slice) else add(a, 1) if a != -1 else None
    start = b.start if isinstance(b, slice) else b
    if end is None or start is None or not (_forward(a) and _forward(b)):
        return False
    return _from_the_end(end) == _from_the_end(start) and _is_at_most(end, start, sizes)


def _interleaved(a: Place, b: Place) -> bool:
    """Whether both go in the same steps, from places between which they do not meet."""
    if not (isinstance(a, slice) and isinstance(b, slice) and a.step == b.step and _forward(a)):
        return False
    if a.step in (None, 1):
        return False
    starts = (a.start or 0, b.start or 0)
    return min(starts) >= 0 and (starts[0] - starts[1]) % a.step != 0


def _from_the_end(place: Dim) -> bool:
    return isinstance(place, int) and place < 0


def _forward(item: Place) -> bool:
    return not isinstance(item, slice) or item.step is None or item.step > 0
