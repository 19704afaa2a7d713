"""Numbers that a function reads and only compares lose no gradient, in whatever transform."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from checks import assert_same_bits

import tracegrad as tg

P = np.array([0.1, 0.2, 0.3])
POINTS = [P, P, 3.0 * P, 6.0 * P, -P, P[::-1] + 0.4]


def left_early(p):
    s = np.sum(p)
    for _ in range(8):
        if float(p[0]) > 0.5:
            return s
        s = s * 0.9 + p[1] * p[1]
    return s


def of_the_turn(p):
    s = np.sum(p * p)
    for _ in range(8):
        if float(s) > 0.5:
            s = s * 0.5
        s = s * 0.9 + p[1] * p[1]
    return s


def compared_with_the_last(p):
    s, before = np.sum(p * p), 10.0
    for _ in range(20):
        s = s * 0.5 + p[0] * p[1] * 0.1
        if abs(before - float(s)) < 1e-3:
            break
        before = float(s)
    return s


def of_an_arm(p):
    s = np.sum(p * p)
    limit = float(p[0]) if p[1] > 0.3 else float(p[2])
    for v in p:
        s = s * v if limit > 0.5 else s + v * v
    return s


def straight(p):
    size = float(np.sum(p))
    return np.sum(p**3) if size > 0.7 else np.sum(np.sin(p))


def returned(p):
    s = np.sum(p * p)
    for _ in range(8):
        s = s * 0.9 + float(p[0])
    return s


COMPARED = [left_early, of_the_turn, compared_with_the_last, of_an_arm, straight]
TRANSFORMS: dict[str, Callable[[Callable[..., Any]], Callable[..., Any]]] = {
    "grad": tg.grad,
    "value_and_grad": tg.value_and_grad,
    "jacrev": tg.jacrev,
    "jacfwd": tg.jacfwd,
    "hessian": tg.hessian,
    "jvp": lambda f: lambda p: tg.jvp(f, (p,), (P,)),
    "hvp": lambda f: lambda p: tg.hvp(f, (p,), (P,)),
    "jacfwd of jacfwd": lambda f: tg.jacfwd(tg.jacfwd(f)),
    "grad of jvp": lambda f: tg.grad(lambda p: tg.jvp(f, (p,), (P,))[1]),
}


@pytest.mark.parametrize("name", TRANSFORMS)
@pytest.mark.parametrize("f", COMPARED, ids=lambda f: f.__name__)
def test_what_is_only_compared_is_not_lost(f, name, monkeypatch):
    transformed = TRANSFORMS[name](f)
    found = [transformed(p) for p in POINTS]
    monkeypatch.setattr(tg.config, "compile", False)
    assert_same_bits(found, [transformed(p) for p in POINTS])


@pytest.mark.parametrize("name", TRANSFORMS)
def test_what_comes_back_is_lost(name, monkeypatch):
    for compiled in (True, False):
        monkeypatch.setattr(tg.config, "compile", compiled)
        with pytest.raises(tg.errors.LostGradientError, match="float"):
            TRANSFORMS[name](returned)(P)
