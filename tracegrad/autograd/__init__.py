"""Eager gradients, as PyTorch's users know them from ``torch.autograd``."""

from tracegrad.autograd import profiler
from tracegrad.autograd.anomaly import detect_anomaly, is_anomaly_enabled, set_detect_anomaly
from tracegrad.autograd.function import Function, FunctionCtx, once_differentiable
from tracegrad.autograd.functional import backward, grad
from tracegrad.autograd.gradcheck import GradcheckError, gradcheck, gradgradcheck
from tracegrad.autograd.variable import Variable
from tracegrad.runtime.missing_names import missing_names_of
from tracegrad.tape.grad_mode import (
    enable_grad,
    inference_mode,
    is_grad_enabled,
    no_grad,
    set_grad_enabled,
)

__getattr__ = missing_names_of(__name__)

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
