"""Recursion while machines run: how deep the user's functions are, and Python's limit meanwhile."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

# Native frames that an interpreted call takes, with those of the world. Not many more: C code that
# calls itself is stopped by the same limit, before its stack is full.
FRAMES = 8
_MOST = (1 << 31) - 1
_lock = threading.RLock()  # what a collection of garbage ends may run wherever memory is taken
_running = 0
_limit = 0  # the user's
_raised = False
_steady = False


class _Running(threading.local):
    machines: tuple[Any, ...] = ()  # that run on a thread, the innermost last


_thread = _Running()


def enter(machine: Any) -> tuple[int, int]:
    """A machine begins to run: the user's limit, and how deep the user's functions are already."""
    global _running, _limit, _raised
    outer = _thread.machines
    _thread.machines = (*outer, machine)
    with _lock:
        if not _running:
            _limit = sys.getrecursionlimit()
            if not _steady:
                _raised = True
                sys.setrecursionlimit(min(_limit * FRAMES + 200, _MOST))
        _running += 1
    return _limit, outer[-1].depth if outer else _native_depth()


def leave() -> None:
    """It has run: the last of all machines gives the user's limit back."""
    global _running, _raised
    _thread.machines = _thread.machines[:-1]
    with _lock:
        _running -= 1
        if not _running and _raised:
            _raised = False
            sys.setrecursionlimit(_limit)


@contextmanager
def steady() -> Iterator[None]:
    """The limit stays what it is: `ast.parse` fails where it changes meanwhile.

    Other threads wait. A machine that begins to run on this one, as for the end of a generator that
    is collected meanwhile, has the user's limit.
    """
    global _steady
    with _lock:
        before, _steady = _steady, True
        try:
            yield
        finally:
            _steady = before


def set_limit(limit: int) -> None:
    """The user sets the limit while machines run."""
    global _limit, _raised
    with _lock:
        _limit, _raised = limit, True
        sys.setrecursionlimit(min(max(limit, 1000) * FRAMES + 200, _MOST))


def _native_depth() -> int:
    """How deep the native stack is."""
    depth, frame = 0, sys._getframe(2)
    while frame is not None:
        depth += 1
        frame = frame.f_back  # type: ignore[assignment]
    return depth
