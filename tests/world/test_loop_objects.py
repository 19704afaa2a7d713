"""Loops whose state is an instance of a small class, or a short list, that each turn makes anew.

Compiled calls and gradients have the bits of eager ones. The text does not grow with the turns,
where nobody else has such an object; where somebody has, the loop is unrolled, and right.
"""

from __future__ import annotations

import dataclasses
import weakref
from typing import Any, Generic, TypeVar

import numpy as np
import pytest
from checks import assert_same_bits

import tracegrad as tg

pytestmark = pytest.mark.usefixtures("fresh_loops")

T = TypeVar("T")


class Point:
    def __init__(self, at, speed):
        self.at = at
        self.speed = speed

    def moved(self, force, step):
        speed = self.speed + step * force
        return Point(self.at + step * speed, speed)

    def push(self, force):
        self.speed = self.speed + force


class Pair:
    def __init__(self, a, b):
        self.a, self.b = a, b

    def __add__(self, other):
        return type(self)(self.a + other.a, self.b + other.b)

    def __mul__(self, k):
        return type(self)(self.a * k, self.b * k)

    __rmul__ = __mul__


@dataclasses.dataclass
class State:
    h: Any
    c: Any
    n: int = 0


@dataclasses.dataclass(frozen=True)
class Frozen(Generic[T]):
    h: T
    c: T

    @property
    def both(self):
        return self.h + self.c


class Checked:
    def __init__(self, h):
        self.h = h

    def __setattr__(self, name, value):
        object.__setattr__(self, name, value * 0.5)


def as_a_class(x, w):
    p = Point(w[0] * 1.0, w[1] * 1.0)
    for row in x:
        p = p.moved(row[0] - p.at, 0.1)
    return p.at * p.speed


def with_operators(x, w):
    q, r = Pair(w[0], w[1]), Pair(w * 1.0, w * 0.5)
    for row in x:
        q = q + 0.1 * (q * row[0])
        r = r * 0.9 + Pair(row, q.a)
    return q.a * q.b + (r.a * r.b).sum()


def as_a_dataclass(x, w):
    s = State(w * 0.5, w[0] * 1.0)
    for row in x:
        s = State(np.tanh(s.h * w + row), s.c * 0.9 + s.h.sum(), s.n + 1)
    return (s.h * s.c).sum() * s.n


def frozen(x, w):
    s = Frozen(0.0, 1.0)
    for row in x:
        s = Frozen(np.tanh(s.both * w[0] + row[0]), s.c * 0.9 + s.h)
    return s.h * s.both


def replaced(x, w):
    s = State(w[0] * 1.0, w[1] * 1.0)
    for row in x:
        s = dataclasses.replace(s, h=np.tanh(s.h + row[0] * s.c), n=s.n + 1)
    return s.h * s.c * s.n


def with_setattr(x, w):
    s = Checked(w[0])
    for row in x:
        s = Checked(np.tanh(s.h) + row[1])
    return s.h * w[1]


def looks_in_a_method(x, w):
    p = Point(w[0] * 1.0, w[1] * 1.0)
    for row in x:
        p = bounced(p, row)
    return p.at * p.speed


def bounced(p, row):
    if p.at > 0.5:
        return Point(0.5 - (p.at - 0.5) * row[0], -p.speed)
    moved = p.moved(row[0], 0.3)
    if moved.speed < -0.2:
        moved.push(0.1)
    return moved


def with_an_end(x, w):
    p = Point(w[0] * 1.0, w[1] * 1.0)
    for row in x:
        p = p.moved(row[0] - p.at, 0.5)
        if p.at > 1.5:
            return p.at * 3.0
    return p.at * p.speed


def in_inner_loops(x, w):
    p = Point(w[0] * 1.0, w[1] * 1.0)
    for row in x:
        for k in range(9):
            p = p.moved(row[0] - p.at * k, 0.1)
        p = Point(np.tanh(p.speed), np.tanh(p.at))
    return p.at * p.speed


def within_one_another(x, w):
    s = State(Point(w * 1.0, w[0] * 1.0), [w[1] * 1.0, {"m": w[2] * 1.0}])
    for row in x:
        p = Point(s.h.at * 0.9 + row, s.h.speed * row[0])
        s = State(p, [s.c[0] + row[1], {"m": np.sin(s.c[1]["m"]) + row[2]}])
    return s.h.at.sum() * s.h.speed + s.c[0] * s.c[1]["m"]


def in_a_tuple(x, w):
    both = (Point(w[0], w[1]), {"m": w[2] * 1.0})
    for row in x:
        p, m = both
        both = (p.moved(row[0], 0.1), {"m": m["m"] * 0.9 + p.at})
    return both[0].at * both[1]["m"]


def while_it_is_large(x, w):
    s = State(w[0] ** 2 + 30.0, x[0, 0] * 1.0)
    while s.h > 0.01:
        s = State(s.h * 0.6, s.c + s.h, s.n + 1)
    return s.h * s.n + s.c


