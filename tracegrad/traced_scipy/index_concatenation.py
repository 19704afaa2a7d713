"""``np.r_`` and ``np.c_`` of Tensors."""

from __future__ import annotations

from typing import Any

import numpy as np

from tracegrad.ops.arguments import as_array
from tracegrad.tensors import array_functions as tg
from tracegrad.tensors.tensor import Tensor
from tracegrad.tensors.type_info import result_type
from tracegrad.values.dispatch import dtype_of, is_number, is_weak


def joined(theirs: Any, key: Any) -> Any:
    """What `theirs`, ``np.r_`` or ``np.c_``, makes of the parts in `key`, some of them Tensors.

    Places of elements are joined as NumPy joins arrays, and then elements are taken from there.
    """
    pool: list[Any] = []
    typed: list[Any] = []  # what decides the dtype: a number of Python's yields to arrays
    places: list[Any] = []
    start = 0
    for item in key if isinstance(key, tuple) else (key,):
        if isinstance(item, str):  # says how to join
            places.append(item)
            continue
        part = _array(item)
        shape = np.shape(part)
        size = int(np.prod(shape))
        places.append(np.arange(start, start + size).reshape(shape)[()])
        pool.append(part.reshape(-1))
        yields = (is_number(item) or isinstance(item, Tensor)) and is_weak(item)
        typed.append(np.zeros((), dtype_of(item)).item() if yields else part)
        start += size
    dtype = result_type(*typed)
    return tg.take(tg.concat(pool, dtype=dtype), theirs[tuple(places)])


def _array(item: Any) -> Any:
    if isinstance(item, slice):
        return np.r_[item]
    found = as_array(item)
    return found if isinstance(found, Tensor) else np.asarray(found)
