"""Variables in which turns put now a float of Python's, now one of NumPy's: each stays what it is.

What a compiled call returns, appends and stores has the types that Python gives, and division by 0
raises where it does: behind the loop, in its turns, and of items of a list. Derivatives give values
of NumPy's, and raise as well.
"""

from __future__ import annotations

from collections import deque
from unittest import mock

import numpy as np
import pytest

import tracegrad as tg

RISING = [0.1 * k for k in range(12)]
MIXED = [0.1, 0.3, -0.2, 0.5, 0.4, -0.3, -0.2, 0.1, 0.1, 0.05, -0.3, 0.2]
LOW = [0.01] * 12
ZEROS = [0.0, 0.0, -0.0, 0.0, -0.0, -0.0, 0.5, -0.5, 0.0, 0.0, 0.6, 0.0]
ORDERS = {
    "clamped first": (RISING, MIXED, LOW, ZEROS, RISING, LOW),
    "clamped later": (LOW, MIXED, RISING, ZEROS, LOW, RISING),
}
LIMIT = 0.6


class Outside:
    """What the functions change outside."""

    def __init__(self):
        self.log, self.queue, self.top, self.h = [], deque(), LIMIT, None


OUTSIDE = Outside()


def clear():
    OUTSIDE.log.clear()
    OUTSIDE.queue.clear()
    OUTSIDE.h = None


def returned(x, limit):
    h = 0.0
    for v in x:
        h = h + v
        if h > limit:
            h = limit
    return h


def of_an_attribute(x, limit):
    h, out = 0.0, []
    for v in x:
        h = h + v
        if h > OUTSIDE.top:
            h = OUTSIDE.top
        out.append(h)
    return out


def of_a_literal(x, limit):
    h, out = 0.0, []
    for v in x:
        h = h + v
        if h > 0.6:
            h = 0.6
        out.append(h)
    return out, h


def by_min(x, limit):
    h, out = 0.0, []
    for v in x:
        h = min(h + v, limit)
        out.append(h)
    return out


def in_some_turns(x, limit):
    h = 0.0
    for v in x:
        h = h + v
        if h > limit:
            h = limit
        if v > 0:
            OUTSIDE.log.append(h)
    return h


def to_a_list_outside(x, limit):
    h = 0.0
    for v in x:
        h = h + v
        if h > limit:
            h = limit
        OUTSIDE.log.append(h)
        OUTSIDE.queue.append(h)
    return h


def behind_the_loop(x, limit):
    h = 0.0
    for v in x:
        h = h + v
        if h > limit:
            h = limit
    OUTSIDE.log.append(h)
    OUTSIDE.h = h
    return -h, abs(h), h * 2.0, h**2, float(h), np.tanh(h), np.add(h, 1.0)


def last_items(x, limit):
    out = [0.1]
    for v in x:
        h = out[-1] + v
        if h > limit:
            h = limit
        out.append(h)
    return out


def gone_through(x, limit):
    h, s, out = 0.0, 0.0, []
    for v in x:
        h = h + v
        if h > limit:
            h = limit
        out.append(h)
    for y in out:
        s = s + 1.0 / (y - 0.77)
    return s, sum(out), max(out), tuple(out)


def within_a_turn(x, limit):
    h, s = 0.0, 0.0
    for v in x:
        h = h + v
        if h > limit:
            h = limit
        s = s + 1.0 / (h - 0.77)
    return s


def handed_over(x, limit):
    a, h = 0.0, 0.0
    for v in x:
        a = h
        h = v - h
        if h > limit:
            h = limit
    return a, h


def stacked(x, limit):
    h, out = 0.0, []
    for v in x:
        h = h + v
        if h > limit:
            h = limit
        out.append(h)
    return np.array(out)


def divided(x, limit):
    h = 0.0
    for v in x:
        h = h + v
        if h > 0.6:
            h = 0.6
    return 1.0 / (h - 0.6)


def divided_beside_a_list(x, limit):
    h, out = 0.0, []
    for v in x:
        h = h + v
        if h > 0.6:
            h = 0.6
        out.append(h)
    return 1.0 / (h - 0.6), out


def divided_by_an_item(x, limit):
    h, out = 0.0, []
    for v in x:
        h = h + v
        if h > limit:
            h = limit
        out.append(h)
    return 1.0 / (out[-1] - limit)


def divided_in_turns(x, limit):
    h, s = 0.0, 0.0
    for v in x:
        h = h + v
        if h > limit:
            h = limit
        s = s + 1.0 / (h - limit)
    return s


LOOPS = [
    *(returned, of_an_attribute, of_a_literal, by_min, in_some_turns, to_a_list_outside),
    *(behind_the_loop, last_items, gone_through, within_a_turn, handed_over, stacked),
    *(divided, divided_beside_a_list, divided_by_an_item, divided_in_turns),
]


def texts(x, limit):
    h, out = 0.0, []
    for v in x:
        h = h + v
        if h > limit:
            h = limit
        out.append(h)
    return f"{h!r}", repr(out)


