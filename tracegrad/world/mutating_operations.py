"""Tells which operations of C code may change an object."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from tracegrad.machine.world_protocol import type_dict, type_mro
from tracegrad.tensors.tensor import Tensor

CHANGING = frozenset(
    id(getattr(operator, name))
    for name in dir(operator)
    if name in ("setitem", "delitem") or (name.startswith("i") and not name.startswith("is"))
)
UNCHANGING = frozenset(
    {Tensor, int, float, complex, bool, str, bytes, tuple, frozenset, range, type(None), slice}
)
READING = frozenset(
    {
        *("get", "keys", "values", "items", "copy", "count", "index", "__len__", "__getitem__"),
        *("__contains__", "__eq__", "__ne__", "__hash__", "__init__", "__new__", "__repr__"),
        *("__str__", "__getattribute__", "__iter__", "union", "intersection", "difference"),
    }
)


def changes(operation: Any, operands: Sequence[Any]) -> bool:
    """Whether an operation of C changes an object."""
    return id(operation) in CHANGING and type(operands[0]) not in UNCHANGING


def changes_itself(operation: Any, x: Any) -> bool:
    """Whether an operator in place changes an object, and makes no other (``x += y`` of ints)."""
    name = "__iadd__" if operation is operator.iconcat else f"__{operation.__name__}__"
    return any(name in type_dict(owner) for owner in type_mro(type(x)))


def changes_by_name(x: Any, name: str, given: Sequence[Any] = ()) -> bool:
    """Whether a method of C may change its object: all may that are not known to read alone.

    Those of ufuncs (`np.logaddexp.reduce`) change no ufunc; ``at`` writes to the first array that
    it is `given`, which is recorded where that is a Tensor.
    """
    if type(x) is np.ufunc:
        return name == "at" and type(given[0] if given else None) is not Tensor
    return type(x) not in UNCHANGING and not isinstance(x, type) and name not in READING


def may_change(operation: Any, operands: Sequence[Any]) -> bool:
    """Whether an operation of C may change an object; so does what goes on with an iterator."""
    return changes(operation, operands) or any(hasattr(type(x), "__next__") for x in operands)
