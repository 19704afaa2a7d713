"""Loops over as many turns as only data tell: the values decide, and no guard does.

How many elements a mask selects is known when the program has run so far. A loop over them is a
loop of any length from eight turns on; fewer, and lengths that Python reads, are looked at.
"""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import tracegrad as tg


def over_rows(x):
    total = 0.0
    for row in x[x > 0.0]:
        total = total + np.sin(row)
    return total


def by_length(x):
    chosen, total = x[x > 0.0], 0.0
    for i in range(len(chosen)):
        total = total + np.sin(chosen[i])
    return total


def backwards(x):
    chosen, total = x[x > 0.0], 0.0
    for i in range(chosen.shape[0] - 1, -1, -1):
        total = total * 0.5 + chosen[i]
    return total


def at_places(x):
    total = 0.0
    for i in np.nonzero(x > 0.0)[0]:
        total = total + np.sin(x[i])
    return total


def of_unique(x):
    total = x[0] * 0.0
    for value in np.unique(np.floor(x * 4.0)):
        total = total * 0.5 + value * x[0]
    return total


def written(x):
    chosen = x[x > 0.0]
    for j, _ in enumerate(chosen):
        chosen[j] += 0.5
    return (chosen * chosen).sum()


def in_pairs(x):
    places, total = np.where(x > 0.0)[0], 0.0
    for k in range(1, len(places)):
        total = total + x[places[k]] * x[places[k - 1]]
    return total


def side_by_side(x):
    total = 0.0
    for p, q in zip(x[x > 0.0], x[x > 0.0], strict=True):
        total = total + p * q
    return total


LOOPS = [over_rows, by_length, at_places, of_unique, written, in_pairs]


def reads_the_length(x):
    chosen = x[x > 0.0]
    return chosen.sum() if len(chosen) > 10 else chosen.prod()


def fills(x):
    chosen = x[x > 0.0]
    y = np.zeros(len(chosen))
    for i in range(len(chosen)):
        y[i] = chosen[i] * 2.0
    return y.sum()


def with_others(x):
    total = 0.0
    for p, q in zip(x[x > 0.0], x):
        total = total + p * q
    return total


LOOKING = [backwards, side_by_side, reads_the_length, fills, with_others]


def calls():
    for seed in range(40):
        values = np.random.default_rng(seed)
        x = values.normal(size=int(values.choice([4, 20, 20, 30])))
        x[0] = 1.1
        yield x


@pytest.mark.parametrize("f", [*LOOPS, *LOOKING])
@pytest.mark.parametrize("transform", [tg.compile, tg.value_and_grad])
def test_every_number_of_turns(f, transform) -> None:
    transformed = transform(f)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", tg.errors.RecompileWarning)
        for x in calls():
            found = transformed(x.copy())
            if transform is tg.value_and_grad:
                found, gradient = found
                way, step = np.cos(np.arange(len(x))), 1e-6
                slope = (f(x + step * way) - f(x - step * way)) / (2 * step)
                assert np.dot(gradient, way) == pytest.approx(slope, rel=1e-4, abs=1e-6)
            assert found == pytest.approx(f(x), rel=1e-12)


@pytest.mark.parametrize("f", LOOPS)
def test_one_program_for_all_from_eight_turns_on(f) -> None:
    compiled = tg.compile(f)
    every = [x for x in calls() if (x > 0.0).sum() > 9 and len(np.unique(np.floor(x * 4.0))) > 8]
    assert len({(x > 0.0).sum() for x in every}) > 4
    for x in every:
        compiled(x)
    assert compiled.cache_info().versions == 1


def test_a_loop_that_is_unrolled_in_one_function_stays_one_in_another():
    def decays(x):
        s = x
        while s > 0.1:
            s = s * 0.8
        return s

    within = tg.compile(lambda x: tg.jvp(decays, (x,), (1.0,)))  # takes its own derivative
    for x in (3.0, 2.0, 5.0):
        within(x)
    made = tg.value_and_grad(decays)
    for x in (3.0, 2.0, 5.0, 40.0):
        assert made(x)[0] == decays(x)
    assert made.cache_info().traces == 1
    assert "while s > 0.1:" in made.source(3.0)
