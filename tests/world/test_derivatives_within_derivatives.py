"""Every derivative of every derivative, of what an inner function reads, however it is run."""

from __future__ import annotations

import sys
from types import SimpleNamespace

import numpy as np
import pytest

import tracegrad as tg
from tracegrad import core

X, Y = np.array([0.3, 0.5]), np.array([1.0, 2.0])
V, W = np.array([1.0, 0.5]), np.array([0.2, 0.1])
HELD = SimpleNamespace(y=None)
ITEMS = {}


def number(x, y):
    return np.sum(np.sin(x) * y**2) + x[0] * x[1] * y[0] * y[1] ** 3


def vector(x, y):
    return np.sin(x) * y**2 + x[0] * y[1]


def _of_closure(f, y):
    return lambda x: f(x, y)


def _of_default(f, y):
    return lambda x, y=y: f(x, y)


def _of_attribute(f, y):
    HELD.y = y
    return lambda x: f(x, HELD.y)


def _of_item(f, y):
    ITEMS["y"] = [y]
    return lambda x: f(x, ITEMS["y"][0])


def _of_compiled(f, y):
    return tg.compile(_of_closure(f, y))


READS = {
    "closure": _of_closure,
    "default": _of_default,
    "attribute": _of_attribute,
    "item": _of_item,
    "compiled": _of_compiled,
}


def _along(f):
    return lambda t: f(X * t)


def _pushed(f):
    return lambda x: tg.make_jvp(f)(x)(V)[1] + tg.jvp(f, (x,), (V,))[1]


INNER = {
    "grad": lambda read, y: np.dot(tg.grad(read(number, y))(X), V),
    "value_and_grad": lambda read, y: np.dot(tg.value_and_grad(read(number, y))(X)[1], V),
    "jvp": lambda read, y: tg.jvp(read(number, y), (X,), (V,))[1],
    "vjp": lambda read, y: np.dot(tg.vjp(read(number, y), X)[1](1.0)[0], V),
    "linearize": lambda read, y: np.sum(tg.linearize(read(vector, y), X)[1](V)),
    "hvp": lambda read, y: np.sum(tg.hvp(read(number, y), (X,), (V,))),
    "jacobian": lambda read, y: np.sum(tg.jacobian(read(vector, y))(X) @ V),
    "jacfwd": lambda read, y: np.sum(tg.jacfwd(read(vector, y))(X) @ V),
    "hessian": lambda read, y: np.sum(tg.hessian(read(number, y))(X) @ V),
    "make_jvp": lambda read, y: np.sum(tg.make_jvp(read(vector, y))(X)(V)[1]),
    "core.make_jvp": lambda read, y: np.sum(core.make_jvp(read(vector, y), X)(V)[1]),
    "make_jvp_reversemode": lambda read, y: tg.make_jvp_reversemode(read(number, y))(X)(V),
    "its value": lambda read, y: tg.make_jvp(read(number, y))(X)(V)[0],
    "make_vjp": lambda read, y: np.dot(tg.make_vjp(read(number, y))(X)[0](1.0), V),
    "deriv": lambda read, y: tg.deriv(_along(read(number, y)))(0.7),
    "elementwise_grad": lambda read, y: np.dot(tg.elementwise_grad(read(vector, y))(X), V),
    "make_hvp": lambda read, y: np.sum(tg.make_hvp(read(number, y))(X)[0](V)),
    "make_ggnvp": lambda read, y: np.sum(tg.make_ggnvp(read(vector, y))(X)(V)),
    "hessian_vector_product": lambda read, y: np.sum(
        tg.hessian_vector_product(read(number, y))(X, V)
    ),
    "vector_jacobian_product": lambda read, y: np.sum(
        tg.vector_jacobian_product(read(vector, y))(X, V)
    ),
    "jvp twice": lambda read, y: tg.jvp(_pushed(read(number, y)), (X,), (V,))[1],
    "make_jvp twice": lambda read, y: tg.make_jvp(_pushed(read(number, y)))(X)(V)[1],
}
"""A number made of a derivative of a function that reads `y`."""

