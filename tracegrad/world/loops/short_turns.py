"""Turns in which an inner loop made too few turns to be closed: a later one stands for them.

Of ``for i in range(n): for j in range(i)`` the first turns have an inner loop of none, or of one.
They are recorded as what they were. When a later turn is closed it stands for them, too, if they
began with the same types in its parameters and the very same objects besides: what was recorded of
them goes, and the loop is run from the first of them on. So a way that they alone went is seen.
"""

from __future__ import annotations

import operator
from collections.abc import Mapping
from typing import Any

from codegen.ir import Value
from codegen.types import weak_of
from tracegrad.runtime.array_manners import is_memory
from tracegrad.tensors.tensor import Tensor
from tracegrad.tracing.path_tree import read_in, with_turns
from tracegrad.world.loops.list_ends import is_tail
from tracegrad.world.loops.loop_heads import Beginning, Head, Leaf, Slot, Unclosed
from tracegrad.world.loops.loop_runner import Level, untraced
from tracegrad.world.loops.widened_states import Learned

MOST_SHORT = 32  # turns in which an inner loop makes too few to be closed

Key = tuple[int, int]


class ShortTurns:
    """Those of one run, by the first of them, for each loop by its frame and beginning."""

    def __init__(self, loops: Any) -> None:
        self.loops = loops
        self.first: dict[Key, Head] = {}
        self.tried: dict[Key, int] = {}

    def falls(self) -> None:
        """A loop was not closed of which others count the turns: theirs are not alike."""
        for head in self.loops.heads.values():
            head.short += 1

    def notes(self, head: Head) -> bool:
        """Whether an inner loop alone is why a turn is no example of others; it is kept then."""
        key, loops = _key(head), self.loops
        first = self._take(head)
        if not head.short or self.tried.get(key, 0) == MOST_SHORT:
            return False
        self.tried[key] = self.tried.get(key, 0) + 1
        if loops._marks(head) != head.marks or len(loops.lists.log) > head.logged:
            return True
        first = first or head
        for place, x in loops.places.items():
            if (place,) not in first.before:
                loops._leaves(first, (place,), x, first.before)
        if head.index is None or head.target not in loops.apart.get(head.frame.code, ()):
            self.first[key] = first
        return True

    def has(self, iterator: Any) -> bool:
        """Whether a loop over an iterator has had such turns."""
        return iterator is not None and any(x.iterator is iterator for x in self.first.values())

    def end(self, around: Head) -> None:
        """A turn ends: so do the loops in it, and how many turns they made is looked at."""
        for key, first in [*self.first.items()]:
            if around in first.around:
                del self.first[key]
                self.loops.lengths.fix_range(first.iterator)

    def finish(self) -> None:
        """The run ends."""
        for first in self.first.values():
            self.loops.lengths.fix_range(first.iterator)

    def before(self, head: Head) -> Head | None:
        """The first of the turns before that are turns of a loop which is closed, too."""
        first = self._take(head)
        if first is not None and not self._are_alike(head, first):
            self.loops.lengths.fix_range(first.iterator)
            return None
        return first

    def _take(self, head: Head) -> Head | None:
        first = self.first.pop(_key(head), None)
        if first is None or first.iterator is head.iterator:
            return first
        self.loops.lengths.fix_range(first.iterator)
        return None

    def _are_alike(self, head: Head, first: Head) -> bool:
        """Whether a turn began with the types of another one, and with the very same objects."""
        if head.collects:
            return False
        marks = zip(first.marks, self.loops._marks(head), strict=True)
        if any(one != other for i, (one, other) in enumerate(marks) if i != 1):
            return False
        if self._reads_them(head, first):
            return False
        tensors: dict[int, Value] = {}
        for slot in {**first.before, **head.begun}:
            parameter, old = head.parameters.get(slot), first.before.get(slot)
            begun = head.begun.get(slot)
            if old is None or begun is None:
                return False
            if parameter is None:
                if begun.holder is not old.holder or begun.value is not old.value:
                    return False
            elif (
                is_tail(slot)
                or not self._begins(head, slot, parameter, old)
                or (old.value and tensors.setdefault(id(old.holder), parameter) is not parameter)
            ):
                return False
        return True

    def _reads_them(self, head: Head, first: Head) -> bool:
        """Whether a turn reads something that was made in turns before, and is no parameter."""
        nodes = self.loops.trace.builder.nodes
        before, turn = [*with_turns(nodes[first.start : head.begin])], nodes[head.begin :]
        made = {result for node in before for result in node.results}
        return not made.isdisjoint(read_in(with_turns(turn)))

    def _begins(self, head: Head, slot: Slot, parameter: Value, leaf: Leaf) -> bool:
        """Whether a parameter may begin with what a variable held."""
        if is_memory(leaf.holder) != is_memory(head.begun[slot].holder):
            return False
        if parameter in head.written and leaf.holder is not head.written[parameter]:
            return False
        if leaf.value is not None:
            may: bool = self.loops._may_change(leaf)
            return may and self.loops._same_type(leaf.value, parameter.type)
        others = [s for s, p in head.parameters.items() if p is parameter and s != slot]
        if others or type(leaf.holder) not in (int, float):
            return False
        fits: bool = self.loops._fits(Value(weak_of(leaf.holder), parameter.origin), parameter)
        return fits

    def begin(self, head: Head, first: Head) -> tuple[Value, ...]:
        """Has a loop begin with turns before, of which nothing stays; its first arguments."""
        loops, nodes = self.loops, self.loops.trace.builder.nodes
        loops._forget(nodes[first.start :])
        del nodes[first.start :]
        head.start, head.numbers, head.peeled = first.start, first.numbers, False
        head.ends, head.told = first.ends, first.told
        for other, short in first.around.items():  # those in the turns that go
            other.short = min(other.short, short)
        given: dict[Value, Value] = {}
        values: dict[Value, Any] = {}
        for slot, parameter in head.parameters.items():
            leaf = first.before[slot]
            given[parameter] = self._argument(head, parameter, leaf)
            values[parameter] = untraced(first.start_of[slot])
        head.begins, head.rewinds = Beginning(values, head.numbers), True
        return tuple([given[parameter] for parameter in head.arguments])

    def _argument(self, head: Head, parameter: Value, leaf: Leaf) -> Value:
        loops, x = self.loops, leaf.holder
        if leaf.value is not None:
            if is_memory(x) and parameter not in head.written:
                loops.frozen.update({parameter: head, leaf.value: head})
            return leaf.value
        if not parameter.type.weak:  # a float of Python, where later turns have one of NumPy's
            loops.wide[parameter] = head
        lifted = loops.world.numbers.lifted(loops.world, x)
        if type(lifted) is Tensor:
            return lifted._traced[1]  # type: ignore[no-any-return]
        return loops.trace.number(x, weak_of(x), parameter.origin)  # type: ignore[no-any-return]

    def beginning(self, head: Head, now: dict[Value, Any]) -> Mapping[Value, Any]:
        """What parameters are where turns of a closed loop are run from: now, or in the first."""
        if head.begins is None:
            left = operator.length_hint(head.iterator)
            head.begins = Beginning(now, head.numbers[len(head.numbers) - left :])
        if not head.rewinds:
            return now
        level = self.loops.walk.around(head)
        if head.iterator is not None:
            level.numbers, level.shown = iter(head.begins.numbers), None
        head.rewinds = head.skipped = False
        return dict(head.begins.values)

    def skips(self, level: Level) -> bool:
        """Whether turns go on behind one that is no way of its loop, as an inner one had too few.

        They are run from the first one on when the way is known, by a turn in which it has more.
        """
        head, loops = level.head, self.loops
        if not head.short or level is not loops.walk.levels[0] or head.collects:
            return False
        if loops._ending(head, level.entered + 1, short=True) is None:
            return False
        nodes = loops.trace.builder.nodes
        loops._forget(nodes[level.entered + 1 :])
        del loops.walk.levels[1:], nodes[level.entered + 1 :]
        head.skipped = True
        return True

    def lack_a_way(self, head: Head) -> None:
        """A loop is left, and no turn has shown a way that one of them went."""
        loops = self.loops
        loops._unrolled(head, "an inner loop makes too few turns on some way through a turn")
        if loops.trace.samples:
            raise Unclosed("a way through a loop")
        if loops.is_repeatable():
            raise Learned
        loops.trace.read("a way through a loop that it has not seen")
        loops.refused = True


def _key(head: Head) -> Key:
    return id(head.frame), head.target
