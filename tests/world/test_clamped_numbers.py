"""Loops whose turns clamp a number and look at it again: one loop, whatever types arms leave.

An arm may leave a float of Python's where another one leaves NumPy's: a constant, an argument, an
attribute of something outside, or what is computed of such.
"""

from __future__ import annotations

from unittest import mock

import numpy as np
import pytest
from checks import assert_close, split

import tracegrad as tg

jax = pytest.importorskip("jax")


def largest(h, q, limit):
    worst = 0.0
    for v in q:
        h = h + 0.1 * v
        if h > limit:
            h = limit
        worst = max(worst, h)
    return worst


def largest_first(h, q, limit):
    worst = 0.0
    for v in q:
        h = h + 0.1 * v
        if h > limit:
            h = limit
        worst = max(h, worst)
    return worst


def largest_by_if(h, q, limit):
    worst = h * 1.0
    for v in q:
        h = min(h + 0.1 * v, limit)
        if h > worst:
            worst = h
    return worst


def counted(h, q, limit):
    n = 0
    for v in q:
        h = h + 0.1 * v
        if h > limit:
            h = limit
        n += 1 if h > 0.5 else 0
    return h * n


def added(h, q, limit):
    total = 0.0
    for v in q:
        h = h + 0.1 * v
        if h > limit:
            h = limit * 1.0
        total = total + h
    return total


def between(h, q, limit):
    worst = 0.0
    for v in q:
        h = h + 0.1 * v
        if h > limit:
            h = limit
        if h < 0.2:
            h = 0.2
        worst = max(worst, h)
    return worst


def of_one_turn(h, q, limit):
    worst = 0.0
    for v in q:
        m = h + 0.4 * v
        if m > limit:
            m = limit
        worst = worst + m * v
        h = h * 0.9 + m
    return worst


class Tank:
    def __init__(self, area, g=9.81):
        self.area = area
        self.g = g

    def out(self, h):
        return self.area * np.sqrt(2 * self.g * h) if h > 0 else 0.0


def tank(h, q, limit):
    of, worst, over = Tank(0.1), 0.0, 0
    for v in q:
        h = h + 0.5 * (v - of.out(h))
        if h > limit:
            over += 1
            h = limit
        elif h < 0:
            h = 0.0
        worst = max(worst, h)
    return worst + h * over


def in_a_dictionary(h, q, limit):
    state, s = {"h": h}, 0.0
    for v in q:
        state["h"] = state["h"] + 0.1 * v
        if state["h"] > limit:
            state["h"] = limit
        s = max(s, state["h"])
    return s + state["h"]


class State:
    pass


def in_an_instance(h, q, limit):
    state, s = State(), 0.0
    state.h = h
    for v in q:
        if v > 0.5:
            state.h = limit
        elif v < -1.0:
            state.h = 0.25
        s = s + state.h * v
    return s


def in_a_list_in_a_dictionary(h, q, limit):
    a = {"p": h, "q": [h * 2.0]}
    for v in q:
        if a["p"] > limit:
            a["p"] = a["p"] * 0.5
        a["q"] = [a["q"][0] + a["p"] * v]
    return a["q"][0]


PROGRAMS = [
    *(largest, largest_first, largest_by_if, counted, added, between, of_one_turn, tank),
    *(in_a_dictionary, in_an_instance, in_a_list_in_a_dictionary),
]
MADE = {"compile": tg.compile, "value_and_grad": tg.value_and_grad}
EVER = 3  # versions: each way that no call before it took may make one more


def calls(kind, limit=float, count=8):
    random = np.random.default_rng(3)
    return [(kind(1.0), random.normal(size=40), limit(1.1)) for _ in range(count)]


def numbers(result):
    """A result whose numbers may be Python's, as float64."""
    return (
        [np.float64(x).tobytes() for x in result]
        if type(result) is tuple
        else np.float64(result).tobytes()
    )


