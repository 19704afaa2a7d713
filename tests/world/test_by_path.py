"""Objects that are known by their place: what tells one from another, and who an object is."""

from __future__ import annotations

import enum
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
import pytest
from checks import assert_same_bits

import tracegrad as tg

X = np.array([0.5, -1.25, 2.0])
CASES: dict[str, Callable[[], tuple[Any, Any, list[Callable[[], Any]]]]] = {}


def case(make: Callable[[], Any]) -> Callable[[], Any]:
    """``make() -> (function of one array, what makes its state anew, edits besides)``."""
    CASES[make.__name__] = make
    return make


class Part:
    gain = 1.0

    def __init__(self, k: Any = 0.5) -> None:
        self.k = k

    def scaled(self, x: Any) -> Any:
        return x * self.k * self.gain


class Other(Part):
    gain = -3.0


class Kind(enum.Enum):
    ONE = 1
    TWO = 2


def put(o: Any, **names: Any) -> Callable[[], None]:
    """What makes a new value and puts it into an attribute."""

    def edit() -> None:
        for name, make in names.items():
            setattr(o, name, make())

    return edit


@case
def classes_of_objects():
    o = SimpleNamespace(part=Part())

    def edit():
        o.part.__class__ = Other

    return lambda x: o.part.scaled(x), put(o, part=Part), [edit, put(o, part=Other), edit]


@case
def attributes_that_shadow_those_of_the_class():
    o = SimpleNamespace(part=Part())

    return (
        lambda x: o.part.scaled(x),
        put(o, part=Part),
        [
            lambda: setattr(o.part, "gain", 5.0),
            lambda: setattr(o.part, "scaled", lambda x: x + 1.0),
            put(o, part=Part),
            lambda: setattr(Part, "gain", 2.0),
            lambda: setattr(Part, "gain", 1.0),
        ],
    )


@case
def methods_of_the_class():
    class Own:
        def __call__(self, x):
            return x * 2.0

    o = SimpleNamespace(act=Own())

    def edit():
        Own.__call__ = lambda self, x: x * 3.0

    return lambda x: o.act(x), put(o, act=Own), [edit, put(o, act=lambda: np.tanh)]


@case
def functions_among_the_items():
    o = SimpleNamespace(layers=[np.tanh, np.sin])

    def f(x):
        for layer in o.layers:
            x = layer(x)
        return x

    return f, put(o, layers=lambda: [np.tanh, np.sin]), [put(o, layers=lambda: [np.sin, np.tanh])]


@case
def lengths_of_lists():
    o = SimpleNamespace(items=[1.0, 2.0])

    def f(x):
        for k in o.items:
            x = x * k + 0.5
        return x * len(o.items)

    return (
        f,
        put(o, items=lambda: [2.0, 3.0]),
        [put(o, items=lambda: [1.0]), lambda: o.items.append(7.0), put(o, items=list)],
    )


@case
def order_of_keys():
    o = SimpleNamespace(held={"a": 2.0, "b": 3.0})

    def f(x):
        for name, k in o.held.items():
            x = x * k + len(name)
        return x

    return (
        f,
        put(o, held=lambda: {"a": 3.0, "b": 0.5}),
        [
            put(o, held=lambda: {"b": 3.0, "a": 0.5}),
            put(o, held=lambda: {"a": 3.0, "b": 0.5, "c": 1.0}),
            put(o, held=lambda: {"a": 3.0, "bb": 0.5}),
            lambda: o.held.pop("a"),
        ],
    )


@case
def keys_that_are_missing():
    o = SimpleNamespace(held={"a": 2.0})
    return (
        lambda x: x * o.held.get("b", 5.0) if "c" not in o.held else -x,
        put(o, held=lambda: {"a": 1.0}),
        [put(o, held=lambda: {"b": 2.0}), lambda: o.held.update(c=1)],
    )


@case
def one_object_in_two_places():
    o = SimpleNamespace(a=Part(), b=Part())

    def f(x):
        o.a.k = x * 2.0
        return x * o.b.k

    def alias():
        o.a = o.b = Part()

    return f, put(o, a=Part, b=Part), [alias, put(o, a=Part, b=Part), alias, put(o, b=Part)]


