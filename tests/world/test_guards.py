"""Functions that read Python state by C code enter; each call says what the state is then."""

from __future__ import annotations

import collections
import enum
import gc
import operator
import types
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from checks import assert_same_bits

import tracegrad as tg

X = np.array([1.0, 2.0, 3.0])


class Pair(tuple):
    """A tuple of the user's own."""

    __slots__ = ()


Point = collections.namedtuple("Point", ["a", "b"])


class Color(enum.Enum):
    RED = 1
    BLUE = 2


@dataclass
class Options:
    rate: float


@dataclass(slots=True)
class Slots:
    rate: float


class Alike:
    def __init__(self, k):
        self.k = k

    def __eq__(self, other):
        return self.k == other.k

    __hash__ = None  # type: ignore[assignment]


class Lone:
    pass


def views() -> Any:
    table = {"a": 1.0, "b": 2.0}
    keys, values, items = table.keys(), table.values(), table.items()
    return lambda x: x * sum(values) * len(list(keys)) + dict(items)["a"], [
        lambda: table.update(a=5.0),
        lambda: table.update(c=1.0),
        lambda: table.pop("b"),
    ]


def equal_keys() -> Any:
    """1 and True are one key, and two things to who asks for its type."""
    table = {1: 2.0}
    return lambda x: x * sum(3.0 if type(k) is bool else 5.0 for k in table), [
        lambda: table.pop(1) and table.update({True: 2.0}),
        lambda: table.pop(1) and table.update({1: 2.0}),
    ]


def counter() -> Any:
    counts = collections.Counter("aab")
    return lambda x: x * sum(counts.values()) * len(counts.most_common(1)), [
        lambda: counts.update("c"),
        lambda: counts.clear() or counts.update("b"),
    ]


def default_dict() -> Any:
    table = collections.defaultdict(float, a=1.0)
    return lambda x: x * len({**table}) + sum(table.values()), [
        lambda: table.update(b=2.0),
        lambda: table.pop("a"),
    ]


def subclasses() -> Any:
    class Names(list):
        pass

    names = Names([1.0, 2.0])
    return lambda x: x * sum(names) * len(names + [1.0]), [
        lambda: names.append(3.0),
        lambda: names.__setitem__(0, 7.0),
    ]


def bytes_in_place() -> Any:
    data = bytearray(b"abc")
    return lambda x: x * data[0] + sum(data) + len(bytes(data)), [
        lambda: data.__setitem__(0, 1),
        lambda: data.append(4),
    ]


def named_tuple() -> Any:
    point = [Point(1.0, [2.0])]
    return lambda x: x * point[0]._replace(a=3.0).b[0] + Pair(point[0])[0], [
        lambda: point[0].b.__setitem__(0, 5.0),
        lambda: point.__setitem__(0, Point(4.0, [1.0])),
    ]


def nested_equality() -> Any:
    a, b = Alike(1.0), Alike(1.0)
    return lambda x: x if [a] == [b] else -x, [lambda: setattr(a, "k", 2.0)]


def equality_that_appears() -> Any:
    a, b = Lone(), Lone()

    def edit():
        Lone.__eq__ = lambda self, other: True  # type: ignore[method-assign]

    return lambda x: x if [a] == [b] else -x, [edit, lambda: delattr(Lone, "__eq__")]


def enum_keys() -> Any:
    table, held = {Color.RED: 2.0, Color.BLUE: 3.0}, [Color.RED]
    return lambda x: x * table[held[0]], [
        lambda: held.__setitem__(0, Color.BLUE),
        lambda: table.__setitem__(Color.BLUE, 5.0),
    ]


def texts() -> Any:
    options = [Options(2.0), Slots(3.0)]
    return lambda x: x * len(f"{options}") + len("%s" % options), [  # noqa: UP031
        lambda: setattr(options[0], "rate", 20.25),
        lambda: setattr(options[1], "rate", 30.125),
    ]


def identities() -> Any:
    state = {"a": Lone(), "b": Lone()}
    return lambda x: x if id(state["a"]) == id(state["b"]) else -x, [
        lambda: state.update(a=state["b"])
    ]


def empty_cells() -> Any:
    def f(x):
        try:
            return x * late
        except NameError:
            return -x

    def edit():
        nonlocal late
        late = 3.0

    def undo():
        nonlocal late
        del late

    late = 1.0
    del late
    return f, [edit, undo, edit]


