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
    """Adds the gradients of the (summed) tensors to ``.grad`` of the leaves, or of `inputs` alone."""

@overload
def enable_grad(function: None = None) -> _Mode: ...
@overload
def enable_grad(function: Callable[_P, _R]) -> Callable[_P, _R]:
    """Ops are recorded again inside a `no_grad`."""

def grad(
    outputs: Tensor | Sequence[Tensor],
    inputs: Tensor | Sequence[Tensor],
    grad_outputs: Any = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    allow_unused: bool | None = None,
    materialize_grads: bool = False,
) -> tuple[Tensor | None, ...]:
    """Gradients of the (summed) outputs with respect to the inputs; no ``.grad`` is touched."""

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
    """Checks the gradients of `fn` against central differences."""

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
    """Checks the gradients of the gradients of `fn` against central differences."""

@overload
def inference_mode(function: builtins.bool | None = None) -> _Mode: ...
@overload
def inference_mode(function: Callable[_P, _R]) -> Callable[_P, _R]:
    """Nothing is recorded, as in `no_grad`; ``inference_mode(False)`` changes nothing."""

def is_anomaly_enabled() -> bool:
    """Whether backwards on this thread are looked at for nan."""

def is_grad_enabled() -> bool:
    """Whether ops are recorded on this thread."""

@overload
def no_grad(function: None = None) -> _Mode: ...
@overload
def no_grad(function: Callable[_P, _R]) -> Callable[_P, _R]:
    """Nothing is recorded: ``with tg.no_grad():``, ``@tg.no_grad()`` or ``@tg.no_grad``."""

def once_differentiable(backward: Callable[..., Any]) -> Callable[..., Any]:
    """Decorates a ``backward`` whose result must not be differentiated again."""
