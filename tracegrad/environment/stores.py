"""A snapshot and the moment after a trace enter; what the function stored in its state leaves.

A place that held an array, a Tensor, None or nothing and now holds an array or Tensor is a *store*:
a program can return that value and write it there again on every call. Everything else that
changed is an effect that only the function itself can have.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from types import CellType, MappingProxyType
from typing import Any

import numpy as np

from tracegrad.environment.facts import ATTRIBUTE, CELL, GLOBAL, ITEM, MISSING, Guard, same
from tracegrad.overlap import wrote
from tracegrad.tensor import Tensor, wrap

__all__ = ["Store", "store_of", "stores_of"]


@dataclass(frozen=True, slots=True)
class Store:
    """A place that the traced function wrote a Tensor or array to."""

    guard: Guard  # what stood there before
    holder: Any  # the object to assign to; for a class attribute the class, not its dictionary
    value: Any  # what stands there now
    kind: str  # "attribute", "item" or "cell"

    @property
    def text(self) -> str:
        """The place as the user would say it: ``self.mean``."""
        return self.guard.text

    @property
    def place(self) -> tuple[int, str, Any]:
        """What tells places apart."""
        return id(self.holder), self.kind, self.guard.name

    @property
    def name(self) -> str:
        """An identifier for what is stored: ``mean`` of ``self.mean``."""
        name = self.guard.name if isinstance(self.guard.name, str) else self.text
        words = re.findall(r"\w+", name)
        return words[-1] if words and words[-1].isidentifier() else "stored"

    def write(self, value: Any) -> None:
        """Puts an array there: as a Tensor where the function put one."""
        wrote(self.holder)
        array = np.asarray(value)
        stored = wrap(array) if isinstance(self.value, Tensor) else array
        match self.kind:
            case "cell":
                self.holder.cell_contents = stored
            case "item":
                self.holder[self.guard.name] = stored
            case _:
                setattr(self.holder, self.guard.name, stored)

    def detach(self) -> None:
        """Leaves a Tensor there without its history, which ends with the call."""
        now = self.guard.now()
        if isinstance(now, Tensor) and (now.requires_grad or now._traced is not None):
            self.write(now._array)

    def restore(self) -> None:
        """Puts back what stood there before the trace."""
        wrote(self.holder)
        match self.kind:
            case "cell" if self.guard.value is MISSING:
                del self.holder.cell_contents
            case "cell":
                self.holder.cell_contents = self.guard.value
            case "item" if self.guard.value is MISSING:
                del self.holder[self.guard.name]
            case "item":
                self.holder[self.guard.name] = self.guard.value
            case _ if self.guard.value is MISSING:
                delattr(self.holder, self.guard.name)
            case _:
                setattr(self.holder, self.guard.name, self.guard.value)


def stores_of(
    guards: Iterable[Guard], classes: dict[int, type]
) -> tuple[list[Store], Guard | None]:
    """The stores among the guards that no longer hold, and the first change that is none.

    `classes` gives the class of a class's dictionary, by the id of that.
    """
    stores: list[Store] = []
    other: Guard | None = None
    moved = [(guard, now) for guard in guards if not same(now := guard.now(), guard.value)]
    in_classes = {id(now) for guard, now in moved if id(guard.holder) in classes}
    for guard, now in moved:
        if guard.read == ATTRIBUTE and not _is_own(guard) and id(now) in in_classes:
            continue  # what an instance has from its class
        kind = _kind(guard)
        if (
            not kind
            or not _stands_for_array(guard.value)
            or not isinstance(now, Tensor | np.ndarray)
        ):
            other = other or guard
            continue
        stores.append(store_of(guard, now, classes))
    return stores, other


def store_of(guard: Guard, value: Any, classes: dict[int, type]) -> Store:
    """Writing a value where a guard reads."""
    holder = classes.get(id(guard.holder), guard.holder)
    kind = "attribute" if holder is not guard.holder else _kind(guard)
    return Store(guard, holder, value, kind)


def _is_own(guard: Guard) -> bool:
    """The attribute is the object's, not its class's."""
    made = getattr(type(guard.holder), guard.name, None)
    return guard.name in getattr(guard.holder, "__dict__", ()) or hasattr(type(made), "__set__")


def _kind(guard: Guard) -> str:
    if guard.read == CELL:
        return "cell" if isinstance(guard.holder, CellType) else ""
    if guard.read == ATTRIBUTE:
        return "attribute"
    if guard.read in (ITEM, GLOBAL):
        writable = isinstance(guard.holder, dict | list | MappingProxyType)
        return "item" if writable else ""
    return ""


def _stands_for_array(value: Any) -> bool:
    return value is None or value is MISSING or isinstance(value, Tensor | np.ndarray)
