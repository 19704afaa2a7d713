"""Slices whose ends turns count: how far apart these are, and whether anything is cut off.

The numbers of a turn are polynomials over the counters of loops and over lengths. Where two ends
lie within the axis for the first and the last number of each counter, nothing is cut off. What only
lengths tell of that is a guard of the program. Where just the last turns may reach behind the axis,
as those of batches do (``X[i : i + 16]``), their width is ``min(16, n - i)``. If they differ by a
number or a length, a slice between them has one shape in all turns (``x[i : i + 4]``). If how far
apart they are depends on a counter (``x[:i]``), the number of the turn is a length of its own
(`Sizes.counters`): it is the same in all arrays of the turn, and where an operation needs it to be
something, the loop is unrolled. Of any other slice the numbers of now are looked at.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

from codegen.ir import Call, Value
from codegen.sizes import (
    Dim,
    Size,
    add,
    minus,
    mul,
    slice_length,
    substitute,
    symbol,
    symbols,
)
from tracegrad.ops.elementwise import ufuncs
from tracegrad.ops.python_lists import length
from tracegrad.tensors.tensor import Tensor
from tracegrad.world.lengths import COMBINING
from tracegrad.world.loops.loop_heads import INT, Head

MOST_SHORT = 4  # turns behind a loop, whose slices have fewer rows than those of the others


def span_of(loops: Any, start: Any, stop: Any, step: int | None, axis: Dim) -> Dim | None:
    """How far apart the ends of a slice of an axis are; None where that is not known."""
    ends = [end for end in (start, stop) if type(end) is Tensor]
    if not all(map(loops.counts, ends)):
        return None
    if step is not None and (type(step) is not int or step == 0):
        return None
    if step is not None and step < 0 and None in (start, stop):
        return None
    numbers = Polynomials(loops)
    first, last = numbers.end(start, 0), numbers.end(stop, axis)
    lowest = first
    if step is not None and step < 0:  # x[i : i - 4 : -1] takes i, and not i - 4, which is not -1
        lowest, first, last = last, add(last, 1), add(first, 1)
    span = loops.trace.sizes.resolve(minus(last, first))
    grows = bool(numbers.names_in(span))
    if grows and (step not in (None, 1) or loops.trace.static_lengths):
        return None
    if not numbers.are_some(lowest, span):
        return None
    pairs = zip((first, last), (start, stop), strict=True)
    if not numbers.are_some(minus(axis, last)):  # the last turn has fewer: ``X[i : i + 16]``
        may_be_cut = type(span) is int and step in (None, 1)
        if may_be_cut and loops.trace.static_lengths:
            numbers.shorten(minus(axis, last))
        if not may_be_cut or loops.trace.static_lengths or not numbers.are_some(minus(axis, first)):
            return None
        pairs = zip((first,), (start,), strict=True)
        span = slice_length(minus(axis, first), slice(None, span))
    if not numbers.names_in(span):
        return span  # type: ignore[no-any-return]
    counted = [_length_of_end(numbers, dim, end) for dim, end in pairs if numbers.names_in(dim)]
    known = dict(pair for pair in counted if pair is not None)
    return substitute(span, known) if numbers.names_in(span) <= known.keys() else None


def _length_of_end(numbers: Polynomials, dim: Dim, end: Any) -> tuple[str, Dim] | None:
    """The counter that an end depends on, and its number as a length; None where that is none."""
    loops, (name, *others) = numbers.loops, numbers.names_in(dim)
    head = next((h for h in loops.heads.values() if numbers.names.get(h.index) == name), None)
    least = numbers.least(symbol(name))
    if head is None or others or least is None or not loops.lengths.assume_some(least):
        return None
    number = _solved(loops.trace.sizes, dim, name, int(end._array))
    return None if number is None else (name, _length_of_turn(loops, head, number))


def settle(loops: Any, head: Head, index: Value, turn: int) -> None:
    """The number of a turn is known, which is not part of a loop: it is no length of its own."""
    sizes = loops.trace.sizes
    names = [name for name, value in sizes.counters.items() if value is index]
    if not names:
        return
    numbers = Polynomials(loops)
    first: Dim = head.numbers[0] if head.ends is None else sizes.resolve(head.ends[0])
    if head.follows is not None:
        first = numbers.of(head.follows[0])
    if numbers.names_in(first):
        loops.fixes_turns()
        first = head.numbers[0]
    sizes.settle(names[0], add(first, turn * head.numbers.step))


def _length_of_turn(loops: Any, head: Head, number: int) -> Dim:
    """The number of a turn as a length, of which nothing may be assumed."""
    sizes, index = loops.trace.sizes, head.index
    name = next((n for n, value in sizes.counters.items() if value is index), None)
    if name is None:
        length = sizes.new(number, lambda _: loops.fixes_turns())
        sizes.counters[str(length.symbol())] = index
        return length  # type: ignore[no-any-return]
    sizes.seen[name] = number
    return symbol(name)


def _solved(sizes: Any, dim: Dim, name: str, value: int) -> int | None:
    """What a symbol is where a polynomial of it is a number."""
    if not isinstance(dim, Size):
        return None
    rest, factor = value, 0
    for atoms, times in dim.terms:
        if atoms == (name,):
            factor = times
        elif name in atoms:
            return None
        elif not atoms:
            rest -= times
        else:
            rest -= sizes.value(Size(((atoms, times),)))
    return rest // factor if factor and rest % factor == 0 else None


class Polynomials:
    """Whole numbers of a run in terms of its lengths and of what turns count."""

    def __init__(self, loops: Any) -> None:
        self.loops = loops
        self.builder = loops.trace.builder
        self.names: dict[Hashable, str] = {}

    def of(self, value: Value) -> Dim:
        """A number as a polynomial; what is neither sum nor product has a symbol of its own."""
        constant = self.builder.constant_of(value)
        if constant is not None and type(constant.value) is int:
            return constant.value
        made = self.builder.producer.get(value)
        if not isinstance(made, Call) or value.type != INT:
            given = self.loops.lengths.of_input(value)
            return self._symbol(value) if given is None else given
        if made.op is length:
            return self.loops.trace.sizes.resolve(made.attribute("size"))  # type: ignore[no-any-return]
        parts = [self.of(v) for v in made.operands if v.type == INT]
        if len(parts) < len(made.operands):
            return self._symbol(value)
        combine = COMBINING.get(made.op)
        if combine is not None:
            return combine(*parts)
        if made.op in (ufuncs.floor_divide, ufuncs.remainder) and type(parts[1]) is int:
            return self._symbol((made.op, *parts))
        return self._symbol(value)

    def end(self, end: Any, default: Dim) -> Dim:
        """The end of a slice: a number of the run, of Python, or none."""
        if end is None:
            return default
        return end if type(end) is int else self.of(end._traced[1])

    def _symbol(self, key: Hashable) -> Size:
        return symbol(self.names.setdefault(key, f"number{len(self.names)}"))

    def names_in(self, dim: Dim) -> set[str]:
        """The numbers in a polynomial that are no lengths."""
        return symbols(dim).intersection(self.names.values())

    def are_some(self, *dims: Dim) -> bool:
        """Whether polynomials are not below 0 in all turns, by a guard on lengths."""
        least = [*map(self.least, dims)]
        return None not in least and all(map(self.loops.lengths.assume_some, least))

    def shorten(self, dim: Dim) -> None:
        """Makes the run again where a polynomial is below 0 in a loop's last turns alone."""
        for head in self.loops.heads.values():
            whole = head.numbers
            plain = head.ends is None and head.follows is None and not head.short
            for turns in range(1, min(len(whole), MOST_SHORT + 1) if plain else 1):
                head.numbers = whole[:-turns]
                is_some = self.are_some(dim)
                head.numbers = whole
                if is_some:
                    self.loops.shortens(head, turns)

    def least(self, dim: Dim) -> Dim | None:
        """The least that a polynomial is in all turns of the loops around."""
        found = dim
        for key, name in reversed(self._outer_first()):
            if name not in symbols(found):
                continue
            ends = self._of_division(*key) if isinstance(key, tuple) else self._ends(key)
            rises = self._rises(minus(substitute(found, {name: add(symbol(name), 1)}), found))
            if rises is None or ends is None:
                return None
            found = substitute(found, {name: ends[0] if rises else ends[1]})
        found = self.loops.trace.sizes.resolve(found)
        return None if self.names_in(found) else found

    def _outer_first(self) -> list[tuple[Any, str]]:
        """The loops around, the outermost first, and then what is divided, with their symbols."""
        heads = [*self.loops.heads.values()]
        found = [(head, self.names[head.index]) for head in heads if head.index in self.names]
        divided = [(key, name) for key, name in self.names.items() if isinstance(key, tuple)]
        return [*found, *divided]

    def _ends(self, head: Head) -> tuple[Dim, Dim]:
        """The least number of a loop, and the largest one."""
        if head.follows is not None:
            first, stop = map(self.of, head.follows)
        elif head.ends is not None:
            first, stop = head.ends
            if head.numbers.step > 1:  # which it may step over
                return first, add(stop, -1)
        else:
            first, stop = head.numbers[0], head.numbers[-1] + head.numbers.step
        last = add(stop, -head.numbers.step)
        return (first, last) if head.numbers.step > 0 else (last, first)

    def _of_division(self, op: Any, of: Dim, by: int) -> tuple[Dim, Dim] | None:
        """The least number that a division gives in all turns, and the largest one."""
        if by <= 0:
            return None
        if op is ufuncs.remainder:
            return 0, by - 1
        least, most = self.least(of), self.least(mul((-1, of)))
        if least is None or most is None or not self.loops.lengths.assume_some(least):
            return None
        rounded_up = slice(None, None, by)
        return 0, slice_length(add(mul((-1, most)), 1 - by), rounded_up)

    def _rises(self, change: Dim) -> bool | None:
        """Whether a polynomial rises that changes so with each number; None where that varies."""
        if isinstance(change, int):
            return change >= 0
        factors = [factor for _, factor in change.terms]
        if self.names_in(change) or min(factors) < 0 < max(factors):
            return None
        return min(factors) > 0
