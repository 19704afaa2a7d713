"""Finds where the ways on from a look meet again: its post-dominator, but for returns.

That is the one instruction at which the ways on meet, as far as they do not return before. Where
all of them return by themselves they meet where the function was called (`RETURN`). A look of which
a way on goes round a loop, or into a handler of exceptions, has none here.
"""

from __future__ import annotations

from bisect import bisect
from collections import Counter
from collections.abc import Callable
from functools import lru_cache
from types import CodeType
from typing import NamedTuple

from tracegrad.machine.decoding import Handler, Instruction, decode, slot_names
from tracegrad.machine.liveness import following, live

RETURN = -1
"""Ways on meet where the function returns to."""

MOST_TRIED = 16  # places where the ways on from a look may meet

_STORES = frozenset({"STORE_FAST", "DELETE_FAST"})
_RETURNS = frozenset({"RETURN_VALUE", "RETURN_CONST"})
_OF_CELLS = frozenset({"STORE_DEREF", "DELETE_DEREF"})


class Meeting(NamedTuple):
    """Where the ways on from a look meet, and the variables that they change and others read.

    Those in `computed` get more than constants.
    """

    target: int
    slots: tuple[int, ...]
    computed: frozenset[int]


@lru_cache(maxsize=256)
def meetings(code: CodeType) -> dict[int, Meeting]:
    """By the jump that looks, where the ways on from it meet, if they do."""
    instructions, handlers = decode(code)
    unhandled: list[Handler | None] = [None] * len(instructions)
    after = [following(instructions, unhandled, i) for i in range(len(instructions))]
    leading = Counter(j for ways in after for j in ways)
    heads = sorted(i for i, number in leading.items() if number > 1)
    back = {i: x.arg for i, x in enumerate(instructions) if "BACKWARD" in x.name}
    back |= {i: RETURN for i, x in enumerate(instructions) if x.name == "FOR_ITER"}
    leads, ending = _leads(after), sum(1 << i for i in returns(code))
    found = {}
    for i, instruction in enumerate(instructions):
        if instruction.name.startswith("POP_JUMP") and all(leads[j] & ending for j in after[i]):
            target, region = _target(after, heads, leads, back, i)
            meeting = _of_region(code, instructions, handlers, back, region, target)
            if meeting is not None:
                found[i] = meeting
    return found


def returns(code: CodeType) -> tuple[int, ...]:
    """The instructions that return."""
    instructions, _ = decode(code)
    return tuple([i for i, instruction in enumerate(instructions) if instruction.name in _RETURNS])


def _target(
    after: list[list[int]], heads: list[int], leads: list[int], back: dict[int, int], look: int
) -> tuple[int, set[int]]:
    """Where the ways on from a look meet, and the instructions between.

    It is the first such place that no way on passes by; where ways return before, the one that the
    fewest instructions of theirs pass by. `heads` are the instructions to which several lead,
    `leads` has what each leads to, as bits, and `back` where those of loops lead.
    """
    starts = after[look]
    common = ~0
    for start in starts:
        common &= leads[start]
    at = bisect(heads, look)
    places = [*sorted({*heads[at:], *starts}), *heads[:at]]  # the last are the heads of loops
    targets = [i for i in places if common >> i & 1]

    def goes_past(target: int, i: int) -> bool:
        past = common >> i & 1 and not leads[i] >> target & 1
        return bool(past) or back.get(i, target) != target

    for target in targets:
        region = _before(after, starts, target, goes_past)
        if region is not None:
            return target, region
    regions = {t: set(_before(after, starts, t) or ()) for t in targets[:MOST_TRIED]}
    if not regions:
        return RETURN, set(_before(after, starts, RETURN) or ())
    past = {t: sum(goes_past(t, i) for i in region) for t, region in regions.items()}
    target = min(regions, key=past.__getitem__)
    return target, regions[target]


def _before(
    after: list[list[int]],
    starts: list[int],
    target: int,
    goes_past: Callable[[int, int], bool] = lambda target, i: False,
) -> set[int] | None:
    """The instructions on ways to a target; None where one of them goes past it."""
    found, waiting = {*starts}, [*starts]
    while waiting:
        i = waiting.pop()
        if i == target:
            continue
        if goes_past(target, i):
            return None
        new = [j for j in after[i] if j not in found]
        found.update(new)
        waiting += new
    return found - {target}


def _leads(after: list[list[int]]) -> list[int]:
    """What each instruction leads to, itself included, as bits."""
    found, changed = [1 << i for i in range(len(after))], True
    while changed:
        changed = False
        for i in reversed(range(len(after))):
            now = found[i]
            for j in after[i]:
                now |= found[j]
            changed |= now != found[i]
            found[i] = now
    return found


def _of_region(
    code: CodeType,
    instructions: list[Instruction],
    handlers: list[Handler | None],
    back: dict[int, int],
    region: set[int],
    target: int,
) -> Meeting | None:
    slots, computed = set[int](), set[int]()
    for i in region:
        name = instructions[i].name
        if handlers[i] is not None or name in _OF_CELLS:
            return None
        if back.get(i, target) != target or name == "FOR_ITER":
            return None
        before = instructions[i - 1].parts[-1][0] if i else ""
        for part, slot in instructions[i].parts:
            if part in _STORES:
                slots.add(slot)
                computed.update({slot} if before != "LOAD_CONST" else ())
            elif "FAST" in part and not part.startswith("LOAD_FAST"):
                slots.update(range(len(slot_names(code))))
            before = part
    read = live(code)[target] if target != RETURN else frozenset[int]()
    return Meeting(target, tuple(sorted(slots & read)), frozenset(computed))
