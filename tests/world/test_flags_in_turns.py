"""Loops whose ifs set flags and reset numbers enter; loops leave, with the flags as variables."""

from __future__ import annotations

from unittest import mock

import numpy as np
import pytest
from checks import assert_same_bits, split

import tracegrad as tg


def switched(x):
    """A switch with two thresholds."""
    s, on = 0.0, False
    for v in x:
        if on:
            if v < -0.5:
                on = False
        else:
            if v > 0.5:
                on = True
        if on:
            s = s + v * v
    return s


def integrate_and_fire(x):
    v, count = 0.0, 0
    for t in range(len(x)):
        v = v + 0.3 * (x[t] - v)
        if v > 0.2:
            v = 0.0
            count += 1
    return v * v + count


def one_position(x):
    cash, entry, holding = 0.0, 0.0, False
    for v in x:
        if not holding:
            if v < -0.5:
                holding = True
                entry = v
        elif v > entry + 0.4:
            cash = cash + (v - entry) * 0.9
            holding = False
    return cash


def refractory(x):
    s, cool, spikes = 0.0, 0, 0
    for v in x:
        if cool > 0:
            cool -= 1
        else:
            s = s * 0.9 + v
            if s > 1:
                cool = 3
                spikes += 1
                s = 0.0
    return s + spikes


def computed_with(x):
    s, on = 0.0, False
    for v in x:
        if v > 0.5:
            on = True
        elif v < -0.5:
            on = False
        s = s + v * on + (on + on)
    return s


def asked_who_it_is(x):
    s, on = 0.0, False
    for v in x:
        if v > 0.5:
            on = True
        elif v < -0.5:
            on = False
        if on is True:
            s = s + v * v
    return s


def given_on(x):
    s, on = 0.0, False
    for v in x:
        if v > 0.5:
            on = True
        elif v < -0.5:
            on = not on
        if on:
            s = s + v
    return s if on else s * 0.5


def returned(x):
    s, on = 0.0, False
    for v in x:
        if on:
            s = s + v
        if v > 0:
            on = True
        else:
            on = False
    return s, on


def pulses(x):
    """The flag is looked at in both arms of a look, and written in these."""
    on, n = False, 0.0
    for v in x:
        if v > 0:
            if not on:
                on, n = True, n + v
        elif on:
            on = False
    return n


def hysteresis(x):
    on, n, s = False, 0, 0.0
    for v in x:
        if v > 0.5 and not on:
            on = True
        elif v < -0.5 and on:
            on = False
            n += 1
        s = s + v * v * n
    return s


def segments_by_continue(x):
    inside, start, total = x[0] > 0, 0.0, 0.0
    for v in x:
        if v > 0:
            if inside:
                continue
            inside, start = True, v
            continue
        if inside:
            inside = False
            total = total + (start - v) ** 2
    return total


def one_or_zero(x):
    on, n = 0, 0.0
    i = 0
    while i < len(x):
        v = x[i]
        i += 1
        if v > 0.2:
            if not on:
                on, n = 1, n + v
        else:
            if not on:
                n = n * 0.9
            on = 0
    return n


def two_flags(x):
    up, hot, s = True, False, 0.5
    for v in x:
        if v > 0:
            if up:
                if v > 1:
                    hot = not hot
            elif hot:
                up, s = True, s + v
        else:
            if hot:
                up, hot = False, False
            elif up:
                s = s * 0.9
    return s


def in_inner_turns(x):
    """The same look stands in several turns of an inner loop, that is unrolled."""
    on, s = False, 0.5
    for v in x:
        for j in range(2):
            v = v * (j - 0.4)
            if v > 0.3:
                if not on:
                    on, s = True, s + v
            elif v < -0.1 and on:
                on = False
                s = s * 0.9
    return s


def in_a_helper(x):
    def step(v, on, s):
        if v > 0:
            if not on:
                return True, s + v
        elif on:
            return False, s * 0.9
        return on, s

    on, s = False, 0.5
    for v in x:
        on, s = step(v, on, s)
        if v > 0.7:
            on, s = step(-v, on, s)
    return s


CLOSED = [switched, integrate_and_fire, one_position, refractory]
LOOKED_AT_TWICE = [pulses, hysteresis, segments_by_continue, one_or_zero, two_flags]
LOOKED_AT_TWICE += [in_inner_turns, in_a_helper]
PROGRAMS = [*CLOSED, computed_with, asked_who_it_is, given_on, *LOOKED_AT_TWICE]


def calls():
    random = np.random.default_rng(5)
    drawn = [(random.normal(size=n) * 1.5,) for n in (30, 30, 12, 45, 3)]
    return [*drawn, (-np.abs(drawn[0][0]),), (np.abs(drawn[1][0]),), (np.zeros(12),)]


@pytest.mark.parametrize("function", PROGRAMS, ids=lambda f: f.__name__)
def test_bits_are_those_of_eager(function):
    f, plain = tg.value_and_grad(function), tg.compile(function)
    for args in calls():
        with mock.patch.object(tg.config, "compile", False):
            wanted = split(tg.value_and_grad(function)(*args))
        assert_same_bits(split(f(*args)), wanted)
        assert_same_bits(plain(*args), function(*args))


@pytest.mark.parametrize("function", CLOSED, ids=lambda f: f.__name__)
def test_one_loop_whatever_the_first_turns_do(function):
    for begin in range(3):
        f = tg.value_and_grad(function)
        for args in calls()[begin:4]:
            f(*args)
        assert "loops that are unrolled" not in f.explain()
        assert " + [" not in f.source(*calls()[0])  # lists grow in place


def test_a_flag_that_is_returned_is_a_bool():
    f = tg.compile(returned)
    for args in calls():
        value, on = f(*args)
        assert (value, on) == returned(*args)
        assert type(on) is bool


def test_a_flag_is_a_variable_of_the_source():
    f = tg.compile(switched)
    for args in calls():
        f(*args)
    assert "if on:" in f.source(*calls()[0])
