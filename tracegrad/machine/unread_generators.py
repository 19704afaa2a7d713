"""Generators that nobody has but who is about to go through them."""

from __future__ import annotations

from collections.abc import Sequence
from inspect import GEN_CREATED, getgeneratorstate
from types import FunctionType, GeneratorType
from typing import Any

from tracegrad.machine.decoding import VERSION, Instruction
from tracegrad.machine.world_protocol import ABSENT

_LOADS = {
    **dict.fromkeys(("LOAD_FAST", "LOAD_CONST", "LOAD_DEREF", "LOAD_CLOSURE", "PUSH_NULL"), 1),
    **dict.fromkeys(("LOAD_FAST_CHECK", "LOAD_FAST_BORROW", "LOAD_FAST_AND_CLEAR"), 1),
    **dict.fromkeys(("LOAD_FAST_LOAD_FAST", "LOAD_FAST_BORROW_LOAD_FAST_BORROW"), 2),
    **dict.fromkeys(("KW_NAMES", "PRECALL", "NOP"), 0),
}
"""How many objects instructions put onto the stack that take none."""

_SLOT_READS = frozenset({"LOAD_FAST", "LOAD_FAST_CHECK", "LOAD_FAST_BORROW"})
HERE, HANDED = 1, 2
"""How a frame has a generator that it was given: on the stack, or in a variable."""
LOOP = "loop"
"""Who goes through what a call gives, where that is a ``for``."""


def frame_of(m: Any, x: Any, drives: Any) -> Any:
    """The frame of a generator of this machine that nothing has gone through; or None."""
    if type(x) is not GeneratorType or x.gi_code is not drives.__code__:
        return None
    if x.gi_frame is None or getgeneratorstate(x) != GEN_CREATED:
        return None
    given = x.gi_frame.f_locals
    return given["f"] if given["m"] is m else None


def taker(instructions: Sequence[Instruction], call: int) -> tuple[int, int] | None:
    """Where what a call gives is taken at once: a loop, or a call, with what lies above it then.

    In between it is on the stack alone, so that nobody else has it.
    """
    above = 0
    for i in range(call + 1, len(instructions)):
        name, arg, _ = instructions[i]
        if name in ("FOR_ITER", "BEGIN_GENERATOR"):
            return None if above else (i, 0)
        if name == "CALL" and above <= arg + 1:
            return (i, above) if above <= arg else None  # a comprehension has no other argument
        if name in _LOADS:
            above += _LOADS[name]
        elif name == "CALL":
            above -= arg + 1
        elif name == "LOAD_GLOBAL":
            above += 1 + (arg & 1)
        elif name == "LOAD_METHOD" and above:
            above += 1
        elif name == "LOAD_ATTR" and above:
            above += arg & 1 if VERSION >= (3, 12) else 0
        elif name in ("BUILD_LIST", "BUILD_MAP", "BUILD_SET") and not arg:
            above += 1
        elif name == "SWAP" and above == arg - 1:
            above = 0
        elif name != "GET_ITER" or above:
            return None
    return None


def taking(f: Any) -> Any:
    """Who takes what the call gives that a frame stands at: `LOOP`, a function, or None."""
    instructions = f.program.instructions
    taken = taker(instructions, f.index) if instructions[f.index].name == "CALL" else None
    if taken is None:
        return None
    name, arg, _ = instructions[taken[0]]
    if name != "CALL":
        return LOOP
    s, before = f.stack, arg - 1 - taken[1]
    if before < 0:
        return LOOP if s and type(s[-1]) is FunctionType else None
    if len(s) < before + 2:
        return None
    called = s[-2 - before :][:2]
    if VERSION >= (3, 13):
        called.reverse()
    return called[1] if called[0] is ABSENT else None


def is_alone(f: Any, x: Any, g: Any) -> bool:
    """Whether a loop that begins in a frame has alone the generator that it goes through.

    ``g`` is the generator's frame, which knows by which instruction it was made.
    """
    instructions, (number, place) = f.program.instructions, g.made
    if g.owner[0] == f.number:
        return g.owner[1] == HERE or _is_read_once(f, x)
    if number == f.number:
        taken = taker(instructions, place)
        return taken is not None and _is_beginning(instructions, taken[0], f.index)
    caller = f.back
    if caller is None or number != caller.number or f.inside != caller.inside:
        return False
    taken = taker(caller.program.instructions, place)
    return taken is not None and taken[0] == caller.index and _is_read_once(f, x)


def _is_beginning(instructions: Sequence[Instruction], i: int, index: int) -> bool:
    """Whether a loop begins at an instruction of which another one is a part."""
    while i != index and instructions[i].name == "BEGIN_GENERATOR":
        i = instructions[i].arg
    return i == index


def _is_read_once(f: Any, x: Any) -> bool:
    """Whether a loop goes through what a variable has, which nothing else reads."""
    instructions = f.program.instructions
    for i, (name, slot, _) in enumerate(instructions):
        if name in _SLOT_READS and f.fast[slot] is x and not f.program.cells[slot]:
            following = i + 2 if instructions[i + 1].name == "GET_ITER" else i + 1
            if _is_beginning(instructions, following, f.index):
                parts = [part for other in instructions for part in other.parts]
                return sum("FAST" in name and at == slot for name, at in parts) == 1
    return False


def is_handed(f: Any, g: Any) -> bool:
    """Whether a generator is what a frame calls something with, and nobody else's."""
    if g.made[0] != f.number:
        return False
    taken = taker(f.program.instructions, g.made[1])
    return taken is not None and taken[0] == f.index


def hands_on(f: Any, g: Any, place: int, number: int, how: int) -> None:
    """What an instruction of a frame is called with is another frame's, if it was this one's alone.

    ``g`` is the frame of a generator, or None.
    """
    if g is None or g.made[0] != f.number:
        return
    taken = taker(f.program.instructions, g.made[1])
    if taken is not None and taken[0] == place:
        g.owner = number, how
