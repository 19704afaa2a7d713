"""Lists that loops have filled, of which the program has arrays: their items are read by number.

An item is a row of the array (`list_item`), at a number, at one that turns count or at one that a
length tells; going through such a list goes through numbers, as going through an array's rows does.
What changes the list, or may, ends that: it is a list like others from there on.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any
from weakref import WeakSet

import numpy as np

from codegen.ir import Value
from codegen.sizes import Dim, Size, add
from tracegrad.ops.python_lists import list_item
from tracegrad.tensors.tensor import Tensor, wrap
from tracegrad.world.lengths import Length
from tracegrad.world.loops.loop_runner import untraced
from tracegrad.world.row_iterators import Items, Rows

KEEPING = frozenset(
    map(id, (bool, operator.truth, operator.is_, operator.is_not, operator.contains, type, id))
)
"""Operations that leave a list as it is, beside those that read it by number."""


@dataclass(eq=False)
class Filled:
    """A list as a loop left it, and the array that stands for it."""

    items: list[Any]
    then: tuple[Any, ...]
    value: Value

    @cached_property
    def ids(self) -> frozenset[int]:
        """The ids of the items, which stay as long as this is known."""
        return frozenset(map(id, self.then))

    @property
    def length(self) -> Dim:
        """How many items there are."""
        return self.value.type.shape[0]


class Held:
    """The items of a list, as turns that are run read them."""

    def __init__(self, items: Sequence[Any]) -> None:
        self.tensors = tuple(items)
        nodes = (getattr(x, "_node", None) for x in items)
        self._node = next((node for node in nodes if node is not None), None)

    def item(self, k: int) -> Any:
        """An item, of no trace."""
        x = self.tensors[k]
        return np.float64(x) if type(x) is float else untraced(x)

    @cached_property
    def _array(self) -> list[Any]:
        return [*map(_array_of, self.tensors)]


def _array_of(x: Any) -> Any:
    """What an item computes with: a number of Python is one of NumPy's."""
    return np.float64(x) if type(x) is float else getattr(x, "_array", x)


class Filling:
    """The lists that loops of one run have filled."""

    loops: Any
    trace: Any
    items: dict[Value, Value]  # the array that they are rows of
    known: dict[int, Filled]
    going: WeakSet[Rows]  # iterators that go through such lists

    def finishes(self, items: list[Any], value: Value) -> None:
        """A loop has filled a list."""
        self.known[id(items)] = Filled(items, tuple(items), value)

    def writes(self, x: Tensor) -> None:
        """A Tensor is written to: it is no row any more."""
        for known in [*self.known.values()]:
            if id(x) in known.ids:
                self.forgets(known.items)

    def filled(self, x: Any) -> Filled | None:
        """What is known of a list that a loop has filled."""
        return self.known.get(id(x)) if type(x) is list else None

    def forgets(self, x: Any) -> None:
        """A list may be changed."""
        known = self.known.pop(id(x), None)
        if known is None:
            return
        self.loops.lengths.fix(known.length)
        for head in self.loops.heads.values():
            self.loops.bar(head, "a list is changed that a loop has filled")
        for rows in [*self.going]:
            if any(type(y) is Items and y.items is x for y in rows.leaves()):
                rows.on_alone()

    def reads(self, operation: Any, operands: Sequence[Any]) -> Callable[..., Any] | None:
        """What is done in place of an operation that reads such a list."""
        known = self.filled(operands[0]) if operands else None
        if known is None:
            grows = operation is operator.getitem and self.loops.heads
            return self.tail(*operands) if grows and type(operands[0]) is list else None
        if operation is len and len(operands) == 1:
            return lambda *given: self.loops.lengths.of(known.length, len(known.items))
        if operation is operator.getitem:
            found = self._at(known, operands[1])
            return None if found is None else lambda *given: found
        return None

    def tail(self, items: list[Any], key: Any) -> Callable[..., Any] | None:
        """What reads an item of a list to which turns append, as far as that is known here."""
        raise NotImplementedError

    def view(self, x: Any) -> Any:
        """Such a list as something that is read by number; others as they are."""
        known = self.filled(x)
        if known is None or not known.items:
            return x
        return Items(x, self.item, known.length)

    def goes(self, rows: Rows) -> None:
        """An iterator was made that may go through such a list."""
        if any(type(x) is Items for x in rows.leaves()):
            self.going.add(rows)

    def item(self, items: list[Any], number: Any) -> Any:
        """The item at a number that turns count."""
        known = self.filled(items)
        found = None if known is None or type(number) is int else self._at(known, number)
        return items[number] if found is None else found

    def _at(self, known: Filled, key: Any) -> Any:
        """The item at a number of Python, a length, or a number of turns; None for other keys."""
        size = len(known.items)
        if type(key) is int:
            if not -size <= key < size:
                return None
            found = known.items[key]
            if key >= 0 or type(found) is not Tensor or found._traced[1] not in self.items:
                return found
            dim = add(known.length, key)
            if not isinstance(self.trace.sizes.resolve(dim), Size):
                return found
            return self._item(known, self.loops.lengths.value(dim), size + key)
        if type(key) is Length and 0 <= int.__index__(key) < size:
            return self._item(known, self.loops.lengths.value(key.dim), int.__index__(key))
        if self.loops.counts(key) and 0 <= int(key._array) < size:
            return self._item(known, key._traced[1], int(key._array))
        return None

    def _item(self, known: Filled, k: Value, number: int) -> Tensor:
        found = known.items[number]
        builder = self.trace.builder
        (value,) = builder.call(list_item, (known.value, k), self.trace.origin())
        if self.loops.heads:
            tensors = self.loops.walk.tensors
            if known.value not in tensors:
                tensors[known.value] = Held(known.items)
        tensor = wrap(_array_of(found), (self.trace, value))
        tensor._node = getattr(found, "_node", None)
        return tensor
