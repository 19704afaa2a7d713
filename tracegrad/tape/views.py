"""Tensors that look at one piece of memory: how each is made of the whole, and what a write does.

A view knows its *base*, which looks at nobody, and its *path*: the ops that lead from the base to
it. The base knows its views, weakly. A write to any of them is a new value of the base (`put`), of
which the others are made again (`follow`), but for those that name other places (`disjoint`). So
aliases are a matter of the tape and of the graph as much as of memory.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple
from weakref import ref

import numpy as np

from codegen import sizes as sz
from codegen.spelling import Slot, Subscript
from tracegrad.errors import GradientError, ReadOnlyError
from tracegrad.ops.elementwise import ufuncs as ew
from tracegrad.ops.index_bounds import apart
from tracegrad.ops.record import TABLE
from tracegrad.ops.shape.creation import arange_in
from tracegrad.ops.shape.indexing import element, gather, getitem_basic, set_at
from tracegrad.ops.shape.memory_order import in_place_of, in_rows, lying_like
from tracegrad.ops.shape.reshaping import reshape_to
from tracegrad.ops.shape.sliding_windows import windows
from tracegrad.runtime.thread_state import STATE
from tracegrad.tape.foreign_arrays import plain
from tracegrad.values.dispatch import shape_of

INDEXING = (getitem_basic, element, gather)
REARRANGING = frozenset(
    TABLE[name] for name in ("expand_dims", "flip", "in_order", "reshape", "squeeze", "transpose")
) | {in_place_of, in_rows, lying_like}
"""Views that show every element once: their rule for cotangents is their inverse."""
FLIP = TABLE["flip"]
_REPEATING = (TABLE["broadcast_to"], windows)


class Step(NamedTuple):
    """One op of a path: what it was given besides the Tensor, and which of its results is meant."""

    op: Any
    others: tuple[Any, ...]
    attributes: Mapping[str, Any]
    output: int


class View(NamedTuple):
    """Where a Tensor looks: a path from a base."""

    base: Any
    path: tuple[Step, ...]


Link = tuple[Any, Any, tuple[Any, ...], Mapping[str, Any], int]
"""How a Tensor was made of the one that it looks at: that, and the parts of a `Step`."""


def place_of(tensor: Any) -> View:
    """The base of a Tensor and the path to it; its own, and empty, where it looks at nobody."""
    path: list[Step] = []
    while (link := tensor._view) is not None:
        path.append(Step(*link[1:]))
        tensor = link[0]
    return View(tensor, tuple(reversed(path)))


def base_of(tensor: Any) -> Any:
    """The Tensor of whose memory a Tensor is a part; itself where it looks at nobody."""
    while (link := tensor._view) is not None:
        tensor = link[0]
    return tensor


def chain_of(tensor: Any) -> Iterator[Any]:
    """A Tensor, what it was made of as a view, and so on, up to its base."""
    yield tensor
    while (link := tensor._view) is not None:
        tensor = link[0]
        yield tensor


def is_linked(tensor: Any) -> bool:
    """Whether a Tensor looks at the memory of another one, or another one at its memory."""
    return tensor._view is not None or any(view() is not None for view in tensor._views or ())


def register(
    results: Sequence[Any], x: Any, op: Any, others: Sequence[Any], attributes: Mapping[str, Any]
) -> None:
    """Says that these results of an op look at the memory of its first operand."""
    base = x if x._view is None else base_of(x)
    kept = tuple(map(_kept, others)) if others else ()
    seen = base._views
    if seen is None:
        seen = base._views = []
    elif not len(seen) & 31 and seen:
        _forget_the_gone(seen)
    for output, view in enumerate(results):
        view._view = (x, op, kept, attributes, output)
        seen.append(ref(view))


def _forget_the_gone(seen: list[ref[Any]]) -> None:
    """Leaves out views that are no more, now and then: when there are 32, 64, 128 ..."""
    if not len(seen) & (len(seen) - 1):
        seen[:] = [one for one in seen if one() is not None]


def _kept(other: Any) -> Any:
    """An operand as it is now, whatever is written to it later."""
    if not hasattr(other, "_array"):
        return np.array(other) if isinstance(other, np.ndarray) else other
    held = other._array if other._traced is not None else np.array(other._array)
    made = _stand_in(other, held, None)
    if STATE.trace is not None:
        made._traced = STATE.trace.traced(other)
    return made


def _stand_in(tensor: Any, array: Any, node: Any) -> Any:
    """Another Tensor with the place of one in a graph."""
    made = object.__new__(type(tensor))
    made._array, made._node, made._traced = array, node, tensor._traced
    made._hooks = made._grad = made._view = made._views = None
    return made


def is_view_of(result: Any, x: Any) -> bool:
    """Whether an array that an op made of another one is a look at its memory."""
    if result is x:
        return True
    owner = result.base if isinstance(result, np.ndarray) else None
    if owner is None:
        return False
    return owner is x or owner is x.base or bool(np.may_share_memory(result, x))


def views_of(base: Any) -> Iterator[Any]:
    """The Tensors that look at the memory of a base."""
    for one in tuple(base._views or ()):
        view = one()
        if view is not None and view._view is not None:
            yield view


def leave(tensor: Any) -> None:
    """Says that a Tensor goes on with memory of its own, and its views stay where they are."""
    base = base_of(tensor)
    views = list(views_of(base))
    looking = [view for view in views if view._view[0] is tensor]
    if looking:
        before = _stand_in(tensor, tensor._array, tensor._node)
        before._view = tensor._view
        if base is tensor:
            before._views = tensor._views
        for view in looking:
            view._view = (before, *view._view[1:])
    tensor._view = tensor._views = None


def disjoint(a: Sequence[Step], b: Sequence[Step]) -> bool:
    """Whether two paths from one base are known to lead to places that have nothing in common."""
    for one, other in zip(a, b):
        same = one.op is other.op and one.attributes == other.attributes
        if same and not one.others and not other.others:
            if one.output != other.output:
                return True
            continue
        if one.others or other.others or not {one.op, other.op} <= {getitem_basic, element}:
            return False
        return apart(one.attributes["index"], other.attributes["index"])
    return False


def same_place(a: Sequence[Step], b: Sequence[Step]) -> bool:
    """Whether two paths from one base are known to lead to the same place."""
    return len(a) == len(b) and all(
        one.op is other.op
        and one.attributes == other.attributes
        and one.output == other.output
        and not one.others
        and not other.others
        for one, other in zip(a, b, strict=True)
    )


def same_operands(a: Sequence[Any], b: Sequence[Any]) -> bool:
    """Whether operands are known to be the same values of one trace, or, on the tape, equal."""
    return len(a) == len(b) and all(map(_is_one_value, a, b))


def _is_one_value(a: Any, b: Any) -> bool:
    one, other = getattr(a, "_traced", None), getattr(b, "_traced", None)
    if one is None and other is None:
        return np.array_equal(getattr(a, "_array", a), getattr(b, "_array", b))
    return one is not None and other is not None and one[0] is other[0] and one[1] is other[1]


def follow(x: Any, path: Sequence[Step]) -> Any:
    """What a path leads to."""
    for step in path:
        made = step.op(x, *step.others, **step.attributes)
        x = made[step.output] if isinstance(made, tuple) else made
    return x


def memory_at(array: Any, path: Sequence[Step]) -> Any:
    """What a path leads to in memory, where an element is an array without axes."""
    array = plain(array)
    for step in path:
        others = [getattr(x, "_array", x) for x in step.others]
        if step.op is element:
            array = array[(*step.attributes["index"].items, Ellipsis)]
        else:
            made = step.op.kernel(step.attributes)(array, *others, **step.attributes)
            array = made[step.output] if isinstance(made, tuple | list) else made
    return array


def memory_shown(x: Any, owner: Callable[[Any], Any] = lambda base: base) -> Any:
    """The memory that an array or a Tensor looks at; `owner` says for what array a base stands.

    The array of a Tensor does not tell it: in a trace a view may hold a copy.
    """
    if not hasattr(x, "_view"):
        return x
    base, path = place_of(x)
    known = owner(base)
    return memory_at(getattr(known, "_array", known), path)


def put(x: Any, path: Sequence[Step], value: Any) -> Any:
    """`x` with `value` where a path leads to."""
    if not path:
        return value
    first, rest = path[0], path[1:]
    if rest:
        value = put(follow(x, path[:1]), rest, value)
    return _written(x, first, value)


def _written(x: Any, step: Step, value: Any) -> Any:
    """`x` with `value` where one op leads to."""
    op, attributes = step.op, step.attributes
    if op is ew.alias:
        return value
    if op is ew.stop_gradient:
        return _written_by_constant(x, value)
    if op is ew.real:
        return value + 1j * ew.imag(x) if x.dtype.kind == "c" else value
    if op is ew.imag:
        return ew.real(x) + 1j * value
    if op in INDEXING:
        at = {"counts": (), "repeats": False, **attributes}
        return set_at(x, value, *step.others, **at)
    if op in REARRANGING:
        written = op.vjp(value, value, x, **attributes)[0]
        # flipped, it would lie backwards in memory, which the array does not
        return in_place_of(written, x) if op is FLIP and STATE.trace is not None else written
    if op in _REPEATING:
        raise ReadOnlyError(
            "assignment destination is read-only: this is a view (of broadcast_to, say) whose "
            "elements share memory: change a copy (x = x.copy())"
        )
    return _written_by_place(x, step, value)


def _written_by_constant(x: Any, value: Any) -> Any:
    """`x` after a write to what was detached from it: the write has no history there."""
    if value.requires_grad or (x.requires_grad and STATE.grad_enabled):
        raise GradientError(
            "this Tensor shares memory with the one that it was detached from, where a write "
            "with a history cannot go: change a copy (x = x.detach().clone())"
        )
    return ew.stop_gradient(value)


def _written_by_place(x: Any, step: Step, value: Any) -> Any:
    """The same for any op that takes elements out of `x`: it tells their places by itself."""
    shape = shape_of(x)
    places = follow(reshape_to(arange_in(x, sz.mul(shape)), shape=shape), [step])
    flat, at = reshape_to(x, shape=(sz.mul(shape),)), Subscript((Slot(0),))
    written = set_at(flat, value, places, index=at, counts=(), repeats=False)
    return reshape_to(written, shape=shape)
