"""Loops of the user's stay loops: turns are watched, and one of them is recorded for all.

The machine tells of every jump backwards, and of the first number that a range gives. From there on
the number is a Tensor, so that what a turn does is recorded for every number. After one turn the
variables that it changed become parameters, and the next turn is recorded over them. Where that
turn ends as it began (the same types in the same variables, everything else the very same objects,
nothing changed besides), it stands for all that follow: the loop is closed. The turns that are left
are run as what was recorded, and the function goes on behind them. A look at a value that ends
otherwise in one of them puts the frame back to where it stood at that look, with the values of
now, and the function goes on from there; where it comes back to the beginning of the loop, there is
one more way through a turn.

What a loop does that is not understood here leaves it as it was recorded, turn by turn.
"""

from __future__ import annotations

import operator
from collections.abc import Mapping, Sequence
from types import CodeType
from typing import Any
from weakref import ref

from codegen.ir import Check, Origin, Value
from codegen.sizes import Dim
from tracegrad.machine.frames import Elsewhere, Frame
from tracegrad.machine.translation import program_of
from tracegrad.machine.world_protocol import ABSENT
from tracegrad.ops.elementwise.ufuncs import add
from tracegrad.runtime.thread_state import STATE
from tracegrad.tensors.tensor import Tensor, wrap
from tracegrad.tracing.path_tree import Entry, Limb, Meet, Way
from tracegrad.world.lengths import FEWEST, Lengths
from tracegrad.world.loops.counted_ranges import CountedRanges
from tracegrad.world.loops.filled_lists import KEEPING
from tracegrad.world.loops.iterator_calls import iter_of, next_of
from tracegrad.world.loops.iterators_of_several import (
    GOING,
    going,
    shares_iterators,
    takes_one,
)
from tracegrad.world.loops.list_appends import Lists
from tracegrad.world.loops.loop_heads import (
    INT,
    MOST_TRIED,
    MOST_WAYS,
    RANGE,
    SUSPENDED,
    Head,
    ManyTurns,
    Unclosed,
    known_of,
    lacked_before,
    turn_of,
    whiles,
)
from tracegrad.world.loops.loop_runner import (
    Level,
    Walk,
    as_given,
    left_of,
    outside_of_traces,
)
from tracegrad.world.loops.loops_without_turns import Begun, state_of
from tracegrad.world.loops.remade_objects import MOVING
from tracegrad.world.loops.resumption import Keeper, Return, Seat, Seats, at_jump
from tracegrad.world.loops.state_items import How, held
from tracegrad.world.loops.unrolling import Unrolling
from tracegrad.world.loops.unrolling_reasons import REASONS, statement
from tracegrad.world.loops.widened_states import Learned, States, widened
from tracegrad.world.loops.windows import span_of
from tracegrad.world.loops.written_places import Place, has_name
from tracegrad.world.mutating_operations import READING, changes, changes_by_name
from tracegrad.world.row_iterators import Rows, rows_of
from tracegrad.world.tensor_places import ITEM


