"""What a Tensor is in the trace that runs: a value of the program, an input, or nothing.

A Tensor that was there before the run is none of the trace's own, and stays the very object that
it is. But it is an input of the program, as an array from outside is, from the first time on that
somebody asks for its shape, its dtype or its numbers.
"""

from __future__ import annotations

from typing import Any

from tracegrad.runtime.thread_state import STATE


def in_trace(x: Any) -> tuple[Any, Any] | None:
    """The trace that runs and the value there of a Tensor; None where it has none.

    One from outside is an input from here on.
    """
    trace, traced = STATE.trace, x._traced
    if trace is None:
        return None
    if traced is not None and traced[0] is trace:
        return traced  # type: ignore[no-any-return]
    return None if trace.world is None else trace.world.entered(x)


def read_whole(x: Any) -> None:
    """Code that nobody follows gets all that a Tensor from outside holds: calls compare that."""
    trace = STATE.trace
    if trace is not None and trace.world is not None and not x._is_traced:
        trace.world.reads_whole(x)
