"""Tensors, and containers of them, that compiled functions write to: by every call, as eager."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import tracegrad as tg

pytestmark = pytest.mark.filterwarnings("ignore::tracegrad.errors.RecompileWarning")


def added(buffer, x):
    buffer += x.sum()
    return x.sum()


def by_methods(buffer, x):
    buffer.mul_(2.0)
    buffer.add_(x.sum())
    return x.sum() * 2.0


def overwritten(buffer, x):
    buffer[...] = x.sum()
    return x.sum()


def through_a_view(buffer, x):
    view = buffer.reshape(-1)
    view[0] = x[0] * 3.0
    return x.sum()


def in_a_dictionary(state, x):
    state["buffer"] += x.sum()
    state["last"] = x
    return x.sum()


def in_a_list(history, x):
    history[0] *= 2.0
    history.append(x * 2.0)
    return x.sum()


def where_it_is_positive(buffer, x):
    if x[0] > 0:
        buffer += 1.0
    return x.sum()


FUNCTIONS = [added, by_methods, overwritten, through_a_view, in_a_dictionary, in_a_list]
FUNCTIONS += [where_it_is_positive]
BUFFERS: dict[str, Callable[[], Any]] = {
    "vector": lambda: tg.tensor(np.ones(3)),
    "number": lambda: tg.tensor(1.0),
    "of memory of NumPy's": lambda: tg.as_tensor(np.ones(3)),
    "row": lambda: tg.tensor(np.ones((2, 3)))[1],
    "float32": lambda: tg.tensor(np.ones(3, np.float32)),
}


def shown(x: Any) -> Any:
    if isinstance(x, dict):
        return {key: shown(value) for key, value in x.items()}
    if isinstance(x, list):
        return [shown(value) for value in x]
    return type(x).__name__, x.dtype.name, x.detach().numpy().tolist(), x.requires_grad


@pytest.mark.sampled(3)
@pytest.mark.parametrize("f", FUNCTIONS, ids=lambda f: f.__name__)
@pytest.mark.parametrize("kind", BUFFERS)
@pytest.mark.parametrize("requires_grad", [False, True])
@pytest.mark.parametrize("backend", ["numpy", "jax"])
def test_written_as_in_eager(f: Any, kind: str, requires_grad: bool, backend: str) -> None:
    def results(called: Any) -> list[Any]:
        given: Any = BUFFERS[kind]()
        if f is in_a_dictionary:
            given = {"buffer": given}
        if f is in_a_list:
            given = [given]
        found: list[Any] = []
        for i in range(4):
            x = tg.tensor(np.arange(3.0) + i - 1.0, requires_grad=requires_grad)
            try:
                found.append((float(called(given, x).detach()), shown(given)))
            except tg.errors.GradientError as error:  # memory of NumPy's has no history
                found.append(str(error).split(":")[0])
        return found

    assert results(tg.compile(f, backend=backend)) == results(f)


def test_what_a_tape_reads_is_watched() -> None:
    """A backward that reads what a call has written since is an error."""

    def f(buffer, x, writes):
        if writes:
            buffer += x
        return x.sum()

    for known in (False, True):  # a version that does not write
        compiled = tg.compile(f, static_argnames=("writes",))
        buffer, x = tg.tensor(np.ones(3)), tg.tensor(np.ones(3))
        if known:
            compiled(buffer, x, False)
            compiled(buffer, x, False)
        for _ in range(3):
            w = tg.tensor([1.0, 2.0, 3.0], requires_grad=True)
            product = w * buffer
            compiled(buffer, x, True)
            with pytest.raises(tg.errors.GradientError, match="modified"):
                product.sum().backward()


def state() -> Any:
    w = tg.tensor([1.5, 2.5], requires_grad=True)
    items = [tg.tensor([0.3 + i, 1.0]) for i in range(10)]
    matrix = tg.tensor([[0.3, 0.1], [0.2, -0.5]])
    return SimpleNamespace(w=w, h=tg.tensor([0.7, -0.4]), m=tg.ones(2), items=items, matrix=matrix)


def add(tensor: Any, value: float = 1.0) -> None:
    with tg.no_grad():
        tensor.add_(value)


def behind_its_use(s, x):
    y = x * s.h
    s.h.add_(1.0)
    return (y * y).sum()


def behind_its_use_with_a_parameter(s, x):
    y = s.w * s.h * x
    add(s.h)
    return y.sum()


def behind_a_use_that_no_rule_reads(s, x):
    y = x + s.h * 2.0
    add(s.h)
    return (y * s.w).sum()


def before_its_use(s, x):
    add(s.h)
    return (x * s.h * s.w).sum()


def between_two_uses(s, x):
    y = x * s.h
    add(s.h)
    return (y * s.w * s.h * x).sum()


def in_iterations(s, x):
    y = x
    for _ in range(10):
        y = y * s.h + x
        add(s.h, 0.1)
    return y.sum()


def in_a_list_behind_its_use(s, x):
    y = x
    for h in s.items:
        y = y * h
        add(h)
    return y.sum()


def behind_the_use_of_a_view(s, x):
    view = s.h[:1]
    y = x * view * s.h.detach()
    add(s.h)
    return y.sum()


def behind_the_use_of_a_matrix(s, x):
    y = s.matrix @ x
    add(s.matrix)
    return (y * y).sum()


def in_an_arm(s, x):
    y = (x + 2.0) ** s.h
    if x[0] > 0:
        add(s.h)
    return (y * s.w).sum()


def under_another_name(s, x):
    y = x * s.h
    s.m, s.h = s.h, s.m
    add(s.m)
    return (y * s.w).sum()


def to_a_leaf(s, x):
    y = (x * s.w).sum()
    s.w.data.clamp_(-0.1, 0.1)
    return y


BEHIND = [behind_its_use, behind_its_use_with_a_parameter, behind_a_use_that_no_rule_reads]
BEHIND += [before_its_use, between_two_uses, in_iterations, in_a_list_behind_its_use]
BEHIND += [behind_the_use_of_a_view, behind_the_use_of_a_matrix, in_an_arm, under_another_name]
BEHIND += [to_a_leaf]


def difference(f: Any, x: np.ndarray, before: int) -> np.ndarray:
    """The gradient in `x` of a call that comes after so many others, by differences."""

    def value(x: np.ndarray, given: np.ndarray) -> float:
        s = state()
        for _ in range(before):
            f(s, tg.tensor(given))
        return float(f(s, tg.tensor(x)).detach())

    steps = 1e-6 * np.eye(len(x))
    return np.array([(value(x + step, x) - value(x - step, x)) / 2e-6 for step in steps])


@pytest.mark.parametrize("order", ["one after the other", "all backwards at the end", "written"])
@pytest.mark.parametrize("f", BEHIND, ids=lambda f: f.__name__)
def test_a_gradient_is_that_of_the_call_or_is_refused(f: Any, order: str) -> None:
    """A call whose backward eager code refuses may have one. It is never that of other values."""
    given, s = np.array([0.6, -1.2]), state()
    compiled, waiting, found = tg.compile(lambda x: f(s, x)), [], []

    def back(x: Any, y: Any) -> None:
        try:
            y.backward()
            found.append(x.grad.numpy())
        except tg.errors.BackwardError as error:
            assert "modified by an inplace operation" in str(error)
            found.append(None)

    for _ in range(3):
        x = tg.tensor(given, requires_grad=True)
        waiting.append((x, compiled(x)))
        if order == "written":
            for tensor in (s.h, s.matrix, *s.items):
                tensor.mul_(5.0)
        if order != "all backwards at the end":
            back(*waiting.pop())
        if order == "written":
            break
    for x, y in waiting:
        back(x, y)
    for before, gradient in enumerate(found):
        if gradient is not None:
            np.testing.assert_allclose(gradient, difference(f, given, before), atol=1e-5)


@pytest.mark.parametrize("kind", ["tensors", "arrays"])
@pytest.mark.parametrize("recorded", [True, False])
def test_a_buffer_may_get_a_history_between_calls(recorded: bool, kind: str) -> None:
    def f(s, x):
        with tg.set_grad_enabled(recorded):
            s.h.mul_(x)
        return x.sum()

    def seen(call: Any) -> list[Any]:
        s, found = state(), []
        called = call(lambda x: f(s, x))
        for k in range(7):
            if k == 2:
                s.h = s.w * 3.0
            if k == 3:
                s.h = tg.ones(2)
            if k in (4, 6):
                s.h = tg.ones(2, requires_grad=k == 4)
            x = np.array([1.0 + k, 2.0])
            try:
                called(x if kind == "arrays" else tg.tensor(x))
            except tg.errors.GradientError:
                found.append("refused")
            gradient = None
            if s.h.requires_grad:
                s.w.grad = None
                s.h.sum().backward()
                gradient = None if s.w.grad is None else s.w.grad.tolist()
            found.append((shown(s.h), gradient))
        return found

    assert seen(tg.compile) == seen(lambda f: f)


def test_a_buffer_with_a_history_is_written_by_a_function_of_arrays() -> None:
    s = state()

    @tg.compile
    def f(x):
        s.h.mul_(x)
        return x.sum()

    for _ in range(3):
        s.w.grad, s.h = None, s.w * 2.0
        f(np.array([3.0, 4.0]))
        s.h.sum().backward()
        assert s.w.grad.tolist() == [6.0, 8.0]


def test_what_is_written_is_returned() -> None:
    s = state()

    @tg.compile
    def f(x):
        s.h.add_(x)
        return s.h, {"h": s.h}

    @tg.compile
    def of_argument(h, x):
        h.add_(x)
        return h

    for k in range(1, 4):
        one, other = f(np.ones(2))
        assert isinstance(one, np.ndarray)
        np.testing.assert_allclose(one, [0.7 + k, -0.4 + k])
        np.testing.assert_allclose(other["h"], one)
    one, other = f(tg.ones(2))
    assert one is s.h and other["h"] is s.h
    for _ in range(3):
        assert of_argument(s.h, tg.ones(2)) is s.h
