"""Arrays of which C code has just made the memory: nobody else shows it.

``F[[0, 1]]`` is an array of its own. ``np.linspace(0, 1, 4)`` is a view of one that nobody else
has: how often that is referred to tells it from a view of an array that is there already.
"""

from __future__ import annotations

import operator
import sys
from collections.abc import Iterator, Mapping, Sequence
from types import MethodDescriptorType
from typing import Any

import numpy as np

from tracegrad.world import native_tables


def made_by(
    operation: Any, operands: Sequence[Any], keywords: Mapping[str, Any], result: Any
) -> Iterator[np.ndarray]:
    """The arrays that own memory which an operation has made, and gave alone or in a sequence."""
    several = issubclass(type(result), (tuple, list))  # a Tensor would ask who wants to know
    if not (several or type(result) is np.ndarray) or not _makes_arrays(operation, operands):
        return
    arrays = [x for x in (result if several else (result,)) if type(x) is np.ndarray]
    given = (*operands, *keywords.values())
    for x in arrays:
        if x.base is None:
            if not any(_holds(y, x) for y in given):
                yield x
        elif type(x.base) is np.ndarray and x.base.flags.owndata:
            shown = sum(y.base is x.base for y in arrays)
            if sys.getrefcount(x.base) == shown + 1:  # one is the call's
                yield x.base


def _holds(x: Any, array: np.ndarray) -> bool:
    """Whether what C code is given is an array, as ``out=`` too, or holds it."""
    if type(x) in (tuple, list):
        return any(_holds(item, array) for item in x)
    return x is array


def _makes_arrays(operation: Any, operands: Sequence[Any]) -> bool:
    """Whether an operation gives new arrays, if none of its operands."""
    if isinstance(operation, np.ufunc) or id(operation) in native_tables.OPERATORS:
        return True
    if isinstance(operation, MethodDescriptorType):
        return operation.__objclass__ is np.ndarray
    if operation is operator.getitem:  # an array of objects gives these
        kind = type(operands[0])
        return kind.__module__.startswith("numpy") and not getattr(
            getattr(operands[0], "dtype", None), "hasobject", False
        )
    module = getattr(operation, "__module__", None)
    return type(module) is str and module.partition(".")[0] == "numpy"
