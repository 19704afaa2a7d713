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
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from codegen.ir import Call, Check, Constant, Counter, Origin, Value, dims_of
from codegen.types import kind, weak_of
from tracegrad.machine.liveness import live
from tracegrad.machine.world import ABSENT
from tracegrad.ops.elementwise import alias
from tracegrad.paths import Cycle, Entry, Way
from tracegrad.state import STATE
from tracegrad.tensor import Tensor, wrap
from tracegrad.world.heads import (
    CHANGING,
    FEWEST,
    INT,
    RANGE,
    READING,
    SUSPENDED,
    UNCHANGING,
    UNCLOSED,
    Head,
    Leaf,
    ManyTurns,
    Seat,
)
from tracegrad.world.rows import Rows, enumerated, rows_of, zipped
from tracegrad.world.turns import Same, Turns, renamed, untraced
from tracegrad.world.world import CALL, RULES


class Loops:
    """The loops of one run."""

    def __init__(self, world: Any, trace: Any) -> None:
        self.world = world
        self.trace = trace
        self.heads: dict[tuple[int, int], Head] = {}
        self.ranges: dict[int, Head] = {}
        self.changes = 0  # how often something was changed that a turn is not told of
        self.written: list[Any] = []  # Tensors that were written to
        self.iterators: list[Any] = []  # made since
        self.seat: Seat | None = None
        self.closed: list[Head] = []
        self.suspended = 0  # derivatives taken of what runs
        self.patience: int | None = None  # so many turns are unrolled, if not any number
        self.refused = False  # the run is no program, because a loop was closed

    # -- what the world tells ---------------------------------------------------------------------

    def advance(self, iterator: Any, *default: Any) -> Any:
        """The next number of a range, or the next row, where a loop goes through it."""
        if type(iterator) is Rows:
            number = self._advance(iterator.numbers, iterator, ABSENT)
            if number is not ABSENT:
                return iterator.at(number)
            return default[0] if default else next(iterator)
        return self._advance(iterator, iterator, *default)

    def _advance(self, iterator: Any, shown: Any, *default: Any) -> Any:
        """The next number, of a range that the function has as `shown`."""
        head = self.ranges.get(id(iterator)) or self._first(iterator, shown)
        if head is None:
            if all(shown is not known for known in self.iterators):
                self.changes += 1
            return next(iterator, *default)
        number = next(iterator, *default)
        if default and number is default[0]:
            return number
        frame = self.world.machine.frame
        if frame is not head.frame or frame.index != head.target or head.cycle is not None:
            self._refuse(head, "where it leaves a loop")
            return number
        tensor = wrap(number, (self.trace, head.index))
        self.world.stands_for(tensor, number)
        return tensor

    def rule_for(self, operation: Any, operands: Sequence[Any], keywords: Any) -> Any:
        """What is done in place of an operation of C that has to do with loops, or None."""
        if operation is next and not self.world.is_outside(operands[0]):
            return _next
        if operation is iter:
            return _iter
        if operation is zip or operation is enumerate:
            outside = keywords or any(self.world.is_outside_tensor(x) for x in operands)
            rows = None if outside else (zipped if operation is zip else enumerated)(*operands)
            if rows is not None:
                self.iterators.append(rows)
                return lambda *given: rows
        self.sees(operation, operands)
        return None

    def sees(self, operation: Any, operands: Sequence[Any]) -> None:
        """An operation of C: one that changes an object is no part of a turn for all."""
        if id(operation) in CHANGING and type(operands[0]) not in UNCHANGING:
            self.changes += 1

    def sees_method(self, x: Any, name: str) -> None:
        """A method of C: what is not known to read alone may change the object."""
        if type(x) not in UNCHANGING and not isinstance(x, type) and name not in READING:
            self.changes += 1

    def iterate(self, x: Any) -> Any:
        """An iterator that was made, over the rows of a Tensor; None for other things."""
        rows = None if self.world.is_outside_tensor(x) else rows_of(x)
        if rows is not None:
            self.iterators.append(rows)
        return rows

    def compares(self, *operands: Any) -> None:
        """Who a Tensor is may be another object in each turn."""
        if any(type(x) is Tensor for x in operands) and all(x is not None for x in operands):
            self.changes += 1

    def counts(self, x: Any) -> bool:
        """Whether something is an int of a loop, for which the function has a Tensor."""
        return self._is_recorded(x) and x._traced[1].type == INT

    def _first(self, iterator: Any, shown: Any) -> Head | None:
        """The loop that begins with this range, where it may be worth it."""
        if type(iterator) is not RANGE or operator.length_hint(iterator) < FEWEST:
            return None
        if self.suspended or STATE.trace is not self.trace:
            return None
        frame = self.world.machine.frame
        instructions = frame.program.instructions
        if instructions[frame.index].name != "FOR_ITER" or frame.stack[-1] is not shown:
            return None
        if not self._may_loop(frame, frame.index):
            return None
        self._leave(frame, frame.index)
        reduced: Any = iterator.__reduce__()
        _, (numbers,), state = reduced
        following = instructions[frame.index + 1]
        name = "_"
        if following.name == "STORE_FAST" and shown is iterator:
            name = frame.program.slots[following.arg]
        if shown is not iterator:
            name = "i"
        head = Head(frame, frame.index, iterator, shown, numbers[state or 0 :], name)
        self.heads[id(frame), frame.index] = head
        self.ranges[id(iterator)] = head
        head.index = self._new_index(head)
        head.start = len(self.trace.builder.nodes)
        head.wrote = len(self.written)
        head.before = self._variables(frame, frame.index)
        head.marks = self._marks()
        return head

    def _may_loop(self, frame: Any, target: int) -> bool:
        """Whether a loop is tried: in a generator, others do what a turn does."""
        if frame.code.co_flags & SUSPENDED:
            return False
        return target not in UNCLOSED.get(frame.code, ())

    def _leave(self, frame: Any, target: int) -> None:
        """Loops behind an instruction, and those of frames that have returned, are left."""
        running = []
        while frame is not None:
            running.append(frame)
            frame = frame.back
        for head in reversed([*self.heads.values()]):
            known = any(head.frame is other for other in running)
            if not known or (head.frame is running[0] and head.target >= target):
                self._settle(head)

    def finish(self) -> None:
        """The run ends: what is still open is of the values that it had."""
        for head in reversed([*self.heads.values()]):
            self._settle(head)

    def _settle(self, head: Head) -> None:
        """A loop is left: a turn that stands for no others is one of the numbers that it had."""
        if self.heads.pop((id(head.frame), head.target), None) is None or head.cycle is not None:
            return
        if head.open:
            self._release(head)
        elif head.index is not None:
            self._define_index(head, head.index, head.start, 0)
        if head.iterator is not None:
            self.ranges.pop(id(head.iterator), None)
            self.iterators.append(head.shown)

    def _new_index(self, head: Head) -> Value:
        origin = self.trace.origin()
        return Value(INT, Origin(head.name, True, origin.file, origin.line, origin.text))

    def decides(self, x: Any) -> None:
        """The function is about to branch on a value."""
        self.seat = None
        frame = self.world.machine.frame
        if type(x) is not Tensor or frame is None:
            return
        instruction = frame.program.instructions[frame.index].name
        if not instruction.startswith("POP_JUMP"):
            return
        stack = [*frame.stack, x]
        held = [*frame.fast, *stack]
        values = {id(v): v._traced[1] for v in held if self._is_recorded(v)}
        self.seat = Seat(frame.index, [*frame.fast], stack, values)

    def looks(self, check: Check) -> None:
        """A look was recorded."""
        seat, self.seat = self.seat, None
        if seat is None or check.look != "bool" or seat.stack[-1]._traced[1] is not check.operand:
            return
        for head in self.heads.values():
            if head.frame is self.world.machine.frame:
                head.seats[check] = seat

    def _is_recorded(self, x: Any) -> bool:
        return type(x) is Tensor and x._traced is not None and x._traced[0] is self.trace

    def _marks(self) -> tuple[Any, ...]:
        """What may not change in a turn that stands for all."""
        trace, world = self.trace, self.world
        return (
            self.changes,
            len(world._log),
            len(world.effects),
            len(world._stored),
            len(trace.counts),
            len(trace.drawn_from),
            trace.disturbed,
            trace.unseen,
            trace.raised,
            STATE.grad_enabled,
        )

    # -- the turns --------------------------------------------------------------------------------

    def turn(self, frame: Any, target: int) -> int:
        """A jump backwards: where the frame goes on."""
        if STATE.trace is not self.trace or self.suspended:
            if self.patience == 0:
                raise ManyTurns
            self.patience = self.patience and self.patience - 1
            return target
        self._leave(frame, target + 1)
        if not self._may_loop(frame, target):
            return target
        head = self.heads.get((id(frame), target))
        if head is None:
            if frame.program.instructions[target].name == "FOR_ITER":
                return target
            head = self.heads[id(frame), target] = Head(frame, target)
            self._begin(head)
            return target
        if head.iterator is not None and (
            not frame.stack or frame.stack[-1] is not head.shown
        ):  # the same loop once more, over something else
            return target
        if head.cycle is not None:
            return self._again(head)
        if not head.open:
            self._open(head)
            return target
        if self._close(head):
            return self._run(head)
        self._give_up(head)
        return target

    def _begin(self, head: Head) -> None:
        head.start = len(self.trace.builder.nodes)
        head.wrote = len(self.written)
        head.before = self._variables(head.frame, head.target)
        head.marks = self._marks()

    def _variables(self, frame: Any, index: int) -> dict[int, Leaf]:
        """What the live variables hold, and behind them the stack."""
        known = live(frame.code)[index]
        found = {i: frame.fast[i] for i in sorted(known)}
        found.update({~i: x for i, x in enumerate(frame.stack)})
        return {
            i: Leaf(x, x._traced[1] if self._is_recorded(x) else None) for i, x in found.items()
        }

    def _open(self, head: Head) -> None:
        """After a turn: what it changed become parameters."""
        frame = head.frame
        now = self._variables(frame, head.target)
        if head.marks != self._marks() or now.keys() != head.before.keys():
            self._give_up(head)
            return
        changed = {}
        for slot, leaf in now.items():
            old = head.before[slot]
            if leaf.holder is old.holder and leaf.value is old.value:
                continue
            if slot < 0 or not self._may_change(leaf) or self._is_shared(head, leaf):
                self._give_up(head)
                return
            changed[slot] = leaf
        head.begin = len(self.trace.builder.nodes)
        head.parameters, head.arguments, head.written = {}, {}, {}
        made: dict[int, tuple[Value, Any]] = {}
        for slot, leaf in changed.items():
            known = made.get(id(leaf.holder))
            if known is None:
                known = made[id(leaf.holder)] = self._parameter(head, slot, leaf)
            head.parameters[slot], frame.fast[slot] = known
        head.begun = self._variables(frame, head.target)
        if head.index is not None:
            head.first, head.index = head.index, self._new_index(head)
        head.marks, head.open = self._marks(), True
        head.seats.clear()
        head.wrote = len(self.written)
        self.iterators.clear()
        self.trace.operands = head.tensors = {}

    def _may_change(self, leaf: Leaf) -> bool:
        x = leaf.holder
        if type(x) is Tensor:
            linked = x._view is not None or any(ref() is not None for ref in x._views or ())
            return leaf.value is not None and not linked
        return type(x) in (int, float)

    def _is_written(self, head: Head, x: Any) -> bool:
        """Whether a Tensor was written to in this turn."""
        return any(x is other for other in self.written[head.wrote :])

    def _is_shared(self, head: Head, leaf: Leaf) -> bool:
        """Whether others may hold an array that a variable was given in the first turn."""
        if leaf.value is None or not leaf.value.type.shape or self._is_written(head, leaf.holder):
            return False
        made = (node.results for node in self.trace.builder.nodes[head.start :])
        return all(leaf.value not in results for results in made)

    def _parameter(self, head: Head, slot: int, leaf: Leaf) -> tuple[Value, Any]:
        """A parameter, and what the function has for it."""
        trace, x = self.trace, leaf.holder
        name = head.frame.program.slots[slot]
        if type(x) is not Tensor:
            x = self.world.numbers.lifted(self.world, x)
        origin = Origin(name, True)
        if type(x) is Tensor:
            argument = x._traced[1]
            value = Value(argument.type, origin)
        else:
            argument = trace.number(x, weak_of(x), Origin(name, True))
            value = Value(weak_of(x), origin)
            head.begin = len(trace.builder.nodes)
        head.arguments[value] = argument
        if type(x) is Tensor and self._is_written(head, x):
            x._traced = (trace, value)
            head.written[value] = x
            return value, x
        tensor = wrap(x._array if type(x) is Tensor else x, (trace, value))
        if type(x) is Tensor:
            tensor._node = x._node
        self.world.stands_for(tensor, self.world.original(leaf.holder))
        return value, tensor

    def _give_up(self, head: Head) -> None:
        """The loop stays unrolled from here on."""
        UNCLOSED.setdefault(head.frame.code, set()).add(head.target)
        self._settle(head)

    def _refuse(self, head: Head, what: str) -> None:
        """The run is no program; in the next one the loop stays unrolled."""
        self.trace.read(what)
        self.refused = True
        self._give_up(head)

    def derives(self) -> None:
        """A derivative of what was recorded is taken in the run: of turns there is no record."""
        for head in [*self.closed]:
            self._refuse(head, "a derivative of a loop in the function itself")

    def unroll(self) -> None:
        """No loop of this run stays one from here on."""
        for head in self.closed:
            UNCLOSED.setdefault(head.frame.code, set()).add(head.target)

    def _release(self, head: Head) -> None:
        """What was recorded over parameters is of the values that they had."""
        builder = self.trace.builder
        after = builder.nodes[head.begin :]
        del builder.nodes[head.begin :]
        for parameter, argument in head.arguments.items():
            builder.call(alias, (argument,), parameter.origin)
            builder.append(replace(builder.nodes.pop(), results=(parameter,)))
        begin = len(builder.nodes)
        for node in after:
            builder.append(node)
        self._define_index(head, head.index, begin, 1)
        self._define_index(head, head.first, head.start, 0)
        head.open = False
        self.trace.operands = None

    def _define_index(self, head: Head, index: Value | None, at: int, turn: int) -> None:
        """The number of a turn is a number."""
        if index is not None:
            nodes, node = self.trace.builder.nodes, Constant(head.numbers[turn], index)
            nodes[at:] = [node, *_without_looks(nodes[at:], index)]
            self.trace.builder.producer[index] = node

    # -- closing ----------------------------------------------------------------------------------

    def _close(self, head: Head) -> bool:
        """Whether the turn that was recorded ends as it began."""
        nodes = self.trace.builder.nodes
        arguments = self._ending(head, nodes[head.begin :])
        if arguments is None:
            return False
        body = tuple(nodes[head.begin :])  # with the numbers that are handed on
        counter = None
        numbers = head.numbers
        first = self._first_turn(head, body, arguments)
        if first is None:  # it is another one
            self._define_index(head, head.first, head.start, 0)
            given = tuple([head.arguments[p] for p in self._all(head)])
            numbers = numbers[1:]
            del nodes[len(nodes) - len(body) :]
        else:
            size = head.begin - head.start
            del nodes[head.start :]
            given = self._earlier(head, body, arguments, first, size)
        if head.index is not None:
            start = self.trace.builder.constant(numbers.start, INT)
            stop = self.trace.builder.constant(numbers.stop, INT)
            counter = Counter(head.index, start, stop, numbers.step)
        origin = self._origin(head, body)
        cycle = Cycle(tuple(self._all(head)), tuple(given), counter, origin)
        if counter is None:
            body = self._with_test_first(head, cycle, body, arguments)
        cycle.ways.append(Way(body, arguments))
        head.cycle, head.entered = cycle, len(nodes)
        self.closed.append(head)
        self.trace.operands = None
        self._forget(body)
        return True

    def _all(self, head: Head) -> list[Value]:
        return list(head.arguments)

    def _origin(self, head: Head, body: Sequence[Any]) -> Origin:
        if head.index is not None:
            return head.index.origin.named(None)
        looks = [node.origin for node in body if isinstance(node, Check)]
        return replace(looks[-1], name=None, final=False) if looks else Origin()

    def _ending(self, head: Head, body: Sequence[Any]) -> tuple[Value, ...] | None:
        """The arguments of the next turn; None where this one does not end as it began."""
        if head.marks != self._marks():
            return None
        for node in body:
            if isinstance(node, Entry) or (isinstance(node, Check) and node not in head.seats):
                return None
        now = self._variables(head.frame, head.target)
        if now.keys() != head.begun.keys():
            return None
        found: dict[Value, tuple[Any, Value]] = {}
        seen: dict[int, Value] = {}
        for slot, leaf in now.items():
            parameter = head.parameters.get(slot)
            if parameter is None:
                begun = head.begun[slot]
                if leaf.holder is not begun.holder or leaf.value is not begun.value:
                    return None
                continue
            value = self._as(parameter, leaf)
            if value is None or not self._stays(head, slot, parameter, leaf):
                return None
            other = seen.setdefault(id(leaf.holder), parameter) if leaf.value else parameter
            known = found.setdefault(parameter, (leaf.holder, value))
            if other is not parameter or known[1] is not value:
                return None
        held = {id(leaf.holder) for leaf in now.values()}
        if any(id(x) not in held for x in self.written[head.wrote :]):
            return None
        return tuple(found[p][1] for p in self._all(head))

    def _stays(self, head: Head, slot: int, parameter: Value, leaf: Leaf) -> bool:
        """Whether what is written in place is one object in all turns, and nothing else is."""
        begun = head.begun[slot].holder
        if parameter in head.written:
            return leaf.holder is head.written[parameter]
        return all(x is not begun for x in self.written[head.wrote :])

    def _as(self, parameter: Value, leaf: Leaf) -> Value | None:
        """What a variable holds, as the parameter of the next turn."""
        x, type = leaf.holder, parameter.type
        if leaf.value is None:
            if builtin(x) is None or not type.weak or kind(type.dtype) != builtin(x):
                return None
            return self.trace.number(x, type, parameter.origin)
        if not self._may_change(leaf):
            return None
        return leaf.value if self._same_type(leaf.value, type) else None

    def _same_type(self, value: Value, type: Any) -> bool:
        sizes = self.trace.sizes
        if (value.type.dtype, value.type.weak) != (type.dtype, type.weak):
            return False
        return bool(dims_of(sizes, value.type) == dims_of(sizes, type))

    def _first_turn(
        self, head: Head, body: Sequence[Any], arguments: Sequence[Value]
    ) -> tuple[Value, ...] | None:
        """What the first turn had for the parameters; None where it did something else."""
        turn = self.trace.builder.nodes[head.start : head.begin]
        same = Same(self.trace, self._all(head))
        if head.index is not None and head.first is not None:
            same.found[head.index] = head.first
        if not same.sequences(body, turn):
            return None
        made = {r for node in turn for r in node.results}
        given = []
        for slot, parameter in head.parameters.items():
            if parameter in same.found:
                continue
            leaf = head.before[slot]
            value = self._as_first(parameter, leaf)
            if value is None:
                return None
            same.found[parameter] = value
        for parameter, again in zip(self._all(head), arguments, strict=True):
            first = same.found[parameter]
            if first in made or not self._fits(first, parameter):
                return None
            if not same.values(again, head.arguments[parameter]):
                return None
            given.append(first)
        return tuple(given)

    def _earlier(
        self,
        head: Head,
        body: Sequence[Any],
        arguments: Sequence[Value],
        given: tuple[Value, ...],
        size: int,
    ) -> tuple[Value, ...]:
        """What turns before the first that was watched had for the parameters; they go."""
        nodes = self.trace.builder.nodes
        while head.index is None and 0 < size <= len(nodes):
            same = Same(self.trace, self._all(head))
            if not same.sequences(body, nodes[-size:]):
                break
            if not all(map(same.values, arguments, given)):
                break
            before = [v for p in self._all(head) if (v := same.found.get(p)) is not None]
            made = {r for node in nodes[-size:] for r in node.results}
            if len(before) < len(given) or any(v in made for v in before):
                break
            if not all(map(self._fits, before, self._all(head))):
                break
            given = tuple(before)
            del nodes[-size:]
        return given

    def _with_test_first(
        self, head: Head, cycle: Cycle, body: tuple[Any, ...], arguments: tuple[Value, ...]
    ) -> tuple[Any, ...]:
        """The turn of a ``while``, which CPython tests at the end, with its test at the beginning.

        The test before the loop goes: it is that of the first turn.
        """
        nodes = self.trace.builder.nodes
        if len(set(arguments)) < len(arguments) or not isinstance(body[-1], Check):
            return body
        for size in range(len(body) - 1, 0, -1):
            same = Same(self.trace, ())
            same.found.update(zip(arguments, cycle.arguments, strict=True))
            test = body[-size:]
            if any(isinstance(node, Check) for node in test[:-1]) or size > len(nodes):
                continue
            before = nodes[-size:]
            if not (
                isinstance(before[-1], Check)
                and same.sequences(test, before)
                and self._is_test(test, arguments, cycle)
            ):
                continue
            del nodes[-size:]
            cycle.test = test
            return self._rotated(head, cycle, body, arguments, size)
        return body

    def _is_test(self, test: Sequence[Any], arguments: Sequence[Value], cycle: Cycle) -> bool:
        """Whether a test is of the parameters alone, and nothing else is made of it."""
        made = {r for node in test for r in node.results}
        read = {v for node in test for v in node.operands}
        return made.isdisjoint(arguments) and read.isdisjoint(cycle.parameters)

    def _rotated(
        self,
        head: Head,
        cycle: Cycle,
        body: tuple[Any, ...],
        arguments: tuple[Value, ...],
        size: int,
    ) -> tuple[Any, ...]:
        test, rest = body[-size:], body[:-size]
        new = dict(zip(arguments, cycle.parameters, strict=True))
        turned: list[Any] = []
        for node in test:
            for result in node.results:
                new[result] = Value(result.type, result.origin)
            turned.append(renamed(node, new))
        for node in turned:
            for result in node.results:
                self.trace.builder.producer[result] = node
        seat = head.seats.pop(test[-1])
        values = {key: new.get(value, value) for key, value in seat.values.items()}
        head.seats[turned[-1]] = replace(seat, values=values)
        return (*turned, *rest)

    def _without_test(
        self, cycle: Cycle, body: tuple[Any, ...], arguments: tuple[Value, ...]
    ) -> tuple[Any, ...] | None:
        """A new way through a turn without the test of the next one; None where it has none."""
        if not cycle.test:
            return body
        size, known = len(cycle.test), cycle.ways[0]
        same = Same(self.trace, ())
        same.found.update(zip(known.arguments, arguments, strict=True))
        return body[:-size] if same.sequences(cycle.test, body[-size:]) else None

    def _as_first(self, parameter: Value, leaf: Leaf) -> Value | None:
        if leaf.value is not None:
            return leaf.value if self._same_type(leaf.value, parameter.type) else None
        return None

    def _fits(self, first: Value, parameter: Value) -> bool:
        """Whether a value may be the first argument for a parameter."""
        if self._same_type(first, parameter.type):
            return True
        a, b = first.type, parameter.type
        return a.weak and not b.shape and not b.weak and kind(a.dtype) == kind(b.dtype) == "float"

    def _forget(self, nodes: Sequence[Any]) -> None:
        """What was recorded of numbers from outside in a turn is not there after it."""
        made = {r for node in nodes for r in node.results}
        for known in self.world.numbers._found.values():
            tensor = known.tensor
            if self._is_recorded(tensor) and tensor._traced[1] in made:
                known.tensor = None

    # -- running the turns that are left ----------------------------------------------------------

    def _run(self, head: Head) -> int:
        """Runs what was recorded until the loop is left; where the frame goes on."""
        cycle, frame = head.cycle, head.frame
        assert cycle is not None
        held = {}
        for slot, parameter in head.parameters.items():
            x = frame.fast[slot]
            held[parameter] = x if type(x) is not Tensor else untraced(x)
        before = STATE.update(trace=None, machine=None)
        try:
            left = Turns(self.trace, cycle, head.tensors).run(head.iterator, held)
        except Exception:
            STATE.update(**before)
            return self._before_turn(head, held)
        finally:
            STATE.update(**before)
        builder = self.trace.builder
        if left is None:
            builder.append(Entry(cycle, False))
            self._set(head, held)
            return head.target
        self.trace.operands = head.tensors
        values, way, at = left
        builder.append(Entry(cycle, True))
        for node in way.nodes[:at]:
            builder.append(node)
        seat = head.seats[way.nodes[at]]
        head.wrote = len(self.written)
        back = _Back(self, head, seat, values)
        frame.fast[:] = map(back.now, seat.fast)
        frame.stack[:] = map(back.now, seat.stack)
        return seat.index

    def _before_turn(self, head: Head, held: dict[Value, Any]) -> int:
        """A turn raised: the frame goes back to its beginning, to raise where the function does."""
        assert head.cycle is not None
        self.trace.read("a loop in which an operation raised")
        self.trace.builder.append(Entry(head.cycle, False))
        self._set(head, held)
        if head.iterator is not None:
            head.iterator.__setstate__(head.iterator.__reduce__()[2] - 1)
        self._settle(head)
        return head.target

    def _set(self, head: Head, held: dict[Value, Any]) -> None:
        """The variables behind the last turn."""
        made = {p: self._renewed(x, p, held[p]) for p, x in head.written.items()}
        for slot, parameter in head.parameters.items():
            if parameter not in made:
                made[parameter] = self._now(head.frame.fast[slot], parameter, held[parameter])
            head.frame.fast[slot] = made[parameter]

    def _renewed(self, x: Tensor, value: Value, found: Any) -> Tensor:
        """A Tensor that others have too, with what it is now."""
        x._array, x._node, x._traced = found._array, found._node, (self.trace, value)
        return x

    def _now(self, old: Any, value: Value, found: Any) -> Any:
        tensor = wrap(getattr(found, "_array", found), (self.trace, value))
        tensor._node = getattr(found, "_node", None)
        if type(old) is Tensor and self.world.original(old) is not old:
            self.world.stands_for(tensor, tensor._array)
        return tensor

    def _again(self, head: Head) -> int:
        """The function comes back to the beginning of a loop by a way that is new."""
        cycle, nodes = head.cycle, self.trace.builder.nodes
        assert cycle is not None
        entry = nodes[head.entered] if head.entered < len(nodes) else None
        if not isinstance(entry, Entry) or entry.cycle is not cycle or not entry.in_turn:
            self._refuse(head, "a loop that it left")
            return head.target
        whole = tuple(nodes[head.entered + 1 :])
        arguments = self._ending(head, whole)
        body = None if arguments is None else self._without_test(cycle, whole, arguments)
        if arguments is None or body is None:
            if head.iterator is not None:
                self._refuse(head, "a loop that goes on otherwise")
            self._settle(head)
            return head.target
        body += tuple(nodes[head.entered + 1 + len(whole) :])  # numbers that are handed on
        del nodes[head.entered :]
        cycle.ways.append(Way(body, arguments))
        self._forget(body)
        return self._run(head)


