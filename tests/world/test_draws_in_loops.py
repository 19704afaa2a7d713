"""Loops whose turns draw random numbers: the numbers, and where generators stand, are eager's."""

from __future__ import annotations

import numpy as np
import pytest
from checks import assert_same_bits

import tracegrad as tg

pytestmark = pytest.mark.usefixtures("fresh_loops")

W = np.random.default_rng(0).normal(size=(4, 4)) * 0.4
GENERATOR = tg.random.Generator(0)
SEQUENCES = [np.random.default_rng(n).normal(size=(n, 4)) for n in (12, 20, 9, 30, 12)]


def dropout(w, x):
    h = np.zeros(4)
    for row in x:
        h = np.tanh(h @ w + row) * (tg.rand(4) > 0.2)
    return (h * h).sum()


def langevin(w, x):
    z = x[0] * 0.0
    for row in x:
        z = z - 0.1 * (z @ w - row) + 0.3 * GENERATOR.normal(size=4)
    return (z * z).sum()


def two_generators(w, x):
    total = 0.0
    for t in range(len(x)):
        total = total + np.tanh(x[t] @ w).sum() * GENERATOR.normal() + tg.randn(1)[0]
    return total


def in_an_arm(w, x):
    h = np.zeros(4)
    for row in x:
        if row[0] > 0:
            h = np.tanh(h @ w + row) * tg.rand(4)
        else:
            h = h * 0.9 + row
    return (h * h).sum()


def accepted(w, x):
    z, energy = x[0] * 1.0, 1e3
    for _ in range(len(x)):
        new = z + 0.3 * tg.randn(4)
        after = ((new @ w) ** 2).sum()
        if tg.rand(1)[0] < np.exp(energy - after):
            z, energy = new, after
    return energy + (z @ w).sum()


def nested(w, x):
    total = 0.0
    for row in x:
        h = row
        for _ in range(9):
            h = np.tanh(h @ w) + 0.1 * tg.randn(4)
        total = total + (h * row).sum()
    return total


def drawn_before_too(w, x):
    h = tg.randn(4)
    for row in x:
        h = np.tanh(h @ w + row) + 0.1 * tg.randn(4)
    return (h * tg.rand(4)).sum()


FREE = [dropout, langevin, two_generators, nested, drawn_before_too]
PROGRAMS = [*FREE, in_an_arm, accepted]


def seeded(call, seed):
    """What a call gives, and the next number of each generator."""
    tg.manual_seed(seed)
    GENERATOR.state = tg.random.Generator(seed).state
    return [*call(), tg.rand(1).numpy(), GENERATOR.normal()]


@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_of_arrays(f, monkeypatch):
    value, gradient = tg.compile(f), tg.value_and_grad(f)
    for seed, x in enumerate(SEQUENCES):
        found = [
            seeded(lambda x=x: [value(W, x)], seed),
            seeded(lambda x=x: [*gradient(W, x)], seed),
        ]
        with monkeypatch.context() as eagerly:
            eagerly.setattr(tg.config, "compile", False)
            expected = [
                seeded(lambda x=x: [value(W, x)], seed),
                seeded(lambda x=x: [*gradient(W, x)], seed),
            ]
        assert_same_bits(found, expected)
    if f in FREE:
        for made in (value, gradient):
            assert (made.cache_info().versions, made.cache_info().traces) == (1, 1)


@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_of_tensors(f):
    """Gradients of gradients draw the same numbers again, and leave generators as they stand."""

    def orders(g, x):
        w = tg.tensor(W, requires_grad=True)
        out = g(w, tg.tensor(x))
        between = tg.rand(2).numpy()
        (first,) = tg.autograd.grad(out, [w], retain_graph=True)
        (again,) = tg.autograd.grad(out, [w], create_graph=True)
        (second,) = tg.autograd.grad((again * again).sum(), [w])
        return [out.item(), between, *(v.detach().numpy() for v in (first, again, second))]

    made = tg.compile(f)
    for seed, x in enumerate(SEQUENCES):
        found = seeded(lambda x=x: orders(made, x), seed)
        expected = seeded(lambda x=x: orders(f, x), seed)
        assert_same_bits(found[:4], expected[:4])
        np.testing.assert_allclose(found[4], expected[4], rtol=1e-9, atol=1e-12)
        assert_same_bits(found[5:], expected[5:])
    if f in FREE:
        assert made.cache_info().traces == 1


def test_a_turn_that_raises_does_not_draw_twice(monkeypatch):
    def f(w, x):
        h = 0.0
        for i in range(20):
            h = h * w[0, 0] + tg.rand(1)[0]
            h = h + x[i, 0]
        return h

    made = tg.value_and_grad(f)
    for n in (14, 14, 20, 15):
        for compiled in (True, False):
            monkeypatch.setattr(tg.config, "compile", compiled)
            tg.manual_seed(3)
            if n < 20:
                with pytest.raises(IndexError):
                    made(W, np.ones((n, 1)))
            else:
                made(W, np.ones((n, 1)))
            now = tg.rand(1).numpy()
            if compiled:
                found = now
        assert_same_bits(found, now)
