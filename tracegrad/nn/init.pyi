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
    """By how much a layer's weights are larger because of what follows it.

    >>> import tracegrad as tg
    >>> round(tg.nn.init.calculate_gain("relu"), 4)
    1.4142
    """

def kaiming_normal(
    shape: Any,
    a: float = 0.0,
    mode: str = "fan_in",
    nonlinearity: str = "leaky_relu",
    generator: Any = None,
    dtype: Any = None,
) -> Any:
    """Normal numbers of variance ``gain**2 / fan``; arguments as for `kaiming_uniform`.

    >>> import tracegrad as tg
    >>> tg.nn.init.kaiming_normal((4, 3)).shape
    (4, 3)
    """

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

    >>> import tracegrad as tg
    >>> tg.nn.init.kaiming_uniform((4, 3)).shape
    (4, 3)
    """

def normal(
    shape: Any, mean: float = 0.0, std: float = 1.0, generator: Any = None, dtype: Any = None
) -> Tensor:
    """Normal numbers.

    >>> import tracegrad as tg
    >>> tg.nn.init.normal((4, 3), std=0.02).shape
    (4, 3)
    """

def ones(shape: Any, dtype: Any = None) -> Any:
    """Ones, as a NumPy array.

    >>> import tracegrad as tg
    >>> tg.nn.init.ones((2,))
    array([1., 1.])
    """

def orthogonal(shape: Any, gain: float = 1.0, generator: Any = None, dtype: Any = None) -> Any:
    """`gain` times a matrix with orthonormal rows or columns (Saxe and others, 2013).

    Axes after the first count as one.

    >>> import tracegrad as tg
    >>> import numpy as np
    >>> w = tg.nn.init.orthogonal((4, 3))
    >>> bool(np.allclose(w.T @ w, np.eye(3)))
    True
    """

def trunc_normal(
    shape: Any,
    mean: float = 0.0,
    std: float = 1.0,
    a: float = -2.0,
    b: float = 2.0,
    generator: Any = None,
    dtype: Any = None,
) -> Any:
    """Normal numbers of this mean and standard deviation, drawn again while outside of [a, b].

    >>> import tracegrad as tg
    >>> w = tg.nn.init.trunc_normal((4, 3))
    >>> bool((abs(w) <= 2.0).all())
    True
    """

def uniform(
    shape: Any, a: float = 0.0, b: float = 1.0, generator: Any = None, dtype: Any = None
) -> Any:
    """Numbers spread evenly over [a, b).

    >>> import tracegrad as tg
    >>> w = tg.nn.init.uniform((4, 3))
    >>> bool((w < 1.0).all())
    True
    """

def xavier_normal(shape: Any, gain: float = 1.0, generator: Any = None, dtype: Any = None) -> Any:
    """Normal numbers of variance ``2 gain**2 / (fan_in + fan_out)`` (Glorot and Bengio, 2010).

    >>> import tracegrad as tg
    >>> tg.nn.init.xavier_normal((4, 3)).shape
    (4, 3)
    """

def xavier_uniform(shape: Any, gain: float = 1.0, generator: Any = None, dtype: Any = None) -> Any:
    """Even numbers of variance ``2 gain**2 / (fan_in + fan_out)`` (Glorot and Bengio, 2010).

    >>> import tracegrad as tg
    >>> tg.nn.init.xavier_uniform((4, 3)).shape
    (4, 3)
    """

def zeros(shape: Any, dtype: Any = None) -> Any:
    """Zeros, as a NumPy array.

    >>> import tracegrad as tg
    >>> tg.nn.init.zeros((2,))
    array([0., 0.])
    """
