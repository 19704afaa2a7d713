"""Keys that are made anew are those that they equal, and calls leave numbers as keys."""

from __future__ import annotations

import enum
import os
import warnings
from collections import Counter, OrderedDict, defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import tracegrad as tg


class State(enum.Enum):
    OFF = 0
    ON = 1


class Level(enum.IntEnum):
    LOW = 0
    HIGH = 1


@dataclass(frozen=True)
class Field:
    number: int


class Own:
    def __init__(self, number):
        self.number = number

    def __hash__(self):
        return hash(self.number)

    def __eq__(self, other):
        return type(other) is Own and self.number == other.number

    def __repr__(self):
        return f"Own({self.number})"


class Named(dict):
    def __setitem__(self, key, value):
        super().__setitem__(key, value)


KEYS: dict[str, Callable[[Any, Any], Any]] = {
    "an int of NumPy's": lambda x, v: np.int64(2),
    "a float of NumPy's": lambda x, v: np.float64(0.5),
    "a place in an array": lambda x, v: np.argmax(x),
    "an element": lambda x, v: v,
    "a sign": lambda x, v: np.sign(v),
    "members of an enum": lambda x, v: (State.ON, State.ON) if v > 0 else (State.OFF,),
    "members that are ints": lambda x, v: (Level.HIGH, 0),
    "a member and a place": lambda x, v: (State.ON, np.argmax(x)),
    "a frozenset": lambda x, v: frozenset([1]),
    "a frozenset of elements": lambda x, v: frozenset([x[0], 1.0]),
    "nested tuples": lambda x, v: (0, (x[0], np.int64(1))),
    "a dataclass": lambda x, v: Field(1),
    "an object with a hash": lambda x, v: Own(3),
    "texts": lambda x, v: np.str_("a") if v > 0 else "a",
    "numbers that are equal": lambda x, v: 1 if v > 1 else 1.0 if v > 0 else True,
    "a shape": lambda x, v: x.shape,
}


def counter() -> Any:
    return Counter()


def default() -> Any:
    return defaultdict(int)


def of_class() -> Any:
    found = Named()
    for x in CALLS:
        for v in x:
            for key in KEYS.values():
                dict.setdefault(found, key(x, v), 0)
    return found


CALLS = [np.array(v) for v in ([1.0, 2.0, 3.0], [3.0, -1.0, 2.0], [0.5, 2.0], [2.0, 1.0, 4.0, 1.0])]


def shown(d: Any) -> list[tuple[Any, ...]]:
    return [(type(key), repr(key), repr(value)) for key, value in d.items()]


def as_plainly(body: Callable[[Any], Any], make: Callable[[], Any], transform: Any) -> None:
    """What calls leave is what plain Python leaves: values, keys, their types and order."""
    one, other = make(), make()
    plain, f = body(one), transform(body(other))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for x in (*CALLS, *CALLS):
            plain(x)
            f(x)
            assert shown(other) == shown(one)


def pulled(f: Any) -> Any:
    return lambda x: tg.vjp(f, x)


TRANSFORMS = [tg.compile, tg.grad, pulled]


@pytest.mark.parametrize("eager", [False, True], ids=["followed", "eager"])
@pytest.mark.parametrize("transform", [tg.grad, pulled])
@pytest.mark.parametrize("make", [counter, of_class])
@pytest.mark.parametrize("key", KEYS.values(), ids=KEYS)
def test_counted_by_keys_made_anew(key, make, transform, eager):
    def body(d):
        def f(x):
            if eager:
                os.getpid()
            for v in x:
                d[key(x, v)] += 1
            return x.sum()

        return f

    as_plainly(body, make, transform)


@pytest.mark.parametrize("transform", [tg.compile, tg.grad])
@pytest.mark.parametrize("key", KEYS.values(), ids=KEYS)
def test_summed_by_keys_made_anew(key, transform):
    def body(d):
        def f(x):
            for v in x:
                if v > 3:
                    break
                d[key(x, v)] += v
            return x.sum()

        return f

    as_plainly(body, default, transform)


def test_where_ids_are_used_again():
    def f(x):
        for _v in x:
            counts[np.int64(2)] += 1
        return x.sum()

    for _ in range(20):
        counts = Counter()
        compiled = tg.compile(f)
        for n in (3, 4, 3):
            compiled(np.ones(n))
        assert counts == {2: 10}


def test_a_key_that_was_removed_comes_back_as_it_is_then():
    def body(d):
        def f(x):
            d[1] = 0
            del d[1]
            d[1.0] = x.sum()
            return x.sum()

        return f

    as_plainly(body, dict, tg.compile)


