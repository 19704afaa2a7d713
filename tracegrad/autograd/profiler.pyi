"""Tells where the time of ops goes, as a table or trace: ``autograd.profiler.profile()``."""

# Made by tests/type_stubs.py from the library as it runs.

import os
from collections.abc import Callable, Iterable
from typing import Any

class profile:
    """A context that records what runs on this thread, and for how long.

    Parameters
    ----------
    enabled : bool
        False makes the context do nothing.
    use_cuda : bool
        Ignored, with a warning: times are those of the CPU.
    record_shapes : bool
        Keep the shapes of the arguments and show them.
    profile_memory : bool
        Count the bytes of the arrays that ops give and show them.

    Examples
    --------
    >>> import tracegrad as tg
    >>> x = tg.tensor([[2.0]], requires_grad=True)
    >>> with tg.autograd.profiler.profile() as prof:
    ...     y = x ** 2
    ...     y.backward()
    >>> [event.name for event in prof.function_events]
    ['pow', 'GraphRoot', 'PowBackward0', 'AccumulateGrad']
    """

    enabled: Any
    record_shapes: Any
    profile_memory: Any
    def __enter__(self) -> profile: ...
    def __exit__(self, *error: object) -> None: ...
    def __init__(
        self,
        enabled: bool = True,
        *,
        use_cuda: bool = False,
        record_shapes: bool = False,
        profile_memory: bool = False,
    ) -> None: ...
    def begin(self, name: str, shapes: tuple[Any, ...]) -> FunctionEvent:
        """Opens an event inside those that are open."""
    def divide(
        self, event: FunctionEvent, parts: Iterable[tuple[str, str, float, float, int]]
    ) -> None:
        """Divides a finished event into parts, which follow one another.

        Of each: name, statement, `time.perf_counter` at both ends, and of how many runs. What ran
        inside a part, Python that a program calls, becomes a child of the part.
        """
    def export_chrome_trace(self, path: str | os.PathLike[str]) -> None:
        """Writes the events for ``chrome://tracing``."""
    def finish(self, event: FunctionEvent, result: Any) -> None:
        """Closes an event."""
    @property
    def function_events(self) -> EventList:
        """Every event, in the order in which they began."""
    def key_averages(self, group_by_input_shape: bool = False) -> EventList:
        """The events by name: see `EventList.key_averages`."""
    @property
    def self_cpu_time_total(self) -> float:
        """The time of all events in microseconds, each without what it called."""
    def table(
        self,
        sort_by: str | None = None,
        row_limit: int = 100,
        header: str | None = None,
        top_level_events_only: bool = False,
    ) -> str:
        """`EventList.table` of the events."""
    def total_average(self) -> FunctionEventAvg:
        """All events as one row."""

class record_function:
    """A context (or decorator) whose body is one event of the profiles that are open.

    Examples
    --------
    >>> import tracegrad as tg
    >>> with tg.autograd.profiler.profile() as prof:
    ...     with tg.autograd.profiler.record_function("layer"):
    ...         y = tg.tensor([1.0]) * 2
    >>> [event.name for event in prof.function_events]
    ['layer', 'mul']
    """

    name: Any
    def __call__(self, function: Callable[..., Any]) -> Callable[..., Any]: ...
    def __enter__(self) -> record_function: ...
    def __exit__(self, *error: object) -> None: ...
    def __init__(self, name: str) -> None: ...

class _Times:
    """What events and averages of events have in common; times are in microseconds."""

    key: str
    count: int
    cpu_time_total: float
    self_cpu_time_total: float
    cpu_memory_usage: int
    self_cpu_memory_usage: int
    input_shapes: tuple[Any, ...]
    @property
    def cpu_time(self) -> float:
        """The time of one call, on average."""
    @property
    def cpu_time_str(self) -> str: ...
    @property
    def cpu_time_total_str(self) -> str: ...
    @property
    def self_cpu_time_total_str(self) -> str: ...

