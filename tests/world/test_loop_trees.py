"""Loops whose state is a dictionary or a named tuple that each turn makes anew.

Compiled calls and gradients have the bits of eager ones. The text does not grow with the turns,
where nobody else has such a dictionary; where somebody has, the loop is unrolled, and right.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pytest
from checks import assert_same_bits

import tracegrad as tg

pytestmark = pytest.mark.usefixtures("fresh_loops")


class State(NamedTuple):
    h: object
    c: object


def displayed(x, w):
    state = {"h": w * 0.5, "c": w}
    for row in x:
        state = {"h": np.tanh(state["h"] * w + row), "c": state["c"] * 0.9 + state["h"]}
    return (state["c"] * state["h"]).sum()


def numbers_at_first(x, w):
    state = {"h": 0.0, "c": 1.0}
    for row in x:
        state = cell(state, row[0], w)
    return state["c"] + state["h"]


def cell(state, v, w):
    return {"h": np.tanh(state["h"] * w[0] + v), "c": state["c"] * 0.9 + state["h"]}


def merged(x, w):
    state = {"h": w[1] * 1.0, "c": w[0] * 1.0}
    for row in x:
        state = {**state, "h": np.tanh(state["h"] * w[0] + row[1])}
    return state["c"] + state["h"]


def nested(x, w):
    p = {"layer": {"W": w * 0.5, "b": w[0] * 1.0}, "m": w[1] * 1.0}
    for row in x:
        layer = {"W": p["layer"]["W"] * 0.9 + row, "b": p["layer"]["b"] - row[0] * 0.1}
        p = {"layer": layer, "m": np.sin(p["m"]) + row[1]}
    return p["layer"]["W"].sum() * p["layer"]["b"] + p["m"]


def with_a_tuple(x, w):
    state = {"h": (w * 1.0, w[0] * 1.0), "name": "a", "none": None}
    for row in x:
        a, b = state["h"]
        state = {"h": (a * 0.5 + row, b * row[0]), "name": "a", "none": None}
    return state["h"][0].sum() * state["h"][1]


def in_branches(x, w):
    state = {"h": w[0] * 1.0, "c": w[1] * 1.0}
    for row in x:
        if state["h"] > 0.2:
            state = {"h": state["h"] * 0.3 - row[0], "c": state["c"]}
        else:
            state = {"h": state["h"] + 0.3 * row[0] ** 2, "c": state["c"] + 1.0}
    return state["h"] * state["c"]


def in_an_inner_loop(x, w):
    state = {"h": w[0] * 1.0, "c": w[1] * 1.0}
    for row in x:
        for k in range(9):
            state = {"h": np.tanh(state["h"] * 0.3 - row[0] * k), "c": state["c"] + state["h"]}
        state = {"h": state["c"] * 0.1, "c": state["h"] * row[1]}
    return state["h"] * state["c"]


def while_it_is_large(x, w):
    state = {"h": w[0] ** 2 + 30.0, "n": 0}
    while state["h"] > 0.01:
        state = {"h": state["h"] * 0.6, "n": state["n"] + 1}
    return state["h"] * state["n"] + x[0, 0]


def named(x, w):
    state = State(w * 0.5, w[0] * 1.0)
    for row in x:
        state = State(np.tanh(state.h * w + row), state.c * 0.9 + state.h.sum())
    return (state.h * state.c).sum()


def returned(x, w):
    state = {"h": w * 0.5, "c": State(w, w[0])}
    for row in x:
        c = State(state["c"].h + row, state["c"].c * 0.5)
        state = {"h": np.tanh(state["h"] * w + row), "c": c}
    return (state["h"] * state["c"].h).sum() * state["c"].c


LOOPS = {
    f.__name__: f
    for f in (
        *(displayed, numbers_at_first, merged, nested, with_a_tuple, in_branches),
        *(in_an_inner_loop, while_it_is_large, named),
    )
}


def changed_beside_another(x, w):
    state = {"h": w[0] * 1.0, "c": w[1] * 1.0}
    before = state
    for row in x:
        if row[0] > 0:
            before = state
        state["h"] = state["h"] * 0.5 + row[0]
        state = {"h": np.tanh(state["h"] + before["h"]), "c": state["c"] * 0.9 + state["h"]}
    return state["c"] + state["h"] + before["h"]


def compared(x, w):
    state = {"h": w[0] * 1.0}
    before, total = state, 0.0
    for row in x:
        if before is state:
            total = total + row[0]
        state = {"h": np.tanh(state["h"] + row[0])}
        before = state if row[1] > 0 else before
    return state["h"] + total


def kept_in_a_list(x, w):
    state, kept = {"h": w[0] * 1.0}, []
    for row in x:
        kept.append(state)
        state = {"h": np.tanh(state["h"] + row[0])}
        kept[0]["h"] = kept[0]["h"] * 0.5
    return sum([held["h"] for held in kept]) + state["h"]


def first_is_kept(x, w):
    state = first = {"h": w[0] * 1.0, "n": 1}
    for row in x:
        state = {"h": np.tanh(state["h"] + row[0] + first["h"] * first["n"]), "n": state["n"] + 1}
    return state["h"] * state["n"]


def one_behind(x, w):
    state = before = {"h": w[0] * 1.0, "n": 1}
    for row in x:
        now = {"h": np.tanh(state["h"] + row[0] - before["h"] * before["n"]), "n": state["n"] + 1}
        before, state = state, now
    return state["h"] * before["n"]


def with_other_names(x, w):
    state = {"h": w[0] * 1.0}
    for i, row in enumerate(x):
        state = {"h": np.tanh(state["h"] + row[0]), **({"late": row[1]} if i > 9 else {})}
    return state["h"] + state.get("late", 0.0)


def in_a_closure(x, w):
    state = {"h": w[0] * 1.0}

    def read():
        return state["h"] * 0.5

    for row in x:
        state = {"h": np.tanh(state["h"] + read() + row[0])}
    return state["h"]


OTHERS = {
    f.__name__: f
    for f in (
        *(changed_beside_another, compared, kept_in_a_list, first_is_kept, one_behind),
        *(with_other_names, in_a_closure, returned),
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
    for length in (12, 12, 15, 30):
        args = inputs(length)
        assert_same_bits(forward(*args), function(*args))
        assert_same_bits(gradient(*args), eagerly(gradient, *args))
    return gradient


@pytest.mark.parametrize("name", LOOPS)
def test_the_text_does_not_depend_on_the_turns(name):
    gradient = agree(LOOPS[name])
    assert gradient.source(*inputs(12)) == gradient.source(*inputs(30))
    assert "unrolled" not in gradient.explain()


@pytest.mark.parametrize("name", OTHERS)
def test_what_others_have_too_is_right(name):
    agree(OTHERS[name])


def test_an_argument_stays_as_it_was():
    def f(state, x):
        for v in x:
            state = {"h": np.tanh(state["h"] * 0.3 + v), "c": state["c"] * 0.9 + state["h"]}
        return state["c"] + state["h"]

    x = np.linspace(-1.0, 1.0, 20)
    given = {"h": 0.25, "c": np.float64(0.5)}
    gradient = tg.value_and_grad(f, argnums=1)
    for _ in range(2):
        assert_same_bits(gradient(given, x), eagerly(gradient, given, x))
    assert given == {"h": 0.25, "c": 0.5} and type(given["h"]) is float
    assert len(gradient.source(given, x).splitlines()) < 60
