"""Loops whose turns write to places outside in some arms alone: these go from turn to turn."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from checks import assert_same_bits

import tracegrad as tg

TIMES = [(1.0 + i % 7, 0.6 + 0.1 * (i % 3)) for i in range(12)]


class Log:
    """An object with a number and an array."""

    def __init__(self) -> None:
        self.n = 0
        self.total = 0.0
        self.last = np.zeros(2)


def of_dictionary() -> tuple[Callable[..., Any], Callable[[], Any]]:
    state = {"n": 0}

    def solve(k, end):
        t, y, h = 0.0, np.ones(2), 0.1
        while t < end:
            new = y - h * k * y
            if abs(new - y).max() < 1e-2:
                t, y, h = t + h, new, h * 1.5
            else:
                state["n"] += 1
                h = h * 0.5
        return y[0]

    return solve, lambda: dict(state)


def of_cell() -> tuple[Callable[..., Any], Callable[[], Any]]:
    n = 0

    def solve(k, end):
        nonlocal n
        t, y, h = 0.0, np.ones(2), 0.1
        while t < end:
            new = y - h * k * y
            if abs(new - y).max() < 1e-2:
                n += 1
                t, y, h = t + h, new, h * 1.5
            else:
                h = h * 0.5
        return y[0]

    return solve, lambda: n


def of_object() -> tuple[Callable[..., Any], Callable[[], Any]]:
    log = Log()

    def solve(k, end):
        t, y, h = 0.0, np.ones(2), 0.1
        while t < end:
            new = y - h * k * y
            if abs(new - y).max() < 1e-2:
                t, y, h = t + h, new, h * 1.5
                log.total = log.total + h * k
            else:
                log.n += 1
                h = h * 0.5
        return y[0]

    return solve, lambda: (log.n, log.total)


def of_objects_within() -> tuple[Callable[..., Any], Callable[[], Any]]:
    logs = {"of": [Log()]}

    def count():
        logs["of"][0].n += 1

    def solve(k, end):
        t, y, h = 0.0, np.ones(2), 0.1
        while t < end:
            new = y - h * k * y
            if abs(new - y).max() < 1e-2:
                t, y, h = t + h, new, h * 1.5
            else:
                count()
                h = h * 0.5
        return y[0]

    return solve, lambda: logs["of"][0].n


def of_rows() -> tuple[Callable[..., Any], Callable[[], Any]]:
    log = Log()

    def solve(k, end):
        x, rate = np.ones(3), k * 0.1
        for i in range(40):
            p = x + np.sin(rate * i)
            if (p * p).sum() < 4.0 * end:
                x = p
                log.n += 1
        return x[0]

    return solve, lambda: log.n


@pytest.mark.parametrize("order", [1, -1])
@pytest.mark.parametrize("make", [of_dictionary, of_cell, of_object, of_objects_within, of_rows])
def test_one_program_counts_in_an_arm(make, order):
    plain, now = make()
    function, is_now = make()
    f = tg.compile(function)
    for call in TIMES[::order]:
        assert_same_bits(f(*call), plain(*call))
        assert is_now() == now()
    assert f.cache_info().hits >= 9, f.explain()
    assert "loops that are unrolled" not in f.explain()


@pytest.mark.parametrize("make", [of_dictionary, of_cell, of_object, of_objects_within])
def test_a_call_that_never_comes_there_counts_nothing(make):
    plain, now = make()
    function, is_now = make()
    f = tg.compile(function)
    for k in (1e-3, 5.0, 1e-3, 2.0, 1e-3, 3.0, 4.0):
        assert_same_bits(f(k, 1.0), plain(k, 1.0))
        assert is_now() == now()
    assert f.cache_info().hits >= 2


@pytest.mark.parametrize("make", [of_dictionary, of_cell, of_object])
def test_gradients_of_loops_that_count_in_an_arm(make):
    plain, now = make()
    function, is_now = make()
    f = tg.value_and_grad(function)
    for k, end in TIMES:
        value, slope = f(k, end)
        assert_same_bits(value, plain(k, end))
        assert is_now() == now()
        tg.config.compile = False
        try:
            assert_same_bits(slope, tg.grad(make()[0])(k, end))
        finally:
            tg.config.compile = True
    assert f.cache_info().hits >= 9, f.explain()


def test_other_objects_count_for_themselves_and_are_not_kept():
    @tg.compile
    def f(log, k):
        h, y = 1.0, k
        while y > 1e-3:
            if h * y < 0.3:
                y = y - h * y
            else:
                log.n += 1
                h = h * 0.5
        return y

    def count(k):
        h, y, n = 1.0, k, 0
        while y > 1e-3:
            if h * y < 0.3:
                y = y - h * y
            else:
                n += 1
                h = h * 0.5
        return n

    logs = [Log() for _ in range(6)]
    for i in range(18):
        before = [log.n for log in logs]
        f(logs[i % 6], 1.0 + i)
        before[i % 6] += count(1.0 + i)
        assert [log.n for log in logs] == before
    assert f.cache_info().hits >= 12, f.explain()
    kept = weakref.ref(logs.pop(0))
    gc.collect()
    assert kept() is None


def test_what_is_not_there_in_all_turns_is_not_expected():
    """A name that an arm makes is no variable: the loop is unrolled, and right."""

    def make():
        state: dict[str, Any] = {}

        def f(x):
            for i in range(10):
                if x[i] > 0.0:
                    state["last"] = x[i]
            return x.sum()

        return f, state

    plain, there = make()
    function, found = make()
    f = tg.compile(function)
    for seed in range(6):
        x = np.random.default_rng(seed).normal(size=10) - (0.0 if seed else 9.0)
        assert_same_bits(f(x), plain(x))
        assert found == there


def test_arrays_that_an_arm_leaves_outside():
    def make():
        log = Log()

        def f(x):
            y = np.zeros(2)
            for row in x:
                y = y * 0.5 + row
                if y.sum() > 1.0:
                    log.last = y * 2.0
            return y

        return f, log

    plain, there = make()
    function, found = make()
    f = tg.compile(function)
    for seed in range(8):
        x = np.random.default_rng(seed).normal(size=(12, 2))
        assert_same_bits(f(x), plain(x))
        assert_same_bits(found.last, there.last)


@pytest.mark.parametrize("given", [0, 0.25])
def test_a_loop_that_is_left_before_a_turn_has_stored(given):
    """What stood there stays, whatever that was in the call that was traced."""

    def make():
        state = {"last": 1 if given == 0 else 1.5}
        log = Log()
        log.n = given

        def f(x, u):
            for i in range(12):
                p = x * 0.7 + u[i]
                if p[0] < 0.3:
                    x = p
                    state["last"] = log.n
                else:
                    break
            return x.sum()

        return f, state

    plain, there = make()
    function, found = make()
    f = tg.compile(function)
    rng = np.random.default_rng(30)
    for n in range(12):
        x, u = rng.normal(size=2), rng.normal(size=(12, 2)) * 0.4
        there["last"] = found["last"] = there["last"] + n % 3
        assert_same_bits(f(x, u), plain(x, u))
        assert found == there
