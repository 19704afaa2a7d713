"""Lists of which the program has arrays: their items are read by number.

Loops have filled them, or they hold arrays of one type (`uniform_lists.py`). An item is a row of
the array (`list_item`), at a number, at one that turns count or at one that a length tells; going
through such a list goes through numbers, as going through an array's rows does. What changes the
list, or may, ends that: it is a list like others from there on.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any
from weakref import WeakSet

from codegen.ir import NOWHERE, Origin, Value
from codegen.sizes import Dim, Size, add
from tracegrad.ops.elementwise.ufuncs import subtract
from tracegrad.ops.python_lists import list_item
from tracegrad.tape.tape import parent_of
from tracegrad.tensors.tensor import Tensor, wrap
from tracegrad.world.lengths import Length
from tracegrad.world.loops.loop_runner import Held, array_of, shows
from tracegrad.world.loops.uniform_lists import Uniform
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
    saved: Value | None = None  # how many items there are, where the data tell that
    some: bool = True  # there is one: it has been looked
    before: int = 0  # then: so many were there before the loop
    origin: Origin = NOWHERE  # then: the line of the loop

    @cached_property
    def ids(self) -> frozenset[int]:
        """The ids of the items, which stay as long as this is known."""
        return frozenset(map(id, self.then))

    @property
    def length(self) -> Dim:
        """How many items there are."""
        return self.value.type.shape[0]


class Filling:
    """The lists that loops of one run have filled."""

    loops: Any
    trace: Any
    items: dict[Value, Value]  # the array that they are rows of
    known: dict[int, Filled]
    stand_ins: set[Value]  # what Tensors are that stand for items
    going: WeakSet[Rows]  # iterators that go through such lists

    def is_item(self, x: Any) -> bool:
        """Whether a Tensor stands for an item that was read at a number of the program."""
        return self.loops.is_recorded(x) and x._traced[1] in self.stand_ins

    def finishes(self, items: list[Any], value: Value) -> None:
        """A loop has filled a list."""
        self.known[id(items)] = Filled(items, tuple(items), value)

    def filled_again(self, value: Value, items: Sequence[Any]) -> list[Any]:
        """A list that a loop has filled, made again."""
        made = [*items]
        self.finishes(made, value)
        return made

    def writes(self, x: Tensor) -> None:
        """A Tensor is written to: it is no row any more."""
        for known in [*self.known.values()]:
            if id(x) in known.ids:
                self.forgets(known.items)

    def read_by_number(self, x: Any) -> Filled | Uniform | None:
        """What is known of a list whose items are rows of arrays of the program."""
        return self.known.get(id(x)) if type(x) in (list, tuple) else None

    def filled(self, x: Any) -> Filled | None:
        """What is known of a list that a loop has filled."""
        known = self.read_by_number(x)
        return known if isinstance(known, Filled) else None

    def grown(self, x: Any) -> Filled | None:
        """What is known of a list of which the data tell how many items it has."""
        raise NotImplementedError

    def forgets(self, x: Any) -> None:
        """A list may be changed."""
        known = self.known.get(id(x))
        if known is None:
            return
        self.known = {key: other for key, other in self.known.items() if other is not known}
        self.loops.lengths.fix(known.length)
        if isinstance(known, Filled):
            self.one_by_one(known)
        for head in self.loops.heads.values():
            self.loops.bar(head, "a list is changed of which items are read by number")
        for rows in [*self.going]:
            if any(type(y) is Items and y.items is known.items for y in rows.leaves()):
                rows.on_alone()

    def one_by_one(self, known: Filled) -> None:
        """The items are needed as they are."""
        raise NotImplementedError

    def _look_for(self, known: Filled, number: int) -> bool:
        """Whether there are more items than that."""
        raise NotImplementedError

    def reads(self, operation: Any, operands: Sequence[Any]) -> Callable[..., Any] | None:
        """What is done in place of an operation that reads such a list."""
        known = self.read_by_number(operands[0]) if operands else None
        if known is None:
            return self._reads_unknown(operation, operands) if self.loops.heads else None
        if operation in (bool, operator.truth) and self.grown(operands[0]) is not None:
            return lambda *given: True  # it has been looked
        if operation is len and len(operands) == 1 and isinstance(known, Filled):
            return lambda *given: self.loops.lengths.of(known.length, len(known.items))
        if operation is operator.getitem:
            found = self._at(known, operands[1])
            return None if found is None else lambda *given: found
        return None

    def _reads_unknown(self, operation: Any, operands: Sequence[Any]) -> Callable[..., Any] | None:
        """What is done in a turn in place of an operation on a list of which no array is known."""
        if operation is not operator.getitem:
            return None
        items, key = operands
        found = self.tail(items, key) if type(items) is list else None
        if found is None and self.loops.counts(key):
            self.uniform(items)  # the run may be made again, with the list known
        return found

    def tail(self, items: list[Any], key: Any) -> Callable[..., Any] | None:
        """What reads an item of a list to which turns append, as far as that is known here."""
        raise NotImplementedError

    def view(self, x: Any) -> Any:
        """Such a list as something that is read by number; others as they are."""
        known = self.read_by_number(x) or self.uniform(x)
        if known is None or not known.items:
            return x
        return Items(known.items, self.item, known.length)

    def goes(self, rows: Rows) -> None:
        """An iterator was made that may go through such a list."""
        if any(type(x) is Items for x in rows.leaves()):
            self.going.add(rows)

    def item(self, items: list[Any], number: Any) -> Any:
        """The item at a number that turns count."""
        known = self.read_by_number(items)
        found = None if known is None or type(number) is int else self._at(known, number)
        return items[number] if found is None else found

    def _at(self, known: Filled | Uniform, key: Any) -> Any:
        """The item at a number of Python, a length, or a number of turns; None for other keys."""
        size = len(known.items)
        if isinstance(known, Uniform):
            if not self.loops.counts(key) or not -size <= int(key._array) < size:
                return None
            return self.uniform_item(known, key._traced[1], int(key._array))
        if type(key) is int and known.saved is not None and 0 <= key < known.before:
            return known.items[key]
        if type(key) is int and known.saved is not None:
            least = -key - 1 if key < 0 else key
            if (least and not self._look_for(known, least)) or not -size <= key < size:
                return None
            k = self.loops.lengths.value(abs(key))
            if key < 0:  # not as a length: it may be fixed later, when the item has been read
                (k,) = self.trace.builder.call(subtract, (known.saved, k), self.trace.origin())
            return self._item(known, k, key % size)
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
        if type(key) is Length and known.saved is None and 0 <= int.__index__(key) < size:
            return self._item(known, self.loops.lengths.value(key.dim), int.__index__(key))
        if self.loops.counts(key) and 0 <= int(key._array) < size:
            return self._item(known, key._traced[1], int(key._array))
        return None

    def _item(self, known: Filled, k: Value, number: int) -> Tensor:
        found = known.items[number]
        builder = self.trace.builder
        (value,) = builder.call(list_item, (known.value, k), self.trace.origin())
        self.stand_ins.add(value)
        if self.loops.heads:
            tensors = self.loops.walk.tensors
            if known.value not in tensors:
                tensors[known.value] = Held(known.items, known.value.type.either)
        shows(self.trace, value, known.items)
        array = getattr(found, "_array", found) if value.type.either else array_of(found)
        tensor = wrap(array, (self.trace, value))
        tensor._node = parent_of(found)
        return tensor
