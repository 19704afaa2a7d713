"""The cotangents at a point of a backward through joins, and what numbers tell of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, TypeAlias

from codegen.ir import Again, Join, Loop, Node, Value
from tracegrad.differentiation.scattered_places import Element, Places


@dataclass(frozen=True)
class Zeros:
    """Zeros in the place of the cotangent of a value."""

    of: Value


Given: TypeAlias = "Value | bool | Told | Zeros | None"
"""What a path hands on: a value, whether something is so, or None for what is not there."""


class Told(NamedTuple):
    """Something is so where a number of the program is true, or where it is not."""

    number: Value
    where: bool


@dataclass(frozen=True)
class Flow:
    """The cotangents at a point of the backward.

    `told` are the numbers that tell whether a value has one; where there is none, it has. Of
    cotangents that elements and slices add up to `places` has what was met so far, and `maybe` the
    numbers that tell whether some more was met.
    """

    cts: Mapping[Value, Value]
    told: Mapping[Value, Told] = field(default_factory=dict)
    places: Mapping[Value, Places] = field(default_factory=dict)
    maybe: Mapping[Value, Mapping[Element, Told]] = field(default_factory=dict)

    def without(self, value: Value) -> Flow:
        """The same with no cotangent of a value."""
        tables: Any = (self.cts, self.told, self.places, self.maybe)
        cut: Any = [{v: x for v, x in table.items() if v is not value} for table in tables]
        return Flow(*cut)

    def renamed(self, value: Value, other: Value) -> Flow:
        """The same with what a value has as that of another one."""
        tables: Any = (self.cts, self.told, self.places, self.maybe)
        new: Any = [{other if v is value else v: x for v, x in table.items()} for table in tables]
        return Flow(*new)

    def is_of_rows(self, value: Value) -> bool:
        """Whether a cotangent is an array of what was met so far, and else zeros."""
        known = self.places.get(value)
        return known is not None and known.are_known and known.zeros

    def sure(self, value: Value) -> Flow:
        """The same where a value has a cotangent, whatever numbers tell."""
        return replace(self, told={v: x for v, x in self.told.items() if v is not value})

    def depends_on(self, number: Value) -> bool:
        """Whether it tells something that is not known yet."""
        tables = self.told, *self.maybe.values()
        return any(told.number is number for table in tables for told in table.values())

    def knowing(self, number: Value, holds: bool) -> Flow:
        """What is so where a number that tells something is true, or where it is not."""
        flow = self
        for value, told in self.told.items():
            if told.number is not number:
                continue
            if told.where is holds:
                flow = replace(flow, told={v: x for v, x in flow.told.items() if v is not value})
            else:
                flow = flow.without(value)
        for value, table in flow.maybe.items():
            left = {e: x for e, x in table.items() if x.number is not number}
            met = [e for e, x in table.items() if x == (number, holds)]
            if len(left) < len(table) and value in flow.maybe:
                flow = replace(flow, maybe={**flow.maybe, value: left})
            if met and value in flow.places:
                places = flow.places[value].copy()
                for element in met:
                    places.meet(element)
                if not places.known:  # whatever else was met
                    flow = replace(flow, maybe={**flow.maybe, value: {}})
                flow = replace(flow, places={**flow.places, value: places})
        return flow


@dataclass(frozen=True)
class Stretch:
    """Straight code on a path, then a loop or a join.

    It is entered (by a turn, or by the body), or what is behind it is.
    """

    nodes: tuple[Node, ...]
    loop: Loop | None = None
    in_turn: bool = False
    join: Join | None = None
    in_body: bool = False


Path: TypeAlias = "tuple[Stretch, ...]"


@dataclass
class JoinFacts:
    """What is known of one join."""

    join: Join
    around: tuple[JoinFacts, ...]  # the joins in whose body it stands
    made: set[Value]  # what its body makes
    turns: tuple[Any, ...] = ()  # the loops that it stands in the turns of
    ways: dict[Again, Path] = field(default_factory=dict)  # through its body
    kept: dict[Value, Value] = field(default_factory=dict)  # parameters for what ways back read

    @property
    def further(self) -> dict[Value, Value]:
        """What is kept of the body in parameters that the join did not have."""
        known = self.join.parameters
        return {v: p for v, p in self.kept.items() if p not in known}
