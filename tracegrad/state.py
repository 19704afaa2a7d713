"""What each thread believes at the moment: whether gradients are recorded, and into which trace."""

from __future__ import annotations

import threading
from typing import Any


class State(threading.local):
    """One instance a thread; the class attributes are what a new thread starts with."""

    grad_enabled: bool = True
    trace: Any = None  # the tracegrad.trace.Trace in progress


STATE = State()
