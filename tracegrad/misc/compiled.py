"""Compiles a function for some of its arguments given."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from tracegrad.transforms.public import compile

__all__ = ["const_graph"]


def const_graph(fun: Callable[..., Any], *args: Any, **kwargs: Any) -> Callable[..., Any]:
    """`tg.compile` of a function whose first arguments, or those by name, are given already.

    HIPS autograd runs the ops of the first call again and again; here what the function looked at
    is checked, so branches may differ from call to call.

    >>> from tracegrad.misc import const_graph
    >>> double = const_graph(lambda a, x: a * x, 2.0)
    >>> print(double(3.0))
    6.0
    """
    return compile(partial(fun, *args, **kwargs))
