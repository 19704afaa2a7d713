"""Places of Python's state that are easy to miss: after every edit a call is equal to plain."""

from __future__ import annotations

import abc
import collections
import contextlib
import copy
import functools
import heapq
import itertools
import threading
import warnings
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from checks import assert_same_bits

import tracegrad as tg

X = np.array([1.0, 2.0, 3.0])


class Slotted:
    __slots__ = ("bias",)


class Failure(Exception):
    code = 1.0


class Named(SimpleNamespace):
    def __getattr__(self, name):
        return vars(self)["other"]


class Listed(list):
    pass


def absent(o: Any) -> Any:
    return lambda x: x * getattr(o, "bias", 1.0) + hasattr(o, "bias"), [
        lambda: setattr(o, "bias", 5.0),
        lambda: setattr(o, "bias", 6.0),
        lambda: delattr(o, "bias"),
    ]


def absent_in_namespace() -> Any:
    return absent(SimpleNamespace())


def absent_in_slot() -> Any:
    return absent(Slotted())


def absent_in_thread() -> Any:
    return absent(threading.local())


def absent_in_exception() -> Any:
    return absent(Failure())


def absent_in_list() -> Any:
    return absent(Listed())


def absent_in_partial() -> Any:
    return absent(functools.partial(len))


def absent_and_caught() -> Any:
    o = SimpleNamespace()

    def f(x):
        try:
            return x * o.k
        except AttributeError:
            return x

    return f, [lambda: setattr(o, "k", 5.0), lambda: delattr(o, "k")]


def instead_of_absent() -> Any:
    o = Named(other=2.0)
    return lambda x: x * o.k, [lambda: setattr(o, "other", 3.0), lambda: setattr(o, "k", 4.0)]


def of_exception() -> Any:
    def f(x):
        try:
            raise Failure("a")
        except Failure as error:
            return x * error.code

    return f, [lambda: setattr(Failure, "code", 5.0), lambda: setattr(Failure, "code", 1.0)]


def behind_contextmanager() -> Any:
    o = SimpleNamespace(k=1.0)

    @contextlib.contextmanager
    def scope():
        yield o.k

    def f(x):
        with scope() as k:
            return x * k

    return f, [lambda: setattr(o, "k", 5.0)]


def behind_singledispatch() -> Any:
    o = SimpleNamespace(k=1.0)

    @functools.singledispatch
    def of(v):
        return o.k

    return lambda x: x * of(1), [lambda: setattr(o, "k", 5.0)]


def lazily_made() -> Any:
    o = SimpleNamespace(c=None)

    def f(x):
        if o.c is None:
            o.c = np.linspace(0.0, 1.0, 3)
        return x * o.c

    return f, [lambda: o.c.__setitem__(0, 5.0), lambda: setattr(o, "c", None)]


def asked_form() -> Any:
    o = SimpleNamespace(c=np.ones(3))

    def f(x):
        return x * (2.0 if o.c.dtype == np.float64 else 3.0) + o.c.ndim + np.iscomplexobj(o.c)

    edits = [np.ones(3, np.float32), np.ones((3, 3)), np.ones(3, complex), np.ones(5)]
    return f, [functools.partial(setattr, o, "c", c) for c in edits]


def asked_flags() -> Any:
    o = SimpleNamespace(c=np.ones(3))
    return lambda x: x if o.c.flags.writeable else -x, [
        lambda: o.c.setflags(write=False),
        lambda: setattr(o, "c", np.ones(3)),
    ]


def mapped() -> Any:
    table, items = {"k": 1.0}, [1.0, 2.0]
    return (
        lambda x: (
            x * sum(map(table.get, "k"))
            + sum(map(items.__getitem__, [0]))
            + len([*filter(table.get, "kz")])
            + sum(map(sum, iter([items])))
            + next(map(tuple, (each for each in [items])))[0]
            + next(iter(itertools.starmap(table.get, [("k",)])))
        ),
        [
            lambda: table.update(k=5.0),
            lambda: table.update(z=5.0),
            lambda: items.append(3.0),
            lambda: items.__setitem__(0, 4.0),
        ],
    )


def called_by_numpy() -> Any:
    o = SimpleNamespace(k=1.0)
    return (
        lambda x: (
            x * np.apply_along_axis(lambda row: row * o.k, 0, np.ones(3))
            + np.fromfunction(lambda i: i + o.k, (3,))
            + np.piecewise(x, [x > 1], [lambda v: v * o.k, lambda v: v])
            + np.piecewise(np.ones(3), [np.ones(3) > 2], [lambda v: v, lambda v: v * o.k])
        ),
        [lambda: setattr(o, "k", 5.0)],
    )


def vectorized_outside() -> Any:
    o = SimpleNamespace(k=1.0)
    function = np.vectorize(lambda v: v * o.k)
    return lambda x: x * function(np.ones(3)), [
        lambda: setattr(o, "k", 5.0),
        lambda: setattr(function, "pyfunc", lambda v: v * 7.0),
    ]


def vectorized_inside() -> Any:
    o = SimpleNamespace(k=1.0)
    return lambda x: np.vectorize(lambda v: v * o.k)(x), [lambda: setattr(o, "k", 5.0)]


def objects_of_numpy() -> Any:
    o = SimpleNamespace(k=1.0)
    function, line = np.frompyfunc(lambda v: v * o.k, 1, 1), np.poly1d([1.0, 2.0])
    return lambda x: x * float(function(2.0)) + line(3.0), [
        lambda: setattr(o, "k", 5.0),
        lambda: line.coeffs.__setitem__(0, 7.0),
    ]


