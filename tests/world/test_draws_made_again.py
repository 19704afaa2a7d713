"""A run that is given up half way has drawn from generators: the eager one draws the same again."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import tracegrad as tg


def drawn_before(g, x):
    return g.normal(size=2), g.permutation(x)


def drawn_before_and_behind(g, x):
    return g.normal(), g.permutation(x), g.uniform(size=2)


def drawn_in_turns(g, x):
    return [g.normal() for _ in range(12)], g.permutation(x)


MAKERS = [np.random.default_rng, np.random.RandomState]


@pytest.mark.parametrize("make", MAKERS, ids=lambda make: make.__name__)
@pytest.mark.parametrize("f", [drawn_before, drawn_before_and_behind, drawn_in_turns],
                         ids=lambda f: f.__name__)  # fmt: skip
def test_draws_are_those_of_plain_numpy(f, make):
    ours, plain, made = make(5), make(5), tg.compile(f)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for _ in range(3):
            x = np.array([1.0, -2.0, 0.5])
            for got, expected in zip(made(ours, x.copy()), f(plain, x), strict=True):
                assert np.array_equal(got, expected)
    assert ours.uniform() == plain.uniform()
