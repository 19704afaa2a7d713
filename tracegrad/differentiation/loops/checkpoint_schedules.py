"""Computes the lengths of segments from the number of turns and of places for their beginnings.

A place holds the state that a segment begins with. The segment with the number k of a loop begins
when k places are taken, and it has all others while the backward goes through it.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Schedule:
    """How many turns segments have.

    Segment k has ``max(parts - fewer * k, 1)`` parts, and part j of it
    ``(places - k - j) // each`` turns, fewer where the loop ends. So a segment of one part, and the
    beginnings of the others with one part of the segment gone through, fit the places.
    """

    places: int
    each: int  # so many places takes what a turn keeps
    parts: int = 1
    fewer: int = 0

    def lengths(self, turns: int) -> list[list[int]]:
        """The turns of each part of each segment, as many segments as there are turns for."""
        found: list[list[int]] = []
        while turns > 0 and self.places - len(found) >= self.each:
            room = self.places - len(found)
            segment: list[int] = []
            for part in range(max(self.parts - self.fewer * len(found), 1)):
                segment.append(min((room - part) // self.each, turns))
                turns -= segment[-1]
            found.append(segment)
        return found

    def holds(self, turns: int) -> bool:
        """Whether the segments have so many turns in all."""
        return sum(map(sum, self.lengths(turns))) == turns

    def runs(self, turns: int, spared: int) -> int:
        """How many turns are made, the forward's too; `spared` ones less where a part is last."""
        total = turns
        for segment in self.lengths(turns):
            total += sum(segment[:-1]) + sum(max(n - spared, 0) for n in segment)
        return total


def schedule_of(turns: int, places: int, each: int, in_parts: bool = True) -> Schedule:
    """The schedule of the fewest runs within so many places, or else that of the fewest places.

    Segments have parts only where they may be `in_parts`.
    """

    def holding(schedules: Callable[[int], Schedule], numbers: range) -> Schedule | None:
        """The first one with room for all turns; those after it have more."""
        first = bisect_left(numbers, True, key=lambda n: schedules(n).holds(turns))
        return schedules(numbers[first]) if first < len(numbers) else None

    enough = range(each, each + turns + 1)
    whole = holding(lambda n: Schedule(n, each), enough)
    assert whole is not None
    if whole.places <= places or not in_parts:
        return whole
    full = holding(lambda n: Schedule(n, each, n - each + 1, 1), enough)
    assert full is not None
    places = max(places, full.places)
    parts = places - each + 1  # each of which has a turn
    first_alone = holding(lambda n: Schedule(places, each, n, n - 1), range(2, parts + 1))
    several = holding(lambda n: Schedule(places, each, parts, n), range(parts - 1, 0, -1))
    return first_alone or several or full
