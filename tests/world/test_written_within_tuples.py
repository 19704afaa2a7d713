"""A function keeps a tuple outside with an array of its own, and writes to the array later."""

from __future__ import annotations

import time
import warnings
from collections import deque
from types import SimpleNamespace
from typing import NamedTuple

import numpy as np
import pytest

import tracegrad as tg

X = np.array([1.0, 2.0, 3.0])
NUMBERED = None


class Pair(NamedTuple):
    first: object
    second: object


class Slotted:
    __slots__ = ("kept",)


def appended(s, x):
    y = np.zeros(3)
    s.items.append((y, 1))
    y[0] = x[0]
    y[1:] += x[1:]
    return y


def in_an_attribute(s, x):
    y = np.zeros(3)
    s.kept = (y, [y], (2, (y,)))
    for i in range(3):
        s.kept[0][i] = x[i] * i
    return s.kept[1][0] + s.kept[2][1][0]


def in_a_dictionary(s, x):
    y = np.zeros(3)
    s.table["k"] = {"t": (y,), "n": (y[1:], 1)}
    y[:] = x
    s.table["k"]["n"][0][:] *= 2.0
    return y


def in_a_slot(s, x):
    y = np.zeros(3)
    s.slotted.kept = (y, (y, 2))
    y += x
    return y * s.slotted.kept[1][0]


def in_a_global(s, x):
    global NUMBERED
    y = np.zeros(3)
    NUMBERED = (y, (y, 2))
    y += x
    NUMBERED[0][0] = 5.0
    s.kept = NUMBERED
    return y * 2.0


def rows_in_a_deque(s, x):
    y = np.zeros((2, 3))
    for row in y:
        s.ring.append((row, float(len(s.ring))))
        row += x
    return y.sum(axis=0)


def set_by_a_slice(s, x):
    y = np.zeros(3)
    s.items[:] = [(y, 1), (y, 2)]
    y[1] = x[1]
    return y


def in_a_named_tuple(s, x):
    y = np.zeros(3)
    s.kept = Pair(y, (y, 1))
    y[1] = x[1]
    return y + s.kept.first


def in_a_closure(s, x):
    y = np.zeros(3)
    s.call = (lambda kept: lambda: kept)((y,))
    y[1] = x[1]
    found = s.call()[0] * 2.0
    s.call = None
    return found


def in_a_default(s, x):
    y = np.zeros(3)
    s.call = lambda kept=(y,): kept
    y[1] = x[1]
    found = s.call()[0] * 2.0
    s.call = None
    return found


PROGRAMS = [appended, in_an_attribute, in_a_dictionary, in_a_slot, in_a_global, rows_in_a_deque]
PROGRAMS += [set_by_a_slice, in_a_named_tuple, in_a_closure, in_a_default]


def shown(x):
    """What a caller finds."""
    if isinstance(x, np.ndarray):
        return type(x).__name__, x.tolist()
    if isinstance(x, dict | SimpleNamespace):
        return {k: shown(v) for k, v in (x if isinstance(x, dict) else vars(x)).items()}
    if isinstance(x, list | tuple | deque):
        return type(x).__name__, [shown(v) for v in x]
    return shown(x.kept) if isinstance(x, Slotted) else repr(x)


def results(program, transform, clock):
    slotted = Slotted()
    slotted.kept = None
    state = SimpleNamespace(items=[], table={}, kept=None, call=None, ring=deque(), slotted=slotted)

    def loss(x):
        if clock:
            time.time()  # of which there is no program
        return np.sum(program(state, x) * x)

    f, found = transform(loss), []
    for i in range(3):
        result = f(X + i)
        value = result[0] if isinstance(result, tuple) else result
        found.append((float(value), shown(state)))
        state.items.clear()
        state.ring.clear()
    return found


@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.parametrize("transform", [tg.compile, tg.value_and_grad])
@pytest.mark.parametrize("how", ["program", "answers itself", "eager"])
def test_the_tuple_has_what_was_written(program, transform, how, monkeypatch):
    expected = results(program, lambda plain: plain, False)
    monkeypatch.setattr(tg.config, "compile", how != "eager")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", tg.errors.RecompileWarning)
        assert results(program, transform, how == "answers itself") == expected
