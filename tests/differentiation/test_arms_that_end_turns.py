"""An ``if`` at the end of turns: what a turn does before it stands once in the backward."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from random import Random
from typing import Any

import numpy as np
import pytest

import tracegrad as tg


def widest(table: Any) -> Any:
    best = -np.inf
    log = []
    for i in range(len(table)):
        row = table[i]
        w = row.max() - row.min()
        if w > best:
            best = w
            log.append(w)
        else:
            log.append(w * 0.5)
    return best + sum(log)


def three_ways(table: Any) -> Any:
    s, count = 0.0, 0
    for row in table:
        w = np.sin(row).sum() * 2.0
        if w > 1.0:
            s = s + w
        elif w < -1.0:
            s = s - w * w
        else:
            count += 1
    return s * count


def two_ifs(table: Any) -> Any:
    s = t = 0.0
    for row in table:
        w = row[0] * row[1]
        if w > 0:
            w = w * 3.0
        r = np.exp(-w)
        if r > 1.0:
            s = s + r
        else:
            t = t + r * row[1]
    return s * t


def skips(table: Any) -> Any:
    s = 0.0
    for row in table:
        w = np.tanh(row).sum()
        if w < 0:
            continue
        if w > 1.0:
            s = s + w
        else:
            s = s * w
    return s


def stops(table: Any) -> Any:
    s = 1.0
    for row in table:
        w = np.tanh(row).sum()
        if s > 3.0:
            break
        if w > 0.0:
            s = s + w
        else:
            s = s * (1.0 + w * w)
    return s


def in_loops(table: Any) -> Any:
    s = table[0, 0]
    for row in table:
        for k in range(12):
            w = row[1] * k + s * 0.1
            if w > 0.5:
                s = s + np.sin(w)
            else:
                s = s * 0.9
    return s


PROGRAMS: list[Callable[..., Any]] = [widest, three_ways, two_ifs, skips, stops, in_loops]


@pytest.mark.parametrize("f", PROGRAMS)
def test_bits_are_those_of_eager(f: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    g, rng = tg.value_and_grad(f), np.random.default_rng(0)
    tables = [rng.normal(size=(n, 2)) for n in (12, 12, 9, 15, 12)]
    found = [g(table) for table in tables]
    monkeypatch.setattr(tg.config, "compile", False)
    for table, compiled in zip(tables, found, strict=True):
        for one, other in zip(compiled, tg.value_and_grad(f)(table), strict=True):
            assert np.asarray(one).tobytes() == np.asarray(other).tobytes()


ASSIGNED = (
    *("best = v", "best = low = v", "low = v", "pass", "s = s + v", "best = best * 0.5"),
    *("best = s", "low, best = best, v"),
)
APPENDED = ("v", "v * 0.5", "best", "s", "low")
RETURNED = ("best + sum(log)", "best * low + s + sum(log)", "s + max(log)", "sum(log) * best")
TEXT = """
def f(table):
    best = low = s = table[0, 0]
    log = []
    for i in range(len(table)):
        v = np.sin(table[i]).sum() * 2.0
        if v > best:
            {}
            log.append({})
        elif v < {}:
            {}
            log.append({})
        else:
            {}
            log.append({})
    return {}
"""


@pytest.mark.parametrize("seed", range(24))
def test_what_is_kept_and_appended_gets_both_gradients(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A value goes to a variable and to a list: ``best = v; log.append(v)``."""
    draw = Random(seed).choice
    arms = [(draw(ASSIGNED), draw(APPENDED)) for _ in range(3)]
    text = TEXT.format(*arms[0], draw(["-0.5", "-99.0"]), *arms[1], *arms[2], draw(RETURNED))
    scope: dict[str, Any] = {"np": np}
    exec(text, scope)
    g, rng = tg.value_and_grad(scope["f"]), np.random.default_rng(seed)
    tables = [rng.normal(size=(n, 2)) for n in (12, 9, 12)]
    found = [g(table) for table in tables]
    monkeypatch.setattr(tg.config, "compile", False)
    for table, compiled in zip(tables, found, strict=True):
        for one, other in zip(compiled, tg.value_and_grad(scope["f"])(table), strict=True):
            assert np.asarray(one).tobytes() == np.asarray(other).tobytes(), text


@pytest.mark.parametrize(
    ("f", "once"),
    [(widest, "table_bar[i] = "), (three_ways, "np.cos(")],
)
def test_what_a_turn_does_before_stands_once(f: Any, once: str) -> None:
    g, rng = tg.value_and_grad(f), np.random.default_rng(0)
    for _ in range(3):
        g(rng.normal(size=(12, 2)))
    backward = g.source().partition("# backward")[2]
    assert backward.count(once) == 1, backward


def test_what_both_arms_end_with_stands_behind_them() -> None:
    g, rng = tg.value_and_grad(three_ways), np.random.default_rng(0)
    for _ in range(3):
        g(rng.normal(size=(12, 2)))
    lines = g.source().splitlines()
    for one, other in pairwise(lines):
        assert not one.lstrip().startswith("#") or other.strip()  # a comment is of a statement
    assert sum(line.lstrip().startswith("w_saved.append(") for line in lines) == 1
