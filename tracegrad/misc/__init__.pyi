"""HIPS autograd's helpers: flat vectors of pytrees, optimisers, fixed points."""

# Made by tests/type_stubs.py from the library as it runs.

from collections.abc import Callable
from typing import Any

__all__ = ["const_graph", "flatten"]

def const_graph(fun: Callable[..., Any], *args: Any, **kwargs: Any) -> Callable[..., Any]:
    """`tg.compile` of a function whose first arguments, or those by name, are given already."""

def flatten(value: Any) -> tuple[Any, Callable[[Any], Any]]:
    """The elements of all arrays and numbers in a pytree as one vector, and its inverse."""
