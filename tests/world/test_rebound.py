"""State that a function writes in place and binds anew is, after each call, as in Python.

An array that stood in a place, and was written to, holds that when another one stands there.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tracegrad as tg


class State:
    """Places of every kind."""

    def __init__(self) -> None:
        self.a, self.b, self.n = np.ones(3), np.ones(3) * 2, 0
        self.t, self.d = (np.ones(3),), {"a": np.ones(3)}
        self.l, self.c = [np.ones(3), np.zeros(3)], self.a


def scaled(m, x):
    m.a[0] = x[0]
    m.a = m.a * 2
    return m.a.sum()


def exchanged(m, x):
    m.a, m.b = m.b, m.a
    m.a[0] = x[0]
    return m.a.sum() + 2 * m.b.sum()


def old_one_written(m, x):
    old = m.a
    m.a = x * 2
    old[:] = 7.0
    return m.a.sum()


def items(m, x):
    m.l[0][1] = x[1]
    m.l[0] = x + m.l[0]
    m.l[1][0] += m.l[0][1]
    return m.l[1].sum()


def list_of_arrays(m, x):
    m.l.append(x * 2)
    m.l[-1][0] = 5.0
    m.l.pop(0)
    return sum(v.sum() for v in m.l)


def two_names(m, x):
    m.c[0] = x[0]
    m.a = x * 1.0
    m.c[1] = x[1]
    return m.a.sum() + m.c.sum()


def in_a_tuple(m, x):
    m.t[0][0] = x[0]
    m.t = (m.t[0] + x,)
    return m.t[0].sum()


def either(m, x):
    if x[0] > 1:
        m.a[0] = x[0]
    else:
        m.a = x * 3
    return m.a.sum()


def by_turns(m, x):
    m.n += 1
    if m.n % 2:
        m.a = x * m.n
        m.b[:] = m.n
    else:
        m.a[0] = m.n
        m.b = x
    return m.a.sum() + m.b.sum()


def ring(m, x):
    m.ring = getattr(m, "ring", np.zeros(3))
    m.ring[m.n % 3] = x[0]
    m.n += 1
    return m.ring.sum()


def view_kept(m, x):
    v = m.a[1:]
    v *= 2
    m.a = np.concatenate([v, x])
    m.v = v
    return m.a.sum()


def in_a_dict(m, x):
    m.d["a"] += x
    m.d["b"] = m.d["a"]
    m.d["a"] = x * 2
    m.d["b"][0] = 9.0
    return m.d["a"].sum() + m.d["b"].sum()


def then_another(m, x):
    m.a += x
    m.b = m.a
    m.a = m.a * 1.0
    m.a[0] = 3
    return m.b.sum()


def shared(m, x):
    m.a = m.b
    m.a[0] += x[0]
    return m.b.sum()


def filled_and_left(m, x):
    y = np.empty(3)
    y[:] = x
    m.a = y
    y[0] = 8.0
    m.l.append(y)
    return m.a.sum()


def argument_left(m, x):
    m.a[:] = x
    x[0] = 100.0
    m.l[0] = x
    return m.a.sum()


def in_a_loop(m, x):
    for i in range(12):
        m.a[i % 3] += x[i % 3]
    m.a = m.a / 2
    return m.a.sum()


def view_of_argument(m, x):
    m.a = x[1:]
    x[1] = 4.0
    return m.a.sum()


def argument_kept(m, x):
    m.k = x
    x[0] = 5.0
    return x.sum()


def made_and_kept(m, x):
    m.a[0] = 1.0
    m.a = np.zeros(3)
    m.a[0] = x[0]
    b = m.a
    m.a = b + 1
    b[1] = 3.0
    m.keep = b
    return m.a.sum()


def conditional_slot(m, x):
    if "b" in m.d:
        x = x + m.d["b"]
        m.d["b"][0] = 4.0
    m.d["b"] = np.ones(3) * x[1]
    return x.sum()


PROGRAMS = [
    scaled,
    exchanged,
    old_one_written,
    items,
    list_of_arrays,
    two_names,
    in_a_tuple,
    either,
    by_turns,
    ring,
    view_kept,
    in_a_dict,
    then_another,
    shared,
    filled_and_left,
    argument_left,
    in_a_loop,
    view_of_argument,
    argument_kept,
    made_and_kept,
    conditional_slot,
]


def shown(x: Any) -> Any:
    """Values and classes, to compare."""
    if isinstance(x, list | tuple):
        return [*map(shown, x)]
    if isinstance(x, dict):
        return {name: shown(value) for name, value in x.items()}
    return (type(x), x.tolist()) if isinstance(x, np.ndarray) else x


def history(f: Any, way: str) -> list[Any]:
    """What eight calls return and leave, in the state and in arrays that stood there before."""
    m = State()
    held, given, found = [m.a, m.b, *m.l, m.d["a"], *m.t], [], []
    run = f if way == "plain" else tg.compile(f)
    if way == "closure":
        compiled = tg.compile(lambda x: f(m, x))
        run = lambda m, x: compiled(x)
    elif way == "differentiated":
        both = tg.value_and_grad(lambda w, x: f(m, x) * w)
        run = lambda m, x: both(1.0, x)[0]
    for n in range(8):
        x = np.arange(3.0) * (1 + n % 3) + n
        given.append(x)
        if n == 5:
            m.a = np.ones(3) * 4
        value = float(run(m, x))
        found.append((value, shown(vars(m)), shown([*held, *given]), m.a is m.c, m.a is m.b))
    return found


@pytest.mark.filterwarnings("ignore::tracegrad.errors.RecompileWarning")
@pytest.mark.parametrize("way", ["argument", "closure", "differentiated", "eager"])
@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_state_is_as_in_python(monkeypatch, f, way: str) -> None:
    if way == "eager":
        monkeypatch.setattr(tg.config, "versions", 0)
    for now, plain in zip(history(f, way), history(f, "plain"), strict=True):
        assert now == plain
