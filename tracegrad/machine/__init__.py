"""An interpreter of CPython's bytecode in Python, on real values, that asks a world."""

from tracegrad.machine.frames import Frame, Machine
from tracegrad.machine.programs import Refused, refusal, watched
from tracegrad.machine.world import ABSENT, World

__all__ = ["ABSENT", "Frame", "Machine", "Refused", "World", "refusal", "watched"]