def with_a_history(x, w):
    s, heights = State(w[0] * 1.0, w[1] * 1.0), []
    for row in x:
        s = State(np.tanh(s.h + row[0]), s.c * 0.9)
        heights.append(s.h * s.c)
    return (np.array(heights) ** 2).sum()


def a_list(x, w):
    q = [w[0] * 1.0, w[1] * 1.0, w * 1.0]
    for row in x:
        q = [v - 0.1 * v * row[0] for v in q]
    return q[0] + q[1] + q[2].sum()


def shifted(x, w):
    last = [w[0], w[1], w[2]]
    for row in x:
        last = last[1:] + [np.tanh(last[0] * 0.5 + last[-1] * row[0])]
    return last[0] + last[1] * last[2]


def matrix_of_lists(x, w):
    m = [[w[0], w[1]], [w[1], w[2]]]
    for row in x:
        t = [[row[0], 0.5], [0.1, row[1] * 0.3]]
        m = [[sum(m[i][k] * t[k][j] for k in range(2)) for j in range(2)] for i in range(2)]
    return m[0][0] * m[1][1] - m[0][1] + m[1][0]


def parameters(x, w):
    p = {"a": w * 1.0, "b": w[0] * 1.0}
    for row in x:
        g = {k: v * row[0] for k, v in p.items()}
        p = {k: p[k] - 0.1 * g[k] for k in p}
    return (p["a"] * p["b"]).sum()


def of_numbers(x, w):
    layers = {0: w[0] * 1.0, 1: w[1] * 1.0}
    for row in x:
        layers = {k: np.tanh(v + k + row[0]) for k, v in layers.items()}
    return layers[0] * layers[1]


LOOPS = {
    f.__name__: f
    for f in (
        *(as_a_class, with_operators, as_a_dataclass, frozen, replaced, with_setattr),
        *(looks_in_a_method, with_an_end, in_inner_loops, within_one_another, in_a_tuple),
        *(while_it_is_large, with_a_history, a_list, shifted, matrix_of_lists),
        *(parameters, of_numbers),
    )
}


def put_back(x, w):
    """Some turns begin with an object that another variable has, and write to it."""
    first, p = Point(w[0] * 1.0, w[1] * 1.0), Point(w[1] * 1.0, w[2] * 1.0)
    for row in x:
        if row[1] > 0.3:
            p.push(row[2])
        p = p.moved(row[0], 0.1)
        if row[0] > 0.5:
            p = first
    return p.at * p.speed + first.at * first.speed


def put_back_in_a_dictionary(x, w):
    first, p = {"h": w[0] * 1.0}, {"h": w[1] * 1.0}
    for row in x:
        if row[1] > 0.3:
            p["h"] = p["h"] + row[2]
        p = {"h": p["h"] * 0.5 + row[0]}
        if row[0] > 0.5:
            p = first
    return p["h"] + first["h"] * 2.0


def exchanged(x, w):
    a, b = Point(w[0] * 1.0, w[1] * 1.0), Point(w[1] * 1.0, w[2] * 1.0)
    for row in x:
        a.push(row[0])
        a, b = b, a.moved(row[1], 0.1) if row[2] > 0 else a
    return a.at * a.speed - b.at * b.speed


def one_behind(x, w):
    p = before = Point(w[0] * 1.0, w[1] * 1.0)
    for row in x:
        now = p.moved(row[0] - before.at, 0.1)
        before, p = p, now
        if row[1] > 0.5:
            before.push(0.1)
    return p.at * before.speed


def two_names(x, w):
    p = q = Point(w[0] * 1.0, w[1] * 1.0)
    for row in x:
        p = q = p.moved(row[0], 0.1)
        q.push(row[1])
        if row[2] > 0.7:
            q = Point(p.at, p.speed)
    return p.at * q.speed


def kept_in_a_list(x, w):
    p, kept = Point(w[0] * 1.0, w[1] * 1.0), []
    for row in x:
        kept.append(p)
        p = p.moved(row[0], 0.1)
        kept[0].push(0.5)
    return sum([other.speed for other in kept]) + p.at


def kept_outside(x, w):
    p = Point(w[0] * 1.0, w[1] * 1.0)
    for row in x:
        HOLDER.at = p
        p = p.moved(row[0], 0.1)
        HOLDER.at.push(0.5)
    return p.at + HOLDER.at.speed


HOLDER = Point(None, None)


def within_itself(x, w):
    p = Point(w[0] * 1.0, w[1] * 1.0)
    p.me = p
    for row in x:
        p = p.moved(row[0], 0.1)
        p.me = p
        p.me.push(row[1])
    return p.me.at * p.speed


def parents(x, w):
    p = State(w[0] * 1.0, None)
    for row in x:
        p = State(p.h * 0.5 + row[0], p)
    total = 0.0
    while p is not None:
        total, p = total + p.h, p.c
    return total


def with_a_weak_reference(x, w):
    p = Point(w[0] * 1.0, w[1] * 1.0)
    shown = weakref.ref(p)
    for row in x:
        p, before = p.moved(row[0], 0.1), p
        shown().push(row[1])
        p.push(before.speed)
        shown = weakref.ref(p)
    return p.at * p.speed


