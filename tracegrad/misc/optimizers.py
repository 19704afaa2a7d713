"""Gradient descent over pytrees with HIPS autograd's arguments: `sgd`, `rmsprop`, `adam`.

``optimizer(grad, x0, callback=None, num_iters=..., step_size=...)``: ``grad(x, i)`` gives the
gradient at iteration i, ``callback(x, i, g)`` sees each. For loops of one's own see `tg.optim`.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from tracegrad.misc.flatten import flatten
from tracegrad.runtime.thread_state import call

__all__ = ["adam", "rmsprop", "sgd", "unflatten_optimizer"]


def unflatten_optimizer(optimize: Callable[..., Any]) -> Callable[..., Any]:
    """Decorates an optimizer of vectors: the result takes and returns pytrees."""

    @functools.wraps(optimize)
    def of_trees(
        grad: Callable[..., Any], x0: Any, callback: Any = None, *args: Any, **kwargs: Any
    ) -> Any:
        start, back = flatten(x0)

        def gradient(x: Any, i: int) -> Any:
            return flatten(call(grad, (back(x), i), {}))[0]

        def seen(x: Any, i: int, g: Any) -> None:
            call(callback, (back(x), i, back(g)), {})

        return back(optimize(gradient, start, seen if callback else None, *args, **kwargs))

    return of_trees


def _descend(grad: Any, x: Any, callback: Any, num_iters: int, step: Callable[..., Any]) -> Any:
    for i in range(num_iters):
        g = grad(x, i)
        if callback:
            callback(x, i, g)
        x = step(x, g, i)
    return x


@unflatten_optimizer
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
    velocity = np.zeros(len(x))

    def step(x: Any, g: Any, i: int) -> Any:
        nonlocal velocity
        velocity = mass * velocity - (1.0 - mass) * g
        return x + step_size * velocity

    return _descend(grad, x, callback, num_iters, step)


@unflatten_optimizer
def rmsprop(
    grad: Any,
    x: Any,
    callback: Any = None,
    num_iters: int = 100,
    step_size: float = 0.1,
    gamma: float = 0.9,
    eps: float = 1e-8,
) -> Any:
    """Steps divided by the root of a running mean of squared gradients (Tieleman, Hinton 2012)."""
    squares = np.ones(len(x))

    def step(x: Any, g: Any, i: int) -> Any:
        nonlocal squares
        squares = squares * gamma + g**2 * (1.0 - gamma)
        return x - step_size * g / (np.sqrt(squares) + eps)

    return _descend(grad, x, callback, num_iters, step)


@unflatten_optimizer
def adam(
    grad: Any,
    x: Any,
    callback: Any = None,
    num_iters: int = 100,
    step_size: float = 0.001,
    b1: float = 0.9,
    b2: float = 0.999,
    eps: float = 1e-8,
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
    first, second = np.zeros(len(x)), np.zeros(len(x))

    def step(x: Any, g: Any, i: int) -> Any:
        nonlocal first, second
        first = b1 * first + (1.0 - b1) * g
        second = b2 * second + (1.0 - b2) * g**2
        mean, square = first / (1.0 - b1 ** (i + 1)), second / (1.0 - b2 ** (i + 1))
        return x - step_size * mean / (np.sqrt(square) + eps)

    return _descend(grad, x, callback, num_iters, step)
