"""What iterators of C code do, as generators: loops that go through these at once run them.

``for v in map(f, x)`` is then a loop over ``x``. Only where nobody sees the iterator itself, since
it is another object: see `in_loop`.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Iterable, Iterator
from types import FunctionType
from typing import Any

from tracegrad.machine.inlined_generators import LEFT_TO_C, root_of
from tracegrad.machine.unread_generators import LOOP, taking

_own: Callable[..., Any]


def mapped(function: Any, values: Any) -> Iterator[Any]:
    for value in values:
        yield function(value)


def mapped_several(function: Any, values: Any) -> Iterator[Any]:
    for given in values:
        yield function(*given)


def filtered(test: Any, values: Any) -> Iterator[Any]:
    for value in values:
        if test(value):
            yield value


def filtered_false(test: Any, values: Any) -> Iterator[Any]:
    for value in values:
        if not test(value):
            yield value


def true_ones(values: Any) -> Iterator[Any]:
    for value in values:
        if value:
            yield value


def taken_while(test: Any, values: Any) -> Iterator[Any]:
    for value in values:
        if not test(value):
            return
        yield value


def accumulated(function: Any, values: Any) -> Iterator[Any]:
    first, total = True, None
    for value in values:
        if first:
            first, total = False, value
        else:
            total = function(total, value)
        yield total


def added_up(values: Any) -> Iterator[Any]:
    first, total = True, None
    for value in values:
        if first:
            first, total = False, value
        else:
            total = total + value
        yield total


def accumulated_on(total: Any, function: Any, values: Any) -> Iterator[Any]:
    yield total
    for value in values:
        total = function(total, value)
        yield total


def chained(several: Any) -> Iterator[Any]:
    for values in several:
        yield from values


def of_two(some: Any, others: Any) -> Iterator[Any]:
    for one in some:
        for other in others:
            yield one, other


def of_three(some: Any, others: Any, last: Any) -> Iterator[Any]:
    for one in some:
        for other in others:
            for third in last:
                yield one, other, third


def from_number(values: Any, start: int, step: int) -> Iterator[Any]:
    for i in range(start, len(values), step):
        yield values[i]


def times(x: Any, number: int) -> Iterator[Any]:
    for _ in range(number):
        yield x


def first_ones(values: Any, stop: int) -> Iterator[Any]:
    if stop > 0:
        left = stop
        for value in values:
            yield value
            left -= 1
            if left == 0:
                return


def numbered(values: Any, number: int) -> Iterator[Any]:
    for value in values:
        yield number, value
        number += 1


class Endless:
    """What `itertools.count` gives, or `itertools.repeat` where there is no step."""

    __slots__ = ("begin", "next", "step")

    def __init__(self, begin: Any, step: int | None) -> None:
        self.begin = self.next = begin
        self.step = step

    def __iter__(self) -> Endless:
        return self

    def __next__(self) -> Any:
        found = self.next
        if self.step is not None:
            self.next = found + self.step
        return found

    def at(self, number: Any) -> Any:
        """What stands at a number, counted from the first one."""
        if self.step is None:
            return self.begin
        number = number * self.step if self.step != 1 else number
        return number + self.begin if self.begin else number


def in_loop(m: Any, own: Callable[..., Iterator[Any]], *args: Any) -> Any:
    """The generator in place of an iterator of C code, where nobody else sees it; or None.

    None too where the run cannot be made again, as it is if what `map` calls ends it.
    """
    if m.inlines is None or m.frame is None or id(taking(m.frame)) not in TAKING:
        return None
    if root_of(m.frame.code) in LEFT_TO_C or not m.runs_again():
        return None
    assert isinstance(own, FunctionType)
    return m.generator_of_own(own, args)


def is_zipped(m: Any) -> bool:
    """Whether what an instruction gives is zipped with others at once."""
    return m.inlines is not None and m.frame is not None and taking(m.frame) is zip


TAKING = frozenset(
    map(
        id,
        (
            *(LOOP, map, filter, enumerate, sum, min, max, any, all, list, tuple, sorted),
            *(functools.reduce, itertools.accumulate, itertools.chain, itertools.islice),
            *(itertools.starmap, itertools.takewhile, itertools.filterfalse),
        ),
    )
)
"""What goes through an iterator, and shows it to nobody (ids)."""


def _each(values: Any) -> Iterator[Any]:
    return (value for value in values)


assert isinstance(_each, FunctionType)
EACH = _each
"""A generator expression that goes through a generator."""


def are_sequences(things: Iterable[Any], m: Any) -> bool:
    """Whether things may be gone through again and again, without a look at their items."""
    return all(
        type(x) in (list, tuple, range)
        or (id(type(x)) in m.opaque and not hasattr(type(x), "__next__"))
        for x in things
    )
