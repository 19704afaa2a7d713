"""HIPS autograd's operators on functions of one value: ``make_vjp(f, x)`` and ``make_jvp(f, x)``.

Those at the top of `tracegrad` take functions of several arguments.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tracegrad.extend import (
    VSpace,
    def_linear,
    defjvp,
    defjvp_argnum,
    defjvp_argnums,
    defvjp,
    defvjp_argnum,
    defvjp_argnums,
    primitive,
    vspace,
)
from tracegrad.tracer import getval, isbox
from tracegrad.transforms.vector_products import jvp_of_one
from tracegrad.transforms.vjp import vjp

__all__ = [
    "VSpace",
    "def_linear",
    "defjvp",
    "defjvp_argnum",
    "defjvp_argnums",
    "defvjp",
    "defvjp_argnum",
    "defvjp_argnums",
    "getval",
    "isbox",
    "make_jvp",
    "make_vjp",
    "primitive",
    "vspace",
]


def make_vjp(fun: Callable[..., Any], x: Any) -> tuple[Callable[[Any], Any], Any]:
    """The map from cotangents of ``fun(x)`` to cotangents of x, and ``fun(x)``.

    >>> import numpy as np
    >>> from tracegrad.core import make_vjp
    >>> pull, value = make_vjp(np.sin, 0.0)
    >>> print(value, pull(2.0))
    0.0 2.0
    """
    value, pull = vjp(fun, _floating(x))
    return lambda cotangent: pull(cotangent)[0], value


def make_jvp(fun: Callable[..., Any], x: Any) -> Callable[[Any], tuple[Any, Any]]:
    """The map from tangents of x to ``fun(x)`` and its tangent.

    >>> import numpy as np
    >>> from tracegrad.core import make_jvp
    >>> value, tangent = make_jvp(np.sin, 0.0)(2.0)
    >>> print(value, tangent)
    0.0 2.0
    """

    at = _floating(x)

    def push(tangent: Any) -> tuple[Any, Any]:
        return jvp_of_one(fun, at, tangent)

    return push


def _floating(x: Any) -> Any:
    """An integer, or an array of them, as floats, in which HIPS autograd differentiates too."""
    integers = type(x) is int or (hasattr(x, "dtype") and np.dtype(x.dtype).kind in "iu")
    return x * 1.0 if integers else x
