"""Loops with several ifs in a turn enter; one loop leaves, whose ifs stand one after another."""

from __future__ import annotations

import inspect

import numpy as np
import pytest
from checks import assert_same_bits, run_eagerly, split

import tracegrad as tg
from tracegrad.world import joins


def three_ifs(x):
    s = 0.0
    for t in range(len(x)):
        v = x[t]
        if v > 0:
            v = v * 2
        if v > 1:
            v = np.log(v)
        if s > 3:
            s = s * 0.5
        s = s + v
    return s


def nested_ifs(x):
    s, n = 0.0, 0
    for v in x:
        if v < -2:
            continue
        if v > 0:
            v = v * 2
            if v > 1:
                v = np.log(v)
            elif v > 0.5:
                v = v + s
            n += 1
        elif s > 3:
            s = s * 0.5
        s = s + v
    return s + n


def relaxed(v, s):
    if v > s:
        return v - s
    return s * 0.5


def helpers_and_inner_loop(x):
    s = 0.0
    for v in x:
        u = relaxed(v, s)
        if u > 0.2:
            u = relaxed(s, v)
        for _ in range(10):
            if u > 0:
                u = u * 0.9
            if u < s:
                s = s - 0.01
            else:
                s = s + 0.01
        s = s + u
    return s


def a_while(x):
    s = np.abs(x[0])
    while s < 50:
        if s > 10:
            s = s * 1.5
        elif s > 5:
            s = s + 2
        if s > 20:
            s = s + x[1] * x[1]
        s = s + 1
    return s


def begins_anew(x):
    """What some turns begin anew has no cotangent before: "no cotangent" is not zero."""
    s, r = 0.0, x[0]
    for v in x:
        if v > 0:
            s = s + v * np.sqrt(r)
        if s > 2:
            s = 1.0 * v
            r = v * v
    return s


def kept_in_arms(x):
    s = x[0]
    w = x[1]
    for t in range(1, len(x)):
        if x[t] > 0:
            h = np.sin(x[t] * s)
            s = s * np.exp(-h * h) + w
        elif x[t - 1] > 1:
            s = s - w * x[t - 1]
        else:
            s = np.tanh(s)
        if s > 1:
            s = s / 2
    return s


def row_beyond_the_end(x):
    """What an arm alone may read is read in its backward alone."""
    s = 0.0
    for t in range(len(x)):
        v = x[t]
        if t + 1 < len(x):
            v = v * x[t + 1]
        if v > 0:
            v = np.sin(v * s)
        s = s + v
    return s


def arrays(x):
    h = x * 0.1
    for t in range(len(x)):
        g = np.tanh(h * x[t])
        if g.sum() > 0:
            g = g * x
        if x[t] > 0.5:
            h = h * 0.5 + g
        else:
            h = g
    return (h * x).sum()


def kalman(x):
    """A filter with missing data, whose initial state has a gradient."""
    m, p = x[0], x[1] ** 2
    q, r, decay = x[2] ** 2, x[3] ** 2 + 0.5, np.tanh(x[4])
    s = 0.0
    for v in x:
        m, p = decay * m, decay * decay * p + q
        if not v > 1:
            e, variance = v - m, p + r
            k = p / variance
            s = s + 0.5 * (np.log(variance) + e * e / variance)
            m, p = m + k * e, (1.0 - k) * p
    return s


def arms_with_numbers_of_their_own(x):
    """Which of several numbers from before have a gradient depends on the turns."""
    a, b, c = np.sin(x[0]), np.sin(x[1]), np.sin(x[2])
    s = 0.0
    for v in x:
        if v > 1:
            s = s * 0.9 + a * v
        elif v > 0:
            s = s * 0.9 + b * v
        elif v > -2:
            s = s * c
        else:
            s = v
    return s


