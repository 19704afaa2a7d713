"""Items of lists, deques and tuples from outside, as the function has them."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

from tracegrad.tensors.tensor import Tensor
from tracegrad.world.changed_containers import ANY, OWN, Changed
from tracegrad.world.container_copies import Copies, renew
from tracegrad.world.events import Told
from tracegrad.world.guards import EACH, ITEM, LENGTH, PLAIN, Guard, Place, place_of

SMALL = 64  # elements of a container that are guarded one by one


class Sequences(Told):
    """The part of a world that reads items by their places, and has copies change with them."""

    copies: Copies
    _by_path: dict[int, Guard]
    _read: dict[Place, tuple[Any, Any]]
    read: Callable[[str, Any, Any, Any, str], Any]
    enter: Callable[[Any, str], Any]
    guard: Callable[[str, Any, Any, Any, str], Guard]
    is_by_path: Callable[[Any], bool]
    items_alone: Callable[[Any], Any]
    enter_from: Callable[[str, Any, Any, Any, str], Any]

    def reads_changed(self, x: Any) -> None:
        """The function reads what a container holds that it has changed, or changes it again."""
        if self.loops is not None:
            self.loops.lists.reads_outside(x)

    def item(self, x: Any, key: int) -> Any:
        """An item of a list or deque from outside."""
        text, changed = f"{self.text_of(x)}[{key}]", self._changed.get(id(x))
        if changed is None:
            return self.read(ITEM, x, key, x[key], text)
        self.reads_changed(x)
        source, by_length = changed.source(key)
        if source is ANY:
            return self.items(x)[key]
        if by_length:
            self.guard(LENGTH, x, None, len(x), f"len({self.text_of(x)})")
        if source is OWN:
            return x[key]
        return self.item_before(x, source, x[key])

    def item_before(self, x: Any, key: int, value: Any) -> Any:
        """An item that stood in a list or deque before the run changed it."""
        text = f"{self.text_of(x)}[{key}]"
        known = self._read.get(place_of(x, key))
        if known is None or known[0] is not value:
            known = value, self.enter_from(ITEM, x, key, value, text)
            self._read.setdefault(place_of(x, key), known)
        return known[1]

    def items(self, x: Any, most: int = SMALL) -> list[Any]:
        """All items of a list or deque from outside: what stood there before is guarded.

        More than `most` are by identity, where the container is.
        """
        text, changed = self.text_of(x), self._changed.get(id(x))
        if changed is not None:
            self.reads_changed(x)
        if changed is not None and changed.emptied:
            return list(x)
        before = x if changed is None else changed.before
        self.guard(LENGTH, x, None, len(x), f"len({text})")
        if len(before) > most and not self.is_by_path(x):
            self.guard(EACH, x, list(before), True, text)
            found = [self.enter(item, f"{text}[{i}]") for i, item in enumerate(before)]
        elif changed is None:
            return [self.read(ITEM, x, i, item, f"{text}[{i}]") for i, item in enumerate(x)]
        else:
            found = [self.item_before(x, i, item) for i, item in enumerate(before)]
        entered = {id(item): own for item, own in zip(before, found, strict=True)}
        return [self._standing(changed, i, entered.get(id(item), item)) for i, item in enumerate(x)]

    def _standing(self, changed: Changed | None, i: int, known: Any) -> Any:
        """An item of a container that the run has changed, of which one of before is `known`."""
        item = changed.holder[i] if changed is not None else known
        if changed is None or type(item) not in PLAIN or known is item:
            return known
        source, _ = changed.source(i)
        if source is ANY:  # equal numbers are one object, wherever they come from
            if type(known) is Tensor:
                operator.index(known)
            self.numbers.look(known)
        return item if source is OWN or source is ANY else known

    def item_of_tuple(self, x: tuple[Any, ...], i: int, text: str = "") -> Any:
        """An item of a tuple from outside; of one that is known by its place it is a guard."""
        text = text or f"{self.text_of(x)}[{i}]"
        if id(x) not in self._by_path:
            return self.enter(x[i], text)
        self.guard(LENGTH, x, None, len(x), f"len({self.text_of(x)})")
        return self.read(ITEM, x, i if i >= 0 else i + len(x), x[i], text)

    def renew_copies(self, x: Any) -> None:
        """The run has changed a container that C code has, or goes through, as a copy."""
        items = self.items_alone(x)
        for copy in self.copies.of(x):
            renew(copy, items)

    def from_c(self, args: Any, kwargs: Any) -> tuple[Any, Any]:
        return self.copies.given(args), self.copies.given(kwargs)