def namespaces() -> Any:
    scope: dict[str, Any] = {"operator": operator}
    exec(
        "def f(x):\n    return x * globals()['k'] if 'k' in globals() else x * len(globals())\n",
        scope,
    )
    return scope["f"], [
        lambda: scope.update(k=3.0),
        lambda: scope.update(k=4.0),
        lambda: scope.pop("k"),
        lambda: scope.update(other=1),
    ]


def absent_of_c() -> Any:
    space = types.SimpleNamespace()
    return lambda x: x * getattr(space, "bias", 1.0), [
        lambda: setattr(space, "bias", 2.0),
        lambda: delattr(space, "bias"),
    ]


def what_is_callable() -> Any:
    class Lazy:
        pass

    lazy = Lazy()
    return lambda x: x if callable(lazy) else -x, [
        lambda: setattr(Lazy, "__call__", lambda self: 1),
        lambda: delattr(Lazy, "__call__"),
    ]


def what_numpy_does() -> Any:
    before = np.geterr()
    return lambda x: x if np.geterr()["under"] == "ignore" else -x, [
        lambda: np.seterr(under="warn"),
        lambda: np.seterr(**before),
    ]


@pytest.mark.parametrize(
    "make",
    [
        *(views, counter, default_dict, subclasses, bytes_in_place, named_tuple, nested_equality),
        *(equality_that_appears, enum_keys, equal_keys, texts, identities, empty_cells),
        namespaces,
        *(what_numpy_does, absent_of_c, what_is_callable),
    ],
)
def test_state_that_c_code_reads(make):
    f, edits = make()
    compiled = tg.compile(f)
    with warnings.catch_warnings(action="ignore", category=tg.errors.RecompileWarning):
        for edit in [lambda: None, *edits]:
            edit()
            for _ in range(2):
                assert_same_bits(compiled(X), f(X))


@pytest.mark.parametrize("make", [views, subclasses, bytes_in_place, named_tuple, enum_keys, texts])
def test_such_a_function_is_compiled(make):
    f, edits = make()
    compiled = tg.compile(f)
    with warnings.catch_warnings(action="error"):
        for edit in [lambda: None, *edits]:
            edit()
            for _ in range(2):
                compiled(X)
    assert compiled.cache_info().hits >= len(edits)


def test_objects_in_a_slice_of_a_list_are_handed_on() -> None:
    class Layer:
        def __init__(self, k: float) -> None:
            self.k = k

        def __call__(self, x: Any) -> Any:
            return x * self.k

    layers, pair = [Layer(2.0), Layer(3.0), Layer(5.0)], (Layer(2.0), Layer(7.0))

    def f(x: Any) -> Any:
        for layer in layers[:-1]:
            x = layer(x)
        for layer in pair[1:]:
            x = layer(x)
        return layers[-1](x)

    made = tg.compile(f)
    x = np.array([1.0, 2.0])
    for change in (2.0, 2.0, 4.0, 8.0):
        layers[0].k = change
        assert_same_bits(made(x), f(x))
    layers[1] = Layer(11.0)
    assert_same_bits(made(x), f(x))
    assert made.cache_info().traces == 2


def test_objects_are_as_quick_to_read_after_a_trace_as_before() -> None:
    class Layer:
        def __init__(self) -> None:
            self.k, self.bias = 2.0, None

        def __call__(self, x: Any) -> Any:
            x = x * self.k
            return x if self.bias is None else x + self.bias

    layer = Layer()
    compiled = tg.compile(lambda x: layer(x))
    for _ in range(2):
        compiled(np.ones(3))
    # An instance that has been asked for its dict keeps its attributes there from then on.
    assert not any(type(part) is dict for part in gc.get_referents(layer))
    layer.bias = 1.0
    assert_same_bits(compiled(np.ones(3)), np.full(3, 3.0))


def test_an_object_may_hold_a_method_of_its_own_under_the_name_of_the_class() -> None:
    class Model:
        def scaled(self, x: Any) -> Any:
            return x * 2.0

        def shifted(self, x: Any) -> Any:
            return x + 1.0

    model = Model()
    f = lambda x: model.scaled(x)
    compiled = tg.compile(f)
    for held in (None, model.scaled, model.shifted, Model().scaled, f):
        if held is not None:
            model.scaled = held if held is not f else lambda x: x - 1.0  # type: ignore[method-assign]
        for _ in range(2):
            assert_same_bits(compiled(X), f(X))
    del model.scaled
    assert_same_bits(compiled(X), f(X))
