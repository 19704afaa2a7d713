"""Iterators over the rows of Tensors, whose place may be a number of the program.

``for row in x``, ``zip(x, y)`` and ``enumerate(x)`` go through numbers: row k is ``x[k]``. So
the turns of such a loop are those of a loop over ``range(len(x))``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import count
from operator import length_hint
from typing import Any
from weakref import WeakMethod

from codegen.sizes import Dim
from tracegrad.machine.own_generators import Endless
from tracegrad.runtime.thread_state import STATE
from tracegrad.tensors.tensor import Tensor
from tracegrad.user_code.program_points import Path


class Items:
    """A list of which an item may be read at a number of the program.

    Who looks through what the function has, from its iterators on, does not find the run.
    """

    __slots__ = ("_read", "items", "length")

    def __init__(self, items: list[Any], read: Callable[..., Any], length: Dim) -> None:
        self.items = items
        self._read = WeakMethod(read)
        self.length = length

    def __getitem__(self, number: Any) -> Any:
        read = self._read()
        assert read is not None, "the run is over"
        return read(self.items, number)


class Rows:
    """An iterator over what stands at each number, of one thing or of several at once.

    Things are Tensors, lists that loops have filled, ranges, and other such iterators that have not
    begun.
    """

    __slots__ = (
        *(
            "__weakref__",
            "alone",
            "down",
            "given",
            "length",
            "numbers",
            "single",
            "strict",
            "taken",
        ),
    )

    def __init__(
        self, given: Sequence[Any], length: int, single: bool = False, down: bool = False
    ) -> None:
        self.given = tuple(given)
        self.length = length
        self.single = single
        self.down = down  # from the last number to the first
        self.strict = False  # all things are to end together
        self.alone = False
        self.taken = False  # another one goes through what this one does, and does not advance it
        self.numbers: Any = iter(range(length - 1, -1, -1) if down else range(length))

    def __iter__(self) -> Rows:
        return self

    def __next__(self) -> Any:
        number = next(self.numbers)
        if not self.alone:
            return self.at(number)
        ended = [not _has(x, number) for x in self.given]
        if True not in ended:
            return self.at(number)
        self.numbers = iter(())
        if self.strict and False in ended:
            first = ended.index(not ended[0])
            which = "argument 1" if first == 1 else f"arguments 1-{first}"
            kind = "longer" if ended[0] else "shorter"
            raise ValueError(f"zip() argument {first + 1} is {kind} than {which}")
        raise StopIteration

    def __length_hint__(self) -> int:
        """How many rows are left; what goes through several things at once does not tell that."""
        if not self.single:
            return NotImplemented
        if not self.alone or self.down:
            return length_hint(self.numbers)
        number = next(self.numbers, None)
        if number is None:
            return 0
        self.numbers = count(number)
        return max(0, len(self.given[0].items) - number)

    def at(self, number: Any, path: Path = ()) -> Any:
        """What stands at a number; `path` is where that lies in what the loop gets."""
        if self.single:
            return self._item(self.given[0], number, path)
        several = len(self.given)
        return tuple(
            [self._item(x, number, (*path, (i, several))) for i, x in enumerate(self.given)]
        )

    def over(self, given: Sequence[Any], numbers: Any) -> Rows:
        """The same of other things, which goes on as `numbers` do."""
        rows = Rows(given, self.length, self.single, self.down)
        rows.numbers, rows.strict, rows.taken = numbers, self.strict, self.taken
        return rows

    def leaves(self) -> Iterator[Any]:
        """The things, and those that other iterators among them go through."""
        for x in self.given:
            yield from x.leaves() if type(x) is Rows else (x,)

    @property
    def turns_round(self) -> bool:
        """Whether it goes through something from the end on, whose place the length tells."""
        return self.down or any(type(x) is Rows and x.turns_round for x in self.given)

    def on_alone(self) -> None:
        """A list has been changed: it goes on as long as there are items, as iterators do."""
        if not self.alone:
            self.alone = True
            left = list(self.numbers)
            self.numbers = iter(left) if self.down else count(self.length - len(left))

    def _item(self, x: Any, number: Any, path: Path) -> Any:
        if type(x) is Rows:
            return x.at(number if x.down is self.down else x.length - 1 - number, path)
        if type(x) is Endless:
            return x.at(number)
        if type(x) is range:
            number = number * x.step if x.step != 1 else number
            return number + x.start if x.start else number
        trace = STATE.trace
        if trace is None or not path:
            return x[number]
        before, trace.item_path = trace.item_path, path
        try:
            return x[number]
        finally:
            trace.item_path = before


def _has(x: Any, number: int) -> bool:
    """Whether there is something at a number, when lists have been changed."""
    if type(x) is Rows:
        number = number if not x.down else x.length - 1 - number
        return all(_has(y, number) for y in x.given)
    if type(x) is Endless:
        return True
    things = x.items if type(x) is Items else x
    return 0 <= number < len(things)


def rows_of(x: Any) -> Rows | None:
    """The iterator over the rows of a Tensor, or the items of a list."""
    if type(x) is Items:
        return Rows((x,), len(x.items), single=True)
    if type(x) is not Tensor or not x._is_traced or not x.ndim:
        return None
    return Rows((x,), len(x._array), single=True)


def zipped(*operands: Any, strict: bool = False) -> Rows | None:
    """What ``zip`` gives, where it is of Tensors and such lists alone, and of ranges."""
    if not any(type(x) in (Tensor, Items, Rows) for x in operands):
        return None
    ending = [x for x in operands if type(x) is not Endless]
    lengths = [length for x in ending if (length := rows_in(x)) is not None]
    iterators = [id(x) for x in operands if type(x) is Rows]
    if len(lengths) < len(ending) or len(set(iterators)) < len(iterators):
        return None
    alike = len(set(lengths)) == 1
    if strict and (not alike or len(ending) < len(operands)):
        return None
    rows = Rows(operands, min(lengths), down=alike and all(map(_is_down, operands)))
    rows.strict = strict
    return rows


def paired(x: Any) -> Rows | None:
    """What ``itertools.pairwise`` gives of a Tensor: each row with the one behind it."""
    if type(x) is not Tensor or not x._is_traced or not x.ndim:
        return None
    return zipped(x, x[1:])  # type: ignore[index]


def _is_down(x: Any) -> bool:
    return type(x) is Rows and x.down


def backwards(x: Any) -> Rows | None:
    """What ``reversed`` gives of a Tensor or such a list."""
    rows = rows_of(x)
    return None if rows is None else Rows((x,), rows.length, single=True, down=True)


def enumerated(x: Any, start: Any = 0) -> Rows | None:
    """What ``enumerate`` gives of a Tensor or such a list."""
    length = rows_in(x)
    if length is None or type(start) is not int or type(x) is range:
        return None
    return Rows((range(start, start + length), x), length)


def rows_in(x: Any) -> int | None:
    """How many rows there are, of something that may be gone through by numbers."""
    if type(x) is range:
        return len(x)
    if type(x) is Rows:
        begins = length_hint(x.numbers) == x.length and not x.alone and not x.taken
        return x.length if begins else None
    rows = rows_of(x)
    return None if rows is None else rows.length
