"""The old spelling of a Tensor with a gradient: ``Variable(data, ...)``."""

from __future__ import annotations

import warnings
from typing import Any

from tracegrad.tensors.tensor import Tensor, wrap


class _OfTensors(type):
    """Makes ``isinstance(tensor, Variable)`` true."""

    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, Tensor)


class Variable(metaclass=_OfTensors):
    """A Tensor on the memory of `data`; Variables and Tensors are one thing.

    Code from before PyTorch 0.4 runs unchanged and is told what to write instead. `volatile` has no
    effect, as in PyTorch since then.

    Examples
    --------
    >>> import warnings
    >>> import tracegrad as tg
    >>> warnings.simplefilter("ignore")
    >>> x = tg.autograd.Variable(tg.tensor([1.0, 1.0]), requires_grad=True)
    >>> x
    tensor([1., 1.], requires_grad=True)
    """

    def __new__(  # type: ignore[misc]
        cls, data: Any, requires_grad: bool = False, volatile: bool = False
    ) -> Tensor:
        warnings.warn(
            "Variable is deprecated, every Tensor has gradients: write tg.tensor(data, "
            "requires_grad=True)",
            DeprecationWarning,
            stacklevel=2,
        )
        if volatile:
            warnings.warn(
                "volatile was removed and has no effect: use `with tg.no_grad():` instead",
                UserWarning,
                stacklevel=2,
            )
        if isinstance(data, Tensor):
            tensor = wrap(data._array, data._traced)
        else:
            tensor = Tensor(data, requires_grad=requires_grad, copy=False)
        if requires_grad and not tensor.requires_grad:
            tensor.requires_grad = True
        return tensor
