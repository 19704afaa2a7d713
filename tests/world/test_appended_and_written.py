"""Arrays that turns append to a list, or keep under another name, and write to: one, not many.

Each program runs as one that compiles, and as one for which no program can stand: what its first
call returns is then what the recorded run has made of its turns.
"""

from __future__ import annotations

import warnings
from itertools import count
from types import FunctionType, SimpleNamespace

import numpy as np
import pytest

import tracegrad as tg
from tracegrad.values.pytree import flatten


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


def written_in_the_next_turn(t, p):
    log, v = [], p * 1.0
    for e in t:
        v += e
        v = v * 0.5
        log.append(v)
    return np.array(log)


def clipped(t, p):
    log, v = [p * 1.0], p * 1.0
    for i in range(len(t)):
        v -= 0.1 * t[i]
        v = np.clip(v, 0.0, 2.0)
        log.append(v)
    return np.array(log)


def chosen_of_numbers(t, p):
    log, v = [], 0.5
    for e in t:
        v += e
        v = np.where(v > 4.0, v * 0.5, v)
        log.append(v)
    return np.array(log) + p[..., None]


def in_a_while(t, p):
    log, v, i = [], p * 1.0, 0
    while i < len(t):
        v += t[i]
        v = v * 0.5
        log.append(v)
        i += 1
    return np.array(log)


def next_turn_in_tuples(t, p):
    log, v = [], p * 1.0
    for e in t:
        v += e
        v = v * 0.5
        log.append((v, e))
    return np.array([v * e for v, e in log])


def next_turn_in_a_dict(t, p):
    state = {"log": [], "v": p * 1.0}
    for e in t:
        state["v"] += e
        state["v"] = state["v"] * 0.5
        state["log"].append(state["v"])
    return np.array(state["log"])


def next_turn_in_an_object(t, p):
    state = SimpleNamespace(log=[], v=p * 1.0)
    for e in t:
        if e > 4:
            state.v += e
        state.v = state.v * 0.5
        state.log.append(state.v)
    return np.array(state.log)


def next_turn_in_a_helper(t, p):
    def step(v, e):
        v += e
        return v * 0.5

    log, v = [], p * 1.0
    for e in t:
        v = step(v, e)
        log.append(v)
    return np.array(log)


def next_turn_in_a_loop_inside(t, p):
    log, v = [], p * 1.0
    for _ in range(9):
        for e in t:
            v += e
            v = v * 0.5
        log.append(v * 1.0)
        log.append(v)
    return np.array(log)


def next_turn_in_some(t, p):
    log, v = [], p * 1.0
    for i in range(len(t)):
        if i > 5:
            v += t[i]
        v = v * 0.5
        log.append(v)
    return np.array(log)


def appended_in_some(t, p):
    log, v = [], p * 1.0
    for e in t:
        v += e
        log.append(v if e > 5 else v * 2.0)
    return np.array(log)


def written_of_numbers(t, p):
    log, v = [], 0.5
    for e in t:
        v += e
        log.append(v)
        v = np.array(0.25)
        log.append(v)
    return np.array(log) + p[..., None]


def the_one_before_the_last(t, p):
    log, v, before = [], p * 1.0, p
    for e in t:
        before = v
        v = v * e * 0.3
        log.append(v)
    log[-2] += 1.0
    return before * 1.0, np.array(log)


def the_best_behind(t, p):
    log, v = [], p * 1.0
    best = v
    for e in t:
        v = v * e * 0.3
        log.append(v)
        if e < 5:
            best = v
    best += 1.0
    return np.array(log)


def the_last_behind(t, p):
    log, v = [], p * 1.0
    for e in t:
        v = v * e * 0.3
        log.append(v)
    v += 1.0
    log[-1] *= 2.0
    return np.array(log), v * 1.0


NUMBERS = count()
NEXT_TURN = (
    *(written_in_the_next_turn, clipped, chosen_of_numbers, in_a_while, next_turn_in_tuples),
    *(next_turn_in_a_dict, next_turn_in_an_object, next_turn_in_a_helper),
    *(next_turn_in_a_loop_inside, next_turn_in_some, appended_in_some, written_of_numbers),
    *(the_one_before_the_last, the_best_behind, the_last_behind),
)
PROGRAMS = (
    *(accumulated, accumulated_from_own, written_behind_the_append, written_through_a_view),
    *(last_item_written, in_a_dict, in_tuples, kept_as_the_best, two_buffers),
    *NEXT_TURN,
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
            for a, b in zip(flatten(made(y, p))[0], flatten(program(y.ravel(), q))[0], strict=True):
                assert np.array_equal(a, b)
            assert np.array_equal(p, q)


@pytest.mark.parametrize("program", PROGRAMS[:2], ids=lambda program: program.__name__)
def test_their_loop_is_never_closed(program):
    """The first run finds it: a run that stands for its call is not made a second time."""
    made = tg.compile(anew(program))
    made(np.arange(1.0, 17.0), np.ones(2))
    assert made.cache_info().traces == 1


@pytest.mark.parametrize("program", NEXT_TURN, ids=lambda program: program.__name__)
def test_gradients_are_those_of_eager_tensors(program, monkeypatch):
    turns = anew(program)

    def loss(t):
        return sum(np.sum(x * x) for x in flatten(turns(t, t[:2] * 0.5))[0])

    t = np.linspace(0.5, 7.0, 16)
    with monkeypatch.context() as patch:
        patch.setattr(tg.config, "compile", False)
        value, gradient = tg.value_and_grad(loss)(t)
    made = tg.value_and_grad(loss)
    for _ in range(2):
        again, other = made(t)
        assert again == value
        assert np.allclose(other, gradient, rtol=1e-12)
    assert value == sum(np.sum(x * x) for x in flatten(program(t, t[:2] * 0.5))[0])


def test_a_variable_that_a_list_has_stays_in_a_loop():
    def history(t):
        log, v = [], t[:2] * 1.0
        for e in t:
            v = np.clip(v * e, 0.0, 2.0)
            log.append(v)
        v += 1.0  # the last item
        return np.array(log)

    made = tg.compile(history)
    t = np.linspace(0.5, 1.5, 16)
    assert np.array_equal(made(t), history(t))
    assert "unrolled" not in made.explain()
