"""A snapshot and the moment after a trace enter; what the function stored in its state leaves.

A place that held an array, a Tensor, None or nothing and now holds an array or Tensor is a *store*:
a program can return that value and write it there again on every call. Everything else that
changed is an effect that only the function itself can have.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from types import CellType, MappingProxyType
from typing import Any

import numpy as np

from tracegrad.environment.facts import ATTRIBUTE, CELL, GLOBAL, ITEM, MISSING, Guard, same
from tracegrad.tensor import Tensor, wrap

__all__ = ["Store", "stores_of"]

_WRITTEN = {ATTRIBUTE: "{holder}.{name}", GLOBAL: "{holder}[{name!r}]", ITEM: "{holder}[{name!r}]"}


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

    def write(self, value: Any) -> None:
        """Puts a value there: as a Tensor where the function put one."""
        value = self.boxed(value)
        match self.kind:
            case "cell":
                self.holder.cell_contents = value
            case "item":
                self.holder[self.guard.name] = value
            case _:
                setattr(self.holder, self.guard.name, value)

    def boxed(self, value: Any) -> Any:
        """An array of a program as what the function stored: it may have been a Tensor."""
        if isinstance(self.value, Tensor) and not isinstance(value, Tensor):
            return wrap(np.asarray(value))
        return value

    def restore(self) -> None:
        """Puts back what stood there before the trace."""
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

    def target(self, stem: str, names: dict[str, Any]) -> str:
        """The left side of an assignment, over names that are added to `names`."""
        holder = f"stored{stem}"
        names[holder] = self.holder
        if self.kind == "cell":
            return f"{holder}.cell_contents"
        pattern = _WRITTEN[ATTRIBUTE if self.kind == "attribute" else ITEM]
        return pattern.format(holder=holder, name=self.guard.name)


def stores_of(
    guards: Iterable[Guard], classes: dict[int, type]
) -> tuple[list[Store], Guard | None]:
    """The stores among the guards that no longer hold, and the first change that is none.

    `classes` gives the class of a class's dictionary, by the id of that.
    """
    stores: list[Store] = []
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
            return stores, guard
        holder = classes.get(id(guard.holder), guard.holder)
        stores.append(
            Store(guard, holder, now, "attribute" if holder is not guard.holder else kind)
        )
    return stores, None


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
