"""A user's typed script: mypy and pyright take it as it is, in their strict modes."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

import tracegrad as tg
from tracegrad import nn, optim
from tracegrad.random import Generator

Array = NDArray[np.float64]


@tg.value_and_grad(argnums=(0, 1))
def loss(w: Array, b: float, x: Array, y: Array) -> np.floating[Any]:
    """Logistic regression."""
    logits = x @ w + b
    return np.mean(np.logaddexp(0.0, logits) - y * logits)


def descend(x: Array, y: Array, steps: int = 20) -> tuple[Array, float]:
    w, b = np.zeros(x.shape[1]), 0.0
    for _ in range(steps):
        value, (gradient_w, gradient_b) = loss(w, b, x, y)
        assert value.ndim == 0
        w, b = w - 0.5 * gradient_w, b - 0.5 * gradient_b
    return w, b


def train(x: tg.Tensor, y: tg.Tensor) -> float:
    """A step with Tensors and an optimizer."""
    weight = tg.randn(3, 1, requires_grad=True)
    bias = tg.zeros(1, requires_grad=True)
    error = tg.tensor(0.0)
    optimizer = optim.Adam([weight, bias], lr=0.1)
    for step in range(5):
        optimizer.zero_grad()
        hidden = tg.tanh(x @ weight + bias)
        error = (nn.sigmoid(hidden)[:, 0] - y).square().mean()
        error += 1e-3 * (weight**2).sum()
        error.backward()
        optimizer.step()
        if weight.grad is not None and step == 0:
            print("gradient", weight.grad.norm().item())
    with tg.no_grad():
        weight[0] = 0.0
    first = [row.shape for row in weight]
    assert first[0] == (1,) and bool((tg.abs(bias) < 10.0).all())
    return float(error) + float(bias.item())


@tg.compile
def softplus(x: Array, sharpness: float = 1.0) -> Array:
    return np.log1p(np.exp(sharpness * x)) / sharpness


class Model:
    def __init__(self, scale: float) -> None:
        self.scale = scale

    @tg.grad
    def slope(self, x: Array) -> Array:
        return np.asarray((x**2).sum())

    @tg.compile(backend="numpy")
    def __call__(self, x: Array) -> Array:
        return self.scale * x


@tg.custom_vjp
def clipped(x: Array) -> Array:
    return np.clip(x, -1.0, 1.0)


def remembered(x: Array) -> tuple[Array, None]:
    return np.clip(x, -1.0, 1.0), None


def straight_through(saved: None, cotangent: Array) -> tuple[Array]:
    return (cotangent,)


clipped.defvjp(remembered, straight_through)


class Doubled(tg.autograd.Function):
    @staticmethod
    def forward(ctx: tg.autograd.FunctionCtx, x: tg.Tensor) -> tg.Tensor:
        ctx.save_for_backward(x)
        return 2.0 * x

    @staticmethod
    def backward(ctx: tg.autograd.FunctionCtx, gradient: tg.Tensor) -> tg.Tensor:
        return 2.0 * gradient


@tg.no_grad
def predict(x: tg.Tensor, weight: tg.Tensor) -> tg.Tensor:
    return tg.where(x @ weight > 0, 1.0, 0.0)


def energy(x: Array) -> Array:
    return np.asarray(np.sum(x[1:] * x[:-1] ** 2))


def differences(x: Array) -> Array:
    return x[1:] - x[:-1]


def main() -> None:
    tg.manual_seed(0)
    tg.config.fast_math = False
    random = np.random.default_rng(0)
    x, y = random.normal(size=(20, 3)), (random.random(20) < 0.5).astype(np.float64)
    w, b = descend(x, y)
    print(w.shape, b, train(tg.tensor(x), tg.from_numpy(y)))
    print(softplus(w, sharpness=2.0).sum(), softplus.source().splitlines()[0])
    print(loss.explain().splitlines()[0], len(str(loss.graph())) > 100)
    print(bool(loss.verify(w, b, x, y)), Model(2.0)(w).shape)
    print(tg.hessian(energy)(w).shape, tg.hessian(energy, sparse=True)(w).shape)
    print(tg.jacobian(sparse=True)(differences)(w).shape, tg.vmap(tg.grad(energy))(x).shape)
    value, pull = tg.vjp(energy, w)
    print(value.shape, pull(np.ones(()))[0].shape, tg.jvp(energy, (w,), (w,))[1])
    a, inverse = tg.linalg.cholesky(tg.eye(3) * 4.0), tg.linalg.inv(tg.eye(3))
    print((a @ inverse).numpy().dtype, tg.special.expit(tg.zeros(2)).tolist())
    print(Generator(0).normal(size=3).shape, tg.checkpoint(energy)(w).shape)
    print(tg.checkpoint(max_bytes=1000)(energy)(w).shape)
    print(clipped(w).shape, Doubled.apply(tg.ones(2)).shape)
    print(tg.fft.fft(tg.ones(4)).real.sum(), tg.stack([a, inverse], axis=0).shape)
    print(predict(tg.ones(2, 3), tg.ones(3, 1)).device.type, tg.float32.itemsize)
    try:
        tg.linalg.solve(tg.zeros(2, 2), tg.ones(2))
    except tg.errors.SingularError as error:
        print(error)


if __name__ == "__main__":
    main()
