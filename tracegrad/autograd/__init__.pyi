"""Eager gradients, as PyTorch's users know them from ``torch.autograd``."""

# Made by tests/type_stubs.py from the library as it runs.

import builtins
from collections.abc import Callable, Sequence
from typing import Any, ParamSpec, TypeVar, overload

from tracegrad.autograd import profiler as profiler
from tracegrad.autograd.anomaly import detect_anomaly as detect_anomaly
from tracegrad.autograd.anomaly import set_detect_anomaly as set_detect_anomaly
from tracegrad.autograd.context import FunctionCtx as FunctionCtx
from tracegrad.autograd.function import Function as Function
from tracegrad.autograd.gradcheck import GradcheckError as GradcheckError
from tracegrad.autograd.variable import Variable as Variable
from tracegrad.tape.grad_mode import _Mode
from tracegrad.tape.grad_mode import set_grad_enabled as set_grad_enabled
from tracegrad.tensors.tensor import Tensor

__all__ = [
    "Function",
    "FunctionCtx",
    "GradcheckError",
    "Variable",
    "backward",
    "detect_anomaly",
    "enable_grad",
    "grad",
    "gradcheck",
    "gradgradcheck",
    "inference_mode",
    "is_anomaly_enabled",
    "is_grad_enabled",
    "no_grad",
    "once_differentiable",
    "profiler",
    "set_detect_anomaly",
    "set_grad_enabled",
]

_P = ParamSpec("_P")
_R = TypeVar("_R")

def backward(
    tensors: Tensor | Sequence[Tensor],
    grad_tensors: Any = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    inputs: Tensor | Sequence[Tensor] | None = None,
) -> None:
    """Adds the gradients of the (summed) tensors to ``.grad`` of the leaves, or of `inputs` alone.

    Parameters are those of `grad`, with `grad_tensors` for ``grad_outputs``.

    Examples
    --------
    >>> import tracegrad as tg
    >>> x = tg.tensor([1.0, 2.0], requires_grad=True)
    >>> tg.autograd.backward([(x * 2).sum(), x.sum()])
    >>> x.grad
    tensor([3., 3.])
    """

@overload
def enable_grad(function: None = None) -> _Mode: ...
@overload
def enable_grad(function: Callable[_P, _R]) -> Callable[_P, _R]:
    """Ops are recorded again inside a `no_grad`.

    >>> import tracegrad as tg
    >>> x = tg.tensor(2.0, requires_grad=True)
    >>> with tg.no_grad(), tg.enable_grad():
    ...     y = x * x
    >>> y.requires_grad
    True
    """

def grad(
    outputs: Tensor | Sequence[Tensor],
    inputs: Tensor | Sequence[Tensor],
    grad_outputs: Any = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    allow_unused: bool | None = None,
    materialize_grads: bool = False,
) -> tuple[Tensor | None, ...]:
    """Gradients of the (summed) outputs with respect to the inputs; no ``.grad`` is touched.

    Parameters
    ----------
    outputs : Tensor or sequence of Tensor
    inputs : Tensor or sequence of Tensor
        Leaves, or Tensors that ops made: the backward then goes no further than them.
    grad_outputs : Tensor or sequence, optional
        The cotangent of each output; None for outputs of one element.
    retain_graph : bool, optional
        Keep what the backward reads for another one; default: the value of `create_graph`.
    create_graph : bool
        Record the gradients' own computation, for gradients of gradients.
    allow_unused : bool, optional
        Give None for inputs that the outputs do not depend on; default: only with
        `materialize_grads`.
    materialize_grads : bool
        Give zeros instead of None.

    Raises
    ------
    tg.errors.BackwardError
        An input or no output requires grad, an input is unused, or the graph was freed.

    Examples
    --------
    >>> import tracegrad as tg
    >>> x = tg.tensor([1.0, 2.0], requires_grad=True)
    >>> y = x * x
    >>> tg.autograd.grad(y.sum(), y)
    (tensor([1., 1.]),)
    """