def registered() -> Any:
    class Abstract(abc.ABC):  # noqa: B024
        pass

    class One:
        pass

    o = One()
    return lambda x: x if isinstance(o, Abstract) else -x, [lambda: Abstract.register(One)]


def of_class() -> Any:
    class One:
        k = 1.0

    o = One()
    return lambda x: x * len(type(o).__name__) * One.__dict__["k"] + len(One.__bases__), [
        lambda: setattr(One, "__name__", "Other"),
        lambda: setattr(One, "k", 5.0),
    ]


def copied() -> Any:
    o = SimpleNamespace(k=1.0, l=[1.0])
    plain = Failure("a")
    plain.k = 1.0  # type: ignore[attr-defined]
    return lambda x: x * copy.copy(o).k + copy.copy(plain).k, [
        lambda: setattr(o, "k", 5.0),
        lambda: setattr(plain, "k", 5.0),
    ]


def partial_changed() -> Any:
    call = functools.partial(lambda x, a: x * a, a=1.0)
    return lambda x: call(x), [
        lambda: call.__setstate__((call.func, call.args, {"a": 5.0}, None)),  # type: ignore
    ]


def submodule() -> Any:
    def f(x):
        import xml.dom.minidom as module

        return x * getattr(module, "k", 1.0)

    import xml.dom.minidom as module

    return f, [lambda: setattr(module, "k", 5.0), lambda: delattr(module, "k")]


PLACES = [
    *(absent_in_namespace, absent_in_slot, absent_in_thread, absent_in_exception, absent_in_list),
    *(absent_in_partial, absent_and_caught, instead_of_absent, of_exception),
    *(behind_contextmanager, behind_singledispatch, lazily_made, asked_form, asked_flags),
    *(mapped, called_by_numpy, vectorized_outside, vectorized_inside, objects_of_numpy),
    *(registered, of_class, copied, partial_changed, submodule),
]


@pytest.mark.parametrize("make", PLACES)
def test_edited_places(make):
    f, edits = make()
    compiled = tg.compile(f)
    with warnings.catch_warnings(action="ignore"):
        for edit in [lambda: None, *edits]:
            edit()
            for _ in range(2):
                assert_same_bits(compiled(X), f(X))


def test_effects_behind_a_contextmanager():
    log: list[str] = []

    @contextlib.contextmanager
    def scope(name):
        log.append(f"start {name}")
        yield
        log.append(f"end {name}")

    @tg.compile
    def f(x):
        with scope("a"):
            return x * 2.0

    with warnings.catch_warnings(action="ignore"):
        for _ in range(3):
            f(X)
    assert log == ["start a", "end a"] * 3


class Registry:
    made: list[int]

    def __init_subclass__(cls):
        Registry.made.append(1)


class Doubling:
    def __setattr__(self, name, value):
        object.__setattr__(self, name, value * 2)


class Keeping:
    """Each method writes; `reset` changes what it wrote, as a user between two calls."""

    def __init__(self):
        self.last: Any = None
        self.other: Any = None
        self.heap = [3.0, 5.0]
        self.doubling = Doubling()
        Registry.made = self.made = []

    def reset(self):
        self.last = 7.0
        self.doubling.__dict__["k"] = 9.0

    def text(self, x):
        self.last = "seen"
        return x

    def number(self, x):
        self.last = 3.0
        return x * self.last

    def through_setattr(self, x):
        self.doubling.k = 1.0
        return x * self.doubling.k

    def deleted(self, x):
        if hasattr(self, "last"):
            del self.last
            return x
        return -x

    def pushed(self, x):
        heapq.heappush(self.heap, 4.0)
        return x * heapq.heappop(self.heap)

    def subclassed(self, x):
        class One(Registry):
            pass

        return x * len(self.made)

    def the_argument(self, x):
        self.last = x
        return x * 2.0, x is self.last

    def of_copies(self, x):
        """Copies of containers hold the same lists."""
        table = {"heap": self.heap}
        for made in (dict(vars(self)), {**vars(self)}, vars(self).copy()):
            made["heap"].append(1.0)
        self.made.extend([1])
        return x * len(table["heap"]) + len(dict(vars(self).items()))

    def in_two_places(self, x):
        self.last = np.tanh(x)
        self.other = self.last
        return x


NAMES = "text number through_setattr deleted pushed subclassed the_argument of_copies in_two_places"


@pytest.mark.parametrize("name", NAMES.split())
def test_written_again_after_a_reset(name):
    """Whatever the place held meanwhile, a call leaves what a plain one leaves."""
    shown = []
    for transform in (lambda f: f, tg.compile):
        o = Keeping()
        f = transform(getattr(o, name))
        seen: list[Any] = []
        with warnings.catch_warnings(action="ignore"):
            for reset in (False, False, False, True, False, True):
                if reset:
                    o.reset()
                seen.append(repr(f(X)))
                state = {**vars(o), "doubling": vars(o.doubling)}
                last = getattr(o, "last", None)
                seen.append((repr(state), last is X, last is o.other))
        shown.append(seen)
    assert shown[1] == shown[0]


def test_a_reason_names_a_line_of_the_user():
    counts = collections.Counter()

    @tg.compile
    def f(x):
        counts.update("ab")
        return x * counts["a"]

    with pytest.warns(tg.errors.RecompileWarning, match=r"test_places\.py") as caught:
        values = [f(X)[0] for _ in range(3)]
    assert values == [1.0, 2.0, 3.0]
    assert "__init__.py" not in str(caught[0].message)
