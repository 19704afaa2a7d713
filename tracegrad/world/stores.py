"""Places that a function writes to.

A place outside that held an array, a Tensor, None or nothing and now holds an array or Tensor is a
*store*: a program can return that value and write it there again on every call. Whatever else is
written to a place is an effect (`effects.py`).
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from keyword import iskeyword
from types import CellType, MappingProxyType
from typing import Any

import numpy as np

from tracegrad.machine.world_protocol import delete_plainly, set_plainly
from tracegrad.runtime.concurrency import wrote
from tracegrad.tape.write_checks import stamp
from tracegrad.tensors.tensor import Tensor, wrap
from tracegrad.values.dispatch import is_jax_array
from tracegrad.world.guards import ATTRIBUTE, CELL, GLOBAL, ITEM, MISSING, Guard

__all__ = ["Store", "overwritten", "store_of"]


@dataclass(frozen=True, slots=True)
class Store:
    """A place that the traced function wrote a Tensor or array to."""

    guard: Guard  # what stood there before
    holder: Any  # assigned to by the run; for a class attribute the class, not its dictionary
    value: Any  # what stands there now
    kind: str  # "attribute", "item", "cell", or "contents" of an array
    stands: bool = False  # the value stands for an array or number of NumPy's

    @property
    def text(self) -> str:
        """The place as the user would say it: ``self.mean``."""
        return self.guard.text

    @property
    def place(self) -> tuple[Any, ...]:
        """What tells places apart."""
        return self.kind, self.guard.place

    @property
    def name(self) -> str:
        """An identifier for what is stored: ``mean`` of ``self.mean``."""
        name = self.guard.name if isinstance(self.guard.name, str) else self.text
        words = re.findall(r"\w+", name)
        return words[-1] if words and is_name(words[-1]) else "stored"

    def writing(self, value: Any) -> tuple[Callable[..., None], tuple[Any, ...]]:
        """How a call puts an array there, as a Tensor where the function put one.

        Where that is, is found now: what the call writes before may lead elsewhere.
        """
        if self.kind == "contents":
            return _overwrite, (self.guard.now(), value)
        kept = as_kept(value, self.value, self.stands)
        return PUTTING[self.kind], (self.find(), self.guard.name, kept)

    def find(self) -> Any:
        """The object that stands, at this moment, where the holder was read."""
        of = self.guard.of
        return self.holder if of is None else of.now()

    def of_call(self) -> Store:
        """The same place of that object."""
        if self.guard.of is None:
            return self
        return Store(self.guard, self.find(), self.value, self.kind, self.stands)

    def let_go(self, stand_ins: Mapping[int, Any]) -> None:
        """As `Guard.let_go`; the value is one of the trace's."""
        self.guard.let_go(stand_ins)
        object.__setattr__(self, "value", of_kind(self.value))
        object.__setattr__(self, "holder", stand_ins.get(id(self.holder), self.holder))

    def put(self, value: Any) -> None:
        """Puts an object there."""
        wrote(self.holder)
        PUTTING[self.kind](self.holder, self.guard.name, value)

    def remove(self) -> None:
        """Leaves the place empty."""
        wrote(self.holder)
        match self.kind:
            case "cell":
                del self.holder.cell_contents
            case "item":
                del self.holder[self.guard.name]
            case _:
                delete_plainly(self.holder, self.guard.name)

    def clear(self) -> None:
        """Leaves the place empty, which it may be before."""
        with suppress(AttributeError, LookupError, ValueError):
            self.remove()

    def carry(self) -> None:
        """After a run that answers its call itself: an array that it wrote to holds that."""
        if self.kind == "contents":  # where it stood the run may still have a Tensor
            _overwrite(self.holder, self.value._array)

    def restore(self) -> None:
        """Puts back what stood there before the trace."""
        if self.kind == "contents":  # the run worked on a value of its own
            return
        if self.guard.value is MISSING:
            self.remove()
        else:
            self.put(self.guard.value)


PUTTING: dict[str, Callable[[Any, Any, Any], None]] = {
    "attribute": set_plainly,
    "cell": lambda cell, name, value: setattr(cell, "cell_contents", value),
    "item": operator.setitem,
}
"""By kinds of places: what puts a value there."""


def overwritten(stores: Iterable[Any]) -> list[Guard]:
    """Where arrays and Tensors from outside stand whose contents are written, each place once."""
    own = [x for x in stores if isinstance(x, Store) and x.kind == "contents"]
    return [*{store.place: store.guard for store in own}.values()]


def _overwrite(holder: Any, value: Any) -> None:
    """Gives an array, or that of a Tensor, other contents."""
    array = getattr(holder, "_array", holder)
    np.copyto(array, np.asarray(value))
    stamp(array)


def as_kept(value: Any, before: Any, stands: bool) -> Any:
    """An output of a program as what the function had: `before`, a Tensor or array, in its run.

    `stands` tells that the Tensor stands for an array or number of NumPy's. What was computed of
    arrays of JAX is one, as the result is.
    """
    if isinstance(value, Tensor):  # with its history
        if not stands:
            return value
        value = value._array
    if not stands and isinstance(before, Tensor):
        return wrap(value if isinstance(value, np.generic) else np.asarray(value))
    if not stands:
        return np.asarray(value)
    return as_plain(value, kind_kept(before))


class Either:
    """Stands for a number that is NumPy's in some calls, and Python's in others."""


def kind_kept(value: Any) -> type:
    """The class of the array or number that an output is in a run."""
    if isinstance(value, Tensor) and value._traced is not None and value._traced[1].type.either:
        return Either
    return type(getattr(value, "_array", value))


def of_kind(value: Any) -> Any:
    """What tells of which kind an output is, without the memory of the first call's."""
    array = Either() if kind_kept(value) is Either else getattr(value, "_array", value)
    kept = np.empty(0) if isinstance(array, np.ndarray) else array
    return wrap(kept) if isinstance(value, Tensor) else kept


def as_plain(value: Any, kind: type) -> Any:
    """An output of a program as the array of NumPy's, or number, that the function had."""
    if kind is Either or (issubclass(kind, np.ndarray | np.generic) and is_jax_array(value)):
        return value
    if issubclass(kind, np.ndarray):
        return np.asarray(value)
    if issubclass(kind, np.generic):
        return value if isinstance(value, np.generic) else np.asarray(value)[()]
    return value if type(value) is kind else kind(value)  # type: ignore[call-arg]


def is_name(word: str) -> bool:
    """Whether a variable can be called so."""
    return word.isidentifier() and not iskeyword(word)


def store_of(guard: Guard, value: Any, classes: dict[int, type], stands: bool = False) -> Store:
    """Writing a value where a guard reads."""
    holder = classes.get(id(guard.holder), guard.holder)
    kind = "attribute" if holder is not guard.holder else _kind(guard)
    return Store(guard, holder, value, kind, stands)


def _kind(guard: Guard) -> str:
    if guard.read == CELL:
        return "cell" if isinstance(guard.holder, CellType) else ""
    if guard.read == ATTRIBUTE:
        return "attribute"
    if guard.read in (ITEM, GLOBAL):
        writable = issubclass(guard.holder_kind, dict | list | MappingProxyType)
        return "item" if writable else ""
    return ""
