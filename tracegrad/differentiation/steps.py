"""The steps of a recorded program, as the walker goes through them."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import Any

from codegen.ir import Value
from codegen.types import LIST, is_inexact

Key = Hashable


class Step:
    """One op of a recorded program; keys name its operands and results."""

    __slots__ = ("attributes", "op", "operands", "results")

    def __init__(
        self,
        op: Any,
        attributes: Mapping[str, Any],
        operands: tuple[Key, ...],
        results: tuple[Key, ...],
    ) -> None:
        self.op = op
        self.attributes = attributes
        self.operands = operands
        self.results = results


class Folded(Step):
    """A step that stands for others, which are made when the walk gets to it.

    `unfold` gives them, oldest first, and what names the results of this step among them: None for
    one that depends on nothing. They are gone through as if they had stood here from the first.
    """

    __slots__ = ("unfold",)

    unfold: Callable[[Step], tuple[Sequence[Step], Sequence[Key]]]


class End(Step):
    """Where steps begin that have been unfolded: nobody asks for their results any more."""

    __slots__ = ()


def forget(keys: Iterable[Key], *kept: set[Key] | dict[Key, Any]) -> None:
    """Lets go of keys and of what is known by them."""
    for key in keys:
        for known in kept:
            if isinstance(known, dict):
                known.pop(key, None)
            else:
                known.discard(key)


def flowing_in(steps: Sequence[Step], active: set[Key]) -> list[Step]:
    """The steps on differentiable paths from `active` keys; the keys that these lead to are too."""
    flowing = []
    for step in steps:
        if step.op.differentiable and not active.isdisjoint(step.operands):
            active.update(filter(moves, step.results))
            flowing.append(step)
    return flowing


def moves(key: Key) -> bool:
    """Whether a value can have a tangent: no integer can, a list of others can.

    So a gradient ends where a float is written into an array of integers. Keys of an eager tape
    stand for floats alone.
    """
    return not isinstance(key, Value) or key.type == LIST or is_inexact(key.type.dtype)