@case
def an_object_that_stays_and_one_that_does_not():
    o, fixed = SimpleNamespace(a=Part()), Part(0.25)

    def f(x):
        o.a.k = x * 2.0
        return x * fixed.k

    def alias():
        o.a = fixed

    return f, put(o, a=Part), [alias, put(o, a=Part), lambda: setattr(fixed, "k", 0.75)]


@case
def asked_which_one():
    o = SimpleNamespace(a=Part(), b=Part(), fixed=Part())

    def f(x):
        if o.a is o.b:
            return x * 2.0
        return x * (o.a.k if o.a is not o.fixed else 7.0)

    def alias():
        o.a = o.b = Part()

    def same():
        o.a = o.fixed

    return f, put(o, a=Part, b=Part), [alias, same, put(o, a=Part, b=Part)]


@case
def tuples_asked_which_one():
    o = SimpleNamespace(a=(1.0, 2.0), b=(1.0, X))

    def alias():
        o.a = o.b = (1.0, X)

    return lambda x: x if o.a is o.b else -x, put(o, a=lambda: (X, 1.0)), [alias]


@case
def equality_in_python():
    class Alike:
        def __init__(self, k=1.0):
            self.k = k

        def __eq__(self, other):
            return self.k == other.k

        def __hash__(self):
            return hash(self.k)

    o = SimpleNamespace(a=Alike(), b=Alike())
    return (
        lambda x: x if o.a == o.b and o.a in [o.b] and len({o.a, o.b}) == 1 else -x,
        put(o, a=Alike, b=Alike),
        [put(o, a=lambda: Alike(2.0)), put(o, b=lambda: Alike(2.0))],
    )


@case
def equality_by_identity():
    o = SimpleNamespace(a=Part(), b=[])

    def keep():
        o.b = [o.a]

    return lambda x: x if o.a in o.b or o.b == [o.a] else -x, put(o, a=Part), [keep, put(o, a=Part)]


@case
def searched_in_lists():
    part = Part()
    o = SimpleNamespace(items=[part, Part(2.0)], part=part)

    def f(x):
        if o.part not in o.items:
            return -x
        return x * (1 + o.items.index(o.part)) * o.items.count(o.part)

    def fixed():
        o.items[:] = [Part(), o.part, o.part]

    return f, put(o, part=Part), [fixed, o.items.clear, put(o, items=lambda: [o.part])]


@case
def objects_as_keys():
    o = SimpleNamespace(a=Part(), table={})

    def edit():
        o.table[o.a] = 3.0

    return lambda x: x * o.table.get(o.a, 2.0), put(o, a=Part), [edit, put(o, a=Part), edit]


@case
def members_of_enums():
    o = SimpleNamespace(settings={"kind": Kind.ONE})
    return (
        lambda x: x if o.settings["kind"] is Kind.ONE else -x,
        put(o, settings=lambda: {"kind": Kind.ONE}),
        [put(o, settings=lambda: {"kind": Kind.TWO})],
    )


@case
def numbers_of_other_types():
    o = SimpleNamespace(held=[1, 2.0])
    return (
        lambda x: x * o.held[0] + o.held[1],
        put(o, held=lambda: [1, 3.0]),
        [
            put(o, held=lambda: [True, 3.0]),
            put(o, held=lambda: [1.0, 3.0]),
            put(o, held=lambda: [2, 3.0]),
            put(o, held=lambda: (2, 3.0)),
            put(o, held=lambda: [2, X * 2.0]),
        ],
    )


class State(NamedTuple):
    mean: Any
    steps: int


class Alike(NamedTuple):
    mean: Any
    steps: int


@case
def named_tuples_whose_fields_change():
    o = SimpleNamespace(state=State(X, 2))

    def f(x):
        mean, steps = o.state
        for _ in range(steps):
            x = x * mean
        return x + o.state.mean + o.state[-1]

    return (
        f,
        put(o, state=lambda: State(X * 0.5, 2)),
        [put(o, state=lambda: State(X, 3)), put(o, state=lambda: Alike(X, 2))],
    )


@case
def dictionaries_of_attributes():
    o = SimpleNamespace(part=Part())

    def f(x):
        for name, k in vars(o.part).items():
            x = x * k + len(name)
        return x

    return f, put(o, part=Part), [lambda: setattr(o.part, "extra", 2.0), put(o, part=Part)]


