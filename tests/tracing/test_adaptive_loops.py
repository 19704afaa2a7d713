"""Loops that accept steps or reject them: arms of a turn decide which values have cotangents."""

from __future__ import annotations

import numpy as np
import pytest
from checks import assert_close, assert_same_bits, run_eagerly, split

import tracegrad as tg


def adaptive_steps(k, y, end):
    t, h = 0.0, 0.1
    while t < end:
        h = min(h, end - t)
        e = (h * y).max()
        if e < 1.0:
            t += h
            y = y + h * k
        h = h * min(2.0, max(0.3, 0.9 / e))
    return y.sum()


def counted_steps(k, y, count):
    """The last step may be rejected: nothing behind the loop has a cotangent of its size."""
    h, i, t = 0.1, count * 0.0, 0.0
    while i < count:
        h = min(h, 1.0 - t)
        e = (h * y).max()
        if e < 1.0:
            t += h
            y = y + h * k
        h = h * min(2.0, max(0.3, 0.9 / e))
        i += 1.0
    return y.sum()


def limited(x, y, count):
    a, b, s, i = x, y.sum(), x * 0.0, count * 0.0
    while i < count:
        c = min(a, b - s)
        if c < 1.0:
            s = s + c * a
        a = a * min(2.0, max(0.3, 0.9 / (c + 0.01)))
        i += 1.0
        if i > 3 and a > 5:
            break
    return s * 2.0 + (a if a < 2 else b)


def accepted_in_inner_loops(k, y, count):
    h, i, best = 0.1, count * 0.0, y.sum()
    while i < count:
        j = 0.0
        while j < min(abs(h), 1.0) * 8:
            if h * best < 0.5:
                best = best + h * k
            j += 1.0
        h = min(h * 1.5, best)
        if h > 2.0:
            h = h * 0.3
        i += 1.0
    return best * h


def read_by_elements(k, y, count):
    """A dense cotangent of `y` in the last turn alone, and those of elements in the others."""
    s, i, t = k, 0, 0.0
    while True:
        if s * y[1] > 0:
            s = s + (y * y).sum()
        i = (i + 1) % 2
        t += 1.0
        if t > count:
            return s
        s = s + y[i]


PROGRAMS = [adaptive_steps, counted_steps, limited, accepted_in_inner_loops, read_by_elements]
NAMES = [f.__name__ for f in PROGRAMS]
SPECIAL = (0.0, -0.0, np.inf, -np.inf, np.nan)


def calls(count, special=False):
    random = np.random.default_rng(3)
    for i in range(count):
        k, y = random.normal() * 3, random.normal(size=2) * (1, 3, 30)[i % 3]
        if special and i % 2:
            y[i % 4 // 2] = SPECIAL[i // 2 % 5]
        if special and i % 5 == 0:
            k = SPECIAL[i // 5 % 5]
        yield float(k), y, float(random.integers(1, 8))


def moderate(count):
    """Calls of which all functions end."""
    random = np.random.default_rng(4)
    for _ in range(count):
        yield float(random.normal()), random.uniform(0.3, 8, size=2), float(random.uniform(0.5, 2))


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("function", PROGRAMS, ids=NAMES)
def test_bits_are_those_of_eager(function):
    f = tg.value_and_grad(function, argnums=(0, 1))
    for args in moderate(20) if function is adaptive_steps else calls(40, special=True):
        assert_same_bits(split(f(*args)), run_eagerly(function, args, (0, 1)))


@pytest.mark.sampled(3)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("backend", ["numba", "jax"])
@pytest.mark.parametrize("function", PROGRAMS[1:], ids=NAMES[1:])
def test_other_targets(function, backend):
    pytest.importorskip(backend)
    f = tg.value_and_grad(function, argnums=(0, 1), backend=backend)
    for args in calls(5):
        value, gradients = run_eagerly(function, args, (0, 1))
        found, cts = split(f(*args))
        assert_close(found[0], value[0], 1e-8)
        for ct, wanted in zip(cts, gradients, strict=True):
            assert_close(ct, wanted, 1e-8)


def test_second_derivatives():
    for function in (adaptive_steps, accepted_in_inner_loops):
        f = tg.hessian(function, argnums=1)
        for k, y, end in moderate(4):
            step = 1e-5 * np.eye(2)
            gradient = tg.grad(function, argnums=1)
            expected = [(gradient(k, y + s, end) - gradient(k, y - s, end)) / 2e-5 for s in step]
            assert_close(f(k, y, end), np.array(expected), 1e-4)


def test_what_turns_do_stands_once_in_the_backward():
    args = 2.0, np.array([1.0, 2.0]), 1.0
    f, plain = tg.value_and_grad(adaptive_steps, argnums=(0, 1)), tg.compile(adaptive_steps)
    f(*args), plain(*args)
    assert len(f.source(*args)) <= 6 * len(plain.source(*args))
