"""The machine without the rest of tracegrad, for interpreters that have no NumPy."""

import sys
import types
from pathlib import Path

ROOT = Path(__file__).parents[2]


def alone() -> None:
    """Makes `tracegrad.machine` importable where the package itself is not."""
    package = types.ModuleType("tracegrad")
    package.__path__ = [str(ROOT / "tracegrad")]
    sys.modules["tracegrad"] = package
