"""Ranges whose ends depend on the counters of loops around: ``for j in range(i)``.

Such a loop has another number of turns in each turn of the loop around it, often none in the first
or the last one, so its ends are values of the program. A range is one of these only where a loop
takes it at once: nothing else can ask how many numbers it has. Where that loop is not closed, the
ends are looked at.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from operator import length_hint
from types import FunctionType
from typing import Any

from codegen.ir import Counter, Origin, Value
from codegen.sizes import Dim, add, minus, substitute
from tracegrad.ops.elementwise.ufuncs import subtract
from tracegrad.tensors.tensor import Tensor
from tracegrad.world.lengths import INT, Length
from tracegrad.world.loops.windows import Polynomials


@dataclass(frozen=True)
class CountedRange:
    """A range, or the iterator over it, whose ends are values."""

    numbers: Any
    ends: tuple[Value, Value]  # the first number, and the one behind the last
    given: tuple[Any, ...]  # what `range` was given
    step: int

    def look(self) -> None:
        """Python looks at the ends: they are constants from here on."""
        for x in self.given:
            if type(x) is Length:
                x.look()
            elif type(x) is Tensor:
                int(x)


class CountedRanges:
    """Those of one run."""

    def __init__(self, loops: Any) -> None:
        self.loops = loops
        self.known: dict[int, CountedRange] = {}  # by the id of the range, then of the iterator
        self.idle: list[CountedRange] = []  # of loops that had no turns in what is recorded

    def made(self, operation: Any, given: Sequence[Any]) -> Any:
        """A range, or ``reversed`` of one; None where its ends depend on no counter."""
        if operation is range:
            return self._range(given)
        known = self.known.pop(id(given[0]), None) if given else None
        return None if known is None else self._reversed(known)

    def _range(self, given: Sequence[Any]) -> range | None:
        loops = self.loops
        if not loops.heads or not any(type(x) is Tensor for x in given) or len(given) > 3:
            return None
        step = given[2] if len(given) == 3 else 1
        if type(step) is not int or step == 0 or not _is_taken_at_once(loops.world.machine.frame):
            return None
        ends = given[:2] if len(given) > 1 else (0, *given)
        if not all(type(x) in (int, Length) or loops.counts(x) for x in ends):
            return None
        start, stop = map(self._value, ends)
        numbers = Polynomials(loops)
        numbers.of(start), numbers.of(stop)
        counters = {head.index for head in loops.heads.values()}
        if not all(type(key) is tuple or key in counters for key in numbers.names):
            return None
        made = range(_number(ends[0]), _number(ends[1]), step)
        self.known[id(made)] = CountedRange(made, (start, stop), tuple(given), step)
        return made

    def _value(self, x: Any) -> Value:
        if type(x) is Tensor:
            return x._traced[1]  # type: ignore[no-any-return]
        if type(x) is Length:
            return self.loops.lengths.value(x.dim)  # type: ignore[no-any-return]
        return self.loops.trace.builder.constant(x, INT)  # type: ignore[no-any-return]

    def _reversed(self, counted: CountedRange) -> Any:
        iterator = reversed(counted.numbers)
        if abs(counted.step) > 1:
            counted.look()
            return iterator
        builder = self.loops.trace.builder
        step, (start, stop) = builder.constant(counted.step, INT), counted.ends
        (first,) = builder.call(subtract, (stop, step), Origin())
        (before,) = builder.call(subtract, (start, step), Origin())
        ends = first, before
        self.known[id(iterator)] = CountedRange(iterator, ends, counted.given, -counted.step)
        return iterator

    def goes_through(self, iterator: Any, x: Any) -> None:
        """An iterator was made over something."""
        counted = self.known.pop(id(x), None)
        if counted is not None:
            self.known[id(iterator)] = replace(counted, numbers=iterator)

    def begins(self, counted: CountedRange, may_loop: bool) -> bool:
        """Whether the loop over a range is watched; its ends are looked at where it is not."""
        some = length_hint(counted.numbers) > 0
        if some and may_loop:
            return True
        if not some:
            self.idle.append(counted)
        if some or not self._is_always_empty(counted):
            counted.look()
        return False

    def _is_always_empty(self, counted: CountedRange) -> bool:
        """Whether a range has no numbers in this turn, in all calls."""
        counter = Counter(Value(INT), *counted.ends, counted.step)
        heads = reversed(self.loops.heads.values())
        numbers = [pair for head in heads for pair in numbers_now(self.loops, head)]
        return is_empty(self.loops, counter, numbers)

    def look_at_unused(self) -> None:
        """Ranges over which no loop has begun may have been seen by others."""
        while self.known:
            self.known.popitem()[1].look()


def is_empty(loops: Any, counter: Counter, numbers: Sequence[tuple[Value, Dim]]) -> bool:
    """Whether a range has no numbers in all calls, where counters have these."""
    known = Polynomials(loops)
    first, last = known.of(counter.start), known.of(counter.stop)
    span = minus(last, first) if counter.step > 0 else minus(first, last)
    for index, number in numbers:
        if index in known.names:
            span = substitute(span, {known.names[index]: number})
    span = loops.trace.sizes.resolve(span)
    return isinstance(span, int) and span <= 0


def numbers_now(loops: Any, head: Any) -> list[tuple[Value, Dim]]:
    """The numbers of a loop in its first turn, and in the one that is recorded over parameters."""
    if head.index is None or head.cycle is not None:
        return []
    first = first_number(loops, head)
    if first is None:
        return []
    if head.first is None:
        return [(head.index, first)]
    return [(head.index, add(first, head.numbers.step)), (head.first, first)]


def first_number(loops: Any, head: Any) -> Dim | None:
    """The number of a loop's first turn, where lengths tell it."""
    if head.ends is not None:
        return head.ends[0]  # type: ignore[no-any-return]
    if head.follows is None:
        return head.numbers[0]  # type: ignore[no-any-return]
    constant = loops.trace.builder.constant_of(head.follows[0])
    return None if constant is None else constant.value


def _number(x: Any) -> int:
    return int(x._array) if type(x) is Tensor else int.__index__(x)


def _is_taken_at_once(frame: Any) -> bool:
    """Whether a frame stands at a call whose result a loop iterates over, forward or backward."""
    if frame is None:
        return False
    instructions = frame.program.instructions[frame.index + 1 : frame.index + 5]
    following = [x for x in instructions if x.name != "PRECALL"]
    names = [x.name for x in following[:3]]
    if names[:2] == ["GET_ITER", "FOR_ITER"]:
        return True
    if names == ["CALL", "GET_ITER", "FOR_ITER"] and following[0].arg == 1:
        return any(x is reversed for x in frame.stack[-2:])
    if names[:2] == ["GET_ITER", "CALL"] and following[1].arg == 0:
        return any(_is_generator(x) for x in frame.stack[-2:])
    return False


def _is_generator(x: Any) -> bool:
    """Whether something is the function of a generator expression."""
    return type(x) is FunctionType and x.__code__.co_name == "<genexpr>"
