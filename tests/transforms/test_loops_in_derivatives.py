"""Forward mode over derivatives of functions with loops: the loops stay loops in the source."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import tracegrad as tg
from tracegrad.values.pytree import flatten

X = np.array([0.3, 0.7, 1.1])
ALONG = np.array([1.0, -0.5, 0.25])


def counted(x):
    y = x
    for _ in range(20):
        y = y + 0.01 * np.sin(y) * x[0]
    return np.sum(y**2)


def while_counted(x):
    y, i = x, 0
    while i < 20:
        y = y + 0.01 * np.sin(y) * x[0]
        i += 1
    return np.sum(y**2)


def while_small(x):
    y = x
    while np.sum(y * y) < 2.2:
        y = y + 0.01 * np.cos(0.1 * y) * x[0]
    return np.sum(y**2)


def filled(x):
    y = np.zeros(20)
    y[0] = x[0]
    for i in range(1, 20):
        y[i] = np.sin(y[i - 1]) + x[i % 3]
    return np.sum(y**2)


def with_arms(x):
    y = x
    for i in range(15):
        if i % 3 == 1:
            y = y + 0.1 * np.tanh(y)
        else:
            y = y - 0.01 * y * x[1]
        if np.sum(y) > 30.0:
            break
    return np.sum(y**2)


def of_vector(f):
    return lambda x: f(x) * x


NESTS = {
    "jvp of grad": lambda f: lambda x: tg.jvp(tg.grad(f), (x,), (ALONG,)),
    "jvp of value_and_grad": lambda f: lambda x: tg.jvp(tg.value_and_grad(f), (x,), (ALONG,)),
    "jacfwd of grad": lambda f: tg.jacfwd(tg.grad(f)),
    "jacfwd of jacrev": lambda f: tg.jacfwd(tg.jacrev(of_vector(f))),
    "jacfwd of jacfwd": lambda f: tg.jacfwd(tg.jacfwd(of_vector(f))),
    "compile of grad": lambda f: tg.compile(tg.grad(f)),
    "jacfwd of hessian": lambda f: tg.jacfwd(tg.hessian(f)),
    "jacfwd of jacfwd of grad": lambda f: tg.jacfwd(tg.jacfwd(tg.grad(f))),
}
THIRD_ORDER = [*NESTS][-2:]


FUNCTIONS = (counted, while_counted, while_small, filled, with_arms)
CASES = [(f, nest) for f in FUNCTIONS for nest in NESTS if f is counted or nest not in THIRD_ORDER]


@pytest.mark.sampled(3)
@pytest.mark.parametrize(("f", "nest"), CASES)
def test_values_are_those_of_eager(f, nest, monkeypatch):
    own = NESTS[nest](f)
    with warnings.catch_warnings():
        warnings.simplefilter("error", tg.errors.RecompileWarning)
        found = [own(X), own(X), own(0.9 * X), own(X)]
    monkeypatch.setattr(tg.config, "compile", False)
    eager = [NESTS[nest](f)(x) for x in (X, X, 0.9 * X, X)]
    for a, b in zip(flatten(found)[0], flatten(eager)[0], strict=True):
        assert type(a) is type(b)
        if f is with_arms:  # where arms meet, cotangents are added up in another order
            np.testing.assert_allclose(a, b, rtol=1e-11)
        else:
            np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("f", [counted, while_counted, while_small, filled])
def test_the_source_has_loops(f):
    lines = tg.jacfwd(tg.grad(f)).source(X).splitlines()
    assert len(lines) < 200
    assert sum(line.strip().startswith(("for ", "while ")) for line in lines) >= 2
    hessian = tg.hessian(f)(X)
    np.testing.assert_allclose(tg.jacfwd(tg.grad(f))(X), hessian, rtol=1e-12)


def test_a_pytree_and_what_stands_outside():
    scale = {"s": 1.0}

    def f(p):
        y = p["x"]
        for _ in range(50):
            y = y + 0.01 * np.sin(y) * p["k"] * scale["s"]
        return np.sum(y**2)

    own, p = tg.jacfwd(tg.grad(f)), {"x": X, "k": 0.5}
    for scale["s"] in (1.0, 2.0, -0.5):
        expected = flatten(tg.hessian(f)(p))[0]
        for a, b in zip(flatten(own(p))[0], expected, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-12)
    assert own.cache_info().versions == 1


def test_other_paths_are_found():
    def f(x):
        y = x
        for _ in range(50):
            y = y + 0.01 * np.sin(y)
        return np.sum(y**2) if x[0] > 0.0 else np.sum(y**3)

    own = tg.jacfwd(tg.grad(f))
    for x in (X, -X, X, -2.0 * X, 2.0 * X):
        np.testing.assert_allclose(own(x), tg.hessian(f)(x), rtol=1e-12)


def test_tangents_have_the_shapes_of_their_primals():
    own = tg.jvp(tg.grad(counted))
    own(X, ALONG)
    for tangent in (np.ones(2), 1.0, np.ones((3, 1))):
        with pytest.raises(tg.errors.ArgumentError):
            own(X, tangent)
    np.testing.assert_array_equal(own(X[:2], ALONG[:2])[1], tg.hvp(counted, (X[:2],), (ALONG[:2],)))


def test_a_number_that_was_read_has_no_tangent():
    """The gradient in one argument does not see that the other one is read as a number."""

    def f(x, w):
        y, scale = x, float(w[0])
        for _ in range(50):
            y = y + 0.01 * np.sin(y) * scale
        return np.sum(y**2)

    own = tg.jvp(tg.grad(f))
    with pytest.raises(tg.errors.LostGradientError):
        own(X, X, X, X)
