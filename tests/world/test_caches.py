"""Helpers under ``functools.lru_cache`` compute when, and as often as, plain Python has them."""

from __future__ import annotations

import contextlib
import functools
import io
import warnings
from types import SimpleNamespace

import numpy as np
import pytest

import tracegrad as tg

X = np.arange(3.0) + 1
MAKERS: list = []


def program(*edits, compiled=True):
    """A function of a state that makes a program; what is done to both before the fourth call."""
    return lambda make: MAKERS.append(pytest.param(make, edits, compiled, id=make.__name__)) or make


def cleared(o):
    o.h.cache_clear()


def healed(o):
    o.broken = False


@program(cleared)
def array(o):
    @functools.lru_cache
    def h(n):
        o.calls.append(n)
        return np.arange(3.0) * n

    o.h = h
    return lambda x: x * h(3) + h(x.shape[0])[0]


@program(cleared)
def along_one_path(o):
    @functools.cache
    def h(n):
        o.calls.append(n)
        return np.full(3, float(n))

    o.h = h
    return lambda x: x * h(3) if x[0] > 0 else x * h(4)


@program(compiled=False)
def one_pushes_the_other_out(o):
    @functools.lru_cache(maxsize=1)
    def h(n):
        o.calls.append(n)
        return n * 1.5

    return lambda x: x * h(3) + h(4)


@program(compiled=False)
def that_keeps_nothing(o):
    @functools.lru_cache(maxsize=0)
    def h(n):
        o.calls.append(n)
        return np.full(3, 1.5 * len(o.calls))

    return lambda x: x * h(3)


@program(healed, compiled=False)
def that_raises(o):
    @functools.lru_cache
    def h(n):
        o.calls.append(n)
        if o.broken:
            raise ValueError
        return n * 1.5

    def f(x):
        try:
            return x * h(3)
        except ValueError:
            return x * 7.0

    return f


@program(cleared)
def between_effects(o):
    @functools.lru_cache
    def h(n):
        o.calls.append(n)
        print("computes", n)
        return np.arange(3.0) * n

    def f(x):
        o.calls.append("before")
        print("before")
        y = x * h(3)
        o.calls.append("after")
        return y

    o.h = h
    return f


@program(cleared)
def of_a_counter(o):
    @functools.lru_cache
    def h(n):
        o.calls.append(n)
        return np.full(3, 1.5 * n)

    def f(x):
        for i in range(12):
            x = x * 0.5 + h(i)
        return x

    o.h = h
    return f


@program()
def with_keys_of_all_kinds(o):
    @functools.lru_cache(typed=True)
    def h(name, shape=(), *, dtype=float):
        o.calls.append(name)
        return np.ones(shape, dtype)

    return lambda x: x * h("a", x.shape) + h("b", shape=(3,), dtype=x.dtype) * h(1.5)


@program(cleared)
def a_method(o):
    class Model:
        @functools.lru_cache  # noqa: B019
        def weights(self, n):
            o.calls.append(n)
            return np.arange(float(n))

    o.h, model = Model.weights, Model()
    return lambda x: x * model.weights(3)


@pytest.mark.parametrize("make, edits, compiled", MAKERS)
def test_helpers_under_a_cache(make, edits, compiled):
    one, other = (SimpleNamespace(calls=[], broken=True) for _ in range(2))
    plain, ours = make(one), tg.compile(make(other))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for turn, x in enumerate((X, X, X, X, -X, -X, X, X)):
            for o in (one, other) if turn == 3 else ():
                for edit in edits:
                    edit(o)
            said, said_by_plain = io.StringIO(), io.StringIO()
            with contextlib.redirect_stdout(said):
                got = ours(x)
            with contextlib.redirect_stdout(said_by_plain):
                expected = plain(x)
            assert np.array_equal(got, expected)
            assert other.calls == one.calls
            assert said.getvalue() == said_by_plain.getvalue()
    assert (ours.cache_info().hits > 0) == compiled
