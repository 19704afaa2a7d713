"""Tells whether a trace was the only run of its function's Python meanwhile.

A trace tells what a function does to the state around it by looking at that state before and after.
What another thread does there meanwhile would be taken for the function's own. So the runs of one
function (traced or eager) are known here, and so are the stores of compiled calls. A trace that
touched state and was not alone is not compiled: its own tape answers the call, and a later call is
traced. A trace that touched nothing may overlap with any others.

Nobody ever waits: one thread traces a function at a time, and a call that needs a trace meanwhile
runs eagerly. So a traced function may itself wait for another thread that calls it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from itertools import count
from threading import Lock, Thread, active_count, get_ident
from threading import enumerate as enumerate_threads
from types import CodeType
from typing import Any
from weakref import WeakValueDictionary

_now = count(1).__next__  # one thread's time is never another's: `next` of a count is atomic


class OwnThread(Thread):
    """One of tracegrad's own, in which nothing of the user's runs."""


def is_only_thread() -> bool:
    """Whether no other thread may run something of the user's meanwhile."""
    return active_count() == 1 or sum(type(t) is not OwnThread for t in enumerate_threads()) == 1


class Runs:
    """Which threads run the Python of one function."""

    def __init__(self) -> None:
        self._running: dict[int, int] = {}  # thread: how deep
        self._began: dict[int, int] = {}  # thread: when last

    @contextmanager
    def entered(self) -> Iterator[None]:
        """Around a run of the function on this thread."""
        thread = get_ident()
        self._running[thread] = self._running.get(thread, 0) + 1
        self._began[thread] = _now()
        try:
            yield
        finally:
            self._running[thread] -= 1
            if not self._running[thread]:
                del self._running[thread]

    def watch(self) -> Callable[[], bool]:
        """From now on: whether no other thread has run the function."""
        thread, began = get_ident(), _now()
        busy = any(other != thread for other in list(self._running))

        def alone() -> bool:
            late = [t for t, at in list(self._began.items()) if t != thread and at > began]
            return not busy and not late

        return alone


_RUNS: WeakValueDictionary[Any, Runs] = WeakValueDictionary()


def runs_of(code: CodeType | None) -> Runs:
    """The runs of functions of this code, whichever callables were made of them."""
    if code is None:
        return Runs()
    runs: Runs = _RUNS.setdefault(code, Runs())
    return runs


_LOCKS = tuple(Lock() for _ in range(64))


@contextmanager
def held(sources: Sequence[Any]) -> Iterator[None]:
    """Keeps other threads from drawing from these generators of bits."""
    with ExitStack() as stack:
        for number in sorted({(id(source) >> 4) % len(_LOCKS) for source in sources}):
            stack.enter_context(_LOCKS[number])
        yield


_WRITTEN: dict[int, tuple[int, int]] = {}  # id of an object: the thread that stored, and when
_LIMIT = 4096


def wrote(holder: Any) -> None:
    """A compiled call, or a trace that takes back what it did, writes to this object."""
    if len(_WRITTEN) > _LIMIT:
        _WRITTEN.clear()
    _WRITTEN[id(holder)] = (get_ident(), _now())


def watch_writes(reaches: Callable[[int], bool]) -> Callable[[], bool]:
    """From now on: whether another thread has written to an object of which `reaches` is true."""
    thread, began = get_ident(), _now()

    def written() -> bool:
        late = [key for key, (t, at) in list(_WRITTEN.items()) if t != thread and at > began]
        return any(map(reaches, late))

    return written
