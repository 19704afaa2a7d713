"""Looks at values inside JAX's transforms: both arms are in the program, beside loops as well.

No value is known there. So the function runs on samples once for each way, and what it gives is
what plain calls give that take these ways.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numpy.testing import assert_allclose

import tracegrad as tg
from tracegrad.errors import ArgumentError
from tracegrad.world.loops.loop_heads import KNOWN_LOOPS

XS = [np.linspace(-1.0, 1.4, 6), np.linspace(0.1, 0.9, 6), np.linspace(2.0, -2.0, 6)]
NUMBERS = [np.array(s) for s in (0.7, -0.6, 1.5, -2.0, 0.3)]
GAIN = np.linspace(0.5, 1.5, 6)
RATE = [0.3]


@pytest.fixture(autouse=True)
def wide():
    """Graphs are verified after each pass, in 64 bits; no loop is known not to close."""
    before = tg.config.check
    tg.config.check = True
    KNOWN_LOOPS["jax"].clear()
    with jax.enable_x64(True):
        yield
    tg.config.check = before


# -- programs ------------------------------------------------------------------------------------


def without_loop(x, s):
    return np.sum(x * x) if s > 0 else np.sum(np.sin(x))


def before(x, s):
    y = x * 2.0
    if s > 0:
        y = y + 1.0
    else:
        y = y * 3.0
    for _ in range(20):
        y = np.sin(y) + 0.1 * x
    return np.sum(y)


def after(x, s):
    y = x
    for _ in range(20):
        y = np.sin(y) + 0.1 * x
    if s > 0:
        y = y + 1.0
    else:
        y = y * 3.0
    return np.sum(y)


def inside(x, s):
    y, t = x, s
    for _ in range(20):
        if t > 0:
            y, t = np.sin(y) + 0.1 * x, t - 0.37
        else:
            y, t = np.cos(y), t + 0.51
    if t > 0:
        y = y * 2.0
    return np.sum(y)


def around(x, s):
    y = x
    if s > 0:
        for _ in range(20):
            y = np.sin(y) + 0.1 * x
    else:
        for _ in range(12):
            y = np.cos(y) * x
    return np.sum(y)


def around_one(x, s):
    y = x
    if s > 0:
        for _ in range(20):
            y = np.sin(y) + 0.1 * x
    return np.sum(y * y)


def between(x, s):
    y = x
    for _ in range(12):
        y = np.sin(y)
    if s > 0:
        y = y * 3.0
    for _ in range(15):
        y = np.cos(y) * x
    return np.sum(y)


def returns_early(x, s):
    if s < -1:
        return np.sum(x)
    y = x
    for _ in range(20):
        y = np.sin(y) + 0.1 * x
    if s > 1:
        return np.sum(y * y)
    return np.sum(y)


def nested(x, s):
    y = x
    if s > 0:
        if s > 1:
            y = y * 2.0
        else:
            y = y - 1.0
    else:
        y = y * 5.0
    for _ in range(20):
        y = np.sin(y) + 0.1 * x
    return np.sum(y)


def of_a_result(x, s):
    total = s
    for row in np.tile(x, 2) * s:
        total = total + np.sin(row)
    if total > 1:
        total = total * 3.0
    return total * np.sum(x)


def beside_a_while(x, s):
    y, k = x, s
    while np.sum(y * y) > 1:
        y, k = y * 0.8, k + 0.1
    if k > 1:
        y = y * 3.0
    return np.sum(y) * k


def before_a_while(x, s):
    y = x
    if s > 0:
        y = y * 2.0
    while np.sum(y * y) > 1:
        y = y * 0.8
    return np.sum(y) * s


def while_and(x, s):
    y, k = x, s
    while k < 3 and np.sum(y * y) > 0.1:
        y, k = y * 0.8, k + 0.4
    if k > 1 or s > 0:
        y = y + 1.0
    return np.sum(y * y)


def breaks(x, s):
    y = x
    for _ in range(20):
        y = np.sin(y)
        if np.sum(y) < s:
            break
    if s > 0.5:
        y = y * 2.0
    return np.sum(y)


def while_true(x, s):
    y, n = np.sum(x * x), 0
    while True:
        y, n = y * 0.9, n + 1
        if y < 0.5:
            break
        if n >= 50:
            break
    if s > 0:
        return y * s
    return y + s * x[0]


def newton(x, s):
    z = np.abs(s) + 1.0
    for _ in range(50):
        d = (z * z * z - 2.0 - x[0] * 0.1) / (3.0 * z * z)
        z = z - d
        if np.abs(d) < 1e-12:
            return z * x[1]
    return z * 0.0 + x[2]


def continues(x, s):
    t = s
    for v in np.tile(x, 2):
        if v < 0:
            continue
        if t > 2:
            t = t - v
            continue
        t = t + v * v
    if t > 1:
        t = t * t
    return t


def by_counter(x, s):
    y = 0.0
    for i in range(12):
        if i % 3 == 0:
            y = y + np.sin(x[0] * i)
        elif s > i * 0.1:
            y = y * 0.5 + x[1]
    return y


def two_deep(x, s):
    y = s
    for _ in range(10):
        for _ in range(9):
            if y > 1.0:
                y = y * 0.9
            else:
                y = y + 0.01 * x[0]
        if y > 0.8:
            y = y - x[1]
    if y > 0:
        y = y * x[2]
    return y


def breaks_inner(x, s):
    y = s
    for _ in range(10):
        for _ in range(9):
            y = y + 0.1 * np.sin(x[0] + y)
            if y > 2.0:
                y = y - 1.5
                break
    if y > 1.0:
        return y * x[1]
    return y + x[2]


def inner_while(x, s):
    y = s
    for v in np.tile(x, 2):
        y = y + v * v
        while y > 1.0:
            y = y * 0.7
    if s > 0:
        y = y * x[0]
    return y


def loop_in_an_arm_of_a_turn(x, s):
    y, t = 2.0 * x, s
    for _ in range(9):
        if t > 0:
            for _ in range(8):
                y = np.sin(y) + 0.1 * x
            t = t - 0.4
        else:
            t = t + 0.3
    return np.sum(y) * t


def behind_a_while(x, s):
    k = 1.0 + s * s
    while k > 0.5:
        k = k * 0.7
    y = x
    for _ in range(10):
        y = np.sin(y) * k
        if np.sum(y) < s:
            y = y + 1.0
    return np.sum(y)


def fills(x, s):
    out, y = [], s
    for v in np.tile(x, 3):
        if y > 0.5:
            y = y * 0.7 - v
        else:
            y = y + v * v
        out.append(y)
    z = np.stack(out)
    if np.sum(z) > 0:
        return np.sum(z * z)
    return np.mean(z)


def from_outside(x, s):
    y = x * GAIN
    for _ in range(10):
        y = np.tanh(y) * RATE[0] + 0.1
    if s > RATE[0]:
        y = y * GAIN
    else:
        y = y * np.ones(6)
    return np.sum(y)


def number_returned(x, s):
    if s < 0:
        return 0.0
    y = x
    for _ in range(10):
        y = np.sin(y) + x
    return np.sum(y)


def helper(x, s):
    def clip(v, most):
        n = np.sqrt(np.sum(v * v))
        if n > most:
            return v * (most / n)
        return v

    y = clip(x, np.abs(s))
    for _ in range(20):
        y = np.sin(y) + 0.1 * x
    return np.sum(clip(y, 1.0))


def in_place(x, s):
    y = np.zeros(12)
    y[0] = s
    for i in range(1, 12):
        if y[i - 1] > 0:
            y[i] = y[i - 1] - x[0]
        else:
            y[i] = y[i - 1] + x[1] * x[1]
    if y[11] > 0:
        return np.sum(y)
    return y[11] * x[2]


def left_in_two_ways(x, s):
    for _ in range(12):
        if s < -1:
            return np.sum(x)
        if x[0] > 0.5:
            break
    return x[1] * s


def by_a_counter_that_python_knows(x, s):
    """A dictionary that grows keeps the loop unrolled: there the counter is a number."""
    known = {}
    for i in range(8):
        if i:
            s = s + x[1] * i
        if i % 4 == 0:
            s = s * x[0]
        known[i] = s
    return known[7] if s > 0 else known[3] * s


COUNTED = [
    *(without_loop, before, after, inside, around, around_one, between, returns_early, nested),
    *(of_a_result, by_counter, two_deep, loop_in_an_arm_of_a_turn, fills, from_outside),
    *(number_returned, helper, in_place, by_a_counter_that_python_knows),
]
LEFT = [  # JAX has no reverse mode for these loops
    *(beside_a_while, before_a_while, while_and, breaks, while_true, newton, continues),
    *(breaks_inner, inner_while, behind_a_while, left_in_two_ways),
]
named = pytest.mark.parametrize("f", [*COUNTED, *LEFT], ids=lambda f: f.__name__)
CASES = [(x, s) for x in XS for s in NUMBERS]


def expected(f):
    made = tg.value_and_grad(f)
    found = [made(x, s) for x, s in CASES]
    return np.array([v for v, _ in found]), np.array([d for _, d in found])


def stacked():
    return jnp.stack([x for x, _ in CASES]), jnp.stack([s for _, s in CASES])


def assert_close(found, wanted):
    jax.tree.map(lambda a, b: assert_allclose(a, b, rtol=1e-8, atol=1e-10), found, wanted)


# -- what is computed ----------------------------------------------------------------------------


@pytest.mark.sampled(3)
@named
def test_numbers_are_those_of_plain_calls(f):
    values, slopes = expected(f)
    g = tg.value_and_grad(f, backend="jax")
    compiled = jax.jit(g)
    found = [compiled(x, s) for x, s in CASES]
    assert_close(([v for v, _ in found], [d for _, d in found]), ([*values], [*slopes]))
    assert_close(jax.vmap(g)(*stacked()), (values, slopes))
    scanned = jax.lax.scan(lambda carry, given: (carry, g(*given)), 0.0, stacked())[1]
    assert_close(scanned, (values, slopes))
    outside = [g(x, s) for x, s in CASES]  # the program that was made stands for these, too
    assert_close(([v for v, _ in outside], [d for _, d in outside]), ([*values], [*slopes]))


@pytest.mark.sampled(3, 2)
@named
def test_after_calls_outside(f):
    """What these calls have taught of loops, and their versions, change nothing."""
    values, slopes = expected(f)
    g = tg.value_and_grad(f, backend="jax")
    for x, s in CASES:
        g(jnp.array(x), jnp.array(s))
    assert_close(jax.vmap(g)(*stacked()), (values, slopes))


@pytest.mark.sampled(3, 1)
@named
def test_jax_differentiates_the_program(f):
    values, slopes = expected(f)
    g = tg.compile(f, backend="jax")
    assert_close(jax.jit(jax.vmap(g))(*stacked()), values)
    pushed = jax.vmap(lambda x, s: jax.jvp(g, (x, s), (jnp.ones(6), jnp.zeros(())))[1])
    assert_close(pushed(*stacked()), slopes.sum(axis=1))
    if f in COUNTED:
        assert_close(jax.vmap(jax.grad(g))(*stacked()), slopes)


def test_a_look_behind_a_loop_that_was_left_in_a_turn():
    def breaks_rows(x, s):
        a, b, c = x[0], x[1], s
        for _ in range(10):
            b = np.tanh(b) + x[0]
            for _ in np.tile(x, 2):
                c = np.sin(c - 0.37)
                if c < a:
                    a = np.cos(a) * c
                else:
                    a = 0.5 * a + 0.1 * b
                if np.sum(x) > b:
                    break
                c = np.tanh(a) + x[5]
            if c > -0.11:
                a = np.tanh(b) + x[1]
        return a * b + c

    g = tg.compile(breaks_rows, backend="jax")
    assert_close(jax.vmap(g)(*stacked()), np.array([breaks_rows(x, s) for x, s in CASES]))


def test_a_look_is_a_cond_and_a_loop_stays_one():
    g = tg.value_and_grad(after, backend="jax")
    jaxpr = str(jax.make_jaxpr(g)(XS[0], NUMBERS[0]))
    assert "cond[" in jaxpr and "scan[" in jaxpr
    assert jaxpr.count(" sin ") < 5


def test_other_transforms():
    for transform in (tg.grad, tg.jacobian, tg.hessian):
        made = transform(inside)
        for x, s in CASES[:4]:
            assert_allclose(jax.jit(transform(inside))(x, s), made(x, s), rtol=1e-7, atol=1e-9)


def test_arrays_of_one_length_are_one_shape_on_all_ways():
    def chosen(x, y, s):
        return x * 2.0 if s > 0 else y

    f = jax.jit(tg.compile(chosen, backend="jax"))
    assert_close(f(XS[0], XS[1], 1.0), XS[0] * 2.0)
    assert_close(f(XS[0], XS[1], -1.0), XS[1])


def test_a_write_to_an_argument_on_one_way():
    def changed(x, s):
        if s > 0:
            x[0] = 5.0
        return np.sum(x * x)

    f = jax.jit(tg.compile(changed, backend="jax"))
    for s in NUMBERS[:2]:
        assert_close(f(XS[0], s), changed(XS[0].copy(), s))


# -- what is refused -----------------------------------------------------------------------------


def refused(f, match):
    with pytest.raises(ArgumentError, match=match):
        jax.jit(tg.compile(f, backend="jax"))(XS[0], NUMBERS[0])


def test_arms_that_return_other_things():
    def shapes(x, s):
        if s > 0:
            return np.sum(x)
        return x

    def nothing(x, s):
        if s > 0:
            return np.sum(x)
        return None

    def containers(x, s):
        if s > 0:
            return {"a": x}
        return {"b": x}

    refused(shapes, r"returns float64\[\] at .*np.sum\(x\)\) or float64\[6\] at .*\(return x\)")
    refused(nothing, r"returns float64\[\] at .* or None")
    refused(containers, r"the same in another container")


def test_arms_that_raise():
    def raising(x, s):
        if s < 0:
            raise ValueError("negative")
        return np.sum(x)

    def asserting(x, s):
        y = x
        for _ in range(10):
            y = np.sin(y)
        assert np.all(y < 2)
        return y

    refused(raising, r"raises ValueError \(negative\) on one way on from the look at .*if s < 0:")
    refused(asserting, r"raises AssertionError")


def test_arms_with_effects(capsys):
    def printing(x, s):
        if s < 0:
            print("negative")
        return x

    refused(printing, r"print\('negative'\)")
    assert capsys.readouterr().out == ""


def test_values_that_are_read_as_numbers():
    def read(x, s):
        if s > 0:
            return x * [1.0, 2.0][int(s)]
        return x

    refused(read, r"\(int\) at .*x \* \[1\.0, 2\.0\]")


def test_loops_whose_turns_nobody_counts():
    def unrolled(x, s):
        out = []
        while s < 10:
            s = s * 2.0
            out.append(s)
        return np.sum(np.stack(out))

    def endless(x, s):
        while True:
            s = s + 1.0

    def saved(x, s):
        while s > 0.1:
            s = np.sin(s * x[0])
        return s

    refused(unrolled, r"each turn of an unrolled loop at .*while s < 10")
    refused(endless, r"a loop that no look leaves")
    with pytest.raises(ArgumentError, match=r"each turn of a while loop .*for loop over the most"):
        jax.jit(tg.grad(saved, backend="jax"))(XS[0], NUMBERS[0])


def test_too_many_ways():
    def many(x, s):
        for name in ["a"] * 9:  # no array is known that this goes through
            s = s * 0.5 if s > x[0] else s + len(name)
        return s

    refused(many, r"too many ways on from .*s > x\[0\]")


def fills_what_is_empty(x):
    out = np.empty(2)
    out[0] = x[0] if x[0] > 0 else -x[0] * 3
    out[1] = x[1] if x[1] > 0 else -x[1] * 3
    return out


def test_arrays_that_nobody_has_set_are_the_same_in_each_run():
    """So ways of one run are those of another, and a program has no garbage in it."""
    f, inside = tg.compile(fills_what_is_empty), jax.jit(tg.compile(fills_what_is_empty))
    for x in ([1.0, 2.0], [-1.0, 2.0], [1.0, -2.0], [-1.0, -2.0]):
        expected = fills_what_is_empty(np.array(x))
        np.testing.assert_allclose(inside(jnp.array(x)), expected, 1e-6)
        np.testing.assert_array_equal(f(np.array(x)), expected)
    assert "np.zeros(2)" in f.source()
