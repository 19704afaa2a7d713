"""Calls without a program return what those with a program return: arrays in decide arrays out."""

from __future__ import annotations

import numpy as np
import pytest
from test_dtypes import kinds

import tracegrad as tg
from tracegrad.errors import RecompileWarning

jax = pytest.importorskip("jax")
jnp = jax.numpy

SINGLE, OF_NUMBERS, NUMBER = jnp.ones(3, jnp.float32), jnp.full(3, 2.0), jnp.float32(2.0)

FUNCTIONS = {
    "a sum": lambda x: np.sum(SINGLE * x),
    "a sum, after": lambda x: np.sum(x * SINGLE),
    "of numbers": lambda x: np.sum(OF_NUMBERS * x),
    "of a number": lambda x: np.sum(x * NUMBER),
    "by JAX": lambda x: jnp.sum(SINGLE) + jnp.sum(SINGLE * x),
}
STRUCTURES = {
    "outside": lambda x: (SINGLE, OF_NUMBERS, x),
    "computed of outside": lambda x: {"of": SINGLE * 2.0, "sum": SINGLE.sum(), "x": x, "k": 1.5},
    "an array without axes": lambda x: (np.array(SINGLE.sum()), x * 1.0),
}
GIVEN = {
    "2.0": 2.0,
    "float32()": np.float32(2.0),
    "float64": np.ones(3),
    "float32": np.ones(3, np.float32),
    "of JAX": jnp.ones(3),
    "of JAX's numbers": jnp.full(3, 2.0),
    "of JAX, no axes": jnp.float32(2.0),
}


def named(f):
    return lambda x, name: (f(x), len(name))[0]


def are_strong(tree):
    return not any(getattr(x, "weak_type", False) for x in jax.tree.leaves(tree))


@pytest.mark.parametrize("x", GIVEN.values(), ids=GIVEN)
@pytest.mark.parametrize("f", FUNCTIONS.values(), ids=FUNCTIONS)
@pytest.mark.parametrize("transform", [tg.compile, tg.value_and_grad, tg.grad])
def test_once_no_more_versions_are_made(transform, f, x, monkeypatch):
    monkeypatch.setattr(tg.config, "versions", 1)
    g = transform(named(f), backend="jax")
    expected = kinds(g(x, "a"))
    with pytest.warns(RecompileWarning, match="1 versions were compiled"):
        found = [g(x, "a" * n) for n in range(2, 5)]
    for result in found:
        assert kinds(result) == expected
        assert are_strong(result)


@pytest.mark.parametrize("x", GIVEN.values(), ids=GIVEN)
@pytest.mark.parametrize("f", FUNCTIONS.values(), ids=FUNCTIONS)
@pytest.mark.parametrize("transform", [tg.compile, tg.value_and_grad, tg.grad])
def test_without_programs(transform, f, x, monkeypatch):
    g = transform(f, backend="jax")
    expected = g(x)
    monkeypatch.setattr(tg.config, "compile", False)
    if transform is tg.compile:  # the function itself runs: its dtypes are those of JAX
        assert isinstance(g(x), jax.Array) == isinstance(expected, jax.Array)
    else:
        assert kinds(g(x)) == kinds(expected)


@pytest.mark.parametrize("backend", ["jax", "numpy"])
@pytest.mark.parametrize("f", STRUCTURES.values(), ids=STRUCTURES)
def test_structures(f, backend, monkeypatch):
    x = np.ones(3)
    expected = kinds(tg.compile(f, backend=backend)(x))
    monkeypatch.setattr(tg.config, "compile", False)
    assert kinds(tg.compile(f, backend=backend)(x)) == expected
    monkeypatch.setattr(tg.config, "compile", True)
    monkeypatch.setattr(tg.config, "versions", 0)
    with pytest.warns(RecompileWarning):
        assert kinds(tg.compile(f, backend=backend)(x)) == expected
