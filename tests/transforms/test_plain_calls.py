"""Calls without a program of functions that are plain: they run as they are, at Python's speed."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from unittest import mock

import numpy as np
import pytest
from checks import assert_same_bits

import tracegrad as tg
from tracegrad.errors import FiniteError, RecompileWarning
from tracegrad.tracing import compile_budget
from tracegrad.transforms import call
from tracegrad.values.pytree import flatten
from tracegrad.world import untraced_world


@contextmanager
def interpreted() -> Iterator[list[str]]:
    """Notes the runs in the machine that no trace is made of."""
    found: list[str] = []
    before = untraced_world.Answers.__init__

    def made(self: Any, tapes: bool) -> None:
        found.append("a run")
        before(self, tapes)

    with mock.patch.object(untraced_world.Answers, "__init__", made):
        yield found


def given_up(f: Callable[..., Any], **options: Any) -> Any:
    """The function, compiled, of which no call has a program."""
    compiled = tg.compile(f, **options)
    compiled._give_up("the test wants it")
    return compiled


def appends_in_an_arm() -> tuple[Callable[..., Any], list[Any]]:
    kept: list[Any] = []

    def f(x, u):
        for i in range(12):
            p = x + np.sin(u[i])
            if u[i] < 0.5:
                x = p
                kept.append(i)
        return x

    return f, kept


def test_paths_that_no_version_knows_run_as_they_are(monkeypatch):
    """The budget is spent: calls run the plain function, and say so once."""
    now = [0.0]
    monkeypatch.setattr(compile_budget, "clock", lambda: now[0])
    make_version = call.make_version

    def costly(*args):
        now[0] += 0.7
        return make_version(*args)

    monkeypatch.setattr(call, "make_version", costly)
    plain, kept = appends_in_an_arm()
    function, found = appends_in_an_arm()
    f = tg.compile(function)
    with interpreted() as runs, warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        for seed in range(60):
            rng = np.random.default_rng(seed)
            x, u = rng.normal(size=3), rng.random(12)
            assert_same_bits(f(x, u), plain(x, u))
            assert found == kept
    assert not runs
    assert f.cache_info().misses > 50 and f.cache_info().traces < 5
    (said,) = [str(w.message) for w in told if w.category is RecompileWarning]
    assert "f: compiling has taken 1.4 s, and most calls take paths that no version knows" in said
    assert "and runs eagerly before" in f.explain()


@pytest.mark.parametrize("order", [1, -1])
def test_a_function_from_the_same_def_keeps_its_loop(order):
    """What is kept in one closure alone unrolls the loop of no other one."""

    def make(kept, bound):
        def f(x, u):
            for i in range(9):
                p = x + u[i]
                if p.sum() < bound:
                    x = p
                    if kept is not None:
                        kept.append(i)
            return x

        return f

    rng = np.random.default_rng(0)
    for kept in [[], None, [], None][::order]:
        f, g = tg.compile(make(kept, 1.0)), make(None, 1.0)
        for _ in range(8):
            x, u = rng.normal(size=3), rng.normal(size=9)
            assert_same_bits(f(x, u), g(x, u))
        if kept is None:
            assert f.cache_info().hits >= 6
            assert "loops that are unrolled" not in f.explain()


def test_a_function_that_was_given_up_runs_as_it_is():
    frames = []

    def f(x):
        frames.append(sys._getframe(1).f_code.co_name)
        return x * 2.0

    compiled = given_up(f)
    with interpreted() as runs:
        assert_same_bits(compiled(np.ones(3)), 2.0 * np.ones(3))
    assert not runs


RETURNED = {
    "the argument": lambda x: x,
    "a view": lambda x: x[1:],
    "one array twice": lambda x: (y := x + 1.0, y),
    "containers": lambda x: {"a": [x, x * 2.0]},
}


@pytest.mark.parametrize("name", RETURNED)
def test_results_are_the_callers(name):
    """No result shares memory with an argument, or with another one."""
    x = np.arange(4.0)
    f = RETURNED[name]
    with interpreted() as runs:
        found = given_up(f)(x)
    assert not runs
    assert_same_bits(found, tg.compile(f)(x))
    arrays = [x]
    for array in flatten(found)[0]:
        assert not any(np.shares_memory(array, other) for other in arrays)
        arrays.append(array)


def test_containers_and_arrays_of_the_caller_are_changed():
    def f(x, table):
        x[0] = 5.0
        table["seen"] = table.get("seen", 0) + 1
        return x.sum()

    x, table = np.ones(3), {"seen": 1}
    with interpreted() as runs:
        assert given_up(f)(x, table) == 7.0
    assert not runs
    assert x[0] == 5.0 and table == {"seen": 2}


def test_an_iterator_is_refused_as_ever():
    f = given_up(lambda x: iter([x, x]))
    with pytest.raises(tg.errors.TraceError, match="iterator"):
        f(np.ones(2))


def test_results_that_are_not_finite_are_named():
    def f(x):
        y = x / 0.0
        return y * 2.0

    tg.config.check_finite = True
    try:
        with np.errstate(divide="ignore"), pytest.raises(FiniteError, match="y"):
            given_up(f)(np.ones(3))
    finally:
        tg.config.check_finite = False


WEIGHT = tg.tensor([1.0, 2.0, 3.0], requires_grad=True)


def test_functions_that_read_tensors_run_on_tensors():
    def f(x):
        out = np.zeros(2)
        out[0] = (x * WEIGHT).sum()
        return out

    with interpreted() as runs:
        found = given_up(f)(np.ones(3))
    assert runs
    assert found[0].item() == 6.0


def test_derivatives_run_on_tensors():
    f = tg.grad(lambda x: (x * x).sum())
    f._give_up("the test wants it")
    assert_same_bits(f(np.ones(3)), 2.0 * np.ones(3))
