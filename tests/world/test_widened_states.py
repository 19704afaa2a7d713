"""Loops whose turns go other ways late, in the call or in a later one: they stay few programs.

What variables are at the beginning of turns is learned over all calls (`loops/widened_states.py`).
"""

from __future__ import annotations

import numpy as np
import pytest
from checks import assert_same_bits, leaves, run_eagerly, split

import tracegrad as tg


def accepted(x, noise):
    """A float of Python until a move is accepted."""
    energy, total = 0.5 * x * x, 0.0
    for t in range(12):
        new = x + noise[t]
        if 0.5 * new * new < energy + 0.1:
            x, energy = new, 0.5 * new * new
        total = total + x * x
    return total


def stepped(x, noise):
    """A step that is rejected changes other variables than one that is accepted."""
    t, y, h = 0.0, x, 0.05
    while t < 1.0:
        error = abs(h * np.sin(y + noise[0]))
        if error < 0.1:
            t, y, h = t + h, y - h * y * noise[1], h * 1.5
        else:
            h = h * 0.5
    return y * y


def added_up(x, noise):
    """No turn may add anything."""
    s = 0.0
    for v in noise:
        if v > 0.8:
            s = s + v * x
    return s - 1.0


def begun_as_one(x, noise):
    a = b = 0.0
    for v in noise:
        if v > 0.3:
            a = a + v * x
        elif v < -0.3:
            b = b - v * v
    return a * b + a


def counted(x, noise):
    n, s = 0, 0.0
    for v in noise:
        if v > 0.5:
            n += 1
        s = s + n * v * x
    return s


def nested(x, noise):
    s = 0.0
    for t in range(9):
        u = 0.0
        for k in range(9):
            if noise[k] * noise[t] > 0.5:
                u = u + noise[t] * x
        if u > 0.1:
            s = s + u * u
    return s + x


def in_a_helper(x, noise):
    def clipped(v):
        total = 0.0
        for k in range(8):
            if v * noise[k] > 0.4:
                total = total + v * x
        return total

    s = 0.0
    for t in range(9):
        s = s + clipped(noise[t])
    return s


def made_before(x, noise):
    """No gradient flows to u where no turn reads it: that is no zero, which would be -0.0 here."""
    u, s = np.exp(-x), x * x
    for v in noise:
        if v > 0.8:
            s = s + v * u
    return s


def best(x, noise):
    """None until there is one: the rest of the loop is one of its own."""
    found = None
    for v in noise:
        if v > 0.5:
            y = np.sin(v) * v * x
            if found is None or y > found:
                found = y
    return x if found is None else found


def found_late(x, noise):
    found, n, s = False, 0, 0.0
    for v in noise:
        if found:
            s = s + v * v * x
        elif v > 0.9:
            found = True
        else:
            n += 1
    return s + n * x


def by_state(x, noise):
    state, s = "rising", 0.0
    for t in range(12):
        if state == "rising":
            s = s + noise[t] * x
            if s > 1.0:
                state = "falling"
        elif state == "falling":
            s = s - 0.3
            if s < 0.0:
                state = "done"
                s = s * x
    return s


def best_of_each(x, noise):
    s = x
    for t in range(10):
        last = None
        for v in noise:
            if v * noise[t] > 0.6:
                last = v * x
        if last is not None:
            s = s + last
    return s


def replaced(x, noise):
    """A turn may take away the cotangent of what it replaces."""
    a, b = x, x * 0.5
    for v in noise:
        if v > 0.8:
            a = np.sin(v)
        elif v < -0.8:
            b = a * v
        else:
            a = a + b * v
    return a * 1.5


FEW = [
    *(best, found_late, by_state, replaced),
    *(accepted, stepped, added_up, begun_as_one, counted, nested, in_a_helper, made_before),
]


def inputs(count=24):
    random = np.random.default_rng(0)
    scales = [0.3, 1.0, 2.0]
    return [(float(random.normal()), random.normal(size=12) * scales[i % 3]) for i in range(count)]


def test_an_inner_loop_goes_on_where_it_stood_in_a_turn_before_it(fresh_loops):
    """Its first turn stands by itself: the way past that went on with an iterator at its end."""
    gradient, forward = tg.value_and_grad(best_of_each, argnums=(0, 1)), tg.compile(best_of_each)
    for args in inputs(9):
        wanted = run_eagerly(best_of_each, args, (0, 1))
        assert_same_bits(split(gradient(*args)), wanted, f"at {args}")
        assert_same_bits(leaves(forward(*args)), wanted[0], f"at {args}")


@pytest.mark.parametrize("function", FEW, ids=lambda f: f.__name__)
def test_all_ways_are_in_few_programs(function, fresh_loops):
    gradient, forward = tg.value_and_grad(function, argnums=(0, 1)), tg.compile(function)
    for args in inputs():
        wanted = run_eagerly(function, args, (0, 1))
        assert_same_bits(split(gradient(*args)), wanted, f"at {args}")
        assert_same_bits(leaves(forward(*args)), wanted[0], f"at {args}")
    assert gradient.cache_info().traces <= 4
    source = gradient.source(*inputs(1)[0])
    assert "for t in" in source or "for v in" in source or "while" in source or "for i in" in source
    assert len(source.splitlines()) < 300


def test_where_another_dtype_meets_them_floats_stay_pythons(fresh_loops):
    """A float of Python times a float32 is a float32; NumPy's float64 would make it a float64."""

    def f(x, noise):
        scale, total = 0.5, np.float32(0.0)
        for v in noise:
            total = total + scale * v
            if v > 0.8:
                scale = x[0] * 0.5
        return total

    compiled = tg.compile(f)
    for seed in range(6):
        random = np.random.default_rng(seed)
        args = random.normal(size=2), random.normal(size=12).astype(np.float32)
        assert_same_bits(leaves(compiled(*args)), leaves(f(*args)), f"at {args}")


def test_an_array_that_is_written_behind_the_loop_is_the_callers(fresh_loops):
    def f(y, noise):
        for v in noise:
            if v > 0.8:
                y = y * v
        y[0] = 5.0
        return y.sum()

    compiled = tg.compile(f)
    for seed in range(8):
        random = np.random.default_rng(seed)
        noise = random.normal(size=12) * (0.3 + seed % 2)
        one, other = np.ones(3), np.ones(3)
        assert_same_bits(leaves(compiled(one, noise)), leaves(f(other, noise)), f"{seed}")
        assert_same_bits([one], [other], f"the argument of call {seed}")


def test_no_handler_is_told_that_a_run_is_made_again(fresh_loops):
    told = []

    def f(x, noise):
        s = 0.0
        try:
            for v in noise:
                if v > 0.8:
                    s = s + v * x
        except BaseException as error:
            told.append(error)
            raise
        finally:
            s = s * 0.5
        return s

    compiled = tg.value_and_grad(f)
    for args in inputs(8):
        assert_same_bits(split(compiled(*args)), run_eagerly(f, args), f"at {args}")
    assert not told
