"""What rules for `tracegrad.extend.defvjp` call to undo broadcasting."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tracegrad.runtime.thread_state import call

__all__ = ["unbroadcast", "unbroadcast_f"]


def unbroadcast(x: Any, target: Any) -> Any:
    """`x` summed over the axes along which `target` would be broadcast to its shape.

    Rules need not call it, their cotangents are summed in any case.

    >>> import numpy as np
    >>> from tracegrad.numpy.numpy_vjps import unbroadcast
    >>> unbroadcast(np.ones((3, 2)), np.zeros((1, 2)))
    array([[3., 3.]])
    """
    shape = np.shape(target)
    while np.ndim(x) > len(shape):
        x = np.sum(x, axis=0)
    for axis, length in enumerate(shape):
        if length == 1 and np.shape(x)[axis] != 1:
            x = np.sum(x, axis=axis, keepdims=True)
    return np.real(x) if np.iscomplexobj(x) and not np.iscomplexobj(target) else x


def unbroadcast_f(target: Any, f: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """A rule whose cotangents have the shape of `target`."""
    return lambda g: unbroadcast(call(f, (g,), {}), target)
