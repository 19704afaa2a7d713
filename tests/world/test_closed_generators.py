"""Generators that a loop leaves by `break`: those that they go through are closed there."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from typing import Any

import numpy as np
import pytest

import tracegrad as tg

X = np.linspace(0.5, 1.0, 12)
OPEN = {"rows": 0}
LOG: list[str] = []


def rows(x: Any) -> Iterator[Any]:
    OPEN["rows"] += 1
    try:
        yield from x
    finally:
        OPEN["rows"] -= 1
        LOG.append("closed")


def numbered(x: Any) -> Iterator[Any]:
    return (w * i for i, w in enumerate(rows(x), 1))


def doubled(x: Any) -> Iterator[Any]:
    for v in rows(x):
        yield v * 2.0


def of_a_variable(x: Any) -> Iterator[Any]:
    given = rows(x)
    for v in given:
        yield +v


def handed_on(x: Any) -> Iterator[Any]:
    yield from rows(x)


def on_a_stack(x: Any) -> Iterator[Any]:
    with ExitStack() as stack:
        for v in stack.enter_context(closing(rows(x))):
            yield +v


@pytest.mark.parametrize("compiling", [True, False])
@pytest.mark.parametrize("source", [numbered, doubled, of_a_variable, handed_on, on_a_stack])
def test_what_is_behind_the_loop_sees_them_closed(
    source: Any, compiling: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    def f(p: Any, x: Any) -> Any:
        s = p * 0.0
        for v in source(x):
            s = s + p * v
            if s > 1.0:
                break
        LOG.append("behind")
        return s * (2.0 if OPEN["rows"] else 1.0)

    def written_in_the_loop(p: Any, x: Any) -> Any:
        s = p * 0.0
        for v in (w * i for i, w in enumerate(source(x), 1)):
            s = s + p * v
            if s > 1.0:
                break
        LOG.append("behind")
        return s * (2.0 if OPEN["rows"] else 1.0)

    monkeypatch.setattr(tg.config, "compile", compiling)
    for function in (f, written_in_the_loop):
        value, compiled = tg.value_and_grad(function), tg.compile(function)
        for p in (0.7, 0.2, 0.7, 0.01):
            LOG.clear()
            expected = function(p, X)
            assert value(p, X)[0] == expected
            assert compiled(p, X) == expected
            gc.collect()
            assert LOG == ["closed", "behind"] * 3
            assert OPEN == {"rows": 0}


def test_a_loop_with_an_if_closes_what_it_leaves() -> None:
    def f(p: Any, x: Any) -> Any:
        s = 0.0
        for z in rows(x):
            if z < 0:
                z = z * p
            if s > 1:
                break
            s = s + p * z * z
        LOG.append("behind")
        return s

    value = tg.value_and_grad(f)
    for seed in range(4):
        LOG.clear()
        value(0.5, np.random.default_rng(seed).normal(size=6))
        assert LOG == ["closed", "behind"]


def test_a_run_that_is_given_up_leaves_its_generators_as_they_are() -> None:
    """Another run does what they have still to do."""

    @contextmanager
    def section() -> Iterator[None]:
        LOG.append("in")
        try:
            yield
        finally:
            LOG.append("out")

    def f(p: Any, x: Any) -> Any:
        with section():
            v, below = p * 1.0, []
            for z in x:
                v = v + z
                if v < 0:
                    below.append(v)
        return v

    value, random = tg.value_and_grad(f), np.random.default_rng(2)
    for size in (6, 12, 10, 15, 9) * 3:
        LOG.clear()
        value(0.5, random.normal(size=size))
        gc.collect()
        assert LOG == ["in", "out"]
