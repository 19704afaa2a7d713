"""``min``, ``max`` and ``sorted`` of lists of traced numbers, by a key, backwards, with a default.

The value is that of the plain function, and the gradient that of the items that were chosen.
"""

from __future__ import annotations

import functools
import heapq
import operator

import numpy as np
import pytest
from checks import assert_same_bits, run_eagerly, split

import tracegrad as tg

WEIGHTS = [0.3, -0.7, 1.1, 0.2, -0.4, 0.9] * 4


def items(x):
    return [v * v * (1.0 + 0.5 * i) - v for i, v in enumerate(x)]


def weighted(values):
    return sum(a * b for a, b in zip(values, WEIGHTS))


def sorted_in_place(x):
    values = items(x)
    values.sort(key=abs)
    first = values[0]
    values.sort(reverse=True)
    return first * values[0] + values[2]


def key_of_largest(x):
    found = {"a": x[0], "b": x[1], "c": x[2]}
    return found[max(found, key=found.get)] * found[min(found, key=found.__getitem__)]


FUNCTIONS = {
    "least by a key": lambda x: min(items(x), key=lambda v: -v),
    "largest by a key": lambda x: max(items(x), key=lambda v: (v - 1.0) ** 2),
    "least absolute": lambda x: min(items(x), key=abs),
    "default": lambda x: max((v for v in items(x) if v > 100.0), default=x[0] * 2.0),
    "no default": lambda x: max((v for v in items(x) if v > 0.1), default=x[0] * 2.0),
    "default and key": lambda x: min(
        [v for v in items(x) if v > 0.5], key=lambda v: -v * v, default=x[1]
    ),
    "default of nothing": lambda x: min((), key=abs, default=x[0]) * x[1],
    "two by a key": lambda x: min(x[0], x[1], key=lambda v: v * v),
    "ties": lambda x: max([x[0] * 0.0 + 1.0, x[1] * 0.0 + 1.0], key=lambda v: v) * x[2],
    "sorted": lambda x: weighted(sorted(items(x), key=lambda v: v * v)),
    "sorted backwards": lambda x: weighted(sorted(items(x), key=abs, reverse=True)),
    "ties backwards": lambda x: weighted(sorted(items(x), key=lambda v: v > 0, reverse=True)),
    "places": lambda x: x[max(range(len(x)), key=lambda i: items(x)[i])],
    "places sorted": lambda x: weighted(
        items(x)[i] for i in sorted(range(len(x)), key=items(x).__getitem__)
    ),
    "pairs": lambda x: sorted(zip(items(x), x))[1][1] * max(zip(items(x), x))[1],
    "pairs by a key": lambda x: max(zip(items(x), x), key=operator.itemgetter(0))[1],
    "arrays": lambda x: np.sum(sorted([x[:2], x[2:4], x[4:6]], key=np.linalg.norm)[0]),
    "compared": lambda x: sorted(
        items(x), key=functools.cmp_to_key(lambda a, b: int(a > b) - int(a < b))
    )[1],
    "heap": lambda x: heapq.nlargest(2, items(x))[1] * heapq.nsmallest(2, items(x), key=abs)[1],
    "in place": sorted_in_place,
    "dictionary": key_of_largest,
}


@pytest.mark.sampled(2)
@pytest.mark.filterwarnings("ignore::tracegrad.errors.RecompileWarning")
@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("count", [6, 24])
def test_what_is_chosen_has_the_gradient(name, count):
    function = FUNCTIONS[name]
    f, plain = tg.value_and_grad(function), tg.compile(function)
    for seed in range(3):
        x = np.random.default_rng(seed).normal(size=count)
        steps = np.eye(count) * 1e-6
        slopes = [(function(x + step) - function(x - step)) / 2e-6 for step in steps]
        for _ in range(2):
            value, slope = f(x)
            assert value == plain(x) == function(x)
            np.testing.assert_allclose(slope, slopes, rtol=1e-5, atol=1e-6)
        assert_same_bits(split(f(x)), run_eagerly(function, (x,)))
