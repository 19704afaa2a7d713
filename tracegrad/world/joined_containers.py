"""Operators that join containers hand on what these hold, and look at no item.

They are ``a + b`` and ``a * 2`` of lists, tuples and deques, and ``a | b`` of dictionaries.
"""

from __future__ import annotations

import operator
from collections import deque
from collections.abc import Sequence
from typing import Any

_ADDING = frozenset(map(id, (operator.add, operator.concat, operator.iadd, operator.iconcat)))
_EXTENDING = frozenset(map(id, (operator.iadd, operator.iconcat)))
_REPEATING = frozenset(map(id, (operator.mul, operator.imul)))
_MERGING = frozenset(map(id, (operator.or_, operator.ior)))


def joins(operation: Any, operands: Sequence[Any]) -> bool:
    """Whether an operator makes a container of the items of others, as C code does."""
    key = id(operation)
    if key not in _ADDING and key not in _REPEATING and key not in _MERGING:
        return False
    kinds = [sequence_of(x) for x in operands]
    if key in _EXTENDING and kinds[0] in (list, deque):
        return kinds[1] is not None
    if key in _ADDING:
        return kinds[0] is not None and kinds[0] is kinds[1]
    if key in _REPEATING:
        times = [x for x, kind in zip(operands, kinds, strict=True) if kind is None]
        return len(times) == 1 and issubclass(type(times[0]), int)
    return all([type(x) is dict for x in operands])


def sequence_of(x: Any) -> type | None:
    """The type of a sequence that such operators take as C code knows it; None for all else."""
    kind = type(x)
    if kind is list or kind is deque:
        return kind
    return tuple if isinstance(x, tuple) else None
