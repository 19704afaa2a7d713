"""The op table enters; Tensor and staged values leave with operators and methods made from it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tracegrad.ops import elementwise as ew
from tracegrad.ops import indexing, linear, reductions, shape
from tracegrad.staging import Staged
from tracegrad.tensor import Tensor


def power(x: Any, exponent: Any) -> Any:
    """``x ** exponent``; a number as the exponent has the cheaper rule."""
    if isinstance(exponent, np.generic) and exponent.dtype == np.float64:
        exponent = float(exponent)
    if isinstance(exponent, int | float) and not isinstance(exponent, bool):
        return ew.number_power(x, exponent=exponent)
    return ew.power(x, exponent)


BINARY: dict[str, Callable[..., Any]] = {
    "add": ew.add,
    "sub": ew.subtract,
    "mul": ew.multiply,
    "truediv": ew.divide,
    "floordiv": ew.floor_divide,
    "mod": ew.remainder,
    "pow": power,
    "matmul": linear.matmul,
    "and": ew.bitwise_and,
    "or": ew.bitwise_or,
    "xor": ew.bitwise_xor,
    "lshift": ew.bitwise_left_shift,
    "rshift": ew.bitwise_right_shift,
}
COMPARISONS: dict[str, Callable[..., Any]] = {
    "eq": ew.equal,
    "ne": ew.not_equal,
    "lt": ew.less,
    "le": ew.less_equal,
    "gt": ew.greater,
    "ge": ew.greater_equal,
}
UNARY: dict[str, Callable[..., Any]] = {
    "neg": ew.negative,
    "pos": ew.positive,
    "abs": ew.absolute,
    "invert": ew.bitwise_invert,
}
OPERANDS = (Tensor, Staged, np.ndarray, np.generic, bool, int, float, complex)


def _method(function: Callable[..., Any]) -> Callable[..., Any]:
    def method(self: Any, other: Any) -> Any:
        if not isinstance(other, OPERANDS):
            return NotImplemented
        return function(self, other)

    return method


def _reflected(function: Callable[..., Any]) -> Callable[..., Any]:
    def method(self: Any, other: Any) -> Any:
        if not isinstance(other, OPERANDS):
            return NotImplemented
        return function(other, self)

    return method


def _unary(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda self: function(self)


def install(cls: Any) -> None:
    """Gives a class the operators, and the methods that derivative rules use."""
    for name, function in BINARY.items():
        setattr(cls, f"__{name}__", _method(function))
        setattr(cls, f"__r{name}__", _reflected(function))
    for name, function in COMPARISONS.items():
        setattr(cls, f"__{name}__", _method(function))
    for name, function in UNARY.items():
        setattr(cls, f"__{name}__", _unary(function))
    cls.T = property(shape.transpose)
    cls.mT = property(shape.matrix_transpose)


METHODS: dict[str, Callable[..., Any]] = {
    "sum": reductions.sum,
    "mean": reductions.mean,
    "max": reductions.max,
    "min": reductions.min,
    "reshape": shape.reshape,
    "transpose": shape.transpose,
}
"""Methods of Tensors: NumPy's and the array API's names, bound to the public functions."""

for _cls in (Tensor, Staged):
    install(_cls)
for _name, _function in METHODS.items():
    setattr(Tensor, _name, _function)
Staged.__getitem__ = indexing.getitem  # type: ignore[attr-defined]
