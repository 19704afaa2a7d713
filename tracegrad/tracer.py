"""HIPS autograd's questions about traced values: what is one, and what does it hold.

>>> from tracegrad.tracer import getval, isbox
>>> isbox(1.0), getval(1.0)
(False, 1.0)
"""

from __future__ import annotations

from typing import Any

from tracegrad.extend import Box, notrace_primitive, primitive
from tracegrad.ops.elementwise.ufuncs import stop_gradient

__all__ = ["Box", "getval", "isbox", "notrace_primitive", "primitive"]


def isbox(x: Any) -> bool:
    """Whether a value is traced or has a history: a Tensor."""
    return isinstance(x, Box)


def getval(x: Any) -> Any:
    """The value without its derivative; in a compiled function it is still the one of the call."""
    return stop_gradient(x) if isinstance(x, Box) else x
