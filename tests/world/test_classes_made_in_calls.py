"""Classes and functions that a function makes are new in each call, with all that they hold."""

from __future__ import annotations

import numpy as np
import pytest

import tracegrad as tg

G = {"v": 1.0}


def closed_over_lengths(x):
    y = np.arange(float(len(x)))

    class A:
        def m(self):
            return y

    return A().m() * x


def closed_over_values(x):
    y = np.ones(3) * G["v"]

    class A:
        def m(self):
            return y

    return A().m() * x


def added_in_a_method(x):
    y = np.array([G["v"]])

    class A:
        def __init__(self):
            self.v = y

        def m(self):
            self.v += x.sum()
            return self.v

    a = A()
    a.m()
    return a.m() * x


def an_element(x):
    n = x.sum() * 2

    class A:
        z = n

        def m(self):
            return n + self.z

    return A().m() * x


def counted_in_a_class(x):
    class A:
        count = 0

        def m(self):
            A.count += 1
            return A.count

    a = A()
    a.m()
    return a.m() * x


def appended_in_a_class(x):
    class A:
        items = []  # noqa: RUF012

        def m(self):
            self.items.append(x.sum())
            return len(self.items)

    a = A()
    a.m()
    return a.m() * x + sum(a.items)


def buffer_of_a_class(x):
    class A:
        buf = np.zeros(3)

        def m(self):
            self.buf[0] += x[0]
            return self.buf

    a = A()
    a.m()
    return a.m() * x


def rebound_by_a_method(x):
    buf = np.zeros(3)

    class A:
        def m(self):
            nonlocal buf
            buf = buf + x
            return buf

    a = A()
    a.m()
    return a.m() * x


def a_default_that_counts(x):
    buf = np.zeros(3)

    class A:
        def m(self, k=[0]):  # noqa: B006
            k[0] += 1
            buf[:] += x * k[0]
            return buf

    a = A()
    a.m()
    return a.m() * x


def attribute_of_a_function(x):
    def g():
        return g.v

    g.v = np.zeros(3)
    g.v += x
    return g()


def two_classes(x):
    def make(s):
        class L:
            w = np.full(3, s)

            def __call__(self, v):
                self.w *= 2.0
                return v * self.w

        return L()

    a, b = make(1.0), make(G["v"])
    return a(x) + b(x) + a(x)


PROGRAMS = (
    closed_over_lengths,
    closed_over_values,
    added_in_a_method,
    an_element,
    counted_in_a_class,
    appended_in_a_class,
    buffer_of_a_class,
    rebound_by_a_method,
    a_default_that_counts,
    attribute_of_a_function,
    two_classes,
)


@pytest.mark.filterwarnings("ignore::tracegrad.errors.RecompileWarning")
@pytest.mark.parametrize("backend", ["numpy", "jax"])
@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_each_call_begins_anew(f, backend):
    compiled = tg.compile(f, backend=backend)
    valued = tg.value_and_grad(lambda x: f(x).sum(), backend=backend)
    for i in (1, 2, 3, 4):
        G["v"] = 0.5 * i
        x = np.arange(3.0 + i * (f is closed_over_lengths)) * i
        want = f(x.copy())
        for found in (compiled(x), tg.vjp(f, x, backend=backend)[0]):
            np.testing.assert_allclose(found, want, rtol=1e-14)
        value, slope = valued(x)
        np.testing.assert_allclose(value, want.sum(), rtol=1e-14)
        steps = [f(x + 0.5 * e).sum() - f(x - 0.5 * e).sum() for e in np.eye(len(x))]
        np.testing.assert_allclose(slope, steps, rtol=1e-12)  # of degree two
