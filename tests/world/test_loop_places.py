"""Attributes, items of dictionaries and lists, and cells that turns of a loop write to.

They go from turn to turn as variables do. Values, gradients and what a call leaves behind have the
bits of plain Python.
"""

from __future__ import annotations

import numpy as np
import pytest
from checks import assert_same_bits
from test_loops import body_of, eagerly, loops_in

import tracegrad as tg

pytestmark = pytest.mark.usefixtures("fresh_loops")


class RNN:
    def __init__(self, w=None):
        self.w = w
        self.h = np.zeros(3)
        self.t = 0
        self.rate = 0.5
        self.pair = (0.0, 1.0)

    def step(self, x):
        self.h = np.tanh(self.w * self.h + x)
        self.t += 1
        return self.h


class Slotted:
    __slots__ = ("_h", "n")

    def __init__(self, h):
        self._h, self.n = h, 0

    @property
    def h(self):
        return self._h

    @h.setter
    def h(self, h):
        self._h = h + 0.1


def own_object(outside, x, w):
    rnn = RNN(w)
    for row in x:
        rnn.step(row)
    return (rnn.h * rnn.h).sum() + 0.1 * rnn.t


def kalman(outside, x, w):
    state = {"m": 0.0, "P": 1.0}
    ll = 0.0
    for z in x:
        P = state["P"] + w[0] * w[0]
        S = P + 0.5
        K = P / S
        e = z - state["m"]
        state["m"] = state["m"] + K * e
        state["P"] = (1 - K) * P
        ll = ll - 0.5 * (np.log(S) + e * e / S)
    return ll


def outside_object(outside, x, w):
    outside.w = w
    for row in x:
        outside.step(row)
        outside.rate = outside.rate * 0.99
    return outside.h.sum() * outside.rate


def left(outside, x, w):
    for row in x:
        outside.h = outside.h * 0.5 + row * w
        outside.t += 1
        if outside.h.sum() > 2.0:
            break
    return outside.h.sum() * outside.t


def nonlocal_variable(outside, x, w):
    n, s = 0, x[0]

    def add(v):
        nonlocal n, s
        n += 1
        s = s * 0.5 + v

    for v in x:
        add(v)
    return s * n * w[0]


def of_each_turn(outside, x, w):
    total = 0.0
    for _ in range(9):
        state = {"h": w * 1.0, "k": 0}
        for v in x:
            state["h"] = np.tanh(state["h"] + v * w)
            state["k"] += 1
            if state["h"].sum() > 1.5:
                state["h"] = state["h"] * 0.5
        total = total + state["h"].sum() * state["k"]
        outside.t += 1
    return total


def slots_and_properties(outside, x, w):
    cell, made = Slotted(w * 1.0), {}
    buffer = [0.0, x[0]]
    for v in x:
        cell.h = np.tanh(cell.h + v)
        cell.n += 1
        made["twice"] = {"v": v * 2}
        made["twice"]["v"] = v + buffer[1]
        buffer[0] = buffer[0] * 0.5 + made["twice"]["v"]
        buffer[1] = v
        made["twice"] = buffer[0]
    return (cell.h * buffer[0]).sum() * cell.n


def aliases(outside, x, w):
    a = RNN()
    b = a
    for v in x:
        a.h = a.h * 0.5 + v
        b.t += 1
        b.h = b.h + w
    return (a.h * b.h).sum() * a.t


def pairs(outside, x, w):
    for v in x:
        a, b = outside.pair
        outside.pair = b, a * 0.5 + v
    return outside.pair[0] * outside.pair[1] * w[0]


STAYING = [
    *(own_object, kalman, outside_object, left, nonlocal_variable, of_each_turn),
    *(slots_and_properties, aliases, pairs),
]


def deleted(outside, x, w):
    for v in x:
        outside.extra = outside.h * v
        outside.h = outside.extra + w
        del outside.extra
    return outside.h.sum()


def hidden(outside, x, w):
    outside.cache = {}
    table = outside.cache
    del table
    for v in x:
        outside.cache[v > 0] = v * w
    found = sum(outside.cache.values())
    outside.cache = None
    return (found * w).sum()


def grown(outside, x, w):
    made = {}
    for i in range(12):
        made[i] = x[i] * w
    return sum(made.values()).sum()


OTHERS = [deleted, hidden, grown]


def inputs():
    random = np.random.default_rng(0)
    x, w = random.normal(size=12), random.normal(size=3)
    return [(x, w), (x, w), (random.normal(size=12), w), (abs(x), w), (-abs(x), -w), (x, w)]


def state_of(outside):
    return {
        name: (type(value), np.asarray(value).tobytes())
        for name, value in vars(outside).items()
        if name != "w"
    }


@pytest.mark.parametrize("function", [*STAYING, *OTHERS], ids=lambda f: f.__name__)
def test_what_a_call_gives_and_leaves_behind_has_the_bits_of_python(function):
    outside = [RNN() for _ in range(4)]
    compiled = tg.compile(lambda x, w: function(outside[0], x, w))
    gradient = tg.value_and_grad(lambda x, w: function(outside[2], x, w), argnums=(0, 1))
    other = tg.value_and_grad(lambda x, w: function(outside[3], x, w), argnums=(0, 1))
    for x, w in inputs():
        assert_same_bits(compiled(x, w), function(outside[1], x, w))
        assert state_of(outside[0]) == state_of(outside[1])
        assert_same_bits(gradient(x, w), eagerly(other, x, w))
        assert state_of(outside[2]) == state_of(outside[3])


