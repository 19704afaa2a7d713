"""Initial values of parameters.

PyTorch's initialisers as functions: they take a shape, in PyTorch's convention ``(out_features,
in_features, *kernel)``, and return a new array. With a ``numpy.random.Generator`` that is a NumPy
array; with a `tg.random.Generator`, or none, a Tensor. Without a `dtype` it has the default one
(`tg.set_default_dtype`).

>>> import numpy as np
>>> import tracegrad as tg
>>> tg.nn.init.kaiming_normal((16, 8, 3, 3), generator=np.random.default_rng(0)).shape
(16, 8, 3, 3)
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tracegrad.errors import ArgumentError, TraceError
from tracegrad.ops.dtypes import get_default_dtype
from tracegrad.random import Generator, floating, process_generator
from tracegrad.runtime.thread_state import STATE
from tracegrad.tensors.constructors import as_tensor

GAINS = {
    "linear": 1.0,
    "conv": 1.0,
    "sigmoid": 1.0,
    "tanh": 5.0 / 3.0,
    "relu": math.sqrt(2.0),
    "selu": 0.75,
}


def zeros(shape: Any, dtype: Any = None) -> Any:
    """Zeros, as a NumPy array."""
    return np.zeros(shape, get_default_dtype() if dtype is None else dtype)


def ones(shape: Any, dtype: Any = None) -> Any:
    """Ones, as a NumPy array."""
    return np.ones(shape, get_default_dtype() if dtype is None else dtype)


def uniform(
    shape: Any, a: float = 0.0, b: float = 1.0, generator: Any = None, dtype: Any = None
) -> Any:
    """Numbers spread evenly over [a, b)."""
    source = _source(generator)
    return _given(a + (b - a) * source.random(shape), generator, dtype)


def normal(
    shape: Any, mean: float = 0.0, std: float = 1.0, generator: Any = None, dtype: Any = None
) -> Any:
    """Normal numbers."""
    source = _source(generator)
    return _given(mean + std * source.standard_normal(shape), generator, dtype)


def trunc_normal(
    shape: Any,
    mean: float = 0.0,
    std: float = 1.0,
    a: float = -2.0,
    b: float = 2.0,
    generator: Any = None,
    dtype: Any = None,
) -> Any:
    """Normal numbers of this mean and standard deviation, drawn again while outside of [a, b]."""
    low, high = (a - mean) / std, (b - mean) / std
    if not low < high or low > 8 or high < -8:
        raise ArgumentError(f"trunc_normal: nearly nothing of the distribution is in [{a}, {b}]")
    source = _source(generator)
    found = source.standard_normal(shape)
    while (outside := (found < low) | (found > high)).any():
        found = np.where(outside, source.standard_normal(np.shape(found)), found)
    return _given(mean + std * found, generator, dtype)


def xavier_uniform(shape: Any, gain: float = 1.0, generator: Any = None, dtype: Any = None) -> Any:
    """Even numbers of variance ``2 gain**2 / (fan_in + fan_out)`` (Glorot and Bengio, 2010)."""
    bound = gain * math.sqrt(6.0 / sum(fans(shape)))
    return uniform(shape, -bound, bound, generator, dtype)


def xavier_normal(shape: Any, gain: float = 1.0, generator: Any = None, dtype: Any = None) -> Any:
    """Normal numbers of variance ``2 gain**2 / (fan_in + fan_out)`` (Glorot and Bengio, 2010)."""
    return normal(shape, 0.0, gain * math.sqrt(2.0 / sum(fans(shape))), generator, dtype)


def kaiming_uniform(
    shape: Any,
    a: float = 0.0,
    mode: str = "fan_in",
    nonlinearity: str = "leaky_relu",
    generator: Any = None,
    dtype: Any = None,
) -> Any:
    """Even numbers of variance ``gain**2 / fan`` (He and others, 2015).

    mode
        "fan_in" keeps the variance of activations, "fan_out" that of gradients.
    nonlinearity, a
        What follows, and its slope on the left if that is a leaky_relu.
    """
    bound = math.sqrt(3.0) * _kaiming(shape, a, mode, nonlinearity)
    return uniform(shape, -bound, bound, generator, dtype)


def kaiming_normal(
    shape: Any,
    a: float = 0.0,
    mode: str = "fan_in",
    nonlinearity: str = "leaky_relu",
    generator: Any = None,
    dtype: Any = None,
) -> Any:
    """Normal numbers of variance ``gain**2 / fan``; arguments as for `kaiming_uniform`."""
    return normal(shape, 0.0, _kaiming(shape, a, mode, nonlinearity), generator, dtype)


def orthogonal(shape: Any, gain: float = 1.0, generator: Any = None, dtype: Any = None) -> Any:
    """`gain` times a matrix with orthonormal rows or columns (Saxe and others, 2013).

    Axes after the first count as one.
    """
    if np.ndim(shape) == 0 or len(shape) < 2:
        raise ArgumentError(f"orthogonal: a matrix has two axes or more, not shape {shape}")
    rows, columns = shape[0], math.prod(shape[1:])
    source = _source(generator)
    q, r = np.linalg.qr(source.standard_normal((max(rows, columns), min(rows, columns))))
    q = q * np.sign(np.diagonal(r))  # without which it would not be evenly spread
    q = q.T if rows < columns else q
    return _given(gain * q.reshape(shape), generator, dtype)


def calculate_gain(nonlinearity: str, a: float = 0.01) -> float:
    """By how much a layer's weights are larger because of what follows it."""
    if nonlinearity == "leaky_relu":
        return math.sqrt(2.0 / (1.0 + a * a))
    if nonlinearity not in GAINS:
        known = ", ".join(["leaky_relu", *GAINS])
        raise ArgumentError(f"nonlinearity={nonlinearity!r} must be one of {known}")
    return GAINS[nonlinearity]


def fans(shape: Any) -> tuple[int, int]:
    """How many inputs an output has, and how many outputs an input has."""
    if np.ndim(shape) == 0 or len(shape) < 2:
        raise ArgumentError(
            f"a weight of shape {shape} has no fan: (out_features, in_features, *kernel) is needed"
        )
    kernel = math.prod(shape[2:])
    return shape[1] * kernel, shape[0] * kernel


def _kaiming(shape: Any, a: float, mode: str, nonlinearity: str) -> float:
    """The standard deviation."""
    if mode not in ("fan_in", "fan_out"):
        raise ArgumentError(f'mode={mode!r} must be "fan_in" or "fan_out"')
    fan = fans(shape)[mode == "fan_out"]
    return calculate_gain(nonlinearity, a) / math.sqrt(max(fan, 1))


def _source(generator: Any) -> np.random.Generator:
    """NumPy's generator of what the user gave."""
    if STATE.trace is not None:
        raise TraceError("parameters are made before a compiled function runs, not inside it")
    if generator is None:
        generator = process_generator
    if isinstance(generator, Generator):
        return generator._numpy
    if not isinstance(generator, np.random.Generator):
        raise ArgumentError(
            f"generator is a {type(generator).__name__}: make one by tg.random.Generator(seed) or "
            "np.random.default_rng(seed)"
        )
    return generator


def _given(array: Any, generator: Any, dtype: Any) -> Any:
    """The array, as a Tensor where the generator is not NumPy's."""
    dtype = get_default_dtype() if dtype is None else floating("nn.init", dtype)
    array = np.asarray(array, dtype)
    return array if isinstance(generator, np.random.Generator) else as_tensor(array)


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
