"""What no turn of a loop changes is computed once, ahead of it, and only where a turn computes it.

An oracle that knows nothing of the pass is the eager run: its bits, its warnings.
"""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from checks import assert_same_bits
from graph_examples import after, examples

import tracegrad as tg
from tracegrad.optimizer.loop_invariants import loop_invariants

pytestmark = pytest.mark.usefixtures("fresh_loops")

X = np.random.default_rng(0).normal(size=12)
C = np.array([0.3, 1.4, -0.7, 0.2])
W = np.random.default_rng(1).normal(size=(4, 4))


def constants_in_each_turn(x, c, w):
    s = 0.0
    for t in range(len(x)):
        s = s + np.tanh(0.1 * np.max(c) * x[t] + np.sum(np.exp(c) * 0.5)) + np.sum(w @ w) * x[t]
    return s


def behind_an_if(x, c, w):
    s = 0.0
    for t in range(len(x)):
        if x[t] > 0:
            s = s + x[t]
        else:
            s = s * 0.9
        s = s + np.max(w @ c) * x[t]
    return s


def in_one_arm(x, c, w):
    s = 0.0
    for t in range(len(x)):
        if x[t] > 0:
            s = s + np.sum(np.exp(c)) * x[t]
    return s


def behind_a_return(x, c, w):
    s = x[0]
    for t in range(len(x)):
        if s > 1e3:
            return s
        s = s + np.sum(np.exp(c)) * x[t]
    return s


def in_loops_in_loops(x, c, w):
    v = c * 1.0
    for t in range(len(x)):
        for _ in range(9):
            v = v + 0.01 * np.tanh(w @ c) * np.sum(np.cos(c * x[t]))
    return np.sum(v * v)


def in_turns_that_may_not_be(x, c, w):
    s = 0.0
    for t in range(len(x)):
        for _ in range(t):
            s = s + np.sum(np.log(c * c)) * x[t] * 0.1
    return s


def in_a_while(x, c, w):
    v = x[0]
    while v * v < np.sum(np.exp(c)):
        v = v * 1.5 + 0.1 * np.max(np.exp(c))
    return v


def an_array_that_turns_begin_anew(x, c, w):
    s = 0.0
    for t in range(len(x)):
        y = np.zeros(4)
        z = np.exp(c)
        y[0] = x[t]
        z[1] = x[t]
        z += y
        s = s + np.sum(z * c)
    return s


def handed_on(x, c, w):
    y = w @ c
    s = 0.0
    for t in range(len(x)):
        s = s + np.sum(y) * x[t]
        y = np.tanh(c)
        y[0] += x[t]
    return s + np.sum(y)


PROGRAMS = [
    *(constants_in_each_turn, behind_an_if, in_one_arm, behind_a_return, in_loops_in_loops),
    *(in_turns_that_may_not_be, in_a_while, an_array_that_turns_begin_anew, handed_on),
]
MODES = {
    "gradient": lambda f: tg.value_and_grad(f, argnums=(0, 1, 2)),
    "of a gradient": lambda f: tg.grad(
        lambda x, c, w: np.sum(tg.grad(f, argnums=1)(x, c, w) ** 2), argnums=(0, 1, 2)
    ),
    "tangent": lambda f: lambda *args: tg.jvp(f, args, args),
}


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_bits_are_those_of_eager_calls(f, mode, monkeypatch):
    compiled = MODES[mode](f)
    for x, c in ((X, C), (X[::-1], -C), (X[:3], C * 2.0), (X[:0], C), (X, np.ones(4))):
        if not len(x) and f in (behind_a_return, in_a_while):
            continue
        with np.errstate(all="ignore"):
            found = compiled(x, c, W)
            with monkeypatch.context() as patch:
                patch.setattr(tg.config, "compile", False)
                assert_same_bits(found, MODES[mode](f)(x, c, W), f"{len(x)} turns")


@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_jax_has_the_same_numbers(f):
    pytest.importorskip("jax")
    value, gradients = tg.value_and_grad(f, argnums=(0, 1, 2))(X, C, W)
    on_jax, others = tg.value_and_grad(f, argnums=(0, 1, 2), backend="jax")(X, C, W)
    np.testing.assert_allclose(on_jax, value, rtol=2e-5)
    for one, other in zip(others, gradients, strict=True):
        np.testing.assert_allclose(one, other, rtol=2e-4, atol=1e-4)


def test_the_example_in_the_documentation_is_what_the_pass_does():
    before, expected = examples(loop_invariants.__globals__["__doc__"])
    assert before != expected
    assert after(loop_invariants, before) == expected


def ahead_of_loops(source: str) -> tuple[str, str]:
    """The lines of a forward outside of its loops, and those within."""
    forward = source.split("# backward")[0].splitlines()
    code = [line for line in forward if not line.lstrip().startswith("#")]
    within = [line for line in code if line.startswith(" " * 8)]
    return "\n".join(line for line in code if line not in within), "\n".join(within)


@pytest.mark.parametrize(
    ("f", "moved", "stays"),
    [
        (constants_in_each_turn, ["c.max()", "np.exp(c)", "w @ w"], ["np.tanh("]),
        (behind_an_if, ["w @ c"], []),
        (in_one_arm, [], ["np.exp(c)"]),
        (in_loops_in_loops, ["w @ c"], ["np.cos("]),
        (in_turns_that_may_not_be, [], ["np.log("]),
        (an_array_that_turns_begin_anew, [], ["np.exp(c)", "np.zeros(4)"]),
        (handed_on, [], ["np.tanh(c)"]),
    ],
    ids=lambda x: getattr(x, "__name__", ""),
)
def test_each_is_where_it_is_computed_once_if_at_all(f, moved, stays):
    gradient = tg.value_and_grad(f, argnums=(0, 1, 2))
    gradient(X, C, W)
    ahead, within = ahead_of_loops(gradient.source(X, C, W))
    for text in moved:
        assert text in ahead and text not in within, (text, gradient.source(X, C, W))
    for text in stays:
        assert text in within and text not in ahead, (text, gradient.source(X, C, W))


def test_what_is_the_same_in_all_turns_is_not_saved_by_each():
    gradient = tg.value_and_grad(constants_in_each_turn, argnums=1)
    gradient(X, C, W)
    assert gradient.source(X, C, W).count(".append(") == 1  # the tanh


def test_no_loop_warns_of_what_it_does_not_compute():
    """No turn takes a logarithm of 0 where no inner loop has a turn."""

    def none_of_zero(x, c):
        s = 0.0
        for t in range(len(x)):
            for _ in range(int(x[t])):
                s = s + np.sum(np.log(c)) * x[t]
        return s

    gradient = tg.value_and_grad(none_of_zero, argnums=(0, 1))
    gradient(np.ones(9), np.ones(3))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        value, _ = gradient(np.zeros(9), np.zeros(3))
    assert value == 0.0


def test_an_array_that_turns_add_to_is_one_from_the_start():
    """A sum's cotangent is an array where turns add to it, and no view that each would copy."""

    def sums_around_a_loop(x, w):
        s = 0.0
        for t in range(len(x)):
            s = s + np.sum(np.tanh(x[t] * w))
        return s + np.sum(w)

    gradient = tg.value_and_grad(sums_around_a_loop, argnums=1)
    gradient(X, W)
    source = gradient.source(X, W)
    assert "w_bar += " in source and "broadcast_to" not in source, source
