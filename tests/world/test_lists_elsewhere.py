"""Turns of a loop append to a list that no variable holds: every item is there, program or not."""

from __future__ import annotations

import functools
import time
import warnings
from collections import deque
from types import SimpleNamespace

import numpy as np
import pytest

import tracegrad as tg

X = np.array([1.0, 2.0, 3.0])
STATE = SimpleNamespace(log=None)


class Slotted:
    __slots__ = ("log",)


def in_a_place_outside(x):
    STATE.log = [x]
    for _ in range(10):
        STATE.log.append(np.sin(x))
        x = -x
    return STATE.log


def of_what_was_before(x):
    STATE.log = [x]
    y = np.sin(x)
    for _ in range(10):
        STATE.log.append(y)
        x = x * 0.5
    return [*STATE.log, x]


def in_a_slot(x):
    s = Slotted()
    s.log = [x]
    i = 0
    while i < 10:
        s.log.append(np.sin(x))
        x = -x
        i += 1
    return s.log


def in_a_cell(x):
    log = [x]

    def add(v):
        log.append(v)

    for _ in range(10):
        add(np.sin(x))
        x = -x
    return log


def in_a_deque(x):
    ring = deque([[x]])
    for _ in range(10):
        ring[0].append(np.sin(x))
        x = -x
    return ring[0]


def in_a_default(x):
    held = {"add": lambda v, log=[x]: log.append(v) or log}
    for _ in range(10):
        x = -x
        held["add"](np.sin(x))
    return held["add"](x)


def in_a_partial(x):
    add = functools.partial(list.append, [x])
    for _ in range(10):
        x = -x
        add(np.sin(x))
    return add.args[0]


def in_some_turns(x):
    STATE.log = [x]
    for i in range(12):
        x = -x
        if i > 4:
            STATE.log.append(np.sin(x))
    return STATE.log


def in_a_loop_in_a_helper(x):
    STATE.log = ([x],)

    def rows(x):
        for i in range(9):
            STATE.log[0].append(np.sin(x) * i)

    for _ in range(9):
        x = -x
        rows(x)
    return STATE.log[0]


def made_in_a_turn_and_kept(x):
    for _ in range(10):
        row = []
        STATE.log = row
        row.append(np.sin(x))
        x = -x
    return STATE.log


PROGRAMS = [in_a_place_outside, of_what_was_before, in_a_slot, in_a_cell, in_a_deque, in_a_default]
PROGRAMS += [in_a_partial, in_some_turns, in_a_loop_in_a_helper, made_in_a_turn_and_kept]


@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.parametrize("answers_itself", [False, True])
def test_all_items_are_there(program, answers_itself):
    def returned(x):
        if answers_itself:
            time.time()  # of which there is no program
        return program(x)

    def loss(x):
        return np.sum(np.cos(np.stack(returned(x))))

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", tg.errors.RecompileWarning)
        compiled, gradient = tg.compile(returned), tg.value_and_grad(loss)
        for i in range(3):
            x = X * (1.0 + i)
            expected = np.stack(returned(x))
            np.testing.assert_array_equal(np.stack(compiled(x)), expected)
            value, slope = gradient(x)
            np.testing.assert_array_equal(value, np.sum(np.cos(expected)))
            eager = tg.tensor(x, requires_grad=True)
            loss(eager).backward()
            np.testing.assert_allclose(slope, eager.grad.numpy(), rtol=1e-12)
