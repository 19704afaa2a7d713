"""Attributes, items and cells that turns of a loop write to: places with names, as variables are.

A `Place` is known by the object and the name. What stands there goes from turn to turn like what a
variable holds, if the object was there before the turn; what a turn writes to objects of its own,
which are gone when it ends, is nobody's business.
"""

from __future__ import annotations

import gc
from collections import OrderedDict, defaultdict
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from types import CellType, ModuleType
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from tracegrad.machine.frames import Machine
from tracegrad.machine.translation import Program
from tracegrad.machine.world_protocol import ABSENT, delete_plainly
from tracegrad.tensors.tensor import Tensor
from tracegrad.world.guards import PLAIN, key_of
from tracegrad.world.lengths import Length
from tracegrad.world.tensor_places import ATTRIBUTE, CELL, ITEM, NOTHING, content, put

MOST_HELD = 20_000  # objects that are looked through for one


@dataclass(frozen=True, slots=True, eq=False)
class Place:
    """An attribute, an item under a key or number, or a cell."""

    kind: int
    holder: Any
    name: Any
    way: tuple[Any, ...] = ()
    """The reads by which a run came to the holder, from outside; where turns are known to write
    there, the next one goes that way before the first of them (`World.expects`)."""

    def __eq__(self, other: object) -> bool:
        return type(other) is Place and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)

    @property
    def _key(self) -> tuple[Any, ...]:
        named = self.kind == ITEM and has_name(ITEM, self.holder, self.name)
        return self.kind, id(self.holder), self.name if named else key_of(self.name)

    @property
    def called(self) -> str:
        """A name for what stands there."""
        return self.name if type(self.name) is str and self.name.isidentifier() else "item"

    def now(self) -> Any:
        """What stands there; `ABSENT` where nothing does."""
        found = content(self.kind, self.holder, self.name)
        return ABSENT if found is NOTHING else found

    def put(self, value: Any) -> None:
        """Puts something there, or takes it away."""
        if value is not ABSENT:
            put(self.kind, self.holder, self.name, value)
        elif self.now() is not ABSENT:
            self._remove()

    def beside(self, name: Any) -> Place:
        """The place of the same object with another name."""
        return Place(self.kind, self.holder, name)

    def of(self, made: Mapping[int, Any]) -> Place:
        """The same place of what was made in the holder's place."""
        holder = made.get(id(self.holder), self.holder)
        return self if holder is self.holder else Place(self.kind, holder, self.name)

    def _remove(self) -> None:
        if self.kind == CELL:
            cell: CellType = self.holder
            del cell.cell_contents
        elif self.kind == ATTRIBUTE:
            delete_plainly(self.holder, self.name)
        else:
            del self.holder[self.name]


def has_name(kind: int, x: Any, name: Any) -> bool:
    """Whether a place can be named: an attribute, a key of a dictionary, a number of a list."""
    if kind != ITEM:
        return not isinstance(x, Tensor | np.ndarray)
    if type(name) is tuple and type(x) is not list:
        return type(x) in _NAMING and all(type(item) in PLAIN for item in name)
    return type(x) in _NAMING and type(name) in PLAIN


def reached_from(waiting: list[Any], outside: Any, sought: Collection[int]) -> set[int]:
    """Which of the sought objects (ids) are held by these, as far as a look at all shows."""
    found: set[int] = set()
    for n, x in enumerate(_held(waiting, outside, _CLOSED)):
        if n == MOST_HELD or (type(x) is ModuleType and _holds_too_many(x)):
            return set(sought)
        if id(x) in sought:
            found.add(id(x))
    return found


def tensors_in(waiting: list[Any], outside: Any) -> list[Tensor] | None:
    """The Tensors that these hold, in objects too; None where they hold too much for a look."""
    found: list[Tensor] = []
    for n, x in enumerate(_held(waiting, outside, _CLOSED - {Tensor})):
        if type(x) is Tensor:
            found.append(x)
        if n == MOST_HELD or (type(x) is ModuleType and _holds_too_many(x)):
            return None
    return found


def _held(waiting: list[Any], outside: Any, closed: frozenset[Any]) -> Iterator[Any]:
    """These objects and what they hold, each once, but what is of a `closed` type."""
    seen: dict[int, Any] = {}
    while waiting:
        x = waiting.pop()
        if id(x) in seen or type(x) in closed or isinstance(x, type) or outside(x):
            continue
        seen[id(x)] = x
        yield x
        waiting += () if type(x) is Tensor else gc.get_referents(x)


def _holds_too_many(module: ModuleType) -> bool:
    """Whether a module leads to most others, as one does that imports NumPy: looked at once."""
    if module not in _VAST:
        held = enumerate(_held([module], lambda x: False, _CLOSED))
        _VAST[module] = any(n == MOST_HELD for n, _ in held)
    return _VAST[module]


_VAST: WeakKeyDictionary[ModuleType, bool] = WeakKeyDictionary()
_CLOSED = frozenset({Tensor, Length, *PLAIN, type(ABSENT), Machine, Program})
_NAMING = frozenset({dict, list, OrderedDict, defaultdict})
