"""What holds in this thread: its trace, and whether ops are recorded."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any


class Direct:
    """Whether calls may go the direct way (`compiled/direct_entry.py`): one look for all threads.

    `now` is an object that stands for the settings which calls follow; None while a thread is in a
    trace, a profile or the like, or while results are checked.
    """

    __slots__ = ("_aside", "_lock", "_settings", "now")

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._aside = 0  # threads in which calls may not
        self._settings: Any = None
        self.now: Any = None

    def choose(self, settings: Any) -> None:
        """Of these settings there is one object; None for settings with which no call may."""
        with self._lock:
            self._settings = settings
            self.now = None if self._aside else settings

    def stand_aside(self, threads: int) -> None:
        """So many more threads, or fewer, are in what keeps calls from it."""
        with self._lock:
            self._aside += threads
            self.now = None if self._aside else self._settings


DIRECT = Direct()


class State(threading.local):
    """One instance a thread; the class attributes are what a new thread starts with.

    `special` is True while anything but plain recording goes on (a trace, no_grad, a profiler):
    fast paths look at it alone.
    """

    grad_enabled: bool = True
    trace: Any = None  # the tracegrad.tracing.trace.Trace in progress
    machine: Any = None  # the tracegrad.machine.Machine that executes the user's functions
    # the tracegrad.user_code.lost_gradients.Watch of the differentiated function that runs
    watch: Any = None
    refusals: list[Any] | None = None  # what that function has caught of `caught_refusals`
    own_leaves: dict[int, Any] | None = None
    """Leaves that the function which the machine executes has made, by id; None where none does."""
    losing: bool = False  # that function read a number that may come back
    observer: Callable[..., Any] | None = None  # runs each op in place of the kernel (profiler)
    anomaly: bool = False
    special: bool = False
    draws: Callable[[Callable[[], Any]], Any] | None = None
    """Given what draws random numbers: keeps what that gives, or gives what was kept instead."""
    outcomes: Any = None
    """The tracegrad.autograd.rule_outcomes.Outcomes of the call that may run a function again."""
    standing: bool = False
    """True while a function runs that was called with arrays, for which its Tensors stand: there
    ``x[0]`` of a vector and ``x.sum()`` are numbers, as NumPy's are, which nobody can write to."""
    arrays: dict[int, Any] | None = None
    """Where it was called with Tensors: those that stand for arrays all the same, by id."""
    own: dict[int, Any] | None = None
    """Where it was called with arrays and the machine executes it: Tensors that it made itself, and
    what is computed of them, by id. They stand for no array."""
    saved: set[int] | None = None
    """Where it has written to memory: the ids of what owns the memory that nodes have saved since,
    by which the next write knows whether it must keep what is there."""
    rewritten: bool = False
    """Arrays from outside hold recorded values for the function that runs: programs, which read the
    arrays themselves, are not for what it calls."""
    apart: Any = None
    """The tracegrad.tape.functions_apart.Apart of the function that runs, where it is one that may
    read nothing of the function around it but what it is given."""
    transposing: tuple[Any, ...] = ()
    """Functions whose forward rule is being transposed: within it they are looked into."""
    objects: tuple[Any, ...] = ()
    """The objects among the arguments of the call that is being answered, of which versions know
    the class alone: guards read them here (`tracegrad.world.guards.GIVEN`)."""
    of_jax: bool = False
    """True within calls that were given arrays of JAX: there an array has what those have."""
    aside: bool = False
    """True while compiled calls may not take their fast path: a trace, checks of results, profiles.
    The class has what `config.check_finite` and `config.compile` say, for all threads; an instance
    only says True."""

    def update(self, **changes: Any) -> dict[str, Any]:
        """Changes settings; returns what they were, to be given back to `update`."""
        before = {name: getattr(self, name) for name in changes}
        for name, value in changes.items():
            setattr(self, name, value)
        self.special = (
            self.trace is not None
            or not self.grad_enabled
            or self.observer is not None
            or self.anomaly
            or self.losing
            or self.arrays is not None
            or bool(self.own)
            or self.saved is not None
            or self.apart is not None
        )
        aside = bool(
            self.trace is not None or self.anomaly or self.observer is not None or self.rewritten
        )
        if aside != ("aside" in self.__dict__):
            DIRECT.stand_aside(1 if aside else -1)
            if aside:
                self.aside = True
            else:
                del self.aside
        return before


STATE = State()


@contextmanager
def given_objects(objects: tuple[Any, ...]) -> Iterator[None]:
    """Meanwhile these are the objects among the arguments of the call that is being answered."""
    before, STATE.objects = STATE.objects, objects
    try:
        yield
    finally:
        STATE.objects = before


def call(
    function: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any], owner: Any = None
) -> Any:
    """Calls a user's function: where a machine executes what called it, that executes it too.

    `owner` is the object that holds the function.
    """
    if STATE.machine is None:
        return function(*args, **kwargs)
    STATE.machine.world.holds(owner, function)
    machine = STATE.machine
    return machine.world.returned(machine.call(function, args, kwargs))
