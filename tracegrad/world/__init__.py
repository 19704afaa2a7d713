"""What a run of a function reads and changes of the Python around it: guards, stores, effects."""

from tracegrad.world import calls, changing, gate  # they enter the rules
from tracegrad.world.effects import Effect
from tracegrad.world.facts import IMMUTABLE, MISSING, Guard, same
from tracegrad.world.stores import Store
from tracegrad.world.world import World

__all__ = [
    "IMMUTABLE",
    "MISSING",
    "Effect",
    "Guard",
    "Store",
    "World",
    "calls",
    "changing",
    "gate",
    "same",
]
