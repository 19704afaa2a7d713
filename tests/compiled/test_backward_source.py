"""`tg.backward_source` of the result of a compiled call shows the program of its backward."""

from __future__ import annotations

import numpy as np
import pytest

import tracegrad as tg
from tracegrad.errors import BackwardError


def squares(w):
    return (w**2).sum()


def turns(w):
    y = w
    for t in range(len(w)):
        y = y * w[t]
    return y.sum()


def arms(w):
    return (w * w).sum() if w[0] > 0.0 else (w * 3.0).sum()


@pytest.mark.parametrize("f", [squares, turns, arms])
def test_the_source_is_that_of_the_backward_of_the_call(f):
    compiled = tg.compile(f)
    for _ in range(2):
        w = tg.tensor([1.0, 2.0], requires_grad=True)
        z = compiled(w)
        text = tg.backward_source(z)
        assert f"def {f.__name__}_backward(" in text
        assert "w_bar" in text
        z.backward()
        expected = tg.grad(f)(np.array([1.0, 2.0]))
        np.testing.assert_array_equal(w.grad.numpy(), expected)


def test_of_several_results_it_is_the_backward_of_the_one_that_is_asked():
    @tg.compile
    def two(w):
        return (w**2).sum(), np.exp(w).sum()

    one, other = two(tg.tensor([1.0, 2.0], requires_grad=True))
    assert "2.0 * w" in tg.backward_source(one)
    assert "2.0 * w" not in tg.backward_source(other)


def test_a_call_among_other_steps_is_named():
    compiled = tg.compile(squares)
    z = compiled(tg.tensor([1.0, 2.0], requires_grad=True)) * 2.0
    with pytest.raises(BackwardError, match="the call of the compiled squares is one of 2 steps"):
        tg.backward_source(z)
