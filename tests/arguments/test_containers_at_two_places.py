"""One container that is two arguments: each place has its gradient, and no call remembers it.

JAX and HIPS autograd give the gradient of each place. What a function changes in one is to be seen
in the other, and the two are one object, as in plain Python.
"""

import collections
import copy
import dataclasses
import itertools
import warnings

import numpy as np
import pytest

import tracegrad as tg
from tracegrad.errors import ArgumentError


@dataclasses.dataclass
class Held:
    w: np.ndarray


Named = collections.namedtuple("Named", "w")
MAKERS = {
    "list": (lambda v: [v, 2.0 * v], lambda c: c[0] * c[1]),
    "tuple": (lambda v: (v, 2.0 * v), lambda c: c[0] * c[1]),
    "dict": (lambda v: {"w": v}, lambda c: c["w"] ** 2 * 2.0),
    "nested": (lambda v: {"a": [v], "b": (v + 1.0,)}, lambda c: c["a"][0] * c["b"][0]),
    "dataclass": (lambda v: Held(v), lambda c: c.w**2 * 2.0),
    "namedtuple": (lambda v: Named(v), lambda c: c.w**2 * 2.0),
}
V, W = np.array([1.0, -2.0, 3.0]), np.array([0.5, 4.0, -1.0])


def arrays(x):
    """The arrays of a structure."""
    if dataclasses.is_dataclass(x):
        x = list(vars(x).values())
    if isinstance(x, dict):
        x = [x[key] for key in sorted(x)]
    return [y for item in x for y in arrays(item)] if isinstance(x, list | tuple) else [x]


TRANSFORMS = {
    "compile": lambda f, **to: tg.compile(f, **to),
    "grad": lambda f, **to: tg.grad(f, **to),
    "grad of the second": lambda f, **to: tg.grad(f, 1, **to),
    "value_and_grad": lambda f, **to: tg.value_and_grad(f, (0, 1), **to),
    "jacobian": lambda f, **to: tg.jacobian(f, (0, 1), **to),
    "hessian": lambda f, **to: tg.hessian(f, (0, 1), **to),
}


EVERY = [(kind, transform, "numpy") for kind in MAKERS for transform in TRANSFORMS]
OTHERS = [("nested", name, to) for name in ("compile", "value_and_grad") for to in ("jax", "numba")]


@pytest.mark.parametrize("kind, transform, backend", EVERY + OTHERS)
def test_calls_with_one_and_with_two(kind, transform, backend):
    make, read = MAKERS[kind]

    def f(a, b):
        return np.sum(read(a) * np.sin(read(b)))

    one, two = make(V), make(W)
    apart = TRANSFORMS[transform](f, backend=backend)  # its calls have no container twice
    calls = [(one, one), (one, two), (two, two), (two, one), (one, one)]
    for first in range(2):
        made = TRANSFORMS[transform](f, backend=backend)
        for a, b in calls[first:]:
            found = made(a, b)
            expected = apart(copy.deepcopy(a), copy.deepcopy(b))
            for x, y in zip(arrays(found), arrays(expected), strict=True):
                assert np.array_equal(x, y)


@pytest.mark.parametrize("kind", MAKERS)
def test_eager_derivatives(kind):
    make, read = MAKERS[kind]

    def f(a, b):
        return np.sum(read(a) * np.sin(read(b)))

    one = make(V)
    expected = tg.value_and_grad(f, (0, 1))(one, make(V))
    _, pull = tg.vjp(f, one, one)
    found = [tg.grad(f, 0)(one, one), *pull(1.0)]
    before = tg.config.compile
    tg.config.compile = False
    try:
        found += [*tg.value_and_grad(f, (0, 1))(one, one)[1], tg.grad(f, 1)(one, one)]
    finally:
        tg.config.compile = before
    slopes = expected[1]
    wanted = [slopes[0], *slopes, *slopes, slopes[1]]
    for x, y in zip(arrays(found), arrays(wanted), strict=True):
        assert np.allclose(x, y, rtol=1e-14)


def changes(a, b):
    a["w"] = a["w"] * 2.0
    return np.sum(a["w"] * b["w"])


def appends(a, b):
    a.append(a[0])
    return np.sum(a[0] * len(b))


def asks(a, b):
    return np.sum(a["w"]) * (2.0 if a is b else 3.0)


def asks_inside(a, b):
    return np.sum(a["w"]) * (2.0 if a["w"] is b["w"] else 3.0)


@pytest.mark.parametrize("function", [changes, appends, asks, asks_inside])
@pytest.mark.parametrize("first", [0, 1])
def test_what_sees_that_it_is_one(function, first):
    make = (lambda v: [v]) if function is appends else (lambda v: {"w": v})
    compiled = tg.compile(function)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for same in [(True, False, True, False), (False, True, False, True)][first]:
            ours, plain = make(V.copy()), make(V.copy())
            pairs = [(x, x if same else make(W.copy())) for x in (ours, plain)]
            assert np.array_equal(compiled(*pairs[0]), function(*pairs[1]))
            for x, y in itertools.chain(*(zip(arrays(p), arrays(q)) for p, q in zip(*pairs))):
                assert np.array_equal(x, y)


@pytest.mark.parametrize("function", [changes, appends, asks, asks_inside])
def test_derivatives_of_what_sees_that_it_is_one_are_right_or_refused(function):
    make = (lambda v: [v]) if function is appends else (lambda v: {"w": v})
    made = tg.value_and_grad(function, (0, 1))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for same in (True, False, True):
            one = make(V.copy())
            two = one if same else make(W.copy())
            plain = make(V.copy())
            expected = function(plain, plain if same else make(W.copy()))
            try:
                value, _ = made(one, two)
            except ArgumentError as error:
                assert same and "stands at two places" in str(error)
            else:
                assert np.array_equal(value, expected)
