"""What variables hold where turns of a loop begin, item by item: the slots that turns may change.

A tuple, or a key of JAX, goes item by item, and so does a dictionary that each turn makes anew,
where nobody else has it: what it holds is then that of the next one, and who it is does not matter.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from codegen.ir import Call, Trait, Value
from tracegrad.machine.liveness import live
from tracegrad.tape.views import base_of
from tracegrad.tensors.tensor import Tensor
from tracegrad.world.loops.loop_heads import Head, Leaf, Slot
from tracegrad.world.loops.resumption import is_record, items_of, maker_of
from tracegrad.world.loops.widened_states import Known
from tracegrad.world.loops.written_places import Place, reached_from


class Holding:
    """What a run knows of the variables of its loops."""

    world: Any
    trace: Any
    places: dict[Place, Any]  # that were written to, with what stood there before
    frozen: dict[Value, Head]  # arrays of which nobody knows who has them, too: never written

    def is_recorded(self, x: Any) -> bool:
        """Whether a Tensor is of this run's trace."""
        return type(x) is Tensor and x._traced is not None and x._traced[0] is self.trace

    def _freeze(self, head: Head, x: Any, *values: Value) -> None:
        """An array that a variable has is not written to behind the turns, nor one it shows."""
        of = base_of(x)._traced if type(x) is Tensor else None
        self.frozen.update(dict.fromkeys([*values, *([of[1]] if of else [])], head))

    def _freeze_views(
        self, head: Head, parameters: Sequence[Value], arguments: Sequence[Value]
    ) -> None:
        """Nor are views that variables have still where the loop is left in its first turn."""
        for parameter, value in zip(parameters, arguments, strict=False):
            shown = []
            made = self.trace.builder.producer.get(value)
            while isinstance(made, Call) and Trait.VIEW in made.op.traits:
                shown.append(made.operands[0])
                made = self.trace.builder.producer.get(shown[-1])
            if shown:
                self.frozen.update(dict.fromkeys((parameter, value, *shown), head))

    def _variables(self, head: Head) -> dict[Slot, Leaf]:
        """What the live variables hold where turns begin, and behind them the stack."""
        frame = head.frame
        known = live(frame.code)[head.target]
        found: dict[Slot, Leaf] = {}
        head.twins.clear()
        for i in sorted(known):
            self._leaves(head, (i,), frame.fast[i], found)
        for i, x in enumerate(frame.stack):
            self._leaves(head, (~i,), x, found)
        for place in self.places:
            self._leaves(head, (place,), place.now(), found)
        return found

    def _leaves(self, head: Head, slot: Slot, x: Any, found: dict[Slot, Leaf]) -> None:
        """Notes an object, and what a tuple or dictionary holds: at (variable, place ...)."""
        value = x._traced[1] if self.is_recorded(x) else None
        if slot in head.rebuilt and type(x) is dict:
            keys = tuple(x)
        elif is_record(x) and (items := items_of(x)) and all(map(_is_leaf, items)):
            keys = tuple(range(len(items)))
        else:
            found[slot] = Leaf(x, value)
            return
        first = head.twins.setdefault(id(x), slot) if type(x) is dict else None
        shape = type(x), keys, first  # two variables that have one dictionary do so in all turns
        found[slot] = Leaf(_SHAPES.setdefault(shape, shape), None)
        for key in keys:
            self._leaves(head, (*slot, key), _item(x, key), found)

    def _take_apart(self, head: Head, now: dict[Slot, Leaf]) -> dict[Slot, Leaf]:
        """What variables hold, where dictionaries that a turn made anew go item by item."""
        while True:
            new = [slot for slot, leaf in now.items() if self._is_rebuilt(head, slot, leaf)]
            if not new:
                return now
            head.rebuilt.update(new)
            self._take_apart_before(head, new)
            now = self._variables(head)

    def _take_apart_known(self, head: Head, known: Known) -> None:
        """Before the first turn: dictionaries of which is known that turns make them anew."""
        for slot in sorted(known, key=len):
            for size in range(1, len(slot)):
                leaf = head.before.get(slot[:size])
                if leaf is None or type(leaf.holder) is not dict or slot[size] not in leaf.holder:
                    continue
                if self._is_own(leaf.holder):
                    head.rebuilt.add(slot[:size])
                    self._take_apart_before(head, [slot[:size]])

    def _is_rebuilt(self, head: Head, slot: Slot, leaf: Leaf) -> bool:
        """Whether a variable has another dictionary than before, with the same names in it."""
        if slot not in head.before or type(slot[0]) is not int or on_stack(slot):
            return False
        one, other = head.before[slot].holder, leaf.holder
        if one is other or type(one) is not dict or type(other) is not dict:
            return False
        alike = [*one] == [*other] and all(type(key) is str for key in one)
        return alike and self._is_own(one) and self._is_own(other)

    def _is_own(self, x: dict[str, Any]) -> bool:
        """Whether a dictionary was made in the run, and is as it was made."""
        held = any(place.holder is x for place in self.places)
        return not held and not self.world.is_outside(x) and self.world.original(x) is x

    def _take_apart_before(self, head: Head, slots: Iterable[Slot]) -> None:
        """Notes item by item what dictionaries held where the first turn began."""
        head.twins.clear()
        for slot in slots:
            self._leaves(head, slot, head.before.pop(slot).holder, head.before)

    def _are_alone(self, head: Head) -> bool:
        """Whether nobody else has the dictionaries that go item by item."""
        rebuilt = {slot: held(head.frame, slot) for slot in head.rebuilt}
        if not rebuilt:
            return True
        frame, waiting = head.frame, [*self.world.written_to(), head.frame.closure]
        known = live(frame.code)[head.target]
        waiting += [frame.fast[i] for i in known if (i,) not in rebuilt]
        waiting += frame.stack
        while (frame := frame.back) is not None:
            waiting += [*frame.stack, frame.closure, frame.names, frame.function, *frame.fast]
        sought = {id(x) for x in rebuilt.values()}
        return not reached_from(waiting, self.world.is_outside, sought)


