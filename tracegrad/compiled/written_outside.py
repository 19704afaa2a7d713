"""What the calls of a version write to outside: arrays and containers, by the places of these.

A program takes the arguments apart. If a call wrote outside to what is among them as well, its
arguments would not show that; so calls ask whether what they write to is apart from these.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from tracegrad.arguments.signature import Arguments
from tracegrad.compiled.captured import Captured
from tracegrad.compiled.joint_graph import Returned
from tracegrad.values.pytree import Path, TreeSpec
from tracegrad.world import Guard
from tracegrad.world.effects import changed_containers
from tracegrad.world.stores import overwritten


def written_arrays(
    results: Iterable[Returned], captured: Sequence[Captured]
) -> tuple[tuple[Guard, tuple[int, ...]], ...]:
    """Where arrays stand that calls write into, each with the others among the captured."""
    guards = overwritten(store for returned in results for store in returned.stores)
    return tuple(
        (guard, tuple([i for i, each in enumerate(captured) if not each.stands_at(guard)]))
        for guard in guards
    )


def written_containers(
    results: Iterable[Returned], arguments: Arguments
) -> tuple[Callable[[], Any], ...]:
    """What finds the containers that calls change, of the types of those among the arguments."""
    kinds = {spec.type for whole in arguments.specs for _, spec in within(whole)}
    if not kinds:
        return ()
    found = [pair for r in results for pair in changed_containers(r.stores, r.effects)]
    return tuple([find for kind, find in found if kind in kinds])


def within(spec: TreeSpec, path: Path = ()) -> Iterator[tuple[Path, TreeSpec]]:
    """The containers of a structure that can change, each with the steps to it."""
    if spec.type is None:
        return
    if not issubclass(spec.type, tuple | type(None)):
        yield path, spec
    for step, child in zip(spec.steps, spec.children, strict=False):
        yield from within(child, (*path, step))


def are_apart(finders: Iterable[Callable[[], Any]], containers: Iterable[Any]) -> bool:
    """Whether none of the containers is one that calls change, at this moment."""
    return {id(find()) for find in finders}.isdisjoint(map(id, containers))
