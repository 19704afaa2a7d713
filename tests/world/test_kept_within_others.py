"""Containers that a call makes and leaves at several places: each is one object wherever it stands.

A container stands within another one, and by itself: its parent is never taken for it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
import pytest

import tracegrad as tg


@dataclass
class Record:
    v: Any


class Pair(NamedTuple):
    v: Any
    w: Any = 1.0


class Plain:
    def __init__(self, v: Any) -> None:
        self.v = v


MADE = [
    "[x[0]]",
    "(x[0], 2.0)",
    "{'v': x[0]}",
    "Plain(x[0])",
    "Record(x[0])",
    "Pair(x[0])",
    "SimpleNamespace(v=x[0])",
    "{1}",
    # literals, which are one object in each turn and in each call
    "(0.0, 1.0)",
    "('a', 'b')",
    "()",
    "(None,)",
]
STORES = [
    "o.first = [z]; o.second = z",
    "o.first = (z, 1); D['z'] = z",
    "o.first = {'z': z}; L.append(z)",
    "o.first = Plain(z); L.append([z])",
    "o.first = Record(z); o.second = Pair(z); o.third = z",
    "D['a'] = {'z': z}; D['b'] = {'z': z}",
    "D.setdefault('a', []).append(z); L.append(z)",
    "L[-1:] = [z]; o.first = z",
    "o.first = [[z]]; D['b'] = o.first[0]; L.append(z)",
    "o.first = z; L.append([z])",
    "for i in range(2): L.append([z]); D[i] = z",
]


def _shown(x: Any, seen: dict[int, int]) -> Any:
    """What an object holds, and which of the objects before it is."""
    if isinstance(x, (float, int, str, type(None))):
        return type(x).__name__, x
    if isinstance(x, np.ndarray):
        return x.tolist()
    known = seen.setdefault(id(x), len(seen))
    if known < len(seen) - 1:
        return "the same as", known
    held = x if isinstance(x, (list, tuple, dict, set)) else vars(x)
    items = list(held.items()) if isinstance(held, dict) else list(held)
    return type(x).__name__, [_shown(item, seen) for item in items]


def _left(made: str, store: str, decorate: Callable[[Any], Any]) -> list[Any]:
    o, d, items = SimpleNamespace(), {}, [0.0]
    scope = {"np": np, "Plain": Plain, "Record": Record, "Pair": Pair, "o": o, "D": d, "L": items}
    scope["SimpleNamespace"] = SimpleNamespace
    exec(f"def f(x):\n    z = {made}\n    {store}\n    return np.sum(x * x)", scope)
    f = decorate(scope["f"])
    return [(f(np.array([1.0 + i, 2.0])), _shown([o, d, items], {}))[1] for i in range(3)]


def _by_tensors(f: Callable[..., Any]) -> Callable[..., Any]:
    compiled = tg.compile(f)
    return lambda x: compiled(tg.tensor(x))


@pytest.mark.sampled(2)
@pytest.mark.parametrize("store", STORES)
@pytest.mark.parametrize("made", MADE)
@pytest.mark.parametrize("decorate", [tg.compile, tg.value_and_grad], ids=["compile", "vg"])
def test_a_container_within_another_is_left_by_itself_too(decorate, made, store):
    constant = "x" not in made  # where Python has one object for all calls
    found, wanted = _left(made, store, decorate), _left(made, store, lambda f: f)
    assert found[:1] == wanted[:1]
    if not constant:
        assert found == wanted


@pytest.mark.parametrize("made", ["[1.0]", "{'v': 2.0}", "Plain(3.0)"])
def test_so_it_is_in_calls_with_tensors(made):
    wanted = _left(made, STORES[0], lambda f: f)
    assert _left(made, STORES[0], _by_tensors) == wanted


def test_records_are_grouped_and_logged():
    groups, log = {}, []

    @tg.compile
    def add(x, tag):
        rec = {"sum": np.sum(x)}
        groups.setdefault(tag, []).append(rec)
        log.append(rec)
        return np.sum(x)

    for tag in "aab":
        add(np.ones(2), tag)
    assert log == [{"sum": 2.0}] * 3
    assert groups == {"a": log[:2], "b": log[2:]}
    assert groups["a"][1] is log[1]


VIEWS = [
    "o.a = x[1:]; o.b = o.a",
    "o.a = [x[1:]] * 2; o.b = o.a[0]",
    "v = x[1:]; o.a = [v, v]; o.b = {'v': v}",
    "o.w = np.ones(3); v = o.w[1:]; o.a = v; o.b = (v, v)",
]


@pytest.mark.filterwarnings("ignore::tracegrad.errors.RecompileWarning")
@pytest.mark.parametrize("store", VIEWS)
def test_a_view_of_an_argument_is_one_array_at_all_places(store):
    def left(decorate):
        o = SimpleNamespace()
        scope = {"np": np, "o": o}
        exec(f"def f(x):\n    {store}\n    return np.sum(x)", scope)
        f = decorate(scope["f"])

        def shown(x: Any, seen: dict[int, int]) -> Any:
            if isinstance(x, np.ndarray):
                return x.tolist(), seen.setdefault(id(x), len(seen))
            return [shown(y, seen) for y in (x.values() if isinstance(x, dict) else x)]

        return [(f(np.arange(3.0) + i), shown([o.a, o.b], {}))[1] for i in range(2)]

    assert left(tg.compile) == left(lambda f: f)