def builtin(x: Any) -> str | None:
    """The kind of a number of Python."""
    return {int: "int", float: "float"}.get(type(x))


def _without_looks(nodes: Sequence[Any], number: Value) -> list[Any]:
    """The nodes without looks at what is computed of a number alone, which is known."""
    known, constants = {number}, {n.result for n in nodes if isinstance(n, Constant)}
    kept = []
    for node in nodes:
        if isinstance(node, Check) and node.operand in known:
            continue
        operands = set(node.operands)
        if isinstance(node, Call) and operands & known and operands <= known | constants:
            known.update(node.results)
        kept.append(node)
    return kept


def _next(world: Any, operation: Any, operands: Sequence[Any], keywords: Any) -> Any:
    return world.loops.advance(*operands)


def _iter(world: Any, operation: Any, operands: tuple[Any, ...], keywords: Any) -> Any:
    rows = world.loops.iterate(operands[0]) if len(operands) == 1 else None
    if rows is not None:
        return rows
    result = RULES.get(id(iter), RULES[CALL])(world, operation, operands, keywords)
    if result is not operands[0]:
        world.loops.iterators.append(result)
    return result


class _Back:
    """What a frame held at a look, with the values of now."""

    def __init__(self, loops: Loops, head: Head, seat: Seat, values: dict[Value, Any]) -> None:
        self.loops = loops
        self.seat = seat
        self.values = values
        self.begun = {id(leaf.holder) for leaf in head.begun.values()}
        self.made: dict[int, Any] = {}

    def now(self, x: Any) -> Any:
        value = self.seat.values.get(id(x))
        if value is None or value not in self.values:
            return x
        found = self.values[value]
        if id(x) not in self.made:
            renew = id(x) in self.begun and type(found) is Tensor
            make = self.loops._renewed if renew else self.loops._now
            self.made[id(x)] = make(x, value, found)
        return self.made[id(x)]
