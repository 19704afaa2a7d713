"""Iterators over the rows of Tensors, whose place may be a number of the program.

``for row in x``, ``zip(x, y)`` and ``enumerate(x)`` go through numbers: row k is ``x[k]``. So
the turns of such a loop are those of a loop over ``range(len(x))``.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from tracegrad.tensor import Tensor

Part = Callable[[Any], Any]


class Rows:
    """An iterator over what stands at each number, of one thing or of several at once."""

    __slots__ = ("length", "numbers", "parts", "single")

    def __init__(self, parts: Sequence[Part], length: int, single: bool = False) -> None:
        self.parts = tuple(parts)
        self.length = length
        self.single = single
        self.numbers = iter(range(length))

    def __iter__(self) -> Rows:
        return self

    def __next__(self) -> Any:
        return self.at(next(self.numbers))

    def at(self, number: Any) -> Any:
        """What stands at a number."""
        if self.single:
            return self.parts[0](number)
        return tuple([part(number) for part in self.parts])


def rows_of(x: Any) -> Rows | None:
    """The iterator over the rows of a Tensor."""
    if type(x) is not Tensor or not x._is_traced or not x.ndim:
        return None
    return Rows((partial(operator.getitem, x),), len(x), single=True)


def zipped(*operands: Any) -> Rows | None:
    """What ``zip`` gives, where it is of Tensors alone, and of ranges."""
    if not any(type(x) is Tensor for x in operands):
        return None
    found = [_part(x) for x in operands]
    if any(part is None for part in found):
        return None
    return Rows([part[0] for part in found if part], min(part[1] for part in found if part))


def enumerated(x: Any, start: Any = 0) -> Rows | None:
    """What ``enumerate`` gives of a Tensor."""
    part = _part(x)
    if part is None or type(start) is not int or type(x) is range:
        return None
    return Rows((lambda k: k + start if start else k, part[0]), part[1])


def _part(x: Any) -> tuple[Part, int] | None:
    if type(x) is range:
        return (lambda k: x.start + k * x.step if (x.start, x.step) != (0, 1) else k), len(x)
    rows = x if type(x) is Rows and x.numbers.__reduce__()[-1] == 0 else rows_of(x)
    return None if rows is None else (rows.at, rows.length)
