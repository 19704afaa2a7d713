"""Finds the local variables that are still read after each instruction.

A slot is live at an instruction where some way on from it reads the slot before it is written. Ways
on through exception handlers count, and slots with cells are always live.
"""

from __future__ import annotations

from functools import lru_cache
from types import CodeType

from tracegrad.machine.decoding import Handler, Instruction, decode, is_jump, slot_names

_NOTHING_FOLLOWS = frozenset({"RETURN_VALUE", "RETURN_CONST", "RERAISE", "RAISE_VARARGS"})
_READS = frozenset(
    {
        *("LOAD_FAST", "LOAD_FAST_CHECK", "LOAD_FAST_BORROW"),
        *("LOAD_FAST_AND_CLEAR", "DELETE_FAST"),
    }
)
_TESTS = frozenset(
    f"POP_JUMP_{way}IF_{outcome}"
    for way in ("", "FORWARD_", "BACKWARD_")
    for outcome in ("TRUE", "FALSE")
)
_WRITES = frozenset({"STORE_FAST", "DELETE_FAST", "LOAD_FAST_AND_CLEAR"})


@lru_cache(maxsize=256)
def live(code: CodeType) -> tuple[frozenset[int], ...]:
    """For each instruction the slots that are live before it."""
    instructions, handlers = decode(code)
    every = frozenset(range(len(slot_names(code))))
    cells = frozenset(i for i in every if slot_names(code)[i] not in code.co_varnames)
    cells |= frozenset(i for i, name in enumerate(code.co_varnames) if name in code.co_cellvars)
    before: list[frozenset[int]] = [cells] * len(instructions)
    changed = True
    while changed:
        changed = False
        for i in reversed(range(len(instructions))):
            after = cells.union(*(before[j] for j in following(instructions, handlers, i)))
            now = _before(instructions[i], after, every)
            if now != before[i]:
                before[i], changed = now, True
    return tuple(before)


@lru_cache(maxsize=256)
def only_tested(code: CodeType) -> frozenset[int]:
    """The local variables of which it is only asked whether they are true (``if done:``)."""
    instructions, _ = decode(code)
    found = {i for i, name in enumerate(slot_names(code)) if name in code.co_varnames}
    found -= {i for i, name in enumerate(code.co_varnames) if name in code.co_cellvars}
    for i, instruction in enumerate(instructions):
        after = [x.name for x in instructions[i + 1 : i + 3] if x.name != "TO_BOOL"]
        if instruction.name not in _READS or not after or after[0] not in _TESTS:
            found -= _slots_of(instruction)
    return frozenset(found)


def _slots_of(instruction: Instruction) -> frozenset[int]:
    """The slots that an instruction may read."""
    name, arg, _ = instruction
    if name in _READS:
        return frozenset({arg})
    if "FAST" not in name or name in _WRITES or name == "STORE_FAST_STORE_FAST":
        return frozenset()
    return frozenset({arg, arg >> 4, arg & 15})  # one that moves several


def following(instructions: list[Instruction], handlers: list[Handler | None], i: int) -> list[int]:
    """The instructions that may come after one."""
    name, arg, _ = instructions[i]
    found = [] if name in _NOTHING_FOLLOWS else [i + 1]
    if is_jump(name):
        unconditional = name in ("JUMP_FORWARD", "JUMP_BACKWARD", "JUMP_BACKWARD_NO_INTERRUPT")
        found = [arg] if unconditional else [i + 1, arg]
    handler = handlers[i]
    if handler is not None:
        found.append(handler.target)
    return [j for j in found if j < len(instructions)]


def _before(
    instruction: Instruction, after: frozenset[int], every: frozenset[int]
) -> frozenset[int]:
    for name, slot in reversed(instruction.parts):
        if "FAST" not in name:
            continue
        if name not in _READS and name not in _WRITES:  # who knows: all may be read
            return every
        if name in _WRITES:
            after = after - {slot}
        if name in _READS:
            after = after | {slot}
    return after
