"""A variable that is the last item of a list, read behind the loop beside the list.

A tape adds up what flows to that one array reader by reader. The gradient of the loop has its bits.
"""

from __future__ import annotations

import list_programs
import numpy as np
import pytest
from checks import assert_same_bits

import tracegrad as tg

pytestmark = pytest.mark.usefixtures("fresh_loops")


def read_before_and_after(h, w, xs):
    states = []
    for x in xs:
        h = np.sin(w * h + x)
        states.append(h)
    first = np.sum(h * 0.3)
    return first + np.sum(np.stack(states) ** 2) + np.sum(np.exp(h * 0.7))


def twice_before(h, w, xs):
    states = [h]
    for x in xs:
        h = np.sin(w * h + x)
        states.append(h)
    return np.sum(h * 0.3) * np.sum(np.cos(h)) + np.sum(np.array(states) ** 2)


def read_twice_in_each_turn(h, w, xs):
    states = [h]
    for x in xs:
        h = np.sin(w * h) + h * 0.1 * x
        states.append(h)
    first = np.sum(h * 0.3)
    return np.sum(np.exp(h * 0.7)) * first + np.sum(np.stack(states) ** 2)


def gone_through_between(h, w, xs):
    states, total = [], 0.0
    for x in xs:
        h = np.tanh(w * h + x)
        states.append(h)
    first = np.sum(h * 0.3)
    for state in states:
        total = total + np.sum(state**2)
    return total * first + np.sum(np.exp(h * 0.7))


def two_states(h, w, xs):
    c, states, cells = h * 0.5, [], []
    for x in xs:
        c = np.cos(w * c + h)
        h = np.tanh(c * x)
        states.append(h)
        cells.append(c)
    end = np.sum(h * c)
    return end + np.sum(np.stack(states) * np.stack(cells)) + np.sum(np.exp(h) - np.sin(c))


def item_of_two_lists(h, w, xs):
    states, before = [], []
    for x in xs:
        last = h
        h = np.tanh(x * w + 0.5 * h)
        states.append(h)
        before.append(last)
    return np.sum(np.stack(states) * np.stack(before)) + np.sum(h * last)


PROGRAMS = read_before_and_after, twice_before, read_twice_in_each_turn, two_states


@pytest.mark.parametrize(
    "f", (*PROGRAMS, gone_through_between, item_of_two_lists), ids=lambda f: f.__name__
)
def test_gradients_have_the_bits_of_eager_calls(f, monkeypatch):
    rng = np.random.default_rng(3)
    inputs = [(rng.normal(size=4), rng.normal(size=4), rng.normal(size=n)) for n in (*[12] * 8, 9)]
    compiled = tg.value_and_grad(f, argnums=(0, 1, 2))
    got = [compiled(*given) for given in inputs]
    monkeypatch.setattr(tg.config, "compile", False)
    eager = tg.value_and_grad(f, argnums=(0, 1, 2))
    for given, result in zip(inputs, got, strict=True):
        assert_same_bits(result, eager(*given))


@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_they_stay_loops(f):
    compiled = tg.value_and_grad(f, argnums=(0, 1))
    compiled(np.ones(4), np.ones(4), np.ones(12))
    assert "loops that are unrolled" not in compiled.explain()


def test_items_read_twice_before_the_list_is_stacked():
    """What flows to them from the stack comes before: rows were taken as they were before it."""

    def f(h, w, xs):
        states, total = [], 0.0
        for x in xs:
            h = np.sin(w * h) + 0.1 * x
            states.append(h)
        first = np.sum(states[2] * states[2])
        whole = np.sum(np.stack(states)[1:] * 0.7)
        for state in states:
            total = total + np.sum(state * state)
        return first + whole + total

    rng = np.random.default_rng(2)
    h, w, xs = rng.normal(size=3), rng.normal(size=3), rng.normal(size=12)
    gradient = tg.grad(f)(h, w, xs)
    for i, step in enumerate(np.eye(3) * 1e-6):
        difference = (f(h + step, w, xs) - f(h - step, w, xs)) / 2e-6
        assert np.isclose(gradient[i], difference, rtol=1e-6, atol=1e-8)


@pytest.mark.sampled(10)
@pytest.mark.parametrize("seed", range(400))
def test_random_programs(seed):
    list_programs.check(list_programs.program(seed), seed)


def test_many_of_them_stay_loops():
    checked = (list_programs.check(list_programs.program(seed), seed) for seed in range(20))
    assert sum(checked) > 10
