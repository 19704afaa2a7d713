"""Chooses the outcome of each look in a run on samples, whose values mean nothing.

Several runs take all ways (`tracegrad.transforms.sampled_runs`). Each follows the way that it is
given, from look to look and from loop to loop (`tracegrad.tracing.unified_paths`), and goes on as
most calls do: into loops, and through their turns. In a loop that was closed it takes every arm
that comes back to the beginning of a turn before it leaves the loop, so that any run knows all ways
through a turn; where it leaves the loop is one of the ways that runs differ in.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from types import CodeType
from typing import Any

from codegen.ir import Call, Check, Constant, Origin, Value
from tracegrad.machine.decoding import Handler
from tracegrad.machine.liveness import following
from tracegrad.machine.translation import program_of
from tracegrad.tracing.advice import INSTEAD
from tracegrad.tracing.path_tree import Cycle, Limb, outcome_key
from tracegrad.tracing.trace import Trace
from tracegrad.tracing.unified_paths import (
    Step,
    comes_back,
    steps_of,
    way_to_unknown,
    without_decided,
)
from tracegrad.world.loops.loop_heads import turn_of
from tracegrad.world.loops.resumption import at_jump

MOST_LOOKS = 100
"""So many looks of one run are in no turn that was recorded for all, or a loop does not end."""

ENDLESS = "end the loop by a look at what it computes"
UNROLLED = (
    "write np.where(condition, a, b), or a while as a for loop over the most turns there may be, "
    "with a break"
)
ELSEWHERE = "goes on otherwise than it did before"


class Choices:
    """The outcomes of the looks of one run; `way` is how it begins.

    `exits` are ways that have left a loop, where nobody knew, before all ways through its turns
    were taken: the run adds its own. Of `uncaught` is known that they raise what nothing catches.
    """

    world: Any
    trace: Trace

    def __init__(self, way: Sequence[Step], exits: set[Any], uncaught: set[Any]) -> None:
        self.way = tuple(way)
        self.exits = exits
        self.uncaught = uncaught
        self.raised: tuple[Exception, Any] | None = None  # what Python's numbers did, and where
        self.begun = False
        self.looked: Origin | None = None  # where the function looked at a value last

    def begin(self, world: Any, trace: Trace) -> Choices:
        """The run begins, or does so once more, when something else is known of its loops."""
        if self.begun:
            self.exits.clear()
        self.begun, self.world, self.trace = True, world, trace
        self.looks = 0
        self.next: bool | None = None  # the outcome of the look to which frames were put back
        self.gone: list[Any] = []  # loops that the run leaves, as it knows all ways through them
        self.base: Any = None  # the loop that the way through a turn was found for
        self.back_to: Cycle | None = None  # the one to whose next turn it goes, once that is left
        self.turn: Iterator[Step] | None = None  # the rest of the way through the turn that runs;
        # none where all turns that are left run, because they fill lists
        return self

    # -- what Python's numbers raise ------------------------------------------------------------

    def raises(self, error: Exception) -> None:
        """Python's numbers raise here, on the way of this run."""
        self.raised = error, self._calls()

    def leaves_uncaught(self) -> bool:
        """Whether no handler around the frames catches what is raised here: nan is made of it."""
        return self._calls() in self.uncaught

    def _calls(self) -> tuple[tuple[CodeType, int], ...]:
        """Where the frames are."""
        found, frame = [], self.world.machine.frame
        while frame is not None:
            found.append((frame.code, frame.index))
            frame = frame.back
        return tuple(found)

    # -- looks of the function ----------------------------------------------------------------

    def outcome(self, value: Value, found: bool) -> bool:
        """The outcome of a look, at a value that the sample says is `found`."""
        if self.next is not None:
            outcome, self.next = self.next, None
            return outcome
        if self.knows(value):
            return found
        origin = self.looked = self.trace.origin()
        place, nodes = (origin.file, origin.line), self.trace.builder.nodes
        level = self._level(self.world.loops.walk.levels)
        if level is None:
            self.looks += 1
            if self.looks > MOST_LOOKS:
                self.trace.refuse("looks at values in each turn of an unrolled loop", UNROLLED)
            step = self._next_step(nodes)
            if step is not None and not step.loops and step.place == place:
                return step.which
        frame = self.world.machine.frame
        jump = None if frame is None else at_jump(frame)
        chosen = True if jump is None else usual(frame.code, jump)
        step = Step(False, chosen, place)
        return chosen if level is None else chosen ^ ((*self.steps(nodes), step) in self.exits)

    def _level(self, levels: Sequence[Any]) -> Any:
        """The outermost of the loops that run, and that the function has not left by a look."""
        return next((level for level in levels if level not in self.gone), None)

    def _next_step(self, nodes: Sequence[Any]) -> Step | None:
        """What comes next on the way that this run is given, where it has come along it."""
        done = self.steps(nodes)
        if len(done) < len(self.way) and self.way[: len(done)] == done:
            return self.way[len(done)]
        return None

    def knows(self, value: Value) -> bool:
        """Whether a value is computed of numbers of Python alone.

        Those of turns that are being recorded are such as yet, and what begins with them.
        """
        heads = [head for head in self.world.loops.heads.values() if head.cycle is None]
        numbers = {index for head in heads for index in (head.first, head.index)}
        begun = {value: x for head in heads for value, x in head.arguments.items()}

        def is_number(value: Value) -> bool:
            if value in begun:
                return is_number(begun[value])
            made = self.trace.builder.producer.get(value)
            if isinstance(made, Call) and value.type.weak:
                return all(map(is_number, made.operands))
            return value in numbers or isinstance(made, Constant)

        return is_number(value)

    def steps(self, nodes: Sequence[Any]) -> tuple[Step, ...]:
        """The way along nodes of the run, without looks at what is known."""
        return steps_of([n for n in nodes if not (isinstance(n, Check) and self.knows(n.operand))])

    # -- turns that were recorded ---------------------------------------------------------------

    def walks(self) -> None:
        """Turns are about to be run, from the beginning of one of the innermost loop."""
        self.base = self.back_to = None

    def goes_through(self, walk: Any) -> bool:
        """Whether the innermost of the loops that run goes through another turn."""
        level = walk.levels[-1]
        if self.base is None or level is self.base or self.base not in walk.levels:
            if self.back_to is not None and level.cycle is not self.back_to:
                return level.numbers is None
            return self._begins(walk, level)
        if self.turn is None:
            return level.numbers is None or level.left > 0
        return self._step().which

    def takes(self, limb: Limb, levels: Sequence[Any]) -> bool:
        """The outcome of a look in a turn that was recorded.

        Where nobody has taken that arm, the function goes on there.
        """
        assert limb.look is not None
        if len(limb.arms) == 1 and self.knows(limb.look.operand):
            ((outcome, _),) = limb.arms.values()
            return bool(outcome)
        cycle = self.back_to
        if cycle is None and self.turn is None:
            cycle = [level.cycle for level in levels if level.numbers is not None][-1]
        if cycle is not None:
            return any(bool(x) for x, arm in limb.arms.values() if comes_back(arm, cycle))
        outcome = self._step().which
        if outcome_key(outcome) not in limb.arms:
            self.next = outcome
            if self.base in self.gone:
                self.gone += levels[levels.index(self.base) :]
        return outcome

    def _step(self) -> Step:
        step = next(self.turn or iter(()), None)
        if step is None:
            self.trace.refuse(ELSEWHERE, INSTEAD["bool"])
        return step

    def _begins(self, walk: Any, level: Any) -> bool:
        """Whether a loop goes through another turn; finds the way through that turn.

        The turns of loops in it, which that way goes through, are of this one.
        """
        nodes = self.trace.builder.nodes[: level.entered]
        in_turn = Step.of_loop(level.cycle, True)
        before = *self.steps(nodes), in_turn
        prescribed = self._level(walk.levels) is level
        self.base, self.back_to = level, None

        def leaves(look: Check, outcome: bool, way: tuple[Step, ...]) -> bool:
            seat = self.world.loops.seats.of(look)
            if seat is None or way in self.exits:
                return True
            place = seat.places[-1]
            return self._leads_out(place.frame, place.index, outcome, level.head)

        turn = without_decided(level.limb.turn, self.knows)
        way = way_to_unknown(turn, leaves, before)
        if way is not None:
            self.turn = iter(way[len(before) :])
            return True
        if level in self.gone:
            self.trace.refuse(ELSEWHERE, INSTEAD["bool"])
        if prescribed and self._next_step(nodes) == in_turn:
            way = self.way
        elif level.numbers is None:
            way = way_to_unknown(turn, before=before)
            if way is None:
                self.trace.refuse("goes through a loop that no look leaves", ENDLESS)
        if way is not None:
            self.gone.append(level)
            self.turn = iter(way[len(before) :])
            return True
        fills = any(head.collects for head in walk.heads.values())
        if fills and level.left > 0:
            self.turn = None
            return True
        self.gone.append(level)
        self.back_to = walk.levels[-2].cycle if walk.levels[1:] else None
        self.turn = iter(())
        return False

    def left(self, head: Any) -> None:
        """The function has left a loop that may have ways through its turns which nobody knows."""
        level = self._level(self.world.loops.walk.levels)
        if level is not None and level.head is head and self.turn is not None:
            way = self.steps(self.trace.builder.nodes)
            self.exits.add(way)
            while not way[-1].loops and (*way[:-1], way[-1].other) in self.exits:
                way = way[:-1]  # both arms of that look leave it
                self.exits.add(way)

    def _leads_out(self, frame: Any, jump: int | None, outcome: bool, head: Any) -> bool:
        """Whether an arm never comes back to the beginning of a loop's turns."""
        if jump is None or frame.code is not head.frame.code:
            return False
        return leads_out(frame.code, jump, outcome, head.target)


