"""Raises what tracegrad refuses, also where the function that runs has caught it.

Plain Python writes to an argument and goes on; where that is differentiated, it is refused. A
function with ``try: ... except Exception:`` around such a line would take its other way, and what
comes back would be the value and the gradient of that. So a refusal that a handler catches, in
whichever way, is raised once more when the function has ended. Handlers that name a class of
`tracegrad.errors` are meant for it: they catch it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tracegrad.errors import TracegradError
from tracegrad.runtime.thread_state import STATE


def raise_caught(call: Callable[..., Any], *args: Any) -> Any:
    """What the function returns; raises the first refusal that it has caught."""
    caught: list[TracegradError] = []
    outer, STATE.refusals = STATE.refusals, caught
    try:
        returned = call(*args)
    except Exception:
        if not caught:
            raise
    finally:
        STATE.refusals = outer
    if caught:
        raise caught.pop(0)
    return returned


def is_refusal(error: BaseException) -> bool:
    """Whether NumPy would go on where this is raised."""
    return _refusal(error) is not None


def note_handler(error: BaseException) -> None:
    """An exception goes to a handler of the function's, which may end its way."""
    refusal = _refusal(error)
    if refusal is not None and STATE.refusals is not None and refusal not in STATE.refusals:
        STATE.refusals.append(refusal)


def note_match(error: BaseException, kinds: Sequence[type]) -> None:
    """An ``except kinds`` of the function's catches an exception."""
    refusal = _refusal(error)
    if refusal is None or not STATE.refusals or refusal not in STATE.refusals:
        return
    if any(issubclass(kind, TracegradError) for kind in kinds):
        STATE.refusals.remove(refusal)


def _refusal(error: BaseException) -> TracegradError | None:
    """The refusal that an exception is, or around which NumPy has put one of its own."""
    for known in (error, error.__cause__):
        if isinstance(known, TracegradError) and known.refuses:
            return known
    return None