WITH_ARGUMENTS = {
    "make_jvp": lambda y: tg.make_jvp(number, 0)(X, y)(V)[1],
    "make_jvp_reversemode": lambda y: tg.make_jvp_reversemode(number, 0)(X, y)(V),
    "make_vjp": lambda y: np.dot(tg.make_vjp(number, 0)(X, y)[0](1.0), V),
    "deriv": lambda y: tg.deriv(lambda t, y: number(X * t, y))(0.7, y),
    "elementwise_grad": lambda y: np.dot(tg.elementwise_grad(vector)(X, y), V),
    "grad": lambda y: np.dot(tg.grad(number)(X, y), V),
    "jacobian": lambda y: np.sum(tg.jacobian(vector)(X, y) @ V),
}
"""A number made of a derivative in the first of two arguments, of which the other is `y`."""

OUTER = {
    "grad": lambda h: tg.grad(h)(Y) @ W,
    "value_and_grad": lambda h: tg.value_and_grad(h)(Y)[1] @ W,
    "jvp": lambda h: tg.jvp(h, (Y,), (W,))[1],
    "vjp": lambda h: tg.vjp(h, Y)[1](1.0)[0] @ W,
    "linearize": lambda h: tg.linearize(h, Y)[1](W),
    "jacobian": lambda h: tg.jacobian(h)(Y) @ W,
    "jacfwd": lambda h: tg.jacfwd(h)(Y) @ W,
    "make_jvp": lambda h: tg.make_jvp(h)(Y)(W)[1],
    "make_jvp_reversemode": lambda h: tg.make_jvp_reversemode(h)(Y)(W),
    "make_vjp": lambda h: tg.make_vjp(h)(Y)[0](1.0) @ W,
    "deriv": lambda h: tg.deriv(lambda t: h(Y + t * W))(0.0),
    "elementwise_grad": lambda h: tg.elementwise_grad(h)(Y) @ W,
}


def compiled(derived, h):
    return derived(h)


def eager(derived, h):
    return derived(lambda y: h(y) + 0.0 * np.random.standard_normal())


def without_compile(derived, h):
    tg.config.compile = False
    try:
        return derived(h)
    finally:
        tg.config.compile = True


def natively(derived, h):
    """As under a debugger or a coverage tool."""
    before = sys.gettrace()
    sys.settrace(lambda frame, event, argument: None)
    try:
        return derived(h)
    finally:
        sys.settrace(before)


WAYS = (compiled, eager, without_compile, natively)


def slope(h, step=1e-5):
    return (h(Y + step * W) - h(Y - step * W)) / (2 * step)


def assert_right(way, derived, programs):
    """Of each program that `derived` is right; all that are not are named."""
    wrong = {}
    for name, h in programs.items():
        expected, found = slope(h), way(derived, h)
        if not np.allclose(found, expected, rtol=1e-6):
            wrong[name] = found, expected
    assert not wrong


@pytest.mark.filterwarnings("ignore")
@pytest.mark.sampled(3)
@pytest.mark.parametrize("outer", OUTER)
@pytest.mark.parametrize("way", WAYS)
def test_closures_in_derivatives_keep_their_histories(way, outer):
    programs = {name: lambda y, inner=inner: inner(_of_closure, y) for name, inner in INNER.items()}
    assert_right(way, OUTER[outer], programs)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("outer", OUTER)
@pytest.mark.parametrize("way", WAYS)
def test_other_arguments_in_derivatives_keep_their_histories(way, outer):
    assert_right(way, OUTER[outer], WITH_ARGUMENTS)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.sampled(3)
@pytest.mark.parametrize("place", READS)
@pytest.mark.parametrize("outer", ["grad", "jvp", "make_jvp", "make_vjp", "deriv"])
@pytest.mark.parametrize("way", WAYS)
def test_what_is_read_from_any_place_keeps_its_history(way, outer, place):
    several = ("grad", "jvp", "vjp", "make_jvp", "make_vjp", "deriv", "jacobian", "linearize")
    programs = {name: lambda y, inner=INNER[name]: inner(READS[place], y) for name in several}
    assert_right(way, OUTER[outer], programs)
