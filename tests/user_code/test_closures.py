"""What rules of the user's read is looked for in objects of any kind, at little cost."""

from __future__ import annotations

import numpy as np
import pytest

import tracegrad as tg
from tracegrad.extend import defvjp, primitive
from tracegrad.tensors.tensor import Tensor
from tracegrad.user_code import closures


class Key:
    """A key that takes long to write."""

    def __repr__(self):
        raise AssertionError("nobody is told of it")


class Loading:
    """It makes attributes up, as handles of libraries in C do."""

    def __init__(self):
        self.names = []

    def __getattr__(self, name):
        self.names.append(name)
        return Key()


class Made:
    """Its dictionary is none."""

    __slots__ = ("other",)

    @property
    def __dict__(self):
        return Key()


@pytest.mark.parametrize("compile", [True, False])
def test_rules_that_read_objects_of_any_kind(monkeypatch, compile):
    monkeypatch.setattr(tg.config, "compile", compile)
    table, loading, made = {Key(): i for i in range(9)}, Loading(), Made()

    @primitive
    def scaled(x):
        return x * len(table) if loading and made else x

    defvjp(scaled, lambda ans, x: lambda g: g * len(table) if loading and made else g)
    gradient = tg.grad(lambda x: np.sum(scaled(x) ** 2))
    eager = tg.grad(lambda x: np.sum(scaled(x) ** 2) + 0.0 * np.random.randn())
    with pytest.warns() if compile else np.errstate():
        for x in (np.ones(2), np.full(2, 3.0), np.zeros(2), np.ones(2)):
            np.testing.assert_array_equal(gradient(x), 162.0 * x)
            np.testing.assert_array_equal(eager(x), 162.0 * x)
    assert "__dict__" not in loading.names


class Box:
    def __init__(self, value):
        self.value = value


@pytest.mark.parametrize(
    ("hidden", "said"),
    [
        (lambda t: {"a": [0, Box(t)]}, "['a'][1].value"),
        (lambda t: Box({Key: (t,)}), f".value[{Key!r}][0]"),
        (lambda t: lambda: t, "t"),
        (lambda t: [lambda: t], "t"),
        (lambda t: lambda x, t=[t]: t, "[0]"),
        (lambda t: t, ""),
        (lambda t: 1.0, None),
    ],
)
def test_the_way_to_what_is_read_is_written(hidden, said):
    trace = object()
    tensor = Tensor(np.ones(2))
    tensor._traced = (trace, None)
    assert closures._path_to_traced(hidden(tensor), trace) == said