@pytest.mark.parametrize("limit", [float, np.float64])
@pytest.mark.parametrize("kind", [float, np.float64])
@pytest.mark.parametrize("make", MADE.values(), ids=MADE)
@pytest.mark.parametrize("function", PROGRAMS, ids=lambda f: f.__name__)
@pytest.mark.sampled(3)
def test_one_loop_with_the_bits_of_eager(function, make, kind, limit):
    f = make(function)
    for args in calls(kind, limit):
        with mock.patch.object(tg.config, "compile", False):
            wanted = make(function)(*args)
        assert numbers(f(*args)) == numbers(wanted)
    if function is tank and make is not tg.compile:
        return  # its turns read two variables that are one array in some of them
    told = f.explain()
    assert "loops that are unrolled" not in told
    assert len([line for line in told.splitlines() if line.startswith("version ")]) <= EVER


@pytest.mark.parametrize("function", [largest, largest_by_if, added], ids=lambda f: f.__name__)
def test_tensors_are_given_back(function):
    f = tg.compile(function)
    for args in calls(float):
        wanted = function(*map(tg.tensor, args))
        assert numbers(float(f(*map(tg.tensor, args)))) == numbers(float(wanted))
    assert "loops that are unrolled" not in f.explain()


class Limits:
    first = 0.0
    top = 0.0


LIMITS = Limits()


def of_attributes(q):
    h, s = LIMITS.first, 0.0
    for v in q:
        s = s + h * v
        h = LIMITS.top
    return s


def clamped_at_an_attribute(q):
    h, s = LIMITS.first, 0.0
    for v in q:
        h = h + 0.1 * v
        if h > LIMITS.top:
            h = LIMITS.top * 2.0
        s = max(s, h)
    return s


@pytest.mark.parametrize("make", MADE.values(), ids=MADE)
@pytest.mark.parametrize("function", [of_attributes, clamped_at_an_attribute])
def test_a_number_from_outside_is_read_by_each_call(function, make):
    f = make(function)
    for i in range(5):
        args = (np.random.default_rng(i).normal(size=20),)
        LIMITS.first, LIMITS.top = 0.1 + 0.3 * i, 0.2 + 0.3 * i
        with mock.patch.object(tg.config, "compile", False):
            wanted = make(function)(*args)
        for a, b in zip(split((f(*args), 0))[0], split((wanted, 0))[0], strict=True):
            assert np.array_equal(a, b)
    assert f.explain().startswith(f"{function.__name__}: 1 version,")


def divided_by(h, q, low):
    s = 0.0
    for v in q:
        h = h + v
        if h > 1:
            h = low
        s = s + 1.0 / h
    return s


def divided_by_what_a_turn_keeps(h, q, low):
    s = 0.0
    for v in q:
        m = h + v
        if m > 1:
            m = low
        s = s + 1.0 / m
    return s


@pytest.mark.parametrize("make", MADE.values(), ids=MADE)
@pytest.mark.parametrize("function", [divided_by, divided_by_what_a_turn_keeps])
def test_a_float_of_pythons_that_is_0_raises_where_it_is_divided_by(function, make):
    f = make(function)
    q = np.random.default_rng(0).normal(size=20)
    for low in (-0.5, 0.0, 0.5, 0.0):
        if low:
            with mock.patch.object(tg.config, "compile", False):
                wanted = make(function)(0.3, q, low)
            assert numbers_in(f(0.3, q, low)) == numbers_in(wanted)
        else:
            with pytest.raises(ZeroDivisionError):
                f(0.3, q, low)


def numbers_in(result):
    return [x.tobytes() for x in map(np.asarray, result if type(result) is tuple else (result,))]


def skips(x, z, p):
    ll = 0.0
    for k in range(len(z)):
        v = z[k] - x
        if v * v > p:
            continue
        x = x + 0.1 * v
        ll = ll - v * v
    return -ll


