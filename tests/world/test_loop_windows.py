"""Loops that move what lists and deques hold: windows, histories, recurrences of second order.

Compiled calls and gradients have the bits of eager ones. The text does not grow with the turns,
where a list has one length when turns begin; where others have it, the loop is unrolled, and right.
"""

from __future__ import annotations

from collections import deque
from typing import Any, NamedTuple

import numpy as np
import pytest
from checks import assert_same_bits

import tracegrad as tg

pytestmark = pytest.mark.usefixtures("fresh_loops")


def second_order(x):
    a, b = x[:3] * 2.0, x[3:6] * 3.0
    for v in x:
        a, b = b, np.tanh(a * b + v)
    return np.sum(a * b)


def second_order_in_a_list(x):
    a = [x[:3] * 2.0, x[3:6] * 3.0]
    for v in x:
        a = [a[1], np.tanh(a[0] * a[1] + v)]
    return np.sum(a[0] * a[1])


def second_order_in_a_deque(x):
    a = deque([x[:3] * 2.0, x[3:6] * 3.0], maxlen=2)
    for v in x:
        a.append(np.tanh(a[0] * a[1] + v))
    return np.sum(a[0] * a[1])


def popped(x):
    last = [x[0], x[1], x[2]]
    for v in x:
        last.append(last[0] * 0.5 + last[-1] * v)
        last.pop(0)
    return last[0] + last[1] + last[2]


def inserted(x):
    last, s = [0.0] * 4, x[0]
    for v in x:
        last.insert(0, s)
        last.pop()
        s = s * 0.5 + np.dot(np.array(last), np.array([0.1, 0.2, 0.3, 0.4])) * v
    return s


def stored_and_shifted(x):
    last = [x[0], x[1], x[2]]
    for v in x:
        last[0] = last[0] * 0.5 + v
        last.insert(0, last[-1] * v)
        del last[3]
        last[-1] = last[-1] * 0.9
    return last[0] + last[1] * last[2]


def a_window(x):
    last, s = deque([x[0]] * 3, maxlen=3), 0.0
    for v in x:
        last.append(v * s + v)
        s = s * 0.5 + sum(last) / len(last)
    return s


def weighted_window(x):
    last, s = deque([0.0] * 4, maxlen=4), x[0]
    for v in x:
        last.appendleft(s)
        s = s * 0.5 + sum(a * w for a, w in zip(last, (0.1, 0.2, 0.3, 0.4), strict=True)) * v
    return s


def window_in_an_inner_loop(x):
    s = 0.0
    for v in x:
        last = deque([v, v * v], maxlen=2)
        for w in x[:9]:
            last.append(last[0] * w)
        s = s + last[0] * last[1]
    return s


def two_names_of_one_list(x):
    h = [x[0], x[1], x[2]]
    k = h
    for v in x:
        h.append(h[0] * v)
        h.pop(0)
        k[1] = k[1] * 0.5
    return h[0] + k[1] * k[2]


def popped_from_a_dictionary(x):
    p = {"a": x[0], "b": x[1]}
    for v in x:
        a = p.pop("a")
        b = p.pop("b")
        p["a"] = b * 0.5 + v
        p["b"] = a * v
    return p["a"] + p["b"]


class Named(NamedTuple):
    at: Any
    speed: Any


def named_and_replaced(x):
    p = Named(x[0], x[1])
    for v in x:
        p = p._replace(at=p.at + 0.1 * p.speed * v)
    return p.at * p.speed


def zipped(x):
    some, others, s = [x[0], x[1], x[2]], (x[1], x[2], x[3]), x[0]
    for v in x:
        for i, (a, b) in enumerate(zip(some, reversed(others), strict=True)):
            s = s * 0.5 + a * b * v + i
        if s > 1.0:
            s = s * 0.1
    return s


def filled_at_first(x):
    last, s = [], x[0]
    for v in x:
        last.append(s)
        if len(last) > 3:
            last.pop(0)
        s = s * 0.5 + sum(last) * v
    return s


