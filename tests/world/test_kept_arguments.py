"""An argument that a function stores outside is there the caller's own object, in every call."""

from __future__ import annotations

import warnings
from collections import OrderedDict, deque, namedtuple
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import tracegrad as tg

pytestmark = pytest.mark.filterwarnings("ignore::tracegrad.errors.RecompileWarning")

Pair = namedtuple("Pair", "a b")


@dataclass
class Params:
    a: Any
    b: Any


def array():
    return np.array([1.0, 2.0])


def leaf():
    return tg.tensor([1.0], requires_grad=True)


GIVEN = {
    "an array": array,
    "a number": lambda: float("2.5"),
    "a list": lambda: [1.0],
    "a list of arrays": lambda: [array(), array()],
    "an empty list": lambda: [],
    "a dict in a list": lambda: [{"a": 1.0}],
    "a list in a dict": lambda: {"a": [1.0]},
    "an ordered dict": lambda: OrderedDict(a=1.0),
    "a tuple": lambda: (array(), 1.0),
    "a tuple of ints": lambda: (int("7"), 1000),
    "a named tuple": lambda: Pair([1.0], 2.0),
    "a dataclass": lambda: Params(array(), 1.0),
    "a list in a dataclass": lambda: Params([array()], 1.0),
    "a list of Tensors": lambda: [leaf()],
    "a dataclass of Tensors": lambda: Params(leaf(), [2.0]),
}


def append(x, d, o):
    o.kept.append(d)
    return x.sum()


def attribute(x, d, o):
    o.d = d
    return x.sum() * 2.0


def parts(x, d, o):
    if isinstance(d, dict):
        o.part = d["a"]
    elif isinstance(d, list) and d:
        o.part = d[0]
    elif isinstance(d, Params):
        o.part = d.a
    return x.sum()


def within_others(x, d, o):
    o.d = [{"d": d}], (d, 1)
    o.kept.appendleft(SimpleNamespace(d=d))
    return x.sum()


FUNCTIONS = (append, attribute, parts, within_others)
EAGERLY = "eagerly"
TRANSFORMS = {
    "compile": tg.compile,
    "value_and_grad": tg.value_and_grad,
    "jacobian": tg.jacobian,
    "of a Tensor": lambda f: of_tensors(tg.compile(f)),
    "gradient of a Tensor": lambda f: of_tensors(tg.value_and_grad(f)),
    "vmap": lambda f: lambda x, d: tg.vmap(f, in_axes=(0, None))(np.stack([x, x]), d),
    "checkpoint": lambda f: tg.value_and_grad(tg.checkpoint(f)),
    "within another": lambda f: within(tg.grad(f)),
    EAGERLY: tg.value_and_grad,
}


def within(f):
    return tg.compile(lambda x, d: f(x, d))


def of_tensors(f):
    return lambda x, d: f(tg.tensor(x, requires_grad=True), d)


def objects_in(x):
    """All objects in nested containers, these as well."""
    found = [x]
    if isinstance(x, dict):
        inner = list(x.values())
    elif isinstance(x, list | tuple | deque):
        inner = list(x)
    else:
        inner = list(vars(x).values()) if isinstance(x, Params | SimpleNamespace) else []
    return found + [y for item in inner for y in objects_in(item)]


def stored_by(function, x, d):
    """What a call leaves outside."""
    o = SimpleNamespace(kept=deque(maxlen=3))
    function(x, d, o)
    return objects_in([o.kept, *vars(o).values()])


@pytest.mark.parametrize("name", TRANSFORMS)
@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.sampled(2)
def test_what_is_stored_is_the_callers_own(function, name):
    o = SimpleNamespace()
    tg.config.compile = name != EAGERLY
    try:
        for given in GIVEN.values():
            called = TRANSFORMS[name](lambda x, d: function(x, d, o))
            for _ in range(6):
                vars(o).clear()
                o.kept = deque(maxlen=3)
                called(array(), d := given())
                stored = set(map(id, objects_in([o.kept, *vars(o).values()])))
                wanted = set(map(id, stored_by(function, array(), d)))
                missing = [x for x in objects_in(d) if id(x) in wanted - stored]
                assert not missing, (d, missing)
    finally:
        tg.config.compile = True


def test_vjp_stores_the_primal_that_it_is_given():
    kept = []
    for _ in range(4):
        x, d = array(), [array()]
        tg.vjp(lambda x, d: (kept.append((x, d)), x.sum() * d[0].sum())[1], x, d)
        assert kept[-1][0] is x and kept[-1][1] is d and kept[-1][1][0] is d[0]


def test_arrays_that_are_stored_have_programs():
    o = SimpleNamespace()
    compiled = tg.compile(lambda x, d: attribute(x, d, o))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for _ in range(3):
            compiled(array(), d := array())
            assert o.d is d
    assert compiled.cache_info().versions == 1
