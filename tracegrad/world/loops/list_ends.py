"""The last items of lists to which turns append: places that turns write to, as variables are.

``h[-1]``, and ``h[t - 1]`` where the list has `t` items by then, is what the turn before appended:
so it goes from turn to turn. Any other item that is read there leaves the loop unrolled.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from codegen.ir import Call, Value
from tracegrad.differentiation.loops.row_numbers import Row, row_of
from tracegrad.ops.python_lists import collected
from tracegrad.world.loops.loop_heads import Head, Slot
from tracegrad.world.loops.written_places import Place
from tracegrad.world.tensor_places import ITEM

DEEPEST = 4  # so many of the last items go from turn to turn


def tail_of(slot: Slot) -> Place | None:
    """The place of one of a list's last items; None for other slots."""
    place = slot[0]
    if not isinstance(place, Place) or type(place.holder) is not list:
        return None
    return place if type(place.name) is int and place.name < 0 else None


def is_tail(slot: Slot) -> bool:
    """Whether a slot is one of a list's last items."""
    return tail_of(slot) is not None


class Tails:
    """What turns read of the lists that they append to."""

    loops: Any
    trace: Any
    log: list[tuple[list[Any], Any]]
    tracked: dict[int, Head]

    def tail(self, items: list[Any], key: Any) -> Callable[..., Any] | None:
        """What reads an item of a list to which turns append, as far as that is known here."""
        head = next(reversed(self.loops.heads.values()))
        if self.loops.world.is_outside(items):
            return None
        known = next((c for c in head.collects if c.items is items), None)
        if known is not None and known.grows:
            return None
        tracked = self.tracked.get(id(items)) is head and known is not None
        size = len(items)
        if type(key) is int and tracked and 0 <= key < known.before:  # type: ignore[union-attr]
            return lambda *given: items[key]
        new = self._appended(head, known if tracked else None, items)
        if type(key) is int:
            depth = -key
        else:
            depth = self._depth(head, known if tracked else None, items, key, new)
        if not 0 < depth <= size:
            return None
        for i in range(1, depth - new + 1):
            place = Place(ITEM, items, -i)
            at = size - new - i
            if depth - new > DEEPEST or (tracked and (place,) not in head.parameters):
                return None
            if not tracked:
                self.loops.places.setdefault(place, items[at])
        found = items[size - depth]
        if tracked and not self.loops.is_recorded(found):  # turns have been run: see `flush`
            value = self._value_at(head, known, items, depth, new)
            found = self.loops.now(value, found, False)
        return lambda *given: found

    def _value_at(self, head: Head, known: Any, items: list[Any], depth: int, new: int) -> Value:
        """What an item is that this turn has appended, or that goes from turn to turn."""
        if depth > new:
            return head.parameters[Place(ITEM, items, new - depth),]
        return self._of_this_turn(head, known)[-depth]

    def _appended(self, head: Head, known: Any, items: list[Any]) -> int:
        """How many items this turn has appended by now."""
        if known is None:
            return sum(other is items for other, _ in self.log[head.logged :])
        return len(self._of_this_turn(head, known))

    def _of_this_turn(self, head: Head, known: Any) -> list[Value]:
        """What this turn has appended by now."""
        level = self.loops.walk.around(head)
        begin = head.begin if level is None else level.entered + 1
        nodes = self.trace.builder.nodes[begin:]
        calls = [n for n in nodes if isinstance(n, Call) and n.op is collected]
        return [call.operands[1] for call in calls if call.operands[0] is known.parameter]

    def _depth(self, head: Head, known: Any, items: list[Any], key: Any, new: int) -> int:
        """How far from the end the item at a number of turns is, in all turns; 0 where unknown."""
        if not self.loops.counts(key) or head.index is None:
            return 0
        depth = len(items) - int(key._array)
        row = self._number(head, key._traced[1])
        if known is None:
            steady = row is not None and row.index is head.index and type(row.plus) is int
            return depth if steady else 0
        place = self._number(head, known.row)
        if row is None or place is None:
            return 0
        distance = place.minus(row)
        resolved = None if distance is None else self.trace.sizes.resolve(distance)
        return depth if type(resolved) is int and resolved + new == depth else 0

    def _number(self, head: Head, value: Value) -> Row | None:
        assert head.index is not None
        return row_of(self.trace.builder.producer, value, (head.index,))
