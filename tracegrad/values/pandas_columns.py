"""Reads the numbers of a pandas column where an array is meant."""

from __future__ import annotations

from typing import Any

import numpy as np

from tracegrad.runtime.thread_state import STATE


def numbers_of(x: Any) -> Any:
    """A column, or a table, as an array; anything else as it is.

    Nobody tells when a table changes, so a trace in which one is read is no program.
    """
    package = (type(x).__module__ or "").partition(".")[0]
    if package != "pandas" or not hasattr(x, "__array__"):
        return x
    if STATE.trace is not None:
        STATE.trace.read(f"the numbers of a {type(x).__name__}")
    return np.asarray(x)
