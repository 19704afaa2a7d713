"""Loops of the user's that stay loops: one in another, in helpers, with lists that turns append to.

Compiled calls and gradients have the bits of eager ones; the text does not grow with the turns.
"""

from __future__ import annotations

import re
from textwrap import dedent

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from checks import assert_same_bits

import tracegrad as tg

pytestmark = pytest.mark.usefixtures("fresh_loops")


def relax(u, most):
    for j in range(9):
        u = 0.7 * np.tanh(u) + 0.01 * j
        if u > most:
            return u * 2
    return u


def halved(u):
    while u * u > 0.01:
        u = u * 0.6
    return u


def table(x, w):
    s = x[0]
    for i in range(10):
        for j in range(11):
            s = s * 0.5 + x[i] * x[j]
    return s


def left(x, w):
    s = x[0]
    for i in range(10):
        for j in range(11):
            s = s + x[j] * 0.1
            if s > 1.0:
                s = s - 2.0
                break
        s = s * 0.5 + x[i]
    return s


def newton(x, w):
    s = x[0]
    for i in range(10):
        u = x[i]
        while u * u > 0.01:
            u = u * 0.6
            s = s + u
        s = s * 0.9
    return s


def summed_up(x, w):
    a = w * 1.0
    for t in range(1, 12):
        for _ in range(9):
            a = x[1:4] * w
            a = a + x[t - 1]
        a = a + (a * w).sum()
    return (a * a).sum()


def skipped(x, w):
    y = np.zeros(12)
    for i in range(12):
        for j in range(12):
            if j == i:
                continue
            y[j] = y[j] * 0.5 + x[i] * x[j]
    return (y * y).sum()


def helped(x, w):
    s = 0.0
    for i in range(10):
        s = s + relax(x[i] + s, 0.6) + halved(s)
    return s


def twice(x, w):
    s = x[1]
    for i in range(9):
        s = relax(x[i] + s, 0.3) - relax(s, 0.6)
        if s > x[i]:
            s = s * 0.5
    return s


def few(x, w):
    s = 0.0
    for t in range(12):
        for k in range(3):
            if x[t] > 0:
                s = s + x[t] * k
            else:
                s = s - 0.5
    return s


def cell(state, x, w):
    h, c = state
    c = 0.5 * c + np.tanh(w * x + h)
    return np.tanh(c), c


def carried(x, w):
    state = w * 0.5, w * 2.0
    for t in range(12):
        state = cell(state, x[t], w)
    return (state[0] * state[1]).sum()


def kept(x, w):
    pair = x[0], w * 2.0
    for t in range(12):
        items = [x[t], pair]
        if x[t] > 0:
            pair = items[0] + items[1][0], items[1][1] * 0.5
        else:
            pair = items[1][0] * 0.5 - x[t], w * x[t]
    return (pair[0] * pair[1]).sum()


def hidden(x, w):
    h = w * 0.5
    out = []
    for t in range(12):
        h = np.tanh(h * w + x[t])
        out.append(h)
    y = np.stack(out)
    return (y * y).sum() + out[-1].sum()


def begun(x, w):
    s = 1.0
    out = [x[0]]
    for t in range(1, 12):
        s = w[0] + w[1] * s + w[2] * x[t - 1] ** 2
        out.append(s)
    return (np.array(out) ** 2).sum()


def either(x, w):
    out = []
    s = x[0]
    for t in range(12):
        s = s * w[1] + x[t]
        if s > 0.2:
            out.append(s)
        else:
            out.append(s * 2)
            s = s - w[0]
    return (np.stack(out) * x).sum()


def comprehended(x, w):
    return np.stack([np.tanh(row * w) for row in x]).sum()


def before(x, w):
    s = x[0]
    for t in range(1, 12):
        s = s * x[t - 1] + x[t]
    return s


RATE, TABLE = 0.7, np.arange(3.0)


def read_in_turns(x, w):
    """What stands outside is read in turns alone, a length of it as well."""
    s = x[0]
    while s * s > 0.01:
        s = s * RATE
    for i in range(10):
        for _ in range(9):
            s = s * w[0] + x[i] / len(TABLE)
    return s


