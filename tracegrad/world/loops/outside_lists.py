"""Lists and deques from outside to which turns append: in a loop, each is a list of the run's own.

What turns append to such a container is in a list besides (`Added`), of which the loop knows what
it knows of a list that the function has made before it. Where the loop is closed, that list takes
the place of its items in the log of effects: each call extends the container by it. Until then the
log has them one by one, as of a loop that is unrolled. The container has the items all the time, so
what else the function does with it is as ever. But a turn that does so stands for no others.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from tracegrad.world.effects import Done
from tracegrad.world.loops.loop_heads import Head, Leaf, Slot
from tracegrad.world.loops.written_places import Place

APPENDED = -1  # the kind of these places


@dataclass(frozen=True, slots=True, eq=False)
class Added(Place):
    """What turns of one loop append to a container from outside: a list that no variable has."""

    items: list[Any] = field(default_factory=list)
    done: list[Done] = field(default_factory=list)  # what the log has of it

    def __eq__(self, other: object) -> bool:
        return type(other) is Added and self.holder is other.holder

    def __hash__(self) -> int:
        return id(self.holder)

    def now(self) -> Any:
        return self.items

    def of(self, made: Mapping[int, Any]) -> Added:
        return self


class OutsideLists:
    """What a run knows of such containers."""

    loops: Any
    tracked: dict[int, Head]
    closed: dict[int, list[Added]]  # of loops that were closed, by the container's id

    def may_add(self, x: Any, name: str, given: Sequence[Any]) -> bool:
        """Whether a method appends to such a container; `adds` is told of that."""
        of_lists = type(x) in (list, deque) and name == "append" and len(given) == 1
        return of_lists and bool(self.loops.world.is_outside(x))

    def adds(self, x: Any, value: Any, done: Done) -> None:
        """The function is about to append to such a container, and the log has it."""
        stands = False
        if any(place.holder is x for place in self.loops.places):  # counted from the end, perhaps
            self.loops.bars("a list from outside is appended to in which items are replaced")
        for head in [*self.loops.heads.values()]:
            if self._is_over(head):
                continue
            known = head.added.get(id(x)) or self.expects(head, x)
            self.appends(known.items, value)
            known.items.append(value)
            if head.cycle is not None and id(known.items) in self.tracked:
                stands = True
            else:
                known.done.append(done)
        if stands:  # it is in the list by which a closed loop extends the container
            self.loops.world.does_together([done])

    def expects(self, head: Head, x: Any) -> Added:
        """The list of what turns of a loop append to a container, from now on."""
        self.loops.world.change(x, reads=False)  # what is read of it is told to `reads_outside`
        known = head.added[id(x)] = Added(APPENDED, x, None)
        head.before[known,] = Leaf(known.items, None)
        if head.open or head.cycle is not None:
            head.begun[known,] = Leaf(known.items, None)
        if head.held is not None:
            head.held.add(id(known.items))
        return known

    def reads_outside(self, x: Any) -> None:
        """The function reads what a container holds, or changes it otherwise."""
        for head in [*self.loops.heads.values()]:
            known = head.added.get(id(x))
            if known is None or self._is_over(head):
                continue
            self.looks_at(known.items)
            self.loops.bar(head, "a list from outside to which turns append is read, or changed")
        for known in self.closed.get(id(x), ()):
            self.forgets(known.items)

    def _is_over(self, head: Head) -> bool:
        """Whether the turns of a loop are over; what a closed one has appended is known then."""
        over = self.is_left(head)
        if over and head.cycle is not None:
            self.loops.settle(head)
        return over

    def added(self, items: Any) -> tuple[Head, Added] | None:
        """The loop whose turns append to a container what a list has; None of other lists."""
        for head in self.loops.heads.values():
            for known in head.added.values():
                if known.items is items:
                    return head, known
        return None

    def slots_of(self, held: Mapping[Slot, Leaf]) -> dict[int, Slot]:
        """The variables that have lists to which turns may append, by the ids of these.

        Of a container from outside that is the way to it, for a run that is made again.
        """
        found: dict[int, Slot] = {}
        for slot, leaf in held.items():
            place = slot[0]
            if isinstance(place, Added):
                known = self.loops.world.with_way(place)
                if known is None:
                    continue
                slot = (replace(known, items=[], done=[]),)
            if len(slot) == 1 and (type(place) is int or isinstance(place, Added)):
                found[id(leaf.holder)] = slot
        return found

    def others_done(self, head: Head, log: Sequence[Done], but: Any) -> int:
        """How often something was done to what is outside, `but` by an operation, or by appends."""
        added = {id(done) for known in head.added.values() for done in known.done}
        return sum(done.operation is not but and id(done) not in added for done in log)

    def closes(self, head: Head) -> None:
        """A loop is closed: what its turns append to a container is added to it at once."""
        world = self.loops.world
        for x in [known.items for known in head.collects]:
            found = self.added(x)
            if found is None:
                continue
            _, known = found
            text = world.text_of(known.holder)
            done = Done(type(known.holder).extend, (known.holder, known.items), text)
            world.does_together(known.done, done)
            known.done[:] = [done]
            self.closed.setdefault(id(known.holder), []).append(known)

    def are_more(self, items: list[Any], new: Sequence[Any]) -> None:
        """Turns have been run, which have appended these."""
        items += new
        found = self.added(items)
        if found is not None:
            holder = found[1].holder
            holder.extend(new)
            self.loops.world.puts((holder, [*new]), {})

    def are_rows(self, items: list[Any]) -> None:
        """A loop is over, and others stand for the items by now: the container gets these."""
        found = self.added(items)
        if found is None:
            return
        holder = found[1].holder
        count = min(len(items), len(holder))
        for k in range(1, count + 1):
            holder[-k] = items[-k]
        self.loops.world.puts((holder, items[len(items) - count :]), {})

    def name_of(self, items: Any) -> str:
        """How the function's code knows a container."""
        found = self.added(items)
        return (found and self.loops.world.called(found[1].holder)) or "rows"

    def appends(self, items: list[Any], x: Any) -> None:
        """The function is about to append to a list of its own."""
        raise NotImplementedError

    def is_left(self, head: Head) -> bool:
        """Whether the frame of a loop has left its turns."""
        raise NotImplementedError

    def looks_at(self, items: Any) -> None:
        """A turn does something else with a list."""
        raise NotImplementedError

    def forgets(self, x: Any) -> None:
        """A list may be changed."""
        raise NotImplementedError
