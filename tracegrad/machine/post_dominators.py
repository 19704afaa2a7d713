"""Finds where the ways on from a look meet again: its post-dominator, but for returns.

That is the one instruction at which the two ways on meet, as far as they do not return before. A
look of which a way on goes round a loop has none here.
"""

from __future__ import annotations

from functools import lru_cache
from types import CodeType
from typing import NamedTuple

from tracegrad.machine.decoding import Instruction, decode, slot_names
from tracegrad.machine.liveness import following, live

_STORES = frozenset({"STORE_FAST", "DELETE_FAST"})


class Meeting(NamedTuple):
    """Where the ways on from a look meet, and the variables that they change and others read."""

    target: int
    slots: tuple[int, ...]


@lru_cache(maxsize=256)
def meetings(code: CodeType) -> dict[int, Meeting]:
    """By the instruction that looks, where the ways on from it meet, if they do."""
    instructions, handlers = decode(code)
    after = [following(instructions, handlers, i) for i in range(len(instructions))]
    found = {}
    for i, instruction in enumerate(instructions):
        if instruction.name.startswith("POP_JUMP"):
            meeting = _meeting(code, instructions, after, i)
            if meeting is not None:
                found[i] = meeting
    return found


def _meeting(
    code: CodeType, instructions: list[Instruction], after: list[list[int]], look: int
) -> Meeting | None:
    starts = after[look][:2]  # not where an exception goes
    for target in sorted(set.intersection(*(_reached(after, start) for start in starts))):
        one, other = (_reached(after, start, target) - {target} for start in starts)
        if one.isdisjoint(other):
            return _of_region(code, instructions, one | other, target)
    return None


def _of_region(
    code: CodeType, instructions: list[Instruction], region: set[int], target: int
) -> Meeting | None:
    slots = set()
    for i in region:
        name, arg, _ = instructions[i]
        if name == "FOR_ITER" or ("BACKWARD" in name and arg != target):
            return None
        if "FAST" in name and name in _STORES:
            slots.add(arg)
        elif "FAST" in name and not name.startswith("LOAD_FAST"):
            slots.update(range(len(slot_names(code))))
    return Meeting(target, tuple(sorted(slots & live(code)[target])))


def _reached(after: list[list[int]], start: int, end: int = -1) -> set[int]:
    """The instructions that ways from one come to, up to an end."""
    found, waiting = {start}, [start]
    while waiting:
        i = waiting.pop()
        if i == end:
            continue
        new = [j for j in after[i] if j not in found]
        found.update(new)
        waiting += new
    return found
