"""Mistakes that a type checker finds, each with mypy's code for it; nothing here is ever run."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

import tracegrad as tg
from tracegrad import optim

Array = NDArray[np.float64]


@tg.grad
def slope(x: Array, power: float) -> Array:
    return np.asarray(np.sum(x**power))


@tg.value_and_grad(argnums=0)
def loss(w: Array) -> Array:
    return np.asarray(np.sum(w**2))


@tg.compile
def doubled(x: tg.Tensor) -> tg.Tensor:
    return 2 * x


x, t = np.ones(3), tg.ones(3, requires_grad=True)
slope(x)  # call-arg
slope(x, "2")  # arg-type
gradient: Array = loss(x)  # assignment
doubled(t).nump()  # attr-defined
t.grad.numpy()  # union-attr
tg.tanhh(t)  # attr-defined
tg.exp(None)  # call-overload
tg.grad(slope, argnum="x")  # arg-type
tg.config.backend = 3  # assignment
slope.source(part=1)  # arg-type
optim.SGD(t, lr="fast")  # arg-type
