"""The test of a ``while``, which CPython makes at the end of a turn: it goes to the beginning.

Then it is the test before the loop, too, and one exit follows both. What is behind that finds in
each variable what every turn leaves there, or none.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from types import CodeType
from typing import Any
from weakref import WeakKeyDictionary

from codegen.ir import Check, Constant, Value
from tracegrad.tracing.path_tree import Cycle, Entry, Meet
from tracegrad.world.loops.first_turns import FirstTurns
from tracegrad.world.loops.loop_heads import Head
from tracegrad.world.loops.loops_without_turns import Before, Begun, state_of
from tracegrad.world.loops.resumption import Seats
from tracegrad.world.loops.turn_equality import Same, renamed
from tracegrad.world.loops.widened_states import Learned

TESTED_LAST: WeakKeyDictionary[CodeType, set[int]] = WeakKeyDictionary()
"""Where loops begin whose turns leave different things behind, so that each has its own exit."""


class WhileTests(FirstTurns):
    """What a run knows of the tests of loops."""

    begun: dict[tuple[Value, int], Begun]
    seats: Seats

    def _with_test_first(
        self, head: Head, cycle: Cycle, body: tuple[Any, ...], arguments: tuple[Value, ...]
    ) -> tuple[Any, ...]:
        """The turn of a ``while``, which CPython tests at the end, with its test at the beginning.

        The test before the loop goes: it is that of the first turn.
        """
        nodes = self.trace.builder.nodes
        last = head.target in TESTED_LAST.get(head.frame.code, ())
        if last or len(set(arguments)) < len(arguments) or not isinstance(body[-1], Check):
            return body
        floor = self._floor(head)
        steps = [i for i, node in enumerate(nodes) if i >= floor and not isinstance(node, Constant)]
        for size in range(len(body) - 1, 0, -1):
            same = Same(self.trace, ())
            same.found.update(zip(arguments, cycle.arguments, strict=True))
            test = body[-size:]
            if any(isinstance(node, Check | Entry | Meet) for node in test[:-1]):
                continue
            count = sum(not isinstance(node, Constant) for node in test)
            if count > len(steps):
                continue
            before = nodes[steps[-count] :]
            if not (
                isinstance(nodes[steps[-1]], Check)
                and same.sequences(test, before)
                and self._is_test(test, arguments, cycle)
                and self._may_have_no_turns(head, nodes[steps[-1]], arguments, cycle)
            ):
                continue
            nodes[steps[-count] :] = [node for node in before if isinstance(node, Constant)]
            cycle.test = test, arguments
            return self._rotated(head, cycle, body, arguments, size)
        return body

    def _may_have_no_turns(
        self, head: Head, first: Check, arguments: Sequence[Value], cycle: Cycle
    ) -> bool:
        """Whether what follows a loop finds in each variable what a turn, or none, leaves there.

        That may be a variable which turns set before they read it: it is no parameter.
        """
        begun = self.begun.get((first.operand, head.target))
        if begun is None or begun.frame is not head.frame or self._writes_elsewhere(head):
            return False
        head.untested = begun
        return self._leaves_alike(head, arguments, cycle)

    def _leaves_alike(self, head: Head, arguments: Sequence[Value], cycle: Cycle) -> bool:
        """Whether a turn that is over leaves what there is without turns."""
        given: dict[Value, list[Value]] = {}
        for argument, value in zip(arguments, cycle.arguments, strict=True):
            given.setdefault(argument, []).append(value)
        known = Before(given, self.trace.builder.constant_of)
        now = state_of(head.frame, head.untested.index)
        return all(map(known.leaves_alike, head.untested.held, now))

    def _writes_elsewhere(self, head: Head) -> bool:
        """Whether turns write to a place that is no parameter."""
        return any((place,) not in head.parameters for place in self.places)

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
        self.seats.put(turned[-1], replace(self.seats[test[-1]], renamed=new))
        return (*turned, *rest)

    def _without_test(
        self, head: Head, cycle: Cycle, body: tuple[Any, ...], arguments: tuple[Value, ...]
    ) -> tuple[Any, ...] | None:
        """A new way through a turn without the test of the next one; None where it has none.

        A way that leaves what others do not, in a variable that is no parameter, has a test of its
        own: the run is made again with the test where CPython has it.
        """
        if not cycle.test:
            return body
        test, known = cycle.test
        size = len(test)
        same = Same(self.trace, ())
        same.found.update(zip(known, arguments, strict=True))
        if not same.sequences(test, body[-size:]):
            return None
        if self._leaves_alike(head, arguments, cycle):
            return body[:-size]
        TESTED_LAST.setdefault(head.frame.code, set()).add(head.target)
        if self.is_repeatable():
            raise Learned
        return None

    def is_repeatable(self) -> bool:
        """Whether the run can be made again."""
        raise NotImplementedError
