"""A turn of a loop that was recorded over parameters: whether it stands for all turns.

After one turn the variables that it changed become parameters (`Closing._open`). Where the next
turn ends as it began, the loop is closed (`_close`), and turns before it that are the same
computation go.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from typing import Any
from weakref import ref

import numpy as np

from codegen.ir import Check, Constant, Counter, Origin, Value, dims_of
from codegen.sizes import Dim, Size, add, symbols
from codegen.types import ArrayType, weak_of
from tracegrad.ops.elementwise.ufuncs import add as add_values
from tracegrad.ops.python_lists import either, handed, length
from tracegrad.runtime.array_manners import is_memory
from tracegrad.tape.tape import parent_of
from tracegrad.tape.views import is_linked
from tracegrad.tensors.tensor import Tensor, wrap
from tracegrad.tracing.path_tree import Apart, Cycle, Entry, Meet, Way, limb_of, merged
from tracegrad.world.loops.constant_arrays import is_constant_array, learned
from tracegrad.world.loops.first_turns import made_in
from tracegrad.world.loops.list_ends import is_tail, tail_of
from tracegrad.world.loops.loop_heads import INT, Head, Leaf, Slot
from tracegrad.world.loops.loops_without_turns import Begun
from tracegrad.world.loops.numbers_in_turns import NumbersInTurns, widened_value
from tracegrad.world.loops.resumption import Keeper, Seats
from tracegrad.world.loops.state_items import (
    as_another,
    called,
    is_flag,
    is_variable,
    kind_of,
    on_stack,
    with_item,
)
from tracegrad.world.loops.turn_equality import counted
from tracegrad.world.loops.unrolling_reasons import MARKS, Reasons, at_line
from tracegrad.world.loops.widened_states import (
    Change,
    Known,
    Learned,
    States,
    change_of,
    join,
    moves,
    type_of,
    wide_type,
    widened,
)
from tracegrad.world.loops.windows import settle
from tracegrad.world.loops.written_places import Place

MOVED = "a list, deque or dictionary is changed that does not go item by item"
OTHERS_HAVE = "others have an object too that turns make anew"


class Closing(NumbersInTurns):
    """What a run knows of turns that are recorded."""

    lengths: Any
    written: list[tuple[ref[Tensor], Value | None]]  # Tensors, and what they were before it
    seats: Seats
    closed: list[Head]
    begun: dict[tuple[Value, int], Begun]  # variables at the test of a ``while`` before its turns
    apart: Any  # where loops begin whose first turn stands by itself
    states: States  # what is known of the variables of loops
    reasons: Reasons
    constants: list[Head]  # of which arrays became parameters that nothing had recorded
    lifted: list[tuple[Head, np.ndarray, np.ndarray]]  # such arrays, and what was in them

    def _open(self, head: Head) -> bool:
        """After a turn: what it changed become parameters; whether the next one may be closed."""
        self._let_go(head, head.before)
        for place, x in self.places.items():
            if (place,) not in head.before:
                if self._may_leave_before(head) and (known := self.world.with_way(place)):
                    self._learns(head, {(known,): Change.BOUND})  # what stands there is read
                self._leaves(head, (place,), x, head.before)
        now = self._take_apart(head, self._variables(head))
        if not self._keeps(head, now, head.before):
            return False
        if not self._are_alone(head, now):
            head.why = OTHERS_HAVE
            return False
        if self._moves(head):
            head.why = MOVED
            return False
        changed, head.shared = {}, set()
        known = self.states.get((head.frame.code, head.target), {})
        for slot, leaf in now.items():
            old = head.before[slot]
            if leaf.holder is old.holder and leaf.value is old.value:
                if Change.BOUND in known.get(slot, Change(0)) and self._may_vary(head, slot, leaf):
                    changed[slot] = leaf
                continue
            if on_stack(slot) or not self._may_vary(head, slot, leaf):
                self._learns(head, learned(self, head, now) or {})
                head.why = f"{called(head, slot)} is another {kind_of(leaf)} in each turn"
                return False
            if self._is_shared(head, leaf) and not is_tail(slot):
                writes, handed = self._write(head), self._is_handed_on(head, leaf.holder)
                if (writes and not handed) or leaf.value in self.lists.stand_ins:
                    head.why = f"others have the array too that {called(head, slot)} becomes"
                    return False
                head.shared.update(() if writes else (slot,))
            changed[slot] = leaf
        if self.lists.grow(head):
            if head.follows is not None:
                return False
            if head.index is None:
                self._learns(head, self.lists.growing(head, head.before) or {})
        head.next_index = None if head.index is None else Value(INT, head.index.origin)
        if head.index is not None:
            head.first, head.index = head.index, head.next_index
        return self._over(head, changed)

    def _may_leave_before(self, head: Head) -> bool:
        """Whether the loop may be left before a turn has written what turns write outside."""
        nodes = self.trace.builder.nodes[head.start :]
        return head.index is None or any(isinstance(node, Check) for node in nodes)

    def _enter_whole(self, head: Head) -> bool:
        """Before the first turn: what is known to change become parameters, where that is right.

        Two of them are one Tensor only where that is known to be so in some turns, and where no
        turn writes to them.
        """
        known = self.states.get((head.frame.code, head.target))
        if not known or head.target in self.apart.get(head.frame.code, ()):
            return False
        self._take_apart_known(head, known)
        if not self._are_alone(head, head.before):
            return False
        held = head.before
        head.entering = True
        chosen = {s: held[s] for s in known if s in held and self._may_vary(head, s, held[s])}
        head.entering = False
        own = [s for s in chosen if Change.SHARED not in known[s]]
        values = [chosen[s].value for s in own if chosen[s].value is not None]
        if not chosen or len(set(values)) < len(values):
            return False
        for slot, leaf in chosen.items():
            written = Change.WRITTEN in known[slot]
            other = Change.SHARED in known[slot]
            other = other or (Change.BOUND in known[slot] and not is_variable(slot))
            if written and (other or leaf.value is None):
                return False
        head.whole, head.next_index = True, head.index
        return self._over(head, chosen, known)

    def _over(self, head: Head, changed: dict[Slot, Leaf], states: Known | None = None) -> bool:
        """Variables become parameters; whether the turn that begins may be closed.

        How turns change them is known, or what the turn before has done tells it.
        """
        frame = head.frame
        head.parameters, head.arguments, head.written, head.moved = {}, {}, {}, {}
        tails = ((tail_of(slot), leaf.holder) for slot, leaf in changed.items())
        head.tails = [(place, x) for place, x in tails if place is not None]
        made: dict[int, tuple[Value, Any]] = {}
        learned_of = self.states.get((frame.code, head.target), {})
        shares = {s for s in changed if Change.SHARED in learned_of.get(s, Change(0))}
        head.may_be_one = shares
        for slot, leaf in changed.items():
            known = None if slot in shares else made.get(id(leaf.holder))
            if known is None:
                if states is not None:
                    change = states[slot]
                else:
                    change = self._change_in_turn(head, slot, leaf.holder)
                    change |= learned_of.get(slot, Change(0)) & (Change.WIDENED | Change.SINGLE)
                place = tail_of(slot)
                if place is not None and self.lists.holds_either(head, place.holder):
                    change |= Change.WIDENED
                known = self._parameter(head, slot, leaf, change)
                if leaf.value is not None and slot not in shares:  # a number is no object
                    made[id(leaf.holder)] = known
            head.parameters[slot] = known[0]
            self._put(frame, slot, known[1])
        head.begin = len(self.trace.builder.nodes)
        head.begun = self._variables(head)
        head.open = True
        if not (self.lists.open(head) if states is None else self.lists.expect(head, states)):
            head.why = "a list is not appended one array of one shape in each turn"
            for slot, leaf in changed.items():  # which lists may have, too
                self._put(frame, slot, leaf.holder)
            return False
        self._freeze_begins(head, [*head.arguments], [*head.arguments.values()])
        head.wrote, head.made, head.changes = len(self.written), len(self.iterators), 0
        head.noted, head.idle = len(self.changed), len(self.counted.idle)
        head.marks = self._marks(head)
        keeper = Keeper(self, self.heads.values(), self._frames(frame))
        head.seat = keeper.seat(frame.stack, head.target)
        return head.seat is not None

    def _put(self, frame: Any, slot: Slot, x: Any) -> None:
        """Puts something into a variable, or at a place."""
        first = slot[0]
        self._notes_all(frame, slot)
        if isinstance(first, Place):
            self.world.renews(first, with_item(first.now(), slot[1:], x))
        else:
            frame.fast[first] = with_item(frame.fast[first], slot[1:], x)

    def _may_vary(self, head: Head, slot: Slot, leaf: Leaf) -> bool:
        """Whether a variable may hold something else in each turn: also whether a flag is set."""
        return self._may_change(head, leaf) or is_flag(head, slot, leaf.holder)

    def _may_change(self, head: Head, leaf: Leaf) -> bool:
        """Whether a variable is a number or an array; one with views where turns write to none."""
        x = leaf.holder
        if type(x) is Tensor:
            return leaf.value is not None and (not is_linked(x) or not self._write(head))
        return type(x) in (int, float) or (head.entering and is_constant_array(self.world, x))

    def _moves_arrays(self, head: Head) -> bool:
        """Whether turns are known to hand on arrays to which they write."""
        known = self.states.get((head.frame.code, head.target), {})
        return any(map(moves, known.values()))

    def _write(self, head: Head) -> bool:
        """Whether turns are known to write to arrays."""
        known = self.states.get((head.frame.code, head.target), {})
        writes = any(Change.WRITTEN in change for change in known.values())
        return writes or len(self.written) > head.wrote

    def _is_written(self, head: Head, x: Any) -> bool:
        """Whether a Tensor was written to in this turn."""
        return any(x is other() for other, _ in self.written[head.wrote :])

    def _change_in_turn(self, head: Head, slot: Slot, x: Any) -> Change:
        """How the turn before has changed a variable."""
        before = head.before.get(slot)
        if before is not None and before.holder is not x:
            if is_variable(slot) and self._is_written(head, before.holder):
                return Change.BOUND | Change.WRITTEN
            if self._is_handed_on(head, x):
                return Change.BOUND
        written = self._is_written(head, x) and not self._is_new(head, slot, x)
        return Change.WRITTEN if written else Change.BOUND

    def _is_handed_on(self, head: Head, x: Any) -> bool:
        """Whether a variable had an array when the turn before began."""
        return any(leaf.holder is x for leaf in head.before.values())

    def _is_new(self, head: Head, slot: Slot, x: Any) -> bool:
        """Whether a variable gets another array in each turn, which the turn makes and fills."""
        before = head.before.get(slot)
        if before is None or type(before.holder) is not Tensor or before.holder is x:
            return False
        was = next(was for other, was in self.written[head.wrote :] if other() is x)
        return was in made_in(self.trace.builder.nodes[head.start :])

    def _lift(self, head: Head, x: Any) -> bool:
        """Whether a loop begins with an array of numbers, which may be written to behind it."""
        lifts = is_constant_array(self.world, x)
        if lifts:
            self.lifted.append((head, x, x.copy()))
        return lifts

    def _is_shared(self, head: Head, leaf: Leaf) -> bool:
        """Whether others may hold an array that a variable was given in the first turn."""
        if leaf.value is None or not is_memory(leaf.holder) or self._is_written(head, leaf.holder):
            return False
        if leaf.value in self.lists.stand_ins:
            return True
        made = (node.results for node in self.trace.builder.nodes[head.start :])
        return all(leaf.value not in results for results in made)

    def _parameter(self, head: Head, slot: Slot, leaf: Leaf, change: Change) -> tuple[Value, Any]:
        """A parameter, and what the function has for it.

        That is the same Tensor where turns write to it, a number of NumPy's where it is wide.
        """
        trace, x = self.trace, leaf.holder
        first = slot[0]
        name = first.called if isinstance(first, Place) else head.frame.program.slots[first]
        if is_tail(slot):
            name = self.lists.name_of_last(head, slot[0])
        if len(slot) > 1:
            name = (leaf.value and leaf.value.origin.name) or f"{name}_{slot[-1]}"
        if type(x) is not Tensor:
            x = self.world.numbers.lifted(self.world, x)
        origin = Origin(name, True)
        if type(x) is Tensor:
            argument = x._traced[1]
            value = Value(argument.type, origin)
        else:
            constant = self._lift(head, x)
            argument = trace.lift(x, origin) if constant else trace.number(x, weak_of(x), origin)
            value = Value(argument.type, origin)
            if constant:
                self.constants.append(head)
        wide = wide_type(change)
        if wide is not None and self._may_be_wide(wide, value.type, x):
            value = Value(replace(wide, either=trace.keeps_types), origin)
            self.wide[value] = head
        head.arguments[value] = argument
        if argument in trace.shown or Change.SHOWN in change:
            trace.shown.add(value)
        if type(x) is Tensor and Change.WRITTEN in change and not moves(change):
            x._traced = (trace, value)
            head.written[value] = x
            return value, x
        memory = is_memory(x) or isinstance(x, np.ndarray)
        others = (
            argument in self.frozen
            or slot in head.shared
            or (memory and head.whole and not self._moves_arrays(head))
            or (memory and slot in head.may_be_one)
        )
        if others or (type(x) is Tensor and is_linked(x)):
            self._freeze(head, x, value, argument)
        array = x._array if type(x) is Tensor else x
        tensor = wrap(widened(value.type, array), (trace, value))
        if type(x) is Tensor:
            tensor._node = parent_of(x)
        original = self.world.original(x)
        if original is not x or type(x) is not Tensor:  # else the run made it, and leaves no Tensor
            self.world.stands_for(tensor, original)
        if moves(change):
            head.moved[value] = tensor
        return value, tensor

    def _release(self, head: Head) -> None:
        """What was recorded over parameters is of the values that they had.

        What else the turn did with numbers of Python that were NumPy's in it is not taken back.
        """
        wide = any(
            self.wide.get(p) is head and a.type.weak and not p.type.either
            for p, a in head.arguments.items()
        )
        if wide and (len(self.lists.log) > head.logged or self._marks(head) != head.marks):
            self._refuse(head, "floats of Python become NumPy's in turns that are not alike")
        builder = self.trace.builder
        after = [node for node in builder.nodes[head.begin :] if node not in head.further]
        del builder.nodes[head.begin :]
        for parameter, argument in head.arguments.items():
            self._is_now(parameter, argument)
        begin = len(builder.nodes)
        for node in after:
            if isinstance(node, Meet):  # one arm alone is known
                for parameter, argument in zip(node.results, node.arguments, strict=True):
                    self._is_now(parameter, argument)
            else:
                builder.append(node)
        self._define_index(head, head.index, begin, 0 if head.whole else 1)
        self._define_index(head, head.first, head.start, 0)
        head.open = False

    def _is_now(self, parameter: Value, argument: Value) -> None:
        """A parameter is recorded as what it was given."""
        builder = self.trace.builder
        if parameter.type.either:
            builder.call(either, (argument,), parameter.origin, dtype=parameter.type.dtype)
        elif argument.type.weak and not parameter.type.weak:
            widened_value(builder, argument, parameter)
        else:
            builder.call(handed, (argument,), parameter.origin)
        builder.append(replace(builder.nodes.pop(), results=(parameter,)))

    def _define_index(self, head: Head, index: Value | None, at: int, turn: int) -> None:
        """The number of a turn: one of Python's, or one that lengths or another loop tell."""
        if index is None or turn == len(head.numbers):  # there is no next turn
            return
        builder = self.trace.builder
        after = builder.nodes[at:]
        del builder.nodes[at:]
        first = self.trace.sizes.resolve(head.ends[0]) if head.ends is not None else 0
        settle(self, head, index, turn)
        if head.follows is not None:
            step = builder.constant(turn * head.numbers.step, INT)
            builder.call(add_values, (head.follows[0], step), index.origin)
            builder.append(replace(builder.nodes.pop(), results=(index,)))
        elif isinstance(first, Size):
            size = add(first, turn * head.numbers.step)
            builder.call(length, (), index.origin, size=size)
            builder.append(replace(builder.nodes.pop(), results=(index,)))
        else:
            after = [*counted(after, builder, index, head.numbers[turn])]
            builder.append(Constant(head.numbers[turn], index))
        for known in after:
            builder.append(known)

    # -- closing ----------------------------------------------------------------------------------

    def _close(self, head: Head) -> Cycle | None:
        """The loop, where the turn that was recorded ends as it began."""
        nodes = self.trace.builder.nodes
        arguments = self._ending(head, head.begin)
        if arguments is None:
            self._learn(head, head.begin)
            return None
        body = tuple(nodes[head.begin :])  # with the numbers that are handed on
        counter, numbers = None, head.numbers
        if head in self.wide.values() and self.shows_floats(body):
            self._unrolled(head, "floats of Python become NumPy's, beside other dtypes")
            raise Learned
        if head.counted is not None and head.collects:
            head.why = "turns fill a list, and how many there are depends on another loop"
            return None
        apart = head.target in self.apart.get(head.frame.code, ())
        first = None if apart or head.whole else self._first_turn(head, body, arguments)
        if head.whole:
            given = tuple([head.arguments[p] for p in self._all(head)])
            del nodes[head.begin :]
        elif first is None and head.counted is not None:  # which may have no turn at all
            head.why = "the first turn is not like the next one, and there may be none"
            self._learn_of_one(head)
            return None
        elif first is None:  # it is another one
            if not apart:
                self._learn_of_first(head, body)
            self._define_index(head, head.first, head.start, 0)
            given = tuple([head.arguments[p] for p in self._all(head)])
            numbers, head.peeled = numbers[1:], True
            del nodes[len(nodes) - len(body) :]
        else:
            for slot in head.parameters:
                self._lift(head, head.before[slot].holder)
            size = head.begin - head.start
            del nodes[head.start :]
            del self.counted.idle[head.idle_first :]
            begins = tuple(map(self._begins, first))
            given, head.peeled = self._earlier(head, body, arguments, begins, size), False
        given += self.lists.given(head, head.peeled)
        if head.index is not None:
            start, stop = self._ends(head, numbers)
            counter = Counter(head.index, start, stop, numbers.step)
        if counter is None or any(isinstance(node, Check | Entry) for node in body):
            self._freeze_views(head, self._all(head), given)
            self._freeze_begins(head, self._all(head), given)
        origin = self._origin(head, body)
        parameters = (*self._all(head), *(known.parameter for known in head.collects))
        cycle = Cycle(parameters, tuple(given), counter, origin)
        if counter is None:
            body = self._with_test_first(head, cycle, body, arguments)
        cycle.ways.append(Way(body, arguments))
        head.cycle, self.walk.heads[cycle] = cycle, head
        self.closed.append(head)
        self.lists.closes(head)
        self.reasons.get(head.frame.code, {}).pop(head.target, None)
        self._forget(body)
        return cycle

    def _learn(self, head: Head, at: int) -> None:
        """A turn, from a node on, ends otherwise than it began: next time both are covered.

        Raises `Learned` where that says more than was known.
        """
        found, new = self.lists.are_known(head), False
        if found is None or (found and not self._fills(head, at)):
            found, new = self.lists.growing(head, head.begun), True
            if not found:
                return
        now = self._variables(head)
        for slot, leaf in now.items():
            begun, parameter = head.begun.get(slot), head.parameters.get(slot)
            if isinstance(slot[0], Place) and self.world.is_outside(slot[0].holder):
                place = self._learn_of_place(slot, leaf, begun, parameter)
                if place is None:
                    return
                found.update(place)
                new |= bool(place) and parameter is None
                continue
            if begun is None:
                begun = self._begun_at(slot)
            lasting = self._lasting(head, slot)
            if begun is None or lasting is None:
                return
            same = leaf.holder is begun.holder
            if parameter is None and same and leaf.value is begun.value:
                continue
            before = type_of(begun) if parameter is None else parameter.type
            wide = join(before, type_of(leaf), self._are_one)
            alike = is_memory(begun.holder) == is_memory(leaf.holder)
            if wide is None or on_stack(slot) or not alike:
                return
            if type(leaf.holder) is bool and not is_flag(head, slot, leaf.holder):
                return
            written = parameter in head.written if same and parameter is not None else same
            found[lasting] = change_of(written, wide)
            if not same and is_variable(slot) and self._is_written(head, begun.holder):
                found[lasting] |= Change.WRITTEN
            new |= bool(wide) or parameter is None
        for slot in self._become_one(head, now):
            if (lasting := self._lasting(head, slot)) in found:
                found[lasting] |= Change.SHARED
                new |= slot not in head.may_be_one
        if new:
            self._learns(head, found)

    def _become_one(self, head: Head, now: Mapping[Slot, Leaf]) -> set[Slot]:
        """The variables that a turn, this one or that before, has made one array with others."""
        first, begun, ended = (
            {s: id(leaf.holder) for s, leaf in held.items() if leaf.value is not None}
            for held in (head.before, head.begun, now)
        )

        def are_one(held: Mapping[Slot, int], pair: tuple[Slot, Slot]) -> bool:
            return len({held.get(slot, slot) for slot in pair}) == 1

        pairs = combinations([slot for slot in ended if not is_tail(slot)], 2)
        some = (
            pair
            for pair in pairs
            if (are_one(ended, pair) and not are_one(begun, pair))
            or (are_one(begun, pair) and not (are_one(first, pair) and are_one(ended, pair)))
        )
        return {slot for pair in some for slot in pair}

    def _fills(self, head: Head, at: int) -> bool:
        """Whether a turn, from a node on, does no more with lists than to append once to each."""
        alike = self._marks(head) == head.marks
        return alike and self.lists.ending(head, self.trace.builder.nodes[at:]) is not None

    def _learn_of_one(self, head: Head) -> None:
        """A loop may have a single turn: in the next run that turn is recorded over parameters."""
        if len(self.counted.idle) == head.idle_first:
            self._learns(
                head,
                {
                    lasting: self._change(head, parameter, self._width(parameter))
                    for slot, parameter in head.parameters.items()
                    if (lasting := self._lasting(head, slot)) is not None
                },
            )

    def _learn_of_changed(self, head: Head) -> None:
        """As much is learned of a turn after which no other one began: what has changed since."""
        now = self._variables(head)
        found: Known = {}
        for slot, leaf in head.before.items():
            other = now.get(slot)
            if other is None or (other.holder is leaf.holder and other.value is leaf.value):
                continue
            wide = join(type_of(leaf), type_of(other), self._are_one)
            lasting = self._lasting(head, slot)
            if wide is None or lasting is None or on_stack(slot):
                return
            found[lasting] = change_of(other.holder is leaf.holder, wide)
        self._learns(head, found)

    def _learns(self, head: Head, found: Known) -> None:
        """Notes what the variables of a loop are, and has the run made again if that is new."""
        known = self.states.get((head.frame.code, head.target), {})
        joined = {slot: change | known.get(slot, change) for slot, change in found.items()}
        if found and not joined.items() <= known.items() and self.is_repeatable():
            self.states[head.frame.code, head.target] = {**known, **joined}
            raise Learned

    def _are_one(self, a: ArrayType, b: ArrayType) -> bool:
        """Whether types are one; that lengths which are equal now always are is a guard."""
        sizes = self.trace.sizes
        if (a.dtype, a.weak, a.ndim) != (b.dtype, b.weak, b.ndim):
            return False
        pairs = [
            (m, n) for m, n in zip(dims_of(sizes, a), dims_of(sizes, b), strict=True) if m != n
        ]
        known = sizes.seen.keys() - sizes.data.keys()
        equal = all(
            symbols(m) | symbols(n) <= known and sizes.value(m) == sizes.value(n) for m, n in pairs
        )
        return equal and all(sizes.same(m, n) for m, n in pairs)

    def is_repeatable(self) -> bool:
        """Whether the run can be made again."""
        raise NotImplementedError

    def _unrolled(self, head: Head, why: str) -> None:
        """A loop is not tried again."""
        raise NotImplementedError

    def _refuse(self, head: Head, what: str) -> None:
        """The run is no program, and is made again where it can be: with the loop unrolled."""
        raise NotImplementedError

    def _ends(self, head: Head, numbers: range) -> tuple[Value, Value]:
        """The first number of a loop, and the one behind the last."""
        if head.follows is not None:
            first, last = head.follows
            if head.peeled:
                step = self.trace.builder.constant(head.numbers.step, INT)
                (first,) = self.trace.builder.call(add_values, (first, step), first.origin)
            return first, last
        start, stop = head.ends or (numbers.start, numbers.stop)
        step = numbers.step
        if self.trace.budgets:  # what turns keep is told by their number
            self.lengths.fix(start)
            self.lengths.fix(stop)
        self.lengths.assume_turns(start, stop, step)
        start = add(start, step * head.peeled) if head.ends else start
        origin = self._origin(head, ())
        return self.lengths.value(start, origin), self.lengths.value(stop, origin)

    def turns_of(self, head: Head) -> Dim:
        """How many turns a loop has from where it was first watched."""
        if head.ends is None:
            return len(head.numbers)
        return self.lengths.turns(*head.ends, head.numbers.step)  # type: ignore[no-any-return]

    def _origin(self, head: Head, body: Sequence[Any]) -> Origin:
        if head.index is not None:
            return head.index.origin.named(None)
        looks = [node.origin for node in body if isinstance(node, Check)]
        return replace(looks[-1], name=None, final=False) if looks else Origin()

    def _ending(self, head: Head, at: int) -> tuple[Value, ...] | None:
        """The arguments of the next turn; None where this one does not end as it began.

        It begins at a node.
        """
        nodes = self.trace.builder.nodes[at:]
        rows = self.lists.ending(head, nodes)
        if rows is None:
            head.why = "a turn does not append once to each list"
            return None
        if len(self.counted.idle) > head.idle:
            head.why = "a loop in it has no turns, which it may have in others"
            return None
        if why := self._cannot_return(head, nodes):
            head.why = why
            return None
        self._let_go(head, head.begun)
        now = self._variables(head)
        if self.lists.appends_elsewhere(head):
            head.why = "a list is appended to that no variable holds"
            return None
        if not self._keeps(head, now, head.begun):
            return None
        if not self._are_alone(head, now):
            head.why = OTHERS_HAVE
            return None
        if self._moves(head):
            head.why = MOVED
            return None
        found: dict[Value, tuple[Any, Value]] = {}
        seen: dict[int, Value] = {}
        turn = {*made_in(nodes), *head.arguments}
        for slot, leaf in now.items():
            parameter = head.parameters.get(slot)
            if parameter is None:
                begun = head.begun[slot]
                if leaf.holder is not begun.holder or leaf.value is not begun.value:
                    head.why = f"{called(head, slot)} is another {kind_of(leaf)} in later turns"
                    return None
                continue
            alike = is_memory(leaf.holder) == is_memory(head.begun[slot].holder)
            flag = is_flag(head, slot, leaf.holder)
            value = self._as(head, parameter, leaf, flag) if alike else None
            if value is None or not self._stays(head, slot, parameter, leaf):
                head.why = f"{called(head, slot)} ends a turn as {as_another(leaf, parameter)}"
                return None
            self._is_shown(head, slot, parameter, value)
            if value in self.frozen or (is_memory(leaf.holder) and value not in turn):
                self._freeze(head, leaf.holder, parameter)  # others have it
            if parameter not in head.written and self.is_written_in_turns(leaf.holder, head):
                head.why = OTHERS_HAVE
                return None
            own = slot in head.may_be_one or leaf.value is None
            other = parameter if own else seen.setdefault(id(leaf.holder), parameter)
            known = found.setdefault(parameter, (leaf.holder, value))
            if other is not parameter or known[1] is not value:
                head.why = f"{called(head, slot)} is one array with another variable in some turns"
                return None
        self._freeze_what_others_have(head, now)
        if self.frozen and (self._spreads_to_written() or head.moved.keys() & self.frozen.keys()):
            head.why = OTHERS_HAVE
            return None
        held = {id(leaf.holder) for leaf in now.values()}
        written = [(other(), was) for other, was in self.written[head.wrote :]]
        if written and any(map(is_tail, head.parameters)):
            return None
        others = [x for x, _ in written if x is not None and id(x) not in held]
        if others and self._has_any(head, others):
            head.why = "an array is written to that is no variable of the turns"
            return None
        ours = {id(x) for x in head.written.values()}
        if any(x is not None and was not in turn and id(x) not in ours for x, was in written):
            head.why = (
                "an array from before the turns is written to, which is no variable of theirs"
            )
            return None
        return (*(found[p][1] for p in self._all(head)), *rows)

    def _has_any(self, head: Head, arrays: Collection[Tensor]) -> bool:
        """Whether the function still has one of these, or a part of one, when the next turn begins.

        A variable that is dead then does not count: a turn has made it, filled it and read it.
        """
        views = (view() for x in arrays for view in x._views or ())
        return bool(self.has_in_next_turn(head, {*map(id, arrays), *map(id, views)}))

    def _keeps(self, head: Head, now: Mapping[Slot, Leaf], before: Mapping[Slot, Leaf]) -> bool:
        """Whether a turn changed nothing but its variables, and has the same of them."""
        differing = (i for i, mark in enumerate(self._marks(head)) if mark != head.marks[i])
        first = next(differing, None)
        if first is not None:
            head.why = {0: self.barred, 1: head.barred}.get(first) or MARKS[first]
            return False
        if now.keys() != before.keys():
            name = min(called(head, slot) for slot in now.keys() ^ before.keys())
            head.why = f"{name} is not there in all turns"
            return False
        return True

    def _marks(self, head: Head) -> tuple[Any, ...]:
        """What may not change in a turn that stands for all: see `unrolling_reasons.MARKS`."""
        raise NotImplementedError

    def _cannot_return(self, head: Head, nodes: Sequence[Any]) -> str:
        """Why the frames cannot be put back to some look in a turn; nothing where they can."""
        if head.seat is None:
            return "what its frame holds is not known"
        told = set()  # what was looked at: another look has the same outcome
        for node in nodes:
            if isinstance(node, Check):
                seat = self.seats.of(node)
                if node.look != "bool":
                    return f"{at_line(node.origin)}: Python reads a value as a number"
                if node.operand not in told and not (seat and seat.inside(head.frame)):
                    return f"{at_line(node.origin)}: a branch to which no turn can go back"
                told.add(node.operand)
            elif isinstance(node, Entry):
                inner = self.walk.heads[node.cycle]
                if not inner.seat.inside(head.frame):
                    return f"{at_line(node.cycle.origin)}: a loop to which no turn can go back"
                for way in node.cycle.ways:
                    if why := self._cannot_return(head, way.nodes):
                        return why
        return ""

    def _add(self, cycle: Cycle, way: Way) -> None:
        """One more way through a turn; what is no arm of one tree with it is forgotten."""
        limb, kept = limb_of(cycle, way), []
        for other in cycle.ways:
            try:
                merged(limb_of(cycle, other), limb)
            except Apart:
                continue
            kept.append(other)
        cycle.ways[:] = [*kept, way]

    def _stays(self, head: Head, slot: Slot, parameter: Value, leaf: Leaf) -> bool:
        """Whether what is written in place is one object in all turns, and nothing else is."""
        begun = head.begun[slot].holder
        if parameter in head.written:
            return leaf.holder is head.written[parameter]
        if parameter in head.moved:
            return True
        return all(x() is not begun for x, _ in self.written[head.wrote :])

    def _as(self, head: Head, parameter: Value, leaf: Leaf, flag: bool) -> Value | None:
        """What a variable holds, as the parameter of the next turn."""
        x = leaf.holder
        if leaf.value is None and is_constant_array(self.world, x):
            value = self.trace.lift(x, parameter.origin)
            return value if self._are_one(value.type, parameter.type) else None
        if leaf.value is not None and not self._may_change(head, leaf):
            return None
        x = self._recorded(parameter, x)
        if type(x) is not Tensor:
            return self._number(parameter, x, flag)
        if is_linked(x):
            self._freeze(head, x, parameter)
        value = x._traced[1]
        self.walk.notes((value,), (x,))
        fits = value.type.either <= parameter.type.either
        return value if fits and self._are_one(value.type, parameter.type) else None

    def _is_shown(self, head: Head, slot: Slot, parameter: Value, value: Value) -> None:
        """What is a Tensor to the caller at the end of a turn, is one in the next one."""
        shown = self.trace.shown
        if value in shown and parameter not in shown:
            if (lasting := self._lasting(head, slot)) is not None:
                change = self._change(head, parameter, self._width(parameter))
                self._learns(head, {lasting: change | Change.SHOWN})
            shown.add(parameter)

    def _forget(self, nodes: Sequence[Any]) -> None:
        """What was recorded of numbers from outside in a turn is not there after it."""
        self.world.numbers.forget({r for node in nodes for r in node.results})
