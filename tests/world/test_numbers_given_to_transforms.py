"""Floats from outside that are arguments of inner transforms: inputs of the outer program."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from checks import assert_same_bits

import tracegrad as tg

X = np.array([0.5, -1.25, 2.0])
STATE = SimpleNamespace(b=0.5, p={}, items=[])


@tg.custom_vjp
def scaled(b, x):
    return b * x


scaled.defvjp(
    lambda b, x: (scaled(b, x), (b, x)),
    lambda kept, ct: ((ct * kept[1]).sum(), ct * kept[0]),
)


def square(b, x):
    return (b * x).sum() ** 2


CALLS: dict[str, Callable[[Any], Any]] = {
    "compile": lambda x: tg.compile(square)(STATE.b, x),
    "grad": lambda x: tg.grad(square)(STATE.b, x),
    "grad by another": lambda x: tg.grad(square, argnums=1)(STATE.b, x),
    "of a dict": lambda x: tg.grad(lambda p, x: square(p["b"], x) + p["w"].sum())(STATE.p, x),
    "of a new dict": lambda x: tg.grad(lambda p, x: square(p["b"], x))({**STATE.p}, x)["b"],
    "of a list": lambda x: tg.grad(lambda p: square(p[0], x) * p[1])(STATE.items)[0],
    "of a tuple": lambda x: tg.grad(lambda p: square(p[0], x))((STATE.b, 2.0))[0],
    "by keyword": lambda x: tg.grad(lambda x, *, b: square(b, x))(x, b=STATE.b),
    "value_and_grad": lambda x: tg.value_and_grad(square)(STATE.b, x),
    "vjp": lambda x: tg.vjp(square, STATE.b, x)[0],
    "jvp": lambda x: tg.jvp(square, (STATE.b, x), (1.0, x))[1],
    "hessian": lambda x: tg.hessian(lambda b: square(b, x))(STATE.b),
    "vmap": lambda x: tg.vmap(lambda x, b: (b * x) ** 2, in_axes=(0, None))(x, STATE.b),
    "custom_vjp": lambda x: scaled(STATE.b, x).sum(),
    "computed": lambda x: tg.grad(square)(STATE.b * 0.5 + 1.0, x),
}


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("kind", [float, np.float64])
def test_one_program_serves_all_values(name, kind):
    f, found = CALLS[name], {}
    for compiled in (False, True):
        made = tg.compile(f) if compiled else f
        results = []
        for turn in range(6):
            STATE.b = kind(0.5 + turn)
            STATE.p = {"b": STATE.b, "w": X * 2.0}
            STATE.items = [STATE.b, kind(2.0)]
            results.append(made(X))
        found[compiled] = results
        if compiled:
            assert made.cache_info().traces <= 2
    assert_same_bits(found[True], found[False])


def test_a_look_within_the_inner_function_is_a_branch():
    def f(x):
        def loss(b):
            return (b * x).sum() if b > 2.0 else (b * x).sum() ** 2

        return tg.grad(loss)(STATE.b)

    made = tg.compile(f)
    for turn in range(8):
        STATE.b = 0.5 + turn % 4
        assert_same_bits(made(X), f(X))
    assert made.cache_info().traces == 2


def test_a_parameter_that_steps_change():
    model = SimpleNamespace(w=np.zeros(3), b=0.0)

    def step(x, y):
        def loss(p):
            return np.mean((x * p[0] + p[1] - y) ** 2)

        w, b = tg.grad(loss)([model.w, model.b])
        model.w = model.w - 0.1 * w
        model.b = model.b - 0.1 * b

    made = tg.compile(step)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for _ in range(20):
            made(X, X * 2.0 + 1.0)
    assert made.cache_info().hits >= 16
    expected = SimpleNamespace(w=np.zeros(3), b=0.0)
    ours, model = model, expected
    for _ in range(20):
        step(X, X * 2.0 + 1.0)
    assert_same_bits([ours.w, ours.b], [expected.w, expected.b])
