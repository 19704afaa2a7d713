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

from codegen.sizes import Dim, Size
from codegen.types import DTYPES
from tracegrad.ops.shape import creation
from tracegrad.tensors.tensor import Tensor
from tracegrad.world.shapes_of_lengths import Looked, dim_of, part_of_range

_OF_NUMBERS: WeakSet[CodeType] = WeakSet()
"""Functions that need arrays whose lengths are numbers."""


def made(lengths: Any, operation: Any, operands: Sequence[Any], keywords: Mapping[str, Any]) -> Any:
    """The array as a Tensor of the trace; None where NumPy is to make it, of numbers.

    `lengths` are those of the run, `operation` one of `MAKERS`.
    """
    trace = lengths.trace
    if trace.code is None or trace.code in _OF_NUMBERS or not lengths.loops.is_repeatable():
        return None
    try:
        found = MAKERS[id(operation)](lengths, *operands, **keywords)
    except (Looked, TypeError):
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


def _dims(lengths: Any, shape: Any) -> tuple[Dim, ...]:
    """A shape whose lengths are ints, or lengths of the program."""
    several = shape if isinstance(shape, tuple | list) else (shape,)
    return tuple([_dim(lengths, length) for length in several])


def _dim(lengths: Any, length: Any) -> Dim:
    dim: Dim = dim_of(lengths, length)
    if not isinstance(dim, Size) and (type(dim) is not int or dim < 0):
        raise Looked
    return dim


def _dtype(dtype: Any, default: str) -> str:
    name = default if dtype is None else np.dtype(dtype).name
    if name not in DTYPES:
        raise Looked
    return name


def _of_one_number(op: Any) -> Callable[..., Tensor]:
    def make(lengths: Any, shape: Any, dtype: Any = None) -> Tensor:
        return creation.new(
            op, shape=creation.bare(_dims(lengths, shape)), dtype=_dtype(dtype, "float64")
        )

    return make


def _number(x: Any) -> Any:
    """A number, or a value of the program."""
    if type(x) in (int, float, bool, np.float64) or (type(x) is Tensor and x._is_traced):
        return x
    raise Looked


def _full(lengths: Any, shape: Any, fill_value: Any, dtype: Any = None) -> Tensor:
    if dtype is not None:
        dtype = _dtype(dtype, "")
    value = _number(lengths.tensor(fill_value))
    return creation.full(_dims(lengths, shape), value, dtype)


def _arange(lengths: Any, *bounds: Any, dtype: Any = None) -> Tensor:
    if not 1 <= len(bounds) <= 3:
        raise Looked
    start, stop, *step = (0, *bounds) if len(bounds) == 1 else bounds
    stop = _dim(lengths, stop)
    part_of_range(lengths, start, stop, *step)
    name = None if dtype is None else _dtype(dtype, "")
    found: Tensor = creation.arange(start, stop, dtype=name)
    return found


def _linspace(
    lengths: Any, start: Any, stop: Any, num: Any, endpoint: bool = True, dtype: Any = None
) -> Tensor:
    first, last = (_number(lengths.tensor(x)) for x in (start, stop))
    name = None if dtype is None else _dtype(dtype, "")
    count: Any = _dim(lengths, num)
    found: Tensor = creation.linspace(first, last, count, endpoint, dtype=name)
    return found


def _eye(lengths: Any, rows: Any, columns: Any = None, k: int = 0, dtype: Any = None) -> Tensor:
    if type(k) is not int:
        raise Looked
    across = rows if columns is None else columns
    return creation.new(
        creation.eye_of,
        rows=_dim(lengths, rows),
        columns=_dim(lengths, across),
        k=k,
        dtype=_dtype(dtype, "float64"),
    )


def _identity(lengths: Any, n: Any, dtype: Any = None) -> Tensor:
    return _eye(lengths, n, dtype=dtype)


MAKERS: dict[int, Callable[..., Tensor]] = {
    id(np.zeros): _of_one_number(creation.zeros_of_shape),
    id(np.empty): _of_one_number(creation.zeros_of_shape),
    id(np.ones): _of_one_number(creation.ones_of_shape),
    id(np.full): _full,
    id(np.arange): _arange,
    id(np.linspace): _linspace,
    id(np.eye): _eye,
    id(np.identity): _identity,
}
"""What records an array, by the id of NumPy's function."""