def test_a_key_of_the_calls_own_is_new_in_each():
    def f(x):
        d[object()] = x.sum()
        return x.sum()

    d: dict[Any, Any] = {}
    compiled = tg.compile(f)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for x in CALLS:
            compiled(x)
    assert len(d) == len(CALLS)


FILLED: dict[str, Callable[[Any, Any], Any]] = {
    "an array": lambda d, x: d.update(x),
    "signs": lambda d, x: d.update(np.sign(x)),
    "bools": lambda d, x: d.update(x > 0),
    "a list": lambda d, x: d.update([np.argmax(x), 0]),
    "tuples": lambda d, x: d.update((v, v) for v in x),
    "pairs": lambda d, x: d.update(zip(x, x, strict=True)),
    "subtracted": lambda d, x: d.subtract(x),
    "another counter": lambda d, x: d.update(Counter(x)),
    "a dictionary": lambda d, x: d.update(dict(zip(x, range(9), strict=False))),
    "a default": lambda d, x: d.setdefault(np.argmax(x), 1),
}


@pytest.mark.parametrize("eager", [False, True], ids=["followed", "eager"])
@pytest.mark.parametrize("transform", TRANSFORMS)
@pytest.mark.parametrize("fill", FILLED.values(), ids=FILLED)
def test_counters_hold_numbers(fill, transform, eager):
    def body(d):
        def f(x):
            if eager:
                os.getpid()
            fill(d, x)
            return x.sum()

        return f

    as_plainly(body, counter, transform)


MADE: dict[str, Callable[[Any], Any]] = {
    "pairs": lambda x: [(np.argmax(x), 1)],
    "zip": lambda x: zip(x, range(9), strict=False),
    "keys alone": lambda x: dict.fromkeys(x),
    "in order": lambda x: OrderedDict(zip(x, range(9), strict=False)),
    "by frozensets": lambda x: {frozenset([x[0]]): 1},
}


@pytest.mark.parametrize("eager", [False, True], ids=["followed", "eager"])
@pytest.mark.parametrize("transform", TRANSFORMS)
@pytest.mark.parametrize("make", [dict, OrderedDict, Named])
@pytest.mark.parametrize("more", MADE.values(), ids=MADE)
def test_dictionaries_hold_numbers_as_keys(more, make, transform, eager):
    def body(d):
        def f(x):
            if eager:
                os.getpid()
            d.update(more(x))
            d["made"] = more(x) if type(more(x)) in (dict, OrderedDict) else None
            return x.sum()

        return f

    as_plainly(body, make, transform)


@pytest.mark.parametrize("eager", [False, True], ids=["followed", "eager"])
@pytest.mark.parametrize("transform", TRANSFORMS)
def test_default_factories_by_places(transform, eager):
    weights = np.array([0.5, 2.0, 1.0])

    def body(d):
        def f(x):
            if eager:
                os.getpid()
            d[np.argmax(weights)][np.sign(x[0])] += 1
            d[0, np.argmax(x)][1] += 1
            return x.sum()

        return f

    as_plainly(body, lambda: defaultdict(Counter), transform)


@pytest.mark.parametrize("transform", TRANSFORMS)
def test_dictionaries_of_the_calls_own_hold_numbers_as_keys(transform):
    def body(d):
        def f(x):
            own = {}
            own.update(zip(x, x, strict=True))
            own |= {np.argmax(x): 1}
            d["made"], d["counted"] = own, Counter(x > 0)
            return x.sum()

        return f

    as_plainly(body, dict, transform)


def twice(d, x, v):
    d[-1] += 1
    d[2] += 1


def twice_the_other_way(d, x, v):
    d[2] += v
    d[-1] *= 2


def by_a_bool(d, x, v):
    d[True] += 1
    d[1] += v


def by_numbers_of_numpy(d, x, v):
    d[np.int64(1)] += 1
    d[np.argmax(x)] += 2
    d[1] *= 2


def behind_an_append(d, x, v):
    d.append(0)
    d[-1] += v
    d[len(d) - 1] += 1
    d.pop(0)


@pytest.mark.parametrize("looped", [False, True])
@pytest.mark.parametrize("transform", TRANSFORMS)
@pytest.mark.parametrize(
    "change", [twice, twice_the_other_way, by_a_bool, by_numbers_of_numpy, behind_an_append]
)
def test_an_item_by_two_indices(change, transform, looped):
    def body(d):
        def f(x):
            for v in x if looped else x[:1]:
                change(d, x, v)
            return x.sum()

        return f

    one, other = [0, 1, 2], [0, 1, 2]
    plain, f = body(one), transform(body(other))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for n, x in enumerate((*CALLS, *CALLS)):
            plain(x)
            f(x)
            assert repr(other) == repr(one)
            if n == 3:  # the last item is another one then
                one.append(7)
                other.append(7)
