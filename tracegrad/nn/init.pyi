"""Initial values of parameters."""

# Made by tests/type_stubs.py from the library as it runs.

from typing import Any

from tracegrad.tensors.tensor import Tensor

__all__ = [
    "calculate_gain",
    "kaiming_normal",
    "kaiming_uniform",
    "normal",
    "ones",
    "orthogonal",
    "trunc_normal",
    "uniform",
    "xavier_normal",
    "xavier_uniform",
    "zeros",
]

def calculate_gain(nonlinearity: str, a: float = 0.01) -> float:
    """By how much a layer's weights are larger because of what follows it."""

def kaiming_normal(
    shape: Any,
    a: float = 0.0,
    mode: str = "fan_in",
    nonlinearity: str = "leaky_relu",
    generator: Any = None,
    dtype: Any = ...,
) -> Any:
    """Normal numbers of variance ``gain**2 / fan``; arguments as for `kaiming_uniform`."""

def kaiming_uniform(
    shape: Any,
    a: float = 0.0,
    mode: str = "fan_in",
    nonlinearity: str = "leaky_relu",
    generator: Any = None,
    dtype: Any = ...,
) -> Any:
    """Even numbers of variance ``gain**2 / fan`` (He and others, 2015)."""

def normal(
    shape: Any, mean: float = 0.0, std: float = 1.0, generator: Any = None, dtype: Any = ...
) -> Tensor:
    """Normal numbers."""

def ones(shape: Any, dtype: Any = ...) -> Any:
    """Ones, as a NumPy array."""

def orthogonal(shape: Any, gain: float = 1.0, generator: Any = None, dtype: Any = ...) -> Any:
    """`gain` times a matrix with orthonormal rows or columns (Saxe and others, 2013)."""

def trunc_normal(
    shape: Any,
    mean: float = 0.0,
    std: float = 1.0,
    a: float = -2.0,
    b: float = 2.0,
    generator: Any = None,
    dtype: Any = ...,
) -> Any:
    """Normal numbers of this mean and standard deviation, drawn again while outside of [a, b]."""

def uniform(
    shape: Any, a: float = 0.0, b: float = 1.0, generator: Any = None, dtype: Any = ...
) -> Any:
    """Numbers spread evenly over [a, b)."""

def xavier_normal(shape: Any, gain: float = 1.0, generator: Any = None, dtype: Any = ...) -> Any:
    """Normal numbers of variance ``2 gain**2 / (fan_in + fan_out)`` (Glorot and Bengio, 2010)."""

def xavier_uniform(shape: Any, gain: float = 1.0, generator: Any = None, dtype: Any = ...) -> Any:
    """Even numbers of variance ``2 gain**2 / (fan_in + fan_out)`` (Glorot and Bengio, 2010)."""

def zeros(shape: Any, dtype: Any = ...) -> Any:
    """Zeros, as a NumPy array."""
