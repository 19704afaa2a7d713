"""Python's ints for Tensors that are whole numbers: the axis, length or exponent of an op."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np


def with_ints(x: Any, seeds: bool = False) -> Any:
    """A nested sequence with ints for Tensors that are whole numbers: a look at each.

    One that `seeds` a generator has them for arrays, too.
    """
    if hasattr(x, "_array") and x.dtype.kind in "iu":  # a Tensor
        if not x.ndim:
            number = int(x)
            return number if type(x._array) is int else x.dtype.type(number)
        return np.array(x.tolist(), x.dtype) if seeds else x
    if type(x) in (list, tuple):
        found = type(x)(with_ints(item, seeds) for item in x)
        return found if any(map(operator.is_not, found, x)) else x
    return x
