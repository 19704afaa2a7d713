"""Records what follows an ``if`` once, over what its arms hand on: where they meet is a join.

A look at a value whose ways on meet again (`tracegrad.machine.post_dominators`) is watched until
the frame comes there, or returns, where all ways on do. Where nothing but local variables was
changed meanwhile, these become parameters: the Tensors that variables hold which some arm may
change, or that are returned. So do the arrays that turns of a loop write to, which stay the same
objects, and numbers of Python in which arms have differed (`joined_numbers.py`). All else that
these variables hold is to be the same on every arm. So what is recorded behind stands for all arms
that come there in this state.

An arm that comes in another state goes on by itself, as one does that returns.
"""

from __future__ import annotations

from ast import literal_eval
from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from operator import is_
from types import CodeType, GeneratorType
from typing import Any
from weakref import ref

import numpy as np

from codegen.ir import Call, Check, Constant, Origin, Trait, Value, dims_of
from tracegrad.machine.frames import Elsewhere
from tracegrad.machine.liveness import only_tested
from tracegrad.machine.post_dominators import RETURN, Meeting, meetings, returns
from tracegrad.machine.translation import program_of
from tracegrad.runtime.array_manners import is_memory
from tracegrad.runtime.thread_state import STATE
from tracegrad.tape.views import is_linked
from tracegrad.tensors.tensor import Tensor, wrap
from tracegrad.tracing.path_tree import Entry, Joint, Limb, Meet, PathBuilder
from tracegrad.world import joined_numbers
from tracegrad.world.joined_numbers import FLOAT, WIDENED, Known, Look
from tracegrad.world.loops.loop_heads import SUSPENDED, turn_of
from tracegrad.world.loops.loop_runner import untraced
from tracegrad.world.loops.numbers_in_turns import as_wide
from tracegrad.world.loops.resumption import at_jump
from tracegrad.world.loops.unseen_turns import FromAnew
from tracegrad.world.loops.widened_states import FLOATS, SINGLE, WIDE, Learned, widened

MOST_MET = 32
"""At so many places on one path arms meet: each nests what follows it once more."""

MOST_AGAIN = 8
"""So often a run is made again since the arms of one look differ in numbers."""

ASKING = frozenset(map(id, (getattr, hasattr, type, isinstance, issubclass)))
"""What asks of an object what type it is."""

OF_BOTH = frozenset(name for name in dir(float) if not name.startswith("__"))
"""The attributes that floats of Python and of NumPy have."""

PLAIN = frozenset({int, float, complex, bool, str})

CONSTANT = frozenset({int, float, complex, bool, str, bytes, type(None)})


@dataclass
class Taught:
    """What runs have taught of the looks of a function."""

    apart: set[Look] = field(default_factory=set)  # their arms stay apart
    again: Counter[Look] = field(default_factory=Counter)  # how often a run was made again for one
    numbers: Known = field(default_factory=dict)  # in which numbers their arms differ
    asked: set[Value] = field(default_factory=set)  # numbers of which the function asks the type


class Weakly(ref[Any]):
    """A generator that others may end."""


CLOSED = object()
"""What stands for one that is no more."""


def weakly(x: Any) -> Any:
    """What lies on a stack, in such a way that a loop which leaves a generator closes it."""
    return Weakly(x) if type(x) is GeneratorType else x


@dataclass(frozen=True, eq=False)
class Watched:
    """A look whose arms may meet, and what was so when it was recorded."""

    frame: Any
    index: int
    meeting: Meeting
    look: Check
    limb: Limb | None  # that ends in it, of the paths known before
    begun: int  # the nodes before its arm
    marks: tuple[Any, ...]
    stack: tuple[Any, ...]  # what is below the value that was looked at, as `weakly` has it
    turn: Any  # the loop in a turn of which it is recorded, if any
    wrote: int  # how often arrays had been written to


@dataclass(frozen=True)
class Met:
    """Where arms have met."""

    code: CodeType
    index: int
    in_turn: bool