def clamped_at_two(h, q, limit):
    worst = 0.0
    for v in q:
        h = h + 0.1 * v
        if h > 2:
            h = 2.0
        worst = worst + h
    return worst * limit


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("make", MADE.values(), ids=MADE)
@pytest.mark.parametrize("function", [*PROGRAMS, skips, clamped_at_two], ids=lambda f: f.__name__)
@pytest.mark.sampled(5)
def test_one_loop_inside_jax(function, make, dtype):
    if function is tank and make is not tg.compile:
        return  # its gradient unrolls the loop: see above
    h, q, limit = calls(dtype, dtype, 1)[0]
    args = h, q.astype(dtype), limit
    with jax.enable_x64(True):
        found = jax.jit(lambda *args: make(function)(*args))(*args)
        assert all(x.dtype == dtype for x in jax.tree.leaves(found))
    with mock.patch.object(tg.config, "compile", False):
        wanted = make(function)(*args)
    assert_close(jax.tree.map(np.float64, found), jax.tree.map(np.float64, wanted), 1e-4)


@pytest.mark.parametrize("make", MADE.values(), ids=MADE)
@pytest.mark.parametrize("function", [largest_by_if, skips], ids=lambda f: f.__name__)
def test_a_float_that_begins_a_loop_over_float32(function, make):
    f = make(function)
    for h, q, limit in calls(np.float32, np.float32, 5):
        args = h, q.astype(np.float32), limit
        with mock.patch.object(tg.config, "compile", False):
            wanted = make(function)(*args)
        for a, b in zip(jax.tree.leaves(f(*args)), jax.tree.leaves(wanted), strict=True):
            assert (np.float64(a), np.asarray(a).dtype) == (np.float64(b), np.float32)
    assert "loops that are unrolled" not in f.explain()


def of_python_alone(h, q, limit):
    """What is computed of floats of Python's alone has 64 bits, until a turn has others."""
    total, part = 0.1, 0.3
    for v in q:
        if v > limit:
            part = v
        total = total * 1.1 + part * 0.7
    return total


def kept_as_it_is(h, q, limit):
    best = 0.1
    for v in q:
        if v > limit:
            best = v
    return best


@pytest.mark.parametrize("function", [of_python_alone, kept_as_it_is], ids=lambda f: f.__name__)
@pytest.mark.parametrize("limit", [9.0, 1.0])
def test_floats_of_python_beside_float32_keep_their_bits(function, limit):
    f = tg.compile(function)
    q = np.random.default_rng(0).normal(size=20).astype(np.float32)
    for n in (9.0, limit, 1.0, 9.0):
        args = np.float32(1.0), q, np.float32(n)
        assert numbers_in(f(*args)) == numbers_in(function(*args))


def filtered(p, z, gate):
    x, P, F = np.zeros(2), np.eye(2), np.array([[1.0, 0.1], [0.0, 1.0]])
    Q, ll = p["q"] * np.eye(2), 0.0
    for k in range(len(z)):
        x, P = F @ x, F @ P @ F.T + Q
        s, v = P[0, 0] + p["r"], z[k] - x[0]
        if gate and v * v > 9 * s:
            continue
        K = P[:, 0] / s
        x, P = x + K * v, P - np.outer(K, P[0])
        ll = ll - 0.5 * (np.log(s) + v * v / s)
    return -ll


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("gate", [False, True])
def test_a_filter_over_data_of_fewer_bits_than_its_state(gate, dtype):
    f = tg.value_and_grad(filtered)
    for i in range(3):
        z = np.random.default_rng(i).normal(size=40).astype(dtype)
        args = {"q": 0.01, "r": 0.5}, z, gate
        with mock.patch.object(tg.config, "compile", False):
            wanted = tg.value_and_grad(filtered)(*args)
        assert numbers_in(jax.tree.leaves(f(*args))) == numbers_in(jax.tree.leaves(wanted))
    assert "loops that are unrolled" not in f.explain()
