"""Places that a run writes Tensors to, which hold arrays again when it is over.

A function that is called with arrays runs on Tensors that stand for them. What it puts into
attributes, globals, cells and containers meanwhile is to be what it would be without: arrays.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from types import CellType, MemberDescriptorType, SimpleNamespace
from typing import Any

import numpy as np

from tracegrad.machine.world_protocol import get_plainly, set_plainly, type_dict, type_mro
from tracegrad.tensors.tensor import Tensor
from tracegrad.world.guards import ATTRIBUTE as OF_OBJECT
from tracegrad.world.guards import MISSING, Guard

ATTRIBUTE, ITEM, CELL, WITHIN = range(4)
NOTHING = object()
_HOLDING = (Tensor, list, tuple, dict, deque, SimpleNamespace)
_WATCHED = (*_HOLDING, np.ndarray)  # an array may become a Tensor where it stands


class Kept:
    """The places, with what was written there last."""

    def __init__(self) -> None:
        self._places: dict[tuple[int, int, Any], tuple[Any, Any, Any, bool]] = {}

    def writes(self, kind: int, holder: Any, name: Any, value: Any) -> None:
        """The function is about to write a value to a place."""
        if not isinstance(value, _WATCHED):
            return
        key = kind, id(holder), name if isinstance(name, str | int) else id(name)
        known = self._places.get(key)
        tensor = known[3] if known is not None else type(content(kind, holder, name)) is Tensor
        self._places[key] = (holder, name, value, tensor)

    def puts(self, holder: Any, values: Iterable[Any]) -> None:
        """The function is about to put values into a container, somewhere."""
        for value in values:
            if isinstance(value, _WATCHED):
                self._places[WITHIN, id(holder), id(value)] = (holder, value, value, False)

    def values(self) -> list[Any]:
        """What was written."""
        return [value for _, _, value, _ in self._places.values()]

    def swap(self, array: Any, tensor: Tensor) -> None:
        """Puts a Tensor where an array was put, and stands."""
        for (kind, _, _), (holder, name, value, was_tensor) in list(self._places.items()):
            if value is not array:
                continue
            if kind == WITHIN:
                _replace(holder, array, tensor)
                self.puts(holder, [tensor])
            elif content(kind, holder, name) is array:
                put(kind, holder, name, tensor)
                key = kind, id(holder), name if isinstance(name, str | int) else id(name)
                self._places[key] = (holder, name, tensor, was_tensor)

    def settle(self, shown: Callable[[Tensor, bool], Any]) -> None:
        """Puts ``shown(x, whether a Tensor stood there before)`` where a Tensor x was put."""
        for (kind, _, _), (holder, name, value, tensor) in self._places.items():
            if kind == WITHIN:
                _replace(holder, value, _shown(value, tensor, shown, set()))
            elif content(kind, holder, name) is value:
                found = _shown(value, tensor, shown, set())
                if found is not value:
                    put(kind, holder, name, found)
        self._places.clear()


def content(kind: int, holder: Any, name: Any) -> Any:
    """What stands at a place; `NOTHING` where nothing does."""
    try:
        if kind == CELL:
            return holder.cell_contents
        if kind == ITEM:
            return _plainly(holder).__getitem__(holder, name)
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
        if type(found) is MemberDescriptorType:
            return found.__get__(holder)
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
    else:
        set_plainly(holder, name, value)


def _plainly(holder: Any) -> Any:
    """The class whose methods read and write the items of a container; no code of a user runs."""
    for kind in (dict, list, tuple, deque):
        if isinstance(holder, kind):
            return kind
    return type(holder)


def _replace(holder: Any, value: Any, found: Any) -> None:
    """Another object in place of one that a container holds."""
    if found is value:
        return
    if isinstance(holder, dict):
        for name in [name for name, held in dict.items(holder) if held is value]:
            dict.__setitem__(holder, name, found)
    elif isinstance(holder, list | deque):
        kind: Any = _plainly(holder)
        for i in range(kind.__len__(holder) - 1, -1, -1):
            if kind.__getitem__(holder, i) is value:
                kind.__setitem__(holder, i, found)
    elif isinstance(holder, set) and any(held is value for held in holder):
        holder.remove(value)
        holder.add(found)


def _shown(value: Any, tensor: bool, shown: Callable[[Tensor, bool], Any], seen: set[int]) -> Any:
    """A value with other objects in place of its Tensors; lists and dicts stay what they are."""
    if type(value) is Tensor:
        return shown(value, tensor)
    if not isinstance(value, _HOLDING) or id(value) in seen:
        return value
    seen.add(id(value))
    if isinstance(value, tuple):
        items = tuple([_shown(x, tensor, shown, seen) for x in value])
        same = all(a is b for a, b in zip(items, value, strict=True))
        return value if same else tuple.__new__(type(value), items)
    held: Any = vars(value) if isinstance(value, SimpleNamespace) else value
    pairs = dict.items(held) if isinstance(held, dict) else enumerate(_plainly(held).__iter__(held))
    changed = [(name, x, _shown(x, tensor, shown, seen)) for name, x in list(pairs)]
    for name, x, found in changed:
        if found is not x:
            _plainly(held).__setitem__(held, name, found)
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
