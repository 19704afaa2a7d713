"""What classes hold under a name, and which classes they derive from."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any

from tracegrad import machine
from tracegrad.world.code_origin import is_mutable
from tracegrad.world.events import Told
from tracegrad.world.guards import ATTRIBUTE, GLOBAL, Guard

_SCOPES: dict[int, tuple[weakref.ref[type], Any]] = {}
"""The dictionaries of classes, by the id of the class: Python makes a new object for each look."""


class Classes(Told):
    """The part of a world that reads classes."""

    _classes: dict[int, type]
    _orders: dict[int, Any]
    read: Callable[[str, Any, Any, Any, str], Any]
    pin: Callable[[Any], None]
    guard: Callable[[str, Any, Any, Any, str], Guard]
    lacks: Callable[[str, Any, str, str], None]

    def makes(self, cls: type) -> None:
        """The run makes a class: nothing of it is outside. `_own` has it and its scope, by id."""
        known = cls, vars(cls)
        self._own[id(cls)] = self._own[id(known[1])] = known

    def class_attribute(self, cls: type, name: str) -> Any:
        for owner in self.order_of(cls):
            if not is_mutable(owner):
                scope = vars(owner)
                if name in scope:
                    return scope[name]
                continue
            scope = self.scope_of(owner)
            found = scope.get(name, machine.ABSENT)
            if found is not machine.ABSENT:
                return self.read(GLOBAL, scope, name, found, f"{owner.__name__}.{name}")
            self.lacks(GLOBAL, scope, name, f"{owner.__name__}.{name}")
        return machine.ABSENT

    def order_of(self, cls: type) -> tuple[type, ...]:
        """A class and those that it derives from: it may get other bases."""
        order = cls.__mro__
        if cls.__base__ is object or id(order) in self._orders or not is_mutable(cls):
            return order
        self.guard(ATTRIBUTE, cls, "__mro__", order, f"{cls.__name__}.__mro__")
        self.pin(order)
        self._orders[id(order)] = order
        return order

    def scope_of(self, cls: type) -> Any:
        """The dictionary of a class: one object, which it is not for Python."""
        if id(cls) in self._own:
            return self._own[id(cls)][1]
        known = _SCOPES.get(id(cls))
        if known is None or known[0]() is not cls:
            known = _SCOPES[id(cls)] = weakref.ref(cls), vars(cls)
        self._classes[id(known[1])] = cls
        return known[1]
