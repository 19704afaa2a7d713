"""What variables hold where turns of a loop begin, item by item: the slots that turns may change.

A tuple, or a key of JAX, goes item by item, and so does a dictionary, a short list or an instance
that each turn makes anew, where nobody else has it: what it holds is then that of the next one, and
who it is does not matter.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from enum import IntEnum
from typing import Any, NamedTuple

from codegen.ir import Call, Trait, Value
from codegen.types import LIST, ArrayType
from tracegrad.machine.liveness import live, only_tested
from tracegrad.runtime.array_manners import is_memory
from tracegrad.tape.views import base_of
from tracegrad.tensors.tensor import Tensor
from tracegrad.world.loops.loop_heads import Head, Leaf, Slot
from tracegrad.world.loops.loop_runner import Walk
from tracegrad.world.loops.outside_lists import Added
from tracegrad.world.loops.remade_objects import (
    MOST_ITEMS,
    MOVING,
    contents,
    holds_by_name,
    item_of,
    names_in,
    put_item,
)
from tracegrad.world.loops.resumption import is_record, items_of, maker_of
from tracegrad.world.loops.widened_states import Change, Known, join, type_of
from tracegrad.world.loops.written_places import Place, reached_from, tensors_in
from tracegrad.world.tensor_places import CELL

DEEPEST = 6  # objects in one another that go item by item


class How(IntEnum):
    """How an object changes."""

    ITEM = 0  # something else stands under a name
    LONGER = 1  # something is appended to a list
    MOVED = 2  # what it holds is elsewhere, or gone


class Changed(NamedTuple):
    """An object that is about to change, and what it held until then."""

    holder: Any
    held: dict[Any, Any]
    how: How


class Holding:
    """What a run knows of the variables of its loops."""

    world: Any
    trace: Any
    lists: Any
    walk: Walk
    heads: dict[tuple[int, int], Head]
    places: dict[Place, Any]  # that were written to, with what stood there before
    grown: dict[tuple[Any, int], int]  # turns that filled a list, as a window is, by loop
    changed: list[Changed]  # objects of the run's own, in order
    noted: dict[int, tuple[int, Any]]  # where they stand there last, by id
    _are_one: Callable[[ArrayType, ArrayType], bool]
    frozen: dict[Value, Head]  # arrays of which nobody knows who has them, too: never written

    def is_recorded(self, x: Any) -> bool:
        """Whether a Tensor is of this run's trace."""
        return type(x) is Tensor and x._traced is not None and x._traced[0] is self.trace

    def _freeze(self, head: Head, x: Any, *values: Value) -> None:
        """An array that a variable has is not written to behind the turns, nor one it shows."""
        of = base_of(x)._traced if type(x) is Tensor else None
        self.frozen.update(dict.fromkeys([*values, *([of[1]] if of else [])], head))

    def _spreads_to_written(self) -> bool:
        """Parameters that closed loops give what is frozen are so, too; whether turns write to one.

        A turn of a loop around that has gone on with it is known already, and not recorded again.
        """
        waiting, written = True, False
        while waiting:
            waiting = False
            for cycle, head in self.walk.heads.items():
                given = [cycle.arguments, *(way.arguments or () for way in cycle.ways)]
                for arguments in given:
                    for parameter, value in zip(cycle.parameters, arguments, strict=False):
                        if value in self.frozen and parameter not in self.frozen:
                            self.frozen[parameter] = head
                            waiting, written = True, written or parameter in head.changed
        return written

    def is_written_in_turns(self, x: Any, own: Head | None = None) -> bool:
        """Whether turns of a loop around write to an array, or to one that it is a view of.

        A loop's own turns may hand on what it has moved.
        """
        if type(x) is not Tensor:
            return False
        heads = self.heads.values()
        written = [y for head in heads for y in head.written.values()]
        written += [y for head in heads if head is not own for y in head.moved.values()]
        return any(base_of(x) is base_of(other) for other in written if type(other) is Tensor)

    def _freeze_views(
        self, head: Head, parameters: Sequence[Value], arguments: Sequence[Value]
    ) -> None:
        """Nor are views that variables have still where the loop is left in its first turn.

        An array that turns write to is none: a copy is in a trace what a view is.
        """
        for parameter, value in zip(parameters, arguments, strict=False):
            if parameter in head.written:
                continue
            shown = []
            made = self.trace.builder.producer.get(value)
            while isinstance(made, Call) and Trait.VIEW in made.op.traits:
                shown.append(made.operands[0])
                made = self.trace.builder.producer.get(shown[-1])
            if shown:
                self.frozen.update(dict.fromkeys((parameter, value, *shown), head))

    def _freeze_begins(
        self, head: Head, parameters: Sequence[Value], arguments: Sequence[Value]
    ) -> None:
        """Nor are arrays that a loop begins with, where somebody else has them, too.

        That is the caller, or a variable, or an object in one, that is no parameter; not a list to
        which turns append, whose items are known. A turn may hand such an array on to another
        variable, and none may take place.
        """
        begun = [
            (parameter, value)
            for parameter, value in zip(parameters, arguments, strict=False)
            if parameter not in head.written and value.type.shape
        ]
        if not begun:
            return
        frame = head.frame
        waiting = [frame.fast[i] for i in live(frame.code)[head.target]]
        while frame is not None:
            waiting += (*frame.stack, frame.closure)
            frame = frame.back
            waiting += () if frame is None else frame.fast
        lists = {id(known.items) for known in head.collects}
        held = tensors_in(waiting, lambda x: id(x) in lists or self.world.is_outside(x))
        others = None if held is None else {x._traced[1] for x in held if self.is_recorded(x)}
        for parameter, value in begun:
            outside = value not in self.trace.builder.producer
            if outside or others is None or value in others:
                self.frozen.update(dict.fromkeys((parameter, value), head))

    def _let_go(self, head: Head, known: dict[Slot, Leaf]) -> None:
        """Forgets what a turn wrote to objects of its own: a turn that is over has none."""
        new = [place for place in self.places if (place,) not in known]
        if new:
            left = self.has_in_next_turn(head, {id(place.holder) for place in new})
            for place in new:
                if id(place.holder) not in left:
                    del self.places[place]

    def _freeze_what_others_have(self, head: Head, now: Mapping[Slot, Leaf]) -> None:
        """Nor, where turns hand on arrays that they write to, are arrays that others have, too."""
        if not head.moved:
            return
        handed = {
            id(leaf.holder): (parameter, leaf.holder)
            for slot, leaf in now.items()
            if type(leaf.holder) is Tensor and (parameter := head.parameters.get(slot)) is not None
            if parameter not in head.written
        }
        own = {slot[0] for slot in head.parameters if is_variable(slot)}
        for key in self.has_in_next_turn(head, {*handed}, own):
            parameter, x = handed[key]
            self._freeze(head, x, parameter)

    def has_in_next_turn(self, head: Head, sought: set[int], but: Collection[Any] = ()) -> set[int]:
        """Which of these objects (ids) the function still has at the beginning of a turn.

        It is not looked for in the variables in `but`.
        """
        world, frame = self.world, head.frame
        left = {key for key in sought if world.is_outside_id(key)}
        if left == sought:
            return left
        waiting = [*world.written_to()]
        waiting += [frame.fast[i] for i in live(frame.code)[head.target] if i not in but]
        while frame is not None:
            waiting += [*frame.stack, frame.closure, frame.names, frame.function]
            frame = frame.back
            waiting += [] if frame is None else frame.fast
        return left | reached_from(waiting, world.is_outside, sought - left)

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
        for place in sorted(self.places, key=lambda place: place.kind != CELL):
            if id(place.holder) not in head.twins:
                self._leaves(head, (place,), place.now(), found)
        for known in head.added.values():
            self._leaves(head, (known,), known.items, found)
        self._are_theirs(head)
        return found

    def _are_theirs(self, head: Head) -> None:
        """Places in objects that go item by item are items of these, and no slots besides."""
        for place in [*self.places]:
            if id(place.holder) in head.twins:
                del self.places[place]
                head.before.pop((place,), None)

    def _leaves(
        self,
        head: Head,
        slot: Slot,
        x: Any,
        found: dict[Slot, Leaf],
        held: Mapping[Any, Any] | None = None,
    ) -> None:
        """Notes an object, and what a tuple or such an object holds: at (variable, place ...).

        What it has held may be known to be something else than what it holds.
        """
        value = x._traced[1] if self.is_recorded(x) else None
        keys = names_in(x) if slot in head.rebuilt else None
        first = None if keys is None else head.twins.setdefault(id(x), slot)
        if keys is None and is_record(x) and (items := items_of(x)) and all(map(_is_leaf, items)):
            keys = tuple(range(len(items)))
        elif held is not None:
            keys = tuple(held)
        if keys is None:
            found[slot] = Leaf(x, value)
            return
        limit = x.maxlen if type(x) is deque else None
        shape = type(x), keys, first, limit  # two variables that have one object do so in all turns
        found[slot] = Leaf(_SHAPES.setdefault(shape, shape), None)
        for key in keys:
            item = _item(x, key) if held is None else held[key]
            self._leaves(head, (*slot, key), item, found)

    def _held_before(self, head: Head, known: Known) -> dict[Slot, Leaf]:
        """What variables hold before the first turn.

        Places outside, to which turns are known to write, are variables as well.
        """
        for slot in known:
            place = slot[0]
            if isinstance(place, Added) and self.world.reaches(place):
                self.lists.expects(head, place.holder)
            elif isinstance(place, Place) and place not in self.places:
                self.world.expects(place)
        return self._variables(head)

    def _learn_of_place(
        self, slot: Slot, leaf: Leaf, begun: Leaf | None, parameter: Value | None
    ) -> Known | None:
        """What is learned of a place outside that a turn may write to; None where that is nothing.

        A number or array of the same type stands there: it is a parameter of all turns.
        """
        place: Any = slot[0]
        if begun is None:
            begun = self._begun_at(slot)
        elif parameter is None and leaf.holder is begun.holder and leaf.value is begun.value:
            return {}
        if begun is None:
            return None
        type_ = type_of(begun) if parameter is None else parameter.type
        known = self.world.with_way(place) if len(slot) == 1 else None
        alike = is_memory(begun.holder) == is_memory(leaf.holder)
        if known is None or not alike or join(type_, type_of(leaf), self._are_one) != Change(0):
            return None
        return {(known,): Change.BOUND}

    def _begun_at(self, slot: Slot) -> Leaf | None:
        """What stood at a place before the turn that is the first to write there."""
        place: Any = slot[0]
        if len(slot) > 1 or place not in self.places:
            return None
        before = self.places[place]
        return Leaf(before, before._traced[1] if self.is_recorded(before) else None)

    def _take_apart(self, head: Head, now: dict[Slot, Leaf]) -> dict[Slot, Leaf]:
        """What variables hold, where objects that a turn made anew go item by item."""
        while True:
            new = [slot for slot, leaf in now.items() if self._is_rebuilt(head, slot, leaf)]
            if not new:
                return now
            head.rebuilt.update(new)
            self._take_apart_before(head, new)
            now = self._variables(head)

    def _take_apart_known(self, head: Head, known: Known) -> None:
        """Before the first turn: objects of which is known that turns make them anew."""
        for slot in sorted(known, key=len):
            for size in range(1, len(slot)):
                leaf = head.before.get(slot[:size])
                if leaf is None or slot[size] not in (names_in(leaf.holder) or ()):
                    continue
                if self._is_own(leaf.holder):
                    head.rebuilt.add(slot[:size])
                    self._take_apart_before(head, [slot[:size]])

    def _is_rebuilt(self, head: Head, slot: Slot, leaf: Leaf) -> bool:
        """Whether a variable has another object than before, with the same names in it.

        Or the same, in which a turn has moved what it holds.
        """
        if slot not in head.before or on_stack(slot) or self._is_of_others(slot[0]):
            return False
        one, other = head.before[slot].holder, leaf.holder
        if type(one) is not type(other) or len(slot) > DEEPEST or names_in(other) is None:
            return False
        if not (self._is_own(one) and self._is_own(other)):
            return False
        if one is other:
            changed = self.changed[head.noted :]
            moved = any(x.holder is one and x.how is How.MOVED for x in changed)
        else:
            moved = self._is_gone(head, one)
        return moved and (*self._held_at_first(head, one),) == names_in(other)

    def _is_of_others(self, place: Any) -> bool:
        """Whether a slot is a place in an object of which it is not known what else it holds."""
        if not isinstance(place, Place) or place.kind == CELL:
            return False
        return not self._is_own(place.holder) or names_in(place.holder) is None

    def _lasting(self, head: Head, slot: Slot) -> Slot | None:
        """A slot by which other runs know it, too; None where there is none.

        A place in an object of this run's own is an item of the variable that has the object; not
        one in a list, which turns may read by number.
        """
        place: Any = slot[0]
        if not isinstance(place, Place):
            return slot
        if place.kind == CELL or type(place.holder) is list or self._is_of_others(place):
            return None
        fast = head.frame.fast
        having = (i for i in sorted(live(head.frame.code)[head.target]) if fast[i] is place.holder)
        i = next(having, None)
        return None if i is None else (i, place.name, *slot[1:])

    def _is_own(self, x: Any) -> bool:
        """Whether an object was made in the run, and is known as nothing else."""
        known = self.lists.read_by_number(x) or (type(x) is list and self.lists.stands(x))
        return not known and not self.world.is_outside(x) and self.world.original(x) is x

    def is_moving(self, x: Any) -> bool:
        """Whether the run has made a container in which what it holds may be moved."""
        return type(x) in MOVING and not self.world.is_outside(x)

    def notes(self, x: Any, how: How = How.ITEM) -> None:
        """An object is about to change: what one of the run's own holds until then is noted."""
        if not holds_by_name(x) or self.world.is_outside(x):
            return
        since = max((head.noted for head in self.heads.values()), default=0)
        at, _ = self.noted.get(id(x), (-1, None))
        if at < since or how > self.changed[at].how:
            self.noted[id(x)] = len(self.changed), x
            self.changed.append(Changed(x, contents(x), how))

    def _notes_all(self, frame: Any, slot: Slot) -> None:
        """The same of what stands around a place that is about to get something else."""
        first = slot[0]
        if isinstance(first, Place):
            self.notes(first.holder)
        x = first.now() if isinstance(first, Place) else frame.fast[first]
        for place in slot[1:]:
            self.notes(x)
            x = _item(x, place)

    def _held_at_first(self, head: Head, x: Any) -> dict[Any, Any]:
        """What an object held where the first turn began."""
        changed = next((other for other in self.changed[head.noted :] if other.holder is x), None)
        return contents(x) if changed is None else changed.held

    def _is_gone(self, head: Head, x: Any) -> bool:
        """Whether what a turn has done to an object does not matter: nobody has it any more."""
        changed = any(other.holder is x for other in self.changed[head.noted :])
        return not changed or not self.has_in_next_turn(head, {id(x)})

    def _moves(self, head: Head) -> bool:
        """Whether a turn moved what an object holds that is there in the next one, as a whole."""
        moved = {id(other.holder) for other in self.changed[head.noted :] if other.how is How.MOVED}
        moved -= head.twins.keys()
        return bool(moved) and bool(self.has_in_next_turn(head, moved))

    def grows(self, head: Head) -> bool:
        """Whether a turn made a short list or deque longer, which may be full soon."""
        longer = [
            other.holder
            for other in self.changed[head.noted :]
            if other.how is not How.ITEM and len(other.held) < len(other.holder) <= MOST_ITEMS
        ]
        return bool(longer) and bool(self.has_in_next_turn(head, {*map(id, longer)}))

    def _take_apart_before(self, head: Head, slots: Iterable[Slot]) -> None:
        """Notes item by item what objects held where the first turn began."""
        head.twins.clear()
        for slot in slots:
            x = head.before.pop(slot).holder
            head.apart.append(x)
            self._leaves(head, slot, x, head.before, self._held_at_first(head, x))
        self._are_theirs(head)

    def goes_item_by_item(self, x: Any) -> bool:
        """Whether an object may be one that turns make anew."""
        made_anew = any(head.rebuilt for head in self.heads.values())
        return made_anew and names_in(x) is not None and not self.world.is_outside(x)

    def _are_alone(self, head: Head, now: Mapping[Slot, Leaf]) -> bool:
        """Whether nobody else has the objects that go item by item."""
        if not head.twins:
            return True
        frame = head.frame
        waiting = [*self.world.written_to(), frame.closure, *(leaf.holder for leaf in now.values())]
        while (frame := frame.back) is not None:
            waiting += [*frame.stack, frame.closure, frame.names, frame.function, *frame.fast]
        places = {slot[0] for slot in now if isinstance(slot[0], Place)}
        cells = {id(place.holder) for place in places if place.kind == CELL}
        apart = {s[0] for s in head.rebuilt if isinstance(s[0], Place) and s[0].kind != CELL}
        holders = {id(place.holder): place.holder for place in apart}
        for place in apart:  # what else stands beside it
            beside = contents(place.holder).items()
            waiting += [x for name, x in beside if place.beside(name) not in apart]

        def is_seen(x: Any) -> bool:
            return id(x) in cells or id(x) in holders or self.world.is_outside(x)

        return not reached_from(waiting, is_seen, head.twins)


