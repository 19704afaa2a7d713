"""What ends a run before the function does: it is taken back, and made in another way.

They are no `Exception`s, so that the function does not catch them.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from enum import Enum
from typing import Any, TypeAlias

from tracegrad.errors import TraceError
from tracegrad.runtime.thread_state import STATE


class Purpose(Enum):
    """What a run is for."""

    ANSWER = "its call is answered by it, or by what is made of it"
    ARRAYS = "likewise a call on arrays; but where its results have a history, another run is made"
    LOOK = "it answers no call, and leaves nothing as it did it"

    @staticmethod
    def of(counts: bool) -> Purpose:
        """That of a run for a call, or for a look at what is called."""
        return Purpose.ANSWER if counts else Purpose.LOOK

    @property
    def answers(self) -> bool:
        """Whether what the run did is done."""
        return self in (Purpose.ANSWER, Purpose.ARRAYS)


class MetTracer(BaseException):
    """A run on real values met a tracer of JAX outside: a run on samples has to follow it.

    Not an `Exception`: the function is not to catch it.
    """


class Unprogrammed(BaseException):
    """No program can do what the function `does`, at this place: it runs eagerly.

    No handler of the user's is to catch it; where one has, it is raised again at the end of the
    run.
    """

    def __init__(self, does: str, place: str) -> None:
        super().__init__(f"{does}: {place}" if place else does)


class Unreplayed(Unprogrammed):
    """The function is about to read or change what no program does: its call is answered eagerly.

    Nothing of that is done yet, and all else that a run has done can be taken back.
    """

    def __init__(self, effect: str, counts: bool) -> None:
        super().__init__(f"reads or changes {effect}", "")
        self.effect = effect
        self.counts = counts  # against the function: the next run would do it as well


class Aliased(Unprogrammed):
    """C code, or a holder that is not known, has an array that is written to: who sees the write?

    No trace knows. The run is taken back and the function runs eagerly, on memory that is shared.
    """

    def __init__(self, place: str) -> None:
        super().__init__("has C code keep the memory of an array, to which it writes", place)


class HeldElsewhere(Unprogrammed):
    """A recorded value is written to an array that something besides the function's variables has.

    Outside of a trace, operations see a Tensor in its place (`outside_writes.py`).
    """

    def __init__(self, place: str) -> None:
        does = (
            "writes a value that it computes to an array which others may hold as well "
            "(write to a copy of it, y = np.array(y))"
        )
        super().__init__(does, place)


class TooManyTurns(Unprogrammed):
    """A loop is unrolled that makes so many turns that no program of them pays."""

    def __init__(self, loop: str, operations: int, turns: int, why: str) -> None:
        reason = f" ({why})" if why else ""
        records = f"{operations} operations in {turns} turns, and goes on"
        super().__init__(f"unrolls the loop {loop}{reason}, which records {records}", "")


class RefusedInTrace(Unprogrammed):
    """A run raised what the function may not raise on the caller's own Tensors: it runs eagerly.

    What it raised counts against the function, which is traced once more.
    """

    def __init__(self, error: Exception) -> None:
        super().__init__(f"raises while it is traced: {str(error).partition(chr(10))[0]}", "")


class AsGiven(BaseException):
    """The run has another form of the arguments than the call gave, and that made a difference.

    It had a list as an array of any length and looked at how many there are, or two containers
    for one that stands at two places (one of them may be `outside`), and `changed` it or asked
    whether they are one.
    """

    def __init__(self, changed: Sequence[Any] = (), outside: bool = False) -> None:
        self.changed, self.outside = changed, outside


class OnTape(BaseException):
    """What comes of a call on arrays has a history, of Tensors from outside: it is recorded."""


class AsksMode(BaseException):
    """A run records, its caller does not, and the function asks: it is run as its caller is."""


Place: TypeAlias = "tuple[Any, Hashable]"


class OneByOne(BaseException):
    """A trace cannot go on: a `vmap` in it is to run its function for one example after the other.

    `place` are the function's code and the key of the call. No handler of the user's is to catch
    it; where one has, it is raised again at the end of the run.
    """

    def __init__(self, place: Place, name: str, reason: str) -> None:
        super().__init__(reason)
        self.place = place
        self.name = name
        self.reason = reason
        if STATE.trace is not None:
            STATE.trace.one_by_one = self


class TooDeep(TraceError):
    """A program nests deeper than the compiler, which is recursive, or than Python can go."""
