"""What no turn changes is read where it is, and not from a list with an item for each turn."""

from __future__ import annotations

import numpy as np
import pytest
from checks import assert_same_bits

import tracegrad as tg

pytestmark = pytest.mark.usefixtures("fresh_loops")

C = np.array([0.3, 1.4, -0.7])
W = np.array([[0.5, -0.2, 0.1], [0.3, 0.8, -0.4], [-0.6, 0.2, 0.9]])


def largest_again(c, w, n):
    v = np.max(c)
    for _ in range(n):
        v = v + 0.1 * np.max(c) * v
    return v


def largest_in_each_outer_turn(c, w, n):
    v = c * 1.0
    for _ in range(n):
        most = np.max(v)
        for _ in range(9):
            v = v + 0.01 * np.max(v * 0.0 + most) * v
        v = np.tanh(v)
    return np.sum(v)


def products_of_what_the_outer_turn_made(c, w, n):
    v = c * 1.0
    for _ in range(n):
        u = w @ v
        s = np.sum(u)
        for _ in range(9):
            s = s + 0.1 * s * np.sum(w @ v)
        v = np.tanh(v * 0.5 + 0.01 * s * u)
    return np.sum(v * v)


def in_some_turns(c, w, n):
    v, most = c[0], np.max(c)
    for k in range(n):
        if k % 2:
            v = v + 0.1 * np.max(c) * v
        else:
            v = v + 0.2 * most * v * c[1]
    return v


PROGRAMS = [
    largest_again,
    largest_in_each_outer_turn,
    products_of_what_the_outer_turn_made,
    in_some_turns,
]


@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_gradients_have_the_bits_of_eager_ones(f, monkeypatch):
    gradient = tg.value_and_grad(f, argnums=(0, 1))
    for n in (10, 12, 0, 1):
        found = gradient(C, W, n)
        with monkeypatch.context() as patch:
            patch.setattr(tg.config, "compile", False)
            assert_same_bits(found, gradient(C, W, n), f"{n} turns")


def test_only_what_turns_change_is_kept():
    gradient = tg.value_and_grad(largest_again)
    gradient(C, W, 10)
    source = gradient.source(C, W, 10)
    assert source.count("append(") == 1, source  # v
    assert "== v\n" in source
