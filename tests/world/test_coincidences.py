"""What is one object at the first call is two later: no program remembers that it was one."""

import types

import numpy as np
import pytest

import tracegrad as tg

A, B = np.array([1.0, 2.0]), np.array([5.0, 7.0])
X = np.array([1.0, -0.5])
State = types.SimpleNamespace


def sets(**values):
    return lambda s: vars(s).update(values)


def puts(i, value):
    return lambda s: s.items.__setitem__(i, value)


def one(value, *names):
    """A state that has one object under all names."""
    return lambda: (lambda v: State(**dict.fromkeys(names, v)))(value())


def in_list(value, more):
    return lambda: (lambda v: State(items=[v, v, more]))(value())


def adds(s):
    s.a[0] += 1.0


CASES = {
    "array": (
        one(A.copy, "a", "b"),
        lambda s, x: np.sum(s.a * s.b * x),
        [adds, sets(b=B), sets(a=B * 2.0), sets(b=A)],
    ),
    "view": (
        lambda: (lambda v: State(a=v, b=v[:]))(A.copy()),
        lambda s, x: np.sum(s.a * x) + np.sum(s.b * x * x),
        [adds, sets(a=B.copy()), adds],
    ),
    "dict": (
        one(lambda: {"w": A.copy()}, "p", "q"),
        lambda s, x: np.sum(s.p["w"] * x) + np.sum(s.q["w"] * s.q["w"] * x),
        [sets(q={"w": B}), sets(p={"w": A * 3.0})],
    ),
    "object": (
        one(lambda: State(w=A.copy()), "f", "g"),
        lambda s, x: np.sum(s.f.w * x) + np.sum(s.g.w * x * x),
        [sets(g=State(w=B)), lambda s: vars(s.f).update(w=B * 4.0)],
    ),
    "function": (
        one(lambda: lambda v: v * 2.0, "f", "g"),
        lambda s, x: np.sum(s.f(x) + s.g(x * x)),
        [sets(g=lambda v: v * 5.0), sets(f=lambda v: v * 7.0)],
    ),
    "float": (
        one(lambda: float("0.25"), "a", "b"),
        lambda s, x: np.sum(x * s.a) + np.sum(x * x) * s.b,
        [sets(b=0.5), sets(a=0.125), sets(b=0.25)],
    ),
    "scalar": (
        one(lambda: np.float64(0.3), "a", "b"),
        lambda s, x: np.sum(x * s.a) + np.sum(x * x) * s.b,
        [sets(b=np.float64(0.7)), sets(a=np.float64(3.0)), sets(b=0.5)],
    ),
    "int": (
        one(lambda: int("1000"), "a", "b"),
        lambda s, x: np.sum(x * s.a) + np.sum(x * x) * s.b,
        [sets(b=1001), sets(a=3), sets(b=1000)],
    ),
    "arrays of a list": (
        in_list(A.copy, B),
        lambda s, x: sum(np.sum(v * x) * (i + 1) for i, v in enumerate(s.items)),
        [puts(1, B), puts(0, A * 3.0), puts(2, A)],
    ),
    "floats of a list": (
        in_list(lambda: float("0.25"), 2.0),
        lambda s, x: np.sum(x * s.items[0]) + np.sum(x * x) * s.items[1] + s.items[2],
        [puts(1, 0.5), puts(0, 2.0), puts(2, 0.25)],
    ),
}


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("transform", ["compile", "value_and_grad"])
def test_one_object_at_the_first_call(case, transform):
    build, function, edits = CASES[case]
    s = build()
    made = getattr(tg, transform)(lambda x: function(s, x))
    for edit in [lambda s: None, *edits]:
        edit(s)
        found = made(X)
        value = found if transform == "compile" else found[0]
        assert np.array_equal(value, function(s, X))
        if transform != "compile":
            h = 1e-6
            slopes = [
                (function(s, X + h * d) - function(s, X - h * d)) / (2 * h) for d in np.eye(2)
            ]
            assert np.allclose(found[1], slopes, rtol=1e-6)


def recurrent(state):
    def f(x):
        h = np.zeros(2)
        for _ in range(2):
            h = np.tanh(h + state.b + x)
        return h * 2 if x > 0 else h

    return f


def in_each_arm(state):
    def f(x):
        y = x * state.b
        return y + np.zeros(2) if x > 0 else y * 3 + np.zeros(2)

    return f


def made_of_a_list(state):
    def f(x):
        y = state.b * x + np.array([3.0, 4.0])
        return y * 2 if x > 0 else y

    return f


@pytest.mark.parametrize("make", [recurrent, in_each_arm, made_of_a_list])
@pytest.mark.parametrize("then", [(0.0, 0.0), (3.0, 4.0)])
@pytest.mark.parametrize("first", [(0.0, 0.0), (3.0, 4.0)])
def test_an_array_that_is_made_is_none_from_outside_with_its_numbers(make, first, then):
    """The second trace goes on with what the first one made, and with what it read."""
    state = State(b=np.array(first))
    f = make(state)
    compiled, slope = tg.compile(f), tg.value_and_grad(lambda x: np.sum(f(x)))
    for i, x in enumerate([1.0, -1.0, 1.0, -1.0, 1.0]):
        state.b = np.array(first if i == 0 else then if i == 1 else (i * 1.0, -0.3))
        np.testing.assert_array_equal(compiled(x), f(x))
        assert slope(x)[0] == np.sum(f(x))


class Filter:
    """A Kalman filter that leaves out measurements that are far away."""

    def __init__(self):
        self.P, self.x = np.eye(2), np.zeros(2)

    def step(self, z, gate):
        P = self.P + 0.1 * np.eye(2)
        y = z - self.x
        if np.sum(y * y) > gate:
            return self.x
        K = P @ np.linalg.inv(P + np.eye(2))
        self.x = self.x + K @ y
        self.P = (np.eye(2) - K) @ P
        return self.x


def test_a_covariance_that_begins_as_the_identity():
    ours, plain = Filter(), Filter()
    step = tg.compile(ours.step)
    for i, gate in enumerate([0.0, 9.0, 9.0, 9.0]):
        z = np.array([1.0, -0.5]) + i
        np.testing.assert_array_equal(step(z, gate), plain.step(z, gate))
        np.testing.assert_array_equal(ours.P, plain.P)
