"""A loop that is unrolled and makes many turns: the run is given up before it costs too much."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from checks import assert_same_bits

import tracegrad as tg
from tracegrad.world.loops import unrolling

pytestmark = pytest.mark.usefixtures("fresh_loops")


def relaxed(h):
    h = h.copy()
    while True:
        over = np.argwhere(h > 1.0)
        if len(over) == 0:
            break
        for i in over[:, 0]:
            e = h[i] - 1.0
            h[i] -= e
            if i > 0:
                h[i - 1] += 0.4 * e
            if i < len(h) - 1:
                h[i + 1] += 0.4 * e
    return np.sum(h**2)


def longer(h):
    y = h * 0.5
    for _ in range(60):
        y = np.concatenate([np.sin(y), y[:1]])
    return np.sum(y * y)


def of_tensors(f):
    def call(h):
        h = tg.tensor(h, requires_grad=True)
        value = f(h)
        value.backward()
        return value.item(), h.grad.numpy()

    return call


MODES = {
    "gradient": tg.value_and_grad,
    "compiled": tg.compile,
    "tensors": lambda f: of_tensors(tg.compile(f)),
}


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("f", [relaxed, longer], ids=lambda f: f.__name__)
def test_it_runs_eagerly_and_says_so_once(f, mode, monkeypatch):
    monkeypatch.setattr(unrolling, "MOST_UNROLLED", 100)
    h = 3.0 * np.random.default_rng(1).random(10)
    with monkeypatch.context() as patch:
        patch.setattr(tg.config, "compile", False)
        expected = MODES[mode](f)(h)
    given = MODES[mode](f)
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always", tg.errors.RecompileWarning)
        for _ in range(3):
            assert_same_bits(given(h), expected)
    (said,) = [str(w.message) for w in seen if w.category is tg.errors.RecompileWarning]
    assert "unrolls the loop test_many_unrolled_turns.py" in said
    assert "runs eagerly" in said


def test_few_turns_and_loops_that_stay_ones_are_compiled(monkeypatch):
    monkeypatch.setattr(unrolling, "MOST_UNROLLED", 100)

    def f(x):
        s = 0.0
        for t in range(100):
            s = s * 0.5 + np.sum(np.sin(x * t))
        y = x
        for _ in range(9):
            y = np.concatenate([y, y[:1]])
        return s + np.sum(y)

    gradient = tg.grad(f)
    gradient(np.ones(3))
    assert gradient.cache_info().versions == 1


def test_the_bound_is_what_the_page_says():
    assert unrolling.MOST_UNROLLED == 4_000
