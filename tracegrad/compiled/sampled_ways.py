"""The ways that several runs have taken through a function, and the one that is next.

Runs are on the values of a call, of which they take unknown arms (`transforms.explored_arms`), or
on samples. A run on samples takes one outcome of each look (`tracegrad.world.choices`). The next
run takes a way that no run has taken, until the tree of their paths has both outcomes of every
look.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from tracegrad.compiled.traced_run import Followed, Run
from tracegrad.tracing.path_tree import End, Tree, path
from tracegrad.tracing.unified_paths import Step, united, way_to_unknown, without_decided
from tracegrad.world.choices import Choices
from tracegrad.world.guards import PACKED
from tracegrad.world.number_inputs import is_number_read


@dataclass(frozen=True)
class Ways:
    """The paths so far; `next` is how the next run begins, None where no way is left."""

    tree: Tree | None = None
    holders: Sequence[Any] = ()  # of the arrays from outside that are inputs of the tree
    numbers: Mapping[Any, Any] = field(default_factory=dict)  # floats from outside, by their place
    next: tuple[Step, ...] | None = ()
    runs: tuple[Run, ...] = ()
    exits: set[Any] = field(default_factory=set)  # ways through turns that left their loop
    uncaught: set[Any] = field(default_factory=set)  # places where nothing catches what is raised
    numbers_are_outputs: bool = False  # those of Python that the function returns
    goes_both_ways: bool = True  # at looks, which are refused else
    explores: bool = False  # runs are on the values of a call, and take arms that it did not take

    @property
    def followed(self) -> Followed:
        """What the next run knows."""
        return Followed(self.tree, self.holders, self.numbers)

    @cached_property
    def choices(self) -> Choices | None:
        """What decides the looks of the next run."""
        return self._choices() if self.goes_both_ways else None

    def _choices(self) -> Choices:
        return Choices(self.next or (), self.exits, self.uncaught)

    def with_path(self, run: Run, end: End) -> Ways:
        """Those and the path of one more run; raises `Apart` where it departs but at a look."""
        trace = run.trace
        root = path(trace.builder.nodes, end)
        if self.choices is not None:
            root = without_decided(root, self.choices.knows)
        if self.tree is not None:
            root = united(self.tree.root, root, trace.sizes)
            take_over(run, self.runs[-1])
        return replace(self.with_tree(run, trace.tree(root)), next=way_to_unknown(root))

    def with_tree(self, run: Run, tree: Tree) -> Ways:
        """Those and one more run, which leaves this tree."""
        held = [holder for holder, _ in run.trace.captured.values()]
        numbers = dict(self.numbers)
        for holder in held:
            source = run.world.source_of(holder)
            if source is not None and (is_number_read(holder) or source.read == PACKED):
                numbers[source.place] = holder
        return replace(self, tree=tree, holders=held, numbers=numbers, runs=(*self.runs, run))

    def level(self) -> tuple[End, End] | None:
        """Has all ends write to the same arguments; two ends that differ otherwise, if any do.

        An argument that a path does not write to is as it was.
        """
        assert self.tree is not None
        ends = [*self.tree.ends]
        stores = {store.place: store for end in ends for store in end.stores}
        for end in ends:
            count = sum(isinstance(leaf, int) for leaf in end.result.leaves)
            pairs = zip(end.stores, end.stored, strict=True)
            values = {store.place: end.outputs[at] for store, at in pairs}
            inputs = {place: self.tree.inputs[store.leaf] for place, store in stores.items()}
            written = [values.get(place, x) for place, x in inputs.items()]
            end.outputs = (*end.outputs[:count], *written)
            end.stores, end.stored = tuple(stores.values()), (*range(count, len(end.outputs)),)
        first = ends[0]
        return next(((first, end) for end in ends if not self._are_alike(first, end)), None)

    def _are_alike(self, a: End, b: End) -> bool:
        assert self.tree is not None
        sizes = self.tree.sizes
        if a.result != b.result:
            return False
        for x, y in zip(a.outputs, b.outputs, strict=True):
            if (x.type.dtype, x.type.ndim) != (y.type.dtype, y.type.ndim):
                return False
            if not all(map(sizes.same, x.type.shape, y.type.shape)):
                return False
        return True

    def unroll(self, why: str, label: object) -> None:
        """No loop of these runs stays one from here on; of the one with a label, the first turn."""
        known = [run.world.loops for run in self.runs if label in run.world.loops.walk.heads]
        for loops in known or [run.world.loops for run in self.runs]:
            loops.unroll(why, label)


def take_over(run: Run, before: Run) -> None:
    """What a program assumes, and does, because of one run or the other."""
    run.world.absorb(before.world)
    trace, other = run.trace, before.trace
    trace.raises_as_math |= other.raises_as_math
    trace.looked_at = {**other.looked_at, **trace.looked_at}
    axes = [x for x in (trace.ordered, other.ordered) if x]
    trace.ordered = min(axes, default=0)
