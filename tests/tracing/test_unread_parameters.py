"""A parameter that the function never reads: one program serves all values of it.

Who might read it after all, by name or through a frame, gets the value of every call.
"""

from __future__ import annotations

import inspect
import sys
from functools import partial, wraps
from types import FunctionType, MethodType

import numpy as np
import pytest
from checks import assert_close

import tracegrad as tg
from tracegrad.misc.optimizers import adam

X = np.array([0.5, -1.0, 2.0])


def loss(x, step):
    return np.sum(np.sin(x) * x)


def with_more(x, step, *, name="first", verbose=False):
    return np.sum(x**2)


class Model:
    scale = 2.0

    def loss(self, x, step):
        return np.sum(x**2) * self.scale


SERVED = {
    "function": (loss, lambda i: ((X, i), {})),
    "method": (Model().loss, lambda i: ((X, i), {})),
    "flags and names": (with_more, lambda i: ((X, i), {"name": str(i), "verbose": True})),
    "in a dict": (loss, lambda i: ((X, {"step": i, "of": (i, None)}), {})),
    "by name": (loss, lambda i: ((X,), {"step": i})),
}


@pytest.mark.parametrize("name", SERVED)
@pytest.mark.parametrize("transform", [tg.grad, tg.value_and_grad, tg.compile, tg.hessian])
def test_one_program_serves_every_value(name, transform):
    f, call = SERVED[name]
    made = transform(f)
    args, kwargs = call(0)
    expected = made(*args, **kwargs)
    for i in range(1, 50):
        args, kwargs = call(i)
        assert_close(made(*args, **kwargs), expected, 0)
    assert made.cache_info().versions == 1


def test_an_optimizer_gives_the_number_of_the_step():
    gradient = tg.grad(loss)
    adam(gradient, X, num_iters=60)
    assert gradient.cache_info().versions == 1
    assert "step: not read" in gradient.source(X, 3)


def test_arrays_and_floats_are_what_they_were():
    """Their kind is part of the key, and not their value; an argument that is differentiated."""
    made = tg.grad(loss, argnums=1)
    assert made(X, 2.0) == 0.0 and made(X, 3.0) == 0.0
    assert_close(made(X, X), np.zeros(3), 0)
    with pytest.raises(tg.errors.ArgumentError, match="step is to be differentiated but is 3"):
        made(X, 3)


# -- what may be read after all --------------------------------------------------------------------


def by_locals(x, step):
    return np.sum(x) * locals()["step"]


def by_eval(x, step):
    return np.sum(x) * eval("step")


names_here = locals


def by_another_name(x, step):
    return np.sum(x) * names_here()["step"]


def value_in_caller(name):
    return sys._getframe(1).f_locals[name]


def by_callee(x, step):
    return np.sum(x) * value_in_caller("step")


def by_inspection(x, step):
    return np.sum(x) * inspect.currentframe().f_locals["step"]


def by_traceback(x, step):
    try:
        raise ValueError
    except ValueError as error:
        return np.sum(x) * error.__traceback__.tb_frame.f_locals["step"]


def by_closure(x, step):
    def scaled():
        return np.sum(x) * step

    return scaled()


def only_sometimes(x, step):
    return np.sum(x) * (names_here()["step"] if np.sum(x) > 5.0 else 1.0)


def of_all(x, *steps):
    return np.sum(x) * steps[0]


@wraps(loss)
def wrapped(*args, **kwargs):
    return np.sum(args[0]) * args[1]


READ = [by_locals, by_eval, by_another_name, by_callee, by_inspection, by_traceback, by_closure]
READ += [of_all, wrapped, partial(wrapped), only_sometimes]


@pytest.mark.parametrize("f", READ)
@pytest.mark.parametrize("start", [X, X + 3.0])
def test_what_is_read_in_other_ways_is_of_the_call(f, start):
    compiled, gradient = tg.compile(f), tg.grad(f)
    for i in (1, 2, 3, 2, 1):
        for x in (start, X + 3.0, X):
            expected = f(x, i)
            assert_close(compiled(x, i), expected, 1e-15)
            assert_close(gradient(x, i), np.full(3, expected / np.sum(x)), 1e-15)


class Kept:
    """State outside, and a context that ends exceptions."""

    def __init__(self):
        self.values = []
        self.last = 0.0
        self.generator = tg.random.Generator(3)

    def __enter__(self):
        return self

    def __exit__(self, kind, error, traceback):
        return kind is ValueError


def caught_and_kept(kept, x, step):
    kept.last = np.sum(x)
    kept.values.append(x * 2.0)
    try:
        raise ValueError
    except ValueError as error:
        kept.values.append(str(error))
    print("kept", kept.last)
    return np.sum(x * 3.0)


def left_and_kept(kept, x, step):
    with kept:
        kept.last = np.sum(x)
        kept.values.append(kept.last)
        if kept.last > -9.0:
            raise ValueError
    return np.sum(x**2)


def caught_and_drawn(kept, x, step):
    kept.last = kept.generator.normal().item()
    try:
        raise ValueError
    except ValueError as error:
        kept.values.append(str(error))
    return np.sum(x)


@pytest.mark.parametrize("body", [caught_and_kept, left_and_kept, caught_and_drawn])
@pytest.mark.parametrize("transform", [tg.compile, tg.value_and_grad])
def test_a_run_whose_frame_is_shown_keeps_its_effects(body, transform, capsys):
    """The first call shows the frame to a handler: what it did outside is not taken back."""
    name = f"{body.__name__}_{transform.__name__}"  # of code no frame of which was shown yet
    function = FunctionType(body.__code__.replace(co_name=name), globals(), name)

    def results(of):
        kept = Kept()
        step = of(MethodType(function, kept))
        told = []
        for i in (1, 2, 2):
            value = step(X + i, i)
            value = value[0] if isinstance(value, tuple) else value
            told.append((float(value), str(kept.last), str(kept.values)))
        return told, capsys.readouterr().out

    made = results(transform)
    assert made == results(lambda plain: plain)
