"""What is equal and not the same: keys, ends of ranges, objects; plain Python tells them apart."""

from __future__ import annotations

import copy
import functools
import warnings
from types import SimpleNamespace as State

import numpy as np
import pytest

import tracegrad as tg

X = np.arange(3.0)
CONSTANT, OTHER = [1.0, 2.0], [1.0, 2.0]


def replaced(**content):
    return lambda o: vars(o).update(content)


def rekeyed(*keys):
    def edit(o):
        o.d.clear()
        o.d.update(dict.fromkeys(keys, 2.0))

    return edit


def members(*items):
    def edit(o):
        o.s.clear()
        o.s.update(items)

    return edit


def same_in(name, build, *edits):
    """A program of a state, what makes that state, what is done to it between calls."""
    return lambda f: PROGRAMS.append(pytest.param(f, build, edits, id=name)) or f


PROGRAMS: list = []
NUMBERS = (rekeyed(True, 2), rekeyed(1.0, 2), rekeyed(1, 2))


@same_in("keys", lambda: State(d={1: 2.0, 2: 3.0}), *NUMBERS)
def keys(o, x):
    return x, list(map(str, o.d.keys())), [x * v for k, v in o.d.items() if type(k) is int]


@same_in("copies", lambda: State(d={1: 2.0, 2: 3.0}), *NUMBERS)
def copies(o, x):
    return x, {**o.d}, dict(o.d), str(o.d)


@same_in("tuples", lambda: State(d={(1, 2): 3.0}), rekeyed((True, 2)), rekeyed((1.0, 2)))
def tuples(o, x):
    return x, list(o.d)


@same_in("zeros", lambda: State(d={0.0: 3.0}), rekeyed(-0.0), rekeyed(0))
def zeros(o, x):
    return x, str(list(o.d))


@same_in("texts", lambda: State(d={"a": 3.0}), rekeyed(np.str_("a")))
def texts(o, x):
    return x, list(o.d)


@same_in("ends", lambda: State(r=range(0, 3, 2)), replaced(r=range(0, 4, 2)))
def ends(o, x):
    return x * o.r.stop, repr(o.r)


@same_in("order", lambda: State(s={8, 0}), members(0, 8), members(8, 0))
def order(o, x):
    return x, list(o.s), str(o.s)


@same_in("floats", lambda: State(k=1.5, j=1.5), lambda o: vars(o).update(k=o.j))
def floats(o, x):
    return x * 2 if o.k is o.j else x


@pytest.mark.parametrize("f, build, edits", PROGRAMS)
def test_state_that_is_equal_and_not_the_same(f, build, edits):
    one, other = build(), build()
    compiled = tg.compile(lambda x: f(other, x))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for edit in (None, None, *edits, None):
            for o in (one, other) if edit else ():
                edit(o)
            assert repr(compiled(X)) == repr(f(one, X))


ITSELF = State(k=1.0)
LONG = "su" + "m" * len(OTHER)


@pytest.mark.parametrize(
    "f, calls",
    [
        (lambda x, c: x * 2 if c is CONSTANT else x, [(CONSTANT,), (OTHER,), (CONSTANT,)]),
        (lambda x, a, b: x * 2 if a is b else x, [(1000, int("1000")), (1000, 1000)]),
        (lambda x, a: x * 2 if a is LONG else x, [("".join(["su", "mm"]),), (LONG,)]),
        (lambda x, r: x * r.stop, [(range(0, 3, 2),), (range(0, 4, 2),), (range(0, 3, 2),)]),
        (lambda x, a: (x[a] * 2, repr(a)), [(slice(0, 2),), (slice(0, True),), (slice(0, 2),)]),
        (lambda x, a: x[a[0]] * 2, [([slice(0, 2)],), ([slice(None, None, -1)],)]),
    ],
    ids=["container", "ints", "texts", "range", "slice", "slice in a list"],
)
def test_arguments_that_are_equal_and_not_the_same(f, calls):
    compiled = tg.compile(f)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for given in calls * 2:
            assert repr(compiled(X, *given)) == repr(f(X, *given))


def test_a_container_that_is_two_arguments():
    def f(x, a, b, held):
        a.append(3.0)
        held["p"]["k"] = 2.0
        return x * len(b) * held["q"].get("k", 1.0)

    compiled = tg.compile(f)
    one, inner = [1.0], {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for given in [([1.0], [1.0], {"p": {}, "q": {}}), (one, one, {"p": inner, "q": inner})] * 2:
            ours, plain = copy.deepcopy(given), copy.deepcopy(given)
            assert np.array_equal(compiled(X, *ours), f(X, *plain))
            assert ours == plain


def test_a_slice_that_differs_is_a_version():
    compiled = tg.value_and_grad(lambda x, a: (x[a] ** 2).sum())
    for a in (slice(0, 2), slice(1, 3), slice(0, 2), slice(1, 3)):
        value, gradient = compiled(X, a)
        assert value == (X[a] ** 2).sum()
        assert np.array_equal(gradient[a], 2 * X[a])
    assert compiled.cache_info().traces == 2


def test_what_numpy_has_besides_numbers_is_returned():
    compiled = tg.compile(lambda x: (x, np.str_("a"), np.datetime64("2020-01-01"), np.array(["b"])))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for _ in range(3):
            shown = compiled(X)
            assert repr(shown[1:]) == repr(
                (np.str_("a"), np.datetime64("2020-01-01"), np.array(["b"]))
            )
            shown[3][0] = "c"


# -- attributes of objects whose class has code for those that are not there ---------------------


class Lazy:
    def __init__(self):
        self.raw = 2.0

    @functools.cached_property
    def k(self):
        return self.raw * 1.5


def test_a_check_computes_no_cached_property():
    o = State(lazy=Lazy())

    def f(x):
        return x * o.lazy.k if x[0] > 0 else x * 0.5

    compiled = tg.compile(f)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for _ in range(2):
            o.lazy = Lazy()
            compiled(X + 1), compiled(X + 1)
        o.lazy = Lazy()
        assert np.array_equal(compiled(X - 1), (X - 1) * 0.5)
    assert "k" not in vars(o.lazy)


@pytest.mark.parametrize("slots", [False, True])
def test_a_check_asks_no_getattr(slots):
    class Hooked:
        if slots:
            __slots__ = ("k",)

        def __init__(self):
            self.k = 2.0

        def __getattr__(self, name):
            asked.append(name)
            return 5.0

    asked: list[str] = []
    o = Hooked()
    compiled = tg.compile(lambda x: x * o.k)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for edit, k in ((None, 2.0), (None, 2.0), ("delete", 5.0), ("set", 3.0)):
            if edit == "delete":
                del o.k
            elif edit == "set":
                o.k = 3.0
            before = len(asked)
            assert np.array_equal(compiled(X), X * k)
            assert len(asked) - before == (edit == "delete")


def test_an_argument_whose_class_has_a_getattr():
    class Hooked:
        def __init__(self):
            self.t = {"k": 2.0}

        def __getattr__(self, name):
            return self.t[name]

    def f(x, d, o):
        return x * d.pop("k", 3.0) * o.k

    d = {"k": 4.0}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert np.array_equal(tg.compile(f)(X, d, Hooked()), X * 8.0)
    assert d == {}


def test_a_set_that_is_changed_and_read_is_given_up():
    seen = set()

    def f(x):
        seen.add(len(seen))
        return x * len(seen) if seen & {0} else x

    compiled = tg.compile(f)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for turn in range(6):
            assert np.array_equal(compiled(X), X * (turn + 1))
    assert compiled.cache_info().traces <= 3