def asked(x, limit):
    h = 0.0
    for v in x:
        h = h + v
        if h > limit:
            h = limit
    return type(h).__name__, isinstance(h, np.floating), hasattr(h, "dtype"), round(h, 1)


def caught(x, limit):
    h = 0.0
    for v in x:
        h = h + v
        if h > limit:
            h = limit
    try:
        return 1.0 / (h - limit)
    except ZeroDivisionError:
        return -1.0


def told(x):
    """What something is, with types and bits."""
    if isinstance(x, list | tuple | deque):
        return type(x), [told(item) for item in x]
    if isinstance(x, float | np.floating | np.ndarray):
        return type(x), np.asarray(x).tobytes()
    return type(x), x


def outcome(f, *args):
    """What a call gives and leaves outside, or what it raises."""
    clear()
    with np.errstate(all="ignore"):
        try:
            result = told(f(*args))
        except ZeroDivisionError as error:
            return repr(error)
    return result, told(OUTSIDE.log), told(OUTSIDE.queue), told(OUTSIDE.h)


@pytest.mark.parametrize("order", ORDERS.values(), ids=ORDERS)
@pytest.mark.parametrize("limit", [float, np.float64])
@pytest.mark.parametrize("function", [*LOOPS, texts, asked, caught], ids=lambda f: f.__name__)
def test_types_are_those_of_python(function, limit, order):
    f = tg.compile(function)
    for numbers in order:
        args = np.array(numbers), limit(LIMIT)
        wanted = outcome(function, *args)
        assert outcome(f, *args) == wanted
        assert outcome(f, *args) == wanted
    if function in LOOPS:
        assert "loops that are unrolled" not in f.explain()


@pytest.mark.parametrize("order", ORDERS.values(), ids=ORDERS)
@pytest.mark.parametrize("function", LOOPS, ids=lambda f: f.__name__)
def test_lists_of_floats(function, order):
    f = tg.compile(function)
    for numbers in order:
        wanted = outcome(function, [*numbers], LIMIT)
        assert outcome(f, [*numbers], LIMIT) == wanted


@pytest.mark.parametrize("make", [tg.grad, tg.value_and_grad], ids=["grad", "value_and_grad"])
@pytest.mark.parametrize("order", ORDERS.values(), ids=ORDERS)
@pytest.mark.parametrize(
    "function", [divided, divided_by_an_item, divided_in_turns], ids=lambda f: f.__name__
)
def test_derivatives_raise_as_python_does(function, order, make):
    f = make(function)
    for numbers in order:
        args = np.array(numbers), LIMIT
        with mock.patch.object(tg.config, "compile", False):
            wanted = outcome(make(function), *args)
        assert outcome(f, *args) == wanted


def test_the_source_says_numbers_as_the_function_does():
    f = tg.compile(returned)
    for numbers in (RISING, MIXED, LOW):
        f(np.array(numbers), LIMIT)
    source = f.source(np.array(LOW), LIMIT)
    assert "h = 0.0\n" in source
    assert "h = limit\n" in source
    assert "np.float64(" not in source


@pytest.mark.parametrize("counted", ["bool(v)", "not v", "True", "bool(v > 0.0)", "int(v > 0.0)"])
@pytest.mark.parametrize("clamp", ["s = min(s, v)", "s = max(s, 0.1)", "if s > 2.5: s = 2.5"])
def test_bools_of_python_are_added_as_ints(counted, clamp):
    lines = ["def f(x):", "    s = 0.0", "    for v in x:", f"        s += {counted}"]
    names = {}
    exec("\n".join([*lines, f"        {clamp}", "    return s"]), names)
    f, made = names["f"], tg.compile(names["f"])
    for x in (np.linspace(-0.3, 0.9, 12), np.linspace(0.9, -0.3, 12), np.linspace(0.1, 0.4, 12)):
        assert made(x) == f(x)


def test_whether_a_clamped_number_is_a_float_is_asked_in_each_call():
    def f(x):
        h = 0.0
        for v in x:
            h = h + abs(v)
            if h > 0.5:
                h = 0.5
        return isinstance(h, float), h

    made = tg.compile(f)
    for dtype in ("float32", "float64"):
        x = np.linspace(-0.3, 0.9, 12).astype(dtype)
        for given in (x, -x, (x * 0.01).astype(dtype), x):
            found, expected = made(given), f(given)
            assert found == expected and type(found[1]) is type(expected[1])


@pytest.mark.parametrize("backend", ["numpy", "numba"])
def test_floats_of_python_are_rounded_as_python_does(backend):
    pytest.importorskip("numba" if backend == "numba" else "numpy")

    def f(a, xs):
        return round(a * 0.5, 2) + round(a, 1), sum(round(float(v), 2) for v in xs), round(a, -1)

    made, random = tg.compile(f, backend=backend), np.random.default_rng(0)
    slope = tg.value_and_grad(lambda a: round(a, 2) * a, backend=backend)
    for _ in range(200):
        a = round(random.uniform(-30.0, 30.0), 3)
        xs = np.round(random.uniform(0.0, 3.0, 12), 3)
        assert made(a, xs) == f(a, xs)
        assert slope(a) == (round(a, 2) * a, round(a, 2))