@dataclass(eq=False)
class State:
    """What variables hold where an arm ends: the Tensors, and what all arms must agree in."""

    tensors: list[Tensor] = field(default_factory=list)
    names: list[str] = field(default_factory=list)
    places: list[tuple[int, Any]] = field(default_factory=list)  # with what each holds
    known: list[Hashable] = field(default_factory=list)
    written: set[int] = field(default_factory=set)  # ids of Tensors that turns write to
    numbers: dict[int, int] = field(default_factory=dict)
    """By variable, which of the Tensors stand for numbers of Python."""


class Arrivals(dict[CodeType, Any]):
    """The instructions of programs, which tell where arms meet."""

    def __init__(self, joins: Joins) -> None:
        super().__init__()
        self.joins = joins

    def get(self, code: CodeType, default: Any = None) -> Any:
        if code not in self:
            targets = {meeting.target for meeting in _meetings(code).values()}
            ops = [*program_of(code).ops] if targets else default
            for i in returns(code) if targets else ():
                ops[i] = self._telling(ops[i], RETURN)
            for target in targets - {RETURN}:  # arms may meet at the very return
                ops[target] = self._telling(ops[target], target)
            self[code] = ops
        return self[code]

    def setdefault(self, code: CodeType, default: Any = None) -> Any:
        found = self.get(code)
        if found is None:
            found = self[code] = default
        return found

    def _telling(self, plain: Any, target: int) -> Any:
        joins = self.joins

        def arrived(frame: Any, stack: list[Any]) -> int:
            if joins.watched:
                joins.arrives(frame, target)
            return plain(frame, stack)  # type: ignore[no-any-return]

        return arrived


def _meetings(code: CodeType) -> dict[int, Meeting]:
    return {} if code.co_flags & SUSPENDED else meetings(code)


