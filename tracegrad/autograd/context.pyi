"""The ``ctx`` of an `autograd.Function`: what its backward finds of the forward."""

# Made by tests/type_stubs.py from the library as it runs.

from typing import Any

from tracegrad.tensors.tensor import Tensor

class FunctionCtx:
    """What ``forward`` leaves for ``backward``: saved Tensors, options, and any other attribute.

    Saved Tensors that are arguments or outputs are known by their place: so that gradients of
    gradients flow through them, and so that a context and an output do not hold each other.

    Examples
    --------
    >>> import tracegrad as tg
    >>> class Scaled(tg.autograd.Function):
    ...     @staticmethod
    ...     def forward(ctx, x, factor):
    ...         ctx.factor = factor
    ...         ctx.save_for_backward(x)
    ...         return x * factor
    ...
    ...     @staticmethod
    ...     def backward(ctx, grad):
    ...         (x,) = ctx.saved_tensors
    ...         return grad * ctx.factor, None
    >>> x = tg.tensor([1.0, 2.0], requires_grad=True)
    >>> Scaled.apply(x, 3.0).sum().backward()
    >>> x.grad
    tensor([3., 3.])
    """

    needs_input_grad: Any
    def __init__(self, needs_input_grad: tuple[bool, ...]) -> None: ...
    def mark_dirty(self, *tensors: Tensor) -> None:
        """Says that ``forward`` changed these arguments in place; it must return them."""
    def mark_non_differentiable(self, *tensors: Tensor) -> None:
        """Says that these outputs have no gradient."""
    materialize_grads: Any
    def save_for_backward(self, *tensors: Any) -> None:
        """Keeps Tensors for ``backward``, which finds them in ``ctx.saved_tensors``.

        There, NumPy's arrays are Tensors: `apply` takes them as well.
        """
    @property
    def saved_tensors(self) -> tuple[Any, ...]:
        """The Tensors given to `save_for_backward`."""
    @property
    def saved_variables(self) -> tuple[Any, ...]:
        """The old name of `saved_tensors`."""
    def set_materialize_grads(self, value: bool) -> None:
        """Whether ``backward`` gets zeros (the default) or None for outputs without a gradient."""
