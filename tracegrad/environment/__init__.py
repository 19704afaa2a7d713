"""A function and its static arguments enter; the Python state that it can read leaves as guards."""

from tracegrad.environment.facts import IMMUTABLE, MISSING, Guard, same
from tracegrad.environment.outside import random_state
from tracegrad.environment.snapshot import Environment
from tracegrad.environment.stores import Store

__all__ = ["IMMUTABLE", "MISSING", "Environment", "Guard", "Store", "random_state", "same"]
