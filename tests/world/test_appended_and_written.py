"""Arrays that turns append to a list, or keep under another name, and write to: one, not many.

Each program runs as one that compiles, and as one for which no program can stand: what its first
call returns is then what the recorded run has made of its turns.
"""

from __future__ import annotations

import warnings
from itertools import count
from types import FunctionType

import numpy as np
import pytest

import tracegrad as tg


def accumulated(t, p):
    log = []
    for i in range(16):
        p += t[i]
        log.append(p)
    return np.array(log)


def accumulated_from_own(t, p):
    log, v = [], p * 1.0
    for e in t:
        v += e
        log.append(v)
    return np.array(log)


def written_behind_the_append(t, p):
    log = []
    for i in range(16):
        v = p * i
        log.append(v)
        v += t[i]
    return np.array(log)


def written_through_a_view(t, p):
    log, v = [], p * 1.0
    view = v[...]
    for i in range(16):
        view += t[i]
        log.append(v)
    return np.array(log)


def last_item_written(t, p):
    log = [p * 1.0]
    for i in range(16):
        v = log[-1]
        v += t[i]
        log.append(v)
    return np.array(log)


def in_a_dict(t, p):
    log, v = {}, p * 1.0
    for i in range(16):
        v += t[i]
        log[i] = v
    return np.array(list(log.values()))


def in_tuples(t, p):
    log, v = [], p * 1.0
    for i in range(16):
        v += t[i]
        log.append((v, i))
    return np.array([v for v, _ in log])


def kept_as_the_best(t, p):
    v = p * 1.0
    best = v
    for i in range(16):
        v += t[i]
        if t[i] < 5:
            best = v
    return best * 1.0


def two_buffers(t, p):
    a, b = p * 1.0, p * 2.0
    for i in range(16):
        a, b = b, a
        a += t[i] * b
    return a * 1.0, b * 1.0


NUMBERS = count()
PROGRAMS = (
    *(accumulated, accumulated_from_own, written_behind_the_append, written_through_a_view),
    *(last_item_written, in_a_dict, in_tuples, kept_as_the_best, two_buffers),
)


def anew(program):
    """The function with code of which nothing is known."""
    code = program.__code__.replace(co_name=f"{program.__name__}_{next(NUMBERS)}")
    return FunctionType(code, program.__globals__)


@pytest.mark.parametrize("in_steps", [False, True], ids=["a program", "no program"])
@pytest.mark.parametrize("shape", [(), (2,)], ids=["0-d", "1-d"])
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_items_are_one_array(program, shape, in_steps):
    turns = anew(program)

    def f(y, p):
        return turns(y.ravel(), p)  # a copy of what lies in steps: no program stands for that

    made = tg.compile(f)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for call in range(2):
            y = np.arange(1.0, 17.0).reshape(4, 4) + call
            if in_steps:
                y = np.repeat(y, 2, axis=-1)[:, ::2]
            p, q = np.ones(shape), np.ones(shape)
            assert np.array_equal(made(y, p), program(y.ravel(), q))
            assert np.array_equal(p, q)


@pytest.mark.parametrize("program", PROGRAMS[:2], ids=lambda program: program.__name__)
def test_their_loop_is_never_closed(program):
    """The first run finds it: a run that stands for its call is not made a second time."""
    made = tg.compile(anew(program))
    made(np.arange(1.0, 17.0), np.ones(2))
    assert made.cache_info().traces == 1
