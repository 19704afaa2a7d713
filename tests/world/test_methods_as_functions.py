"""Bound methods of C code as functions: what ``filter``, ``map``, ``sorted`` and others call.

Each program has a twin that writes the operator: both give the bits of the plain function, and
their gradients are one.
"""

from __future__ import annotations

import functools
import itertools
import math
import operator

import numpy as np
import pytest
from checks import assert_same_bits

import tracegrad as tg

ADDED, DOUBLED = (3.0).__add__, (2.0).__mul__


def in_turns(x):
    s = 0.0
    for v in x:
        s = DOUBLED(s) * (0.3).__mul__(v)
        if (0.1).__lt__(v):
            s = ADDED(s)
    return s


def in_turns_by_operators(x):
    s = 0.0
    for v in x:
        s = 2.0 * s * (0.3 * v)
        if v > 0.1:
            s = 3.0 + s
    return s


TWINS = {
    "product": (lambda x: (2.0).__mul__(x[0]), lambda x: 2.0 * x[0]),
    "reflected": (lambda x: (2.0).__rsub__(x[0]), lambda x: x[0] - 2.0),
    "quotient": (lambda x: (2.0).__truediv__(x[0]), lambda x: 2.0 / x[0]),
    "divmod": (lambda x: (2.0).__divmod__(x[1])[1] * x[2], lambda x: (2.0 % x[1]) * x[2]),
    "compared": (
        lambda x: x[0] * (1.0 if (1.0).__lt__(x[0]) else 3.0),
        lambda x: x[0] * (1.0 if x[0] > 1.0 else 3.0),
    ),
    "of the type": (lambda x: float.__mul__(x[0], 2.0), lambda x: x[0] * 2.0),
    "unary": (
        lambda x: float.__neg__(x[0]) * float.__abs__(x[1]),
        lambda x: -x[0] * abs(x[1]),
    ),
    "of complex": (lambda x: (2j).__mul__(x[0]).imag, lambda x: 2.0 * x[0]),
    "of arrays": (lambda x: np.sum(np.ndarray.__mul__(x, np.ones(len(x)))), np.sum),
    "mapped": (lambda x: sum(map(DOUBLED, x)), lambda x: sum(2.0 * v for v in x)),
    "mapped item": (lambda x: sum(map(x.__getitem__, (0, 2))), lambda x: x[0] + x[2]),
    "filtered": (
        lambda x: sum(filter((0.5).__lt__, x)) * sum(filter((0.5).__ge__, x)),
        lambda x: sum(v for v in x if v > 0.5) * sum(v for v in x if v <= 0.5),
    ),
    "sorted": (
        lambda x: sorted(x, key=(-1.0).__mul__)[1],
        lambda x: sorted(x, reverse=True)[1],
    ),
    "largest": (lambda x: max(x, key=(-1.0).__mul__), min),
    "reduced": (
        lambda x: functools.reduce(np.ndarray.__mul__, [x, x, 2.0 * x]).sum(),
        lambda x: (x * x * (2.0 * x)).sum(),
    ),
    "partial": (
        lambda x: functools.partial(float.__sub__, 2.0)(x[0]),
        lambda x: 2.0 - x[0],
    ),
    "accumulated": (
        lambda x: sum(itertools.accumulate(x, float.__add__)),
        lambda x: sum(itertools.accumulate(x, operator.add)),
    ),
    "taken": (
        lambda x: sum(itertools.takewhile((0.2).__gt__, sorted(x))),
        lambda x: sum(v for v in sorted(x) if v < 0.2),
    ),
    "in turns": (in_turns, in_turns_by_operators),
}


@pytest.mark.parametrize("name", TWINS)
@pytest.mark.parametrize("count", [6, 24])
def test_methods_of_numbers_give_what_operators_do(name, count):
    function, twin = TWINS[name]
    f, g, plain = tg.value_and_grad(function), tg.value_and_grad(twin), tg.compile(function)
    for seed in range(3):
        x = np.random.default_rng(seed).normal(size=count)
        for _ in range(2):
            value, slope = f(x)
            assert value == plain(x) == function(x)
            np.testing.assert_array_equal(slope, g(x)[1])


