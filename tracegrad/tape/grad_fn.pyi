"""What ``tensor.grad_fn`` shows: PyTorch's view of the tape."""

# Made by tests/type_stubs.py from the library as it runs.

from collections.abc import Callable
from typing import Any

from tracegrad.tape.hooks import RemovableHandle

class GradFn:
    """One recorded operation; its class is named after it: ``AddBackward0``."""
    def __call__(self, *cotangents: Any) -> Any:
        """Gradients of the operands, from those of the results."""
    def __dir__(self) -> list[str]: ...
    @property
    def metadata(self) -> dict[Any, Any]:
        """A dictionary for the user's own remarks; it lives as long as the graph."""
    def name(self) -> str:
        """The operation's name as PyTorch writes it."""
    @property
    def next_functions(self) -> tuple[tuple[Any, int], ...]:
        """What made the operands that are arrays, and which of its results each is.

        Leaves are `AccumulateGrad` nodes, what needs no gradient is None.
        """
    def register_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Calls ``hook(grad_inputs, grad_outputs)`` after the gradient of the operation."""
    @property
    def requires_grad(self) -> bool:
        """True: only what requires grad is recorded."""
