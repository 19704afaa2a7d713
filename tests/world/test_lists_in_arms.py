"""Loops of which only some turns change a variable, and each fills a list: they stay loops.

What variables the turns change is known when a later turn goes another way than the first ones;
the run is made again, with its lists known before the first turn. Values and gradients have the
bits of eager calls, whichever way the first turns go.
"""

from __future__ import annotations

import numpy as np
import pytest
from checks import assert_same_bits

import tracegrad as tg

pytestmark = pytest.mark.usefixtures("fresh_loops")


def highest_so_far(x, k):
    best, log = x[0], []
    for p in x:
        w = p - best
        if w > 0:
            best = p
            log.append(w)
        else:
            log.append(w * k)
    return best + sum(log)


def bought_and_sold(x, k):
    cost, gains = x[0], []
    for p in x[1:]:
        gain = p - cost - k
        if gain > 0.0:
            cost = p
            gains.append(gain)
        else:
            gains.append(0.1 * gain)
    return sum(gains) * cost


def appended_behind_the_arms(x, k):
    best, log = x[0] * k, []
    for p in x:
        w = p - best
        if w > 0:
            best, g = p, w
        else:
            g = w * 0.5
        log.append(g)
    return best + np.stack(log).mean()


def two_lists(x, k):
    low, high, lows, highs = x[0], x[0], [], []
    for i in range(len(x)):
        if x[i] > high:
            high = x[i]
        elif x[i] < low:
            low = x[i] * k
        lows.append(low - x[i])
        highs.append(high * x[i])
    return np.array(highs).sum() - (np.array(lows) ** 2).sum()


def with_items_before(x, k):
    peak, log = x[0], [x[0] * k, x[1]]
    for p in x[2:]:
        if p > peak + 0.5:
            peak = p * k
        log.append(p - peak)
    return sum(log) + log[-1]


def rows_kept(x, k):
    rows = np.reshape(np.outer(x, np.arange(1.0, 4.0)), (-1, 3))
    best, log = rows[0], []
    for row in rows:
        if row.sum() > best.sum():
            best = row
        log.append(best * k - row)
    return (np.stack(log) ** 2).sum() + best.sum()


def twice_in_a_loop(x, k):
    total = 0.0
    for s in range(8):
        best, log = x[s], []
        for p in x:
            if p - best > 0.3 * s:
                best = p
            log.append(p * best)
        total = total + k * sum(log)
    return total


def in_a_helper(x, k):
    def filtered(values, state):
        kept = []
        for v in values:
            if abs(v - state) < 1.0:
                state = state + k * (v - state)
            kept.append(state * v)
        return kept, state

    kept, state = filtered(x, x[0])
    again, state = filtered(kept, state)
    return sum(again) + state


PROGRAMS = (
    highest_so_far,
    bought_and_sold,
    appended_behind_the_arms,
    two_lists,
    with_items_before,
    rows_kept,
    twice_in_a_loop,
    in_a_helper,
)


def beginnings():
    """Values whose first turns go one way, the other, and change."""
    yield np.array([1.0, 2.0, 3.0, 4.0, 2.0, 1.0, 5.0, 2.0, 6.0, 3.0, 7.0, 8.0])
    yield np.array([1.0, 0.0, 3.0, 1.0, 2.0, 1.0, 5.0, 2.0, 6.0, 3.0, 7.0, 8.0])
    yield np.array([9.0, 8.0, 7.5, 6.0, 5.0, 4.0, 3.0, 2.0, 1.0, 0.5, 0.25, 11.0])
    rng = np.random.default_rng(3)
    for n in (12, 20, 33):
        yield rng.normal(size=n)


@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
@pytest.mark.parametrize("first", range(4))
def test_they_stay_loops_with_the_bits_of_eager_calls(f, first, monkeypatch):
    values = [*beginnings()]
    values = values[first:] + values[:first]
    compiled = tg.value_and_grad(f, argnums=(0, 1))
    got = [compiled(x, 0.7) for x in values]
    assert "loops that are unrolled" not in compiled.explain()
    assert len(compiled.source().splitlines()) < 160
    monkeypatch.setattr(tg.config, "compile", False)
    eager = tg.value_and_grad(f, argnums=(0, 1))
    for x, result in zip(values, got, strict=True):
        assert_same_bits(result, eager(x, 0.7))


@pytest.mark.parametrize("f", (bought_and_sold, two_lists), ids=lambda f: f.__name__)
def test_gradients_are_filled_in_place(f):
    compiled = tg.value_and_grad(f)
    for x in beginnings():
        compiled(x, 0.7)
    turns = [line for line in compiled.source().splitlines() if line.startswith(" " * 8)]
    assert not [line for line in turns if " = np.array(" in line]
