"""Backwards of loops that fill arrays and read rows: in place, no turn by itself, eager's bits."""

import itertools

import numpy as np
import pytest
from checks import assert_same_bits

import tracegrad as tg


def filled(x, w):
    y = np.zeros(len(x))
    y[0] = x[0] * w[0]
    for t in range(1, len(x)):
        y[t] = 0.9 * y[t - 1] + x[t] * x[t - 1]
    return (y * y).sum()


def collected(x, w):
    out = []
    h = w * 0.0
    for t in range(len(x)):
        h = np.tanh(h * w + x[t])
        out.append(h)
    out = np.stack(out)
    return (out * out).sum()


def products(x, w):
    s = 0.0
    p = 1.0
    for t in range(1, len(x)):
        p = p * w[0]
        s = s + x[t] * x[t - 1] * p
    return s


def read_above(x, w):
    s = 0.0
    for t in range(len(x) - 2):
        s = s + x[t] * x[t + 2] * w[1]
    return s


def joined(x, w):
    b = w * 1.0
    for t in range(len(x)):
        z = np.zeros(6)
        z[:3] = w * x[t]
        z[3:] = b
        b = b + z[1:4]
    return b.sum()


def every_other(x, w):
    s = x[1]
    for t in range(0, len(x), 2):
        s = s * 0.5 + x[t] * w[0]
    return s


def first_rows_and_one(x, w):
    s = 0.0
    for t in range(len(x)):
        s = s * 0.5 + (x[:3] * x[t] * w).sum()
    return s


def damped(x, w):
    h = w * 0.5
    s = 0.0
    for t in range(len(x)):
        h = np.tanh(w * h + x[t])
        if h[0] > 0.5:
            h = h * 0.5
        s = s + (h * h).sum()
    return s


FUNCTIONS = [
    filled,
    collected,
    products,
    read_above,
    joined,
    every_other,
    first_rows_and_one,
    damped,
]


def points():
    random = np.random.default_rng(3)
    zeros = np.array([0.0, -0.0, 1.0, -1.0])
    xs = [random.normal(size=12), np.zeros(12), -np.zeros(12), random.choice(zeros, 12)]
    ws = [random.normal(size=3), np.array([0.0, -0.0, 1.0]), -np.zeros(3)]
    return itertools.product(xs, ws)


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
def test_bits_and_signs_of_zeros_are_those_of_eager_calls(function):
    compiled = tg.value_and_grad(function, argnums=(0, 1))
    for x, w in points():
        given = compiled(x, w)
        tg.config.compile = False
        try:
            wanted = tg.value_and_grad(function, argnums=(0, 1))(x, w)
        finally:
            tg.config.compile = True
        assert_same_bits(given, wanted)


@pytest.mark.parametrize("function", [filled, collected, products], ids=lambda f: f.__name__)
def test_backwards_are_in_place_and_no_turn_stands_by_itself(function):
    x, w = next(points())
    source = tg.value_and_grad(function, argnums=(0, 1)).source(x, w)
    backward = source.split("# backward")[1]
    assert "np.array(" not in backward
    assert sum(line.lstrip().startswith("for t") for line in backward.splitlines()) == 1
    assert "[11]" not in backward.replace("x_bar[11] = -0.0", "")
    assert "= 0.0" not in backward  # rows that nobody reads again stay


def test_a_condition_makes_no_second_body():
    """A state without a cotangent behind the loop starts with -0.0, also where turns branch."""
    x, w = next(points())
    backward = tg.grad(damped, (0, 1)).source(x, w).split("# backward")[1]
    assert "has_" not in backward
    assert backward.count("x_bar[t] =") == 1


def test_no_cotangent_is_still_not_zero():
    def f(x):
        s = 0.0
        h = x[0]
        for t in range(1, len(x)):
            s = s + h * x[t]
            h = np.log(x[t]) * h
        return s

    x = np.array([*np.ones(11), 0.0])
    with np.errstate(all="ignore"):
        given = tg.grad(f)(x)
        tg.config.compile = False
        try:
            wanted = tg.grad(f)(x)
        finally:
            tg.config.compile = True
    assert_same_bits(given, wanted)
    assert np.isfinite(given[:-1]).all()
