"""Operations with a gradient written by the user: ``autograd.Function``."""

# Made by tests/type_stubs.py from the library as it runs.

from typing import Any

from tracegrad.autograd.context import FunctionCtx

class Function:
    """An operation with a derivative of its own: subclass it and call ``Sub.apply(...)``."""
    def __call__(self, *args: Any) -> Any: ...
    @classmethod
    def __init_subclass__(cls, **options: Any) -> None: ...
    @classmethod
    def apply(cls, *args: Any, **keywords: Any) -> Any:
        """Runs ``forward`` on the arguments; the outputs remember how to go back."""
    @staticmethod
    def backward(*args: Any, **kwargs: Any) -> Any:
        """Gradients of the arguments from gradients of the outputs."""
    @staticmethod
    def forward(*args: Any, **kwargs: Any) -> Any:
        """Computes the outputs: a Tensor or a tuple of them."""
    @staticmethod
    def setup_context(ctx: FunctionCtx, inputs: tuple[Any, ...], output: Any) -> None:
        """Fills the context when ``forward`` does not take it."""