def compared(x, w):
    p = before = Point(w[0] * 1.0, w[1] * 1.0)
    total = 0.0
    for row in x:
        if before is p:
            total = total + row[0]
        p = p.moved(row[0], 0.1)
        before = p if row[1] > 0 else before
    return p.at + total


def found_in_a_list(x, w):
    p = Point(w[0] * 1.0, w[1] * 1.0)
    seen, total = [p], 0.0
    for row in x:
        if p in seen:
            total = total + row[0]
        p = p.moved(row[0], 0.1)
        if row[1] > 0.5:
            seen = [p]
    return p.at + total


def with_more_attributes(x, w):
    p = Point(w[0] * 1.0, w[1] * 1.0)
    for i, row in enumerate(x):
        p = p.moved(row[0], 0.1)
        if i > 9:
            p.late = row[1]
    return p.at + getattr(p, "late", 0.0)


def of_two_classes(x, w):
    p = Pair(w[0] * 1.0, w[1] * 1.0)
    for row in x:
        p = Pair(p.a + row[0], p.b) if row[1] > 0 else Other(p.a, p.b * row[0])
    return (p * 0.5).a + p.b


class Other(Pair):
    def __mul__(self, k):
        return Other(self.a + k, self.b)


def in_a_closure(x, w):
    p = Point(w[0] * 1.0, w[1] * 1.0)

    def read():
        return p.at * 0.5

    for row in x:
        p = p.moved(row[0] + read(), 0.1)
    return p.at


def in_a_bound_method(x, w):
    p = Point(w[0] * 1.0, w[1] * 1.0)
    push = p.push
    for row in x:
        push(row[0])
        p = p.moved(row[1], 0.1)
        if row[2] > 0.5:
            push = p.push
    return p.at * p.speed


def rows_of_one_list(x, w):
    q = [w[0] * 1.0] * 2
    first = q
    for row in x:
        q = [q[0] + row[0], q[1] * row[1]]
        if row[2] > 0.5:
            q = first
        first[0] = first[0] + 0.5
    return q[0] * q[1] + first[0]


def of_another_length(x, w):
    q = [w[0] * 1.0]
    for i, row in enumerate(x):
        q = [np.tanh(v + row[0]) for v in q] + ([row[1]] if i % 5 == 0 else [])
    return sum(q)


def of_the_caller(x, w):
    given = Point(w[0] * 1.0, w[1] * 1.0)
    return pushed(given, x) + given.speed


def pushed(p, x):
    for row in x:
        if row[1] > 0.5:
            p.push(row[0])
        p = p.moved(row[0], 0.1)
    return p.at


def in_default_values(x, w):
    p = Point(w[0] * 1.0, w[1] * 1.0)
    for row in x:

        def read(of=p):
            return of.at

        p = p.moved(read() - row[0], 0.1)
        p.push(read())
    return p.at * read()


OTHERS = {
    f.__name__: f
    for f in (
        *(put_back, put_back_in_a_dictionary, exchanged, one_behind, two_names, kept_in_a_list),
        *(within_itself, parents, with_a_weak_reference, compared, found_in_a_list),
        *(with_more_attributes, of_two_classes, in_a_closure, in_a_bound_method),
        *(rows_of_one_list, of_another_length, of_the_caller, in_default_values, kept_outside),
    )
}


def inputs(length, seed=0):
    random = np.random.default_rng([seed, length])
    return random.normal(size=(length, 3)), random.normal(size=3)


def eagerly(function, *args):
    before, tg.config.compile = tg.config.compile, False
    try:
        return function(*args)
    finally:
        tg.config.compile = before


def agree(function):
    """Values and gradients of compiled calls are those of eager ones."""
    gradient, forward = tg.value_and_grad(function, argnums=(0, 1)), tg.compile(function)
    for length, seed in [(12, 0), (12, 1), (15, 0), (30, 0), (30, 1), (9, 2)]:
        args = inputs(length, seed)
        assert_same_bits(forward(*args), function(*args))
        assert_same_bits(gradient(*args), eagerly(gradient, *args))
    return gradient


@pytest.mark.parametrize("name", LOOPS)
def test_the_text_does_not_depend_on_the_turns(name):
    gradient = agree(LOOPS[name])
    lines = [len(gradient.source(*inputs(length)).splitlines()) for length in (12, 30)]
    assert lines[1] <= lines[0]


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", OTHERS)
def test_what_others_have_too_is_right(name):
    agree(OTHERS[name])


def test_objects_beside_a_loop_do_not_unroll_it():
    table = [[k] for k in range(3000)]

    def total(x, w):
        rows, n, last = table, len(x), len(w)
        y = np.zeros(n)
        for i in range(1, n):
            y[i] = 0.5 * y[i - 1] + x[i] * w[last - 1]
        return np.sum(y) + rows[3][0] * n

    gradient = tg.grad(total)
    x = np.linspace(0.0, 1.0, 40)
    gradient(x, np.ones(3))
    assert "for i in range(" in gradient.source(x, np.ones(3))
