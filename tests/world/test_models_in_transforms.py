"""Models, objects that are called, among the arguments of transforms inside compiled functions."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from checks import assert_same_bits

import tracegrad as tg

X = np.linspace(-1.0, 1.0, 8).reshape(4, 2)
SHIFT = 0.5


@dataclass
class Layer:
    w: Any
    b: Any
    width: int = 3

    def __call__(self, x: Any) -> Any:
        return np.tanh(x @ self.w + self.b) * SHIFT

    def __repr__(self) -> str:
        return "a layer"


@dataclass
class Network:
    layers: list[Layer]

    def __call__(self, x: Any) -> Any:
        for layer in self.layers:
            x = layer(x)
        return x


def network() -> Network:
    draw = np.random.default_rng(0).normal
    return Network([Layer(draw(size=(2, 3)), draw(size=3)), Layer(draw(size=(3, 2)), draw(size=2))])


OUTSIDE = network()


def loss(net: Network, x: Any) -> Any:
    return np.mean(net(x) ** 2)


class Plain:
    """A model that is no pytree: what it holds is read where it stands."""

    def __init__(self) -> None:
        self.w, self.scale = np.ones(2), 1.0

    def __call__(self, x: Any) -> Any:
        return np.sum(np.sin(x @ self.w) * self.scale)


TRANSFORMS = {
    "grad": lambda net, x: tg.grad(loss)(net, x).layers[0].w,
    "value_and_grad": lambda net, x: tg.value_and_grad(loss)(net, x)[1].layers[1].b,
    "by_x": lambda net, x: tg.grad(lambda x: loss(net, x))(x),
    "vjp": lambda net, x: tg.vjp(loss, net, x)[1](1.0)[0].layers[0].b,
    "vmap": lambda net, x: tg.vmap(loss, in_axes=(None, 0))(net, x),
    "checkpoint": lambda net, x: tg.grad(tg.checkpoint(loss))(net, x).layers[0].w,
    "called": lambda net, x: tg.jvp(net, (x,), (x,))[1],
}


@pytest.fixture
def silent() -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


@pytest.mark.parametrize("name", TRANSFORMS)
def test_a_model_that_is_called_is_compiled(name: str, silent: None, monkeypatch: Any) -> None:
    f = TRANSFORMS[name]
    compiled = tg.compile(f)
    net = network()
    for _ in range(2):
        assert_same_bits(compiled(net, X), f(net, X))
    if name not in ("called", "by_x"):
        assert compiled.cache_info().hits == 1
    monkeypatch.setitem(globals(), "SHIFT", 0.25)  # which its method reads
    assert_same_bits(compiled(net, X), f(net, X))
    monkeypatch.setattr(Layer, "__call__", lambda self, x: x @ self.w - self.b)
    assert_same_bits(compiled(net, X), f(net, X))
    net = network()
    net.layers[0].w *= 2.0
    assert_same_bits(compiled(net, X), f(net, X))
    net.layers.append(Layer(np.eye(2), np.ones(2)))
    assert_same_bits(compiled(net, X), f(net, X))


@pytest.mark.parametrize(
    "f",
    [
        lambda net, x: tg.grad(net)(x),
        lambda net, x: tg.vjp(net, x)[1](1.0)[0],
        lambda net, x: tg.grad(lambda x: tg.checkpoint(net)(x))(x),
        lambda net, x: tg.vmap(net)(x),
        lambda net, x: tg.grad(lambda x, net: net(x))(x, net),
    ],
)
def test_what_a_model_holds_is_read_again(f: Any) -> None:
    compiled, net = tg.compile(f), Plain()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", tg.errors.RecompileWarning)
        for change in ({}, {}, {"scale": 2.0}, {"scale": 3.0}, {"w": np.array([2.0, -1.0])}):
            vars(net).update(change)
            assert_same_bits(compiled(net, X), f(net, X))


@pytest.mark.parametrize(
    "f",
    [
        lambda x: tg.grad(loss)(OUTSIDE, x).layers[0].w,
        lambda x: tg.grad(loss, argnums=1)(OUTSIDE, x),
        lambda x: tg.grad(lambda x: loss(OUTSIDE, x))(x),
        lambda x: tg.vmap(OUTSIDE)(x),
    ],
)
def test_a_model_from_outside_is_never_stale(f: Any, monkeypatch: Any) -> None:
    net, compiled = network(), tg.compile(f)
    monkeypatch.setitem(globals(), "OUTSIDE", net)
    assert_same_bits(compiled(X), f(X))
    assert_same_bits(compiled(X), f(X))
    net.layers[0].w = 2.0 * net.layers[0].w
    assert_same_bits(compiled(X), f(X))
    net.layers[1].b[0] = 3.0
    assert_same_bits(compiled(X), f(X))
    net.layers[1] = Layer(np.ones((3, 2)), np.ones(2))
    assert_same_bits(compiled(X), f(X))
