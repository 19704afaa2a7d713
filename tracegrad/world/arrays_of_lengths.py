"""Arrays of lengths that nobody has looked at: ``np.zeros(len(x))`` is recorded for any length.

What NumPy would make of a `Length` is recorded as an op; its result stands for an array. Where such
a run turns out to be no program, or raises, it is made again, with arrays of this call's lengths.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import CodeType
from typing import Any
from weakref import WeakSet

import numpy as np

from codegen.sizes import Dim, Size, SliceLength, size_of
from codegen.types import DTYPES
from tracegrad.ops.shape import creation
from tracegrad.tensors.tensor import Tensor

_OF_NUMBERS: WeakSet[CodeType] = WeakSet()
"""Functions that need arrays whose lengths are numbers."""


class _Other(Exception):
    """A call that NumPy is to answer."""


def made(lengths: Any, operation: Any, operands: Sequence[Any], keywords: Mapping[str, Any]) -> Any:
    """The array as a Tensor of the trace; None where NumPy is to make it, of numbers.

    `lengths` are those of the run, `operation` one of `MAKERS`.
    """
    trace = lengths.trace
    if trace.code is None or trace.code in _OF_NUMBERS or not lengths.loops.is_repeatable():
        return None
    try:
        found = MAKERS[id(operation)](trace, *operands, **keywords)
    except (_Other, TypeError):
        return None
    lengths.made = True
    trace.shown.discard(found._traced[1])
    return found


def give_up(lengths: Any) -> bool:
    """Whether the run, of which no program is to be had, is made again with arrays of numbers."""
    if lengths is None or not lengths.made or not lengths.loops.is_repeatable():
        return False
    _OF_NUMBERS.add(lengths.trace.code)
    return True


def fails_alike(lengths: Any) -> None:
    """The function raises with arrays of numbers as well: they are not what it needs."""
    if lengths is not None and lengths.trace.code is not None:
        _OF_NUMBERS.discard(lengths.trace.code)


def _dims(shape: Any) -> tuple[Dim, ...]:
    """A shape whose lengths are ints, or lengths of the program."""
    several = shape if isinstance(shape, tuple | list) else (shape,)
    return tuple(map(_dim, several))


def _dim(length: Any) -> Dim:
    dim = getattr(length, "dim", length)
    if not isinstance(dim, Size) and (type(dim) is not int or dim < 0):
        raise _Other
    return dim


def _dtype(dtype: Any, default: str) -> str:
    name = default if dtype is None else np.dtype(dtype).name
    if name not in DTYPES:
        raise _Other
    return name


def _of_one_number(op: Any) -> Callable[..., Tensor]:
    def make(trace: Any, shape: Any, dtype: Any = None) -> Tensor:
        return creation.new(op, shape=creation.bare(_dims(shape)), dtype=_dtype(dtype, "float64"))

    return make


def _full(trace: Any, shape: Any, fill_value: Any, dtype: Any = None) -> Tensor:
    number = type(fill_value) in (int, float, bool, np.float64)
    if not number and not (type(fill_value) is Tensor and fill_value._is_traced):
        raise _Other
    if dtype is not None:
        dtype = _dtype(dtype, "")
    return creation.full(_dims(shape), fill_value, dtype)


def _arange(trace: Any, *bounds: Any, dtype: Any = None) -> Tensor:
    start, stop = (0, *bounds) if len(bounds) == 1 else bounds
    if type(start) is not int or start < 0:
        raise _Other
    if start:  # a range that is empty has no negative length
        trace.sizes.guards.append((size_of(SliceLength(_dim(stop), None, start, None)), start))
    name = None if dtype is None else _dtype(dtype, "")
    return creation.new(creation.arange_of, start=start, stop=_dim(stop), step=1, dtype=name)


def _eye(trace: Any, rows: Any, columns: Any = None, k: int = 0, dtype: Any = None) -> Tensor:
    if type(k) is not int:
        raise _Other
    across = rows if columns is None else columns
    return creation.new(
        creation.eye_of, rows=_dim(rows), columns=_dim(across), k=k, dtype=_dtype(dtype, "float64")
    )


def _identity(trace: Any, n: Any, dtype: Any = None) -> Tensor:
    return _eye(trace, n, dtype=dtype)


MAKERS: dict[int, Callable[..., Tensor]] = {
    id(np.zeros): _of_one_number(creation.zeros_of_shape),
    id(np.empty): _of_one_number(creation.zeros_of_shape),
    id(np.ones): _of_one_number(creation.ones_of_shape),
    id(np.full): _full,
    id(np.arange): _arange,
    id(np.eye): _eye,
    id(np.identity): _identity,
}
"""What records an array, by the id of NumPy's function."""
