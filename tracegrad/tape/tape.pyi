"""The eager tape: ops on Tensors that require grad are recorded as nodes."""

# Made by tests/type_stubs.py from the library as it runs.

from collections.abc import Mapping
from typing import Any

class Node:
    """One recorded op; users see it as a `tracegrad.tape.grad_fn.GradFn`."""

    op: Any
    attributes: Mapping[str, Any]
    parents: tuple[Any, ...]
    values: tuple[Any, ...]
    result: Any
    stamp: int
    traced: Any
    more: Any
    def name(self) -> str:
        """The node's name as PyTorch writes it: ``AddBackward0``."""
