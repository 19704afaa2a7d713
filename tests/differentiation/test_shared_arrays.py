"""Loops in which two variables are one array in some turns: best so far, highest, accepted.

A tape adds up what flows to that array reader by reader. The gradient of the loop has its bits.
"""

from __future__ import annotations

import numpy as np
import pytest
from checks import assert_same_bits

import tracegrad as tg

pytestmark = pytest.mark.usefixtures("fresh_loops")


def lowest_so_far(x, k):
    s, best, fbest = x[0], x[0] * 1.0, x[0] * x[0]
    for p in x:
        s = s - k * (s - p)
        f = (s - p) ** 2
        if f < fbest:
            fbest, best = f, s
    return best * fbest


def best_of_a_descent(x, k):
    s, best, fbest = x * 1.0, x * 1.0, (x * x).sum()
    for _ in range(12):
        s = s - k * 0.1 * 2.0 * (s - 1.0)
        f = ((s - x * 0.3) ** 2).sum()
        if f < fbest:
            fbest, best = f, s
    return (best * best).sum() * fbest


def read_in_each_turn(x, k):
    s, best, t = x[0], x[0] * 1.0, 0.0
    for p in x:
        s = s * k + np.sin(s) * p
        if s > best:
            best = s
        t = t + best * best * p
    return t + s


def one_from_the_beginning(x, k):
    s = best = x[0] * k
    t = 0.0
    for p in x:
        if p > 0.3:
            best = s
        s = s * k + p * np.cos(s)
        t = t + s
    return best * t


def drawdown(x, k):
    wealth, peak, worst = 1.0 + 0.0 * x[0], 1.0 + 0.0 * x[0], 0.0 * x[0]
    for r in x:
        wealth = wealth * (1.0 + k * r)
        if wealth > peak:
            peak = wealth
        elif 1.0 - wealth / peak > worst:
            worst = 1.0 - wealth / peak
    return worst + peak


def left_early(x, k):
    s, best = x[0], x[0] * 0.5
    i = 0
    while i < len(x):
        s = s * k + np.sin(s) * x[i]
        if abs(s) > abs(best):
            best = s
        if abs(s) > 2.0:
            break
        i += 1
    return best * best + k


def widest(x, k):
    low, high = x[0], x[0]
    for p in x:
        v = p * k
        low, high = min(low, v), max(high, v)
    return (high - low) ** 2


def appended_and_read_twice(x, k):
    a, log = x[0], []
    for p in x:
        if p > 0:
            a = a * k + np.sin(a) * p
            log.append(a)
        else:
            a = a * 0.5 + a * a * p * 0.1
            log.append(a)
    return sum(log)


def reset_to_what_was_before(x, k):
    rest = np.sin(x[0]) * k
    v = rest * 0.5
    spikes = 0.0
    for p in x:
        v = v + k * (rest - v) + p * np.cos(rest)
        if v > 0.4:
            v = rest
            spikes = spikes + p * p
    return v * v + spikes * k


def begun_anew_with_an_argument(x, k):
    q = x * k
    s = x * 0.5
    total = 0.0
    for p in x:
        s = s * k + np.sin(q) * p
        if (s * s).sum() > 3.0:
            s = q
        total = total + (s * q).sum()
    return total


STAY = (
    lowest_so_far,
    best_of_a_descent,
    read_in_each_turn,
    one_from_the_beginning,
    drawdown,
    widest,
    appended_and_read_twice,
)
UNROLLED = reset_to_what_was_before, begun_anew_with_an_argument


def inputs():
    rng = np.random.default_rng(5)
    for n in (12, 12, 20, 25, 9):
        yield rng.normal(size=n)
    yield np.linspace(2.0, -1.0, 14)
    yield np.linspace(-1.0, 2.0, 14)


@pytest.mark.parametrize("f", (*STAY, *UNROLLED, left_early), ids=lambda f: f.__name__)
def test_gradients_have_the_bits_of_eager_calls(f, monkeypatch):
    compiled = tg.value_and_grad(f, argnums=(0, 1))
    got = [compiled(x, 0.7) for x in inputs()]
    monkeypatch.setattr(tg.config, "compile", False)
    eager = tg.value_and_grad(f, argnums=(0, 1))
    for x, result in zip(inputs(), got, strict=True):
        assert_same_bits(result, eager(x, 0.7))
        assert type(result[1][1]) is np.float64


@pytest.mark.parametrize("f", STAY, ids=lambda f: f.__name__)
def test_they_stay_loops(f):
    compiled = tg.value_and_grad(f, argnums=(0, 1))
    for x in inputs():
        compiled(x, 0.7)
    assert "loops that are unrolled" not in compiled.explain()


@pytest.mark.parametrize("f", STAY[:5], ids=lambda f: f.__name__)
def test_second_derivatives(f):
    x = next(inputs())
    direction = np.linspace(-1.0, 1.0, len(x))
    gradient = tg.grad(f)

    def slope(x):
        return (gradient(x, 0.7) * direction).sum()

    second = tg.grad(slope)(x)
    step = 1e-6
    for i in (0, 3, 7):
        moved = np.eye(len(x))[i] * step
        difference = (slope(x + moved) - slope(x - moved)) / (2 * step)
        assert np.isclose(second[i], difference, rtol=1e-4, atol=1e-5)


def test_what_both_are_read_as_is_unrolled_and_says_so():
    def both(x, k):
        s, best = x[0], x[0] * 1.0
        for p in x:
            s = s * k + np.sin(s) * p
            if s > best:
                best = s
        return best * best + np.sin(s) * s

    compiled = tg.value_and_grad(both)
    for x in inputs():
        compiled(x, 0.7)
    assert "s and best are one array in some turns, which read both" in compiled.explain()
