"""Pauses the garbage collector while work makes many objects and keeps them.

Python looks for cycles after every so many new objects, and looks through all that it knows each
time these have grown by a quarter. While a program is made nothing is garbage: with 4,000
operations a third of the time went into looking.
"""

from __future__ import annotations

import gc
import threading
from collections.abc import Iterator
from contextlib import contextmanager

_lock = threading.Lock()
_inside = 0
_enabled = False


@contextmanager
def collected_later() -> Iterator[None]:
    """No collection starts inside; several threads may be inside at once."""
    global _inside, _enabled
    with _lock:
        if not _inside:
            _enabled = gc.isenabled()
            gc.disable()
        _inside += 1
    try:
        yield
    finally:
        with _lock:
            _inside -= 1
            if not _inside and _enabled:
                gc.enable()
