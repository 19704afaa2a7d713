"""A function of arrays that runs eagerly writes to what its backward needs: that stays as it was.

Its values, gradients and effects are those of its program, whether the array is an argument, a
view of one, or made inside. A write that nothing has saved costs no memory.
"""

from __future__ import annotations

import tracemalloc
from typing import Any

import numpy as np
import pytest

import tracegrad as tg


def an_argument(a: Any, x: Any) -> Any:
    w = x * a
    x[0] = 5.0
    return w.sum()


def a_copy(a: Any, x: Any) -> Any:
    x = x.copy()
    w = x * a
    x[0] = 5.0
    return w.sum()


def a_view(a: Any, x: Any) -> Any:
    y = x[1:]
    w = y * a
    y[0] = 7.0
    v = x * a * a
    x[:] = 1.0
    return w.sum() * v.sum() + (x * a).sum()


def again_and_again(a: Any, x: Any) -> Any:
    s = 0.0
    for k in range(5):
        s = s + (x * a).sum() * k
        x[k % 3] += 1.0
    return s * a


def swapped(a: Any, x: Any) -> Any:
    s = 0.0
    for _ in range(5):
        y = x[::-1] * a
        x[:2], x[1:] = x[1:].copy(), x[:2].copy()
        s = s + (y * np.sin(y)).sum()
    return s


def of_another_shape(a: Any, x: Any) -> Any:
    column = x.reshape(3, 1)
    w = np.sin(column * a)
    column[1] = 3.0
    x[0] = 2.0
    return (w * x).sum()


def an_element(a: Any, x: Any) -> Any:
    z = x * 1.0
    w = z[0] * a
    z[0] = 9.0
    return w * z[0]


def made_inside(a: Any, x: Any) -> Any:
    b = np.ones(3)
    w = b * a
    b[0] = 5.0
    c = b
    c *= 2
    return (w * b).sum()


def by_functions(a: Any, x: Any) -> Any:
    w = np.maximum(x, 1.0) * a
    x.fill(0.0)
    np.multiply(x, 2.0, out=x)
    return (w * x).sum() + (w * w).sum()


def sorted_in_place(a: Any, x: Any) -> Any:
    w = x[::-1] * a
    x[::-1].sort()
    return (w * x * a).sum()


FUNCTIONS = [
    *(an_argument, a_copy, a_view, again_and_again, swapped, of_another_shape, an_element),
    *(made_inside, by_functions, sorted_in_place),
]


@pytest.mark.parametrize("f", FUNCTIONS)
@pytest.mark.parametrize("order", [1, 2])
def test_gradients_and_effects_are_those_of_the_program(
    f: Any, order: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    g = tg.value_and_grad(f if order == 1 else tg.grad(f))
    compiled, eager, plain = (np.arange(3.0) + 0.5 for _ in range(3))
    expected = g(0.7, compiled)
    monkeypatch.setattr(tg.config, "compile", False)
    found = g(0.7, eager)
    assert found == expected
    assert np.array_equal(compiled, eager)
    value = f(0.7, plain)
    assert np.array_equal(plain, eager)
    if order == 1:
        assert found[0] == value
        h = 1e-6
        central = (f(0.7 + h, np.arange(3.0) + 0.5) - f(0.7 - h, np.arange(3.0) + 0.5)) / (2 * h)
        assert np.isclose(found[1], central, rtol=1e-6)


VIEWS = {
    "own": lambda: np.arange(3.0) + 0.5,
    "a part": lambda: (np.arange(8.0) + 0.5)[2:5],
    "backwards": lambda: (np.arange(3.0) + 0.5)[::-1],
    "strided": lambda: (np.arange(6.0) + 0.5)[::2],
}


@pytest.mark.parametrize("f", FUNCTIONS)
@pytest.mark.parametrize("view", VIEWS)
def test_so_they_are_in_each_call_with_the_same_array(
    f: Any, view: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    g = tg.value_and_grad(f)
    compiled, eager = VIEWS[view](), VIEWS[view]()
    expected = [(*g(0.7, compiled), compiled.tolist()) for _ in range(3)]
    monkeypatch.setattr(tg.config, "compile", False)
    assert [(*g(0.7, eager), eager.tolist()) for _ in range(3)] == expected


def test_pullbacks_of_several_calls_have_what_each_has_saved(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(tg.config, "compile", False)
    x, pullbacks = np.arange(3.0), []

    def written(w: Any) -> Any:
        return an_argument(w, x)

    for _ in range(4):
        before = x.copy()
        _, pull = tg.vjp(written, np.ones(3))
        pullbacks.append((pull, before))
        x += 1.0
    for pull, before in pullbacks:
        assert np.array_equal(pull(1.0)[0], before)


def test_calls_that_are_over_keep_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tg.config, "compile", False)
    x = np.zeros(10_000)
    g = tg.grad(an_argument)
    g(0.5, x)
    tracemalloc.start()
    for _ in range(50):
        g(0.5, x)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 10 * x.nbytes


def test_two_views_of_one_array_are_arguments(monkeypatch: pytest.MonkeyPatch) -> None:
    def f(a: Any, out: Any) -> Any:
        out[:] = a * 2
        out[0] += a[1]
        return (out * a).sum()

    monkeypatch.setattr(tg.config, "compile", False)
    z = np.arange(6.0) + 1
    assert tg.grad(f)(z[:3], z[3:]).tolist() == [6.0, 9.0, 12.0]


def test_writes_to_what_nothing_has_saved_keep_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    def f(a: Any, log: Any) -> Any:
        s = a
        for k in range(200):
            s = np.sin(s)
            log[k] = k * 0.5
        return s

    monkeypatch.setattr(tg.config, "compile", False)
    log = np.zeros(100_000)
    tracemalloc.start()
    tg.grad(f)(0.5, log)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 5 * log.nbytes


def test_tensors_that_users_write_to_are_refused_as_before() -> None:
    x, w = tg.ones(3), tg.ones(3, requires_grad=True)
    y = x * w
    x[0] = 5.0
    with pytest.raises(tg.errors.GradientError, match="x was changed"):
        y.sum().backward()
