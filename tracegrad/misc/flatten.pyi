"""Flattens a pytree of arrays and numbers to one vector, and back."""

# Made by tests/type_stubs.py from the library as it runs.

from collections.abc import Callable
from typing import Any

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

def flatten_func(func: Callable[..., Any], example: Any) -> tuple[Any, Any, Any]:
    """A function of a pytree as one of vectors, the way back, and the example as a vector.

    >>> import numpy as np
    >>> from tracegrad.misc.flatten import flatten_func
    >>> flat, back, start = flatten_func(lambda p: {"x": 2.0 * p["x"]}, {"x": np.ones(2)})
    >>> flat(start)
    array([2., 2.])
    """