class EventList(list[Any]):
    """Events, or averages of events, that print as a table."""
    def __init__(
        self, events: Iterable[_Times] = (), shapes: bool = False, memory: bool = False
    ) -> None: ...
    def export_chrome_trace(self, path: str | os.PathLike[str]) -> None:
        """Writes the events as JSON for ``chrome://tracing`` or https://ui.perfetto.dev."""
    def key_averages(self, group_by_input_shape: bool = False) -> EventList:
        """One `FunctionEventAvg` a name, in the order of their first events."""
    @property
    def self_cpu_time_total(self) -> float:
        """The time of all events, each without what it called."""
    def table(
        self,
        sort_by: str | None = None,
        row_limit: int = 100,
        header: str | None = None,
        top_level_events_only: bool = False,
    ) -> str:
        """The events as a table.

        sort_by
            ``"cpu_time"``, ``"cpu_time_total"``, ``"self_cpu_time_total"``, ``"count"``,
            ``"cpu_memory_usage"`` or ``"self_cpu_memory_usage"``, largest first; default: in the
            order in which they ran.
        row_limit
            How many rows to show; -1 for all. The totals are of all.
        """
    def total_average(self) -> FunctionEventAvg:
        """Everything as one row; its total time is the time of its parts alone, counted once."""

class FunctionEvent:
    """One call: what ran, when (microseconds since the profile began), and what it called."""

    count: int
    self_cpu_memory_usage: int
    input_shapes: tuple[Any, ...]
    name: str
    thread: int
    start: float
    end: float
    cpu_children: list[FunctionEvent]
    statement: str
    def __init__(
        self,
        name: str,
        thread: int,
        start: float,
        input_shapes: tuple[Any, ...] = (),
        end: float = 0.0,
        self_cpu_memory_usage: int = 0,
        cpu_children: list[FunctionEvent] = ...,
        count: int = 1,
        statement: str = "",
    ) -> None: ...
    @property
    def cpu_memory_usage(self) -> int:
        """Bytes of the arrays that it, and what it called, gave."""
    @property
    def cpu_time(self) -> float:
        """The time of one call, on average."""
    @property
    def cpu_time_str(self) -> str: ...
    @property
    def cpu_time_total(self) -> float: ...
    @property
    def cpu_time_total_str(self) -> str: ...
    @property
    def key(self) -> str: ...
    @property
    def self_cpu_time_total(self) -> float: ...
    @property
    def self_cpu_time_total_str(self) -> str: ...

class FunctionEventAvg:
    """All calls of one name (and shapes of arguments, where grouped by them) taken together."""

    key: str
    count: int
    cpu_time_total: float
    self_cpu_time_total: float
    cpu_memory_usage: int
    self_cpu_memory_usage: int
    input_shapes: tuple[Any, ...]
    def __init__(
        self,
        key: str,
        input_shapes: tuple[Any, ...] = (),
        count: int = 0,
        cpu_time_total: float = 0.0,
        self_cpu_time_total: float = 0.0,
        cpu_memory_usage: int = 0,
        self_cpu_memory_usage: int = 0,
    ) -> None: ...
    def add(self, event: _Times) -> None:
        """Counts one more event, or the events of another average."""
    @property
    def cpu_time(self) -> float:
        """The time of one call, on average."""
    @property
    def cpu_time_str(self) -> str: ...
    @property
    def cpu_time_total_str(self) -> str: ...
    @property
    def self_cpu_time_total_str(self) -> str: ...

def event_name(what: Any) -> str:
    """The node's name for a step of a backward; for an op the name that its node would have.

    ``MulBackward0`` for the step, ``mul`` for the op.
    """

def format_memory(size: int) -> str:
    """``32 b``, ``1.50 Kb``."""

def format_share(part: float, whole: float) -> str:
    """``20.45%``."""

def format_time(microseconds: float) -> str:
    """``40.499us``, ``1.234ms`` or ``2.000s``."""

def open_profiles() -> tuple[profile, ...]:
    """The profiles that are open on this thread, outermost first."""
