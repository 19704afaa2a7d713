"""Containers from outside that a run changes: what they held before, what of it is there still.

What a run reads of a container that it has changed is its own, or stood there before. Guards are
about what stood there before: calls are asked before they change anything.
"""

from __future__ import annotations

from collections import deque
from typing import Any

from tracegrad.world.guards import EACH, KEYS, LENGTH, PRESENT, TYPED, typed

OWN = object()
"""The run put it there."""
ANY = object()
"""All that stood there before decides what it is."""

Fact = tuple[str, Any, Any]


class Changed:
    """One container, from the run's first change of it on."""

    def __init__(self, holder: Any) -> None:
        self.holder = holder
        self.before: Any = _copied(holder)
        self.typed = typed(holder) if isinstance(holder, set) else None
        self.moved = False  # more than items were set: others stand in their places
        self.emptied = False  # at some time: all is the run's own since
        self.at_end = not isinstance(holder, deque)  # of a list: only its end was changed
        self.ahead = len(holder)  # then so many items before that stand where they stood
        self.set: set[tuple[int, bool]] = set()  # places of items, and whether counted from the end
        self.members: set[Any] = set()  # of a set: what was put in or taken out

    def restore(self) -> None:
        """Puts back what was there."""
        if isinstance(self.holder, dict):
            dict.clear(self.holder)
            dict.update(self.holder, self.before)
        else:
            self.holder.clear()
            put = self.holder.update if isinstance(self.holder, set) else self.holder.extend
            put(self.before)

    def clear(self) -> None:
        """All is taken out."""
        self.emptied, self.ahead = True, 0
        self.at_end = not isinstance(self.holder, deque)

    def fact(self, read: str, name: Any, value: Any) -> Fact | None:
        """What a guard on the container as it is now says of it as it was; None where nothing."""
        if self.emptied:
            return None
        if isinstance(self.holder, dict) and read in (LENGTH, KEYS):
            return KEYS, None, tuple(self.before)
        if isinstance(self.holder, set) and read in (LENGTH, TYPED):
            return TYPED, frozenset(self.before), self.typed
        if read == LENGTH:
            return read, None, len(self.before)
        if read == EACH:
            return read, list(self.before), True
        if read == PRESENT:
            return read, name, name in self.before
        return read, name, value

    def source(self, key: int) -> tuple[Any, bool]:
        """Where an item stood that a key gives now, and whether the length before tells that.

        It is a key, `OWN` or `ANY`. From the front, the items that stood there before are known
        whatever the length was; from the end, those that the run put there.
        """
        if self.emptied:
            return OWN, False
        if not self.at_end:
            return ANY, False
        place = key + len(self.holder) if key < 0 else key
        if any(at == place for at, _ in self.set):
            found: Any = OWN
        elif place < self.ahead:
            found = place if key >= 0 else place - len(self.before)
        else:
            found = OWN
        either = place >= self.ahead and key >= 0
        return found, either or any(from_end != (key < 0) for _, from_end in self.set)

    def sets(self, key: Any) -> None:
        """An item gets another value."""
        if type(key) is not int:
            self.at_end = False
        else:
            self.set.add((key + len(self.holder) if key < 0 else key, key < 0))


def _copied(holder: Any) -> Any:
    if isinstance(holder, dict):
        return dict(holder)
    return set(holder) if isinstance(holder, set) else list(holder)