def begun_in_arms(x):
    """Either of two variables, or both, have no gradient after some turns."""
    u, v = x[0] * 2, x[1] * 3
    for t in range(len(x)):
        if x[t] > 1.5:
            u = x[t] * x[2]
        elif x[t] < -1.5:
            v = x[t] * x[3]
        u, v = np.sin(u + x[t]), np.cos(v - x[t])
        if x[t] > 0:
            u = u * v
    return u


PROGRAMS = [
    *(three_ifs, nested_ifs, helpers_and_inner_loop, a_while, begins_anew, kept_in_arms),
    *(row_beyond_the_end, arrays, kalman, arms_with_numbers_of_their_own, begun_in_arms),
]
NAMES = [f.__name__ for f in PROGRAMS]
WITHOUT_COTANGENTS = {begins_anew, kalman, arms_with_numbers_of_their_own, begun_in_arms}
"""After some turns a variable has no cotangent: a turn's backward is written for both."""
MET_IN_SOME_TURNS = {a_while, arms_with_numbers_of_their_own}
"""Whether a turn read an element first is not known: its zero may have the other sign."""


def calls(count=4, size=24):
    random = np.random.default_rng(1)
    drawn = [(random.normal(size=size) * 2,) for _ in range(count)]
    zeros = np.where(np.arange(size) % 3 == 0, -0.0, drawn[0][0])
    return [*drawn, (np.zeros(size),), (-np.zeros(size),), (zeros,), (drawn[1][0][:9],)]


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("function", PROGRAMS, ids=NAMES)
def test_bits_are_those_of_eager(function):
    f, plain = tg.value_and_grad(function), tg.compile(function)
    for args in calls():
        found, wanted = split(f(*args)), run_eagerly(function, args)
        if function in MET_IN_SOME_TURNS:
            found, wanted = ((value, [g + 0.0 for g in ct]) for value, ct in (found, wanted))
        assert_same_bits(found, wanted)
        assert_same_bits(([plain(*args)], []), ([function(*args)], []))


def code_of(source):
    lines = [line.strip() for line in source.splitlines()]
    return [line for line in lines if line and not line.startswith("#")]


@pytest.mark.parametrize("function", PROGRAMS, ids=NAMES)
def test_what_follows_ifs_stands_once(function):
    for f in (tg.compile(function), tg.value_and_grad(function)):
        for args in calls(3):
            f(*args)
        code = code_of(f.source(*calls()[0]))
        if function in WITHOUT_COTANGENTS and any("_bar" in line for line in code):
            assert "loops that are unrolled" not in f.explain()
            continue
        lines = inspect.getsource(function).splitlines()
        ifs = sum(line.strip().startswith(("if ", "elif ")) for line in lines)
        assert sum(line.startswith(("if ", "elif ")) for line in code) <= 5 * ifs
        assert "loops that are unrolled" not in f.explain()


def with_ifs(count):
    """A function whose turns have so many ifs."""
    lines = ["def f(x):", "    s = 0.0", "    for v in x:"]
    for k in range(count):
        lines += [f"        if v > {k / 10}:", f"            v = v * {1 + k / 7}"]
    text = "\n".join([*lines, "        s = s + np.sin(v)", "    return s"])
    scope = {"np": np}
    exec(text, scope)
    return scope["f"]


def test_the_source_grows_with_the_ifs_and_not_with_the_ways():
    lengths = []
    for count in (4, 8, 12):
        f = tg.value_and_grad(with_ifs(count))
        x = np.random.default_rng(count).normal(size=60)
        f(x)
        lengths.append(len(code_of(f.source(x))))
    assert lengths[2] - lengths[1] == lengths[1] - lengths[0] <= 4 * 12