@case
def a_look_and_a_renewed_object():
    o = SimpleNamespace(part=Part(), other=Part())

    def f(x):
        if x[0] > 0:
            return x * o.part.k
        return x + o.other.k + getattr(o.part, "bias", 0.0)

    def both():
        o.part, o.other = Part(0.25), Part(0.125)

    return f, put(o, part=Part), [both, lambda: setattr(o.part, "bias", 3.0), both]


@case
def dataclasses_that_c_code_reads():
    @dataclass
    class Options:
        rate: float = 0.5

    o = SimpleNamespace(options=Options())
    return (
        lambda x: x * len(f"{o.options}"),
        put(o, options=Options),
        [put(o, options=lambda: Options(0.125))],
    )


@pytest.mark.parametrize("transform", [tg.compile, tg.value_and_grad])
@pytest.mark.parametrize("name", CASES)
def test_as_plain(name, transform):
    pictures = []
    for of in (transform, None):
        f, renew, edits = CASES[name]()
        loss = (lambda x, f=f: f(x).sum()) if transform is tg.value_and_grad else f
        call = of(loss) if of is not None else loss
        found = []
        with warnings.catch_warnings(action="ignore", category=tg.errors.RecompileWarning):
            for edit in [lambda: None, renew, renew, *edits, renew, *edits, renew]:
                edit()
                for k in (1.0, -0.5, 1.0):
                    if of is None and transform is tg.value_and_grad:
                        found.append((loss(X * k), tg.grad(loss)(X * k)))
                    else:
                        found.append(call(X * k))
        pictures.append(found)
    for one, other in zip(*pictures, strict=True):
        assert_same_bits(one, other)


def test_the_object_that_stands_there_is_returned():
    o = SimpleNamespace(part=Part())
    f = tg.compile(lambda x: (x * o.part.k, o.part))
    for k in (0.5, 0.25, 0.125):
        o.part = Part(k)
        value, part = f(X)
        assert part is o.part
        assert_same_bits(value, X * k)


def test_ids_are_those_of_the_object_that_stands_there():
    o = SimpleNamespace(part=Part())
    f = tg.compile(lambda x: x + (id(o.part) % 97))
    with warnings.catch_warnings(action="ignore", category=tg.errors.RecompileWarning):
        for _ in range(4):
            o.part = Part()
            assert_same_bits(f(X), X + (id(o.part) % 97))


def test_the_object_that_stands_there_is_written():
    o = SimpleNamespace(state={"mean": X, "beta": 0.5})

    @tg.compile
    def f(x):
        s = o.state
        s["mean"] = s["mean"] * s["beta"] + x
        return s["mean"].sum()

    expected = None
    for k in (0.5, 0.25, 0.125, 0.75):
        before, o.state = o.state, {"mean": X * k, "beta": k}
        expected, kept = X * k * k + X, None if before is None else before["mean"].copy()
        f(X)
        assert_same_bits(o.state["mean"], expected)
        assert_same_bits(before["mean"], kept)
    assert f.cache_info().traces == 2


def test_memory_of_arrays_in_the_object_that_stands_there_is_written():
    o = SimpleNamespace(state=Part(X.copy()))

    @tg.compile
    def f(x):
        o.state.k[0] = x[1]
        return x.sum()

    for _ in range(4):
        before, o.state = o.state, Part(X * 2.0)
        kept = before.k.copy()
        f(X)
        assert_same_bits(o.state.k, np.array([X[1], *X[1:] * 2.0]))
        assert_same_bits(before.k, kept)
    assert f.cache_info().traces == 2


# -- what a call returns, and what several paths read ----------------------------------------------


def test_containers_from_outside_are_returned_as_they_are_then():
    held = {"a": 1.0, "b": [X, "text"]}
    f = tg.compile(lambda x: (x * 2.0, held))
    edits = [
        lambda: None,
        lambda: held.update(a=2.0),
        lambda: held["b"].append(3),
        lambda: held["b"].__setitem__(0, X * 2.0),
        lambda: held["b"].__setitem__(1, "other"),
        lambda: held.update(c=None),
    ]
    for edit in edits:
        edit()
        for _ in range(2):
            _, found = f(X)
            assert list(found) == list(held)
            assert_same_bits(found["b"][0], held["b"][0])
            assert (found["a"], found["b"][1:]) == (held["a"], held["b"][1:])


