"""Names that a check reads as the user's module does: hidden, taken away, put back, or its own."""

from __future__ import annotations

import builtins
import linecache
import types
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from checks import assert_same_bits

import tracegrad as tg

X = np.array([1.0, 2.0, 3.0])
TEXT = """
import numpy as np
k, again, x, len_, type_ = 2, 3, 4, 5, 6
value0, item0, list0, holder0, value0_kinds = 7, 8, 9, 10, 11
__hidden = 12

class Layer:
    def __init__(self, k):
        self.k = k

layers = [Layer(2), Layer(3), Layer(5)]
pick = [np.sin, np.cos]

def helper(v):
    return v * k if k > 0 else v

def f(v):
    v = helper(v) + again + x + value0 + item0 + list0 + holder0 + value0_kinds + __hidden
    for layer, power in zip(layers, range(len(layers))):
        if layer.k > 2:
            v = v * layer.k
    for g in pick:
        v = g(v)
    return v + sum([v, v]) + max(1, 2)
"""


@pytest.fixture
def module() -> Iterator[Any]:
    made = types.ModuleType("made")
    exec(compile(TEXT, "made.py", "exec"), vars(made))
    linecache.cache["made.py"] = (len(TEXT), None, TEXT.splitlines(keepends=True), "made.py")
    yield made
    del linecache.cache["made.py"]


def agree(compiled: Any, module: Any) -> None:
    for _ in range(2):
        assert_same_bits(compiled(X), module.f(X))


def test_each_name_may_change(module) -> None:
    compiled = tg.compile(module.f)
    agree(compiled, module)
    assert compiled.cache_info().traces == 1
    for name in ("k", "again", "x", "value0", "item0", "list0", "holder0", "value0_kinds"):
        setattr(module, name, getattr(module, name) + 1)
        agree(compiled, module)
    module.__hidden = 1
    agree(compiled, module)
    module.k = -1
    agree(compiled, module)
    module.helper = lambda v: v - 1.0
    agree(compiled, module)


def test_what_the_check_itself_calls_may_have_another_meaning_in_the_module(module) -> None:
    compiled = tg.compile(module.f)
    agree(compiled, module)
    for name in ("type", "all", "map", "getattr", "Exception", "again", "MISSING", "same", "len"):
        setattr(module, name, 20 if name == "again" else lambda *_: 1)
        agree(compiled, module)
    assert compiled.cache_info().hits >= 9


def test_builtins_may_be_hidden_and_shown_again(module) -> None:
    compiled = tg.compile(module.f)
    agree(compiled, module)
    module.max = lambda *_: 7
    agree(compiled, module)
    del module.max
    agree(compiled, module)
    module.max = builtins.max
    agree(compiled, module)
    assert compiled.cache_info().traces <= 3


def test_builtins_may_change(module, monkeypatch) -> None:
    compiled = tg.compile(module.f)
    agree(compiled, module)
    monkeypatch.setattr(builtins, "max", lambda *_: 9)
    agree(compiled, module)


def test_a_module_may_have_builtins_of_its_own() -> None:
    scope = {"__builtins__": {**vars(builtins), "max": lambda *_: 5}, "np": np}
    exec("def f(v):\n    return v * max(1, 2) + sum([v, v])", scope)
    f: Any = scope["f"]
    compiled = tg.compile(f)
    assert_same_bits(compiled(X), X * 5 + 2.0 * X)
    for edit in (
        lambda: scope["__builtins__"].update(max=lambda *_: 6),
        lambda: scope.update(max=lambda *_: 7),
        lambda: scope.pop("max"),
    ):
        edit()
        for _ in range(2):
            assert_same_bits(compiled(X), f(X))


def test_a_global_that_is_gone_is_not_the_builtin_of_its_name(module) -> None:
    module.max = lambda *_: 3
    compiled = tg.compile(module.f)
    agree(compiled, module)
    del module.max
    agree(compiled, module)
    del module.k
    with pytest.raises(NameError, match="'k'"):
        compiled(X)


def test_items_and_length_of_a_list(module) -> None:
    compiled = tg.compile(module.f)
    agree(compiled, module)
    layers = module.layers
    for edit in (
        lambda: layers.append(module.Layer(7)),
        lambda: layers.pop(0),
        lambda: layers.reverse(),
        lambda: layers.__setitem__(1, module.Layer(4)),
        lambda: module.pick.clear(),
        lambda: layers.clear(),
        lambda: module.pick.append(np.tanh),
    ):
        edit()
        agree(compiled, module)


def test_some_items_of_a_list(module) -> None:
    exec("def f(v):\n    return v * layers[1].k + layers[-1].k * len(layers)", vars(module))
    compiled = tg.compile(module.f)
    agree(compiled, module)
    for edit in (
        lambda: module.layers.append(module.Layer(7)),
        lambda: module.layers.reverse(),
        lambda: module.layers.pop(),
        lambda: setattr(module, "len", lambda _: 11),
    ):
        edit()
        agree(compiled, module)
    assert compiled.cache_info().hits >= 5


def test_it_says_what_changed(module) -> None:
    compiled = tg.compile(module.f)
    agree(compiled, module)
    module.k = -3
    compiled(X)
    module.pick.pop()
    compiled(X)
    module.max = lambda *_: 3
    compiled(X)
    text = " ".join(str(compiled.explain()).split())
    for reason in ("k was 2, is -3 (made.py:", "len(pick) was 2, is 1 (", "max was missing, is"):
        assert reason in text


def test_it_says_which_name_has_come() -> None:
    class Model:
        def pre(self, x: Any) -> Any:
            return x

        def post(self, x: Any) -> Any:
            return x

    model = Model()
    compiled = tg.compile(lambda x: model.pre(x) + model.post(x))
    compiled(X)
    model.post = lambda x: x * 2.0  # type: ignore[method-assign]
    compiled(X)
    Model.__getattribute__ = lambda self, name: object.__getattribute__(self, name)  # type: ignore
    compiled(X)
    text = str(compiled.explain())
    assert "model.post was missing, is <function" in text
    assert "Model.__getattribute__ was missing, is <function" in text


def test_a_list_of_arrays_from_outside() -> None:
    weights = [np.full(3, i + 1.0) for i in range(4)]

    def f(x: Any) -> Any:
        for w in weights:
            x = x * w + w.shape[0]
        return x

    compiled = tg.compile(f)
    for edit in (
        lambda: None,
        lambda: weights.reverse(),
        lambda: weights.append(np.ones(3)),
        lambda: weights.pop(0),
        lambda: weights.__setitem__(1, np.ones(1)),
        lambda: weights.__setitem__(1, np.ones((3, 3))),
        lambda: weights.__setitem__(1, np.ones(3, np.float32)),
        lambda: weights.__setitem__(2, weights[0]),
        lambda: weights.clear(),
    ):
        edit()
        for _ in range(2):
            assert_same_bits(compiled(X), f(X))
    assert compiled.cache_info().hits >= 10


@pytest.mark.parametrize("shape", [(), (1,), (2, 2), (2, 1), (1, 2)])
def test_vectors_are_told_by_their_axes_and_length(shape) -> None:
    def f(x: Any, b: Any, c: Any) -> Any:
        return np.sum(x * b + c) + b.ndim + len(x)

    compiled, two, other = tg.compile(f), np.array([1.0, 2.0]), np.ones(shape)
    for args in ((two, two, two), (two, other, two), (two, two, other), (two, two, two)):
        for _ in range(2):
            assert_same_bits(compiled(*args), f(*args))
