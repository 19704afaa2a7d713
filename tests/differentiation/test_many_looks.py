"""Gradients that depend on many looks have a program, or none; compiling ends in any case."""

from __future__ import annotations

import numpy as np
import pytest
import variable_programs
from checks import assert_same_bits, function_of

import tracegrad as tg

pytestmark = pytest.mark.usefixtures("fresh_loops")


def recurrence(p, x):
    s, u, h = p[0], x[0, 1], x[0] * p
    for t in range(len(x)):
        h = np.tanh(h * p + x[t])
        if np.max(np.abs(h)) > 0.95:
            break
        k = 0
        while True:
            k += 1
            if k > 8:
                break
            s = u * p[1] if u > h[1] else h[1] * 0.5 + np.sin(u)
        for _ in range(9):
            s = np.sin(s) + u * 0.1
        u = s
    s = s * 0.5
    return s + u


@pytest.mark.parametrize("seed", [1, 7])
def test_a_branch_in_a_loop_beside_another_in_a_loop_that_is_left(seed, monkeypatch):
    rng = np.random.default_rng(seed)
    given = [
        (np.array([2.4, -1.3, -1.0]) * (1.0 + 0.1 * k), 0.2 * rng.normal(size=(15, 3)))
        for k in range(3)
    ]
    compiled = tg.value_and_grad(recurrence, argnums=(0, 1))
    got = [compiled(p, x) for p, x in given]
    monkeypatch.setattr(tg.config, "compile", False)
    for (p, x), result in zip(given, got, strict=True):
        assert_same_bits(result, tg.value_and_grad(recurrence, argnums=(0, 1))(p, x))


@pytest.mark.parametrize("seed", [65, 217, 296])
def test_nested_branches(seed):
    f = function_of(variable_programs.Grower(seed).text())
    variable_programs.check(f, variable_programs.inputs(seed, 4))
