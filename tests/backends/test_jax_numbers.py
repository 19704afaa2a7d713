"""Numbers that come out of programs for JAX are Python's where the function has such.

Each program is called with NumPy's arrays, with a few turns, which are no loop, and with many, and
is compared with the plain function and with the program for NumPy.
"""

from __future__ import annotations

import runpy

import numpy as np
import pytest

import tracegrad as tg

pytest.importorskip("jax")

FEW, MANY = np.array([2.0]), np.array([1e9])


def halved(x):
    n = 0
    while x.sum() > 1.0:
        x = x / 2.0
        n += 1
    return x, n, {"half": n / 2, "many": n > 3}, x[0] * 1.0, np.array(x[0])


def until_it_is_small(x):
    turns = 0
    for i in range(25):
        turns = i
        if x.sum() < 1.0:
            break
        x = x / 2.0
    else:
        turns = -1
    return x, turns


def flagged(x):
    found = False
    for v in x * np.ones(12):
        if v > 2.0:
            found = True
    return found, x.sum()


def of_two_ends(x):
    n = 0
    while x.sum() > 1.0:
        x = x / 2.0
        n += 1
    if n > 3:
        return x, n, x.max()
    return x, n * 0.5, x.sum()


class State:
    """What a function stores numbers in."""


def stores(x, state):
    n = 0
    while x.sum() > 1.0:
        x = x / 2.0
        n += 1
    state.n, state.half, state.many = n, n / 2, n > 3
    return x.sum()


def of_a_float(x):
    a = float(x.size) if not x.ndim else 1.5
    return a * 2, a > 1, x[0] * 0.0 + a


@pytest.mark.parametrize("f", [halved, until_it_is_small, flagged, of_two_ends, of_a_float])
def test_numbers_of_python(f):
    compiled = tg.compile(f, backend="jax")
    for x in (FEW, MANY, FEW, MANY):
        assert repr(compiled(x)) == repr(f(x))


@pytest.mark.parametrize("f", [halved, until_it_is_small])
def test_numbers_beside_a_gradient(f):
    def loss(x):
        found, *others = f(x)
        return found.sum(), others

    compiled = [tg.value_and_grad(loss, has_aux=True, backend=b) for b in ("numpy", "jax")]
    for x in (FEW, MANY, FEW, MANY):
        assert repr(compiled[0](x)) == repr(compiled[1](x))


def test_numbers_that_are_stored():
    compiled, state, expected = tg.compile(stores, backend="jax"), State(), State()
    for x in (FEW, MANY, FEW, MANY):
        assert repr(compiled(x, state)) == repr(stores(x, expected))
        assert repr(vars(state)) == repr(vars(expected))


def test_what_is_computed_of_a_float():
    for f in (lambda a: a * 2, lambda a: a > 1, lambda a: (a + 1j, [a / 3.0])):
        assert repr(tg.compile(f, backend="jax")(1.5)) == repr(f(1.5))
    assert type(tg.value_and_grad(lambda x: 0.0, backend="jax")(FEW)[0]) is float


def test_numbers_of_an_exported_function(tmp_path):
    compiled = tg.compile(halved, backend="jax")
    compiled(MANY)
    compiled.export(tmp_path / "exported.py")
    exported = runpy.run_path(str(tmp_path / "exported.py"))
    assert repr(exported["halved"](MANY)) == repr(halved(MANY))
