"""Places that a run writes Tensors to, which hold arrays again when it is over.

A function that is called with arrays runs on Tensors that stand for them. What it puts into
attributes, globals, cells and containers meanwhile is to be what it would be without: arrays.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from gc import get_referents
from operator import is_not
from threading import local
from types import (
    CellType,
    FunctionType,
    GetSetDescriptorType,
    MappingProxyType,
    MemberDescriptorType,
    MethodType,
    SimpleNamespace,
)
from typing import Any

import numpy as np

from tracegrad.machine.world_protocol import get_plainly, set_plainly, type_dict, type_mro
from tracegrad.tensors.tensor import Tensor
from tracegrad.world.equal_keys import EqualKeys, compares_in_c
from tracegrad.world.guards import ATTRIBUTE as OF_OBJECT
from tracegrad.world.guards import MISSING, Guard, key_of
from tracegrad.world.lengths import Length

ATTRIBUTE, ITEM, CELL, VARIABLE = range(4)
NOTHING = object()
_HOLDING: tuple[Any, ...] = (
    *(Tensor, list, tuple, dict, deque, set, frozenset, slice),
    *(SimpleNamespace, partial, BaseException, FunctionType),
    *(MappingProxyType, type(iter([]))),
)
_WATCHED = (*_HOLDING, np.ndarray, MethodType)
"""An array may become a Tensor where it stands, which may be in a closure or a default."""


@dataclass(slots=True)
class _Written:
    """A place, with what was written there last."""

    kind: int
    holder: Any
    name: Any
    tensor: bool  # one stood there before
    scope: Any  # tells the place, and is kept alive
    value: Any = None

    def stands(self) -> bool:
        return content(self.kind, self.holder, self.name) is self.value

    def put(self, value: Any) -> None:
        put(self.kind, self.holder, self.name, value)
        self.value = value


def scope_of(kind: int, holder: Any) -> Any:
    """What tells places apart, with a name: an attribute is one with its item in ``vars(x)``."""
    if kind != ATTRIBUTE or isinstance(holder, type):
        return holder
    try:
        return get_plainly(holder, "__dict__")
    except AttributeError:
        return holder


class Kept:
    """The places, with what was written there last.

    What is put into a list or deque may be moved there later, by a method that knows nothing of
    Tensors: it is found again by who it is. So is what is put under a key with a hash in Python.
    """

    def __init__(self, originals: Mapping[int, tuple[Any, Any]]) -> None:
        """`originals` are what objects are to the caller, by id: both, each with the first."""
        self._originals = originals
        self._equal = EqualKeys()
        self._places: dict[tuple[bool, int, Any], _Written] = {}
        self._within: dict[int, tuple[Any, dict[int, tuple[Any, bool]]]] = {}  # values by id

    def writes(self, kind: int, holder: Any, name: Any, value: Any) -> None:
        """The function is about to write a value to a place, or a list to a slice."""
        if kind == ITEM and (isinstance(holder, list | deque) or not compares_in_c(name)):
            stood = content(kind, holder, name)
            if isinstance(name, slice):
                tensor = stood is not NOTHING and any(self._was_tensor(holder, x) for x in stood)
                self.puts(holder, value, tensor)
            else:
                self.puts(holder, [value], self._was_tensor(holder, stood))
            return
        if not self._is_watched(value):
            return
        scope = scope_of(kind, holder)
        named = name if type(name) is str else key_of(self._equal.first(name))
        key = kind in (CELL, VARIABLE), id(scope), named
        known = self._places.get(key)
        if known is None:
            tensor = self._was_tensor(scope, content(kind, holder, name))
            known = self._places[key] = _Written(kind, holder, name, tensor, scope)
        known.value = value

    def puts(self, holder: Any, values: Iterable[Any], tensor: bool = False) -> None:
        """The function is about to put values into a container, where a Tensor stood or none."""
        watched = [value for value in values if self._is_watched(value)]
        if watched:
            known = self._within.setdefault(id(holder), (holder, {}))[1]
            known.update([(id(value), (value, tensor)) for value in watched])

    def made_again(self, x: Any) -> None:
        """A container or an instance was made again, with what it holds."""
        if isinstance(x, list | deque):
            self.puts(x, _plainly(x).__iter__(x))
        else:
            scope = x if isinstance(x, dict) else scope_of(ATTRIBUTE, x)
            self.puts(scope, dict.values(scope) if isinstance(scope, dict) else ())

    def _is_watched(self, value: Any) -> bool:
        return isinstance(value, _WATCHED) or id(value) in self._originals

    def _was_tensor(self, holder: Any, x: Any) -> bool:
        """Whether a Tensor stands in a container, or stood where the function put x."""
        known = self._within.get(id(holder))
        found = None if known is None else known[1].get(id(x))
        if found is not None:
            return found[1]
        given = self._originals.get(id(x), (x, x))[1]  # an array may have one in its place
        return type(x) is Tensor and type(given) is Tensor

    def values(self) -> list[Any]:
        """What was written."""
        within = [value for _, put in self._within.values() for value, _ in put.values()]
        return [place.value for place in self._places.values()] + within

    def swap(self, array: Any, tensor: Any) -> None:
        """Puts a Tensor where an array was put, and stands; or a tuple that holds it."""
        for place in self._places.values():
            if place.value is array and place.stands():
                place.put(tensor)
        for holder, known in list(self._within.values()):
            if id(array) in known:
                _replace(holder, {id(array): tensor})
                self.puts(holder, [tensor], known[id(array)][1])

    def settle(self, shown: Callable[[Tensor, bool], Any], around: Any = None) -> None:
        """Puts ``shown(x, whether a Tensor stood there before)`` where a Tensor x was put.

        Where a container was put that stands for the caller's, it puts the caller's own. If the
        caller is a function that runs in a world, that is told: it has callers of its own.
        """
        values = _Shown(shown, self._originals)
        for place in self._places.values():
            if place.stands():
                found = values.of(place.value, place.tensor)
                if found is not place.value:
                    place.put(found)
                if around is not None:
                    around.writes(place.kind, place.holder, place.name, found)
        for holder, known in self._within.values():
            pairs = [(x, values.of(x, tensor)) for x, tensor in known.values()]
            _replace(holder, {id(x): found for x, found in pairs if found is not x})
            if around is not None:
                around.puts((holder, *(found for _, found in pairs)), {})
        self._places.clear()
        self._within.clear()
        self._equal = EqualKeys()


def content(kind: int, holder: Any, name: Any) -> Any:
    """What stands at a place; `NOTHING` where nothing does."""
    try:
        if kind == CELL:
            return holder.cell_contents
        if kind == ITEM:
            return _plainly(holder).__getitem__(holder, name)
        if kind == VARIABLE:
            return holder.get()
        return _attribute(holder, name)
    except (AttributeError, LookupError, ValueError, TypeError):
        return NOTHING


def held(guard: Guard) -> Any:
    """What a place holds itself: of an attribute, not what a class has under its name."""
    if guard.read != OF_OBJECT:
        return guard.in_run()
    found = content(ATTRIBUTE, guard.holder, guard.name)
    if found is not NOTHING:
        return found
    scopes = map(type_dict, type_mro(type(guard.holder)))
    set_by_class = any(hasattr(scope.get(guard.name), "__set__") for scope in scopes)
    return guard.in_run() if set_by_class else MISSING


def _attribute(holder: Any, name: str) -> Any:
    """What an object holds itself; no code of a user runs."""
    held = type_dict(holder) if isinstance(holder, type) else _dict_of(holder)
    if name in held:
        return held[name]
    for base in type_mro(type(holder)):
        found = type_dict(base).get(name)
        if isinstance(found, MemberDescriptorType | GetSetDescriptorType):
            return found.__get__(holder)
    if type(holder) is local:  # of which each thread has other attributes
        return getattr(holder, name)
    return NOTHING


def _dict_of(x: Any) -> Any:
    try:
        return get_plainly(x, "__dict__")
    except AttributeError:
        return {}


def put(kind: int, holder: Any, name: Any, value: Any) -> None:
    """Puts something at a place; no code of a user runs."""
    if kind == CELL:
        cell: CellType = holder
        cell.cell_contents = value
    elif kind == ITEM:
        _plainly(holder).__setitem__(holder, name, value)
    elif kind == VARIABLE:
        holder.set(value)
    else:
        set_plainly(holder, name, value)


def _plainly(holder: Any) -> Any:
    """The class whose methods read and write the items of a container; no code of a user runs."""
    for kind in (dict, list, tuple, deque):
        if isinstance(holder, kind):
            return kind
    return type(holder)


def _replace(holder: Any, others: dict[int, Any]) -> None:
    """Other objects in place of those that a container holds, by id."""
    if not others:
        return
    if isinstance(holder, dict):
        for name in [name for name, held in dict.items(holder) if id(held) in others]:
            dict.__setitem__(holder, name, others[id(dict.__getitem__(holder, name))])
    elif isinstance(holder, list | deque):
        kind: Any = _plainly(holder)
        for i, held in enumerate(list(kind.__iter__(holder))):
            if id(held) in others:
                kind.__setitem__(holder, i, others[id(held)])
    elif isinstance(holder, np.ndarray):  # of objects
        for i, held in enumerate(holder.flat):
            if id(held) in others:
                holder.flat[i] = others[id(held)]
    elif isinstance(holder, set):
        held = [*set.__iter__(holder)]
        if not others.keys().isdisjoint(map(id, held)):  # whose hashes are others by now
            set.clear(holder)
            set.update(holder, [others.get(id(x), x) for x in held])


class _Shown:
    """Values with other objects in place of their Tensors; lists and dicts stay what they are."""

    def __init__(
        self, shown: Callable[[Tensor, bool], Any], originals: Mapping[int, tuple[Any, Any]]
    ) -> None:
        self._shown, self._originals = shown, originals
        self._known: dict[tuple[int, bool], tuple[Any, Any]] = {}  # a tuple is made anew once

    def of(self, value: Any, tensor: bool) -> Any:
        """What a value becomes where a Tensor stood before, or none."""
        if type(value) is Tensor:
            return self._shown(value, tensor)
        if type(value) is Length:
            return int.__index__(value)
        if id(value) in self._originals:
            return self._originals[id(value)][1]
        if not isinstance(value, _HOLDING):
            return value
        key = id(value), tensor
        if key not in self._known:
            self._known[key] = value, value
            self._known[key] = value, self._container(value, tensor)
        return self._known[key][1]

    def _container(self, value: Any, tensor: bool) -> Any:
        if isinstance(value, tuple):
            items = tuple([self.of(x, tensor) for x in value])
            same = all(a is b for a, b in zip(items, value, strict=True))
            return value if same else tuple.__new__(type(value), items)
        if isinstance(value, slice):
            parts = value.start, value.stop, value.step
            found = [self.of(x, tensor) for x in parts]
            return slice(*found) if any(map(is_not, found, parts)) else value
        if isinstance(value, set | frozenset):
            return self._set(value, tensor)
        if isinstance(value, partial):
            parts = value.func, value.args, value.keywords
            found = [self.of(x, tensor) for x in parts]
            if any(map(is_not, found, parts)):
                value.__setstate__((*found, vars(value)))  # type: ignore[attr-defined]
            return value
        if isinstance(value, BaseException):
            args = self.of(value.args, tensor)
            if args is not value.args:
                value.args = args
            self.of(vars(value), tensor)
            return value
        if isinstance(value, FunctionType):
            return self._function(value, tensor)
        if isinstance(value, type(iter([]))):
            for x in value.__reduce__()[1]:  # the list itself
                self.of(x, tensor)
            return value
        if isinstance(value, MappingProxyType):
            for x in get_referents(value):
                self.of(x, tensor)
            return value
        held: Any = vars(value) if isinstance(value, SimpleNamespace) else value
        kind = _plainly(held)
        pairs = dict.items(held) if isinstance(held, dict) else enumerate(kind.__iter__(held))
        changed = [(name, x, self.of(x, tensor)) for name, x in list(pairs)]
        for name, x, found in changed:
            if found is not x:
                kind.__setitem__(held, name, found)
        return value

    def _function(self, value: FunctionType, tensor: bool) -> FunctionType:
        """A function with what it has as defaults; its cells are places of their own."""
        defaults = self.of(value.__defaults__, tensor)
        if defaults is not value.__defaults__:
            value.__defaults__ = defaults
        self.of(value.__kwdefaults__, tensor)
        return value

    def _set(self, value: Any, tensor: bool) -> Any:
        kind = set if isinstance(value, set) else frozenset
        held = [*kind.__iter__(value)]
        found = [self.of(x, tensor) for x in held]
        if not any(map(is_not, found, held)):
            return value
        if kind is frozenset:
            return frozenset(found)
        set.clear(value)
        set.update(value, found)
        return value


def added(operands: tuple[Any, ...], keywords: dict[str, Any]) -> list[Any]:
    """What a method that changes a container may put into it."""
    found: list[Any] = [*keywords.values()]
    for x in operands[1:]:
        found.append(x)
        if isinstance(x, list | tuple | deque):
            found += _plainly(x).__iter__(x)
        elif isinstance(x, dict):
            found += dict.values(x)
    return found
