"""Takes arms of an ``if`` that a call did not take, so that its version knows both.

A look at a value whose arms meet (`tracegrad.world.joins`) costs a trace of the whole function once
another outcome comes. So after the run of a first call the function runs again, on the same values
and for nobody, with the outcomes that are not known yet. What an arm does that nobody asked for
must not be seen, and must end: such a run stops at a loop, at a number that Python reads, and where
it has recorded much more than the call. What it does outside is taken back, as of any run that
answers no call.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from codegen.ir import Number
from tracegrad.runtime.thread_state import STATE
from tracegrad.tracing.path_tree import Limb

MOST_NODES = 200
"""An arm that was not taken may record so many nodes and twice what the call did."""


class Unexplored(BaseException):
    """A run stops, since nobody knows whether an arm that no call took ends, or what it does.

    Not an `Exception`: the function is not to catch it.
    """


class Explorer:
    """The outcomes of the looks of one run, which follows the paths before it."""

    def __init__(self, trace: Any) -> None:
        self.trace = trace
        self.most = MOST_NODES + 2 * trace.builder.limb.size
        self.differ: list[Any] = []  # looks whose arms leave other numbers: the run is made again
        trace.explorer, trace.operands = self, self.computes

    def computes(self, values: Sequence[Any], operands: Sequence[Any]) -> None:
        """An operation is recorded: an arm may never end, as a function that calls itself."""
        if len(self.trace.builder.nodes) > self.most:
            raise Unexplored

    def outcome(self, kind: str, found: Number) -> Number:
        """The outcome that a look is to have, at which the call `found` another one perhaps."""
        builder = self.trace.builder
        if kind != "bool":
            raise Unexplored
        limb = builder.limb
        if limb is None or builder.at < len(limb.nodes) or limb.joint is None:
            return found
        arms = dict(limb.arms.values())
        unknown = [x for x in (True, False) if x not in arms]
        within = [x for x, arm in arms.items() if lacks_arms(arm)]
        return next(iter([*unknown, *within]), found)

    def turn(self, frame: Any, target: int) -> int:
        """A jump backwards: where the frame goes on."""
        if STATE.trace is self.trace and self.trace.builder.limb is None:
            raise Unexplored
        return target


def lacks_arms(limb: Limb) -> bool:
    """Whether an arm of a look whose arms meet is not known, from here on."""
    return any(one.joint is not None and len(one.arms) < 2 for one in limb.limbs)
