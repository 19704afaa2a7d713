"""Generators that a loop leaves by `break`: those that they go through are closed there."""

from __future__ import annotations

from collections.abc import Iterator
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


def in_an_expression(p: Any, x: Any) -> Any:
    s = p * 0.0
    for v in (w * i for i, w in enumerate(rows(x), 1)):
        s = s + p * v
        if s > 1.0:
            break
    LOG.append("behind")
    return s * (2.0 if OPEN["rows"] else 1.0)


def doubled(x: Any) -> Iterator[Any]:
    for v in rows(x):
        yield v * 2.0


def in_a_generator(p: Any, x: Any) -> Any:
    s = p * 0.0
    for v in doubled(x):
        s = s + p * v
        if s > 1.0:
            break
    LOG.append("behind")
    return s * (2.0 if OPEN["rows"] else 1.0)


def handed_on(x: Any) -> Iterator[Any]:
    yield from rows(x)


def in_a_generator_that_hands_on(p: Any, x: Any) -> Any:
    s = p * 0.0
    for v in handed_on(x):
        s = s + p * v
        if s > 1.0:
            break
    LOG.append("behind")
    return s * (2.0 if OPEN["rows"] else 1.0)


PROGRAMS = [in_an_expression, in_a_generator, in_a_generator_that_hands_on]


@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_what_is_behind_the_loop_sees_them_closed(f: Any) -> None:
    value, compiled = tg.value_and_grad(f), tg.compile(f)
    for p in (0.7, 0.2, 0.7, 0.01):
        LOG.clear()
        expected = f(p, X)
        assert value(p, X)[0] == expected
        assert compiled(p, X) == expected
        assert LOG == ["closed", "behind"] * 3
        assert OPEN == {"rows": 0}
