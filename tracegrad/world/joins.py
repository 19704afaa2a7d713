"""Records what follows an ``if`` once, over what its arms hand on: where they meet is a join.

A look at a value whose ways on meet again (`tracegrad.machine.post_dominators`) is watched until
the frame comes there. Where nothing but local variables was changed meanwhile, these become
parameters: the Tensors that variables hold which some arm may change. All else that these variables
hold is to be the same on every arm. So what is recorded behind stands for all arms that come there
in this state.

An arm that comes in another state goes on by itself, as one does that returns.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from types import CodeType
from typing import Any
from weakref import WeakKeyDictionary

from codegen.ir import Call, Check, Origin, Trait, Value, dims_of
from tracegrad.machine.post_dominators import Meeting, meetings
from tracegrad.machine.translation import program_of
from tracegrad.runtime.thread_state import STATE
from tracegrad.tensors.tensor import Tensor
from tracegrad.tracing.path_tree import Joint, Limb, Meet, PathBuilder
from tracegrad.world.loops.loop_heads import SUSPENDED
from tracegrad.world.loops.loop_runner import untraced
from tracegrad.world.loops.widened_states import Learned

APART: WeakKeyDictionary[CodeType, set[int]] = WeakKeyDictionary()
"""The looks whose arms stay apart, by the instruction."""

CONSTANT = frozenset({int, float, complex, bool, str, bytes, type(None)})


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
    stack: tuple[Any, ...]  # what is below the value that was looked at


@dataclass(frozen=True, eq=False)
class State:
    """What variables hold where an arm ends: the Tensors, and what all arms must agree in."""

    tensors: tuple[Tensor, ...]
    names: tuple[str, ...]
    places: tuple[tuple[Any, int], ...]  # the variables, and the Tensor that each holds
    known: tuple[Hashable, ...]


class Arrivals(dict[CodeType, Any]):
    """The instructions of programs, which tell where arms meet."""

    def __init__(self, joins: Joins) -> None:
        super().__init__()
        self.joins = joins

    def get(self, code: CodeType, default: Any = None) -> Any:
        if code not in self:
            targets = {meeting.target for meeting in _meetings(code).values()}
            ops = [*program_of(code).ops] if targets else default
            for target in targets:
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

    def __init__(self, world: Any, trace: Any) -> None:
        self.world = world
        self.trace = trace
        self.watched: list[Watched] = []  # the last is the innermost
        self.looking: tuple[Any, Meeting, Value] | None = None
        self.met: list[Watched] = []
        self.parameters: set[Value] = set()
        world.machine.ops = Arrivals(self)

    def decides(self, x: Any) -> None:
        """The function is about to branch on a value."""
        self.looking = None
        frame = self.world.machine.frame
        if frame is None or STATE.trace is not self.trace or self._in_loop():
            return
        meeting = _meetings(frame.code).get(frame.index)
        if meeting is None or frame.index in APART.get(frame.code, ()):
            return
        if type(x) is Tensor and x._traced is not None and x._traced[0] is self.trace:
            self.looking = frame, meeting, x._traced[1]

    def _in_loop(self) -> bool:
        """Whether a loop is watched, or was closed: its turns have ways of their own."""
        loops = self.world.loops
        return loops is not None and bool(loops.heads or loops.closed)

    def looks(self, check: Check) -> None:
        """A look was recorded."""
        looking, self.looking = self.looking, None
        if looking is None or check.look != "bool" or looking[2] is not check.operand:
            return
        frame, meeting, _ = looking
        builder = self.trace.builder
        limb = builder.look if isinstance(builder, PathBuilder) else None
        if limb is not None and limb.joint is None:
            return  # an arm that is known goes on by itself
        begun = len(builder.nodes)
        stack = tuple(frame.stack)
        self.watched.append(
            Watched(frame, frame.index, meeting, check, limb, begun, self._marks(), stack)
        )

    def _marks(self) -> tuple[Any, ...]:
        """What changes where something else than local variables does."""
        trace, world = self.trace, self.world
        return (
            world.happened,
            len(world._log),
            len(world.effects),
            len(trace.counts),
            len(trace.masks),
            len(trace.drawn_from),
            trace.disturbed,
            trace.unseen,
            trace.raised,
            STATE.grad_enabled,
        )

    def arrives(self, frame: Any, target: int) -> None:
        """A frame comes to where arms of some look meet."""
        running: set[int] = set()
        while self.watched:
            last = self.watched[-1]
            if last.frame is not frame:
                running = running or _running(frame)
                if id(last.frame) in running:
                    return
            elif last.meeting.target != target:
                return
            self.watched.pop()
            if last.frame is frame and not self._meet(last):
                return

    def _meet(self, watched: Watched) -> bool:
        """Has the arm of a look meet the others; whether those of looks around may."""
        known = watched.limb and watched.limb.joint
        state = self._state(watched)
        if state is None or (known and known.state != state.known):
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
        arguments = tuple([x._traced[1] for x in state.tensors])
        recorded = trace.builder.nodes[watched.begun :]
        trace.shown.update(
            p for p, a in zip(joint.parameters, arguments, strict=True) if a in trace.shown
        )
        trace.builder.append(Meet(joint, arguments, watched.look))
        if isinstance(trace.builder, PathBuilder):
            trace.builder.follow(watched.limb)
        self.world.numbers.forget({r for node in recorded for r in node.results})
        now = [self._handed(*pair) for pair in zip(state.tensors, joint.parameters, strict=True)]
        for slot, i in state.places:
            holder = watched.frame.fast if slot >= 0 else watched.frame.stack
            holder[slot if slot >= 0 else ~slot] = now[i]
        self.parameters.update(joint.parameters)
        self.met.append(watched)
        return True

    def _handed(self, x: Tensor, parameter: Value) -> Tensor:
        """The Tensor for a parameter."""
        tensor = untraced(x)
        tensor._traced = self.trace, parameter
        self.world.stands_for(tensor, self.world.original(x))
        return tensor  # type: ignore[no-any-return]

    def _state(self, watched: Watched) -> State | None:
        """What the frame holds where an arm ends; None where more has changed than variables."""
        frame, stack = watched.frame, watched.stack
        if watched.marks != self._marks() or self._in_loop():
            return None
        if any(map(_has_effect, self.trace.builder.nodes[watched.begun :])):
            return None
        below = frame.stack[: len(stack)]
        if len(below) < len(stack) or any(a is not b for a, b in zip(below, stack, strict=True)):
            return None
        held = [(i, frame.fast[i]) for i in watched.meeting.slots]
        held += [(~i, frame.stack[i]) for i in range(len(stack), len(frame.stack))]
        tensors: list[Tensor] = []
        names: list[str] = []
        places: list[tuple[Any, int]] = []
        known: list[Hashable] = []
        for slot, x in held:
            if type(x) is Tensor:
                if not self._may_differ(x):
                    return None
                at = next((i for i, other in enumerate(tensors) if other is x), len(tensors))
                if at == len(tensors):
                    tensors.append(x)
                    name = frame.program.slots[slot] if slot >= 0 else x._traced[1].origin.name
                    names.append(name or "value")
                    value = x._traced[1]
                    dims = dims_of(self.trace.sizes, value.type)
                    kind = (value.type.dtype, value.type.weak, dims, value in self.trace.shown)
                    known.append((slot, at, kind))
                else:
                    known.append((slot, at))
                places.append((slot, at))
            else:
                form = self._form(x)
                if form is None:
                    return None
                known.append((slot, form))
        return State(tuple(tensors), tuple(names), tuple(places), tuple(known))

    def _may_differ(self, x: Tensor) -> bool:
        """Whether a Tensor may be another one on another arm."""
        traced = x._traced
        if traced is None or traced[0] is not self.trace or traced[1] in self.trace.lanes:
            return False
        return x._view is None and all(ref() is None for ref in x._views or ())

    def _form(self, x: Any) -> Hashable:
        """What tells whether something is the same on another arm; None where nothing does."""
        if type(x) in CONSTANT and self.world.numbers.found(x) is None:
            return type(x).__name__, repr(x)
        return ("object", id(x)) if self.world.is_outside(x) else None

    def compares(self, a: Any, b: Any) -> None:
        """Who a Tensor is that arms have handed on, no program tells."""
        if a is not b and any(self._is_parameter(x) for x in (a, b)):
            self.trace.read("which of several arrays it has")

    def _is_parameter(self, x: Any) -> bool:
        return type(x) is Tensor and x._traced is not None and x._traced[1] in self.parameters

    def writes(self) -> None:
        """An array is written to: others may have it, too, on an arm that another call takes."""
        if any(p.type.shape for p in self.parameters):
            self.part("an array that arms have handed on is written to")

    def derives(self) -> None:
        """A derivative is taken in the run, of what arms have done by themselves, too."""
        self.watched.clear()
        if self.met:
            self.part("a derivative of what arms have handed on")

    def closes(self) -> None:
        """A loop has been closed, which does not go with arms that meet."""
        self.watched.clear()
        if self.met:
            self.part("a loop behind arms that meet")

    def keep_apart(self, joint: Any) -> None:
        """From here on the arms that meet there stay apart; without one all of this run."""
        places = map(_place, self.met) if joint is None else [joint.place]
        for code, index in places:
            APART.setdefault(code, set()).add(index)

    def part(self, why: str) -> None:
        """The run is made again, in which these arms stay apart."""
        self.keep_apart(None)
        loops = self.world.loops
        if self.world.effects or (loops is not None and loops.fixed):
            self.trace.read(why)
            return
        raise Learned


def _place(watched: Watched) -> tuple[CodeType, int]:
    return watched.frame.code, watched.index


def _has_effect(node: Any) -> bool:
    return isinstance(node, Call) and Trait.EFFECT in node.op.traits


def _running(frame: Any) -> set[int]:
    found = set()
    while frame is not None:
        found.add(id(frame))
        frame = frame.back
    return found
