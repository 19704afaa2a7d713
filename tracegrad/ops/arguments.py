"""Arguments as users write them enter, what records take leaves: arrays, names of arguments."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar

import numpy as np

from tracegrad.errors import ArgumentError

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
    return np.asarray(x) if isinstance(x, list | tuple) else x


def refuse_out(name: str, out: Any) -> None:
    """Raises when ``out=`` is given: a result is a new value, which is what has a gradient."""
    if out is not None:
        raise ArgumentError(f"{name}: out= cannot be written through a gradient; use the result")
