"""Gradient descent over pytrees with HIPS autograd's arguments: `sgd`, `rmsprop`, `adam`."""

# Made by tests/type_stubs.py from the library as it runs.

from collections.abc import Callable
from typing import Any

__all__ = ["adam", "rmsprop", "sgd", "unflatten_optimizer"]

def adam(
    grad: Any,
    x: Any,
    callback: Any = None,
    num_iters: int = 100,
    step_size: float = 0.001,
    b1: float = 0.9,
    b2: float = 0.999,
    eps: float = 1e-08,
) -> Any:
    """Adam: running means of gradients and of their squares, corrected for their start (Kingma, Ba
    2014).

    >>> import numpy as np
    >>> from tracegrad import grad
    >>> from tracegrad.misc.optimizers import adam
    >>> slope = grad(lambda p: (p["x"] - 1.0) ** 2)
    >>> found = adam(lambda p, i: slope(p), {"x": 0.0}, num_iters=200, step_size=0.1)
    >>> print(round(float(found["x"]), 2))
    1.0
    """

def rmsprop(
    grad: Any,
    x: Any,
    callback: Any = None,
    num_iters: int = 100,
    step_size: float = 0.1,
    gamma: float = 0.9,
    eps: float = 1e-08,
) -> Any:
    """Steps divided by the root of a running mean of squared gradients (Tieleman, Hinton 2012)."""

def sgd(
    grad: Any,
    x: Any,
    callback: Any = None,
    num_iters: int = 200,
    step_size: float = 0.1,
    mass: float = 0.9,
) -> Any:
    """Stochastic gradient descent with momentum: the velocity is a running mean of gradients.

    >>> import numpy as np
    >>> from tracegrad.misc.optimizers import sgd
    >>> found = sgd(lambda x, i: 2.0 * (x - 1.0), np.zeros(2), num_iters=400)
    >>> print(found.round(3))
    [1. 1.]
    """

def unflatten_optimizer(optimize: Callable[..., Any]) -> Callable[..., Any]:
    """Decorates an optimizer of vectors: the result takes and returns pytrees."""
