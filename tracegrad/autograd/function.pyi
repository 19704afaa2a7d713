"""Operations with a gradient written by the user: ``autograd.Function``."""

# Made by tests/type_stubs.py from the library as it runs.

from typing import Any

from tracegrad.autograd.context import FunctionCtx

class Function:
    """An operation with a derivative of its own: subclass it and call ``Sub.apply(...)``.

    ``forward(ctx, *args)`` computes; Tensors among its arguments are those that may have gradients,
    and nothing in it is recorded. ``backward(ctx, *grads)`` gets one gradient an output and returns
    one gradient (or None) an argument. Both are static methods. In the newer spelling
    ``forward(*args)`` takes no context and ``setup_context(ctx, inputs, output)`` fills it.

    Other Tensors that ``forward`` reads get no gradient from it, as in PyTorch; in a function that
    a transform runs they are refused where they have one.

    Inside compiled functions both run as calls; the lengths of the arguments are then fixed.

    Examples
    --------
    >>> import tracegrad as tg
    >>> class Exp(tg.autograd.Function):
    ...     @staticmethod
    ...     def forward(ctx, x):
    ...         y = tg.exp(x)
    ...         ctx.save_for_backward(y)
    ...         return y
    ...
    ...     @staticmethod
    ...     def backward(ctx, grad):
    ...         (y,) = ctx.saved_tensors
    ...         return grad * y
    >>> x = tg.tensor([0.0, 1.0], requires_grad=True)
    >>> y = Exp.apply(x)
    >>> y
    tensor([1.0000, 2.7183], grad_fn=<ExpBackward>)
    >>> y.sum().backward()
    >>> x.grad
    tensor([1.0000, 2.7183])
    """
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
