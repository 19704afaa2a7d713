"""Tells the values that stand where a path has none."""

from __future__ import annotations

from codegen.ir import Call, Graph, Trait, Value


def is_unset(graph: Graph, value: Value) -> bool:
    """Whether a value is what stands where a path has none."""
    made = graph.producer.get(value)
    return isinstance(made, Call) and Trait.UNSET in made.op.traits
