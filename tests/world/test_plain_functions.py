"""Functions that give the same run as they are: what is plain, and what is not understood."""

from __future__ import annotations

import collections
import functools
import math
import time
import weakref
from functools import partial
from math import fsum
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from checks import assert_same_bits
from numpy import einsum
from scipy.linalg import expm

import tracegrad as tg
from tracegrad.world.plain_functions import runs_as_it_is

X = np.random.default_rng(0).normal(size=(300, 5))
WEIGHT = tg.tensor([1.0, 2.0])
TABLE = {"rate": 0.1, "of": [np.ones(3)]}
Pair = collections.namedtuple("Pair", "a b")


class Model:
    def __init__(self, held: Any = 0.5) -> None:
        self.held = held
        self.log: list[Any] = []

    def step(self, x):
        self.log.append(1)
        return x * self.held


class OfTorch(Model):
    def torch_step(self, x):
        return x.relu()


class Slotted:
    __slots__ = ("held",)


def helper(x):
    return np.tanh(x) * TABLE["rate"]


def otherwise(x):
    return x.sum(axis=1)


@tg.compile
def compiled_helper(x):
    return x * 2.0


for_jax = tg.compile(helper, backend="jax")
mapped = tg.vmap(helper)
derivative = tg.grad(lambda x: (x * x).sum())


@functools.lru_cache
def cached(n):
    return 0.5 * n


@functools.lru_cache
def cached_otherwise():
    return WEIGHT[0]


@functools.singledispatch
def generic(x):
    return x


@generic.register
def _(x: np.ndarray):
    return x + 1.0


def with_closure(held, f):
    def function(x):
        return f(held, x)

    return function


PLAIN = {
    "arithmetic": lambda x: (x * 2.0 + 1.0) / 3.0,
    "whole sums": lambda x: x.sum() + np.sum(x * x) + (x * x).mean() + np.linalg.norm(x),
    "extremes": lambda x: abs(x).max() + np.min(x, axis=1) + x.argmax(axis=1),
    "products": lambda x: (x @ x.T).trace() + np.dot(x[0], x[1]),
    "elementwise": lambda x: np.exp(x) + np.where(x > 0.0, np.sqrt(abs(x)), 0.0),
    "math": lambda x: math.exp(x[0, 0]) + math.tanh(0.3),
    "a helper": lambda x: helper(x) + sum([1.0, 2.0]),
    "a clock": lambda x: x * (time.perf_counter() > 0.0),
    "another compiled function": lambda x: compiled_helper(x) + 1.0,
    "a method": Model().step,
    "a partial": partial(lambda a, x: a * x, 2.0),
    "an object": with_closure(Model(), lambda m, x: m.step(x)),
    "a pair": with_closure(Pair(1.0, np.ones(5)), lambda p, x: p.a * x + p.b),
    "a list": lambda x: np.stack([row * 2.0 for row in x if row[0] > 0.0]),
    "a cached helper": lambda x: cached(3) * x,
    "a namespace": with_closure(SimpleNamespace(rate=0.1), lambda s, x: x * s.rate),
    "a derivative": lambda x: derivative(x),
    "solving": lambda x: np.linalg.solve(x.T @ x, np.ones(5)),
}


@pytest.mark.parametrize("name", PLAIN)
def test_plain_functions(name):
    """They give, bit for bit, what they give on Tensors."""
    f = PLAIN[name]
    assert runs_as_it_is(f, (X,))
    eager = tg.compile(f)
    assert_same_bits(f(X), eager._eager(eager._bind((X,), {})))


NOT_PLAIN = {
    "a sum along an axis": lambda x: x.sum(axis=1),
    "one in NumPy's words": lambda x: np.sum(x, 1),
    "one with a place": lambda x: x.mean(1),
    "one handed on": lambda x: (np.sum, x),
    "one in a helper": lambda x: otherwise(x),
    "one in a function within": lambda x: [(lambda row: row.std(0))(x) for _ in range(2)],
    "ufuncs": lambda x: np.add.reduce(x, axis=1),
    "a method of Tensors": lambda x: x.relu(),
    "of an expression": lambda x: (x * 2.0).detach(),
    "in another method": OfTorch().step,
    "a keyword of Tensors": lambda x: x.max(dim=1),
    "einsum": lambda x: np.einsum("ij,kj->ik", x, x),
    "einsum by its name": lambda x: einsum("ij->j", x),
    "fsum": lambda x: fsum(x[0]),
    "a Tensor": lambda x: x[0, :2] * WEIGHT,
    "a Tensor in an object": with_closure(Model(WEIGHT), lambda m, x: m.step(x)),
    "a Tensor in a cell": with_closure([WEIGHT], lambda w, x: x * w[0][0]),
    "tracegrad": lambda x: tg.tanh(x),
    "a library": lambda x: expm(x),
    "a Tensor in a namespace": with_closure(SimpleNamespace(w=WEIGHT), lambda s, x: x * s.w[0]),
    "a Tensor in a counter": with_closure(
        collections.Counter({"w": WEIGHT}), lambda s, x: x * s["w"][0]
    ),
    "a generic helper": lambda x: generic(x) * 2.0,
    "a weak reference": with_closure(weakref.ref(WEIGHT), lambda w, x: x * w()[0]),
    "a cached helper that reads one": lambda x: cached_otherwise() * x,
    "a mapped function": lambda x: mapped(x),
    "a function for JAX": lambda x: for_jax(x),
    "complex numbers": lambda x: abs(x + 1j),
    "complex arrays": with_closure(np.ones(5) + 1j, lambda c, x: c * x),
    "slots": with_closure(Slotted(), lambda s, x: x),
    "an iterator": with_closure(iter([1.0]), lambda it, x: x),
    "too much": with_closure([object() for _ in range(2000)], lambda many, x: x),
}


@pytest.mark.parametrize("name", NOT_PLAIN)
def test_what_is_not_understood_is_not_plain(name):
    assert not runs_as_it_is(NOT_PLAIN[name], (X,))


@pytest.mark.parametrize(
    "given", [X.astype(complex), np.ma.array(X), np.array([None]), WEIGHT, Model(WEIGHT), 1j]
)
def test_arguments_that_are_not_plain(given):
    assert not runs_as_it_is(lambda x: x, (given,))


def test_what_is_there_now_counts():
    model = Model()
    f = with_closure(model, lambda m, x: m.step(x))
    assert runs_as_it_is(f, (X,))
    model.held = WEIGHT
    assert not runs_as_it_is(f, (X,))
