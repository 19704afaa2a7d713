"""Elements that turns use by fixed places are numbers in loops, and arrays again behind them.

An oracle that knows nothing of the pass is the eager run: its bits, its errors.
"""

from __future__ import annotations

import re

import numpy as np
import pytest
from checks import assert_same_bits

import tracegrad as tg

pytestmark = pytest.mark.usefixtures("fresh_loops")

X = np.random.default_rng(0).normal(size=12)
P = np.array([0.3, 0.4, -0.7])


def parameters_by_place(p, x):
    s, total = 1.0, 0.0
    for t in range(len(x)):
        s = p[0] + p[1] * x[t] ** 2 + p[2] * s
        total = total + s * s
    return total


def a_state_in_an_array(p, x):
    y = np.zeros(3)
    for v in x:
        y[0] = p[0] * y[1] + v
        y[1] = np.tanh(y[0] - p[1] * y[2])
        y[2] += 0.1 * y[1]
    return y.sum() + y[0] * y[2]


def arms_and_inner_loops(p, x):
    y = np.zeros(2)
    y[:] = 0.5
    for i in range(len(x)):
        if x[i] > 0.0:
            y[0] = y[0] * 0.9 + x[i] * p[0]
        else:
            for j in range(9):
                if y[1] > 3.0:
                    y[1] = y[1] * 0.5
                    continue
                y[1] = y[1] + 0.2 * np.abs(x[j])
    return y[0] * y[1] + p[1]


def left_from_inside(p, x):
    y = np.zeros(2)
    for i in range(len(x)):
        y[0] = y[0] + x[i] * p[0]
        if y[0] > 2.0:
            continue
        y[1] = y[1] - 0.3 * y[0]
        for j in range(9):
            if y[1] < -1.0:
                return y * p[1] + y[0]
            y[1] = y[1] + x[j] * 0.1
    return y * p[2]


def handed_from_loop_to_loop(p, x):
    y = np.zeros(2)
    for v in x:
        y[0] = 0.5 * y[0] + v * p[0]
    for v in x:
        y[1] = 0.5 * y[1] + v * y[0]
    return y @ y


def places_of_a_matrix(p, x):
    w = np.zeros((2, 2))
    for v in x:
        w[0, 1] = w[0, 1] * 0.9 + v * p[0]
        w[1, 0] = np.sin(w[0, 1] + w[1, 0])
    return (w * w).sum()


REPLACED = [
    parameters_by_place,
    a_state_in_an_array,
    arms_and_inner_loops,
    left_from_inside,
    handed_from_loop_to_loop,
    places_of_a_matrix,
]


def read_as_a_whole(p, x):
    y = np.zeros(3)
    for v in x:
        y[0] = 0.5 * y[0] + v
        y[1] = y.sum() * p[0]
    return y.sum()


def from_both_ends(p, x):
    s = 1.0
    for v in x:
        s = np.tanh(p[1] * s + p[-1] * v)
    return s


def beside_places_of_the_turn(p, x):
    s = 0.0
    y = np.zeros(len(x))
    for i in range(1, len(x)):
        y[i] = y[i - 1] * p[0] + x[i]
        y[0] = y[0] + 0.1 * y[i]
    return y.sum() + s


LEFT = [read_as_a_whole, from_both_ends, beside_places_of_the_turn]


def scalar(function):
    return lambda p, x: np.sum(function(p, x))


def inputs():
    yield P, X
    yield -2.0 * P, 3.0 * X[:9]
    yield np.zeros(3), np.zeros(10)
    yield np.array([1.5, -0.0, np.inf]), X[::-1]


def eager(function, *args):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tg.config, "compile", False)
        return function(*args)


@pytest.mark.parametrize("function", [*REPLACED, *LEFT])
def test_the_bits_are_those_of_eager_calls(function):
    compiled, gradient = tg.compile(function), tg.value_and_grad(scalar(function))
    with np.errstate(all="ignore"):
        for args in inputs():
            assert_same_bits(compiled(*args), eager(tg.compile(function), *args))
            wanted = eager(tg.value_and_grad(scalar(function)), *args)
            value, ct = gradient(*args)
            assert_same_bits(value, wanted[0])
            assert_same_bits(ct + 0.0, wanted[1] + 0.0)


def body_of_last_loop(source):
    """The lines of the last outermost loop."""
    lines = source.split("\n")
    start = max(i for i, line in enumerate(lines) if line.startswith(("    for ", "    while ")))
    body = []
    for line in lines[start + 1 :]:
        if line.strip() and not line.startswith("        "):
            break
        body.append(line)
    return "\n".join(body)


@pytest.mark.parametrize("function", REPLACED)
@pytest.mark.parametrize("backend", ["numpy", "jax"])
def test_turns_hand_on_numbers(function, backend):
    source = without_comments(tg.value_and_grad(scalar(function), backend=backend).source(P, X))
    assert "p_bar" in source
    if backend == "numpy":
        assert "_bar[" not in body_of_last_loop(source)
    else:
        assert not re.search(r"\n {8}.*_bar\.at\[", source)
    if function is not parameters_by_place and backend == "numpy":
        forward = without_comments(tg.compile(function).source(P, X))
        assert not re.search(r"\n {8}.*\b[yw]\[", forward)


def without_comments(source):
    """The statements of a program, without lines of the user's."""
    return re.sub(r" *#.*|\n *\"test_.*", "", source)


@pytest.mark.parametrize("function", LEFT)
def test_other_uses_of_an_array_keep_it(function):
    source = tg.value_and_grad(scalar(function)).source(P, X)
    assert "] +=" in source or "] =" in body_of_last_loop(source)


def test_a_place_that_no_turn_came_to_need_not_be_there():
    def f(p, x):
        s = 0.0
        for v in x:
            s = 0.9 * s + v * p[0]
            if s > 100.0:
                s = s * p[2]
        return s

    gradient = tg.value_and_grad(f)
    assert_same_bits(
        gradient(P, 300.0 * np.abs(X)), eager(tg.value_and_grad(f), P, 300.0 * np.abs(X))
    )
    assert_same_bits(gradient(P, X), eager(tg.value_and_grad(f), P, X))
    one = P[:1].copy()
    assert_same_bits(gradient(one, X), eager(tg.value_and_grad(f), one, X))


def test_a_place_that_is_not_there_raises_as_in_eager_calls():
    gradient = tg.value_and_grad(parameters_by_place)
    gradient(P, X)
    with pytest.raises(IndexError):
        gradient(P[:2].copy(), X)


def test_arguments_that_turns_write_to():
    def f(y, x):
        for v in x:
            y[0] = 0.5 * y[0] + v
            y[1] += y[0]
        return y[1]

    mine, theirs = np.ones(3), np.ones(3)
    assert_same_bits(tg.compile(f)(mine, X), f(theirs, X))
    assert_same_bits(mine, theirs)


def test_single_precision_and_second_derivatives():
    single = P.astype(np.float32), X.astype(np.float32)
    for transform in (tg.grad, tg.hessian):
        for function in (parameters_by_place, a_state_in_an_array):
            got = transform(function)(*single)
            assert_same_bits(got + 0.0, eager(transform(function), *single) + 0.0)
