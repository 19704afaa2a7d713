"""Iterators over the rows of Tensors, whose place may be a number of the program.

``for row in x``, ``zip(x, y)`` and ``enumerate(x)`` go through numbers: row k is ``x[k]``. So
the turns of such a loop are those of a loop over ``range(len(x))``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tracegrad.tensor import Tensor


class Rows:
    """An iterator over what stands at each number, of one thing or of several at once.

    Things are Tensors, ranges, and other such iterators that have not begun.
    """

    __slots__ = ("given", "length", "numbers", "single")

    def __init__(self, given: Sequence[Any], length: int, single: bool = False) -> None:
        self.given = tuple(given)
        self.length = length
        self.single = single
        self.numbers = iter(range(length))

    def __iter__(self) -> Rows:
        return self

    def __next__(self) -> Any:
        return self.at(next(self.numbers))

    def at(self, number: Any) -> Any:
        """What stands at a number."""
        items = [_item(x, number) for x in self.given]
        return items[0] if self.single else tuple(items)

    def over(self, given: Sequence[Any], numbers: Any) -> Rows:
        """The same of other things, which goes on as `numbers` do."""
        rows = Rows(given, self.length, self.single)
        rows.numbers = numbers
        return rows


def _item(x: Any, number: Any) -> Any:
    if type(x) is Rows:
        return x.at(number)
    if type(x) is range:
        number = number * x.step if x.step != 1 else number
        return number + x.start if x.start else number
    return x[number]


def rows_of(x: Any) -> Rows | None:
    """The iterator over the rows of a Tensor."""
    if type(x) is not Tensor or not x._is_traced or not x.ndim:
        return None
    return Rows((x,), len(x._array), single=True)


def zipped(*operands: Any) -> Rows | None:
    """What ``zip`` gives, where it is of Tensors alone, and of ranges."""
    if not any(type(x) is Tensor for x in operands):
        return None
    lengths = [rows_in(x) for x in operands]
    if any(length is None for length in lengths):
        return None
    return Rows(operands, min(length for length in lengths if length is not None))


def enumerated(x: Any, start: Any = 0) -> Rows | None:
    """What ``enumerate`` gives of a Tensor."""
    length = rows_in(x)
    if length is None or type(start) is not int or type(x) is range:
        return None
    return Rows((range(start, start + length), x), length)


def rows_in(x: Any) -> int | None:
    """How many rows there are, of something that may be gone through by numbers."""
    if type(x) is range:
        return len(x)
    if type(x) is Rows:
        return x.length if x.numbers.__reduce__()[-1] == 0 else None
    rows = rows_of(x)
    return None if rows is None else rows.length
