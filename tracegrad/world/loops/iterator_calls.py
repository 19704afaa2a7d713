"""What ``iter(x)`` and ``next(rows)`` do in a run whose loops are watched."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tracegrad.world.world import CALL, RULES


def next_of(world: Any, operation: Any, operands: Sequence[Any], keywords: Any) -> Any:
    return world.loops.advance(*operands)


def iter_of(world: Any, operation: Any, operands: tuple[Any, ...], keywords: Any) -> Any:
    rows = world.loops.iterate(operands[0]) if len(operands) == 1 else None
    if rows is not None:
        return rows
    result = RULES.get(id(iter), RULES[CALL])(world, operation, operands, keywords)
    if result is not operands[0]:
        world.loops.makes(result)
        world.loops.lengths.goes_through(result, operands[0])
        world.loops.counted.goes_through(result, operands[0])
    return result