def window_that_fills(x):
    last, s = deque(maxlen=4), 0.0
    for v in x:
        last.append(v * v)
        s = s * 0.5 + sum(last) / len(last)
    return s


def two_loop_recursion(x):
    """As L-BFGS keeps the last steps."""
    steps, changes, q = [], [], x[:3]
    for v in x:
        step = -0.1 * q * v
        steps.append(step)
        changes.append(step * 0.5)
        if len(steps) > 3:
            steps.pop(0)
            changes.pop(0)
        q = q + step
        for a, b in zip(reversed(steps), reversed(changes), strict=True):
            q = q + 0.01 * np.sum(a * b) * q
    return np.sum(q)


LOOPS = [
    second_order,
    second_order_in_a_list,
    second_order_in_a_deque,
    popped,
    inserted,
    stored_and_shifted,
    a_window,
    weighted_window,
    window_in_an_inner_loop,
    two_names_of_one_list,
    popped_from_a_dictionary,
    named_and_replaced,
    zipped,
    filled_at_first,
    window_that_fills,
    two_loop_recursion,
]


def then_written(x):
    a, b = x[:3] * 2.0, x[3:6] * 3.0
    for v in x:
        a, b = b, np.tanh(a * b + v)
    a += 1.0
    return np.sum(a * b)


def first_is_written_then(x):
    c = x[3:6] * 3.0
    a, b = x[:3] * 2.0, c
    for v in x:
        a, b = b, np.tanh(a * b + v)
        if v > 0.5:
            break
    c += 1.0
    return np.sum(a * b) + np.sum(c)


def written_in_arm(x):
    a, b = x[:3] * 2.0, x[3:6] * 3.0
    for v in x:
        a, b = b, np.tanh(a * b + v)
        if v > 1.0:
            a += 0.5
    return np.sum(a * b)


def written_behind_a_break(x):
    a, b = x[:3] * 2.0, x[3:6] * 3.0
    for v in x:
        a, b = b, np.tanh(a * b + v)
        if v > 1.2:
            break
    b += 1.0
    a *= 2.0
    return np.sum(a * b)


def alias_at_break(x):
    a, b = x[:3] * 2.0, x[3:6] * 3.0
    for v in x:
        n = np.tanh(a * b + v)
        a = b
        if v > 1.2:
            break
        b = n
    a += 1.0
    return np.sum(a * b)


def kept_in_a_list(x):
    a, b = x[:3] * 2.0, x[3:6] * 3.0
    h = [a, b]
    for v in x:
        a, b = b, np.tanh(a * b + v)
        if v > 1.0:
            h[0] += 0.5
    h[1] += 1.0
    return np.sum(a * b) + np.sum(h[0] * h[1])


def written_around_an_inner_loop(x):
    a, b = x[:3] * 2.0, x[3:6] * 3.0
    for v in x:
        for w in x:
            a, b = b, np.tanh(a * b + v * w)
        a, b = b * 1.0, a
        if v > 1.0:
            a += 0.5
    return np.sum(a * b)


def rows_of_a_matrix(x):
    m = np.stack([x[:3], x[3:6]])
    a, b = m[0], m[1]
    for v in x:
        a, b = b, np.tanh(a * b + v)
    m += 1.0
    return np.sum(a * b) + np.sum(m)


def written_in_a_deque(x):
    d = deque([x[:3] * 2.0, x[3:6] * 3.0], maxlen=2)
    for v in x:
        d.append(np.tanh(d[0] * d[1] + v))
        if v > 1.0:
            d[0] += 0.5
    d[1] *= 2.0
    return np.sum(d[0] * d[1])


def copied_from_another_name(x):
    h = [x[0], x[1], x[2]]
    k = h
    for v in x:
        h.append(h[0] * v)
        h.pop(0)
        if v > 1.0:
            h = [*k]
    return h[0] + k[1] * k[2]


