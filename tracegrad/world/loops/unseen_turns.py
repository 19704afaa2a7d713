"""Watches a run that continues known paths for loops that these paths left too early.

Where the first call leaves a loop in its first turn, its path has no loop. A later call may go
through a thousand turns behind that path: the run is made again, not as a continuation, and the
loop may be closed in it. Of a loop that is not closed then, that is known (`Known.unclosed`).
"""

from __future__ import annotations

from collections import Counter
from typing import Any

from tracegrad.runtime.concurrency import is_only_thread
from tracegrad.runtime.thread_state import STATE
from tracegrad.world.loops.loop_heads import MOST_TRIED, SUSPENDED, known_of
from tracegrad.world.loops.widened_states import Learned


class FromAnew(Learned):
    """A run is made again by itself, and follows no path that is known.

    It went through turns of a loop of which no path knows, or its arms differ in numbers.
    """

    def __init__(self, *loop: Any) -> None:
        super().__init__()
        self.loop = loop  # by code and instruction, if there is one


class UnseenTurns:
    """The turns that such a run makes on its own."""

    def __init__(self, world: Any, trace: Any, target: str) -> None:
        self.world = world
        self.trace = trace
        self.unclosed = known_of(trace.code, target, trace.kinds).unclosed
        self.counted = Counter[tuple[int, int]]()

    def turn(self, frame: Any, target: int) -> int:
        """A jump backwards: where the frame goes on."""
        if STATE.trace is self.trace and self.trace.builder.limb is None:
            code = frame.code
            tried = code.co_flags & SUSPENDED or target in self.unclosed.get(code, ())
            self.counted[id(frame), target] += not tried
            many = self.counted[id(frame), target] > MOST_TRIED
            if many and not self.world.effects and is_only_thread():
                raise FromAnew(code, target)
        return target


def learn(told: FromAnew, loops: Any) -> None:
    """The run was made again: a loop that was not closed in it is not tried any more."""
    if not told.loop:
        return
    code, target = told.loop
    if all((head.frame.code, head.target) != told.loop for head in loops.closed):
        loops.unclosed.setdefault(code, set()).add(target)
