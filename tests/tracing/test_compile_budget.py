"""Calls that cost seconds on a clock of the test enter: what is compiled, and what is said."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from checks import assert_same_bits

import tracegrad as tg
from tracegrad.errors import SlowCompileWarning
from tracegrad.ops.record import OpRecord
from tracegrad.tracing import compile_budget
from tracegrad.transforms import call
from tracegrad.world.loops import loop_runner


class Clock:
    """Stands still, but for what tracing, making versions, operations and eager calls cost."""

    def __init__(self, monkeypatch):
        self.now = 0.0
        self.costs = {"trace": 0.0, "compile": 0.0, "eager": 0.0}
        monkeypatch.setattr(compile_budget, "clock", lambda: self.now)
        self._charge(monkeypatch, call, "traced_run", "trace")
        self._charge(monkeypatch, call, "make_version", "compile")
        self._charge(monkeypatch, call.Calling, "_eager", "eager")
        self._charge(monkeypatch, call, "derivative_of_arrays", "eager")

    def _charge(self, monkeypatch, owner, name, kind):
        run = getattr(owner, name)

        def charged(*args):
            self.now += self.costs[kind]
            return run(*args)

        monkeypatch.setattr(owner, name, charged)


@pytest.fixture
def clock(monkeypatch):
    return Clock(monkeypatch)


def cube(x):
    return np.sum(x * x * x)


def by_rank(count):
    """Arguments of which each needs a version of its own."""
    return [np.ones((1,) * n + (2,)) for n in range(count)]


def compiled(f, x):
    """Whether a call was traced."""
    traces = f.cache_info().traces
    assert_same_bits(f(x), 3 * (x * x))
    return f.cache_info().traces > traces


def test_a_second_of_compiling_is_given(clock):
    clock.costs["compile"] = 0.3
    f = tg.grad(cube)
    assert [compiled(f, x) for x in by_rank(6)] == [True] * 4 + [False] * 2
    assert "compiling took 1200.0 ms, calls without a program 0.0 ms; more" in f.explain()
    assert "once these took 200.0 ms more" in f.explain()
    f.clear_cache()
    assert compiled(f, np.ones(2))


def test_eager_calls_earn_more(clock):
    clock.costs.update(compile=1.5, eager=0.2)
    f = tg.grad(cube)
    first, second, third = by_rank(3)
    assert compiled(f, first)
    assert [compiled(f, second) for _ in range(4)] == [False, False, False, True]
    assert [compiled(f, third) for _ in range(8)] == [False] * 7 + [True]
    assert not compiled(f, first) and f.cache_info().hits == 1
    assert f.explain().splitlines()[1].startswith("compiling took 4500.0 ms, calls without a")


def test_programs_cost_nothing_and_known_calls_are_answered(clock):
    clock.costs.update(trace=5.0, eager=0.1)
    f = tg.grad(cube)
    with pytest.warns(SlowCompileWarning):
        f(np.ones(2))
    for n in range(3, 9):
        assert not compiled(f, np.ones(n))
    assert f.cache_info().hits == 6
    assert "calls without a program 0.0 ms" in f.explain()


def two_ways(x):
    if x[0] > 0:
        return np.sum(x * 2.0)
    return np.sum(x * x)


def test_a_path_waits_until_it_is_earned(clock):
    clock.costs.update(compile=1.5, eager=0.02)
    f, x = tg.grad(two_ways), np.array([-1.0, 2.0])
    f(-x)
    for _ in range(60):
        assert_same_bits(f(x), 2.0 * x)
    assert (f.cache_info().traces, f.cache_info().versions) == (2, 1)
    assert f.cache_info().hits == 60 - 26
    assert "no path is added any more" not in f.explain()


def test_looking_at_the_source_compiles_in_any_case(clock):
    clock.costs["compile"] = 1.5
    f = tg.grad(cube)
    first, second = by_rank(2)
    f(first)
    assert not compiled(f, second)
    assert "x: float64 (n0, n1)" in f.source(second)
    assert not compiled(f, second) and f.cache_info().hits == 1


def test_a_run_that_raises_is_paid_too(clock):
    clock.costs["trace"] = 0.4

    def f(x):
        if x[0] < 0:
            raise KeyError("negative")
        return np.sum(x * x)

    made = tg.grad(f)
    for _ in range(6):
        with pytest.raises(KeyError):
            made(np.array([-1.0]))
    assert made.cache_info().traces == 3


def test_calls_on_tensors_earn_too(clock, monkeypatch):
    f, x = tg.compile(cube), tg.ones(2, requires_grad=True)
    clock.costs["compile"] = 1.5
    f(x)
    clock._charge(monkeypatch, call.Calling, "_inline", "eager")
    clock.costs["eager"] = 0.3
    y = tg.ones((2, 2), requires_grad=True)
    traces = []
    for _ in range(3):
        f(y).backward()
        traces.append(f.cache_info().traces)
    assert traces == [1, 1, 2]
    assert_same_bits(y.grad.numpy(), np.full((2, 2), 9.0))


# -- a call that takes long -----------------------------------------------------------------------


def said(f, *args):
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        f(*args)
    return [str(w.message) for w in seen if w.category is SlowCompileWarning]


def unrolled(x):
    for _ in list(range(30)):
        x = np.tanh(x) * 0.9
    return np.sum(x)


def listed(x):
    return np.sum(np.stack([np.tanh(row) for row in list(x)]))


def straight(x):
    return np.sum(np.tanh(x) * np.exp(x))


def test_an_unrolled_loop_is_named(clock):
    clock.costs.update(trace=1.0, compile=1.1)
    (message,) = said(tg.grad(unrolled), np.ones(3))
    assert message.startswith("unrolled: compiling this call took 2.1 s: 61 operations were rec")
    line = unrolled.__code__.co_firstlineno
    assert f"30 times that of test_compile_budget.py:{line + 2}  x = np.tanh(x) * 0.9" in message
    assert (
        f"the loop test_compile_budget.py:{line + 1}  for _ in list(range(30)): is unrolled "
        "(it goes through a list of which no array is known)" in message
    )
    assert "along an axis" in message and "tg.config.compile = False" in message
    (message,) = said(tg.grad(listed), np.ones((40, 2)))
    assert "the loop test_compile_budget.py" in message and "40 times" in message


def test_a_loop_of_a_derivative_in_the_function_is_told_the_way_out(clock):
    clock.costs.update(trace=1.0, compile=1.1)

    def rolled(x):
        for _ in range(30):
            x = np.tanh(x) * 0.9
        return np.sum(x)

    (message,) = said(tg.grad(lambda x: np.sum(tg.grad(rolled)(x) ** 2)), np.ones(3))
    assert "is unrolled, because the function takes a derivative of it. Derive the pl" in message
    (message,) = said(tg.grad(tg.checkpoint(rolled)), np.ones(3))
    assert "is unrolled, because tg.checkpoint makes it again. Give tg.checkpoint a m" in message
    (message,) = said(tg.grad(rolled), np.ones(3))
    assert "unrolled" not in message


def test_turns_that_the_first_call_runs_are_no_compiling(clock, monkeypatch):
    run = loop_runner.Walk._run

    def slow(walk, behind):
        clock.now += 10.0
        return run(walk, behind)

    monkeypatch.setattr(loop_runner.Walk, "_run", slow)

    def rolled(x):
        for _ in range(30):
            x = np.tanh(x) * 0.9
        return np.sum(x)

    assert not said(tg.grad(rolled), np.ones(3))
    assert clock.now >= 10.0


def test_it_is_said_once_and_only_where_compiling_took_long(clock):
    clock.costs["compile"] = 1.9
    held = tg.grad(straight)
    assert not said(held, np.ones(3))
    clock.costs.update(compile=2.1, eager=5.0)
    f = tg.grad(straight)
    assert len(said(f, np.ones(3))) == 1
    assert not said(f, np.ones((2, 3))) and f.cache_info().traces == 1
    assert not said(f, np.ones((2, 3))) and f.cache_info().traces == 2


def test_operations_that_take_long_are_no_reason(clock, monkeypatch):
    """Eager calls wait for them too; but they run once more, in the program."""
    kernel_of = OpRecord.kernel

    def kernel(record, attributes):
        run = kernel_of(record, attributes)

        def slow(*args, **kwargs):
            clock.now += 10.0
            return run(*args, **kwargs)

        return slow

    monkeypatch.setattr(OpRecord, "kernel", kernel)
    clock.costs["trace"] = 1.0
    f = tg.grad(straight)
    assert not said(f, np.ones(3))
    assert "compiling took 41000.0 ms" in f.explain()


def test_python_that_takes_long_is_named(clock):
    clock.costs["trace"] = 4.0
    (message,) = said(tg.grad(straight), np.ones(3))
    assert "only 4 operations came of it" in message and "pass that" in message


def test_long_straight_code_is_to_be_cut(clock):
    scope = {"np": np}
    exec(f"def f(x): return np.sum({'np.tanh(' * 60}x{')' * 61}", scope)
    clock.costs["trace"] = 2.5
    (message,) = said(tg.grad(scope["f"]), np.ones(3))
    assert "61 operations were recorded. Decorate parts of the function" in message
