"""Defaults of parameters that their owner changes between calls: items, keys, lengths, arrays."""

# ruff: noqa: B006, B008
from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import tracegrad as tg

X = np.array([1.0, 2.0, 3.0])
BACKENDS = ["numpy", "numba", "jax"]


@dataclass
class Settings:
    steps: int = 1
    weight: float = 2.0


def turns() -> Any:
    def f(x: Any, settings: Any = {"n": 1}) -> Any:
        s = 0.0
        for _ in range(settings["n"]):
            s = s + (x * x).sum()
        return s

    return f


def branch() -> Any:
    def f(x: Any, settings: Any = {"mode": "plain"}) -> Any:
        return (x if settings["mode"] == "plain" else x * x).sum()

    return f


def key() -> Any:
    def f(x: Any, settings: Any = {}) -> Any:
        return (x * settings.get("scale", 1.0)).sum()

    return f


def numbers() -> Any:
    def f(x: Any, scales: Any = [1.0]) -> Any:
        return sum((x * scale).sum() for scale in scales)

    return f


def history() -> Any:
    def f(x: Any, seen: Any = []) -> Any:
        return x.sum() * (1.0 + len(seen))

    return f


def nested() -> Any:
    def f(x: Any, *, scales: Any = {"a": {"b": [2.0, (1, 3.0)]}}) -> Any:
        one, (count, other) = scales["a"]["b"]
        return (x * one + count * other).sum()

    return f


def fields() -> Any:
    def f(x: Any, settings: Any = Settings()) -> Any:
        return (x * settings.weight).sum() * settings.steps

    return f


def array() -> Any:
    def f(x: Any, w: Any = np.ones(3)) -> Any:
        return (x * w).sum()

    return f


def arrays() -> Any:
    def f(x: Any, w: Any = ([np.ones(3)], 1)) -> Any:
        return (x * w[0][0]).sum()

    return f


def behind_another() -> Any:
    def f(x: Any, a: Any = 1.0, b: Any = [2]) -> Any:
        return (x * a).sum() * b[0]

    return f


def in_both() -> Any:
    def f(x: Any, a: Any = [1.0], *, b: Any = {"n": 1}) -> Any:
        return (x * a[0]).sum() * b["n"]

    return f


def of_a_partial() -> Any:
    def f(x: Any, settings: Any) -> Any:
        return (x * settings["a"]).sum() * settings["n"]

    return functools.partial(f, settings={"a": 2.0, "n": 1})


def first(f: Any) -> Any:
    return f.__defaults__[0]


def items(f: Any) -> Any:
    return f.__kwdefaults__["scales"]["a"]["b"]


CHANGES: dict[str, tuple[Callable[[], Any], Callable[[Any], Any]]] = {
    "an int": (turns, lambda f: first(f).update(n=4)),
    "a string": (branch, lambda f: first(f).update(mode="squared")),
    "another key": (key, lambda f: first(f).update(scale=8.0)),
    "a float": (numbers, lambda f: first(f).__setitem__(0, 4.0)),
    "a float to an int": (numbers, lambda f: first(f).__setitem__(0, 4)),
    "a length": (numbers, lambda f: first(f).append(4.0)),
    "the length of what was empty": (history, lambda f: first(f).append(1)),
    "a tuple within": (nested, lambda f: items(f).__setitem__(1, (2, 5.0))),
    "a float within": (nested, lambda f: items(f).__setitem__(0, 5.0)),
    "a field of int": (fields, lambda f: setattr(first(f), "steps", 3)),
    "a field of float": (fields, lambda f: setattr(first(f), "weight", 3.0)),
    "an array": (array, lambda f: first(f).fill(4.0)),
    "the shape of an array": (array, lambda f: setattr(first(f), "shape", (3, 1))),
    "an array within": (arrays, lambda f: first(f)[0][0].fill(4.0)),
    "a dtype": (arrays, lambda f: first(f)[0].__setitem__(0, np.full(3, 2))),
    "a rank": (arrays, lambda f: first(f)[0].__setitem__(0, np.full((3, 1), 2.0))),
    "an array's length": (arrays, lambda f: first(f)[0].__setitem__(0, np.full(1, 2.0))),
    "an array to a float": (arrays, lambda f: first(f)[0].__setitem__(0, 3.0)),
    "one behind another": (behind_another, lambda f: f.__defaults__[1].__setitem__(0, 5)),
    "one of two": (in_both, lambda f: f.__kwdefaults__["b"].update(n=5)),
    "an int of a partial": (of_a_partial, lambda f: f.keywords["settings"].update(n=5)),
    "a float of a partial": (of_a_partial, lambda f: f.keywords["settings"].update(a=5.0)),
}


def by_vjp(f: Any, backend: str) -> Any:
    def called(x: Any) -> Any:
        value, pull = tg.vjp(f, x, backend=backend)
        return value, pull(1.0)[0]

    return called


def by_linearize(f: Any, backend: str) -> Any:
    def called(x: Any) -> Any:
        value, along = tg.linearize(f, x, backend=backend)
        return value, along(x)

    return called


def of_two(transformed: Any) -> Any:
    return lambda x: transformed(np.stack([x, x + 1.0]))


