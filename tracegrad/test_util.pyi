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
    """Raises an AssertionError where two values differ in structure, shape, dtype or elements.

    >>> import numpy as np
    >>> from tracegrad.test_util import check_equivalent
    >>> check_equivalent({"w": np.ones(2)}, {"w": np.ones(2)})
    """

def check_grads(fun: Any, argnum: Any = 0, *options: Any, **named: Any) -> None:
    """``check_grads(f, argnum)(*args)`` compares derivatives of `f` with central differences.

    Parameters
    ----------
    modes : sequence of "fwd" and "rev"
        Which derivatives: along tangents, of cotangents, or both (the default).
    order : int
        Derivatives of derivatives up to this order are checked as well.

    Raises
    ------
    AssertionError
        They do not agree; the message says which, and both numbers.

    Examples
    --------
    >>> import numpy as np
    >>> from tracegrad.test_util import check_grads
    >>> check_grads(lambda x: np.sum(np.sin(x)))(np.array([0.3, 1.2]))
    """

def check_jvp(f: Callable[[Any], Any], x: Any) -> None:
    """Compares ``J v`` of differences with the pushforward of `f` at x."""

def check_vjp(f: Callable[[Any], Any], x: Any) -> None:
    """Compares ``<u, J v>`` of differences with ``<J^T u, v>`` of the pullback of `f` at x."""

def combo_check(fun: Callable[..., Any], *options: Any, **named: Any) -> Callable[..., None]:
    """Checks gradients for every combination: each argument is a list of those to take.

    >>> import numpy as np
    >>> from tracegrad.test_util import combo_check
    >>> combo_check(np.sum, (0,))([np.ones(3), np.ones((3, 3))], axis=[None, 0])
    """

def scalar_close(a: Any, b: Any) -> bool:
    """Whether two numbers agree, to 1e-6 of 1 or of their sum."""