_SHAPES: dict[Any, Any] = {}
"""What stands for tuples and dictionaries of a class with these places."""


def _is_leaf(x: Any) -> bool:
    """Whether something may stand in a tuple that turns change."""
    return type(x) in _LEAVES or (is_record(x) and all(map(_is_leaf, items_of(x))))


_LEAVES = frozenset({Tensor, int, float, bool, str, type(None)})


def with_item(x: Any, places: Slot, item: Any) -> Any:
    """A tuple or dictionary with an item at a place in it."""
    if not places:
        return item
    at: Any = places[0]
    now = with_item(_item(x, at), places[1:], item)
    if type(x) is dict:
        x[at] = now  # whoever has it has what stands for the same
        return x
    items = items_of(x)
    return maker_of(type(x))((*items[:at], now, *items[at + 1 :]))


def _item(x: Any, place: Any) -> Any:
    """What stands at a place in a dictionary, a tuple or a key."""
    return x[place] if type(x) is dict else items_of(x)[place]


def called(head: Head, slot: Slot) -> str:
    """What the user calls what a slot holds."""
    first = slot[0]
    if isinstance(first, Place):
        return first.called
    return "an inner value" if on_stack(slot) else head.frame.program.slots[first]


def kind_of(leaf: Leaf) -> str:
    return "value" if leaf.value is not None else type(leaf.holder).__name__


def on_stack(slot: Slot) -> bool:
    return type(slot[0]) is int and slot[0] < 0


def held(frame: Any, slot: Slot) -> Any:
    """What stands at a place."""
    first = slot[0]
    x = first.now() if isinstance(first, Place) else frame.fast[first]
    for place in slot[1:]:
        x = _item(x, place)
    return x
