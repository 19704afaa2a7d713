"""Lists of numbers from outside: one array input where C code makes an array of one."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from checks import assert_same_bits

import tracegrad as tg

X = np.linspace(-1.0, 2.0, 6)
CASES: dict[str, tuple[Any, int]] = {}


def case(traces: int) -> Callable[[Any], Any]:
    """``make() -> (function, its state, edits)``, and how often the function is traced at most."""

    def enter(make: Any) -> Any:
        CASES[make.__name__] = make, traces
        return make

    return enter


def numbers(k: float, n: int = 6) -> list[float]:
    return [k * (i + 1.5) for i in range(n)]


def listed(items: Any = None) -> Any:
    """A state that holds a list, and edits that leave it a list of as many floats."""
    o = SimpleNamespace(w=numbers(0.1) if items is None else items)
    return o, [
        lambda: o.w.__setitem__(slice(None), numbers(0.3)),
        lambda: o.w.__setitem__(2, -1.5),
        lambda: setattr(o, "w", numbers(0.7)),
        lambda: setattr(o, "w", numbers(-0.2)),
        o.w.reverse,
    ]


@case(2)
def made_into_an_array():
    o, edits = listed()
    return lambda x: (x * np.array(o.w)).sum(), edits


MAKERS = {
    "tensor": tg.tensor,
    "as_tensor": tg.as_tensor,
    "Tensor": tg.Tensor,
    "asarray": tg.asarray,
    "float32": lambda data: tg.tensor(data, dtype="float32"),
    "whole_numbers": lambda data: tg.as_tensor(data, "int64"),
}


@case(2)
def made_into_tensors():
    o, edits = listed()

    def f(x):
        return sum((make(o.w) * x).sum() for make in MAKERS.values()) + tg.tensor(o.w[1])

    return f, edits


@case(2)
def a_tensor_of_a_history_that_grows():
    history = [0.5, 0.25]

    def f(x):
        return (tg.tensor(history).mean() * x).sum() + tg.Tensor(history)[-1]

    return f, [lambda k=k: history.append(0.1 * k) for k in range(1, 6)]


@case(2)
def tensors_of_what_is_computed():
    o, edits = listed()
    return lambda x: (tg.tensor([2.0 * w for w in o.w]) * x).sum(), edits


@case(2)
def a_tensor_that_is_written():
    o, edits = listed()

    def f(x):
        a, b = tg.tensor(o.w), tg.as_tensor(o.w)
        a[0] = 2.0
        b += a
        return (a * x + b).sum() + np.sum(o.w)

    return f, edits


@case(9)
def tensors_of_types_that_change():
    o, edits = listed()
    return lambda x: (tg.tensor(o.w) * x).sum() + tg.Tensor(o.w)[0], [
        *edits,
        lambda: setattr(o, "w", [1, 2, 3, 4, 5, 6]),
        lambda: setattr(o, "w", [True] * 6),
        lambda: setattr(o, "w", [1.0, *[2**40] * 5]),
        lambda: setattr(o, "w", np.array(numbers(0.5))),
        lambda: setattr(o, "w", tuple(numbers(0.5))),
    ]


@case(2)
def a_dot_product():
    o, edits = listed()
    return lambda x: np.dot(o.w, x) + np.sum(o.w), edits


@case(2)
def an_operand_of_an_operator():
    o, edits = listed()
    return lambda x: ((x * o.w - o.w) ** 2).sum(), edits


@case(2)
def an_operand_of_a_ufunc():
    o, edits = listed()
    return lambda x: np.maximum(x, o.w).sum() + np.exp(o.w).sum(), edits


@case(2)
def item_by_item():
    o, edits = listed()

    def f(x):
        total = 0.0
        for w, v in zip(o.w, x, strict=True):
            total = total + w * v
        return total

    return f, edits


@case(2)
def many_items_one_by_one():
    o = SimpleNamespace(w=numbers(0.01, 90))

    def f(x):
        for w in o.w:
            x = x + w
        return x.sum()

    return f, [lambda k=k: setattr(o, "w", numbers(0.02 * k, 90)) for k in range(1, 5)]


@case(2)
def whole_and_item_by_item():
    o, edits = listed()
    return lambda x: (np.asarray(o.w) * x).sum() * o.w[1] + o.w[-1], edits


@case(3)
def a_schedule():
    o = SimpleNamespace(rates=numbers(0.1, 12), turn=0)

    def f(x):
        return (x * o.rates[o.turn % 2]).sum()

    def step():
        o.turn += 2
        o.rates = [rate * 0.9 for rate in o.rates]

    return f, [lambda: o.rates.reverse(), lambda: setattr(o, "rates", numbers(0.3, 12))]


@case(2)
def a_history_that_grows():
    history = [0.5, 0.25]

    def f(x):
        return (np.mean(history) * x).sum() + np.array(history)[-1]

    return f, [lambda k=k: history.append(0.1 * k) for k in range(1, 6)]


@case(2)
def numbers_of_numpy():
    o = SimpleNamespace(w=list(np.array(numbers(0.1))))

    def edit(k):
        o.w = list(np.array(numbers(k)))

    return lambda x: np.dot(o.w, x), [lambda k=k: edit(k) for k in (0.2, 0.3, 0.4)]


@case(2)
def whole_numbers():
    o = SimpleNamespace(w=[1, 2, 3, 4, 5, 6])

    def edit(k):
        o.w = [k * i for i in o.w]

    return lambda x: (np.array(o.w) * x).sum(), [lambda k=k: edit(k) for k in (2, 3, -1)]


@case(2)
def tuples():
    o = SimpleNamespace(w=tuple(numbers(0.1)))

    def edit(k):
        o.w = tuple(numbers(k))

    return lambda x: (np.array(o.w) * x).sum(), [lambda k=k: edit(k) for k in (0.2, 0.3, 0.4)]


@case(9)
def types_that_change():
    o, edits = listed()
    return lambda x: (np.array(o.w) * x).sum(), [
        *edits,
        lambda: o.w.__setitem__(0, 1),
        lambda: setattr(o, "w", [1, 2, 3, 4, 5, 6]),
        lambda: setattr(o, "w", [True] * 6),
        lambda: setattr(o, "w", [2**62] * 6),
        lambda: setattr(o, "w", [1.0, *[2**40] * 5]),
        lambda: setattr(o, "w", np.array(numbers(0.5))),
        lambda: setattr(o, "w", tuple(numbers(0.5))),
    ]


@case(9)
def items_that_python_looks_at():
    o, edits = listed()

    def f(x):
        k = 2.0 if o.w[2] > 0.0 else 3.0
        return (np.array(o.w) * x).sum() * k + len(f"{o.w[0]:.2f}")

    return f, edits


@case(9)
def c_code_that_makes_no_array():
    o, edits = listed()
    return lambda x: (x * math.fsum(o.w)).sum() + np.array(o.w)[0] + sorted(o.w)[0], edits


@case(4)
def paths():
    o, edits = listed()

    def f(x):
        if x[0] > 0:
            return np.dot(o.w, x)
        return (x * o.w[0]).sum()

    return f, edits


@case(3)
def a_copy_that_is_written():
    o, edits = listed()

    def f(x):
        a, b = np.array(o.w), np.asarray(o.w)
        a[0], b[1] = x[1], x[0]
        b += 1.0
        return (a * x + b).sum() + np.sum(o.w)

    return f, edits


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("name", CASES)
def test_as_plain(name, dtype):
    make, traces = CASES[name]
    f, edits = make()
    made = tg.compile(f)
    with warnings.catch_warnings(action="ignore", category=tg.errors.RecompileWarning):
        for edit in [lambda: None, *edits]:
            edit()
            for x in (X, -X, X):
                x = x.astype(dtype)
                try:
                    expected = f(x)
                except TypeError as error:
                    with pytest.raises(TypeError, match=str(error)[:20]):
                        made(x)
                else:
                    assert_same_bits(made(x), expected)
    assert made.cache_info().traces <= traces, made.explain()


@pytest.mark.parametrize("name", [n for n in CASES if n != "types_that_change"])
def test_gradients(name):
    f, edits = CASES[name][0]()
    made = tg.value_and_grad(f)
    with warnings.catch_warnings(action="ignore", category=tg.errors.RecompileWarning):
        for edit in [lambda: None, *edits]:
            edit()
            for x in (X, -X):
                for one, other in zip(made(x), tg.value_and_grad(f)(x), strict=True):
                    assert_same_bits(one, other)


@pytest.mark.parametrize("default", ["float64", "float32"])
@pytest.mark.parametrize("make", MAKERS)
def test_lists_that_are_arguments(make, default):
    w = tg.tensor([1.0, 2.0, 0.5], requires_grad=True)

    def f(x, rewards):
        made = MAKERS[make](rewards)
        nested = MAKERS[make]([rewards, [2.0 * r for r in rewards]])
        return ((w * x).sum() * made + nested).sum()

    compiled, x = tg.compile(f), tg.tensor([0.5, -1.0, 2.0])
    tg.set_default_dtype(default)
    try:
        for k in range(4):
            found, expected = compiled(x, numbers(0.1 * k, 3)), f(x, numbers(0.1 * k, 3))
            assert_same_bits(found.detach().numpy(), expected.detach().numpy())
            found.backward()
            gradient, w.grad = w.grad, None
            expected.backward()
            assert_same_bits(gradient.numpy(), w.grad.numpy())
            w.grad = None
        assert compiled.cache_info().versions == 1
    finally:
        tg.set_default_dtype("float64")


def test_tensors_of_lists_follow_the_default_dtype():
    items = numbers(0.1)
    compiled = tg.compile(lambda x: (tg.tensor(items), tg.Tensor(items), tg.tensor(items[0])))
    try:
        for default in ("float64", "float32", "float64"):
            tg.set_default_dtype(default)
            for made in compiled(tg.tensor(X)):
                assert made.dtype == default
            for made in tg.compile(lambda a, b: (tg.tensor(a), tg.Tensor(b)))(0.5, items):
                assert made.dtype == default
    finally:
        tg.set_default_dtype("float64")


def test_the_list_stays_a_list():
    items = numbers(0.1)
    f = tg.compile(lambda x: (np.array(items) * x, items))
    for k in (1.0, 2.0):
        items[:] = numbers(k)
        value, found = f(X)
        assert_same_bits(value, np.array(items) * X)
        assert found == items
        assert type(found) is list


def test_one_step_of_the_check_and_one_input():
    items = numbers(0.1, 500)
    f = tg.compile(lambda x: np.dot(items, x))
    f(np.ones(500))
    (version,) = f._versions[next(iter(f._versions))]
    assert len(version.captured) == 1
    assert len(version.world.guards) < 8
