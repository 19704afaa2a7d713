"""Frames that C code, or a builtin, has called in a turn: what they return is not its result."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
from checks import assert_same_bits, run_eagerly, split

import tracegrad as tg


def mapped(x):
    s = 0.0
    for v in x:
        a, b = list(map(lambda q: q * 3 if q > 0 else -q, (v, v - 0.5)))
        s = s + a * b
    return s


def largest_by_key(x):
    s = 0.0
    for v in x:
        s = s + max((v, v - 0.5), key=lambda q: 1 if q > 0.2 else 2)
    return s


def filtered(x):
    s = 0.0
    for v in x:
        s = s + len(tuple(filter(lambda q: 1 if q > 0.2 else 0, (v, v - 0.5)))) * v
    return s


def sorted_by_key(x):
    s = 0.0
    for v in x:
        s = s + sorted((v, v - 0.5), key=lambda q: 1 if q > 0.2 else 0)[0]
    return s


def first_of_mapped(x):
    s = 0.0
    for v in x:
        s = s + dict(a=next(map(lambda q: q * 3 if q > 0 else -q, (v, v - 0.5))))["a"] * 2
    return s


def of_a_list_of_an_expression(x):
    s = 0.0
    for v in x:
        s = s + sum(tuple(q * 3 if q > 0 else -q for q in (v, v - 0.5)))
    return s


def sent(x):
    def doubled():
        z = 0.0
        while True:
            v = yield z
            z = v * 2 if v > 0.2 else v - 1

    numbers = doubled()
    next(numbers)
    s = 0.0
    for v in x:
        s = s + numbers.send(v)
    return s


class Table:
    """Its methods look at what it is asked for."""

    q = 0.0

    def __getitem__(self, q):
        if q > 0.2:
            return q * 2
        return q - 1

    __call__ = __getitem__

    @property
    def doubled(self):
        return self[self.q]

    def __len__(self):
        if self.q > 0.2:
            return 2
        return 5

    def __bool__(self):
        found = True
        if self.q > 0.2:
            found = False
        return found

    def __getattr__(self, name):
        if self.q > 0.2:
            return 2.0
        return 5.0


TABLE = Table()
CALLED = partial(TABLE)


def by_item(x):
    return plus(x, lambda v: TABLE[v])


def by_call(x):
    return plus(x, lambda v: TABLE(v) + CALLED(v))


def by_property(x):
    return plus(x, lambda v: TABLE.doubled * v)


def by_length(x):
    return plus(x, lambda v: len(TABLE) * v)


def by_truth(x):
    return plus(x, lambda v: bool(TABLE) * v)


def by_absent_attributes(x):
    return plus(x, lambda v: v * TABLE.one + getattr(TABLE, "two", 3))


def plus(x, of):
    s = 0.0
    for v in x:
        TABLE.q = v
        s = s + of(v)
    return s


class New:
    def __new__(cls, v):
        if v > 0.2:
            return object.__new__(cls)
        return 3.0


class Begun:
    def __init__(self, v):
        if v > 0.2:
            self.v = v * 2
        else:
            self.v = v - 1


def made(x):
    s = 0.0
    for v in x:
        s = s + (v if isinstance(New(v), New) else 2 * v) + Begun(v).v
    return s


PROGRAMS = [
    *(mapped, largest_by_key, filtered, sorted_by_key, first_of_mapped, of_a_list_of_an_expression),
    *(sent, by_item, by_call, by_property, by_length, by_truth, by_absent_attributes, made),
]


@pytest.mark.parametrize("function", PROGRAMS, ids=[f.__name__ for f in PROGRAMS])
def test_bits_are_those_of_eager(function):
    f = tg.value_and_grad(function)
    for seed in range(4):
        x = np.random.default_rng(seed).normal(size=16)
        try:
            assert_same_bits(split(f(x)), run_eagerly(function, (x,)))
        finally:
            TABLE.__dict__.clear()


def answered(x):
    s = 0.0
    for v in x:
        s = s + TABLE[v] * TABLE(v) + CALLED(v)
    return s


@pytest.mark.parametrize("function", [answered])
def test_what_answers_an_instruction_stays_a_loop(function):
    f = tg.value_and_grad(function)
    f(np.random.default_rng(0).normal(size=40))
    assert len(f.source().splitlines()) < 100
