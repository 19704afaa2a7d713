"""Numbers of the run as keys, in sets and as indices: Python reads them, and keeps plain ones."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import tracegrad as tg

X = np.arange(3.0)
PROGRAMS: list[Callable[[Any, Any], Any]] = []


def program(f: Any) -> Any:
    PROGRAMS.append(f)
    return f


def state() -> SimpleNamespace:
    items = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]
    return SimpleNamespace(d={0: 1.0, 1: 2.0, 2: 3.0}, items=items, s=set(), n=0, k=1.5, r=None)


@program
def set_by_a_counter(o, x):
    o.d[o.n] = x * 2
    o.n += 1
    return x


@program
def get_by_a_counter(o, x):
    o.n += 1
    return x * o.d[o.n % 3] + o.d.get(o.n, 7.0)


@program
def is_a_counter_there(o, x):
    y = o.d[o.n] * x if o.n in o.d else x
    o.n += 1
    return y


@program
def default_at_a_counter(o, x):
    o.d.setdefault(o.n, 9.0)
    o.n += 1
    return x * o.d[o.n - 1]


@program
def pop_a_counter(o, x):
    y = o.d.pop(o.n, 5.0) * x
    o.n += 1
    return y


@program
def counter_in_a_tuple(o, x):
    o.d[o.n, 1] = x
    o.n += 1
    return x


@program
def counters_in_a_set(o, x):
    o.s.add(o.n)
    o.s |= {o.n + 10}
    o.r = frozenset([o.n])
    o.n += 1
    return x


@program
def displays(o, x):
    o.r = {o.n: 1}, {o.n, 5}
    o.d.update({o.n: x})
    o.n += 1
    return x


@program
def made_of_counters(o, x):
    o.r = dict([(o.n, x)]), dict.fromkeys([o.n]), frozenset(o.n + i for i in range(2))
    o.n += 1
    return x


@program
def pop_at_a_counter(o, x):
    o.items.append(2.0)
    y = o.items.pop(o.n) * x
    o.n += 1
    return y


@program
def pop_at_other_integers(o, x):
    o.items.append(x)
    o.items.pop(np.int64(0))
    o.items.append(x * 2)
    o.items.pop(True)
    return x


@program
def counter_as_numpys(o, x):
    y = x * np.int64(o.n)
    o.r = np.int64(o.n)
    o.d[np.int64(o.n)] = x
    o.n += 1
    return y


@program
def set_by_a_float(o, x):
    o.d[o.k] = x
    o.d.setdefault(o.k + 10.0, x)
    o.k += 1.0
    return x * o.k


@program
def get_by_an_element(o, x):
    o.r = o.d.get(x[0], 5.0)
    return x * o.r


@program
def set_by_elements(o, x):
    o.d[x.sum()] = x
    o.d[x[0], o.k] = x
    o.r = {x[1]: x}
    o.k *= 1.5
    return x * o.k


@program
def element_in_a_set(o, x):
    o.s.add(x[0])
    return x


@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_keys(f):
    one, other = state(), state()
    compiled = tg.compile(lambda x: f(other, x))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for turn in range(5):
            assert repr(compiled(X + turn)) == repr(f(one, X + turn))
            assert repr(other) == repr(one)
