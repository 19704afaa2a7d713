"""What a first call stores may equal what stands there: later calls store it all the same."""

import math
import types
from collections import namedtuple

import pytest

import tracegrad as tg

State = types.SimpleNamespace
Pair = namedtuple("Pair", "a b")


class Thing:
    def __init__(self, name):
        self.name = name

    def method(self):
        return self.name

    def __repr__(self):
        return f"Thing({self.name})"


ONE, TWO = Thing("one"), Thing("two")


def lag(s, x):
    s.N = (s.z, s.N[0])
    return x


def named(s, x):
    s.N = Pair(s.z, s.N[0])
    return x


def named_by_field(s, x):
    s.N = Pair(a=s.z, b=s.N.a)
    return x * x


def nested(s, x):
    s.N = ((s.z, s.N[0][0]), 1)
    return x


def computed(s, x):
    s.N = (s.z * 1.0, s.N[0])
    return x * s.z


def moved(s, x):
    s.N = s.z
    return x


def of_floats(s, x):
    s.N = (s.z, 3.0)
    return x * s.z


def of_an_object(s, x):
    s.N = (s.z, s.z.name)
    return x


def method(s, x):
    s.N = s.z.method
    return x


def ends(s, x):
    s.N = slice(s.z, 3.0)
    return x * s.z


def in_a_dict(s, x):
    s.d["N"] = (s.z, s.d["N"][0])
    return x


def in_a_list(s, x):
    s.d[0] = (s.z, s.d[0][0])
    return x


def sets(**values):
    return lambda s: vars(s).update(values)


def puts(key, value):
    return lambda s: s.d.__setitem__(key, value)


def pairs(*values, of=tuple):
    return [sets(N=of(value)) for value in values]


FLOATS = ((1.0, 2.0), (3.0, 3.0), (3.0, 9.0), (9.0, 3.0), (3.0, 3.0))
TEXTS = (("b", "a"), ("a", "a"), ("a", "b"), ("b", "b"))


CASES = {
    "floats": ({"z": 3.0}, lag, pairs(*FLOATS)),
    "zeros": ({"z": -0.0}, lag, pairs((-0.0, -0.0), (-0.0, 0.0), (0.0, -0.0), (0.0, 0.0))),
    "nan": ({"z": math.nan}, lag, pairs((math.nan, math.nan), (math.nan, 1.0), (1.0, math.nan))),
    "texts": ({"z": "a"}, lag, pairs(*TEXTS)),
    "ints": ({"z": 3}, lag, pairs((3, 3), (3, 9), (9, 3), (True, 3), (3, 3.0))),
    "named": ({"z": 3.0}, named, pairs(*FLOATS, of=Pair._make)),
    "named, by field": ({"z": "a"}, named_by_field, pairs(*TEXTS, of=Pair._make)),
    "nested": ({"z": 3.0}, nested, pairs(*[((a, b), 1) for a, b in FLOATS])),
    "computed": ({"z": 3.0}, computed, [*pairs(*FLOATS), sets(z=9.0), *pairs(*FLOATS)]),
    "another place's": (
        {"N": (1.0, "a"), "z": tuple([1.0, "a"])},
        moved,
        [sets(N=(1.0, "a")), sets(z=(2.0, "b")), sets(N=(3.0, "c")), sets(z=(2.0, "b"))],
    ),
    "frozensets": (
        {"N": frozenset({1, 2}), "z": frozenset({2, 1})},
        moved,
        [sets(), sets(z=frozenset({3})), sets(N=frozenset({4})), sets(z=frozenset({4}))],
    ),
    "a text": ({"z": "a"}, moved, [sets(N="a"), sets(N="b"), sets(z="c"), sets(N="d")]),
    "a float": ({"z": 0.0}, moved, [sets(N=0.0), sets(N=-0.0), sets(z=-0.0), sets(N=1.0)]),
    "an input": (
        {"z": 3.0},
        of_floats,
        [sets(N=(3.0, 3.0)), sets(z=5.0, N=(3.0, 3.0)), sets(z=6.0), *pairs(*FLOATS)],
    ),
    "an object": (
        {"z": ONE},
        of_an_object,
        [sets(N=(ONE, "one")), sets(z=TWO, N=(ONE, "one")), sets(N=(TWO, "two"), z=ONE)],
    ),
    "a method": (
        {"z": ONE},
        method,
        [sets(N=ONE.method), sets(z=TWO, N=ONE.method), sets(N=TWO.method, z=ONE)],
    ),
    "a slice": (
        {"z": 3.0},
        ends,
        [sets(N=slice(3.0, 3.0)), sets(z=5.0, N=slice(3.0, 3.0)), sets(N=slice(5.0, 3.0), z=4.0)],
    ),
    "in a dict": (
        {"z": 3.0, "d": {"N": (1.0, 2.0)}},
        in_a_dict,
        [puts("N", pair) for pair in FLOATS],
    ),
    "in a list": ({"z": 3.0, "d": [(1.0, 2.0)]}, in_a_list, [puts(0, pair) for pair in FLOATS]),
}


def bound(function, s):
    return lambda x: function(s, x)


@pytest.mark.filterwarnings("ignore::tracegrad.errors.RecompileWarning")
@pytest.mark.parametrize("first", [0, 1, 2])
@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("transform", ["compile", "value_and_grad", "tensors"])
def test_what_is_stored_is_what_python_stores(case, transform, first):
    """The calls begin at each of the states; the callables after one are made in its place."""
    values, function, edits = CASES[case]
    for _ in range(3):
        ours, plain = ({k: v.copy() if k == "d" else v for k, v in values.items()} for _ in "ab")
        ours, plain = State(**ours), State(**plain)
        of_tensors = transform == "tensors"
        made = getattr(tg, "compile" if of_tensors else transform)(bound(function, ours))
        x = tg.tensor(1.5, requires_grad=True) if of_tensors else 1.5
        for edit in [*edits[first:], *edits]:
            for s in (ours, plain):
                edit(s)
            made(x)
            function(plain, 1.5)
            assert repr(ours) == repr(plain)


Z, N = 3.0, (1.0, 2.0)


def test_a_name_of_the_module():
    @tg.compile
    def f(x):
        global N
        N = (Z, N[0])
        return x

    global N
    for before in [(1.0, 2.0), (Z, Z), (3.0, 9.0), (4.0, 9.0)]:
        N = before
        f(1.0)
        assert (Z, before[0]) == N
    assert f.cache_info().versions == 2
