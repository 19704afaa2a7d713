"""What a function leaves behind is plain Python's own: arrays for Tensors, also where it raises."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from types import SimpleNamespace as State

import numpy as np
import pytest

import tracegrad as tg

X = np.arange(3.0) + 1
TRANSFORMS = [tg.compile, tg.value_and_grad, tg.grad]


@dataclass
class Count:
    n: int = 0


def filled(o, x):
    z = np.zeros(3)
    for i in range(3):
        z[i] = x[i] * 2
    o.kept.append(z)
    o.view = z[1:]
    return z * 2


def filled_and_changed(o, x):
    z = np.full(3, 2.0)
    z[0] = x[0]
    o.kept.append(z)
    z += 1.0
    return z * 2


def computed_of_filled(o, x):
    z = np.empty(3)
    z[:] = x
    z = z * 2
    o.kept.append(z)
    z += 1.0
    return z


@pytest.mark.parametrize("f", [filled, filled_and_changed, computed_of_filled])
@pytest.mark.parametrize("gradient", [False, True])
def test_an_array_that_was_filled_is_left(f, gradient):
    one, other = State(kept=[], view=None), State(kept=[], view=None)
    if gradient:
        ours = tg.value_and_grad(lambda x: f(other, x).sum())
    else:
        ours = tg.compile(lambda x: f(other, x))
    for turn in range(3):
        ours(X + turn), f(one, X + turn)
        assert repr(one) == repr(other)


def shape_that_does_not_fit(x, items, buffer, count):
    items.append(x * 2)
    buffer[0] = x[1]
    count.n += 1
    return (x + np.ones(4)).sum()


def error_of_its_own(x, items, buffer, count):
    items.append(x * 2)
    buffer[0] = x[1]
    buffer *= 2.0
    count.n += 1
    if x[0] > 0:
        raise KeyError("a")
    return (x * 2).sum()


@pytest.mark.parametrize("transform", TRANSFORMS)
@pytest.mark.parametrize("f", [shape_that_does_not_fit, error_of_its_own])
def test_arguments_of_a_call_that_raises_are_changed(f, transform):
    ours = transform(f)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for x in (-X, X, X, -X):
            one, other = (([], np.zeros(2), Count()) for _ in range(2))
            raised = []
            for function, given in ((f, one), (ours, other)):
                try:
                    function(x, *given)
                    raised.append(None)
                except (KeyError, ValueError) as error:
                    raised.append(isinstance(error, ValueError))
            assert raised[0] == raised[1]
            assert repr(one) == repr(other)


def view_of_an_argument(o, x):
    o.view = x[1:]
    return x * 2


def reshaped_argument(o, x):
    o.kept.append(1)
    o.view = x.reshape(-1)
    return x * 2


def view_of_what_is_kept(o, x):
    o.kept = x * 2
    o.view = o.kept[1:]
    return x * 3


@pytest.mark.parametrize("f", [view_of_an_argument, reshaped_argument, view_of_what_is_kept])
@pytest.mark.parametrize("gradient", [False, True])
def test_a_view_that_is_left_is_a_view(f, gradient):
    o = State(kept=[], view=None)
    ours = tg.value_and_grad(lambda x: f(o, x).sum()) if gradient else tg.compile(lambda x: f(o, x))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for _ in range(3):
            o.kept, o.view, x = [], None, X.copy()
            ours(x)
            base = x if f is not view_of_what_is_kept else o.kept
            assert np.shares_memory(o.view, base)


def counting_with_prints(o, x):
    for _ in x:
        o.n += 1
        if o.n % 4 == 0:
            print(end="")
    return x.sum()


def keeping_some(o, x):
    for v in x:
        o.h = np.tanh(o.h + v)
        o.n += 1
        if o.n % 4 == 0:
            o.kept.append(o.h)
    return o.h * 2.0


def setting_in_an_arm(o, x):
    for v in x:
        o.n += 1
        o.h = np.tanh(o.h + v)
        if o.n % 4 == 0:
            o.h = 0.0
    return x.sum()


@pytest.mark.parametrize("f", [counting_with_prints, keeping_some, setting_in_an_arm])
@pytest.mark.parametrize("transform", TRANSFORMS)
def test_turns_that_are_unrolled_after_all_leave_numbers(f, transform):
    """The run has Tensors for what the turns count in, and answers the call itself."""
    plain, ours = (State(n=0, h=0.0, kept=[]) for _ in range(2))
    compiled = transform(lambda x: f(ours, x))
    for turns in (9, 9, 20, 1, 9):
        x = np.linspace(-1.0, 1.5, turns)
        compiled(x), f(plain, x)
        assert repr(plain) == repr(ours)