STAYING = [
    *(before, summed_up, table, left, newton, skipped, helped, twice, few),
    *(carried, hidden, begun, either, comprehended, read_in_turns),
]


def broken_off(x, w):
    out = []
    s = x[0]
    for t in range(12):
        s = s * w[1] + x[t]
        out.append(s)
        if s > 0.5:
            break
    return np.stack(out).sum()


def looked_at(x, w):
    out = []
    s = x[0]
    for t in range(12):
        if len(out) > 3:
            s = s + out[-2]
        s = s * w[1] + x[t]
        out.append(s)
    return np.stack(out).sum()


def summed(x, w):
    out = []
    for t in range(12):
        out.append(np.sin(x[t] * w[1]))
    return sum(out)


def held_twice(x, w):
    out = []
    other = {"out": out}
    for t in range(12):
        out.append(x[t] * w)
        if x[t] > 0:
            other["n"] = len(other["out"])
    return np.stack(out).sum() * other.get("n", 1)


def written_later(x, w):
    out = []
    h = w * 1.0
    for t in range(12):
        h *= 0.5
        h[1] = x[t]
        out.append(h)
    return np.stack(out).sum()


def views(x, w):
    y = x * 1.0
    for t in range(12):
        v = y[2:5]
        if x[t] > 0:
            v *= 0.5
        else:
            v[0] = x[t]
    return (y * y).sum()


def numbers(x, w):
    out = []
    p = x[0], x[2]
    for _ in range(12):
        out.append(0.5 * len(p))
        p = p[1] * 0.5, x[1]
    return sum(out) * p[0]


UNROLLED = [numbers, kept, broken_off, looked_at, summed, held_twice, written_later, views]


def inputs():
    random = np.random.default_rng(0)
    found = [(random.normal(size=12), random.normal(size=3)) for _ in range(4)]
    zeros = random.choice([0.0, -0.0, 0.5, -1.0], 12), np.array([0.0, -0.0, 1.0])
    return [*found, (np.abs(found[0][0]), found[0][1]), zeros, found[0]]


def eagerly(function, *args):
    before = tg.config.compile
    tg.config.compile = False
    try:
        return function(*args)
    finally:
        tg.config.compile = before


def loops_in(source):
    return len(re.findall(r"^ +(?:for|while) ", str(source), re.MULTILINE))


@pytest.mark.parametrize("function", [*STAYING, *UNROLLED], ids=lambda f: f.__name__)
def test_values_and_gradients_have_the_bits_of_eager_calls(function):
    compiled, gradient = tg.compile(function), tg.value_and_grad(function, argnums=(0, 1))
    for x, w in inputs()[: 4 if function in (before, begun, summed_up) else None]:  # signs of zeros
        assert_same_bits(compiled(x, w), function(x, w))
        assert_same_bits(gradient(x, w), eagerly(gradient, x, w))


@pytest.mark.parametrize("function", STAYING, ids=lambda f: f.__name__)
def test_they_stay_loops(function):
    x, w = inputs()[0]
    for transformed in (tg.compile(function), tg.value_and_grad(function, argnums=(0, 1))):
        source = transformed.source(x, w)
        assert loops_in(source) and len(str(source).splitlines()) < 400


