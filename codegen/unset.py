"""Tells the values that stand where a path has none."""

from __future__ import annotations

from collections.abc import Iterable

from codegen.ir import Call, Graph, Trait, Value


def is_unset(graph: Graph, value: Value) -> bool:
    """Whether a value is what stands where a path has none."""
    made = graph.producer.get(value)
    return isinstance(made, Call) and Trait.UNSET in made.op.traits


def handed_on(graph: Graph, values: Iterable[Value]) -> set[Value]:
    """The parameters that values come to be, also by way of other parameters."""
    goals: dict[Value, list[Value]] = {}
    for parameter, given in graph.given.items():
        for value in given:
            goals.setdefault(value, []).append(parameter)
    found: set[Value] = set()
    waiting = [*values]
    while waiting:
        new = [goal for goal in goals.get(waiting.pop(), ()) if goal not in found]
        found.update(new)
        waiting += new
    return found
