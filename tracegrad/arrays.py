"""Data of any kind enter, an array that a Tensor can hold leaves."""

from __future__ import annotations

from typing import Any

import numpy as np

from tracegrad.autograd.foreign import foreign, plain
from tracegrad.devices import DeviceArray
from tracegrad.dtypes import natural_dtype
from tracegrad.errors import DTypeError
from tracegrad.ops.elementwise import astype


def array_for(data: Any, dtype: Any = None) -> Any:
    """A copy of the data: of nested numbers, an array or what a Tensor holds."""
    data = getattr(data, "_array", data)
    if type(data) is DeviceArray:
        if dtype is None or np.dtype(dtype) == data.dtype:
            return data.copy()
        return astype(data, dtype=np.dtype(dtype).name)
    array = np.array(data, dtype=dtype)
    if dtype is None and not hasattr(data, "dtype"):
        array = array.astype(natural_dtype(array), copy=False)
    return _of_numbers(array)


def shared_array_for(data: Any, dtype: Any = None) -> Any:
    """The memory of a NumPy array of this dtype, watched; a copy of anything else."""
    if not isinstance(data, np.ndarray):
        return array_for(data, dtype)
    array = _of_numbers(np.asarray(data, dtype=dtype))
    return foreign(array) if np.may_share_memory(array, data) else array


def _of_numbers(array: np.ndarray) -> np.ndarray:
    if array.dtype.kind not in "biufc":
        raise DTypeError(f"a Tensor holds numbers, not {array.dtype}")
    return array


def with_memory(array: Any) -> Any:
    """A number or NumPy scalar as an array, which others can share and writes can change."""
    return array if isinstance(array, np.ndarray | DeviceArray) else np.asarray(array)


def copy_of(array: Any) -> Any:
    """The same numbers in memory of their own."""
    return array.copy() if type(array) is DeviceArray else np.array(plain(array))
