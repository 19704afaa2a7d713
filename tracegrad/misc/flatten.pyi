"""Flattens a pytree of arrays and numbers to one vector, and back."""

# Made by tests/type_stubs.py from the library as it runs.

from collections.abc import Callable
from typing import Any

__all__ = ["flatten", "flatten_func"]

def flatten(value: Any) -> tuple[Any, Callable[[Any], Any]]:
    """The elements of all arrays and numbers in a pytree as one vector, and its inverse."""

def flatten_func(func: Callable[..., Any], example: Any) -> tuple[Any, Any, Any]:
    """A function of a pytree as one of vectors, the way back, and the example as a vector."""
