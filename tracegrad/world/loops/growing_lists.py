"""Lists that loops fill to a length that the data tell: in the program, lists as well.

Some turns alone append to them, or a loop is left before its last turn: a ``while``, or by
``break``. How many items there are is known behind the loop, where the list becomes an array with
a row for each (`listed_rows`), of a length that depends on data, as behind a boolean mask. Items
are read there by number; what needs one as it is fixes how many there are.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from codegen.ir import NOWHERE, Call, Value
from codegen.sizes import symbols
from codegen.types import ArrayType
from tracegrad.ops.elementwise.ufuncs import greater
from tracegrad.ops.python_lists import (
    append_row,
    list_length,
    listed_numbers,
    listed_rows,
    new_list,
)
from tracegrad.tape.tape import parent_of
from tracegrad.tensors.tensor import wrap
from tracegrad.world.loops.filled_lists import Filled
from tracegrad.world.loops.loop_heads import INT, Head, turn_of
from tracegrad.world.loops.outside_lists import Added
from tracegrad.world.loops.resumption import reached
from tracegrad.world.loops.widened_states import Change, Known, Learned, grows

GROWING = Change.FILLED | Change.GROWS


class Growing:
    """What a run knows of such lists."""

    loops: Any
    trace: Any
    tracked: dict[int, Head]
    known: dict[int, Any]

    def grown(self, x: Any) -> Filled | None:
        """What is known of a list of which the data tell how many items it has."""
        known = self.known.get(id(x))
        return known if isinstance(known, Filled) and known.saved is not None else None

    # -- in turns -----------------------------------------------------------------------------

    def may_grow(self) -> bool:
        """Whether lists of the loop that runs may grow: it stands in no other one."""
        trace = self.trace
        plain = not (trace.static_lengths or trace.samples or trace.budgets)
        return plain and len(self.loops.heads) <= 1

    def grow_all(self, head: Head) -> bool:
        """Whether all lists that turns fill are such ones."""
        return all(known.grows for known in head.collects)

    def growing(self, head: Head, held: Any) -> Known | None:
        """The variables that have the lists of a loop, to which not each turn appends once."""
        slots = self.slots_of(held)
        lists = {id(items) for items, _ in self._grown(head)} | {id(c.items) for c in head.collects}
        found = [slots.get(key) for key in lists]
        if not self.may_grow() or not all(found):
            return None
        if self.loops.world.tapes and any(isinstance(slot[0], Added) for slot in found if slot):
            return None  # no node of a tape stands for a program with such lengths
        known = self.loops.states.get((head.frame.code, head.target), {})
        if any(Change.LOOKED in known.get(slot, GROWING) for slot in found):
            return None
        return dict.fromkeys(found, GROWING)  # type: ignore[arg-type]

    def are_growing(self, head: Head) -> list[list[Any]]:
        """The lists of a loop that are known to grow."""
        known = self.loops.states.get((head.frame.code, head.target), {})
        slots = [slot for slot, change in known.items() if grows(change)]
        return [head.before[slot].holder for slot in slots if slot in head.before]

    def grows(self, head: Head, known: Any, x: Any) -> None:
        """A turn appends to such a list."""
        value = x._traced[1] if self.loops.is_recorded(x) else None
        why = ""
        if value is None or x._view or not self.is_row_of(known, value.type):
            why = "what is appended is not like what other turns append"
        elif value in self.loops.wide and not value.type.either:
            why = "a number is appended that is Python's in the first turn"
        elif self.loops.is_written_in_turns(x):
            why = "an array is appended that turns write to"
        if why:
            self.loops.bar(head, why)
            if self.loops.walk.around(head) is not None:  # the rows are not all that it has
                self.looks_at(known.items)
                self.trace.read(f"a list with items that are not alike: {why}")
            return
        level, builder = self.loops.walk.around(head), self.trace.builder
        begin = head.begin if level is None else level.entered + 1
        self.appends_to(known, value, begin)
        self.loops.walk.notes((value,), (x,))
        saved = self.list_now(known, builder.nodes[begin:])
        origin, name = self.trace.origin(), known.parameter.origin.name
        (k,) = builder.call(list_length, (saved,), origin.named("row", True))
        builder.call(append_row, (saved, value, k), origin.named(name, True))
        head.further.update(builder.nodes[-2:])

    def looks_at(self, items: Any) -> None:
        """A turn does something else with such a list: the run is made again, where it is none."""
        head = self.tracked.get(id(items))
        if head is None:
            return
        if any(known.items is items and known.grows for known in head.collects):
            slots = [slot for slot, leaf in head.begun.items() if leaf.holder is items]
            if self.loops.is_repeatable():  # what was learned of it with that is forgotten, too
                known = dict.fromkeys(slots, Change.LOOKED)
                self.loops.states[head.frame.code, head.target] = known
                raise Learned

    def is_row_of(self, known: Any, of: ArrayType) -> bool:
        """Whether arrays of a type are like the items of a list, of which the first tells that."""
        sizes = self.trace.sizes
        if known.of is None:
            kind = ArrayType(of.dtype, (len(known.begins), *of.shape))
            fits = not of.weak and all(symbols(dim) <= known.lengths for dim in of.shape)
            if not fits or not all(self._is_row(x, kind) for x in known.begins):
                return False
            known.of = of
        if of.either and not known.of.either:
            known.of = of
        alike = (of.dtype, of.weak, of.ndim) == (known.of.dtype, False, known.of.ndim)
        return alike and all(map(sizes.same, of.shape, known.of.shape))

    def may_begin(self, items: Sequence[Any]) -> bool:
        """Whether a list may grow that has these items before the loop: they stay what they are."""
        return all(
            type(x) is np.ndarray or (self.loops.is_recorded(x) and x._view is None) for x in items
        )

    def list_now(self, known: Any, nodes: Sequence[Any]) -> Value:
        """The list after these nodes of a turn."""
        saved: Value = known.parameter
        for node in nodes:
            if isinstance(node, Call) and node.op is append_row and node.operands[0] is saved:
                (saved,) = node.results
        return saved

    def list_before(self, known: Any, appended: Sequence[Value]) -> Value:
        """The list that a loop begins with, with what a turn before it appended."""
        origin = known.parameter.origin
        rows = [self.trace.lift(x, origin) for x in known.begins[: known.before]]
        (made,) = self.trace.builder.call(new_list, (*rows, *appended), origin)
        return made  # type: ignore[no-any-return]

    # -- behind the loop ------------------------------------------------------------------------

    def is_left(self, head: Head) -> bool:
        """Whether the frame of a loop has left its turns."""
        frame = self.loops.world.machine.frame
        while frame is not None and frame is not head.frame:
            frame = frame.back
        return frame is None or frame.index not in turn_of(head.frame.code, head.target)

    def arrive(self, operands: Sequence[Any]) -> None:
        """The function does something with these."""
        if self.tracked or self.known:
            for x in operands:
                self.arrives(x)

    def arrives(self, x: Any) -> None:
        """The function does something with a list: the loop that filled it may be over."""
        head = self.tracked.get(id(x)) if type(x) is list else None
        if head is not None and head.cycle is not None and self.is_left(head):
            self.loops.settle(head)
        known = self.grown(x)
        if known is not None and not known.some:
            self._look_for_some(known)

    def decides(self, x: Any) -> None:
        """The function is about to branch: of such a list it was looked whether it has items."""
        self.arrives(x)
        if self.grown(x) is None:
            self.touches((x,))

    def touches(self, operands: Sequence[Any]) -> None:
        """The function does something else with these."""
        raise NotImplementedError

    def ends_growing(self, head: Head, known: Any, saved: Value) -> None:
        """A loop is over: the list is an array, of as many rows as there are."""
        items = known.items
        self.tracked.pop(id(items), None)
        if known.of is None:
            return
        trace, key = self.trace, ("rows", saved)
        origin, name = known.parameter.origin, known.parameter.origin.name
        (count,) = trace.builder.call(list_length, (saved,), origin.named("count", True))
        shape = (trace.length_of(key, count, len(items)), *known.of.shape)
        if known.of.either:
            given = {"dtype": known.of.dtype, "count": shape[0]}
            (rows,) = trace.builder.call(listed_numbers, (saved,), origin.named(None), **given)
        else:
            given = {"dtype": known.of.dtype, "shape": shape}
            named = origin.named(f"{name}_rows", True)
            (rows,) = trace.builder.call(listed_rows, (saved,), named, **given)
        shown = not known.values.isdisjoint(trace.shown)
        for k in range(known.before, len(items)):
            x, value = items[k], Value(known.of, origin.named(None))
            items[k] = wrap(getattr(x, "_array", x), (trace, value))
            items[k]._node = parent_of(x)
            trace.waiting[value] = partial(self.forgets, items)
            if shown:
                trace.shown.add(value)
        self.are_rows(items)
        some = known.before > 0 or saved is not known.parameter
        line = NOWHERE if head.cycle is None else head.cycle.origin.named(None)
        self.known[id(items)] = Filled(items, tuple(items), rows, count, some, known.before, line)

    def begins_loop(self) -> None:
        """A loop is about to begin, which may read the lists of loops before it."""
        for known in [*self.known.values()]:
            self.arrives(known.items)

    def _look_for_some(self, known: Filled) -> None:
        """Whether there are items: where there are none, nobody knows their shape."""
        known.some = True
        self._look_for(known, 0)
        if not known.items:
            del self.known[id(known.items)]

    def _look_for(self, known: Filled, number: int) -> bool:
        """Whether there are more items than that, which decides how the function goes on."""
        builder, origin = self.trace.builder, self.trace.origin()
        than = builder.constant(number, INT)
        (more,) = builder.call(greater, (known.saved, than), origin.named(None))
        found = len(known.items) > number
        self.trace.look(more, "bool", found)
        return found

    def one_by_one(self, known: Filled) -> None:
        """The items are needed as they are: how many there are is fixed, each is a row."""
        if known.saved is None:
            return
        known.saved = None
        for k in range(known.before, len(known.items)):
            x = known.items[k]
            waiting = x._traced[1]
            del self.trace.waiting[waiting]
            x._traced = self._row_item(known.value, k, x)._traced
            if waiting in self.trace.shown:
                self.trace.shown.add(x._traced[1])

    def returns(self, result: Any) -> None:
        """The function has returned: loops are over, and items may be read from outside."""
        for head in [*self.loops.heads.values()]:
            if head.collects and head.cycle is not None:
                self.loops.settle(head)
        lists = [self.grown(known.items) for known in self.known.values()]
        waiting = [known for known in lists if known is not None]
        if not waiting:
            return
        world = self.loops.world
        kept = bool(world.effects or world._stored or world._changed)
        held = set() if kept else reached([result])
        for known in waiting:
            if kept or id(known.items) in held:
                standing, self.trace.standing = self.trace.standing, known.origin
                try:  # no line of the function looks how many items there are
                    self.arrives(known.items)
                    self.forgets(known.items)
                finally:
                    self.trace.standing = standing
