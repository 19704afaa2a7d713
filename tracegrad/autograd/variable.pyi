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
    ) -> Tensor:
        """staticmethod(function) -> method

        Convert a function to be a static method.

        A static method does not receive an implicit first argument.
        To declare a static method, use this idiom:

             class C:
                 @staticmethod
                 def f(arg1, arg2, argN):
                     ...

        It can be called either on the class (e.g. C.f()) or on an instance
        (e.g. C().f()). Both the class and the instance are ignored, and
        neither is passed implicitly as the first argument to the method.

        Static methods in Python are similar to those found in Java or C++.
        For a more advanced concept, see the classmethod builtin.
        """