class Loops(Unrolling):
    """The loops of one run."""

    def __init__(self, world: Any, trace: Any, target: str, states: States | None = None) -> None:
        self.world = world
        self.trace = trace
        self.known = known_of(trace.code, target, trace.kinds)
        self.unclosed, self.apart = self.known.unclosed, self.known.apart
        self.reasons = REASONS[target]
        self.heads: dict[tuple[int, int], Head] = {}
        self.ranges: dict[int, Head] = {}
        self.following: dict[int, tuple[Any, tuple[Value, Value]]] = {}  # left in a turn: the rest
        self.barred = ""  # what was done last that is in `changes`
        self.changes = 0  # how often something was changed that a turn is not told of
        self.written, self.seats, self.places, self.closed, self.unrolled = [], Seats(), {}, [], {}
        self.changed, self.noted, self.grown = [], {}, {}
        self.begun = {}
        self.walk = Walk(trace)
        self.lists = Lists(self)
        self.lengths = Lengths(self)
        self.counted = CountedRanges(self)
        self.iterators: dict[int, tuple[int, Any]] = {}  # made while a loop is watched, in order
        self.looking: tuple[Seat, Value] | None = None
        self.stood: Limb | None = None  # that ends in the look that the frames were put back to
        self.states = {} if states is None else states
        self.wide, self.frozen, self.constants, self.lifted = {}, {}, [], []
        self.fixed = False  # the run has done something that cannot be done twice, or has ended
        for code, target_index in self.states:
            self._watch_arrivals(code, target_index)
        self.tried: dict[tuple[Any, int], int] = {}  # turns that stood for no others
        self.suspended = [""] if self.follows else []  # why loops are not watched
        self.patience: int | None = None  # so many turns are unrolled, if not any number
        self.taped = True  # turns leave a tape
        self.untaped = False  # some have not
        self.differentiated = False  # what the run gives
        self.refused = False  # the run is no program, because a loop was closed

    # -- what the world tells ---------------------------------------------------------------------

    def advance(self, iterator: Any, *default: Any) -> Any:
        """The next number of a range, or the next row, where a loop goes through it."""
        if type(iterator) is Rows and not iterator.alone:
            number = self._advance(iterator.numbers, iterator, ABSENT)
            if number is not ABSENT:
                return iterator.at(number)
            return default[0] if default else next(iterator)
        return self._advance(iterator, iterator, *default)

    def _advance(self, iterator: Any, shown: Any, *default: Any) -> Any:
        """The next number, of a range that the function has as `shown`."""
        head = self.ranges.get(id(iterator)) or self._first(iterator, shown)
        if head is None:
            self._advances(shown)
            return next(iterator, *default)
        ended = head.short and len(left_of(iterator)) == head.short
        number = next(iterator, *default)
        if default and number is default[0]:
            return number
        if ended:
            self.settle(head)
            self.ranges.pop(id(iterator), None)
            return number
        frame = self.world.machine.frame
        if frame is not head.frame or frame.index != head.target or head.cycle is not None:
            self._refuse(head, "where it leaves a loop")
            return number
        tensor = wrap(number, (self.trace, head.index))
        self.world.stands_for(tensor, number)
        return tensor

    def _advances(self, iterator: Any) -> None:
        """An iterator goes on that is not a loop's: turns in which it was not made change it."""
        if not takes_one(self, iterator):
            if type(iterator) is RANGE:
                self.lengths.fix_turns(iterator, left_of(iterator).step)
            else:
                self.lengths.looked(iterator)
        made = self.iterators.get(id(iterator), (-1, None))[0]
        for head in self.heads.values():
            if made < head.made:
                self.bar(head, "an iterator goes on that was made before the turn")

    def makes(self, iterator: Any, like: Any = None) -> None:
        """An iterator was made, in place of another one where it is like that."""
        if self.heads:
            at = self.iterators.get(id(like), (len(self.iterators), None))[0]
            self.iterators[id(iterator)] = at, iterator

    def rule_for(self, operation: Any, operands: Sequence[Any], keywords: Any) -> Any:
        """What is done in place of an operation of C that has to do with loops, or None."""
        if any(type(x) is Rows and x.taken for x in operands):
            shares_iterators(self)
        if operation is next and not self.world.is_outside(operands[0]):
            return next_of
        if operation is iter:
            return iter_of
        if self.closed and any(map(self._was_left, operands)):
            self._departs("what is left of an iterator behind a loop is counted")
        if id(operation) in GOING:
            rows = going(self, operation, operands, keywords)
            if rows is not None:
                return lambda *given, **named: rows
            for x in operands if operation is not reversed else ():
                self.lengths.looked(x)
        self.lists.arrive(operands)
        self.sees(operation, operands)
        rows = self.lists.stacked(operation, operands, keywords)
        if rows is not None:
            return lambda *given, **named: rows
        rule = self.lists.reads(operation, operands)
        if rule is None and operation is not list.append and operation is not getattr:
            self.lists.touches(operands, id(operation) in KEEPING, changes(operation, operands))
        return rule

    def _was_left(self, x: Any) -> bool:
        """Whether an iterator is one that a loop left before its end."""
        iterator = x.numbers if type(x) is Rows else x
        if type(iterator) is not RANGE or not operator.length_hint(iterator):
            return False
        known = any(head.iterator is iterator for head in self.closed)
        return known or id(iterator) in self.following

    def sees(self, operation: Any, operands: Sequence[Any]) -> None:
        """An operation of C: one that changes an object is no part of a turn for all."""
        if not changes(operation, operands):
            return
        if operation is operator.delitem and self.is_moving(operands[0]):
            self.notes(operands[0], How.MOVED)
        elif operation is not operator.setitem or not has_name(ITEM, *operands[:2]):
            self.bars("an object is changed by an operation of C")

    def stores(self, kind: int, holder: Any, name: Any) -> None:
        """An attribute, an item or a cell is about to get another value."""
        if not self.heads:
            return
        if not has_name(kind, holder, name):
            self.bars("a place is written that has no fixed name")
            return
        place = Place(kind, holder, name)
        self.notes(holder)
        if place not in self.places:
            self.places[place] = self.world.stood(place)

    def sees_method(self, x: Any, name: str, given: Sequence[Any] = ()) -> None:
        """A method of C: what is not known to read alone may change the object."""
        self.lists.arrives(x)
        if name != "append":
            self.lists.looks_at(x)
        if name in READING:
            self.lists.counts(x)
        else:
            self.lists.forgets(x)
        if self.heads and self.is_moving(x) and name in MOVING[type(x)]:
            appends = type(x) is list and name == "append" and len(given) == 1
            self.notes(x, How.LONGER if appends else How.MOVED)
            if appends:
                self.lists.appends(x, given[0])
            return
        if changes_by_name(x, name, given) and not self.lists.may_add(x, name, given):
            self.bars(f"{type(x).__name__}.{name} changes an object")

    def iterate(self, x: Any) -> Any:
        """An iterator that was made, over the rows of a Tensor; None for other things."""
        self.lists.arrives(x)
        rows = None if self.world.is_outside_tensor(x) else rows_of(self.lists.view(x))
        if rows is not None:
            self.makes(rows)
            self.lists.goes(rows)
            self.lengths.go_along(rows, False)
        elif not self.world.is_outside(x):
            self.lists.touches((x,), True, False)
        return rows

    def compares(self, *operands: Any) -> None:
        """Who a Tensor is may be another object in each turn."""
        if all(x is not None for x in operands) and any(map(self.lists.is_item, operands)):
            self._departs("it is asked which object an item of a list is")
        asked = any(type(x) is Tensor or self.goes_item_by_item(x) for x in operands)
        if asked and all(x is not None for x in operands):
            self.bars("it is asked which object another one is")

    def bars(self, what: str) -> None:
        """Something is done that a turn which stands for all may not do."""
        self.changes += 1
        if self.heads:
            self.barred = f"{statement(self.trace.code)}: {what}"

    def bar(self, head: Head, what: str) -> None:
        """Something is done that a turn of this loop may not do."""
        head.changes += 1
        head.barred = f"{statement(self.trace.code)}: {what}"

    def counts(self, x: Any) -> bool:
        """Whether something is an int of a loop, for which the function has a Tensor."""
        return self.is_recorded(x) and x._traced[1].type == INT

    def span_of(self, start: Any, stop: Any, step: int | None, axis: Dim) -> Dim | None:
        """How far apart the ends of a slice of an axis are, where that is one in all turns."""
        return span_of(self, start, stop, step, axis)

    def _first(self, iterator: Any, shown: Any) -> Head | None:
        """The loop that begins with this range, where it may be worth it."""
        follows = self.following.pop(id(iterator), None)
        counted = self.counted.known.pop(id(iterator), None)
        may_loop = counted is not None and self._is_first(self.world.machine.frame, shown)
        if counted is not None and not self.counted.begins(counted, may_loop):
            return None
        if type(iterator) is not RANGE:
            if operator.length_hint(iterator) >= FEWEST:
                self._goes_unseen(iterator)
            return None
        few = operator.length_hint(iterator) < FEWEST
        if few and follows is None and counted is None:
            return None
        frame = self.world.machine.frame
        if not self._is_first(frame, shown):
            if follows is not None:
                self._lacks("the rest of a loop")
            return None
        instructions = frame.program.instructions
        self._leave(frame, frame.index)
        self.lists.list_for(frame, frame.index)
        following, slot = instructions[frame.index + 1].parts[0]
        name = "_" if shown is iterator else "i"
        if following == "STORE_FAST" and shown is iterator:
            name = frame.program.slots[slot]
        head = Head(frame, frame.index, iterator, shown, left_of(iterator), name)
        if follows is None and counted is None:
            self._shorten(head)
        head.follows, head.counted = None if follows is None else follows[1], counted
        if counted is not None:
            head.follows = counted.ends
        head.ends = None if head.follows else self.lengths.ends(iterator, head.numbers)
        self._enter(head)
        self.ranges[id(iterator)] = head
        head.index = self._new_index(head)
        self._begin(head)
        if shown is not iterator:
            head.goes = Keeper(self, self.heads.values(), ()).form(shown.given)
        self._enter_whole(head)
        return head

    def _is_first(self, frame: Any, shown: Any) -> bool:
        """Whether a frame stands at the beginning of a loop that may stay one."""
        if self.suspended or STATE.trace is not self.trace or frame is None:
            return False
        instruction = frame.program.instructions[frame.index]
        if instruction.name != "FOR_ITER" or frame.stack[-1] is not shown:
            return False
        return self._may_loop(frame, frame.index)

    def _lacks(self, what: str, head: Head | None = None) -> None:
        """The run lacks what it has not seen: it is made again where it can be, else no program."""
        if head is not None and lacked_before(self.known, head):
            self._unrolled(head, what)
        if self.trace.samples:
            raise Unclosed(what)
        if head is not None and self.is_repeatable():
            raise Learned
        self.trace.read(what)
        self.refused = True

    def _watch_arrivals(self, code: CodeType, target: int) -> None:
        """The machine tells where a ``while`` of which something is known begins."""
        program = program_of(code)
        if program.instructions[target].name == "FOR_ITER":
            return
        ops = self.world.machine.ops.setdefault(code, [*program.ops])
        plain = ops[target]

        def arrived(frame: Any, stack: list[Any]) -> int:
            self._arrive(frame, target)
            return plain(frame, stack)  # type: ignore[no-any-return]

        ops[target] = arrived

    def _arrive(self, frame: Any, target: int) -> None:
        """A ``while`` begins, or goes on."""
        if (id(frame), target) in self.heads or self.suspended:
            return
        if STATE.trace is not self.trace or not self._may_loop(frame, target):
            return
        self._leave(frame, target + 1)
        self.lists.list_for(frame, target)
        head = Head(frame, target)
        self._enter(head)
        self._begin(head)
        if not self._enter_whole(head) and not head.open:
            del self.heads[id(frame), target]

    def _may_loop(self, frame: Any, target: int) -> bool:
        """Whether a loop is tried: in a generator, others do what a turn does."""
        if frame.code.co_flags & SUSPENDED:
            self._says(
                frame.code, target, "turns of a generator alternate with what its reader does"
            )
            return False
        return target not in self.unclosed.get(frame.code, ())

    def _leave(self, frame: Any, target: int) -> None:
        """Loops behind an instruction, and those of frames that have returned, are left."""
        running = []
        while frame is not None:
            running.append(frame)
            frame = frame.back
        for head in reversed([*self.heads.values()]):
            known = any(head.frame is other for other in running)
            if not known or (head.frame is running[0] and head.target >= target):
                self.settle(head)

    def finish(self) -> None:
        """The run ends: what is still open is of the values that it had."""
        self.counted.look_at_unused()
        for head in reversed([*self.heads.values()]):
            self.settle(head)
        self.begun.clear()

    def settle(self, head: Head, goes_on: bool = False) -> None:
        """A loop is left: a turn that stands for no others is one of the numbers that it had.

        It may go on as another loop, over the numbers that are left.
        """
        if self.heads.pop((id(head.frame), head.target), None) is None:
            return
        level = self.walk.around(head)
        if level is not None and self.trace.choices is not None:
            self.trace.choices.left(head)
        if level is not None and not self.lists.grow_all(head):
            if self.lists.may_grow():
                self._learns(head, self.lists.growing(head, head.begun) or {})
            self.trace.read("a list that a loop was left with before its last turn")
            self.refused = True
            self._unrolled(head, "it is left before its last turn, with a list that turns fill")
        elif level is not None:
            self.lists.is_left_early(head)
        self.lists.forget(head)
        if level is not None:
            del self.walk.levels[self.walk.levels.index(level) :]
        if head.cycle is None:
            if head.counted is not None:
                head.follows = None
                head.counted.look()
            elif head.follows is not None:
                self._lacks("the last turns of a loop", head)
            if not (goes_on and self.lengths.assume_some_turns(head.ends, head.numbers.step)):
                self.lengths.fix_turns(head.iterator, head.numbers.step)
            if head.open:
                self._release(head)
            elif head.index is not None:
                self._define_index(head, head.index, head.start, 0)
            if head.iterator is not None:
                self.ranges.pop(id(head.iterator), None)
        if not self.heads:
            self.counted.idle.clear()
            self.iterators.clear()
            self.seats.clear()
            self.written.clear()
            self.places.clear()
            self.changed.clear()
            self.noted.clear()
            self.walk.forget()
            self.lists.log.clear()
            self.trace.operands = None

    def _enter(self, head: Head) -> None:
        """A loop is watched from here on."""
        if not self.heads:
            self.lists.begins_loop()
        self.heads[id(head.frame), head.target] = head
        self.trace.operands = self.walk.notes

    def _new_index(self, head: Head) -> Value:
        origin = self.trace.origin()
        return Value(INT, Origin(head.name, True, origin.file, origin.line, origin.text))

    def decides(self, x: Any) -> None:
        """The function is about to branch on a value."""
        self.looking = None
        self.lists.decides(x)
        frame = self.world.machine.frame
        if not self.is_recorded(x) or frame is None:
            return
        jump = at_jump(frame)
        if jump is not None and jump + 1 in whiles(frame.code):
            self.begun[x._traced[1], jump + 1] = Begun(frame, jump, state_of(frame, jump))
        if jump is None or not self.heads:
            return
        frames = self._frames(frame)
        if frames:
            seat = Keeper(self, self.heads.values(), frames).seat([*frame.stack, x], jump)
            self.looking = None if seat is None else (seat, x._traced[1])

    def _frames(self, frame: Frame | None) -> list[Frame]:
        """The frames from that of the outermost loop to this one; none where it is in no loop."""
        watched = {id(head.frame) for head in self.heads.values()}
        found: list[Frame] = []
        last = 0
        while frame is not None:
            found.append(frame)
            if id(frame) in watched:
                last = len(found)
            frame = frame.back
        return found[:last][::-1]

    def looks(self, check: Check) -> None:
        """A look was recorded."""
        looking, self.looking = self.looking, None
        if looking is not None and check.look == "bool" and looking[1] is check.operand:
            self.seats.add(check, looking[0])

    def writes(self, x: Tensor) -> None:
        """A Tensor is written to."""
        self.lists.writes(x)
        if self.lists.is_item(x):
            self._departs("an item of a list is written to")
        head = self.frozen.get(x._traced[1]) if self.is_recorded(x) and x._traced else None
        if head is not None:
            self._refuse(head, "an array that a loop began with is written to")
        if self.heads:
            self.written.append((ref(x), x._traced[1] if self.is_recorded(x) else None))

    def _marks(self, head: Head) -> tuple[Any, ...]:
        """What may not change in a turn that stands for all."""
        trace, world = self.trace, self.world
        return (
            self.changes,
            head.changes,
            self.lists.others_done(head, world._log, operator.setitem),
            len(world.effects),
            *trace.generators.marks,
            trace.unseen,
            trace.exceptions,
            STATE.grad_enabled,
        )

    # -- the turns --------------------------------------------------------------------------------

    def turn(self, frame: Any, target: int) -> int:
        """A jump backwards: where the frame goes on."""
        self._counts_turn(frame.code, target)
        if STATE.trace is not self.trace or self.suspended:
            self.trace.unrolled_because = (self.suspended or [""])[-1]
            if self.patience == 0:
                raise ManyTurns
            self.patience = self.patience and self.patience - 1
            return target
        self.counted.look_at_unused()
        if self.world.joins is not None:
            self.world.joins.ends_turn(frame, target)
        self._learn_of_whiles(frame, target)
        self._leave(frame, target + 1)
        if not self._may_loop(frame, target):
            return target
        head = self.heads.get((id(frame), target))
        if head is None:
            if frame.program.instructions[target].name == "FOR_ITER":
                return target
            head = Head(frame, target)
            self._enter(head)
            self._begin(head)
            return target
        if head.iterator is not None and (
            not frame.stack or frame.stack[-1] is not head.shown
        ):  # the same loop once more, over something else
            return target
        if head.cycle is not None:
            return self._again(head)
        if not head.open:
            if not self._open(head):
                self._give_up(head)
            elif head.counted is not None and not operator.length_hint(head.iterator):
                self._learn_of_one(head)
            return target
        cycle = self._close(head)
        if cycle is not None and self.world.joins is not None:
            self.world.joins.closes()
        if cycle is not None:
            self.walk.enter(head, cycle)
            return self._run(head)
        self._give_up(head)
        return target

    def _learn_of_whiles(self, frame: Any, target: int) -> None:
        """A turn ends in which a ``while`` made too few turns to be closed, as others may."""
        around = self.heads.get((id(frame), target))
        for head in [*self.heads.values()]:
            left = head.frame is frame and head.target > target
            if not left or head.cycle is not None or head.iterator is not None:
                continue
            if head.open:
                self._learn_of_one(head)
            elif around is not None and around.cycle and len(around.cycle.ways) >= MOST_TRIED:
                self._learn_of_changed(head)
                self._try_whole(around, head)

    def _try_whole(self, around: Head, head: Head) -> None:
        """Ways of a loop that went through turns of a ``while`` one by one are forgotten, once.

        The next turn goes through it from its beginning, and may close it.
        """
        if head.target in around.whiles:
            return
        around.whiles.add(head.target)
        turn, cycle = turn_of(head.frame.code, head.target), around.cycle
        assert cycle is not None

        def goes_through(way: Way) -> bool:
            seats = [self.seats.of(n) for n in way.nodes if isinstance(n, Check)]
            places = [seat.places[-1] for seat in seats if seat is not None]
            return any(p.frame.code is head.frame.code and p.index in turn for p in places)

        around.kept = [way for way in cycle.ways if not goes_through(way)]

    @property
    def recorded(self) -> Head | None:
        """The innermost loop, where a turn of it is being recorded that may stand for others."""
        head = next(reversed(self.heads.values()), None)
        if head is None or (head.cycle is None and not head.open):
            return None
        around = self.walk.levels[-1].head if self.walk.levels else None
        return head if head.cycle is None or around is head else None

    def begins_unseen(self, frame: Any) -> bool:
        """Whether a frame, or one around, is in the first turn of a ``while`` that nobody told."""
        while frame is not None and not self.follows:
            for target in whiles(frame.code):
                known = (id(frame), target) in self.heads
                tried = known or target in self.unclosed.get(frame.code, ())
                if not tried and frame.index in turn_of(frame.code, target):
                    return True
            frame = frame.back
        return False

    @property
    def done(self) -> tuple[int, ...]:
        """What grows where a turn does more than to change variables and to write to arrays."""
        changes = sum(head.changes for head in self.heads.values())
        places = len(self.places), len(self.lists.log)
        return self.changes, changes, len(self.walk.heads), *places

    def _begin(self, head: Head) -> None:
        head.start = len(self.trace.builder.nodes)
        head.wrote, head.made = len(self.written), len(self.iterators)
        head.logged, head.noted = len(self.lists.log), len(self.changed)
        head.idle = head.idle_first = len(self.counted.idle)
        head.before = self._held_before(head, self.states.get((head.frame.code, head.target), {}))
        head.marks = self._marks(head)

    # -- running the turns that are left ----------------------------------------------------------

    def _run(self, head: Head) -> int:
        """Runs what was recorded until nobody knows how it goes on; where the frame does."""
        for slot, parameter in head.parameters.items():
            self.walk.values[parameter] = as_given(parameter.type, held(head.frame, slot))
        return self._walk(False)

    def goes_on(self, meet: Meet, tensors: Sequence[Tensor]) -> int:
        """A turn comes by a new arm to where others meet, and goes on as they did."""
        level, nodes = self.walk.levels[-1], self.trace.builder.nodes
        whole = tuple(nodes[level.entered + 1 :])
        why = self._cannot_return(level.head, whole)
        for around in self.walk.levels:
            if self._marks(around.head) != around.head.marks:
                why = why or around.head.barred or self.barred or "a turn changes more in some ways"
        if why:
            self._refuse(level.head, why)
            return int(self.world.machine.frame.index)
        pairs = zip(meet.joint.parameters, tensors, strict=True)
        self.walk.values.update([(p, as_given(p.type, x)) for p, x in pairs])
        self._add(level.cycle, Way(whole, None))
        self._forget(whole)
        return self._walk(True)

    def _walk(self, behind: bool) -> int:
        walk, levels = self.walk, [*self.walk.levels]
        straight = self._is_straight()
        walk.begin(straight)
        self.untaped |= walk.straight
        try:
            with outside_of_traces():
                found = walk.run(behind)
        except Exception:
            return self._before_turn([level for level in levels if level in walk.levels][-1])
        if found is None:
            return self._return(walk.levels[0].head.seat, walk.levels[0])
        if isinstance(found, Level):
            self.trace.builder.append(Entry(found.cycle, False))
            return self._return(found.head.seat, found)
        assert found.look is not None
        self.stood = found
        return self._return(self.seats[found.look], at=found.look)

    def _return(self, seat: Seat, left: Level | None = None, at: Check | None = None) -> int:
        """Puts the frames back to where they stood, with the values of now; where to go on.

        There a loop may come to its end, which is `left` then.
        """
        walk = self.walk
        inner = left is not None and left is not walk.levels[0]
        outermost = walk.levels[0].head.frame
        heads = [*self.heads.values(), *(level.head for level in walk.levels)]
        written = {id(x) for head in heads for x in head.written.values()}
        standing = self.world.machine.frame
        back = Return(self, seat, walk.values, {x.head: x for x in walk.levels}, written)

        def go() -> int:
            walk.levels = [level for level in walk.levels if level.head in seat.heads]
            for level in walk.levels:  # before places in these lists get what they are now
                self.lists.flush(level.head, walk.rows)
            frames = back.frames(outermost)
            self.places = {place.of(back.made): x for place, x in self.places.items()}
            for level in walk.levels:
                level.head.moves(back.made)
                self._stands(level, frames, back.made)
            self.trace.operands, self.trace.counts = walk.notes, {**seat.counts}
            if left is not None:
                self.lists.finish(left.head, left.head.peeled)
            elif self.world.joins is not None and walk.levels:
                depth = walk.levels[0].head.depth
                self.world.joins.resumes(at, walk.meeting, frames, depth)
            if left is not None and not inner:
                walk.levels = []
            if len(frames) > 1:
                value = self.world.machine.finish(frames[:0:-1], outermost)
                outermost.stack.append(value)
                return int(outermost.index + 1)
            return int(outermost.index)

        if standing is outermost:
            return go()
        raise Elsewhere(outermost, go)

    def _stands(self, level: Level, frames: Sequence[Frame], made: Mapping[int, Any]) -> None:
        """A loop goes on in a frame that was put back; what its turn has done is not forgotten."""
        head = level.head
        self.heads = {key: other for key, other in self.heads.items() if other is not head}
        head.frame = frames[head.depth - self.walk.levels[0].head.depth]
        self.heads[id(head.frame), head.target] = head
        if level.turned:
            head.wrote, head.changes, head.noted = len(self.written), 0, len(self.changed)
            head.idle = len(self.counted.idle)
            head.marks = self._marks(head)
            level.turned = False
        self.written[head.wrote :] = [
            (ref(made[id(x)]) if id(x := known()) in made else known, was)
            for known, was in self.written[head.wrote :]
        ]
        if level.numbers is not None:
            self.ranges.pop(id(head.iterator), None)
            head.iterator, head.shown = level.numbers, level.shown or head.shown
            self.ranges[id(head.iterator)] = head

    def _before_turn(self, level: Level) -> int:
        """A turn raised: the frames go back to its beginning, to raise where the function does.

        That is a turn of the innermost loop in which they were: what they have done in a turn of
        those around is not done again.
        """
        self._raised(level.head)
        levels = self.walk.levels
        del levels[levels.index(level) + 1 :], self.trace.builder.nodes[level.entered :]
        self.trace.builder.append(Entry(level.cycle, False))
        self.walk.step_back(level)
        index = self._return(level.head.seat)
        self.settle(level.head)
        return index

    held = staticmethod(held)

    def renewed(self, x: Tensor, value: Value, found: Any) -> Tensor:
        """A Tensor that others have too, with what it is now."""
        x._array, x._traced = getattr(found, "_array", found), (self.trace, value)
        x._node = self.walk.node_of(value, found)
        return x

    def now(self, value: Value, found: Any, stands: bool) -> Tensor:
        """A Tensor for what a value is now."""
        tensor = self.renewed(wrap(0.0), value, found)
        tensor._array = widened(value.type, tensor._array)
        if stands:
            self.world.stands_for(tensor, tensor._array)
        return tensor

    def _again(self, head: Head) -> int:
        """The function comes back to the beginning of a loop by a way that is new."""
        cycle, nodes = head.cycle, self.trace.builder.nodes
        level = self.walk.around(head)
        if cycle is None or level is None:
            self._refuse(head, "a loop that it left")
            return head.target
        arguments = self._ending(head, level.entered + 1)
        whole = tuple(nodes[level.entered + 1 :])
        body = None if arguments is None else self._without_test(head, cycle, whole, arguments)
        whole_ways = [way for way in cycle.ways if way.arguments is not None]
        if arguments is None or body is None or len(whole_ways) == MOST_WAYS:
            if arguments is None:
                self._learn(head, level.entered + 1)
            if head.iterator is not None and (arguments is not None or not self._follow(level)):
                self._refuse(head, "a loop that goes on otherwise")
            self.settle(head)
            return head.target
        del self.walk.levels[self.walk.levels.index(level) + 1 :], nodes[level.entered + 1 :]
        if head.kept is None:
            self._add(cycle, Way(body, arguments))
        else:
            cycle.ways[:], head.kept = head.kept, None
        self._forget(body)
        return self._run(head)

    def _follow(self, level: Level) -> bool:
        """The rest of a loop is one of its own, over other things in its variables."""
        head, counter = level.head, level.cycle.counter
        if counter is None or head.collects or len(self.walk.heads) > MOST_WAYS:
            return False
        builder = self.trace.builder
        step = builder.constant(counter.step, INT)
        (start,) = builder.call(add, (counter.index, step), counter.index.origin)
        self.ranges.pop(id(head.iterator), None)
        self.following[id(head.iterator)] = head.iterator, (start, counter.stop)
        return True
