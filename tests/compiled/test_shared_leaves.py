"""A Tensor that reaches a result by more than one way has the gradient of the eager tape, bitwise.

A compiled call is one step of a backward, which goes on with what its arguments have already: the
sums are made in the order of the operations.
"""

from __future__ import annotations

import numpy as np
import pytest
from checks import assert_same_bits

import tracegrad as tg


def h(w, x):
    return (np.tanh(w * x) @ np.sin(w)).sum()


def k(a, b):
    return (a * b * a).sum() + (b * b).prod()


def parts(a, b):
    return (a[1:] * b[:-1]).sum() + np.where(a > b, a * b, b).sum() - (a - b).prod()


def in_turns(a, b):
    s = a
    for t in range(len(b)):
        s = np.tanh(s * b[t] + a)
    return s.sum()


def arms(a, b):
    return (a * a * b * a).sum() if b[0] > 0.0 else (a * b * b).prod()


def arms_that_meet(a, b):
    y = a * b
    if b[0] > 0.0:
        y = y * a
    else:
        y = y + a
    return (y * y * a).sum()


PROGRAMS = {
    "decay": lambda f: lambda w, x: f(w, x) + (w**2).sum(),
    "decay before": lambda f: lambda w, x: (w**2).sum() + f(w, x),
    "two calls": lambda f: lambda w, x: f(w, x) + f(w, 2.0 * x),
    "two calls of two": lambda f: lambda w, x: f(w, x) * f(2.0 * w, x),
    "one leaf twice": lambda f: lambda w, x: f(w, w) + 0.0 * x.sum(),
    "one result twice": lambda f: lambda w, x: (lambda y: f(y, y))(w * x),
    "one result, and by itself": lambda f: lambda w, x: (lambda y: f(y, y) + (y * w).sum())(w * x),
    "a result of the other": lambda f: lambda w, x: f(w, np.sin(w)) + (w * x).sum(),
    "a call of a call": lambda f: lambda w, x: f(f(w, x) * w, w),
}
BEYOND = {"two calls of two", "a call of a call"}
"""Where results go on through what is not linear, second gradients may differ: `limits.md`."""


def gradients(program, seed, twice):
    drawn = np.random.default_rng(seed)
    w, x = (tg.tensor(drawn.normal(size=5 + seed), requires_grad=True) for _ in range(2))
    loss = program(w, x)
    if twice:
        (slope,) = tg.autograd.grad(loss, [w], create_graph=True)
        loss = (slope * slope).sum()
    loss.backward()
    return [loss.detach().numpy(), w.grad.numpy(), None if x.grad is None else x.grad.numpy()]


@pytest.mark.parametrize("twice", [False, True])
@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("f", [h, k, parts, in_turns, arms, arms_that_meet])
def test_gradients_add_up_as_on_the_eager_tape(f, name, twice):
    if twice and name in BEYOND:
        return
    compiled = PROGRAMS[name](tg.compile(f))
    for seed in range(4):
        assert_same_bits(
            gradients(PROGRAMS[name](f), seed, twice), gradients(compiled, seed, twice)
        )


@pytest.mark.parametrize("twice", [False, True])
def test_a_leaf_that_is_read_from_outside_and_given(twice):
    for seed in range(4):
        found = []
        for made in (lambda f: f, tg.compile):

            def program(w, x, made=made):
                f = made(lambda v: (np.tanh(v * w) @ np.sin(v)).sum() + (w * v * w).sum())
                return f(w) + f(w)

            found.append(gradients(program, seed, twice))
        assert_same_bits(*found)


def test_hooks_and_grad_of_an_intermediate_see_whole_gradients():
    found = []
    for f in (h, tg.compile(h), tg.compile(h)):
        seen = []
        w = tg.tensor([0.5, -1.5, 2.0], requires_grad=True)
        y = w * 2.0
        y.retain_grad()
        y.register_hook(lambda g, seen=seen: seen.append(g.numpy().copy()))
        (f(y, y) + (y**3).sum() + f(w, y)).backward()
        found.append([w.grad.numpy(), y.grad.numpy(), *seen])
    assert_same_bits(found[0], found[1])
    assert_same_bits(found[0], found[2])


def test_complex_leaves():
    def f(a, b):
        return abs(a * b * a).sum()

    for seed in range(4):
        found = []
        for g in (f, tg.compile(f)):
            drawn = np.random.default_rng(seed)
            z = drawn.normal(size=4) + 1j * drawn.normal(size=4)
            w = tg.tensor(z, requires_grad=True)
            (g(w, w) + abs(w * w).sum()).backward()
            found.append(w.grad.numpy())
        assert_same_bits(*found)


def test_a_backward_without_a_number_flows_on():
    """A call on which nothing depends in this argument leaves what there is."""
    f = tg.compile(lambda a, b: (a * a).sum() + 0.0 * np.sign(b).sum())
    w = tg.tensor([1.0, 2.0], requires_grad=True)
    (f(w, w) + (w * 3.0).sum()).backward()
    np.testing.assert_array_equal(w.grad.numpy(), [5.0, 7.0])
    x = tg.tensor([1.0, 2.0], requires_grad=True)
    (f(w, x) + (x * 3.0).sum()).backward()
    np.testing.assert_array_equal(x.grad.numpy(), [3.0, 3.0])