@pytest.mark.parametrize("function", STAYING, ids=lambda f: f.__name__)
def test_they_stay_loops(function):
    x, w = inputs()[0]
    outside = RNN()
    compiled = tg.compile(lambda x, w: function(outside, x, w))
    compiled(x, w)
    source = compiled.source(x, w)
    assert loops_in(source) and len(str(source).splitlines()) < 70, source
    assert compiled.cache_info().versions <= 2


def test_a_filter_with_its_state_in_a_dictionary_reads_as_it_was_written():
    compiled = tg.compile(lambda x, w: kalman(None, x, w))
    body = body_of(compiled.source(*inputs()[0]))
    assert body == "\n".join([
        "P_1 = w[0]",
        "P_1 = float(P_1 * P_1)",
        "x_list = x.tolist()",
        "ll = 0.0",
        "m = 0.0",
        "P = 1.0",
        "for z in x_list:",
        "    P = P + P_1",
        "    S = P + 0.5",
        "    K = P / S if S else np.divide(P, S)",
        "    e = z - m",
        "    m = m + K * e",
        "    P = (1 - K) * P",
        "    ll_1 = e * e",
        "    ll_1 = 0.5 * (float(np.log(S)) + (ll_1 / S if S else np.divide(ll_1, S)))",
        "    ll = ll - ll_1",
        "return np.float64(ll)",
    ])  # fmt: skip


def garch(p, r):
    s, total = np.var(r), 0.0
    for t in range(1, len(r)):
        s = p[0] + p[1] * r[t - 1] ** 2 + p[2] * s
        total = total + np.log(s) + r[t] ** 2 / s
    return total


def rows(p, x):
    h = p * 0.5
    for row in x:
        h = np.tanh(h * p + row)
    return h.sum()


def pairs_of_rows(p, x):
    s, n = p[0], len(x)
    for k, (u, v) in enumerate(zip(x, x * 2)):
        s = np.tanh(s * u) + v * k / n
    return s


def backwards(p, x):
    s = p[0]
    for t in range(len(x) - 1, -1, -1):
        s = np.tanh(s * x[t]) + p[1]
    for t in reversed(range(len(x))):
        s = s * 0.5 + x[t]
    return s


def collected(p, x):
    out = []
    for row in x:
        out.append(np.tanh(row * p))
    return np.stack(out).sum()


def counted(p, x):
    out = [p[0] * 1.0]
    for row in x:
        out.append(row * p[1])
    return out[-1] * len(out) + np.stack(out).sum()


@pytest.mark.parametrize(
    "function", [garch, rows, pairs_of_rows, backwards, collected], ids=lambda f: f.__name__
)
def test_one_program_makes_any_number_of_turns(function):
    random = np.random.default_rng(0)
    p, gradient = abs(random.normal(size=3)), tg.value_and_grad(function, argnums=(0, 1))
    compiled = tg.compile(function)
    for turns in (12, 20, 9, 100, 13):
        x = random.normal(size=turns)
        assert_same_bits(gradient(p, x), eagerly(gradient, p, x))
        assert_same_bits(compiled(p, x), function(p, x))
    assert gradient.cache_info().versions == compiled.cache_info().versions == 1
    for turns in (9, 7, 3, 2, 1, 0):
        x = np.ones(turns)
        if turns or function is backwards:
            assert_same_bits(compiled(p, x), function(p, x))


def test_what_is_seen_of_a_list_is_of_its_length():
    random = np.random.default_rng(0)
    p, gradient = random.normal(size=3), tg.value_and_grad(counted, argnums=(0, 1))
    for turns in (12, 20, 9, 12):
        x = random.normal(size=turns)
        assert_same_bits(gradient(p, x), eagerly(gradient, p, x))


def test_a_run_that_no_program_stands_for_has_a_tape_through_the_turns():
    outside, done = RNN(), []

    def effects_first(p, x):
        done.append(1)
        outside.rate = iter(())
        return rows(p, x) * garch(abs(p), x)

    def effects_last(p, x):
        value = rows(p, x) * garch(abs(p), x)
        done.append(1)
        outside.rate = iter(())
        return value

    random = np.random.default_rng(0)
    p, x = random.normal(size=3), random.normal(size=30)
    for function in (effects_first, effects_last):
        gradient, count = tg.value_and_grad(function, argnums=(0, 1)), len(done)
        for _ in range(2):
            assert_same_bits(gradient(p, x), eagerly(gradient, p, x))
        assert len(done) == count + 4


def test_a_number_that_is_read_behind_turns_without_a_tape_loses_its_gradient():
    def f(p, x):
        return float(rows(p, x))

    def g(p, x):
        rate = 0.5
        for _ in x:
            rate = rate * 0.9
        return rows(p, x) * float(rate)

    p, x = np.ones(3), np.linspace(-1, 1, 30)
    with pytest.raises(tg.errors.LostGradientError, match="float"):
        tg.grad(f)(p, x)
    assert_same_bits(tg.grad(g)(p, x), eagerly(tg.grad(g), p, x))