class Joins:
    """Where the arms of looks meet in one run."""

    def __init__(self, world: Any, trace: Any, taught: Taught) -> None:
        self.world = world
        self.apart, self.numbers, self.again = taught.apart, taught.numbers, taught.again
        self.trace = trace
        self.watched: list[Watched] = []  # the last is the innermost
        self.looking: tuple[Any, int, Meeting, Value] | None = None
        self.met: list[Met] = []
        self.numbers_met: dict[Value, Look] = {}  # parameters that are numbers of Python, by look
        self.asked = taught.asked
        self.parameters: set[Value] = set()
        self.tuples: list[Any] = []  # that hold such
        self.memory: set[Value] = set()  # parameters that are arrays, and no numbers
        self.given: set[Value] = set()  # parameters that are what the function was given
        self.wrote: list[Tensor] = []  # the arrays that were written to, in order
        self.first: dict[Joint, Watched] = {}  # as it was when arms were first known to meet
        self.around: dict[int, tuple[Origin, set[int]]] = {}
        """The looks in whose arms each look stands, known as `Seats` knows them."""
        world.machine.ops = Arrivals(self)

    def decides(self, x: Any) -> None:
        """The function is about to branch on a value."""
        self.looking = None
        frame = self.world.machine.frame
        if frame is None or STATE.trace is not self.trace:
            return
        if len(self.met) + len(self.watched) >= MOST_MET:
            return
        jump = at_jump(frame)  # a frame that was put back to a look stands there
        if jump is None:
            return
        meeting = _meetings(frame.code).get(jump)
        if meeting is None or (frame.code, jump) in self.apart:
            return
        if self.world.loops is not None and self.world.loops.begins_unseen(frame):
            return
        if self._in_loop() and not self._may_meet_in_turn(frame, meeting):
            return
        if meeting.target == RETURN and not self._may_meet_at_return(frame):
            return
        if type(x) is Tensor and x._traced is not None and x._traced[0] is self.trace:
            self.looking = frame, jump, meeting, x._traced[1]

    def _may_meet_at_return(self, frame: Any) -> bool:
        """Whether what follows the call is the same program, whichever way on a function takes.

        The outermost one has no call, and of arms that meet in it none goes on behind another's.
        """
        others = [watched for watched in self.watched if watched.frame is frame]
        return frame.back is not None and all(w.meeting.target == RETURN for w in others)

    def _in_loop(self) -> bool:
        """Whether a loop is watched, or was closed."""
        loops = self.world.loops
        return loops is not None and bool(loops.heads or loops.closed)

    def _may_meet_in_turn(self, frame: Any, meeting: Meeting) -> bool:
        """Whether arms meet in the turn of a loop that may stand for others."""
        turn = self.world.loops.recorded
        if turn is None:
            return False
        return frame is not turn.frame or meeting.target in turn_of(frame.code, turn.target)

    @property
    def _turn(self) -> Any:
        return None if self.world.loops is None else self.world.loops.recorded

    def looks(self, check: Check) -> None:
        """A look was recorded."""
        looking, self.looking = self.looking, None
        around = {id(watched.look.origin) for watched in self.watched}
        self.around[id(check.origin)] = check.origin, around
        if check.look == "item":  # a text of it may be made
            self.trace.shows_type(check.operand)
        if check.look != "bool":
            self._look_at_number(check.operand)
            return
        if looking is None or looking[3] is not check.operand:
            return
        frame, jump, meeting, _ = looking
        builder = self.trace.builder
        limb = builder.look if isinstance(builder, PathBuilder) else self._left(check)
        if limb is not None and limb.joint is None:
            return  # an arm that is known goes on by itself
        begun = len(builder.nodes)
        stack = tuple(map(weakly, frame.stack))
        self.watched.append(
            Watched(
                *(frame, jump, meeting, check, limb, begun, self._marks(), stack),
                *(self._turn, len(self.wrote)),
            )
        )

    def _left(self, check: Check) -> Limb | None:
        """The limb of the turns known so far that this look ends."""
        limb = None if self.world.loops is None else self.world.loops.stood
        same = limb is not None and limb.look is not None and limb.look.operand is check.operand
        return limb if same else None

    def _marks(self) -> tuple[Any, ...]:
        """What changes where something else than local variables does."""
        trace, world = self.trace, self.world
        return (
            world.happened,
            len(world._log),
            len(world.effects),
            len(trace.counts),
            len(trace.masks),
            *trace.generators.marks,
            trace.unseen,
            trace.exceptions,
            STATE.grad_enabled,
            None if world.loops is None else world.loops.done,
        )

    def ends_turn(self, frame: Any, target: int) -> None:
        """A frame goes back to where a turn begins: what was looked at in it is of this turn."""
        self.arrives(frame, target)
        turn = self._turn
        self.watched = [w for w in self.watched if w.turn is not turn or turn is None]

    def resumes(
        self,
        at: Check | None,
        meeting: Mapping[Joint, tuple[Check, Limb]],
        frames: Sequence[Any],
        depth: int,
    ) -> None:
        """Frames were put back to a look in a turn, or to its beginning.

        The arms of these have not met before it: where it stands in none of them, the arm has gone
        on by itself from where others meet. The outermost frame has `depth` others around.
        """
        turn, begun = self._turn, len(self.trace.builder.nodes)
        self.watched = [watched for watched in self.watched if watched.turn is None]
        _, around = self.around.get(id(at.origin), (None, set())) if at else (None, set())
        for joint, (look, limb) in meeting.items():
            if id(look.origin) not in around:
                continue
            first = self.first[joint]
            frame = frames[_depth(first.frame) - depth]
            stack = tuple(map(weakly, frame.stack[: len(first.stack)]))
            self.watched.append(
                replace(
                    first,
                    frame=frame,
                    look=look,
                    limb=limb,
                    begun=begun,
                    marks=self._marks(),
                    stack=stack,
                    turn=turn,
                    wrote=len(self.wrote),
                )
            )

    def arrives(self, frame: Any, target: int) -> None:
        """A frame comes to where arms of some look meet, or returns."""
        running: set[int] = set()
        while self.watched:
            last = self.watched[-1]
            if last.frame is frame and last.meeting.target == target:
                self.watched.pop()
                if not self._meet(last):
                    return
                continue
            running = running or _running(frame)
            goes_on = target != RETURN if last.frame is frame else id(last.frame) in running
            if goes_on:
                return
            self._leave()

    def _leave(self) -> None:
        """The innermost look is not one whose arms meet, on this path."""
        watched = self.watched.pop()
        if watched.limb and watched.limb.joint:
            self.watched.clear()  # others go on behind it, this one does not

    def _meet(self, watched: Watched) -> bool:
        """Has the arm of a look meet the others; whether those of looks around may."""
        known = watched.limb and watched.limb.joint
        state = self._state(watched) if self._is_undisturbed(watched) else None
        explores = known and self.trace.explorer is not None
        if state is not None and self._learn(watched, state) and not explores:
            state = self._state(watched)
        if state is not None and known and known.state != state.known:
            state = self._begin_anew(watched, known, state)
        if state is None:
            if known:
                self.watched.clear()  # others go on behind it, this one does not
            return not known
        trace = self.trace
        if known:
            joint = known
        else:
            parameters = zip(state.tensors, state.names, strict=True)
            made = tuple([Value(x._traced[1].type, Origin(name, True)) for x, name in parameters])
            place = watched.frame.code, watched.index
            joint = Joint(made, state.known, place, watched.look.origin.named(None))
            self.first[joint] = watched
        joint.numbers.update(joint.parameters[i] for i in state.numbers.values())
        self.numbers_met.update(dict.fromkeys(joint.numbers, joint.place))
        arguments = tuple([x._traced[1] for x in state.tensors])
        recorded = trace.builder.nodes[watched.begun :]
        trace.shown.update(
            p for p, a in zip(joint.parameters, arguments, strict=True) if a in trace.shown
        )
        if trace.operands is not None:
            trace.operands(arguments, state.tensors)
        meet = Meet(joint, arguments, watched.look)
        trace.builder.append(meet)
        self.given.update(
            p for p, a in zip(joint.parameters, arguments, strict=True) if self._is_given(a)
        )
        new = [
            (p, x)
            for p, x in zip(joint.parameters, state.tensors, strict=True)
            if id(x) not in state.written
        ]
        self.memory.update(p for p, x in new if is_memory(x))
        if known and watched.turn is not None:
            self._go_on(watched, meet, state.tensors)
        if isinstance(trace.builder, PathBuilder):
            trace.builder.follow(watched.limb)
        self.world.numbers.forget({r for node in recorded for r in node.results})
        for x, parameter in zip(state.tensors, joint.parameters, strict=True):
            if id(x) in state.written:
                x._traced = trace, parameter
        now = {id(x): self._handed(x, parameter) for parameter, x in new}
        for slot, x in state.places:
            holder = watched.frame.fast if slot >= 0 else watched.frame.stack
            holder[slot if slot >= 0 else ~slot] = self._now(x, now)
        self.parameters.update(parameter for parameter, _ in new)
        self.met.append(Met(watched.frame.code, watched.index, watched.turn is not None))
        return True

    def _go_on(self, watched: Watched, meet: Meet, tensors: Sequence[Tensor]) -> None:
        """A turn goes on as others did where the arms of a look meet."""
        loops = self.world.loops
        self.watched = [other for other in self.watched if other.turn is not watched.turn]
        raise Elsewhere(watched.frame, lambda: loops.goes_on(meet, tensors))

    def _is_given(self, value: Value) -> bool:
        """Whether an array is one that was there before the run, as far as this arm tells."""
        return value in self.given or value not in self.trace.builder.producer

    def _now(self, x: Any, now: dict[int, Any]) -> Any:
        """What takes the place of something that an arm hands on."""
        if id(x) not in now and type(x) is tuple and not self.world.is_outside(x):
            made = tuple([self._now(item, now) for item in x])
            if any(a is not b for a, b in zip(made, x, strict=True)):
                self.tuples.append(made)
                now[id(x)] = made
        return now.get(id(x), x)

    def _handed(self, x: Tensor, parameter: Value) -> Tensor:
        """The Tensor for a parameter."""
        tensor = untraced(x)
        tensor._traced = self.trace, parameter
        original = self.world.original(x)
        if original is not x:  # else it is the run's own, and what it left is no Tensor
            self.world.stands_for(tensor, original)
        return tensor  # type: ignore[no-any-return]

    def _is_undisturbed(self, watched: Watched) -> bool:
        """Whether nothing but local variables has changed since a look."""
        if watched.marks != self._marks() or watched.turn is not self._turn:
            return False
        if watched.turn is None and self._in_loop():
            return False
        written = () if watched.turn is None else watched.turn.written.values()
        if any(all(x is not y for y in written) for x in self.wrote[watched.wrote :]):
            return False
        nodes = self.trace.builder.nodes[watched.begun :]
        return not any(isinstance(node, Entry) or _has_effect(node) for node in nodes)

    def _held(self, watched: Watched) -> list[tuple[int, Any]] | None:
        """What the frame has where an arm ends: by variable, or by place in the stack, inverted."""
        frame, stack = watched.frame, watched.stack
        if watched.meeting.target == RETURN:
            plain = frame.program.instructions[frame.index].name == "RETURN_VALUE"
            return [(~(len(frame.stack) - 1), frame.stack[-1])] if plain else None
        below = [x() or CLOSED if type(x) is Weakly else x for x in stack]
        if len(frame.stack) < len(stack) or not all(map(is_, below, frame.stack)):
            return None
        turn, loops = watched.turn, self.world.loops
        held = [(i, frame.fast[i]) for i in watched.meeting.slots]
        if turn is not None and turn.frame is frame:
            held = [(i, loops.varied(turn, i, x)) for i, x in held]
        return held + [(~i, frame.stack[i]) for i in range(len(stack), len(frame.stack))]

    def _state(self, watched: Watched) -> State | None:
        """What the frame holds where an arm ends; None where arms cannot agree in it."""
        held = self._held(watched)
        if held is None:
            return None
        state = State()
        for parameter, x in () if watched.turn is None else watched.turn.written.items():
            form = self._form_of_tensor(x, state, parameter.origin.name)
            if form is None:
                return None
            state.known.append(form)
            state.written.add(id(x))
        for slot, x in held:
            x = self._as_parameter(x, state, watched, slot)
            form = self._form(x, state, _name(watched.frame, slot))
            if form is None:
                return None
            state.known.append((slot, form))
            state.places.append((slot, x))
        arrays = [x for x in state.tensors if is_memory(x) and id(x) not in state.written]
        if not arrays or watched.turn is None:
            return state
        if self.world.loops.written or self._others_have(arrays, watched):
            return None  # the next turn may write to what an arm has handed on
        return state

    def _as_parameter(self, x: Any, state: State, watched: Watched, slot: int) -> Any:
        """A number of Python, where arms have differed in it, as a parameter gets it."""
        if _is_of_turns(watched, slot):
            return x
        if self.world.numbers.found(x) is not None:
            x = self.world.numbers.lifted(self.world, x)
        seen = self.numbers.get((watched.frame.code, watched.index), {}).get(slot)
        type_ = None if seen is None else seen.parameter
        samples = self.trace.samples
        if type_ in FLOATS and watched.turn is not None and self.trace.keeps_types:
            type_ = replace(type_, either=True)
            if type(x) is Tensor and self._may_differ(x) and x._traced[1].type == type_:
                return x if x._traced[1].type.either else as_wide(x, type_)
        if self._is_python_float(x) and (type_ == WIDE or (type_ == SINGLE and samples)):
            state.numbers[slot] = len(state.tensors)
            return as_wide(x, type_)
        if type_ is None or not joined_numbers.takes(type_, x, samples):
            return x
        value = self.trace.number(x, type_, Origin(_name(watched.frame, slot), True))
        tensor = wrap(widened(type_, x), (self.trace, value))
        self.world.stands_for(tensor, tensor._array)
        state.numbers[slot] = len(state.tensors)
        return tensor

    def _is_python_float(self, x: Any) -> bool:
        """Whether something is recorded that is a float of Python's."""
        return type(x) is Tensor and self._may_differ(x) and x._traced[1].type == FLOAT

    def _learn(self, watched: Watched, state: State) -> bool:
        """Takes in what an arm hands on; whether numbers in it are parameters since."""
        code = watched.frame.code
        known = self.numbers.setdefault((code, watched.index), {})
        computed = watched.meeting.computed
        of_turns = [slot for slot, _ in state.places if _is_of_turns(watched, slot)]
        done = {*state.numbers, *of_turns}
        new = joined_numbers.learn(known, state.known, only_tested(code), computed, done)
        if new and self.trace.explorer is not None:
            self._teach_inner(watched, known)
        return new

    def _teach_inner(self, watched: Watched, known: joined_numbers.Variables) -> None:
        """Arms of an `elif` differ in what those around it differ in: all end at one place."""
        code, target = watched.frame.code, watched.meeting.target
        for index, meeting in _meetings(code).items():
            if meeting.target != target or index <= watched.index:
                continue
            inner = self.numbers.setdefault((code, index), {})
            for slot in known.keys() & meeting.slots:
                inner[slot] = joined_numbers.covering(inner.get(slot, known[slot]), known[slot])

    def _begin_anew(self, watched: Watched, joint: Joint, state: State) -> State | None:
        """Where an arm differs from known ones in numbers alone, the run is made again.

        No known path is followed then, so that these are parameters on all. A run that explores
        goes on with the numbers of the known arms before, to learn of other looks.
        """
        look = watched.frame.code, watched.index
        if joined_numbers.differ_in_numbers(self.numbers[look], joint.state, state.known):
            explorer = self.trace.explorer
            if explorer is not None and _takes_numbers(state, joint):
                explorer.differ.append(look)
                return state
            self._make_again(look)
        return None

    def _make_again(self, look: Look) -> None:
        loops = self.world.loops
        self.again[look] += 1
        if self.world.effects or (loops is not None and loops.fixed):
            return
        if self.again[look] <= MOST_AGAIN:
            raise FromAnew

    def _look_at_number(self, value: Value) -> None:
        """Python looks at what a value is: numbers that decide so much stay Python's."""
        look = self.numbers_met.get(value)
        if look is not None and joined_numbers.never(self.numbers[look]):
            self._make_again(look)

    def sees(self, operation: Any, operands: Sequence[Any]) -> None:
        """An operation of C may ask what type a number has: Python's and NumPy's differ in it."""
        x, *asked = operands or (None,)
        if type(x) is not Tensor or x._traced is None or id(operation) not in ASKING:
            return
        both_are = x._traced[1].type != SINGLE  # floats: NumPy's of 64 bits is one of Python's
        if operation is isinstance and set(_kinds_in(asked[0])) <= PLAIN and both_are:
            return
        if asked and type(asked[0]) is str and asked[0] in OF_BOTH:
            return
        self.trace.shows_type(x._traced[1])
        if x._traced[1].type in FLOATS:
            self.asked.add(x._traced[1])
        for look in self._looks_of(x._traced[1]):
            if joined_numbers.never(self.numbers[look]):
                self._make_again(look)
            self.trace.read("what type a number has")

    def shows_type(self, value: Value) -> None:
        """It shows whether a number that turns hand on is Python's, which no program tells.

        The run is made again, in which such numbers stay what they are in all turns.
        """
        loops, trace = self.world.loops, self.trace
        known = loops.known
        new, known.keeps_floats = not known.keeps_floats, True
        if new and not (self.world.effects or loops.fixed):
            raise FromAnew if loops.follows else Learned
        trace.read("what type a number has")

    def _looks_of(self, value: Value) -> set[Look]:
        """The looks of this run whose arms decide whether a number is a float of Python's."""
        found, waiting, seen = set(), [value], set()
        while waiting:
            value = waiting.pop()
            node = self.trace.builder.producer.get(value)
            if value in seen or value.type.weak or isinstance(node, Constant):
                continue
            seen.add(value)
            if value.type in FLOATS and value in self.numbers_met:
                found.add(self.numbers_met[value])
            elif isinstance(node, Call) and value.type in FLOATS:
                waiting += node.operands
            else:
                return set()  # it is NumPy's, or an array's, on all ways
        return found

    def gives_up(self) -> bool:
        """Whether a run that raised, maybe at what stands for a number, is made again without."""
        looks = {*self.numbers_met.values()}
        changed = [joined_numbers.never(self.numbers[look]) for look in looks]
        return any(changed) and not self.world.effects

    def _others_have(self, arrays: Sequence[Tensor], watched: Watched) -> bool:
        """Whether variables that arms do not hand on have one of these arrays, too."""
        frame, slots = watched.frame, set(watched.meeting.slots)
        waiting = [x for i, x in enumerate(frame.fast) if i not in slots]
        while (frame := frame.back) is not None:
            waiting += frame.fast
        return any(x is array for x in waiting for array in arrays)

    def _may_differ(self, x: Tensor) -> bool:
        """Whether a Tensor may be another one on another arm."""
        traced = x._traced
        if traced is None or traced[0] is not self.trace or traced[1] in self.trace.lanes:
            return False
        return not is_linked(x)

    def _form(self, x: Any, state: State, name: str | None) -> Hashable:
        """What tells whether something is the same on another arm; None where nothing does.

        Tensors, those in tuples too, may be others: `state` gets them.
        """
        if type(x) is Tensor:
            return self._form_of_tensor(x, state, name)
        if type(x) is tuple and not self.world.is_outside(x):
            forms = tuple([self._form(item, state, None) for item in x])
            return None if None in forms else ("tuple", forms)
        if type(x) in CONSTANT and self.world.numbers.found(x) is None:
            return type(x).__name__, repr(x)
        return ("object", id(x)) if self.world.is_outside(x) else None

    def _form_of_tensor(self, x: Tensor, state: State, name: str | None) -> Hashable:
        if not self._may_differ(x):
            return None
        at = next((i for i, other in enumerate(state.tensors) if other is x), None)
        if at is not None:
            return "tensor", at
        value = x._traced[1]
        state.tensors.append(x)
        state.names.append(name or value.origin.name or "value")
        type_ = value.type
        dims = dims_of(self.trace.sizes, type_)
        shown = value in self.trace.shown
        return "new tensor", type_.dtype, type_.weak, type_.either, dims, shown, is_memory(x)

    def compares(self, a: Any, b: Any) -> None:
        """Who a Tensor is that arms have handed on, no program tells."""
        arrays = all(isinstance(x, Tensor | np.ndarray) for x in (a, b))
        if arrays and a is not b and any(self._is_parameter(x) for x in (a, b)):
            self.part("which of several arrays it has")
        if any(x is made for x in (a, b) for made in self.tuples):
            self.part("which of several tuples it has")

    def _is_parameter(self, x: Any) -> bool:
        return type(x) is Tensor and x._traced is not None and x._traced[1] in self.parameters

    def writes(self, x: Tensor) -> None:
        """An array is written to: others may have it, too, on an arm that another call takes."""
        self.wrote.append(x)
        if self.memory:
            self.part("an array that arms have handed on is written to")

    def ends(self) -> None:
        """The run is over; an array that was given is itself where the function has left it."""
        differ = [] if self.trace.explorer is None else self.trace.explorer.differ
        self.again.update(differ[1:])
        if differ:
            self._make_again(differ[0])
        if not self.memory.isdisjoint(self.given) and any(self.world.marks):
            self.part("an array that it was given, in one arm alone")

    def release(self) -> None:
        """The run is over: what its frames hold is not kept alive."""
        self.watched.clear()
        self.first.clear()
        self.around.clear()
        self.looking = None

    def derives(self) -> None:
        """A derivative is taken in the run, of what arms have done by themselves, too."""
        self.watched.clear()
        if self.met:
            self.part("a derivative of what arms have handed on")

    def closes(self) -> None:
        """A loop has been closed, which does not go with arms that meet but in turns."""
        self.watched.clear()
        if not all(met.in_turn for met in self.met):
            self.part("a loop behind arms that meet")

    def keep_apart(self, label: object) -> bool:
        """From here on arms that meet at a joint (or several) stay apart; without one all of them.

        Whether some of them did not until now. Where they hand on numbers, first those that differ
        in these do. Where turns make floats of Python NumPy's, these stay what they are.
        """
        joints = label if isinstance(label, tuple) else (label,)
        loops = self.world.loops
        if WIDENED in joints and loops is not None and not loops.known.keeps_floats:
            loops.known.keeps_floats = True
            return True
        numbers = [x for x in joints if isinstance(x, Joint) and x.numbers]
        for joint in numbers:
            joined_numbers.never(self.numbers.setdefault(joint.place, {}))
            joint.numbers.clear()
        if numbers:
            return True
        met = {(m.code, m.index) for m in self.met}
        new = ({label.place} if isinstance(label, Joint) else met) - self.apart
        self.apart |= new
        return bool(new)

    def part(self, why: str) -> None:
        """The run is made again, in which these arms stay apart."""
        self.keep_apart(None)
        loops = self.world.loops
        if self.world.effects or (loops is not None and loops.fixed):
            self.trace.read(why)
            return
        raise Learned


