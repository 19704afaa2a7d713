"""Objects that a function makes and stores outside: every call makes them as they are in Python."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np
import pytest

import tracegrad as tg


@dataclass(slots=True)
class Slotted:
    a: int
    b: Any


@dataclass(slots=True, frozen=True)
class Frozen:
    a: int
    b: Any


class Slots:
    __slots__ = ("__a", "b", "never")

    def __init__(self, a, b):
        self.__a, self.b = a, b


class MoreSlots(Slots):
    __slots__ = ("__weakref__", "c")

    def __init__(self, a, b):
        super().__init__(a, b)
        self.c = [b, (a,)]


class SlotsAndMore(Slots):
    def __init__(self, a, b):
        super().__init__(a, b)
        self.d = {"b": b}


class Record(dict):
    def __init__(self, a, b):
        super().__init__(a=a, b=b)
        self.extra = b

    def __setitem__(self, key, value):
        raise TypeError("not like this")


class Failure(ValueError):
    def __init__(self, a, b):
        super().__init__(f"number {a}", b)
        self.b = b


class Made:
    def __new__(cls, a, b):
        made = super().__new__(cls)
        made.a, made.b = a, b
        return made


class Guarded:
    def __init__(self, a, b):
        vars(self)["b"] = b

    @property
    def b(self):
        return None


class Typed(Generic[TypeVar("T")]):
    def __init__(self, a, b):
        self.a, self.b = a, b


class Pair(NamedTuple):
    a: int
    b: Any


class PairAndMore(Pair):
    @classmethod
    def of(cls, a, b):
        made = cls(a, b)
        made.c = b
        return made


def counted(a, b):
    return Counter({"a": a, "b": 3})


MAKERS: list[Callable[[int, Any], Any]] = [
    *(Slotted, Frozen, Slots, MoreSlots, SlotsAndMore, Record, Failure, Made, Guarded, Typed),
    *(PairAndMore.of, counted, lambda a, b: [Slotted(a, b), {"k": Failure(a, b)}]),
]


def shown(x):
    """What an object is and holds."""
    if isinstance(x, np.generic | int | str):
        return type(x), x
    inside: list[Any] = []
    if isinstance(x, dict):
        inside = [*dict.items(x)]
    elif isinstance(x, list | tuple):
        inside = [*x]
    elif isinstance(x, BaseException):
        inside = [x.args]
    slots = [n for c in type(x).__mro__ for n in getattr(c, "__slots__", ())]
    held = {n: getattr(x, n) for n in (*slots, "_Slots__a") if hasattr(x, n)}
    held.pop("__weakref__", None)
    attributes = {**held, **getattr(x, "__dict__", {})}
    return type(x), [*map(shown, inside)], {n: shown(y) for n, y in attributes.items()}


@pytest.mark.parametrize("transform", [tg.compile, tg.value_and_grad])
@pytest.mark.parametrize("make", MAKERS)
def test_objects_are_made_again(make, transform):
    books, wanted = [], []

    def run(x, into):
        into.append(make(1, x[0] * 2.0))
        return x.sum()

    compiled = transform(lambda x: run(x, books))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for k in range(4):
            x = np.arange(3.0) + k
            compiled(x)
            run(x, wanted)
    assert [*map(shown, books)] == [*map(shown, wanted)]
    assert len({*map(id, books)}) == 4
    assert compiled.cache_info().versions == 1


def test_an_exception_that_was_raised_is_kept_with_its_traceback():
    books = []

    def f(x):
        try:
            raise Failure(1, x[0])
        except Failure as error:
            books.append(error)
        return x.sum()

    compiled = tg.compile(f)
    with pytest.warns(tg.errors.RecompileWarning, match="gets a Failure"):
        for k in range(4):
            compiled(np.arange(3.0) + k)
    assert [error.b for error in books] == [0.0, 1.0, 2.0, 3.0]
