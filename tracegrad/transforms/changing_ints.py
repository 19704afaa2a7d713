"""Which whole numbers are inputs of programs: those that change, and are only computed with.

A whole number is a setting at first: it may be a length, an axis, a key or a number of turns, so
each of its values has a program of its own. Where `VALUES` of one number have come (an argument, or
what stands at a place outside) and calls differed in whole numbers alone, the next program has it
as an input. If the function then asks what number it is, it is a setting again, until many more
values have come. XLA computes with 64 bits, where Python's numbers are longer: on JAX it is a
setting.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import replace
from typing import Any

from codegen.ir import Check, Value
from codegen.sizes import symbol
from tracegrad.arguments.signature import WHOLE, Arguments, Leaf, is_whole
from tracegrad.compiled.traced_run import Run
from tracegrad.compiled.version import Version
from tracegrad.config.compile_mode import Mode
from tracegrad.tracing.path_tree import with_turns
from tracegrad.values.pytree import Path
from tracegrad.world.lengths import FEWEST

VALUES = 2
"""That have programs of their own, before one is made for all."""
MORE = 4
"""Times as many come before it is tried once more, where the function asked what number it is."""


class ChangingInts:
    """The whole numbers of one function that calls change."""

    def __init__(self) -> None:
        self.arguments: set[tuple[str, Path]] = set()  # by parameter, those that are inputs
        self.places: set[Any] = set()  # outside, those that are inputs
        self._needed: dict[Hashable, int] = {}  # of either, how many values make it an input
        self._met: dict[Hashable, set[int]] = {}  # values at a place outside

    def count(self, places: Iterable[Any]) -> bool:
        """The function itself counts in these places outside; whether that is new."""
        before = len(self.places)
        self.places.update(places)
        return len(self.places) > before

    def meet(self, arguments: Arguments, mode: Mode, versions: Sequence[Version]) -> bool:
        """A call needs a version besides these: what differs may be an input of the next one.

        Gives whether one in an object that calls replace is one by now, and was none.
        """
        if mode.target == "jax":
            return False
        same_mode = [version for version in versions if version.mode is mode]
        same = [version for version in same_mode if version.arguments.key == arguments.key]
        if same:
            return self._meet_outside(same[-1])
        for leaf, values in _met(arguments, same_mode):
            place = arguments.parameters[leaf.parameter], leaf.path
            if len(values) >= self._needed.get(place, VALUES):
                self.arguments.add(place)
        return False

    def _meet_outside(self, version: Version) -> bool:
        """The version stands for a call, but for what is read outside.

        Gives whether whole numbers in an object that calls replace are inputs from now on.
        """
        new = False
        for guard in version.world.all_changed(version.read_again):
            if not (is_whole(guard.value) and is_whole(now := guard.now())):
                break
            met = self._met.setdefault(guard.place, set())
            met.update((guard.value, now))
            if len(met) >= self._needed.get(guard.place, VALUES):
                new |= guard.of is not None and guard.place not in self.places
                self.places.add(guard.place)
        return new

    def _tried(self) -> set[Any]:
        """The places outside that are inputs because calls changed what they hold."""
        return self.places & self._met.keys()

    def are_asked_for(
        self, run: Run, arguments: Arguments, versions: Sequence[Version], counts: bool
    ) -> bool:
        """Whether a run has asked what number an input is: calls have it as a setting again.

        Not where a version has it as an input: then that is for others of its values. A run that
        only looks does not count.
        """
        numbers: dict[Value, tuple[Hashable, int]] = {}
        same = [version for version in versions if version.arguments.key == arguments.key]
        traced = [leaf for leaf in arguments.leaves if leaf.traced and not same]
        for leaf, value in zip(traced, run.trace.inputs, strict=False):
            if leaf.kind == WHOLE:
                place = arguments.parameters[leaf.parameter], leaf.path
                numbers[value] = place, leaf.value
        read = {c.source.place for version in same for c in version.captured if c.source}
        for holder, value in run.trace.captured.values():
            source = run.world.source_of(holder)
            if source is not None and source.place in self._tried() - read:
                numbers[value] = source.place, int(holder)
        asked = _asked(run, numbers) if numbers else {}
        if not counts:
            return bool(asked)
        for place, few in asked.items():
            needed = self._needed.get(place, VALUES)
            self._needed[place] = needed + 1 if few else MORE * needed
        self.arguments -= asked.keys()
        self.places -= asked.keys()
        return bool(asked)


def _met(arguments: Arguments, versions: Iterable[Version]) -> list[tuple[Leaf, set[int]]]:
    """The settings of a call that are whole numbers, and the values of each.

    They are those of this call and of versions that differ from it in such settings alone.
    """
    places = [
        i
        for i, leaf in enumerate(arguments.leaves)
        if leaf.kind[0] == "static" and is_whole(leaf.value)
    ]
    values = {i: {arguments.leaves[i].value} for i in places}
    for version in versions:
        known = version.arguments
        leaves = [*known.leaves]
        if len(leaves) != len(arguments.leaves) or not all(
            is_whole(leaves[i].value) for i in places
        ):
            continue
        for i in places:
            leaves[i] = arguments.leaves[i]
        if replace(known, leaves=tuple(leaves)).key == arguments.key:
            for i in places:
                values[i].add(known.leaves[i].value)
    return [(arguments.leaves[i], values[i]) for i in places]


def _asked(run: Run, numbers: dict[Value, tuple[Hashable, int]]) -> dict[Any, bool]:
    """Of which numbers, or of what is computed of them, Python has asked more than yes or no.

    By place: whether it has only told how many turns a loop has, and these are too few for one.
    """
    nodes = [*with_turns(run.trace.builder.nodes)]
    producer = {value: node for node in nodes for value in node.results}
    waiting = [n.operand for n in nodes if isinstance(n, Check) and n.look != "bool"]
    seen: set[Value] = set()
    while waiting:
        value = waiting.pop()
        if value not in seen:
            seen.add(value)
            waiting += producer[value].operands if value in producer else ()
    sizes = run.trace.sizes
    fixed = {x for name, x in sizes.given.items() if isinstance(sizes.resolve(symbol(name)), int)}
    return {
        place: value not in seen and 0 <= number < FEWEST
        for value, (place, number) in numbers.items()
        if value in seen or value in fixed
    }
