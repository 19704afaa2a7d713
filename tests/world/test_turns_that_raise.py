"""Loops of which a turn raises midway leave what plain Python leaves, wherever that is.

Turns that are run by what was recorded raise in the walk; the frames go back to a place before it,
and the function itself raises there. Faults are planted in the walk, once in a run: the function
does not raise then, and what it returns must be as without them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from programs import PROGRAMS

import tracegrad as tg
from tracegrad.values.pytree import flatten
from tracegrad.world.loops.loop_runner import Walk


def filled_behind_a_while(x: Any) -> Any:
    items = []
    count = 0
    while count < 9:
        count += 1
    for v in x:
        items.append(v * v)
    total, n = 0.0, 0
    for v in items:
        total = total + v
        n = n + 1
    return total * n, len(items)


def counted_behind_a_while(x: Any) -> Any:
    state = {"n": 0, "s": x[0]}
    while np.sum(state["s"]) < 50.0:
        state["s"] = state["s"] * 1.5
    state["n"] += 1
    for v in x:
        state["s"] = state["s"] + v
    state["n"] += 1
    for v in x:
        state["s"] = state["s"] * np.cos(v)
    return state["s"] * state["n"], state["n"]


def nested(x: Any) -> Any:
    total, log = 0.0, []
    for i in range(12):
        rows = []
        for v in x:
            rows.append(v * i)
            total = total + np.sin(v)
        log.append(sum(rows))
    return total + sum(log) * len(log)


def left_early(x: Any) -> Any:
    n = 0
    for _ in range(100):
        x = x * 1.1
        n += 1
        if np.sum(x) > 500.0:
            break
    for v in x:
        n = n + v
    return n


FUNCTIONS: dict[str, Callable[..., Any]] = {
    f.__name__: f for f in (filled_behind_a_while, counted_behind_a_while, nested, left_early)
}
NAMES = [
    *("while_on_value", "states_in_a_list", "pipeline_of_iterators", "states_of_a_class"),
    *(
        "determinant_by_elimination",
        "gauss_elimination",
        "cholesky_of_rows",
        "windows_and_histories",
    ),
    *("counters_read_behind", "variables_that_turns_set_to_floats", "adaptive_steps"),
]
X = np.linspace(1.0, 2.0, 12)


class Planted:
    """Raises in the walk's step number `at`, before or behind what it does."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.count = self.at = 0
        self.behind = False
        for name in ("_compute", "_call"):
            monkeypatch.setattr(Walk, name, self.step(getattr(Walk, name)))

    def step(self, plain: Any) -> Any:
        def step(walk: Any, node: Any) -> None:
            self.count += 1
            raises = self.count == self.at
            if self.behind or not raises:
                plain(walk, node)
            if raises:
                raise ArithmeticError("planted")

        return step

    def run(self, call: Callable[[], Any], at: int = 0, behind: bool = False) -> Any:
        self.count, self.at, self.behind = 0, at, behind
        return call()


def require_same(call: Callable[[], Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """A call gives the same wherever a turn of it raises."""
    planted = Planted(monkeypatch)
    expected = flatten(planted.run(call))[0]
    steps = planted.count
    assert steps
    for at in sorted({1, steps // 3, steps // 2, steps} - {0}):
        for behind in (False, True):
            found = flatten(planted.run(call, at, behind))[0]
            for one, other in zip(found, expected, strict=True):
                np.testing.assert_array_equal(one, other, f"step {at} of {steps}, {behind}")


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.filterwarnings("ignore::tracegrad.errors.RecompileWarning")
def test_a_turn_that_raises_is_made_once_more(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    require_same(lambda: tg.compile(FUNCTIONS[name])(X), monkeypatch)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.filterwarnings("ignore::tracegrad.errors.RecompileWarning")
def test_programs_of_the_corpus(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    program = next(p for p in PROGRAMS if p.name == name)
    given = {"argnums": program.argnums, "has_aux": program.has_aux}

    def call() -> Any:
        return tg.value_and_grad(program.new(), **given)(*program.args)

    require_same(call, monkeypatch)


def test_the_test_of_a_while_raises_and_the_function_goes_on() -> None:
    def factored(x: Any) -> Any:
        total, a = x.sum() + 0.0, np.outer(x, x) * 0 + np.eye(len(x)) * 3
        try:
            while np.sum(np.linalg.cholesky(a)) > 0.0:
                a = a - np.eye(len(x)) * 0.25
                total = total * 1.1
        except np.linalg.LinAlgError:
            pass
        return total

    for transform in (tg.compile, lambda f: lambda x: tg.value_and_grad(f)(x)[0]):
        g = transform(factored)
        assert [g(X) for _ in range(3)] == [factored(X)] * 3


def test_a_list_that_is_filled_behind_a_while_is_gone_through() -> None:
    f = filled_behind_a_while
    g = tg.value_and_grad(f, has_aux=True)
    for _ in range(3):
        (value, length), _ = g(X)
        assert (value, length) == f(X)
    assert g.cache_info().versions == 1