def _is_of_turns(watched: Watched, slot: int) -> bool:
    """Whether the loop in a turn of which an arm stands tells what a variable is in all turns."""
    turn = watched.turn
    return turn is not None and turn.frame is watched.frame and (slot,) in turn.before


def _name(frame: Any, slot: int) -> str | None:
    """The variable of a slot, or that in which a value of the stack will be."""
    if slot >= 0:
        return frame.program.slots[slot]  # type: ignore[no-any-return]
    following = frame.index
    if frame.program.instructions[following].name.startswith("RETURN"):
        frame, following = frame.back, frame.back.index + 1 if frame.back else 0
    name, arg = frame.program.instructions[following].parts[0] if frame else ("", 0)
    return frame.program.slots[arg] if name == "STORE_FAST" else None


def _kinds_in(x: Any) -> tuple[Any, ...]:
    """The classes that `isinstance` is given."""
    return x if type(x) is tuple else (x,)


def _depth(frame: Any) -> int:
    """How many frames are around one."""
    count = 0
    while frame.back is not None:
        count, frame = count + 1, frame.back
    return count


def _has_effect(node: Any) -> bool:
    return isinstance(node, Call) and Trait.EFFECT in node.op.traits


def _takes_numbers(state: State, joint: Joint) -> bool:
    """Has an arm hand on the numbers of the known ones; False where it differs in more."""
    if len(state.tensors) != len(joint.parameters) or len(state.known) != len(joint.state):
        return False
    before = len(state.known) - len(state.places)
    for at, (own, other) in enumerate(zip(state.known, joint.state, strict=True)):
        if own == other:
            continue
        try:
            slot, (_, text) = other  # type: ignore[misc]
            state.places[at - before] = slot, literal_eval(text)
        except (ValueError, SyntaxError, TypeError):  # it is no number
            return False
    return True


def _running(frame: Any) -> set[int]:
    found = set()
    while frame is not None:
        found.add(id(frame))
        frame = frame.back
    return found
