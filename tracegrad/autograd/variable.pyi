"""The old spelling of a Tensor with a gradient: ``Variable(data, ...)``."""

# Made by tests/type_stubs.py from the library as it runs.

from typing import Any

from tracegrad.tensors.tensor import Tensor

class Variable:
    """A Tensor on the memory of `data`; Variables and Tensors are one thing."""
    def __new__(  # type: ignore[misc]
        cls, data: Any, requires_grad: bool = False, volatile: bool = False
    ) -> Tensor:
        """staticmethod(function) -> method"""
