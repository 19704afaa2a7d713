"""HIPS autograd's helpers: flat vectors of pytrees, optimisers, fixed points."""

# Made by tests/type_stubs.py from the library as it runs.

from collections.abc import Callable
from typing import Any

__all__ = ["const_graph", "flatten"]

def const_graph(fun: Callable[..., Any], *args: Any, **kwargs: Any) -> Callable[..., Any]:
    """`tg.compile` of a function whose first arguments, or those by name, are given already.

    HIPS autograd runs the ops of the first call again and again; here what the function looked at
    is checked, so branches may differ from call to call.

    >>> from tracegrad.misc import const_graph
    >>> double = const_graph(lambda a, x: a * x, 2.0)
    >>> print(double(3.0))
    6.0
    """

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
