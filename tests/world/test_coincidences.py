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
