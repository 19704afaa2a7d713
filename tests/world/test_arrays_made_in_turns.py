"""Turns make an array, fill it and hand it on: the variable gets another array in each turn."""

from __future__ import annotations

import numpy as np
import pytest
from checks import assert_same_bits, function_of

import tracegrad as tg

pytestmark = pytest.mark.usefixtures("fresh_loops")

PROGRAMS = {
    "forward": """
def f(start, move, emit, seen):
    alpha = start + emit[:, seen[0]]
    for t in range(1, len(seen)):
        new = np.empty(len(start))
        for j in range(len(start)):
            new[j] = np.logaddexp.reduce(alpha + move[:, j]) + emit[j, seen[t]]
        alpha = new
    return np.sum(alpha)
""",
    "scaled": """
def f(start, move, emit, seen):
    alpha = start + emit[:, seen[0]]
    for t in range(1, len(seen)):
        new = np.zeros(len(start))
        for j in range(len(start)):
            s = alpha + move[:, j]
            m = np.max(s)
            new[j] = m + np.log(np.sum(np.exp(s - m))) + emit[j, seen[t]]
        alpha = new
    return np.sum(alpha)
""",
    "shifted": """
def f(start, move, emit, seen):
    alpha = start
    for t in range(len(seen)):
        new = np.empty_like(alpha)
        new[0] = alpha[0] * move[0, 0]
        new[1:] = alpha[:-1] + emit[0, seen[t]]
        alpha = new
    return np.sum(np.sin(alpha))
""",
    "from_zeros": """
def f(start, move, emit, seen):
    alpha = np.zeros(len(start))
    for t in range(len(seen)):
        new = np.zeros(len(start))
        for j in range(len(start)):
            new[j] = np.sum(alpha * 0.1 + move[:, j]) + emit[j, seen[t]]
        alpha = new
    return np.sum(alpha)
""",
    "two_are_kept": """
def f(start, move, emit, seen):
    last = alpha = start * 1.0
    for t in range(len(seen)):
        new = np.empty_like(alpha)
        new[:] = alpha * 0.5 + emit[:, seen[t]]
        last = alpha
        alpha = new
        new[0] += 1.0
    last[1] = 2.0
    return np.sum(np.sin(alpha)) + np.sum(np.cos(last))
""",
    "one_may_stay": """
def f(start, move, emit, seen):
    best = alpha = start * 1.0
    for t in range(len(seen)):
        new = alpha * 0.5
        new[0] = emit[0, seen[t]]
        if new[0] < best[0]:
            best = new
        alpha = new
    alpha[2] = 5.0
    return np.sum(alpha) + np.sum(best * best)
""",
}
STAY = ("forward", "scaled", "shifted", "from_zeros")


def arguments(rng, states, steps):
    start, move, emit = rng.random(states), rng.random((states, states)), rng.random((states, 4))
    return np.log(start), np.log(move), np.log(emit), rng.integers(0, 4, steps)


@pytest.mark.parametrize("states", [3, 9])
@pytest.mark.parametrize("name", PROGRAMS)
def test_values_and_gradients(name, states, monkeypatch):
    f = function_of("import numpy as np\n\n" + PROGRAMS[name], "f")
    compiled, slopes = tg.compile(f), tg.value_and_grad(f, argnums=(0, 1, 2))
    rng = np.random.default_rng(states)
    given = [arguments(rng, states, steps) for steps in (12, 15, 12, 20, 9, 1, 2)]
    found = []
    for x in given:
        mine = [a.copy() for a in x]
        assert_same_bits(compiled(*mine), f(*[a.copy() for a in x]))
        assert all(map(np.array_equal, mine, x))
        found.append(slopes(*x))
    if name in STAY and states == 9:
        assert compiled.cache_info().versions <= 3
        assert len(compiled.source(*given[0]).splitlines()) < 40
    monkeypatch.setattr(tg.config, "compile", False)
    for x, ours in zip(given, found, strict=True):
        assert_same_bits(ours, tg.value_and_grad(f, argnums=(0, 1, 2))(*x))
