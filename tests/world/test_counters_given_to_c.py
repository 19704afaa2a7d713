"""Ints that a function counts, given to C code that takes Python's ints alone: a look at each."""

from __future__ import annotations

import collections
import math
import operator
import random
import warnings
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import tracegrad as tg

USES: dict[str, Callable[[Any], Any]] = {
    "generator": lambda s: np.random.default_rng(s.n).random(),
    "generator of a list": lambda s: np.random.default_rng([7, s.n]).integers(5),
    "generator of a tuple by name": lambda s: np.random.default_rng(seed=(s.n, 1)).random(),
    "generator of a list from outside": lambda s: np.random.default_rng(s.several).random(),
    "generator of an array": lambda s: np.random.default_rng(np.array([1, s.n])).random(),
    "generator of NumPy's int": lambda s: np.random.default_rng(s.m).random(),
    "generator of what is computed": lambda s: np.random.default_rng(s.n**2 + 1).random(),
    "bits": lambda s: np.random.PCG64(s.n).random_raw(),
    "bits by name": lambda s: np.random.Philox(key=s.n).random_raw(),
    "seed sequence": lambda s: np.random.SeedSequence(s.n).entropy,
    "spawn key": lambda s: np.random.SeedSequence(1, spawn_key=(s.n,)).spawn_key,
    "words of a seed": lambda s: np.random.SeedSequence(s.n).generate_state(s.n).tolist(),
    "old generator": lambda s: np.random.RandomState(s.n).rand(),
    "Python's generator": lambda s: random.Random(s.n).random(),
    "permutation": lambda s: np.random.default_rng(0).permutation(s.n).tolist(),
    "old permutation": lambda s: np.random.RandomState(0).permutation(s.n).tolist(),
    "choice": lambda s: np.random.default_rng(0).choice(s.n + 3, s.n).tolist(),
    "tracegrad's generator": lambda s: tg.random.Generator(s.n).random(2).tolist(),
    "tracegrad's keys": lambda s: tg.random.KeyGenerator(s.n).random(2).tolist(),
    "power of three": lambda s: (pow(s.n, 2, 3), pow(2, s.n, 5), pow(7, 3, s.n)),
    "deque": lambda s: collections.deque([1, 2, 3], maxlen=s.n),
    "deque by place": lambda s: collections.deque([1, 2, 3], s.n),
    "ldexp": lambda s: math.ldexp(1.0, s.n),
    "rounded": lambda s: (round(s.n, -1), round(s.n, 1), s.n.__round__(-1), round(12.345, s.n)),
    "rounded by the type": lambda s: int.__round__(s.n, -1),
    "bits by the type": lambda s: int.bit_length(s.n),
    "power by the operator": lambda s: operator.pow(s.n, 2),
}


def results(use: Callable[[Any], Any], transform: Callable[..., Any]) -> list[Any]:
    """What five calls store, with its types, and return."""
    s = SimpleNamespace(n=0, m=np.int64(0), several=[5, 0], found=None)

    def function(x: Any) -> Any:
        s.n += 1
        s.m += 1
        s.several[1] += 1
        s.found = use(s)
        return x.sum() * s.n

    called, seen = transform(function), []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", tg.errors.RecompileWarning)
        for k in range(5):
            called(np.ones(3) + k)
            found = s.found
            kinds = [type(item) for item in found] if isinstance(found, tuple) else type(found)
            seen.append((repr(found), kinds, s.n))
    return seen


@pytest.mark.parametrize("name", USES)
def test_calls_are_those_of_python(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    use = USES[name]
    expected = results(use, lambda function: function)
    assert results(use, tg.compile) == expected
    assert results(use, tg.value_and_grad) == expected
    monkeypatch.setattr(tg.config, "compile", False)
    assert results(use, tg.value_and_grad) == expected


@pytest.mark.parametrize("compiled", [True, False])
def test_an_argument_is_a_seed(compiled: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tg.config, "compile", compiled)
    function = tg.value_and_grad(lambda x, k: (x * np.random.default_rng([k, 2]).random(3)).sum())
    for k in (1, 2, 1, 3):
        expected = np.random.default_rng([k, 2]).random(3)
        np.testing.assert_array_equal(function(np.ones(3), np.int64(k))[1], expected)
