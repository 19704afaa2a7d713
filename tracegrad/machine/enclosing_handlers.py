"""Tells whether a ``try`` stands around what a machine executes."""

from __future__ import annotations

from typing import Any

from tracegrad.machine.translation import Program


def tries(machine: Any) -> bool:
    """Whether a frame that runs is within a ``try``; ``with`` alone is none."""
    frame = machine.frame
    while frame is not None:
        if _is_within_try(frame.program, frame.index):
            return True
        frame = frame.back
    return False


def _is_within_try(program: Program, index: int) -> bool:
    handler = program.handlers[index]
    while handler is not None:
        first, second = program.instructions[handler.target : handler.target + 2]
        if first.name == "PUSH_EXC_INFO" and second.name != "WITH_EXCEPT_START":
            return True
        handler = program.handlers[handler.target]
    return False
