"""HIPS autograd's questions about traced values: what is one, and what does it hold."""

# Made by tests/type_stubs.py from the library as it runs.

from collections.abc import Callable
from typing import Any

from tracegrad.extend import primitive as primitive
from tracegrad.tensors.tensor import Tensor as Box

__all__ = ["Box", "getval", "isbox", "notrace_primitive", "primitive"]

def getval(x: Any) -> Any:
    """The value without its derivative; in a compiled function it is still the one of the call."""

def isbox(x: Any) -> bool:
    """Whether a value is traced or has a history: a Tensor."""

def notrace_primitive(f_raw: Callable[..., Any]) -> Callable[..., Any]:
    """Decorates a function through which no derivative flows: what it gets are constants.

    >>> from tracegrad import grad
    >>> from tracegrad.extend import notrace_primitive
    >>> @notrace_primitive
    ... def scale(x):
    ...     return abs(x)
    >>> print(grad(lambda x: x * scale(x))(3.0))
    3.0
    """
