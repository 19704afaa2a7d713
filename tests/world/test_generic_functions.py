"""Generic functions (`functools.singledispatch`): which function a class has is guarded."""

from __future__ import annotations

import abc
import functools
import sys
import warnings

import numpy as np
import pytest

import tracegrad as tg
from tracegrad.errors import RecompileWarning

X = np.array([0.5, 1.5, -2.0])


class Scale:
    by = 2.0


class Narrow(Scale):
    pass


class Base(abc.ABC):  # noqa: B024
    """A class that takes others as its subclasses."""


def generic():
    """A generic function of its own, so that a test may register what it likes."""

    @functools.singledispatch
    def evaluated(node, x):
        return x.sum()

    @evaluated.register
    def _(node: Scale, x):
        return (x * node.by).sum()

    @evaluated.register(list)
    @evaluated.register(tuple)
    def _(node, x):
        total = 0.0
        for item in node:
            total = total + evaluated(item, x)
        return total

    @evaluated.register(np.ndarray)
    def _(node, x):
        return (node * x * x).sum()

    @evaluated.register(float)
    def _(node, x):
        return (node * x).sum()

    return evaluated


def eager_gradient(f, x):
    tg.config.compile = False
    try:
        return tg.grad(f)(x)
    finally:
        tg.config.compile = True


def agree(compiled, f, times=3):
    for i in range(times):
        value, gradient = compiled(X + i)
        assert value == f(X + i)
        np.testing.assert_array_equal(gradient, eager_gradient(f, X + i))


def test_trees_of_nodes_have_programs():
    evaluated, scale = generic(), Scale()

    def f(x):
        return evaluated([scale, 3.0, (None, x), x[0]], x)

    compiled = tg.value_and_grad(f)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        agree(compiled, f)
    assert compiled.cache_info().hits == 2


def test_another_class_and_another_function_are_other_versions():
    evaluated, nodes = generic(), [Scale()]

    def f(x):
        return evaluated(nodes[0], x)

    compiled = tg.value_and_grad(f)
    agree(compiled, f)
    nodes[0] = Narrow()
    agree(compiled, f)
    assert compiled.cache_info().traces == 2
    evaluated.register(Narrow, lambda node, x: (x * x).sum())
    agree(compiled, f)
    assert compiled.cache_info().traces == 3
    assert "evaluated.dispatch()" in compiled.explain()
    evaluated._clear_cache()
    agree(compiled, f)
    evaluated.register(Narrow, lambda node, x: (x * 3.0).sum())
    agree(compiled, f)


def test_a_class_that_an_abc_takes_later():
    evaluated = generic()
    base = type("Later", (Base,), {})
    node = type("Node", (), {})()
    evaluated.register(base, lambda node, x: (x * x * x).sum())

    def f(x):
        return evaluated(node, x)

    compiled = tg.value_and_grad(f)
    agree(compiled, f)
    assert compiled(X)[0] == X.sum()
    base.register(type(node))
    assert compiled(X)[0] == (X * X * X).sum()
    agree(compiled, f)


def test_methods():
    class Model:
        weight = 3.0

        @functools.singledispatchmethod
        def part(self, node, x):
            return x.sum() * self.weight

        @part.register
        def _(self, node: Scale, x):
            return (x * x * node.by).sum()

    model, scale = Model(), Scale()

    def f(x):
        return model.part(scale, x) + model.part(1, x)

    compiled = tg.value_and_grad(f)
    agree(compiled, f)
    if sys.version_info < (3, 12):  # later ones keep the methods of objects by weak references
        assert compiled.cache_info().hits == 2
    model.weight = 5.0
    agree(compiled, f)


class Odd(type):
    """Classes that are compared by code of the user's."""

    def __hash__(cls):
        return 0

    def __eq__(cls, other):
        return cls is other


@pytest.mark.parametrize("case", ["own class", "own function", "registers", "odd class"])
def test_what_is_not_known_by_its_class_runs_eagerly(case):
    evaluated = generic()
    odd = Odd("Named", (Scale,), {})()

    def f(x):
        node, called = Scale(), evaluated
        if case == "own class":
            node = type("Own", (Scale,), {})()
        elif case == "own function":
            called = functools.singledispatch(lambda node, x: (x * x).sum())
        elif case == "registers":
            evaluated.register(Scale, lambda node, x: x[0] * x[1])
        else:
            node = odd
        return called(node, x)

    compiled = tg.value_and_grad(f)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RecompileWarning)
        agree(compiled, f)
    assert compiled.cache_info().versions == 0


def test_what_dispatch_raises():
    evaluated = generic()
    one, two = (abc.ABCMeta(name, (), {}) for name in ("One", "Two"))
    for base in (one, two):
        evaluated.register(base, lambda node, x: x.prod())
    node = type("Node", (), {})()
    one.register(type(node))
    two.register(type(node))

    def f(x):
        try:
            return evaluated(node, x)
        except RuntimeError:  # ambiguous
            return (x * x).sum()

    compiled = tg.value_and_grad(f)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RecompileWarning)
        agree(compiled, f)
        evaluated.register(type(node), lambda node, x: (x * 4.0).sum())
        agree(compiled, f)
