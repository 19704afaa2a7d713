"""A function goes through its own arrays and writes recorded values to them: iterators go on."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from checks import assert_same_bits, function_of

import tracegrad as tg

pytestmark = pytest.mark.usefixtures("fresh_loops")

HEADS = {
    "tuple": "for t in (y, z):",
    "list": "for t in [y, z]:",
    "list_with_a_name": "both = [y, z]\nfor t in both:",
    "tuple_with_a_name": "both = (y, z)\nfor t in both:",
    "enumerate": "for k, t in enumerate((y, z)):",
    "reversed": "for t in reversed((y, z)):",
    "pairs": "for k, t in ((0.5, y), (2.0, z)):",
    "zip": "for t, k in zip((y, z), (0.5, 2.0)):",
    "zip_of_both": "for t, u in zip((y, z), (z, y)):",
    "strict_zip": "for t, k in zip((y, z), (0.5, 2.0), strict=True):",
    "chain": "for t in itertools.chain((y,), [z]):",
    "map_to_views": "for t in map(lambda a: a[1:], (y, z)):",
    "map_of_c": "for t in map(np.ravel, (y, z)):",
    "filter": "for t in filter(lambda a: len(a) > 2, (y, z)):",
    "generator": "for t in (a for a in (y, z)):",
    "array_and_view": "for t in (y, y[1:], z):",
    "rows": "for t in reversed(y.reshape(5, 1)):",
    "given_to_a_helper": "def rows(*arrays):\n    return arrays\nfor t in rows(y, z):",
    "dictionary": "for k, t in {'y': y, 'z': z}.items():",
    "iterator_by_hand": "them = iter((y, z))\nfor k in range(2):\n    t = next(them)",
    "many_turns": "for k in range(12):\n  for t in (y, z):",
}
WRITES = {
    "element": "t[0] *= np.sin(x[0])",
    "whole": "t += x[1]",
    "part": "t[1:] = t[1:] * x[2] - t[0]",
}


def made(head: str, write: str):
    lines = "\n".join(f"    {line}" for line in head.splitlines())
    return function_of(
        f"""
import itertools
def f(x):
    y, z = np.zeros(5), np.ones(5)
    first = y
{lines}
        {write}
    return np.sum(y * y) + np.sum(z) * x[1] + np.sum(first)
"""
    )


@pytest.mark.parametrize("write", WRITES)
@pytest.mark.parametrize("head", HEADS)
def test_a_program_is_made(head, write):
    f = made(HEADS[head], WRITES[write])
    x = np.array([0.3, 0.7, 0.2])
    slopes = [(f(x + h) - f(x - h)) / 2e-6 for h in 1e-6 * np.eye(3)]
    gradient, compiled = tg.value_and_grad(f), tg.compile(f)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for _ in range(2):
            value, found = gradient(x)
            assert_same_bits([value, compiled(x)], [f(x), f(x)])
            np.testing.assert_allclose(found, slopes, rtol=1e-6, atol=1e-7)
    assert gradient.cache_info().versions == compiled.cache_info().versions == 1


def test_an_iterator_that_two_names_have_goes_on_for_both():
    def f(x):
        y, z, u = np.zeros(3), np.ones(3), np.ones(3)
        arrays = iter((y, z, u))
        again = arrays
        next(arrays)[0] += x[0]
        second = next(again)
        second *= x[1]
        rest = list(arrays)
        rest[0] -= x
        return np.sum(y) + 2.0 * np.sum(z) + 3.0 * np.sum(u)

    gradient = tg.grad(f)
    for _ in range(2):
        np.testing.assert_allclose(gradient(np.array([0.3, 0.7, 0.2])), [-2.0, 3.0, -3.0])
    assert gradient.cache_info().versions == 1


def test_a_strict_zip_stays_strict():
    def f(x):
        y, z = np.zeros(3), np.ones(3)
        for t, k in zip((y, z), (1.0, 2.0, 3.0), strict=True):
            t += k * x
        return np.sum(y * z)

    for call in (f, tg.compile(f), tg.grad(f)):
        for _ in range(2):
            with pytest.raises(ValueError, match="longer"):
                call(np.ones(3))
