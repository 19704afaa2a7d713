"""Flattens a pytree of arrays and numbers to one vector, and back."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tracegrad.errors import ShapeError
from tracegrad.runtime.thread_state import call
from tracegrad.tensors import array_functions as tg
from tracegrad.tensors.tensor import Tensor
from tracegrad.values.pytree import flatten as leaves_of
from tracegrad.values.pytree import unflatten

__all__ = ["flatten", "flatten_func"]


def flatten(value: Any) -> tuple[Any, Callable[[Any], Any]]:
    """The elements of all arrays and numbers in a pytree as one vector, and its inverse.

    Dicts are read in the order of their sorted keys. Numbers come back as numbers, arrays in their
    own dtype; both directions are differentiable.

    Raises
    ------
    tg.errors.ShapeError
        The inverse is given a vector of another length.

    Examples
    --------
    >>> import numpy as np
    >>> from tracegrad.misc import flatten
    >>> vector, unflatten = flatten({"w": np.ones((1, 2)), "b": 3.0})
    >>> vector
    array([3., 1., 1.])
    >>> unflatten(2.0 * vector)
    {'w': array([[2., 2.]]), 'b': np.float64(6.0)}
    """
    leaves, spec = leaves_of(value)
    shapes = [np.shape(x) for x in leaves]
    sizes = [int(np.prod(shape)) for shape in shapes]
    dtypes = [getattr(x, "dtype", None) for x in leaves]

    def back(vector: Any) -> Any:
        if np.shape(vector) != (sum(sizes),):
            raise ShapeError(
                f"unflatten: the pytree has {sum(sizes)} elements, the vector shape "
                f"{np.shape(vector)}"
            )
        found, start = [], 0
        for shape, size, dtype in zip(shapes, sizes, dtypes, strict=True):
            part = vector[start : start + size].reshape(shape) if shape else vector[start]
            start += size
            narrower = dtype is not None and dtype.kind in "fc" and dtype != part.dtype
            found.append(part.astype(dtype) if narrower and part.dtype.kind != "c" else part)
        return unflatten(spec, found)

    return _joined([_flat(x) for x in leaves]), back


def _flat(x: Any) -> Any:
    return x.reshape(-1) if isinstance(x, Tensor) else np.ravel(x)


def _joined(parts: list[Any]) -> Any:
    if any(isinstance(part, Tensor) for part in parts):
        return tg.concat(parts)
    return np.concatenate(parts) if parts else np.array([])


def flatten_func(func: Callable[..., Any], example: Any) -> tuple[Any, Any, Any]:
    """A function of a pytree as one of vectors, the way back, and the example as a vector.

    >>> import numpy as np
    >>> from tracegrad.misc.flatten import flatten_func
    >>> flat, back, start = flatten_func(lambda p: {"x": 2.0 * p["x"]}, {"x": np.ones(2)})
    >>> flat(start)
    array([2., 2.])
    """
    start, back = flatten(example)

    def flat(vector: Any, *args: Any) -> Any:
        return flatten(call(func, (back(vector), *args), {}))[0]

    return flat, back, start