@pytest.mark.sampled(3)  # JAX runs them operation by operation
@pytest.mark.parametrize("function", [table, carried, hidden, begun], ids=lambda f: f.__name__)
def test_gradients_are_those_of_jax(function):
    scope = dict(function.__globals__, np=jnp)
    for name in ("cell",):
        helper = scope[name]
        scope[name] = type(helper)(helper.__code__, scope, name)
    other = type(function)(function.__code__, scope, function.__name__)
    with jax.enable_x64(True):
        theirs = jax.value_and_grad(other, argnums=(0, 1))
        ours = tg.value_and_grad(function, argnums=(0, 1))
        for x, w in inputs()[:2]:
            wanted, given = theirs(x, w), ours(x, w)
            np.testing.assert_allclose(given[0], wanted[0], rtol=1e-12)
            for a, b in zip(given[1], wanted[1], strict=True):
                np.testing.assert_allclose(a, b, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("function", [left, newton, either], ids=lambda f: f.__name__)
def test_gradients_are_finite_differences(function):
    x, w = inputs()[0]
    given = tg.grad(function)(x, w)
    for i in range(len(x)):
        step = np.zeros(12)
        step[i] = 1e-6
        wanted = (function(x + step, w) - function(x - step, w)) / 2e-6
        np.testing.assert_allclose(given[i], wanted, rtol=1e-5, atol=1e-6)


def body_of(source):
    lines = str(source).split("\n\n\n")[1].splitlines()[1:]
    return dedent("\n".join(line for line in lines if not line.lstrip().startswith("#"))).strip()


def test_loops_in_loops_read_as_they_were_written():
    x, w = inputs()[0]
    assert (
        body_of(tg.compile(newton).source(x, w))
        == dedent(
            """
        s = float(x[0])
        for i in range(10):
            u = x.item(i)
            while u * u > 0.01:
                u = u * 0.6
                s = s + u
            s = s * 0.9
        return np.float64(s)
        """
        ).strip()
    )


def test_the_backward_of_loops_in_loops_is_loops_in_loops():
    """The value is not asked for, and loops that would do nothing are not there."""
    x, w = inputs()[0]
    assert (
        body_of(tg.grad(table).source(x, w))
        == dedent(
            """
        x_bar = np.zeros(x.size)
        s_bar = 1.0
        for i in reversed(range(10)):
            s = x.item(i)
            for j in reversed(range(11)):
                x_bar[j] += s_bar * s
                x_bar[i] += s_bar * x.item(j)
                s_bar = s_bar * 0.5
        x_bar[0] += s_bar
        return x_bar
        """
        ).strip()
    )


def test_a_list_that_turns_append_to_is_an_array_that_they_fill():
    x, w = inputs()[0]
    assert (
        body_of(tg.compile(hidden).source(x, w))
        == dedent(
            """
        h = w * 0.5
        out = np.zeros((12, w.size))
        for t in range(12):
            h *= w
            h += x[t]
            np.tanh(h, out=h)
            out[t] = h
        value = (out * out).sum() + h.sum()
        return value
        """
        ).strip()
    )


def test_a_run_that_answers_its_call_has_a_tape_through_the_turns():
    class Counter:
        calls = 0

    def counted(x, w):
        for _ in range(9):
            s = x[0] ** 2
        Counter.calls += 1
        return s + hidden(x, w)

    x, w = inputs()[0]
    gradient = tg.value_and_grad(counted, argnums=(0, 1))
    for _ in range(3):
        assert_same_bits(gradient(x, w), eagerly(gradient, x, w))
    assert Counter.calls == 6


def test_what_a_turn_raises_is_raised_where_the_function_does():
    def outer(x, w):
        s = x[0]
        for i in range(9):
            for j in range(10):
                s = s + x[i + j]
        return s

    x, w = inputs()[0]
    with pytest.raises(IndexError):
        tg.compile(outer)(x, w)

    def caught(x, w):
        s, n = x[0], 0
        try:
            for i in range(9):
                for j in range(10):
                    s = s + x[i + j]
                    n += 1
        except IndexError:
            return s * n
        return s

    assert_same_bits(tg.compile(caught)(x, w), caught(x, w))


def counted(u):
    n = 0
    for i in range(len(u)):
        for j in range(4):
            if u[i, j]:
                n += 1
    return n


def counted_by_rows(u):
    n = 0
    for row in u:
        for j in range(4):
            if row[j]:
                n += 10
                break
        else:
            n += 1
    return n


def flipped(u):
    s, energy = np.where(u, 1.0, -1.0), 0.0
    for i in range(len(s)):
        for j in range(4):
            change = 2 * s[i, j] * (s[i - 1, j] + s[i, (j + 1) % 4])
            if change <= 0:
                s[i, j] *= -1
                energy += change
    return energy + s.sum()


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("function", [counted, counted_by_rows, flipped])
def test_looks_of_an_inner_loop_that_is_unrolled(function, seed):
    """What follows one of several looks in an arm is no part of the arm beside it."""
    random, compiled = np.random.default_rng(seed), tg.compile(function)
    for _ in range(3):
        u = random.random((12, 4)) < 0.4
        assert compiled(u) == function(u)


def test_a_number_that_unrolled_turns_read_twice_is_measured_once():
    """What it takes to compile does not double with each turn."""

    def grown(x):
        t = 1.0
        for i in range(8):
            for _ in range(i + 1, 8):
                t = t + 0.27 * t
        return np.sum(x) + t

    for f in (tg.compile(grown), tg.value_and_grad(grown)):
        found = f(np.ones(3))
        assert (found[0] if isinstance(found, tuple) else found) == grown(np.ones(3))


def windows_with_gaps(x, w):
    total = 0.0
    for i in range(len(x)):
        for j in range(i, len(x)):
            if (i + j) % 3 == 0:
                continue
            if j - i > 2:
                break
            total += x[i] * x[j] * w[j]
    return total


def searched(x, w):
    out = []
    for i in range(12):
        out.append(x[i] * w[i])
        k = 0
        while k < 12:
            if i == k:
                break
            k += 1
    return sum(o * o for o in out)


def early(x, i):
    for j in range(i, len(x)):
        if j > i + 2:
            return x[j] * i
    return x[i]


def sum_of_what_loops_return(x, w):
    return sum(w[i] * early(x, i) ** 2 for i in range(len(x)))


@pytest.mark.parametrize("function", [windows_with_gaps, searched, sum_of_what_loops_return])
def test_the_way_back_of_a_loop_reads_where_it_was_left(function):
    """The number ``j - i`` of a turn is read after loops within: none of these has its variable."""
    random = np.random.default_rng(0)
    x, w = random.normal(size=12), random.normal(size=12)
    gradient = tg.grad(function, argnums=(0, 1))
    assert_same_bits(gradient(x, w), eagerly(gradient, x, w))


def many_ways_back(x):
    n, t, u, y = len(x), 0.5, 1.0, np.zeros_like(x)
    for i in range(3, n):
        for j in range(i, n):
            for k in range(j + 1):
                if x[k] > 1.0:
                    t = np.sin(x[0] * 2 + x[j])
                else:
                    u = abs(y[k]) * 0.7
                if k > 2:
                    t += 0.3 * abs(t)
                else:
                    y[j] += t * y[j] * 0.3
            if i % 2 == 0:
                t += 0.3 * y[i] * x[i]
                break
            for _ in range(j + 1):
                t += 0.3 * x[i] * x[0]
        t = np.sin(t) * u
    return t + u + np.sum(y)


def test_a_way_back_does_not_double_with_each_loop():
    """Each of its loops may leave cotangents or not: their arms would hold all that is before."""
    f, x = tg.value_and_grad(many_ways_back), np.random.default_rng(1).normal(size=8)
    assert_same_bits(f(x), eagerly(f, x))


def counted_down(x):
    c = np.zeros(12)
    for i in range(12):
        for j in range(i - 1, -1, -1):
            if i - j > 2:
                break
            c[i] += c[j] * x[j]
        c[i] += x[i]
    return c.sum()


def test_what_a_loop_for_jax_counts_to_keeps_its_variable_in_the_turns():
    x = np.random.default_rng(0).normal(size=12)
    got = tg.grad(counted_down, backend="jax")(x)
    np.testing.assert_allclose(got, tg.grad(counted_down)(x), rtol=1e-12)


def test_gradients_of_one_shape_are_summed_up_in_place():
    """Each has an array of its own, and the cotangent of a sum of turns is no factor."""

    def loss(a, b, xs):
        total = 0.0
        for x in xs:
            total = total + np.sum(np.tanh(a * x) * b)
        return total

    compiled, xs = tg.value_and_grad(loss, argnums=(0, 1)), np.linspace(-1.0, 1.0, 27)
    args = np.ones(3), np.full(3, 2.0), xs.reshape(9, 3)
    assert_same_bits(compiled(*args), eagerly(compiled, *args))
    source = compiled.source(*args)
    assert source.count("np.full(a.shape, -0.0") == 2
    assert "b_bar += s" in source or "b_bar += total" in source
    assert "1.0 * " not in source