def popped_in_arms(x):
    h = [x[0], x[1], x[2]]
    for v in x:
        h.append(h[0] * v)
        if v > 1.0:
            h.pop(0)
        else:
            h.pop(1)
    return h[0] + h[1] * h[2]


def used_up(x):
    q = [v for v in x[:20]]
    s = 0.0
    for v in x:
        if len(q) > 2:
            s = s * 0.5 + q.pop() * v
    return s


def dictionary_kept_in_a_list(x):
    p = {"a": x[0], "b": x[1]}
    k = [p]
    for v in x:
        p["a"] = p.pop("a") * 0.5 + v
    return k[0]["a"] + p["b"]


def deque_of_another(x):
    d = deque([x[0]] * 3, maxlen=3)
    e = d
    for v in x:
        d.append(d[0] * v + d[1])
        if v > 0.8:
            d = deque(e, maxlen=3)
    return d[0] + e[-1]


def deque_of_another_length(x):
    d = deque([x[0]] * 3, maxlen=3)
    for v in x:
        d.append(d[0] * v + d[1])
        if v > 0.8:
            d = deque(d, maxlen=4)
    return sum(d)


def zipped_with_an_iterator(x):
    A = [x[0], x[1], x[2]]
    it = iter(A * 20)
    s = x[0]
    for v in x:
        for a, b in zip(A, it):
            s = s * 0.5 + a * b * v
    return s


def looks_between_zipped(x):
    A = [x[0], x[1], x[2]]
    B = (x[1], x[2], x[3])
    s = x[0]
    for v in x:
        for a, b in zip(A, B):
            if a * v > b:
                s = s * 0.5 + a * b * v
    return s


def deque_in_an_object(x):
    class H:
        def __init__(self):
            self.d = deque(maxlen=4)
            self.n = 0

        def push(self, v):
            self.d.append(v)
            self.n += 1

    h = H()
    s = 0.0
    for v in x:
        h.push(v * v)
        s = s * 0.5 + sum(h.d) / h.n
    return s


def moved_in_both_loops(x):
    h = [x[0], x[1], x[2]]
    for v in x:
        for w in x[:9]:
            h.append(h[0] * w)
            h.pop(0)
        h.insert(0, h.pop() * v)
    return h[0] + h[1] * h[2]


OTHERS = [
    then_written,
    first_is_written_then,
    written_in_arm,
    written_behind_a_break,
    alias_at_break,
    kept_in_a_list,
    written_around_an_inner_loop,
    rows_of_a_matrix,
    written_in_a_deque,
    copied_from_another_name,
    popped_in_arms,
    used_up,
    dictionary_kept_in_a_list,
    deque_of_another,
    deque_of_another_length,
    zipped_with_an_iterator,
    looks_between_zipped,
    deque_in_an_object,
    moved_in_both_loops,
]


def eagerly(function, *args):
    before, tg.config.compile = tg.config.compile, False
    try:
        return function(*args)
    finally:
        tg.config.compile = before


def draw(length, seed=0):
    return np.random.default_rng([seed, length]).normal(size=length)


def agree(function):
    """Values and gradients of compiled calls are those of eager ones."""
    gradient, forward = tg.value_and_grad(function), tg.compile(function)
    for length, seed in [(12, 0), (12, 1), (31, 0), (31, 1), (9, 0)]:
        x = draw(length, seed)
        assert_same_bits(forward(x.copy()), function(x.copy()))
        assert_same_bits(gradient(x.copy()), eagerly(gradient, x.copy()))
    return gradient


@pytest.mark.parametrize("function", LOOPS)
def test_the_text_does_not_depend_on_the_turns(function):
    gradient = agree(function)
    lines = [len(gradient.source(draw(length)).splitlines()) for length in (25, 31)]
    assert lines[1] <= lines[0] < 250


@pytest.mark.sampled(2)
@pytest.mark.parametrize("function", OTHERS)
def test_what_others_have_too_is_right(function):
    agree(function)
