"""Loops that do not stay loops: turns are recorded one by one, in this run or in all."""

from __future__ import annotations

from collections.abc import MutableMapping, Sequence
from types import CodeType
from typing import Any

from tracegrad.errors import ConversionError
from tracegrad.runtime.array_manners import is_memory
from tracegrad.runtime.concurrency import is_only_thread
from tracegrad.tensors.tensor import Tensor
from tracegrad.tracing.path_tree import PathBuilder
from tracegrad.tracing.restarts import TooManyTurns
from tracegrad.world.loops.closing import Closing
from tracegrad.world.loops.constant_arrays import gives_up
from tracegrad.world.loops.kept_arrays import passed_on
from tracegrad.world.loops.loop_heads import MOST_TRIED, Head, Unclosed
from tracegrad.world.loops.remade_objects import MOST_ITEMS
from tracegrad.world.loops.straight_code import Taped
from tracegrad.world.loops.unrolling_reasons import Reasons, loop_at
from tracegrad.world.loops.widened_states import Learned

MOST_UNROLLED = 4_000  # operations that turns of one loop record
FEWEST_TURNS = 16  # of a loop of which it is said that it makes many
MOST_ENDS = 40  # of one loop are remembered: the numbers of last turns that have fewer rows


class Unrolling(Closing):
    """The loops of one run that are not closed."""

    heads: dict[tuple[int, int], Head]
    unclosed: MutableMapping[CodeType, set[int]]  # where loops begin that are not tried again
    reasons: Reasons
    tried: dict[tuple[Any, int], int]  # turns that stood for no others
    refused: bool  # the run is no program, because a loop was closed
    fixed: bool  # the run has done something that cannot be done twice, or has ended
    taped: bool  # turns leave a tape
    untaped: bool  # some turns have left no tape
    differentiated: bool  # what the run gives
    unrolled: dict[tuple[CodeType, int], tuple[int, int]]
    """How many turns of loops were recorded one by one, and how many nodes there were before."""

    def _counts_turn(self, code: CodeType, target: int) -> None:
        """A turn ends: where those of its loop have recorded too much, the run is given up.

        Not where values are not known: nobody else could answer the call.
        """
        count = len(self.trace.builder.nodes)
        turns, first = self.unrolled.get((code, target), (0, count))
        self.unrolled[code, target] = turns + 1, min(first, count)
        if count - first > MOST_UNROLLED and turns >= FEWEST_TURNS and not self.trace.samples:
            why = self.reasons.get(code, {}).get(target, "")
            loop = loop_at(code, target)
            self.trace.unprogrammed = told = TooManyTurns(loop, count - first, turns, why)
            raise told

    def _is_straight(self) -> bool:
        """Whether turns may be run without a tape: a run that needs one can be made again."""
        return not self.taped and not self.world.effects and is_only_thread()

    def is_repeatable(self) -> bool:
        return not (self.fixed or self.world.effects) and is_only_thread()

    @property
    def follows(self) -> bool:
        """Whether the run goes on along known paths: it closes no loop."""
        return isinstance(self.trace.builder, PathBuilder)

    def _goes_unseen(self, iterator: Any) -> None:
        """Says of a loop that what it goes through is no numbers and no rows of an array."""
        frame = self.world.machine.frame  # None: what is differentiated is a builtin itself
        if frame is not None and frame.program.instructions[frame.index].name == "FOR_ITER":
            kind = type(iterator).__name__.removesuffix("_iterator")
            self._says(
                frame.code, frame.index, f"it goes through a {kind} of which no array is known"
            )

    def _shorten(self, head: Head) -> None:
        """Leaves out the last turns of a loop, if they are known to have fewer rows."""
        known = self.known.short.get(head.frame.code, {})
        head.short = known.get((head.target, head.numbers[-1]), 0)
        head.numbers = head.numbers[: len(head.numbers) - head.short]

    def shortens(self, head: Head, turns: int) -> None:
        """The last turns have fewer rows: the run is made again, to have them behind the loop."""
        short = self.known.short.setdefault(head.frame.code, {})
        known = sum(target == head.target for target, _ in short)
        if self.is_repeatable() and known < MOST_ENDS:
            short[head.target, head.numbers[-1]] = turns
            raise Learned

    def settle(self, head: Head, goes_on: bool = False) -> None:
        """A loop is left."""
        raise NotImplementedError

    def bars(self, what: str) -> None:
        """Something is done that a turn which stands for all may not do."""
        raise NotImplementedError

    def _give_up(self, head: Head) -> None:
        """A turn stands for no others; after some of them the loop stays unrolled from here on."""
        key = head.frame.code, head.target
        waits = len(self.counted.idle) > head.idle_first
        fills = (waits or self.grows(head)) and self.grown.get(key, 0) < MOST_ITEMS
        counts = self.grown if fills else self.tried
        counts[key] = counts.get(key, 0) + 1
        why = head.why or "its turns are not alike"
        if not waits:
            self._says(*key, why)
        if self.tried.get(key) == MOST_TRIED:
            self._unrolled(head, why)
            if gives_up(self):
                raise Learned
        self.settle(head, waits)

    def _unrolled(self, head: Head, why: str) -> None:
        self._says(head.frame.code, head.target, why)
        self.unclosed.setdefault(head.frame.code, set()).add(head.target)

    def _says(self, code: CodeType, begin: int, why: str) -> None:
        """Notes why a loop is unrolled."""
        self.reasons.setdefault(code, {})[begin] = why

    def _refuse(self, head: Head, what: str) -> None:
        """The run is no program, and is made again where it can be: with the loop unrolled."""
        self._unrolled(head, what)
        if self.trace.samples:
            raise Unclosed(what)
        if self.is_repeatable():  # what its turns have written to arguments is not in these
            raise Learned
        self.trace.read(what)
        self.refused = True
        self.settle(head)

    def _raised(self, head: Head) -> None:
        """An operation raised in a turn, which runs again; one that draws would draw twice."""
        if self.trace.generators.before:
            self._refuse(head, "an operation raises in a turn that draws random numbers")
        if self.world.calls_rules:
            self._refuse(head, "an operation raises in a turn that calls a rule")
        self.trace.read("a loop in which an operation raised")

    def begins_elsewhere(self, head: Head) -> None:
        """The rest of a loop, of which the first turn is written out, begins at another number."""
        self._refuse(head, "the rest of a loop that is left begins with a turn of its own")

    def _departs(self, what: str) -> None:
        """The function does to what stands for an object what it would do to that: not in loops.

        The run is made again, with the loops unrolled whose turns have such.
        """
        for head in [*self.heads.values(), *self.closed]:
            self._unrolled(head, what)
        if not self.is_repeatable():
            raise ConversionError(f"{what}, which a loop reads by number: unroll or copy it")
        raise Learned

    def departs_from(self, head: Head, what: str) -> None:
        """The same of what is an item of a list to which the turns of one loop append."""
        self._unrolled(head, what)
        if self.trace.samples:
            raise Unclosed(what)
        if not self.is_repeatable():
            raise ConversionError(f"{what}: append a copy (.copy())")
        raise Learned

    def fixes_turns(self) -> None:
        """The number of a turn is assumed to be something: no turn stands for all."""
        for head in [*self.heads.values(), *self.closed]:
            self._refuse(head, "the number of a turn decides how arrays fit together")

    def takes_place_of(self, array: Any) -> None:
        """A Tensor takes the place of an array that is written to, wherever it stands."""
        for head, begun, _ in self.lifted:
            if begun is array:
                self._refuse(head, "an array that a loop began with is written to")

    def require_as_begun(self) -> None:
        """Arrays of numbers that loops began with are as they were: others may have them."""
        for head, array, before in self.lifted:
            if array.tobytes() != before.tobytes():
                self._refuse(head, "an array that a loop began with is written to")

    def keeps(self, kept: Sequence[Tensor] | None, returned: Sequence[Tensor]) -> None:
        """The function leaves these outside, or returns them: who they are is no turn's to change.

        Where that is so behind no turn alone, the first one stands by itself. None: nobody knows.
        """
        if kept is None:
            for head in [*self.closed]:
                self._refuse(head, "what is kept outside holds too much for a look")
            return
        values = [
            [x._traced[1] for x in tensors if is_memory(x) and x._traced is not None]
            for tensors in (kept, returned)
        ]
        found = passed_on(self.trace.builder.nodes, self.walk.heads, *values)
        if found is None:
            return
        head, first = found
        apart = self.apart.setdefault(head.frame.code, set())
        if first and head.target not in apart and self.is_repeatable():
            apart.add(head.target)
            raise Learned
        self._refuse(head, "it hands on an array that is kept outside, and that others have, too")

    def derives(self) -> None:
        """A derivative of what was recorded is taken in the run: of turns there is no record."""
        for head in [*self.closed]:
            self._refuse(head, "a derivative of a loop in the function itself")

    def needs_tape(self) -> None:
        """The run does something that cannot be done twice, and will not become a program."""
        self.fixed = True
        if self.wide:
            self.forget_wide()
            raise Learned
        if self.untaped and self.differentiated:
            raise Taped

    @property
    def mixes_floats(self) -> bool:
        """Whether floats of Python were taken for NumPy's, among numbers of other dtypes."""
        return bool(self.wide) and self.shows_floats(self.trace.builder.nodes)

    def forget_wide(self) -> None:
        """In no other run such variables hold NumPy's: the loops are unrolled."""
        for head in self.wide.values():
            self._unrolled(head, "floats of Python become NumPy's, beside other dtypes")

    def adds_gradients(self) -> None:
        """``backward()`` in a turn changes leaves, of which no turn that stands for all is told."""
        what = "backward() adds to gradients in its turns"
        kept = [
            h for h in self.heads.values() if h.target not in self.unclosed.get(h.frame.code, ())
        ]
        for head in kept:
            self._unrolled(head, what)
        if kept and self.is_repeatable():
            raise Learned
        self.bars(what)

    def unroll(self, why: str, label: object = None) -> bool:
        """No loop of this run stays one from here on; of the one with a label, the first turn.

        Whether there is one.
        """
        head = self.walk.heads.get(label)  # type: ignore[call-overload]
        if head is not None and not head.peeled:
            apart = self.apart.setdefault(head.frame.code, set())
            if head.target not in apart:
                apart.add(head.target)
                return True
        for head in self.closed:
            self._unrolled(head, why)
        return bool(self.closed)
