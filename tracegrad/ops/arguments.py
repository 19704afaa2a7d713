"""Brings arguments as users write them into the form that op records take."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar

import numpy as np

from tracegrad.errors import ArgumentError
from tracegrad.ops.record import TABLE
from tracegrad.values.dispatch import HANDLERS, SEQUENCES

F = TypeVar("F", bound=Callable[..., Any])

SYNONYMS = {"dim": "axis", "keepdim": "keepdims"}
"""PyTorch's names of arguments, by the ones that functions here have."""


def synonyms(function: F) -> F:
    """The function, which then takes its arguments under the names in `SYNONYMS` too."""

    @wraps(function)
    def renamed(*args: Any, **kwargs: Any) -> Any:
        if kwargs:
            for other, name in SYNONYMS.items():
                if other in kwargs:
                    if name in kwargs:
                        raise ArgumentError(
                            f"{function.__name__}: both {other}= and {name}= are given"
                        )
                    kwargs[name] = kwargs.pop(other)
        return function(*args, **kwargs)

    return renamed  # type: ignore[return-value]


def as_array(x: Any) -> Any:
    """The operand, an array where it is a list; Python numbers become arrays where ops need it."""
    if not isinstance(x, SEQUENCES):
        return x
    return stacked(x) if holds_tensors(x) else np.asarray(x)


def holds_tensors(data: Any) -> bool:
    """Whether there is a Tensor among nested lists (or a value of a graph under construction)."""
    if isinstance(data, SEQUENCES):
        return any(map(holds_tensors, data))
    return type(data) in HANDLERS


def stacked(data: Any) -> Any:
    """Nested lists of Tensors and numbers as one array, through which gradients flow."""
    if not isinstance(data, SEQUENCES):
        return data
    return TABLE["stack"](*map(stacked, data), axis=0)


def refuse_out(name: str, out: Any) -> None:
    """Raises when ``out=`` is given: a result is a new value, which is what has a gradient."""
    if out is not None:
        raise ArgumentError(
            f"{name}: out= cannot be written through a gradient; use the result"
        ).as_refusal()
