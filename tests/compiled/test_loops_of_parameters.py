"""Loops whose variables begin with Tensors from outside, or whose lists their gradients flow to.

Such a loop may have no backward as a loop alone: then a turn stands by itself, arms are apart or
the turns are written out, as where the Tensor is an argument.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from checks import assert_same_bits

import tracegrad as tg

pytestmark = pytest.mark.usefixtures("fresh_loops")


class Model:
    """A weight and a first state, both to be learned."""

    def __init__(self) -> None:
        rng = np.random.default_rng(1)
        self.w = tg.tensor(rng.normal(size=(3, 3)) * 0.5, requires_grad=True)
        self.first = tg.tensor(rng.normal(size=3), requires_grad=True)


def also_returned(m, x):
    s = m.first
    for row in x:
        s = s + row
    return s, m.first.sum()


def read_in_turns(m, x):
    h = m.first
    for row in x:
        h = np.tanh(h + row) * m.first
    return h


def replaced_in_turns(m, x):
    g, h = m.first[0], m.first
    for _ in x:
        h = g
    return np.sum(h * h) + np.sum(m.first)


def regularized(m, x):
    h = m.first
    for row in x:
        h = np.tanh(h * 0.5 + row)
    return (h * h).sum() + 0.1 * (m.first * m.first).sum()


def joined_list(m, x):
    h, ys = tg.zeros(3), []
    for t in range(len(x)):
        h = np.tanh(x[t] @ m.w + h)
        if t % 3 == 0:
            h = h * 0.8
        ys.append(h)
    return np.concatenate(ys)


def joined_arms(m, x):
    ys = []
    for t in range(len(x)):
        h = x[t] @ m.w
        if t % 3 == 0:
            h = h * 0.8
        ys.append(h)
    return np.concatenate(ys)


def joined_noise(m, x):
    rng, ys = np.random.default_rng(0), []
    for t in range(len(x)):
        h = x[t] @ m.w
        if t % 3 == 0:
            h = h * rng.uniform(size=3)
        ys.append(h)
    return np.concatenate(ys)


FUNCTIONS = [also_returned, read_in_turns, replaced_in_turns, regularized]
FUNCTIONS += [joined_list, joined_arms, joined_noise]
SEQUENCES = [np.random.default_rng(n).normal(size=(n, 3)) for n in (9, 9, 12, 3, 1, 9)]


def calls(f: Any, m: Any, required: Any = None) -> list[Any]:
    """Values and gradients of calls, before each of which parameters are frozen or not."""
    found = []
    for i, x in enumerate(SEQUENCES):
        if required is not None:
            m.w.requires_grad, m.first.requires_grad = required[i % len(required)]
        outputs = f(m, tg.tensor(x))
        outputs = outputs if isinstance(outputs, tuple) else (outputs,)
        moving = [y for y in outputs if y.requires_grad]
        if moving:
            sum((y * y).sum() for y in moving).backward()
        found += [(y.requires_grad, y.detach().numpy().copy()) for y in outputs]
        found += [None if v.grad is None else v.grad.numpy().copy() for v in (m.w, m.first)]
        m.w.grad = m.first.grad = None
    return found


@pytest.mark.parametrize("backend", ["numpy", "numba"])
@pytest.mark.parametrize("f", FUNCTIONS, ids=lambda f: f.__name__)
def test_parameters_from_outside_have_the_gradients_of_eager_calls(f, backend):
    made = tg.compile(f, backend=backend)
    m = Model()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what the functions of NumPy stay
        found = calls(lambda _, x: made(m, x), m)
    assert_same_bits(found, calls(f, Model()))


@pytest.mark.parametrize("f", FUNCTIONS, ids=lambda f: f.__name__)
def test_so_have_those_of_closures(f):
    m = Model()

    def of_cell(x):
        return f(m, x)

    def one_node(_, x):
        found = made(x)
        first = found[0] if isinstance(found, tuple) else found
        assert first.grad_fn.name() == "CompiledBackward"
        return found

    made = tg.compile(of_cell)
    assert_same_bits(calls(one_node, m), calls(f, Model()))


@pytest.mark.parametrize("f", FUNCTIONS, ids=lambda f: f.__name__)
def test_parameters_that_are_frozen_for_the_first_calls(f):
    """A version that was made with other Tensors in mind is no answer, and not asked again."""
    m = Model()

    def of_cell(x):
        return f(m, x)

    required = [(False, False), (True, True), (True, False), (False, True)]
    made = tg.compile(of_cell)
    expected = calls(f, Model(), required)
    assert_same_bits(calls(lambda _, x: made(x), m, required), expected)
    made_so_far = made.cache_info().versions
    assert_same_bits(calls(lambda _, x: made(x), m, required), expected)
    assert not made._given_up
    assert made.cache_info().versions <= made_so_far + 2
