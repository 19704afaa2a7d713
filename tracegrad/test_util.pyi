"""Checks derivatives of a function against differences: ``check_grads``."""

# Made by tests/type_stubs.py from the library as it runs.

from collections.abc import Callable
from typing import Any

__all__ = [
    "check_equivalent",
    "check_grads",
    "check_jvp",
    "check_vjp",
    "combo_check",
    "scalar_close",
]

def check_equivalent(x: Any, y: Any) -> None:
    """Raises an AssertionError where two values differ in structure, shape, dtype or elements."""

def check_grads(fun: Any, argnum: Any = 0, *options: Any, **named: Any) -> None:
    """``check_grads(f, argnum)(*args)`` compares derivatives of `f` with central differences."""

def check_jvp(f: Callable[[Any], Any], x: Any) -> None:
    """Compares ``J v`` of differences with the pushforward of `f` at x."""

def check_vjp(f: Callable[[Any], Any], x: Any) -> None:
    """Compares ``<u, J v>`` of differences with ``<J^T u, v>`` of the pullback of `f` at x."""

def combo_check(fun: Callable[..., Any], *options: Any, **named: Any) -> Callable[..., None]:
    """Checks gradients for every combination: each argument is a list of those to take."""

def scalar_close(a: Any, b: Any) -> bool:
    """Whether two numbers agree, to 1e-6 of 1 or of their sum."""
