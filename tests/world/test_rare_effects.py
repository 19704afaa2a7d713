"""Effects in a branch that few calls take: the programs of the other ways go on."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import tracegrad as tg
from tracegrad.errors import RecompileWarning


def warns_where_negative(x):
    if np.any(x < 0.0):
        warnings.warn(f"negative: {x.min()}", stacklevel=1)
    return np.sqrt(abs(x)).sum()


def warns_without_convergence(x):
    for _ in range(8):
        if x.sum() < 1.0:
            break
        x = x / 2.0
    else:
        warnings.warn("no convergence", stacklevel=1)
    return x.sum()


@pytest.mark.parametrize(
    "f, quiet, loud",
    [
        (warns_where_negative, np.array([1.0, 4.0]), np.array([-1.0, 4.0])),
        (warns_without_convergence, np.array([1.0, 4.0]), np.array([1e9, 4.0])),
    ],
)
def test_a_way_that_warns_leaves_the_programs_of_others(f, quiet, loud):
    compiled, told = tg.value_and_grad(f), 0
    for i in range(30):
        x = loud if i in (3, 8, 15) else quiet * (1.0 + i / 100.0)
        before = compiled.cache_info().hits
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            value, gradient = compiled(x)
        with warnings.catch_warnings(record=True) as expected:
            warnings.simplefilter("always")
            assert value == f(x)
        ours = [w for w in caught if issubclass(w.category, RecompileWarning)]
        told += len(ours)
        assert [str(w.message) for w in caught if w not in ours] == [
            str(w.message) for w in expected
        ]
        if i > 8 and x is not loud:
            assert compiled.cache_info().hits == before + 1
        step = 1e-6 * x
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            change = f(x + step) - f(x - step)
        np.testing.assert_allclose(gradient @ step * 2.0, change, rtol=1e-6)
    assert told == 1
    assert "a way through it reads or changes" in compiled.explain()


def test_a_way_that_most_calls_take_is_not_tried_for_ever():
    compiled = tg.value_and_grad(warns_where_negative)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        compiled(np.array([1.0]))
        for _ in range(5):
            compiled(np.array([-1.0]))
    assert "calls keep taking others" in compiled.explain()
    assert compiled(np.array([4.0]))[0] == 2.0