def test_an_object_that_the_function_makes_is_a_new_one_on_every_call():
    def f(x):
        part = Part()
        part.k = x * 2.0
        return part

    made = tg.compile(f)
    with warnings.catch_warnings(action="ignore", category=tg.errors.RecompileWarning):
        found = [made(X * k) for k in (1.0, 2.0, 3.0)]
    for k, part in zip((1.0, 2.0, 3.0), found, strict=True):
        assert_same_bits(part.k, X * k * 2.0)


def test_a_function_that_the_function_makes_is_a_new_one_on_every_call():
    made = tg.compile(lambda x: lambda: x * 2.0)
    with warnings.catch_warnings(action="ignore", category=tg.errors.RecompileWarning):
        for k in (1.0, 2.0, 3.0):
            assert_same_bits(np.asarray(made(X * k)()), X * k * 2.0)


def test_what_one_path_alone_asks_is_asked_by_all():
    o = SimpleNamespace(k=1.0)

    def f(x):
        k = o.k
        if x[0] > 0:
            return x * len(f"{k}") * getattr(o, "a", 1.0)
        return x * k * getattr(o, "b", 1.0)

    made = tg.compile(f)
    for edit in (lambda: None, lambda: vars(o).update(a=5.0), lambda: vars(o).update(k=10.25)):
        edit()
        for x in (X, -X, X):
            assert_same_bits(made(x), f(x))


def test_lengths_of_a_users_containers():
    class Names(list):
        pass

    class Table(dict):
        pass

    names, table = Names([1.0]), Table(a=1.0)
    f = lambda x: x * len(names) + len(table) if names else -x
    made = tg.compile(f)
    for edit in (lambda: None, lambda: names.append(2.0), lambda: table.update(b=1), names.clear):
        edit()
        assert_same_bits(made(X), f(X))


def test_ones_in_sets_are_told_from_true():
    held = {1}
    f = lambda x: x * len(str(held))
    made = tg.compile(f)
    for item in (1, True, 1.0):
        held.clear()
        held.add(item)
        assert_same_bits(made(X), f(X))


def test_floats_that_c_code_reads_as_a_whole_are_looked_at():
    held = [1.0, 2.0]
    f = lambda x: x * held[0] + sum(sorted(held)[:1]) + max(held) - min(held)
    made = tg.compile(f)
    for items in ([1.0, 2.0], [-1.5, 2.0], [3.0, 0.5]):
        held[:] = items
        assert_same_bits(made(X), f(X))


def test_a_float_that_is_written_and_does_not_change():
    o = SimpleNamespace(k=0.0)

    def f(x):
        o.k = o.k * 0.5
        return x * o.k

    made = tg.compile(f)
    for k in (0.0, 0.0, 4.0, -2.0, -0.0, 1.0):
        o.k = k
        assert_same_bits(made(X), X * (k * 0.5))
        assert o.k == k * 0.5


def test_what_was_done_before_an_exception_stays_done():
    o = SimpleNamespace(calls=0, last=X, k=1.0, fails=False)

    @tg.compile
    def f(x):
        o.calls += 1
        o.last, o.k = x * 2.0, o.k * 0.5
        if o.fails:
            raise RuntimeError("no")
        return x * o.calls

    for turn, o.fails in enumerate((False, False, False, True, True, False)):
        if o.fails:
            with pytest.raises(RuntimeError):
                f(X * turn)
        else:
            assert_same_bits(f(X * turn), X * turn * (turn + 1))
        assert (o.calls, o.k) == (turn + 1, 0.5 ** (turn + 1))
        assert_same_bits(o.last, X * turn * 2.0)


def test_an_array_that_is_written_and_becomes_another_one_that_is_read():
    o = SimpleNamespace(a={"h": X.copy()}, b={"h": X.copy()})

    @tg.compile
    def f(x):
        o.a["h"][0] = x[1]
        return o.b["h"] + x

    for _ in range(3):
        o.a, o.b = {"h": X * 2.0}, {"h": X * 3.0}
        assert_same_bits(f(X), X * 3.0 + X)
    o.a = {"h": o.b["h"]}
    assert_same_bits(f(X), np.array([X[1], *X[1:] * 3.0]) + X)
    o.a = {"h": o.b["h"][:]}
    with pytest.raises(tg.errors.ArgumentError, match="shares memory"):
        f(X)