TRANSFORMS: dict[str, Callable[[Any, str], Any]] = {
    "compile": lambda f, b: tg.compile(f, backend=b),
    "value_and_grad": lambda f, b: tg.value_and_grad(f, backend=b),
    "jacobian": lambda f, b: tg.jacobian(f, backend=b),
    "hessian": lambda f, b: tg.hessian(f, backend=b),
    "vjp": by_vjp,
    "jvp": lambda f, b: lambda x: tg.jvp(f, (x,), (x,), backend=b),
    "linearize": by_linearize,
    "vmap": lambda f, b: of_two(tg.vmap(f, backend=b)),
    "vmap of grad": lambda f, b: of_two(tg.vmap(tg.grad(f), backend=b)),
    "checkpoint": lambda f, b: tg.value_and_grad(tg.checkpoint(f), backend=b),
}
FEW = ["value_and_grad", "vjp", "vmap"]  # with the backends that compile longer


def numbers_of(result: Any) -> list[Any]:
    parts = result if isinstance(result, tuple) else (result,)
    return [np.asarray(part).tolist() for part in parts]


@pytest.mark.sampled(5)
@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize(
    ("transform", "backend"),
    [(t, b) for b in BACKENDS for t in TRANSFORMS if b == "numpy" or t in FEW],
)
def test_changes_between_calls(change: str, transform: str, backend: str) -> None:
    make, happens = CHANGES[change]

    def changed() -> Any:
        f = make()
        happens(f)
        return f

    f = make()
    called = TRANSFORMS[transform](f, backend)
    before = numbers_of(called(X))
    assert numbers_of(called(X)) == before
    happens(f)
    expected = numbers_of(TRANSFORMS[transform](changed(), backend)(X))
    assert [numbers_of(called(X)) for _ in range(2)] == [expected, expected]
    if transform in ("compile", "value_and_grad", "vjp"):
        np.testing.assert_allclose(expected[0], f(X))


@pytest.mark.filterwarnings("ignore::tracegrad.errors.RecompileWarning")
@pytest.mark.parametrize("backend", BACKENDS)
def test_written_by_a_mapped_function(backend: str) -> None:
    """Each example is a call of its own, as for what is global."""

    def f(x: Any, calls: Any = [], total: Any = [0.0]) -> Any:
        calls.append(1)
        total[0] += 1.0
        return x * len(calls) * total[0]

    with pytest.warns(UserWarning, match="one example after the other"):
        assert tg.vmap(f, backend=backend)(X).tolist() == [1.0, 8.0, 27.0]
    assert f.__defaults__ == ([1, 1, 1], [3.0])


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("backend", BACKENDS)
def test_arrays_written_by_a_mapped_function(backend: str) -> None:
    def f(x: Any, total: Any = np.zeros(1), *, other: Any = np.zeros(1)) -> Any:
        total += 1.0
        other[0] += 2.0
        return x * total[0] * other[0]

    def of_a_helper(x: Any) -> Any:
        return f(x)

    assert tg.vmap(f, backend=backend)(X).tolist() == [2.0, 16.0, 54.0]
    assert tg.vmap(of_a_helper, backend=backend)(X).tolist() == [32.0, 100.0, 216.0]
    assert (f.__defaults__, f.__kwdefaults__) == (([6.0],), {"other": [12.0]})


def test_a_mapped_function_is_given_what_stands_behind_a_default() -> None:
    def f(x: Any, a: Any = 1.0, b: Any = 2.0) -> Any:
        return x * a * a * b

    mapped = tg.vmap(f)
    for _ in range(2):
        assert mapped(X, b=np.full(3, 5.0)).tolist() == (X * 5.0).tolist()


def test_a_default_that_is_passed_as_well() -> None:
    scales = {"a": 2.0}

    def f(x: Any, one: Any = scales, other: Any = scales) -> Any:
        return (x * one["a"] * other["a"]).sum()

    mapped = tg.vmap(f, in_axes=(0, None))
    assert mapped(X[None], scales).tolist() == [24.0]
    scales["a"] = 3.0
    assert mapped(X[None], scales).tolist() == [54.0]


INSIDE: dict[str, Callable[[Any], Any]] = {
    "compile": tg.compile,
    "grad": tg.grad,
    "value and grad": tg.value_and_grad,
    "grad of compiled": lambda f: tg.grad(tg.compile(f)),
}


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("inside", INSIDE)
@pytest.mark.parametrize("by_name", [False, True])
def test_a_default_that_is_written_inside_a_mapped_function(inside: str, by_name: bool) -> None:
    """Each example meets what those before it left there."""
    buffer = np.zeros(2)

    def by_position(x: Any, store: Any = buffer) -> Any:
        store[0] = store[0] + 1.0
        return x * store[0]

    def named(x: Any, *, store: Any = buffer) -> Any:
        store[0] += 1.0
        return x * store[0]

    mapped = tg.vmap(INSIDE[inside](named if by_name else by_position))
    x, turns = np.arange(1.0, 4.0), np.arange(1.0, 4.0)
    for _ in range(2):
        found = mapped(x)
        value, slope = x * turns, turns
        expected = {"compile": value, "value and grad": (value, slope)}.get(inside, slope)
        np.testing.assert_array_equal(found, expected)
        turns = turns + 3
    assert buffer[0] == 6