def gradcheck(
    fn: Callable[..., Any],
    inputs: Tensor | Sequence[Any],
    eps: float = 1e-06,
    atol: float = 1e-05,
    rtol: float = 0.001,
    raise_exception: bool = True,
    *,
    nondet_tol: float = 0.0,
) -> bool:
    """Checks the gradients of `fn` against central differences.

    Parameters
    ----------
    fn : callable
        Takes the inputs, returns a Tensor or a sequence of them.
    inputs : Tensor or sequence
        Those that require grad are checked; they should be float64 (or complex128).
    eps : float
        The step of the differences.
    atol, rtol : float
        Agreement as in ``numpy.allclose``.
    raise_exception : bool
        False: return False instead of raising.
    nondet_tol : float
        How much two backwards of the same graph may differ.

    Raises
    ------
    tg.autograd.GradcheckError
        Where they do not agree.
    tg.errors.ArgumentError
        When no input requires grad.

    Examples
    --------
    >>> import tracegrad as tg
    >>> x = tg.tensor([0.5, 2.0], requires_grad=True)
    >>> tg.autograd.gradcheck(lambda x: x * tg.exp(x), x)
    True
    """

def gradgradcheck(
    fn: Callable[..., Any],
    inputs: Tensor | Sequence[Any],
    grad_outputs: Any = None,
    eps: float = 1e-06,
    atol: float = 1e-05,
    rtol: float = 0.001,
    raise_exception: bool = True,
    *,
    nondet_tol: float = 0.0,
) -> bool:
    """Checks the gradients of the gradients of `fn` against central differences.

    `grad_outputs` are cotangents of the outputs, by default random ones; gradients with respect to
    them are checked too. Other parameters are those of `gradcheck`.

    Examples
    --------
    >>> import tracegrad as tg
    >>> x = tg.tensor([0.5, 2.0], requires_grad=True)
    >>> tg.autograd.gradgradcheck(lambda x: x * tg.exp(x), x)
    True
    """

@overload
def inference_mode(function: builtins.bool | None = None) -> _Mode: ...
@overload
def inference_mode(function: Callable[_P, _R]) -> Callable[_P, _R]:
    """Nothing is recorded, as in `no_grad`; ``inference_mode(False)`` changes nothing.

    >>> import tracegrad as tg
    >>> x = tg.tensor(2.0, requires_grad=True)
    >>> with tg.inference_mode():
    ...     y = x * x
    >>> y.requires_grad
    False
    """

def is_anomaly_enabled() -> bool:
    """Whether backwards on this thread are looked at for nan.

    >>> import tracegrad as tg
    >>> tg.autograd.is_anomaly_enabled()
    False
    """

def is_grad_enabled() -> bool:
    """Whether ops are recorded on this thread.

    >>> import tracegrad as tg
    >>> with tg.no_grad():
    ...     tg.is_grad_enabled()
    False
    """

@overload
def no_grad(function: None = None) -> _Mode: ...
@overload
def no_grad(function: Callable[_P, _R]) -> Callable[_P, _R]:
    """Nothing is recorded: ``with tg.no_grad():``, ``@tg.no_grad()`` or ``@tg.no_grad``.

    Examples
    --------
    >>> import tracegrad as tg
    >>> x = tg.tensor([1.0], requires_grad=True)
    >>> with tg.no_grad():
    ...     (x * 2).requires_grad
    False
    """

def once_differentiable(backward: Callable[..., Any]) -> Callable[..., Any]:
    """Decorates a ``backward`` whose result must not be differentiated again.

    >>> import tracegrad as tg
    >>> class Square(tg.autograd.Function):
    ...     @staticmethod
    ...     def forward(ctx, x):
    ...         ctx.save_for_backward(x)
    ...         return x * x
    ...     @staticmethod
    ...     @tg.autograd.once_differentiable
    ...     def backward(ctx, grad):
    ...         return 2.0 * ctx.saved_tensors[0] * grad
    >>> x = tg.tensor(3.0, requires_grad=True)
    >>> Square.apply(x).backward()
    >>> x.grad
    tensor(6.)
    """