_SHAPES: dict[Any, Any] = {}
"""What stands for tuples and such objects of a class with these places."""


def _is_leaf(x: Any) -> bool:
    """Whether something may stand in a tuple that turns change."""
    if type(x) in _LEAVES or names_in(x) is not None:
        return True
    return is_record(x) and all(map(_is_leaf, items_of(x)))


_LEAVES = frozenset({Tensor, int, float, bool, str, type(None)})


def with_item(x: Any, places: Slot, item: Any) -> Any:
    """A tuple or such an object with an item at a place in it."""
    if not places:
        return item
    at: Any = places[0]
    now = with_item(_item(x, at), places[1:], item)
    if not is_record(x):
        put_item(x, at, now)  # whoever has it has what stands for the same
        return x
    items = items_of(x)
    return maker_of(type(x))((*items[:at], now, *items[at + 1 :]))


def _item(x: Any, place: Any) -> Any:
    """What stands at a place in such an object, a tuple or a key."""
    return items_of(x)[place] if is_record(x) else item_of(x, place)


def called(head: Head, slot: Slot) -> str:
    """What the user calls what a slot holds."""
    first = slot[0]
    if isinstance(first, Place):
        return first.called
    return "an inner value" if on_stack(slot) else head.frame.program.slots[first]


def kind_of(leaf: Leaf) -> str:
    return "value" if leaf.value is not None else type(leaf.holder).__name__


