"""Ranges whose ends other loops count: ``for j in range(i + 1, n)``, where a loop gives i.

The range that the function gets is that of the numbers of now; its ends are known as values. Where
a loop over it is closed, these are the ends of its counter, and nobody has looked at them. Whatever
else is done with such a range looks at its ends.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

from codegen.ir import Value
from codegen.types import weak
from tracegrad.tensors.tensor import Tensor

INT = weak("int")


class CountedRanges:
    """The ranges of one run, and iterators over them, with the numbers that tell their ends."""

    def __init__(self, loops: Any) -> None:
        self.loops = loops
        self.ends: dict[int, tuple[Any, Any, Any]] = {}  # by id: ints, or Tensors for them
        self.of: dict[int, range] = {}  # the ranges that iterators go through, by their ids
        self.unused: dict[int, range] = {}  # over which no loop has been closed, by id

    def __contains__(self, x: object) -> bool:
        return id(x) in self.ends

    def made(self, operands: Sequence[Any]) -> range:
        """What the function gets for ``range(*operands)``."""
        if len(operands) == 3 and type(operands[2]) is not int:
            return range(*map(operator.index, operands))
        numbers = range(*map(_number, operands))
        start, stop = (0, *operands) if len(operands) == 1 else operands[:2]
        self.ends[id(numbers)] = numbers, start, stop
        self.unused[id(numbers)] = numbers
        return numbers

    def reversed(self, x: range) -> Any:
        """What the function gets for ``reversed(x)``."""
        if abs(x.step) != 1:
            self.look(x)
            return reversed(x)
        _, start, stop = self.ends[id(x)]
        made = reversed(x)
        self.ends[id(made)] = made, stop - x.step, start - x.step
        self.of[id(made)] = x
        self.loops.makes(made)
        return made

    def goes_through(self, iterator: Any, x: Any) -> None:
        """An iterator was made over something."""
        if x in self:
            _, start, stop = self.ends[id(x)]
            self.ends[id(iterator)] = iterator, start, stop
            self.of[id(iterator)] = x

    def look(self, x: Any) -> None:
        """The ends of a range, or of what goes through it, are looked at: turns differ in them."""
        if x not in self:
            return
        _, *ends = self.ends[id(x)]
        whole = self.of.get(id(x), x)
        for key in [key for key in self.ends if self.of.get(key, whole) is whole]:
            del self.ends[key]
        self.unused.pop(id(whole), None)
        for end in ends:
            if type(end) is Tensor:
                operator.index(end)
        self.loops.short.falls()

    def closed(self, iterator: Any) -> None:
        """A loop over a range is closed: how many turns it makes is no longer a question."""
        whole = self.of.get(id(iterator))
        self.unused.pop(id(whole), None)

    def look_at_unused(self, iterators: Sequence[Any] = ()) -> None:
        """A turn, or the run, ends: what was not gone through may have been seen by others.

        Loops go on over the iterators.
        """
        going = [self.of.get(id(x)) for x in iterators]
        for x in [*self.unused.values()]:
            if all(x is not other for other in going):
                self.look(x)

    def told(self, iterator: Any, numbers: range) -> tuple[Value, Value] | None:
        """The next number that an iterator gives and the one behind the last, as values.

        Those that it has still to give are `numbers`.
        """
        known = self.ends.get(id(iterator))
        if known is None:
            return None
        _, start, stop = known
        passed = numbers.start - _number(start)
        return self._value(start + passed if passed else start), self._value(stop)

    def _value(self, end: Any) -> Value:
        if type(end) is Tensor:
            return end._traced[1]  # type: ignore[no-any-return]
        return self.loops.trace.builder.constant(end, INT)  # type: ignore[no-any-return]


def _number(x: Any) -> int:
    return int(x._array) if type(x) is Tensor else x
