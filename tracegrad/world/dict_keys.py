"""Keys of dictionaries and items of sets outside: those that every call can find, and put there.

Where code of the user's would tell whether two keys are equal (``__eq__``), nobody follows it, and
no program stands for the call. Nor does one that puts a key there that is another in each call.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from types import (
    BuiltinFunctionType,
    FunctionType,
    MethodType,
    ModuleType,
)
from typing import Any

import numpy as np

from tracegrad.world import native_tables
from tracegrad.world.code_origin import is_trusted
from tracegrad.world.equal_keys import HASHING, PARTS, EqualKeys, compares_in_c
from tracegrad.world.events import Told
from tracegrad.world.guards import PLAIN, Place, place_of


class Keys(Told):
    """The part of a world that knows places by their keys."""

    _scopes: dict[int, Any]
    _own: dict[int, tuple[type, Any]]
    _equal: EqualKeys
    pin: Callable[[Any], None]

    def key(self, holder: Any, key: Any, stays: bool = False) -> Any:
        """A key of a container, or an item of a set, as the caller has it: who it is decides.

        One that `stays` in the container may come back from there.
        """
        self.pin(key)
        if not issubclass(type(holder), HASHING):
            return key
        key = self.hashed(key, stays)
        if type(key) is not str and self.is_outside(holder):
            self._tell_of_key(holder, key, stays)
        return key

    def _tell_of_key(self, holder: Any, key: Any, stays: bool) -> None:
        """The function finds a place outside by a key: calls have to find, and put, the same."""
        if not compares_in_c(key):
            self.effect(f"{self.text_of(holder)}, which compares keys in Python,")
        elif stays and not self._is_found_again(key):
            self.effect(f"{self.text_of(holder)}, which gets a new {type(key).__name__} as a key,")

    def _is_found_again(self, x: Any) -> bool:
        """Whether every call has an object, or makes one that nothing tells from it."""
        kind = type(x)
        if kind in PLAIN or self.is_outside(x):
            return True
        if kind in PARTS:
            return all(map(self._is_found_again, x))
        if isinstance(x, Enum | type):
            return id(kind if isinstance(x, Enum) else x) not in self._own
        if kind is FunctionType:
            return is_trusted(x.__globals__)
        if kind is MethodType:
            return self._is_found_again(x.__self__) and self._is_found_again(x.__func__)
        if kind is BuiltinFunctionType:
            return isinstance(x.__self__, ModuleType | type(None))
        return kind in native_tables.ATOMS or isinstance(x, np.generic | np.dtype)

    def _place(self, holder: Any, name: Any) -> Place:
        """What tells places apart: an attribute is one with its item in ``vars(x)``."""
        holder = self._scopes.get(id(holder), holder)
        if type(name) is not str and issubclass(type(holder), HASHING):
            name = self._equal.first(name)
        return place_of(holder, name)
