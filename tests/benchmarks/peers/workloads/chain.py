"""Twelve elementwise operations and a sum: two vectors in, a number out."""

import numpy as np

from tests.benchmarks.peers.workload import Workload


def inputs(random, n):
    return random.normal(size=n), random.normal(size=n)


def loss(library):
    np = library.np

    def chain(x, y):
        a = np.tanh(x * y)
        b = np.exp(np.tanh(a + x))
        c = b / (np.abs(y) + 1.0)
        d = a - c
        return np.sum(np.sqrt(d * d + 1.0))

    return chain


def by_hand(x, y):
    a = np.tanh(x * y)
    t = np.tanh(a + x)
    s = np.abs(y) + 1.0
    c = np.exp(t) / s
    d = a - c
    r = np.sqrt(d * d + 1.0)

    d_bar = d / r
    b_bar = d_bar * c  # of b times b, with the other sign
    v = b_bar * (1.0 - t * t)
    p_bar = (d_bar - v) * (1.0 - a * a)
    return r.sum(), (p_bar * y - v, p_bar * x + b_bar / s * np.sign(y))


def tuned(x, y):
    a, t, s, c, d, r, v, x_bar, y_bar = (np.empty_like(x) for _ in range(9))
    # an array without axes: a ufunc takes it sooner than Python's number
    one = np.ones((), x.dtype)

    def call():
        np.multiply(x, y, out=a)
        np.tanh(a, out=a)
        np.add(a, x, out=t)
        np.tanh(t, out=t)
        np.abs(y, out=s)
        np.add(s, one, out=s)
        np.exp(t, out=c)
        np.divide(c, s, out=c)
        np.subtract(a, c, out=d)
        np.multiply(d, d, out=r)
        np.add(r, one, out=r)
        np.sqrt(r, out=r)
        value = np.add.reduce(r)

        np.divide(d, r, out=d)
        np.multiply(d, c, out=c)
        np.multiply(t, t, out=t)
        np.subtract(one, t, out=t)
        np.multiply(c, t, out=v)
        np.subtract(d, v, out=d)
        np.multiply(a, a, out=a)
        np.subtract(one, a, out=a)
        np.multiply(d, a, out=d)
        np.multiply(d, y, out=x_bar)
        np.subtract(x_bar, v, out=x_bar)
        np.divide(c, s, out=c)
        np.multiply(d, x, out=y_bar)
        np.sign(y, out=s)
        np.multiply(c, s, out=c)
        np.add(y_bar, c, out=y_bar)
        return value, (x_bar, y_bar)

    return call


CHAIN = Workload(
    name="chain",
    about="12 elementwise operations and a sum, two vectors",
    sizes={"1e2": dict(n=100), "1e4": dict(n=10_000), "1e6": dict(n=1_000_000)},
    inputs=inputs,
    wanted=(0, 1),
    loss=loss,
    by_hand=by_hand,
    tuned=tuned,
    elements=lambda n: n,
)
