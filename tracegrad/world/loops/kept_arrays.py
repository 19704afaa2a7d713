"""Arrays that a function leaves outside, and that turns of a loop have handed on.

``for k in range(n): self.last = x`` leaves the caller's own array, and so does what a variable has
behind such a loop. A loop that stays one hands on values, of which a program makes arrays of their
own. So what is kept outside is followed back through the turns: where it may be an array that
others have, or show a part of one, the loop is unrolled.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from codegen.ir import Call, Trait, Value
from tracegrad.ops.python_lists import FILLING, handed, list_item
from tracegrad.tracing.path_tree import Cycle, Entry, Meet
from tracegrad.world.lengths import FEWEST
from tracegrad.world.loops.loop_heads import Head

Age = tuple[tuple[Cycle, int], ...]
"""How many turns ago something was, of each loop in whose turns it is; the outer ones first."""


@dataclass(frozen=True)
class Source:
    """An array that a value may be, or show a part of."""

    value: Value
    age: Age | None  # None: of a turn that nobody knows
    by: tuple[Cycle | None, bool] = (None, False)  # the loop that handed it on; to its first turn
    appended: tuple[int, bool] | None = None
    """Of an item of a list: the append (an id), and whether a turn had it of those before."""

    @property
    def known(self) -> tuple[Any, ...]:
        """What tells sources apart."""
        return self.value, self.age, self.appended


class Handed:
    """What the values of one trace, with its loops, may be."""

    def __init__(self, nodes: Sequence[Any], heads: Mapping[Cycle, Head]) -> None:
        self._heads = heads
        self._makers: dict[Value, Any] = {}
        self._inside: dict[Value, tuple[Cycle, ...]] = {}  # the loops in whose turns values are
        self._parameters: dict[Value, tuple[Cycle, int]] = {}
        self._meeting: dict[Value, list[Value]] = {}  # what arms hand on where they meet
        self._left_in_turn: set[Cycle] = set()
        self._enter(nodes, ())
        self._oldest = len(self._parameters) + FEWEST

    def _enter(self, nodes: Sequence[Any], around: tuple[Cycle, ...]) -> None:
        for node in nodes:
            for i, result in enumerate(node.results):
                self._makers[result], self._inside[result] = node, around
                if isinstance(node, Entry) and i < len(node.cycle.parameters):
                    self._parameters[result] = node.cycle, i
            if isinstance(node, Meet):
                for result, argument in zip(node.results, node.arguments, strict=True):
                    self._meeting.setdefault(result, []).append(argument)
            if isinstance(node, Entry):
                inside = (*around, node.cycle)
                if node.in_turn:
                    self._left_in_turn.add(node.cycle)
                self._inside.update(dict.fromkeys(node.results, inside))
                for way in node.cycle.ways:
                    self._enter(way.nodes, inside)

    def sources(self, value: Value) -> list[Source]:
        """The arrays that a value may be, or show a part of; itself where it is a new one."""
        waiting = [(Source(value, self._age(value, ())), False)]
        seen, found = set(), []
        while waiting:
            source, of_item = waiting.pop()
            if (source, of_item) in seen:
                continue
            seen.add((source, of_item))
            further = [*self._before(source, of_item)]
            waiting += further
            if not further and not of_item:
                found.append(source)
        return found

    def _before(self, source: Source, of_item: bool) -> Iterator[tuple[Source, bool]]:
        """What a value is made of that has its memory; of a list, what its items are."""
        value, age = source.value, source.age
        node = self._makers.get(value)
        if value in self._parameters:
            yield from ((found, of_item) for found in self._handed_to(source))
        elif value in self._meeting:
            for argument in self._meeting[value]:
                yield replace(source, value=argument, age=self._age(argument, age)), of_item
        elif not isinstance(node, Call):
            return
        elif of_item:
            fills = node.op in FILLING
            lists = fills or Trait.HOLDS not in node.op.traits  # else a list of these arrays
            for operand in node.operands[:1] if lists else ():
                yield Source(operand, None, source.by), True
            appended = (id(node), False) if fills else None
            for operand in node.operands[1:2] if fills else () if lists else node.operands:
                yield Source(operand, None, source.by, appended), False
        elif node.op is list_item or node.op is handed or Trait.VIEW in node.op.traits:
            operand = node.operands[0]
            of = replace(source, value=operand, age=self._age(operand, age))
            yield of, node.op is list_item

    def _handed_to(self, source: Source) -> Iterator[Source]:
        """What a parameter of a loop may be, where the loop is left."""
        cycle, at = self._parameters[source.value]
        by, age = source.by[0] or cycle, source.age
        appended = None if source.appended is None else (source.appended[0], True)
        turns = FEWEST if age is None else dict(age).get(cycle, 0)
        if age is not None:
            inside = self._inside[source.value]
            ages = {**dict(age), cycle: min(turns + 1, self._oldest)}
            age = tuple([(loop, ages[loop]) for loop in inside])
        for way in cycle.ways:
            if way.arguments is not None:
                argument = way.arguments[at]
                yield Source(argument, self._age(argument, age), (by, source.by[1]), appended)
        first = turns < FEWEST - 2  # so many have ended, but for one that stands before the loop
        if not first or self._may_have_no_turn(cycle):
            argument = cycle.arguments[at]
            to_first = by, source.by[1] or first
            yield Source(argument, self._age(argument, age), to_first, appended)

    def _may_have_no_turn(self, cycle: Cycle) -> bool:
        """Whether a loop may be left before its first turn has ended."""
        if cycle.counter is None or cycle in self._left_in_turn:
            return True
        return self._heads[cycle].counted is not None

    def _age(self, value: Value, age: Age | None) -> Age | None:
        """The age of a value that others of some age are made of."""
        if age is None:
            return None
        known = dict(age)
        return tuple([(cycle, known.get(cycle, 0)) for cycle in self._inside.get(value, ())])

    def is_given(self, value: Value) -> bool:
        """Whether a value is an argument, or an array from outside."""
        return value not in self._makers

    def is_alike(self, one: Source, other: Source) -> bool:
        """Whether two sources may be one array: made in one turn, or in none.

        What one append puts into a list is another one in each turn, but for what a turn has of
        those before. The last item may be a variable, too (`Lists._last`).
        """
        if one.value is not other.value:
            return False
        if one.age is not None and other.age is not None:
            return one.age == other.age
        inside = self._inside.get(one.value)
        if not inside:
            return True
        if one.appended is None or other.appended is None:
            return not self._may_be_last(one, other, inside[-1])
        return one.appended != other.appended

    def _may_be_last(self, one: Source, other: Source, cycle: Cycle) -> bool:
        """Whether it is known where a variable is the last item of a list."""
        age = one.age if one.appended is None else other.age
        is_of_last = age is not None and dict(age).get(cycle) == 1
        return is_of_last and any(c.last_parameter for c in self._heads[cycle].collects)


def passed_on(
    nodes: Sequence[Any],
    heads: Mapping[Cycle, Head],
    kept: Sequence[Value],
    returned: Sequence[Value],
) -> tuple[Head, bool] | None:
    """The loop through which something that is `kept` came, though others have it, too.

    With it is told whether that is so only where the loop is left before a turn has ended. What the
    function has `returned` is a copy of what is given to it.
    """
    handed_on = Handed(nodes, heads)
    known = {value: handed_on.sources(value) for value in (*kept, *returned)}
    by_source: dict[Value, dict[tuple[Any, ...], list[tuple[Value, Source]]]] = {}
    for value, sources in known.items():
        for source in sources:
            alike = by_source.setdefault(source.value, {}).setdefault(source.known, [])
            if len(alike) < 2:  # so one of them is of another value
                alike.append((value, source))
    found: list[tuple[Cycle | None, bool]] = []
    for value in kept:
        for source in known[value]:
            others = [
                next((other for of, other in alike if of is not value), None)
                for alike in by_source[source.value].values()
                if handed_on.is_alike(source, alike[0][1])
            ]
            same = [other for other in others if other is not None]
            if same or handed_on.is_given(source.value):
                found += [s.by for s in (source, *same)]
    by_loops = [(heads[cycle], first) for cycle, first in found if cycle is not None]
    return min(by_loops, key=lambda pair: pair[1], default=None)
