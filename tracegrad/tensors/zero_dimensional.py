"""Tells whether what has no axes is an array or a NumPy scalar, as NumPy's own functions give it.

The two differ where it matters: a 0-d array is memory, which all that have it see when it is
written to, and a scalar is a number. Most of NumPy's functions give scalars. A Tensor holds the one
or the other, which what computes it may not decide by itself.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

import numpy as np

from tracegrad.ops.elementwise.arrays_and_scalars import as_scalar
from tracegrad.ops.elementwise.ufuncs import copy, strengthen
from tracegrad.runtime.array_manners import is_array_to_function
from tracegrad.tensors.tensor import Tensor
from tracegrad.values.dispatch import may_be_python

GIVES_ARRAYS = frozenset({
    *("apply_along_axis", "array", "astype", "block", "broadcast_arrays", "broadcast_to", "copy"),
    *("cov", "cross", "empty_like", "full_like", "i0", "isin", "meshgrid", "ones_like"),
    *("piecewise", "real_if_close", "resize", "roll", "select", "tensordot", "where"),
    *("zeros_like",),
})  # fmt: skip
"""NumPy's functions whose results without axes are arrays."""
GIVES_WHAT_IT_GETS = frozenset({
    *("matrix_transpose", "moveaxis", "permute_dims", "reshape", "squeeze", "swapaxes"),
    *("transpose",),
})  # fmt: skip
"""Those that give a scalar for one, and an array for anything else."""
METHODS = frozenset({
    *("astype", "conj", "conjugate", "copy", "imag", "real", "reshape", "squeeze", "swapaxes"),
    *("T", "transpose", "view"),
})  # fmt: skip
"""The methods and properties of arrays and of scalars alike that give one of their own kind."""


def as_of_function(name: str, found: Any, operand: Any, weighed: bool = False) -> Any:
    """What one of NumPy's functions gives, by the function's name and its first operand.

    Of what is `weighed`, quantiles are arrays.
    """
    arrays = (
        (weighed and name.endswith(("quantile", "percentile")))
        or name in GIVES_ARRAYS
        or (name in GIVES_WHAT_IT_GETS and not is_scalar_of_numpy(operand))
    )
    return _settled(found, arrays)


def as_of_method(name: str, found: Any, x: Any) -> Any:
    """What a method or property of an array or scalar gives, by its name."""
    return _settled(found, name in METHODS and not is_scalar_of_numpy(x))


def method_of_numpy(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """A function as a method of Tensors, which gives arrays and scalars as NumPy's does."""

    @wraps(function)
    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        found = function(self, *args, **kwargs)
        held = getattr(found, "_array", None)
        if type(held) is np.ndarray and held.ndim:  # at once for what it nearly always is
            return found
        return as_of_method(name, found, self)

    return method


def is_scalar_of_numpy(x: Any) -> bool:
    """Whether an operand is a NumPy scalar, or a Tensor that holds one."""
    return isinstance(getattr(x, "_array", x), np.generic)


def as_0d_array(x: Tensor) -> Tensor:
    """A Tensor as an array, where it has no axes and is a number."""
    if isinstance(x._array, np.ndarray) or x.ndim or not is_array_to_function(x):
        return x
    return copy(strengthen(x) if may_be_python(x) else x)  # type: ignore[no-any-return]


def _settled(found: Any, arrays: bool) -> Any:
    """The results of a function, those without axes as arrays or as scalars.

    An operation makes the one of the other, so that whoever runs it again has the same.
    """
    if type(found) in (tuple, list):
        return type(found)([_settled(x, arrays) for x in found])
    if type(found) is not Tensor:
        return found
    if may_be_python(found):
        found = strengthen(found)  # Python's numbers are none of NumPy's
    if arrays:
        return as_0d_array(found)
    of_array = type(found._array) is np.ndarray and not found._array.ndim
    return as_scalar(found) if of_array and is_array_to_function(found) else found
