"""Calls on Tensors give the same, compiled and under ``tg.config.compile = False``."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

import tracegrad as tg

OUTSIDE = tg.tensor([1.0, 2.0, 3.0], requires_grad=True)


def written_to_a_copy(x):
    y, total = np.array(x), 0.0
    for i in range(len(y)):
        y[i] = np.sin(y[i]) * 2
        total = total + y[i]
    return total


def written_to_zeros(x):
    y = np.zeros(3)
    for i in range(3):
        y[i] = x[i] * 2.0
    return y.sum()


def written_at_once(x):
    y = np.empty(3)
    y[:] = x
    return (y * y).sum()


def as_array(x):
    return (np.asarray(x) * 2.0).sum()


def filled(x):
    return np.full(3, x[0]).sum() * x[1]


FUNCTIONS = {
    **{f.__name__: f for f in (written_to_a_copy, written_to_zeros, written_at_once)},
    **{f.__name__: f for f in (as_array, filled)},
    "prod": lambda x: np.prod([x[0], x[1]]),
    "sum": lambda x: np.sum([x[0], x[1] * x[1]]),
    "max": lambda x: np.max([x[0], x[1]]),
    "dot": lambda x: np.dot([x[0], x[1]], [1.0, 2.0]),
    "norm": lambda x: np.linalg.norm([x[0], x[1]]),
    "nested": lambda x: np.asarray([[x[0], x[1]], [x[1], x[2]]]).sum(),
}


@pytest.fixture
def uncompiled():
    before = tg.config.compile
    yield lambda: setattr(tg.config, "compile", False)
    tg.config.compile = before


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_of_numpy_take_tensors(name, uncompiled):
    function, found = FUNCTIONS[name], []
    for _ in range(2):
        x = tg.tensor([1.0, 2.0, 3.0], requires_grad=True)
        result = tg.compile(function)(x)
        result.backward()
        found.append((float(result), x.grad.tolist()))
        uncompiled()
    assert found[0] == found[1]


def test_arrays_stay_arrays(uncompiled):
    uncompiled()
    result = tg.compile(lambda x: (OUTSIDE.detach() * x, x + 1.0))(np.ones(3))
    assert all(type(part) is np.ndarray for part in result)


def of_elements(x, seen):
    for i in range(len(x)):
        element = x[i]
        element += 0.3 * np.sin(x[1])
        seen.n += 1
    return element * element


def of_a_slice(x, seen):
    part = x[1:]
    part *= 2.0
    seen.n += 1
    return part.sum()


def of_all(x, seen):
    x += 1.0
    seen.n += 1
    return x.sum()


@pytest.mark.parametrize("function", [of_elements, of_a_slice, of_all], ids=lambda f: f.__name__)
@pytest.mark.parametrize("view", [False, True])
def test_a_write_to_a_leaf_is_refused_where_it_is(function, view, uncompiled):
    seen = SimpleNamespace(n=0)
    made = tg.compile(lambda x: function(x, seen))
    leaf = tg.tensor(np.ones(10), requires_grad=True)
    messages = []
    for compiled in (True, True, False):
        if not compiled:
            uncompiled()
        with pytest.raises(tg.errors.GradientError, match="a leaf Tensor that requires") as caught:
            made(leaf[2:] if view else leaf)
        messages.append(str(caught.value))
        assert seen.n == 0
    assert len(set(messages)) == 1
    with tg.no_grad():
        tg.compile(lambda x: function(x, seen))(leaf.detach().clone())
    assert seen.n > 0
