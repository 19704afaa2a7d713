"""Arms hand on what is read behind them under its own name, too: ``m = max(a, b)``, then ``a - m``.

Both names are one array, whose cotangent adds up what flows to either in the order of its readers.
"""

from __future__ import annotations

import numpy as np
import pytest
from checks import assert_same_bits

import tracegrad as tg

pytestmark = pytest.mark.usefixtures("fresh_loops")


def soft_time_warping(x, y):
    n, m = len(x), len(y)
    r = np.full((n + 1, m + 1), 1e10)
    r[0, 0] = 0.0
    for i in range(1, n + 1):
        for j in range(1, m + 1):
            a, b, c = -r[i - 1, j - 1], -r[i - 1, j], -r[i, j - 1]
            most = max(a, b, c)
            total = np.exp(a - most) + np.exp(b - most) + np.exp(c - most)
            r[i, j] = (x[i - 1] - y[j - 1]) ** 2 - (np.log(total) + most)
    return r[n, m]


def warping(x, y):
    n, m = len(x), len(y)
    r = np.full((n + 1, m + 1), 10.0)
    r[0, 0] = 0.0
    for i in range(1, n + 1):
        for j in range(1, m + 1):
            d = (x[i - 1] - y[j - 1]) ** 2
            r[i, j] = d + min(r[i - 1, j - 1], r[i - 1, j], r[i, j - 1])
    return r[n, m]


def of_ifs(x, y):
    s = x[0] * 0.0
    for i in range(len(x)):
        a, b = x[i] * s, np.sin(y[i] * s + x[i])
        m = a
        if b > m:
            m = b
        s = (m - a) * (m + b) + m * x[i] * a + 0.3 * s
    return s


def of_four(x, y):
    s = x[0] * 0.5
    for i in range(len(x)):
        a, b, c = x[i] * s, np.sin(y[i] * s), x[i] - y[i]
        m = min(a, b, s, c)
        s = np.tanh(a * m + np.exp(b - m) - m * c + s * m * b)
    return s


def an_arm_computes(x, y):
    s = x[0] * 0.0
    for i in range(len(x)):
        a = x[i] * y[i] + s
        m = a
        if a < 0.0:
            m = a * a
        s = m * a - np.sin(m) * x[i] + a * 0.5
    return s


def is_handed_to_the_next_turn(x, y):
    s, t = x[0] * 0.5, 0.0
    for i in range(len(x)):
        a = x[i] * s
        b = y[i] - s
        s = max(a, b)
        t = t + s * a - np.exp(a - s) * b
    return s + t


def two_of_them(x, y):
    s = x[0] * 0.5
    for i in range(len(x)):
        a, b = x[i] * s, np.sin(y[i] + s)
        most, least = max(a, b), min(a, b)
        s = np.tanh(most * a - least * b + most * least * a)
    return s


def in_an_arm(x, y):
    s = x[0] * 0.5
    for i in range(len(x)):
        a, b = x[i] * s, np.sin(y[i] + s)
        m = max(a, b)
        if x[i] > 0.2:
            s = m * a + np.exp(a - m)
        s = np.tanh(s + m * b * a)
    return s


def no_loop(x, y):
    a, b, c = x[0] * y[1], np.sin(y[0]), x[1] - y[2]
    m = max(a, b, c)
    return np.exp(a - m) * a + np.exp(b - m) * m - m * c * a


TURNS = [
    soft_time_warping,
    warping,
    of_ifs,
    of_four,
    an_arm_computes,
    is_handed_to_the_next_turn,
    two_of_them,
    in_an_arm,
]


@pytest.mark.parametrize("function", [*TURNS, no_loop], ids=lambda function: function.__name__)
def test_gradients_are_those_of_eager_calls(function, monkeypatch):
    compiled = tg.value_and_grad(function, argnums=(0, 1))
    for n in range(9, 19):
        rng = np.random.default_rng(n)
        args = rng.normal(size=n), rng.normal(size=n + n % 3)
        given = compiled(*args)
        with monkeypatch.context() as patch:
            patch.setattr(tg.config, "compile", False)
            expected = tg.value_and_grad(function, argnums=(0, 1))(*args)
        assert_same_bits(given, expected, str(n))


@pytest.mark.parametrize("function", TURNS, ids=lambda function: function.__name__)
def test_the_loop_stays_one(function):
    compiled = tg.value_and_grad(function, argnums=(0, 1))
    for n in range(9, 21):
        rng = np.random.default_rng(n)
        compiled(rng.normal(size=n), rng.normal(size=n))
    assert compiled.cache_info().versions == 1
    assert "unrolled" not in str(compiled.explain())
    assert len(compiled.source(*[rng.normal(size=12)] * 2).splitlines()) < 300
