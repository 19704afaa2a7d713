"""Tensors enter, gradients leave: what PyTorch users know as ``torch.autograd``.

The parts stand on Tensors, and Tensors stand on the tape and the hooks of this package: so the
parts are loaded by `load`, when Tensors are there, or when one of their names is asked for.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

_PARTS = {
    "anomaly": ("detect_anomaly", "is_anomaly_enabled", "set_detect_anomaly"),
    "function": ("Function", "FunctionCtx", "once_differentiable"),
    "functional": ("backward", "grad"),
    "gradcheck": ("GradcheckError", "gradcheck", "gradgradcheck"),
    "modes": ("enable_grad", "inference_mode", "is_grad_enabled", "no_grad", "set_grad_enabled"),
    "profiler": (),
    "variable": ("Variable",),
}
_HOME = {name: part for part, names in _PARTS.items() for name in names}
__all__ = sorted([*_HOME, "profiler"])


def load() -> None:
    """Makes every public name of the parts one of this package."""
    for part, names in _PARTS.items():
        module = import_module(f"tracegrad.autograd.{part}")
        globals().update({name: getattr(module, name) for name in names})


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module 'tracegrad.autograd' has no attribute {name!r}")
    load()
    return globals()[name]


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
