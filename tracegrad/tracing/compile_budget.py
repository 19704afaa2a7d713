"""The time that a function may spend on compiling, measured against its calls without a program.

To compile is to pay in advance for calls that may never come. So a function may spend on it what
its calls without a program have cost so far, and a second: whatever is called, that takes at most
twice as long as eager calls alone would, and that second. (What is begun is finished.)
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

GRACE = 1.0
"""Seconds of compiling that need not be earned: enough for all versions of ordinary functions."""

DENIED = 32
"""Calls that are not compiled for what that costs, before it is said that most are not."""

SLOW = 2.0
"""A call that compiles for longer than so many seconds says so."""

clock = time.thread_time
"""Processor time of the thread: what else a machine does is no cost of a function."""


class Budget:
    """The account of one function."""

    def __init__(self) -> None:
        self.spent = 0.0  # on tracing and compiling, beside what eager calls would have cost
        self.eager = 0.0  # by calls without a program
        self.told = False  # that a call took long
        self.denied = 0  # calls that were not compiled since that would have cost too much
        self.owed = 0.0  # that calls must have cost before: so much others spent in vain
        self.used = False  # a program has answered several calls
        self._lock = threading.Lock()  # one thread compiles at a time, but many run eagerly

    @property
    def lacking(self) -> float:
        """Seconds that calls without a program must still cost before more is compiled."""
        if self.owed > self.eager:
            return self.owed - self.eager
        return max(0.0, self.spent - self.eager - GRACE)

    def affords(self, seconds: float) -> bool:
        """Whether so many seconds may be spent."""
        return self.spent + seconds <= self.eager + GRACE

    @property
    def in_vain(self) -> bool:
        """Whether calls were made, and hardly any by a program."""
        return not self.used and self.spent + self.eager > 0.0

    def tells(self, took: float) -> bool:
        """Whether it is to be said that compiling a call took so long: the first time."""
        told, self.told = self.told, self.told or took > SLOW
        return took > SLOW and not told

    def denies(self, hits: int) -> bool:
        """Of a call without a program: whether it is to be said that most are, for the cost.

        `hits` are the calls that programs have answered.
        """
        if self.spent - self.eager <= GRACE:
            return False
        self.denied += 1
        return self.denied == DENIED and hits < self.denied

    @contextmanager
    def compiling(self, target: str = "numpy") -> Iterator[None]:
        """Around a trace, or the making of a version; importing JAX is no part of what it costs."""
        if target == "jax":
            import tracegrad.backends.jax  # noqa: F401
        began = clock()
        try:
            yield
        finally:
            self.spent += clock() - began

    @contextmanager
    def running(self) -> Iterator[None]:
        """Around a call without a program."""
        began = clock()
        try:
            yield
        finally:
            with self._lock:
                self.eager += clock() - began