def as_another(leaf: Leaf, parameter: Value) -> str:
    """What a value is that is not of the type that a turn begins with."""
    if leaf.value is not None and leaf.value.type != LIST and parameter.type != LIST:
        ours, begun = leaf.value.type, parameter.type
        if (ours.dtype, ours.weak, ours.ndim) == (begun.dtype, begun.weak, begun.ndim):
            return f"an array of {'another length' if ours.ndim == 1 else 'other lengths'}"
    return f"a {kind_of(leaf)} of another type"


def on_stack(slot: Slot) -> bool:
    return type(slot[0]) is int and slot[0] < 0


def is_variable(slot: Slot) -> bool:
    """Whether a slot is a variable itself, no place and no item of what one holds."""
    return len(slot) == 1 and type(slot[0]) is int and slot[0] >= 0


def held(frame: Any, slot: Slot) -> Any:
    """What stands at a place."""
    first = slot[0]
    x = first.now() if isinstance(first, Place) else frame.fast[first]
    for place in slot[1:]:
        x = _item(x, place)
    return x


def is_flag(head: Head, slot: Slot, x: Any) -> bool:
    """Whether a variable has a bool, and the function only asks whether it is true."""
    return type(x) is bool and len(slot) == 1 and slot[0] in only_tested(head.frame.code)
