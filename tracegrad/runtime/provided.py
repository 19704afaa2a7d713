"""Functions that are declared where they are called and given by a module that is loaded later.

A Tensor shows its node, and a node shows Tensors: what makes a Tensor is declared by the nodes, and
given by the module of Tensors. So no module imports one that stands on it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

_Function = TypeVar("_Function", bound=Callable[..., Any])


class Provided:
    """A function of a module that is loaded later, with tracegrad: ``provided.call(x)``."""

    def __init__(self, purpose: str) -> None:
        self.purpose = purpose

        def missing(*args: Any, **kwargs: Any) -> Any:
            raise RuntimeError(f"no module that is loaded provides {purpose}")

        self.call: Callable[..., Any] = missing

    def by(self, function: _Function) -> _Function:
        """Gives the function; a decorator."""
        self.call = function
        return function