@lru_cache(maxsize=1024)
def usual(code: CodeType, jump: int) -> bool:
    """The outcome that stays in the loop around a look, or begins the one that it is the test of.

    That is the one which does not jump, where both do, or none.
    """
    falls = not _taken(code, jump)
    heads = {x.arg for x in program_of(code).instructions if "BACKWARD" in x.name}
    around = [turn for turn in (turn_of(code, head) for head in heads) if jump in turn]
    inner = min(around, key=len, default=None)
    if inner is not None and leads_out(code, jump, falls, inner.start):
        return not falls
    return falls


def _taken(code: CodeType, jump: int) -> bool:
    """The outcome for which a look jumps."""
    return program_of(code).instructions[jump].name.endswith("TRUE")


@lru_cache(maxsize=1024)
def leads_out(code: CodeType, jump: int, outcome: bool, head: int) -> bool:
    """Whether an arm of a look in a loop never comes to where the turns of that loop begin."""
    instructions, turn = program_of(code).instructions, turn_of(code, head)
    first = instructions[jump].arg if outcome == _taken(code, jump) else jump + 1
    handlers: list[Handler | None] = [None] * len(instructions)
    waiting, seen = [first], {first}
    while waiting:
        at = waiting.pop()
        if at == head:
            return False
        if at in turn:
            new = [i for i in following(instructions, handlers, at) if i not in seen]
            seen.update(new)
            waiting += new
    return True
