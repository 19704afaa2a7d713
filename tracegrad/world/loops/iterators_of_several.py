"""``zip``, ``enumerate``, ``reversed`` and ``pairwise``, where loops go through them by numbers.

Such an iterator reads each thing at a number; it does not advance the iterators that it was given.
So a function that asks one of these for more is run again, with iterators that are advanced.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from types import CodeType
from typing import Any
from weakref import WeakSet

from tracegrad.errors import ConversionError
from tracegrad.runtime.thread_state import STATE
from tracegrad.tensors.tensor import Tensor
from tracegrad.world.loops.loop_heads import RANGE
from tracegrad.world.loops.loop_runner import left_of
from tracegrad.world.loops.widened_states import Learned
from tracegrad.world.row_iterators import Items, Rows, backwards, enumerated, paired, zipped

GOING: dict[int, Any] = {
    id(zip): zipped,
    id(enumerate): enumerated,
    id(reversed): backwards,
    id(pairwise): paired,
}
"""What makes the iterator in place of Python's, by the id of the function."""

_SHARING: WeakSet[CodeType] = WeakSet()
"""Functions in which two go through one iterator."""


def going(loops: Any, operation: Any, operands: Sequence[Any], keywords: Any) -> Rows | None:
    """The iterator that a function in `GOING` gives, where its place may be a number."""
    named = operation is zip and len(keywords) == 1 and type(keywords.get("strict")) is bool
    if (keywords and not named) or any(loops.world.is_outside_tensor(x) for x in operands):
        return None
    iterators = [x for x in operands if type(x) is Rows]
    if iterators and (loops.trace.code in _SHARING or not loops.is_repeatable()):
        return None
    rows: Rows | None = GOING[id(operation)](*map(loops.lists.view, operands), **keywords)
    if rows is not None:
        loops.makes(rows)
        loops.lists.goes(rows)
        loops.lengths.go_along(rows, operation is enumerate)
        for x in iterators:
            x.taken = True
    return rows


def takes_one(loops: Any, iterator: Any) -> bool:
    """Whether the function asks for one more, which is there in all calls of the program."""
    frame = loops.world.machine.frame
    if frame is None or frame.program.instructions[frame.index].name == "FOR_ITER":
        return False
    numbers = iterator
    if type(iterator) is Rows:
        leaves = {type(x) for x in iterator.leaves()}
        if iterator.alone or iterator.turns_round or not leaves <= {Items, Tensor, range}:
            return False
        numbers = iterator.numbers
    return type(numbers) is RANGE and bool(loops.lengths.has_next(numbers, left_of(numbers)))


def shares_iterators(loops: Any) -> None:
    """The function asks an iterator for more that another one goes through."""
    if not loops.is_repeatable():
        raise ConversionError(
            "an iterator goes on that zip() or enumerate() goes through: give these the array"
        )
    _SHARING.add(loops.trace.code)
    raise Learned


def inlines(loops: Any) -> None:
    """A loop is to run a generator in its frame: the function runs again, with that code."""
    if runs_again(loops):
        raise Learned


def runs_again(loops: Any) -> bool:
    """Whether the run can be made again, with what is known by then."""
    return STATE.trace is loops.trace and not loops.suspended and loops.is_repeatable()


def makes_of(loops: Any, iterator: Any, things: Sequence[Any]) -> None:
    """An iterator was made that goes through things, and on with those that are iterators."""
    given = [x for x in things if hasattr(type(x), "__next__")]
    known = [loops.iterators[id(x)] for x in given if id(x) in loops.iterators]
    if len(known) == len(given):
        first = min(known, default=(0, None), key=lambda made: made[0])
        loops.makes(iterator, first[1])
