"""Copies of containers that C code was given; what it hands on is what they are copies of.

C code that may read all of a container from outside gets a copy, in which what is outside is as the
function has it (`native_reads.py`). It may give that copy back, or a part of it (`sorted`, ``[x] *
2``, `itertools.chain`), at once or later, by an object that holds it. The function gets what was
copied: of that it is known where it stands, and what is written to it is written there. Iterators
and views that the function has go through copies as well: these change with what they are copies
of.
"""

from __future__ import annotations

import operator
from collections import OrderedDict, defaultdict, deque
from collections.abc import Callable, Iterator
from functools import partial
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np

from tracegrad.tensors.tensor import Tensor
from tracegrad.world.guards import PLAIN


class Given(NamedTuple):
    """A copy that what is traced gets as an argument, and what it held before."""

    copy: Any
    original: Any
    content: Any


def carried_back(given: Given, original_of: Callable[[Any], Any]) -> Iterator[tuple[Any, ...]]:
    """Operations that change an object from outside as its copy was changed, with operands."""
    copy, original, content = given
    if isinstance(copy, dict):
        for key in [key for key in content if key not in copy]:
            yield operator.delitem, original, key
        for key, value in copy.items():
            if key not in content or content[key] is not value:
                yield operator.setitem, original, key, original_of(value)
        return
    held = [*copy]
    if len(held) < len(content):
        yield type(copy).clear, original
        content = []
    for i, (value, before) in enumerate(zip(held, content, strict=False)):
        if value is not before:
            yield operator.setitem, original, i, original_of(value)
    for value in held[len(content) :]:
        yield type(copy).append, original, original_of(value)


class Copies:
    """The copies of one run."""

    def __init__(self) -> None:
        self._known: dict[int, tuple[Any, Any]] = {}  # by the id of the copy: it, and what it is of
        self._followed: dict[int, list[Any]] = {}  # copies by the id of what changes them
        self._held = False  # some object that cannot be looked into may hold one

    def add(self, copy: Any, original: Any) -> None:
        """C code gets a copy."""
        self._known[id(copy)] = (copy, original)
        self.follow(copy, original)

    def follow(self, copy: Any, original: Any) -> None:
        """A copy is gone through: it is to change with the original."""
        if isinstance(copy, list | deque | dict):
            self._followed.setdefault(id(original), []).append(copy)

    def since(self, before: int) -> list[Given]:
        """The lists and dictionaries that C code gets, but for so many copies `before`."""
        kinds: dict[Any, Any] = {cls: dict for cls in (dict, OrderedDict, defaultdict)}
        kinds |= {list: list, deque: list}
        return [
            Given(copy, original, kinds[type(copy)](copy))
            for copy, original in [*self._known.values()][before:]
            if type(copy) in kinds
        ]

    def of(self, original: Any) -> list[Any]:
        """The copies that are to change with an object."""
        return self._followed.get(id(original), [])

    @property
    def count(self) -> int:
        """How many there are."""
        return len(self._known)

    def handed_on(self, x: Any, before: int) -> Any:
        """What C code gives, with containers in place of copies; so many there were `before`."""
        if not (self._held or len(self._known) > before):
            return x
        if _holds_nothing(x):
            self._held |= x is None  # it may stand in what the code was called on
            return x
        return self._original(x, set())

    def given(self, x: Any) -> Any:
        """The same of what C code gives to a function that it calls."""
        return x if not self._known or _holds_nothing(x) else self._original(x, set())

    def clear(self) -> None:
        """The run is over."""
        self._known.clear()
        self._followed.clear()

    def _original(self, x: Any, seen: set[int]) -> Any:
        known = self._known.get(id(x))
        if known is not None:
            return known[1]
        if _holds_nothing(x) or id(x) in seen:
            return x
        seen.add(id(x))
        if isinstance(x, tuple):
            items = [self._original(item, seen) for item in x]
            return tuple.__new__(type(x), items) if any(map(operator.is_not, items, x)) else x
        if isinstance(x, dict):
            for key, item in list(dict.items(x)):
                self._put(item, seen, partial(dict.__setitem__, x, key))
        elif isinstance(x, list | deque):
            kind: Any = list if isinstance(x, list) else deque
            for i, item in enumerate(kind.__iter__(x)):
                self._put(item, seen, partial(kind.__setitem__, x, i))
        elif isinstance(x, SimpleNamespace | BaseException):
            self._original(vars(x), seen)
        self._held |= type(x) not in _SHOWING
        return x

    def _put(self, item: Any, seen: set[int], put: Callable[[Any], None]) -> None:
        """Puts what an item is a copy of where the item stands."""
        found = self._original(item, seen)
        if found is not item:
            put(found)


_SHOWING = frozenset({list, dict, deque, OrderedDict, defaultdict, SimpleNamespace})
"""Types whose objects hold nothing but what was looked at."""


def _holds_nothing(x: Any) -> bool:
    """Whether an object can hold no container."""
    kind = type(x)
    if kind in PLAIN or kind is Tensor:
        return True
    return isinstance(x, np.generic) or (kind is np.ndarray and not x.dtype.hasobject)


def renew(copy: Any, items: Any) -> None:
    """A copy gets the items that there are now: iterators go on in it."""
    if isinstance(copy, list):
        copy[:] = items
    elif isinstance(copy, deque):
        copy.clear()
        copy.extend(items)
    else:
        if list(copy) != list(items):
            dict.clear(copy)
        dict.update(copy, items)