@pytest.mark.parametrize(
    "function",
    [
        lambda x: x[0] * ((2.0).__mul__(x) is NotImplemented),
        lambda x: x[0] * ((2).__mul__(x[0]) is NotImplemented),
    ],
)
def test_a_method_that_does_not_take_an_operand_says_so(function):
    x = np.array([0.5, 2.0])
    value, slope = tg.value_and_grad(function)(x)
    assert value == function(x) == 0.5
    np.testing.assert_array_equal(slope, [1.0, 0.0])


def without_none(x):
    parts = [x, None, 2.0 * x]
    with_words = len(list(filter(None.__ne__, ["a", None])))
    return sum(np.sum(part) for part in parts if part is not None) * with_words


METHODS_OF_C = [
    lambda x: x[0] * (None.__eq__(None) is True) * (None.__bool__() is False),
    lambda x: x[0] * (getattr(None, "__eq__")(None) is True),  # noqa: B009
    lambda x: x[0] * len(list(map("-".join, [["a", "b"], "cd"]))),
    lambda x: x[0] * sorted(["b", "A", "c"], key="cAb".index).index("b"),
    lambda x: x[0] * len(list(filter({1, 2}.__contains__, [1, 3, 2]))),
    lambda x: sum(map({"a": x[0], "b": x[1]}.get, ["b", "a"])),
    lambda x: sum(map([x[0], x[1]].__getitem__, [1, 0])),
    lambda x: x[0] * sum(map((3).__add__, range(4))) * len(list(map(str.split, ["a b"]))),
    lambda x: sum([x[(1).__add__(i)] * x[i] for i in range(len(x) - 1)]),
    lambda x: x[0] * sum(1 for _ in iter(iter([1, 2, None]).__next__, None)),
    without_none,
]


@pytest.mark.filterwarnings("ignore:NotImplemented should not be used")
@pytest.mark.parametrize("function", METHODS_OF_C)
def test_methods_of_other_objects_are_called_as_they_are(function):
    f, plain = tg.value_and_grad(function), tg.compile(function)
    for seed in range(2):
        x = np.random.default_rng(seed).normal(size=4)
        assert f(x)[0] == plain(x) == function(x)
        assert_same_bits(f(x), f(x))
        steps = np.eye(4) * 1e-6
        slopes = [(function(x + step) - function(x - step)) / 2e-6 for step in steps]
        np.testing.assert_allclose(f(x)[1], slopes, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("function", [sum, max, min, math.prod, functools.partial(max, key=abs)])
@pytest.mark.parametrize("kind", [np.asarray, list, np.ndarray.tolist])
def test_a_builtin_is_differentiated_itself(function, kind):
    """No frame of the user's runs, and of some no parameters are known."""
    x = np.random.default_rng(0).normal(size=24)
    f, given = tg.value_and_grad(function), kind(x)
    value, slope = f(given)
    assert value == function(given) == tg.compile(function)(given) == f(given)[0]
    twin = tg.grad(lambda x: function(x))
    np.testing.assert_array_equal(np.asarray(slope), np.asarray(twin(given)))


def test_a_builtin_of_several_arguments():
    found = tg.grad(math.hypot, argnums=(0, 1))(3.0, 4.0)
    np.testing.assert_allclose(found, [0.6, 0.8], rtol=1e-15)


def plain(a):
    return a.detach().cpu().numpy() if hasattr(a, "detach") else np.asarray(a)


def by_helper(x):
    return (plain(x) ** 2).sum()


def by_default(x):
    return x.sum() if getattr(x, "requires_grad", False) else (x**2).sum()


def by_items(x):
    total = 0.0
    for v in x:
        total = total + (v if hasattr(v, "backward") else v * v)
        total = total + len([k for k in range(2) if hasattr(k, "shape")])
    return total


@pytest.mark.parametrize("compiles", [True, False])
@pytest.mark.parametrize("f", [by_helper, by_default, by_items])
def test_arrays_have_no_names_of_tensors_where_that_is_asked(f, compiles, monkeypatch):
    monkeypatch.setattr(tg.config, "compile", compiles)
    x = np.array([1.0, 2.0, 3.0])
    value_and_grad, value = tg.value_and_grad(f), tg.compile(f)
    for _ in range(2):
        found, gradient = value_and_grad(x)
        assert found == value(x) == f(x)
        np.testing.assert_array_equal(gradient, 2 * x)
