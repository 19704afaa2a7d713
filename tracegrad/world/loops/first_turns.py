"""Turns before the one that is recorded over parameters: whether they are the same computation.

What was recorded of such turns goes (`Closing._close`), and the loop begins with the first of them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from codegen.ir import Constant, Value
from codegen.types import ArrayType, kind
from tracegrad.runtime.array_manners import is_memory
from tracegrad.tape.views import base_of
from tracegrad.tensors.tensor import Tensor
from tracegrad.tracing.path_tree import Cycle, Entry
from tracegrad.world.loops.counted_ranges import CountedRanges, first_number, is_empty
from tracegrad.world.loops.loop_heads import Head, Leaf, Slot
from tracegrad.world.loops.loop_runner import Walk
from tracegrad.world.loops.state_items import Holding, is_flag
from tracegrad.world.loops.turn_equality import Same
from tracegrad.world.loops.widened_states import (
    Change,
    Known,
    change_of,
    goes_another_way,
    join,
    type_of,
)


class FirstTurns(Holding):
    """What a run knows of the turns before."""

    world: Any
    trace: Any
    walk: Walk
    lists: Any
    counted: CountedRanges

    def _all(self, head: Head) -> list[Value]:
        """The parameters that variables became."""
        return list(head.arguments)

    def _are_one(self, a: ArrayType, b: ArrayType) -> bool:
        """Whether types are one."""
        raise NotImplementedError

    def _first_turn(
        self, head: Head, body: Sequence[Any], arguments: Sequence[Value]
    ) -> tuple[Value | Constant, ...] | None:
        """What the first turn had for the parameters; None where it did something else.

        Numbers that it was the first to record are constants.
        """
        if self._began_apart(head) or self._began_together(head):
            return None
        turn = self.trace.builder.nodes[head.start : head.begin]
        same = Same(self.trace, self._all(head))
        if head.index is not None and head.first is not None:
            same.found[head.index] = head.first
            same.is_empty = self._empty_in_first(head)
        for slot, parameter in head.parameters.items():
            leaf = head.before[slot]
            flag = is_flag(head, slot, leaf.holder)
            if self._is_plain_number(leaf) and (parameter.type.weak or flag):
                same.knows(parameter, leaf.holder)
        steps = [node for node in body if node not in head.further]
        if not same.sequences(steps, turn):
            return None
        for again, appended in self.lists.appended(head, body):
            if len(again) != len(appended) or not all(map(same.values, again, appended)):
                return None
        made = made_in(turn)
        given: list[Value | Constant] = []
        for slot, parameter in head.parameters.items():
            if parameter in same.found:
                continue
            leaf = head.before[slot]
            alike = is_memory(leaf.holder) == is_memory(head.begun[slot].holder)
            value = self._as_first(parameter, leaf) if alike else None
            if value is None and parameter not in same.numbers:
                return None
            if value is not None:
                same.found[parameter] = value
        if head.counted is not None and not self._has_all(head, same):
            return None
        for parameter, again in zip(self._all(head), arguments, strict=False):
            if not same.values(again, head.arguments[parameter]):
                return None
            if parameter in same.numbers:
                given.append(Constant(same.numbers[parameter], parameter))
                continue
            first = same.found[parameter]
            constant = self.trace.builder.constant_of(first)
            if not self._fits(first, parameter) or (first in made and constant is None):
                return None
            given.append(constant if constant is not None and first in made else first)
        return tuple(given)

    def _began_apart(self, head: Head) -> set[Slot]:
        """Variables that are one parameter, and were not one array before the first turn."""
        first: dict[Value, Value | None] = {}
        apart: set[Slot] = set()
        for slot, parameter in head.parameters.items():
            value = head.before[slot].value
            if first.setdefault(parameter, value) is not value:
                apart.update(s for s, p in head.parameters.items() if p is parameter)
        return apart

    def _began_together(self, head: Head) -> bool:
        """Whether variables were one array before the first turn, and turns write to one of them.

        The others would still have what it was where the loop is left before they got their own.
        """
        first: dict[int, Value] = {}
        for slot, parameter in head.parameters.items():
            x = head.before[slot].holder
            other = first.setdefault(id(base_of(x) if type(x) is Tensor else x), parameter)
            if other is not parameter and {other, parameter} & head.changed:
                return True
        return False

    def _learn_of_first(self, head: Head, body: Sequence[Any]) -> None:
        """The first turn went another way than the next one: in the next run both are ways."""
        builder = self.trace.builder
        turn = builder.nodes[head.start : head.begin]
        apart = self._began_apart(head)
        if not self.lists.grow_all(head) or not (
            apart or goes_another_way(turn, body, builder.producer)
        ):
            return
        found: Known = {}
        for slot, parameter in head.parameters.items():
            wide = join(type_of(head.before[slot]), parameter.type, self._are_one)
            lasting = self._lasting(head, slot)
            if wide is None or lasting is None:
                return
            found[lasting] = self._change(head, parameter, wide)
            found[lasting] |= Change.SHARED if slot in apart else Change(0)
        self._learns(head, found)

    def _change(self, head: Head, parameter: Value, wide: Change) -> Change:
        """How turns change a parameter."""
        moved = Change.WRITTEN if parameter in head.moved else Change(0)
        return change_of(parameter in head.written, wide) | moved

    def _learns(self, head: Head, found: Known) -> None:
        """Notes what the variables of a loop are, and has the run made again if that is new."""
        raise NotImplementedError

    def _empty_in_first(self, head: Head) -> Callable[[Cycle], bool]:
        """What tells whether a loop in a turn of another one has no turns in the first of these."""
        first = first_number(self, head)
        numbers = [] if first is None or head.index is None else [(head.index, first)]
        return lambda cycle: is_empty(self, cycle.counter, numbers)  # type: ignore[arg-type]

    def _has_all(self, head: Head, same: Same) -> bool:
        """Whether all variables have what is given for them, as there may be no turn at all."""
        return all(
            parameter in same.numbers or same.found[parameter] is head.before[slot].value
            for slot, parameter in head.parameters.items()
        )

    def _is_plain_number(self, leaf: Leaf) -> bool:
        """Whether Python computes with what a variable holds, and nobody records it."""
        number = leaf.holder
        return type(number) in (int, float, bool) and self.world.numbers.found(number) is None

    def _begins(self, first: Value | Constant) -> Value:
        """What a loop begins with; a number is recorded before it."""
        if isinstance(first, Value):
            return first
        of = first.result
        return self.trace.number(first.value, of.type, of.origin)

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
        if len(head.arguments) < len(head.parameters):  # what was one array may not have been
            return given
        while head.index is None and 0 < size <= len(nodes) - self._floor(head):
            same = Same(self.trace, self._all(head))
            if not same.sequences(body, nodes[-size:]):
                break
            if not all(map(same.values, arguments, given)):
                break
            before = [v for p in self._all(head) if (v := same.found.get(p)) is not None]
            made = made_in(nodes[-size:])
            if len(before) < len(given) or any(v in made for v in before):
                break
            if not all(map(self._fits, before, self._all(head))):
                break
            if len({*before}) < len(before) and head.changed:  # which may have been one array
                break
            given = tuple(before)
            del nodes[-size:]
        return given

    def _floor(self, head: Head) -> int:
        """The node that the turn around a loop begins with."""
        around = [other for other in self.heads.values() if other is not head]
        begun = [h.begin if h.open else h.start for h in around if h.cycle is None]
        return max([0, *begun, *(level.entered + 1 for level in self.walk.levels)])

    def _as_first(self, parameter: Value, leaf: Leaf) -> Value | None:
        if leaf.value is not None:
            return leaf.value if self._are_one(leaf.value.type, parameter.type) else None
        return None

    def _fits(self, first: Value, parameter: Value) -> bool:
        """Whether a value may be the first argument for a parameter."""
        if self._are_one(first.type, parameter.type):
            return True
        a, b = first.type, parameter.type
        return a.weak and not b.shape and not b.weak and kind(a.dtype) == kind(b.dtype) == "float"


def made_in(nodes: Sequence[Any]) -> set[Value]:
    """What nodes make, and the turns of loops among them."""
    found = {r for node in nodes for r in node.results}
    for node in nodes:
        if isinstance(node, Entry):
            found.update(v for way in node.cycle.ways for v in made_in(way.nodes))
    return found
