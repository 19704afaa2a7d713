"""Defaults of parameters that a function writes to: one object for all calls, as in Python.

Arrays that a caller passes to be written (running statistics) are written by every call as well.
"""

# ruff: noqa: B006, B008
from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracegrad as tg

X = np.array([1.0, 2.0, 3.0])


def overwritten(x: Any, buffer: Any = np.zeros(2)) -> Any:
    buffer[0] = x[0] * 2.0
    return (buffer * x[:2]).sum()


def accumulated(x: Any, total: Any = np.zeros(2)) -> Any:
    total += 1.0
    return (total * x[:2]).sum()


def by_keyword(x: Any, *, total: Any = np.zeros(2), scale: Any = np.array([3.0, 1.0])) -> Any:
    total += 1.0
    return (total * scale * x[:2]).sum()


def read_before(x: Any, total: Any = np.ones(2)) -> Any:
    """No tape has it in one node, for its mask: `tg.vjp` runs it on Tensors."""
    before = np.sin(total)
    total += 1.0
    y = 2.0 * x[:2]
    y[y > 3.0] = 0.0
    return (before * y).sum()


def in_a_dictionary(x: Any, state: Any = {"mean": np.zeros(2), "count": 0}) -> Any:
    state["mean"] += 1.0
    state["count"] += 1
    return (state["mean"] * x[:2]).sum() * state["count"]


def in_a_list(x: Any, log: Any = []) -> Any:
    log.append(1.0)
    return len(log) * x.sum()


def of_a_helper(x: Any) -> Any:
    return accumulated(x) * accumulated(x[1:])


def by_vjp(f: Any) -> Any:
    return lambda x: tg.vjp(f, x)[0]


def by_jvp(f: Any) -> Any:
    return lambda x: tg.jvp(f, (x,), (x,))[0]


def by_linearize(f: Any) -> Any:
    return lambda x: tg.linearize(f, x)[0]


FUNCTIONS = [
    overwritten,
    accumulated,
    by_keyword,
    read_before,
    in_a_dictionary,
    in_a_list,
    of_a_helper,
]


@pytest.mark.parametrize("f", FUNCTIONS, ids=lambda f: f.__name__)
@pytest.mark.parametrize("transform", [tg.compile, tg.value_and_grad, by_vjp, by_jvp, by_linearize])
@pytest.mark.filterwarnings("ignore::tracegrad.errors.RecompileWarning")
def test_defaults_that_are_written(f: Any, transform: Callable[[Any], Any]) -> None:
    fresh = {g: copy.deepcopy((g.__defaults__, g.__kwdefaults__)) for g in FUNCTIONS}

    def results(called: Callable[[Any], Any]) -> tuple[list[float], str]:
        for g, parts in fresh.items():
            g.__defaults__, g.__kwdefaults__ = copy.deepcopy(parts)
        values = [called(x) for x in (X, X + 1.0, X, X)]
        kept = str([(g.__defaults__, g.__kwdefaults__) for g in FUNCTIONS])
        return [float(v[0] if type(v) is tuple else v) for v in values], kept

    assert results(transform(f)) == results(f)
    for g, parts in fresh.items():
        g.__defaults__, g.__kwdefaults__ = parts


def test_other_defaults_are_seen() -> None:
    def f(x: Any, w: Any = np.ones(3), *, b: Any = np.zeros(3)) -> Any:
        return (w * x + b).sum()

    compiled = tg.compile(f)
    assert compiled(X) == 6.0
    f.__defaults__ = (np.array([2.0, 2.0, 2.0]),)
    assert compiled(X) == 12.0
    f.__kwdefaults__ = {"b": np.ones(3)}
    assert compiled(X) == 15.0
    f.__kwdefaults__["b"][:] = 2.0
    assert compiled(X) == 18.0


def test_running_statistics() -> None:
    def normalized(x: Any, mean: Any, var: Any) -> Any:
        center = x.mean(axis=0)
        mean *= 0.9
        mean += 0.1 * center
        var[:] = 0.9 * var + 0.1 * x.var(axis=0)
        return ((x - center) ** 2 / (1.0 + var)).sum()

    step = tg.value_and_grad(normalized)
    ours, plain = [np.zeros(2), np.ones(2)], [np.zeros(2), np.ones(2)]
    rng = np.random.default_rng(0)
    for _ in range(4):
        x = rng.normal(size=(5, 2))
        before = [s.copy() for s in plain]
        value, gradient = step(x, *ours)
        assert value == normalized(x, *plain)
        np.testing.assert_array_equal(ours, plain)
        for i, j in [(0, 0), (3, 1)]:
            shift = np.zeros_like(x)
            shift[i, j] = 1e-6
            values = [normalized(x + s, *[b.copy() for b in before]) for s in (shift, -shift)]
            assert gradient[i, j] == pytest.approx((values[0] - values[1]) / 2e-6, rel=1e-6)
