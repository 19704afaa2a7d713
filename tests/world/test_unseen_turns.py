"""Loops that the first calls leave too early to be closed, and later ones go round many times."""

import numpy as np
import pytest
from checks import assert_same_bits

import tracegrad as tg


def left_by_break(x, c):
    for _ in range(300):
        x = np.sin(x)
        if x[0] < c:
            break
    return np.sum(x)


def while_of_two_conditions(x, c):
    n = 0
    while x[0] > c and n < 300:
        x = np.sin(x)
        n += 1
    return np.sum(x) + n


def while_true(x, c):
    while True:
        x = np.sin(x)
        if x[0] < c:
            break
    return np.sum(x)


def returned_from(x, c):
    for t in range(300):
        if x[0] < c:
            return np.sum(x * x) * t
        x = np.sin(x)
    return np.sum(x)


def in_a_helper(x, c):
    return left_by_break(x * 0.9, c) + while_true(x, c)


def one_after_the_other(x, c):
    while x[0] > c:
        x = x * 0.99
    if x[1] > 0.5:
        x = x * 2.0
    while np.sum(x) > c:
        x = x - 0.01
    return np.sum(x * x)


PROGRAMS = [
    *(left_by_break, while_of_two_conditions, while_true),
    *(returned_from, in_a_helper, one_after_the_other),
]
ORDERS = [(2.0, 0.2), (0.9, 0.2), (2.0, 0.9, 0.8, 0.7, 0.6, 0.2, 0.9), (0.2, 2.0, 0.5)]


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("program", PROGRAMS)
def test_they_become_loops_with_the_bits_of_eager(program, order, monkeypatch):
    gradient, value = tg.value_and_grad(program), tg.compile(program)
    x = np.linspace(1.0, 0.4, 5)
    for c in order:
        with monkeypatch.context() as context:
            context.setattr(tg.config, "compile", False)
            expected = tg.value_and_grad(program)(x, c)
        assert_same_bits(gradient(x, c), expected)
        assert_same_bits(value(x, c), expected[0])
    for f in (gradient, value):
        assert len(f.source(x, 0.2)) < 8000
        assert f.cache_info().versions <= 6


def test_what_is_done_outside_is_done_once(capsys):
    log = []

    def noted(x, c):
        log.append("begins")
        while x[0] > c:
            x = x * 0.9
        print("ends")
        return np.sum(x * x)

    gradient = tg.grad(noted)
    x = np.linspace(1.0, 0.4, 5)
    for c in (2.0, 0.2, 2.0, 0.1, 0.3):
        gradient(x, c)
    assert log == ["begins"] * 5
    assert capsys.readouterr().out == "ends\n" * 5


def test_a_loop_that_cannot_be_closed_is_not_tried_again():
    def alternates(x, c):
        kinds = []
        while x[0] > c:
            kinds = [*kinds, len(kinds)]
            x = x * (0.9 if len(kinds) % 2 else 0.8)
        return np.sum(x * x)

    gradient = tg.grad(alternates)
    x = np.linspace(1.0, 0.4, 5)
    for c in (2.0, 0.2, 2.0, 0.1, 0.3, 0.4, 0.5, 0.6):
        gradient(x, c)
    assert gradient.cache_info().versions <= 3


def test_a_place_that_is_written_in_some_turns_is_not_shown_as_text() -> None:
    """Which variable differs between turns is told by its name, not by what it holds."""

    class Loud(dict):
        def __repr__(self) -> str:
            raise AssertionError("nobody asked")

    state = Loud(j=None)

    def f(x):
        it = 0
        while np.max(np.abs(x)) > 0.1:
            if it % 2 == 0:
                state["j"] = x * 2
            x = x - 0.1 * state["j"]
            it += 1
        return x.sum()

    g = tg.compile(f)
    for k in range(1, 4):
        x = np.ones(3) * k
        assert g(x) == f(x)
    assert g.cache_info().versions >= 1
