"""Lists to which each turn of a loop appends one array: in the program, arrays that turns fill.

In a turn that is recorded over parameters such a list has a parameter besides, an array with a row
for each turn, and appending puts a row there (`collected`). Behind the loop the function has its
own list, of which each item is a row; stacking the list gives the array itself. Of lists to which
some turns alone append, or of which the loop is left before its last turn, see `growing_lists.py`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any
from weakref import WeakSet

import numpy as np

from codegen.ir import Call, Origin, Value
from codegen.sizes import add as add_dims
from codegen.sizes import symbols
from codegen.types import LIST, ArrayType
from tracegrad.differentiation.loops.residuals import Unrollable
from tracegrad.ops.elementwise.ufuncs import add, alias, floor_divide, subtract
from tracegrad.ops.python_lists import (
    FILLING,
    array_of_numbers,
    collected,
    list_item,
    room_for_numbers,
    row_list,
)
from tracegrad.ops.shape.creation import zeros_of_shape
from tracegrad.ops.shape.joining import stack
from tracegrad.tape.tape import parent_of
from tracegrad.tensors.tensor import Tensor, wrap
from tracegrad.world.loops.filled_lists import Filling
from tracegrad.world.loops.growing_lists import GROWING, Growing
from tracegrad.world.loops.list_ends import Tails, tail_of
from tracegrad.world.loops.loop_heads import INT, Head
from tracegrad.world.loops.loop_runner import outside_of_traces, shows, untraced
from tracegrad.world.loops.outside_lists import OutsideLists
from tracegrad.world.loops.resumption import MOST_KNOWN, reached
from tracegrad.world.loops.shared_rows import SharedRows
from tracegrad.world.loops.uniform_lists import Uniform, Uniforms
from tracegrad.world.loops.widened_states import Change, Known, fills, grows
from tracegrad.world.loops.written_places import Place
from tracegrad.world.tensor_places import ITEM

STACKING = frozenset(map(id, (np.stack, np.array, np.asarray, stack)))
MOST_BEFORE = 8  # items that a list has before the loop


@dataclass(eq=False)
class Collected:
    """A list, and the array that stands for it in a loop."""

    head: Head
    items: list[Any]
    parameter: Value | None  # None until the first turn appends, where that is over parameters
    row: Value | None  # the place of this turn's row; None where the list grows
    before: int  # items before the first turn
    first: tuple[Value, ...]  # what the first turn appended, where that is not over parameters
    begins: list[Any]  # what the list held when the loop was opened
    own: bool  # a turn of a loop around has made it: it is made again where frames are put back
    lengths: set[str] = field(default_factory=set)  # names of those known before the loop
    values: set[Value] = field(default_factory=set)  # what turns have appended
    fresh: bool = True  # each turn has made what it appended
    last: Any = None  # the Tensor of the variable that is the last item behind the loop
    last_parameter: Value | None = None
    of: ArrayType | None = None  # an item's type, of a list that grows and has some

    @property
    def grows(self) -> bool:
        """Whether the data tell how many items there will be: see `growing_lists.py`."""
        return self.row is None


class Lists(Growing, Tails, Filling, SharedRows, Uniforms, OutsideLists):
    """The lists of one run to which loops append."""

    def __init__(self, loops: Any) -> None:
        self.loops = loops
        self.trace = loops.trace
        self.log: list[tuple[list[Any], Any]] = []
        self.tracked: dict[int, Head] = {}
        self.items, self.opened, self.closed = {}, [], {}
        self.known, self.listed, self.stand_ins = {}, {}, set()
        self.going = WeakSet()
        self.of_arguments: dict[Value, Value] = {}  # the arguments, of lists of any length

    def appends(self, items: list[Any], x: Any) -> None:
        """The function is about to append to a list of its own."""
        self.forgets(items)
        self.log.append((items, x))
        head = self.tracked.get(id(items))
        for other in self.loops.heads.values():
            going = other.open or other.cycle is not None
            if other is not head and going and self._had(other, items):
                self.loops.bar(other, "a list is appended to that the loop around knows too")
        if head is None:
            return
        known = next(c for c in head.collects if c.items is items)
        if known.grows:
            self.grows(head, known, x)
            return
        value = x._traced[1] if self.loops.is_recorded(x) else None
        if known.parameter is None and value is not None:
            known.parameter = self._expected(known, value.type)
        rows = known.parameter
        if value is not None and rows is not None and value.type.either > rows.type.either:
            slot = self.slots_of(head.before).get(id(items))
            self.loops._learns(head, {slot: Change.FILLED | Change.WIDENED} if slot else {})
        if value is None or rows is None or not self._fits(value.type, rows.type) or x._view:
            self.loops.bar(head, "what is appended is not like what the first turn appended")
            return
        if self.loops.is_written_in_turns(x):
            self.loops.bar(head, "an array is appended that turns write to")
            return
        level = self.loops.walk.around(head)
        self.appends_to(known, value, head.begin if level is None else level.entered + 1)
        builder = self.trace.builder
        builder.call(collected, (rows, value, known.row), rows.origin)
        head.further.add(builder.nodes[-1])

    def writes(self, x: Tensor) -> None:
        self.departs_from_shared(x)
        super().writes(x)
        for head in {id(h): h for h in self.tracked.values()}.values():
            if any(item is x for known in head.collects for item in known.items):
                self.loops.bar(head, "an array is written to that a list has")

    def touches(self, operands: Sequence[Any], keeps: bool = False, changes: bool = True) -> None:
        """The function does something else with these, and maybe `keeps` them as they are."""
        for x in operands:
            if not changes and isinstance(self.read_by_number(x), Uniform):
                continue
            head = self.tracked.get(id(x)) if type(x) is list else None
            if head is not None:
                self.looks_at(x)
                self.loops.bar(head, "a list to which turns append is used as a whole")
            if not keeps:
                self.forgets(x)
            self.counts(x)

    def counts(self, x: Any) -> None:
        """The function sees how many items a list has that turns have appended to."""
        known = self.filled(x)
        if known is not None:
            self.loops.lengths.fix(known.length)

    def is_left_early(self, head: Head) -> None:
        """A loop is left before its last turn."""
        level = self.loops.walk.around(head)
        nodes = self.trace.builder.nodes[level.entered + 1 :]
        for known in head.collects:
            self.ends_growing(head, known, self.list_now(known, nodes))

    def leave(self, outputs: Sequence[Value]) -> None:
        """The program gives these: items of such lists are of a list of this length."""
        for value in outputs:
            if value not in self.items:
                continue
            length = self.trace.sizes.resolve(self.items[value].type.shape[0])
            if any(name in self.trace.sizes.data for name in symbols(length)):
                raise Unrollable("a list whose length the data tell is returned")
            self.loops.lengths.settle(length, "the list is returned")

    def _fits(self, type: ArrayType, of: ArrayType) -> bool:
        sizes = self.trace.sizes
        same = (type.dtype, type.weak) == (of.dtype, False) and len(type.shape) + 1 == len(of.shape)
        return same and type.either <= of.either and all(map(sizes.same, type.shape, of.shape[1:]))

    # -- opening and closing ----------------------------------------------------------------------

    def expect(self, head: Head, known: Known) -> bool:
        """Before the first turn: whether lists that turns are known to append to may be arrays.

        What is in them is known when that turn appends.
        """
        head.collects, head.further = [], set()
        slots = {slot: grows(change) for slot, change in known.items() if fills(change)}
        if slots and not (self.may_grow() if any(slots.values()) else head.index is not None):
            return False
        if head.index is None and not all(slots.values()):
            return False
        names = {*self.trace.sizes.seen} - self.trace.sizes.counters.keys()
        for slot in slots:
            items = head.before[slot].holder if slot in head.before else None
            if type(items) is not list or self.loops.world.is_outside(items):
                return False
            if id(items) in self.tracked or len(items) > MOST_BEFORE:
                return False
            if slots[slot]:
                if not self.may_begin(items):
                    return False
                self._open_growing(head, items, (), names)
                continue
            row = self._row(head, len(items))
            own = self._is_made_in_turn(items)
            opened = Collected(head, items, None, row, len(items), (), [*items], own)
            self._opens(opened, names)
        return True

    def _opens(self, known: Collected, lengths: set[str]) -> None:
        known.lengths = lengths
        self.opened.append(known)
        known.head.collects.append(known)
        self.tracked[id(known.items)] = known.head

    def _open_growing(
        self, head: Head, items: list[Any], first: tuple[Value, ...], lengths: set[str]
    ) -> Collected:
        """A list that turns append to, not each of them once."""
        before = len(items) - len(first)
        parameter = Value(LIST, Origin(self._name(head, items), True))
        known = Collected(head, items, parameter, None, before, first, items[:before], False)
        self._opens(known, lengths)
        return known

    def _expected(self, known: Collected, of: ArrayType) -> Value | None:
        """The array for a list to which the first turn appends; None where it is none."""
        if of.weak or not all(symbols(dim) <= known.lengths for dim in of.shape):
            return None
        shape = (add_dims(known.before, self.loops.turns_of(known.head)), *of.shape)
        either = of.either or self.holds_either(known.head, known.items)
        kind = ArrayType(of.dtype, shape, either=either)
        if not all(self._is_row(x, kind) for x in known.begins):
            return None
        return Value(kind, Origin(self._name(known.head, known.items), True))

    def holds_either(self, head: Head, items: list[Any]) -> bool:
        """Whether turns are known to append numbers of Python's and of NumPy's to a list."""
        known = self.loops.states.get((head.frame.code, head.target), {})
        slot = self.slots_of(head.before).get(id(items))
        return slot is not None and Change.WIDENED in known.get(slot, Change(0))

    def are_known(self, head: Head) -> Known | None:
        """The variables that have the lists of a turn; None where others have one."""
        slots = self.slots_of(head.begun)
        grown = {id(items) for items, _ in self._grown(head)}
        known = {id(c.items): slots.get(id(c.items)) for c in head.collects}
        if not grown <= known.keys() or None in known.values():
            return None
        grow = {id(c.items) for c in head.collects if c.grows}
        return {
            slot: GROWING if key in grow else Change.FILLED
            for key, slot in known.items()
            if slot is not None
        }

    def open(self, head: Head) -> bool:
        """After the first turn: whether the lists that it appended to may be arrays."""
        head.collects, head.further = [], set()
        if self.appends_elsewhere(head):
            return False
        entries = self._grown(head)
        names = {*self.trace.sizes.seen} - self.trace.sizes.counters.keys()
        growing = {id(items) for items in self.are_growing(head)}
        if growing and not self.may_grow():
            return False
        for items in self.are_growing(head):
            if not self._open_after_first(head, items, entries, names):
                return False
        entries = [entry for entry in entries if id(entry[0]) not in growing]
        if len({id(items) for items, _ in entries}) < len(entries):
            self.loops._learns(head, self.growing(head, head.before) or {})
            return False
        head.logged = len(self.log)
        for items, x in entries:
            value = x._traced[1] if self.loops.is_recorded(x) else None
            if head.index is None or value is None or value.type.weak:
                return False
            before = len(items) - 1
            moved = Place(ITEM, items, -1) in self.loops.places
            if before > MOST_BEFORE or id(items) not in self._held(head):
                return False
            if items[-1] is not x and not moved:
                return False
            shape = (add_dims(before, self.loops.turns_of(head)), *value.type.shape)
            either = value.type.either or self.holds_either(head, items)
            kind = ArrayType(value.type.dtype, shape, either=either)
            if x._view is not None or not all(self._is_row(y, kind) for y in items):
                return False
            origin = Origin(self._name(head, items), True)
            row = self._row(head, before)
            begins, parameter = self._begins(head, items), Value(kind, origin)
            own = self._is_made_in_turn(items)
            known = Collected(head, items, parameter, row, before, (value,), begins, own)
            self.appends_to(known, value, head.start)
            self._opens(known, names)
        return True

    def _open_after_first(
        self, head: Head, items: Any, entries: Sequence[tuple[Any, Any]], lengths: set[str]
    ) -> bool:
        """Whether a list may grow to which the first turn has appended these, or nothing."""
        if type(items) is not list or self.loops.world.is_outside(items):
            return False
        added = [x for other, x in entries if other is items]
        if id(items) in self.tracked or len(items) - len(added) > MOST_BEFORE:
            return False
        values = tuple([x._traced[1] for x in added if self.loops.is_recorded(x)])
        if not self.may_begin(items[: len(items) - len(added)]):
            return False
        if len(values) < len(added) or any(x._view is not None for x in added):
            return False
        if any(x is not y for x, y in zip(added, items[len(items) - len(added) :], strict=True)):
            return False
        known = self._open_growing(head, items, values, lengths)
        for value in values:
            if not self.is_row_of(known, value.type):
                return False
            self.appends_to(known, value, head.start)
        return True

    def _held(self, head: Head) -> set[int]:
        """The ids of what variables held when the first turn of a loop began."""
        if head.held is None:
            head.held = reached([leaf.holder for leaf in head.before.values()])
        return head.held

    def _had(self, head: Head, items: list[Any]) -> bool:
        """Whether a list may have been there before the turns of a loop."""
        found = self.added(items)
        if found is not None:
            return found[0] is head
        held = self._held(head)
        return id(items) in held or len(held) >= MOST_KNOWN

    def _is_made_in_turn(self, items: list[Any]) -> bool:
        """Whether a turn of the outermost loop makes a list."""
        outermost = next(iter(self.loops.heads.values()))
        return self.added(items) is None and not self._had(outermost, items)

    def grow(self, head: Head) -> bool:
        """Whether a turn appended to a list that was there before."""
        return bool(self._grown(head))

    def _grown(self, head: Head) -> list[tuple[list[Any], Any]]:
        """What a turn appended to lists that were there before, and do not go item by item."""
        return [
            (items, x)
            for items, x in self.log[head.logged :]
            if self._had(head, items) and id(items) not in head.twins
        ]

    def appends_elsewhere(self, head: Head) -> bool:
        """Whether a turn appended to a list that the function has, and no variable of it."""
        appended = {id(items): items for items, _ in self.log[head.logged :]}
        others = {
            key
            for key, items in appended.items()
            if not self._had(head, items) and self.added(items) is None
        }
        others -= head.twins.keys()  # which go item by item
        return bool(others) and bool(self.loops.has_in_next_turn(head, others))

    def _is_row(self, x: Any, kind: ArrayType) -> bool:
        """Whether an item that stands in a list before the loop may be a row."""
        if type(x) is float:
            return (kind.dtype, kind.ndim) == ("float64", 1)
        if type(x) is np.ndarray:
            shape = tuple(map(self.trace.sizes.value, kind.shape[1:]))
            if (x.dtype.name, x.shape) != (kind.dtype, shape):
                return False
            for dim in kind.shape[1:]:
                self.loops.lengths.fix(dim)
            return True
        return self.loops.is_recorded(x) and self._fits(x._traced[1].type, kind)

    def _name(self, head: Head, items: list[Any]) -> str:
        slots = zip(head.frame.program.slots, head.frame.fast, strict=True)
        names = (name for name, x in slots if x is items and name.isidentifier())
        return next(names, "") or self.name_of(items)

    def _begins(self, head: Head, items: list[Any]) -> list[Any]:
        """What a list held after the first turn, without what stands for its last items."""
        found = [*items]
        for place, x in head.tails:
            if place.holder is items:
                found[place.name] = x
        return found

    def name_of_last(self, head: Head, place: Any) -> str:
        """A name for one of the last items of a list."""
        name = f"{self._name(head, place.holder)}_last"
        return name if place.name == -1 else f"{name}_{-place.name}"

    def _row(self, head: Head, before: int) -> Value:
        """The place of a turn's row, of the number that the loop counts with."""
        assert head.index is not None
        builder, row = self.trace.builder, head.next_index
        start = head.numbers.start if head.ends is None else head.ends[0]
        step, at = head.numbers.step, len(builder.nodes)
        if step == -1:
            (row,) = builder.call(subtract, (self.loops.lengths.value(start), row))
        elif start != 0:
            (row,) = builder.call(subtract, (row, self.loops.lengths.value(start)))
        for op, number, neutral in ((floor_divide, step, 1), (add, before, 0)):
            if number != neutral and (op, number) != (floor_divide, -1):
                (row,) = builder.call(op, (row, builder.constant(number, INT)))
        head.further.update(builder.nodes[at:])
        return row

    def ending(self, head: Head, nodes: Sequence[Any]) -> tuple[Value, ...] | None:
        """The arrays behind a turn; None where it has not appended once to each list."""
        found = []
        for known in head.collects:
            if known.grows:
                found.append(self.list_now(known, nodes))
                continue
            rows = [
                node
                for node in nodes
                if isinstance(node, Call)
                and node.op is collected
                and node.operands[0] is known.parameter
            ]
            if len(rows) != 1:
                return None
            found.append(rows[0].results[0])
        return tuple(found)

    def given(self, head: Head, peeled: bool) -> tuple[Value, ...]:
        """The arrays that the loop begins with; where a turn was before it, with its row."""
        builder, found = self.trace.builder, []
        for known in head.collects:
            if known.grows:
                found.append(self.list_before(known, known.first if peeled else ()))
                continue
            kind, origin = known.parameter.type, known.parameter.origin
            if kind.either:
                room = {"dtype": kind.dtype, "count": kind.shape[0]}
                zeros = builder.call(room_for_numbers, (), origin, **room)
            else:
                zeros = builder.call(zeros_of_shape, (), origin, shape=kind.shape, dtype=kind.dtype)
            rows = [self.trace.lift(x, origin) for x in known.begins[: known.before]]
            for k, value in enumerate([*rows, *known.first] if peeled else rows):
                place = builder.constant(k, INT)
                zeros = builder.call(collected, (*zeros, value, place), origin)
            found += zeros
        return tuple(found)

    def appended(
        self, head: Head, nodes: Sequence[Any]
    ) -> list[tuple[Sequence[Value], Sequence[Value]]]:
        """What a turn appended, and what the first one did, to each list."""
        calls = [n for n in nodes if isinstance(n, Call) and n.op in FILLING and n in head.further]
        found: list[tuple[Sequence[Value], Sequence[Value]]] = []
        for known in head.collects:
            rows, values = known.parameter, list[Value]()
            for call in calls:
                if call.operands[0] is rows:
                    values.append(call.operands[1])
                    (rows,) = call.results
            found.append((values, known.first))
        return found

    def forget(self, head: Head) -> None:
        """A loop was left."""
        for known in head.collects:
            self.tracked.pop(id(known.items), None)

    # -- behind turns -----------------------------------------------------------------------------

    def flush(self, head: Head, rows: dict[Value, list[Any]]) -> None:
        """Turns have been run: the lists get what these appended."""
        for known in head.collects:
            if not known.own:
                self.are_more(known.items, self._appended_rows(known, rows))

    def _appended_rows(self, known: Collected, rows: dict[Any, list[Any]]) -> list[Tensor]:
        """What a list gets of what turns have appended: arrays to the caller, if the run ends here.

        It may raise before the loop is left.
        """
        world, found = self.loops.world, [*map(_item, rows.pop(known.parameter, ()))]
        if known.values.isdisjoint(self.trace.shown):
            for x in found:
                if x._node is None or not world.tapes:
                    world.stands_for(x, x._array)
        return found

    def stands(self, items: list[Any]) -> Collected | None:
        """What stands for a list in turns, while a loop appends to it."""
        head = self.tracked.get(id(items))
        found = () if head is None else head.collects
        return next((known for known in found if known.items is items), None)

    def made_again(self, known: Collected, begins: Sequence[Any], rows: Any) -> list[Any]:
        """Such a list that turns of a loop around make, with what is in it by now."""
        items = [*begins, *self._appended_rows(known, rows)]
        self.tracked.pop(id(known.items), None)
        known.items, self.tracked[id(items)] = items, known.head
        return items

    def finish(self, head: Head, peeled: int) -> None:
        """A loop has come to its end: items of the lists are rows of the arrays."""
        for known in [known for known in head.collects if known.grows]:
            self.ends_growing(head, known, known.parameter)
        for known in [known for known in head.collects if not known.grows]:
            items = known.items
            known.last = last = self._last(head, known)
            if not known.own:
                items[: known.before + peeled] = known.begins[: known.before + peeled]
            tails = [place for place in map(tail_of, head.parameters) if place is not None]
            parameters = {len(items) + place.name for place in tails if place.holder is items}
            for k in range(known.before + peeled, len(items)):
                if k not in parameters:
                    items[k] = self._row_item(known.parameter, k, items[k])
                    if not known.values.isdisjoint(self.trace.shown):
                        self.trace.shown.add(items[k]._traced[1])
            if last is not None:
                items[-1] = last
            self.are_rows(items)
            self.finishes(items, known.parameter)
            self.tracked.pop(id(items), None)
        if not self.grow_all(head):
            for other in self.loops.heads.values():
                if other is not head and any(self._had(other, c.items) for c in head.collects):
                    self.loops.bar(other, "a loop inside appends to a list")

    def _last(self, head: Head, known: Collected) -> Any:
        """The variable that is what the last turn appended, where all ways agree on one."""
        for slot, parameter in head.parameters.items():
            at = head.cycle.parameters.index(parameter)  # type: ignore[union-attr]
            if all(
                _row_in(way.nodes, known.parameter) is way.arguments[at]
                for way in head.cycle.ways  # type: ignore[union-attr]
                if way.arguments is not None
            ):
                known.last_parameter = parameter
                return self.loops.held(head.frame, slot)
        return None

    def items_of_argument(self, x: Tensor, like: Any) -> list[Any] | tuple[Any, ...]:
        """What the function has for a list that the program has as an array."""
        array = x._traced[1]  # type: ignore[index]
        (rows,) = self.trace.builder.call(row_list, (array,), array.origin)
        items = [self._row_item(rows, k, row) for k, row in enumerate(_rows_of(x))]
        made = type(like)(items)
        self.finishes(made, rows)
        self.of_arguments[rows] = array
        return made

    def _row_item(self, rows: Value, k: int, x: Any) -> Tensor:
        builder = self.trace.builder
        place = builder.constant(k, INT)
        (value,) = builder.call(list_item, (rows, place), rows.origin.named(None))
        self.items[value] = rows
        tensor = wrap(getattr(x, "_array", x), (self.trace, value))
        tensor._node = parent_of(x)
        return tensor

    def stacked(self, operation: Any, operands: Sequence[Any], keywords: Any) -> Any:
        """The array in which the items of a list are rows, for an operation that stacks them."""
        if len(operands) != 1 or keywords or id(operation) not in STACKING:
            return None
        known = self.filled(operands[0])
        if known is None or any(x is not y for x, y in zip(known.items, known.then, strict=True)):
            return None
        with outside_of_traces():
            plain = stack([untraced(x) for x in known.items])
        op = array_of_numbers if known.value.type.either else alias
        (value,) = self.trace.builder.call(op, (known.value,), self.trace.origin())
        shows(self.trace, value, known.items)
        tensor = wrap(plain._array, (self.trace, value))
        tensor._node = plain._node
        return tensor


def _rows_of(x: Tensor) -> Sequence[Any]:
    """The rows of an array, which have its history."""
    if x._node is None:
        return list(x._array)
    whole = untraced(x)
    with outside_of_traces():
        return [whole[k] for k in range(len(x._array))]


def _item(row: Any) -> Tensor:
    """What a list gets of a row that a turn has appended."""
    return untraced(row) if type(row) is Tensor else wrap(row)  # type: ignore[no-any-return]


def _is_row(node: Any) -> bool:
    return isinstance(node, Call) and node.op is collected


def _row_in(nodes: Sequence[Any], rows: Value | None) -> Value | None:
    """What is put into an array in a turn."""
    found = (n.operands[1] for n in nodes if _is_row(n) and n.operands[0] is rows)
    return next(found, None)