@pytest.mark.parametrize("function", [three_ifs, a_while, kept_in_arms])
def test_second_derivatives(function):
    x = np.random.default_rng(3).normal(size=10) * 2
    v = np.random.default_rng(4).normal(size=10)
    product = tg.grad(lambda x: np.dot(tg.grad(function)(x), v))(x)
    _, forward = tg.jvp(tg.grad(function), (x,), (v,))
    np.testing.assert_allclose(product, forward, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(tg.hessian(function)(x) @ v, forward, rtol=1e-9, atol=1e-12)


def missing_data(theta, x):
    m, p, q, r = theta
    s = 0.0
    for v in x:
        p = p + q
        if not np.isnan(v):
            k = p / (p + r)
            s = s + 0.5 * (np.log(p + r) + (v - m) ** 2 / (p + r))
            m, p = m + k * (v - m), (1.0 - k) * p
    return s


def test_the_hessian_of_a_filter_with_missing_data_is_a_loop(monkeypatch):
    x = np.random.default_rng(0).normal(size=40)
    x[[0, 5, 6, 39]] = np.nan
    theta = np.array([0.1, 1.0, 0.3, 0.5])
    for transform in (tg.value_and_grad, tg.hessian):
        f = transform(missing_data)
        found = [f(theta, given) for given in (x, x[:20], x[20:], np.full(30, np.nan))]
        assert f.cache_info().versions == 1 and "loops that are unrolled" not in f.explain()
        with monkeypatch.context() as context:
            context.setattr(tg.config, "compile", False)
            given = (x, x[:20], x[20:], np.full(30, np.nan))
            wanted = [transform(missing_data)(theta, y) for y in given]
        assert_same_bits(found, wanted)


@pytest.mark.parametrize("function", [nested_ifs, kept_in_arms, arrays])
def test_tapes(function):
    compiled = tg.compile(function)
    for (x,) in calls(3)[:3]:
        a, b = (tg.Tensor(x, requires_grad=True) for _ in range(2))
        compiled(a).backward()
        function(b).backward()
        assert_same_bits(([], [a.grad.numpy()]), ([], [b.grad.numpy()]))


@pytest.mark.sampled(3)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("backend", ["jax", "numba"])
@pytest.mark.parametrize("function", [nested_ifs, a_while, begins_anew, kept_in_arms, arrays])
def test_other_targets(function, backend, monkeypatch):
    pytest.importorskip(backend)
    wanted = [tg.value_and_grad(function)(*args) for args in calls(2)[:2]]
    monkeypatch.setattr(tg.config, "backend", backend)
    f = tg.value_and_grad(function)
    for args, expected in zip(calls(2), wanted, strict=False):
        for a, b in zip(f(*args), expected, strict=True):
            np.testing.assert_allclose(np.asarray(a), b, rtol=1e-7, atol=1e-12)


def test_the_first_call_writes_to_an_argument_that_arms_in_turns_change() -> None:
    """Also where its run turns out to be no program, because a loop was closed too soon."""

    def number(a):
        for _ in range(12):
            if a > 0:
                a -= 0.5
            else:
                a += 0.3
        return a * 1.0

    def vector(a):
        for _ in range(12):
            if a[0] > 0:
                a -= 0.5
            else:
                a += 0.3
        return a * 1.0

    for f, given in ((number, np.array(0.1)), (vector, np.array([0.1, 2.0]))):
        compiled = tg.compile(f)
        for _ in range(3):
            plain, ours = given.copy(), given.copy()
            assert np.array_equal(compiled(ours), f(plain))
            assert np.array_equal(ours, plain)


def others(x):
    s = 0.0
    for i in range(12):
        for j in range(6):
            if j != i:
                s = s * 0.9 + x[i] * x[j]
    return s


@pytest.mark.parametrize("most", range(1, 9))
def test_an_arm_that_went_on_by_itself_meets_no_others(monkeypatch, fresh_loops, most):
    """Of the turns that stand one after another in the text the arms of the first ones meet."""
    monkeypatch.setattr(joins, "MOST_MET", most)
    compiled = tg.compile(others)
    for args in calls(2)[:3]:
        assert_same_bits(compiled(*args), others(*args))
