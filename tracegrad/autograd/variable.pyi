"""The old spelling of a Tensor with a gradient: ``Variable(data, ...)``."""

# Made by tests/type_stubs.py from the library as it runs.

from typing import Any

from tracegrad.tensors.tensor import Tensor

class Variable:
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
    ) -> Tensor: ...
