"""Tells where the time of ops goes, as a table or trace: ``autograd.profiler.profile()``.

A profile sees every op on Tensors of its thread, the rules of backwards (``PowBackward0``), and
what `record_function` names. An event inside another one counts as its child: *self* time is
without children. A call of a compiled function is an event, and inside it each statement is one,
named after the user's line (`tracegrad/compiled/profiled_program.py`).
"""

from __future__ import annotations

import functools
import json
import os
import threading
import time
import warnings
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tracegrad.errors import ArgumentError, BackwardError
from tracegrad.runtime.thread_state import STATE
from tracegrad.runtime.thread_state import call as call_user
from tracegrad.tape.tape import Node, node_name

NAME_PADDING = 4
COLUMN = 15
SHAPES_COLUMN = 35


# -- events -------------------------------------------------------------------------------------


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
        return self.cpu_time_total / self.count if self.count else 0.0

    @property
    def cpu_time_str(self) -> str:
        return format_time(self.cpu_time)

    @property
    def cpu_time_total_str(self) -> str:
        return format_time(self.cpu_time_total)

    @property
    def self_cpu_time_total_str(self) -> str:
        return format_time(self.self_cpu_time_total)


@dataclass(eq=False)
class FunctionEvent(_Times):
    """One call: what ran, when (microseconds since the profile began), and what it called."""

    name: str
    thread: int
    start: float
    input_shapes: tuple[Any, ...] = ()
    end: float = 0.0
    self_cpu_memory_usage: int = 0
    cpu_children: list[FunctionEvent] = field(default_factory=list)
    count: int = 1
    statement: str = ""  # of a compiled function's source

    @property
    def key(self) -> str:  # type: ignore[override]
        return self.name

    @property
    def cpu_time_total(self) -> float:  # type: ignore[override]
        return self.end - self.start

    @property
    def self_cpu_time_total(self) -> float:  # type: ignore[override]
        return self.cpu_time_total - sum(child.cpu_time_total for child in self.cpu_children)

    @property
    def cpu_memory_usage(self) -> int:  # type: ignore[override]
        """Bytes of the arrays that it, and what it called, gave."""
        return self.self_cpu_memory_usage + sum(c.cpu_memory_usage for c in self.cpu_children)

    def __repr__(self) -> str:
        return f"<FunctionEvent {self.name} {self.cpu_time_str}>"


@dataclass(eq=False)
class FunctionEventAvg(_Times):
    """All calls of one name (and shapes of arguments, where grouped by them) taken together."""

    key: str
    input_shapes: tuple[Any, ...] = ()
    count: int = 0
    cpu_time_total: float = 0.0
    self_cpu_time_total: float = 0.0
    cpu_memory_usage: int = 0
    self_cpu_memory_usage: int = 0

    def add(self, event: _Times) -> None:
        """Counts one more event, or the events of another average."""
        self.count += event.count
        self.cpu_time_total += event.cpu_time_total
        self.self_cpu_time_total += event.self_cpu_time_total
        self.cpu_memory_usage += event.cpu_memory_usage
        self.self_cpu_memory_usage += event.self_cpu_memory_usage

    def __repr__(self) -> str:
        return (
            f"<FunctionEventAvg {self.key} self_cpu_time={self.self_cpu_time_total_str} "
            f"cpu_time={self.cpu_time_str} calls={self.count}>"
        )


class EventList(list[Any]):
    """Events, or averages of events, that print as a table."""

    def __init__(self, events: Iterable[_Times] = (), shapes: bool = False, memory: bool = False):
        super().__init__(events)
        self._shapes = shapes
        self._memory = memory

    def __str__(self) -> str:
        return self.table()

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
        rows = self
        if top_level_events_only:
            inner = {id(c) for event in self for c in getattr(event, "cpu_children", ())}
            rows = EventList([e for e in self if id(e) not in inner], self._shapes, self._memory)
        return _table(rows, self, sort_by, row_limit, header)

    def key_averages(self, group_by_input_shape: bool = False) -> EventList:
        """One `FunctionEventAvg` a name, in the order of their first events."""
        averages: dict[Any, FunctionEventAvg] = {}
        for event in self:
            shapes = event.input_shapes if group_by_input_shape else ()
            key = (event.key, repr(shapes))
            averages.setdefault(key, FunctionEventAvg(event.key, shapes)).add(event)
        return EventList(averages.values(), group_by_input_shape, self._memory)

    def total_average(self) -> FunctionEventAvg:
        """Everything as one row; its total time is the time of its parts alone, counted once."""
        total = FunctionEventAvg("Total")
        for event in self:
            total.add(event)
        total.cpu_time_total = total.self_cpu_time_total
        total.cpu_memory_usage = total.self_cpu_memory_usage
        return total

    @property
    def self_cpu_time_total(self) -> float:
        """The time of all events, each without what it called."""
        return sum(event.self_cpu_time_total for event in self)

    def export_chrome_trace(self, path: str | os.PathLike[str]) -> None:
        """Writes the events as JSON for ``chrome://tracing`` or https://ui.perfetto.dev."""
        pid = os.getpid()
        records = [
            {
                "name": event.name,
                "cat": "op",
                "ph": "X",
                "ts": event.start,
                "dur": event.cpu_time_total,
                "pid": pid,
                "tid": event.thread,
                "args": self._details(event),
            }
            for event in self
        ]
        with open(path, "w", encoding="utf-8") as file:
            json.dump({"traceEvents": records, "displayTimeUnit": "ms"}, file)

    def _details(self, event: FunctionEvent) -> dict[str, str]:
        """What a trace tells of an event beside its times."""
        details = {"Statement": event.statement} if event.statement else {}
        if self._shapes:
            details["Input Shapes"] = repr(list(event.input_shapes))
        return details


# -- the table ----------------------------------------------------------------------------------


def format_time(microseconds: float) -> str:
    """``40.499us``, ``1.234ms`` or ``2.000s``."""
    if microseconds >= 1e6:
        return f"{microseconds / 1e6:.3f}s"
    if microseconds >= 1e3:
        return f"{microseconds / 1e3:.3f}ms"
    return f"{microseconds:.3f}us"


def format_share(part: float, whole: float) -> str:
    """``20.45%``."""
    return f"{100.0 * part / whole:.2f}%" if whole else "0.00%"


def format_memory(size: int) -> str:
    """``32 b``, ``1.50 Kb``."""
    for unit, bytes_ in (("Gb", 1 << 30), ("Mb", 1 << 20), ("Kb", 1 << 10)):
        if abs(size) >= bytes_:
            return f"{size / bytes_:.2f} {unit}"
    return f"{size} b"


SORTABLE = (
    "cpu_time",
    "cpu_time_total",
    "self_cpu_time_total",
    "count",
    "cpu_memory_usage",
    "self_cpu_memory_usage",
)

_Column = tuple[str, int, Callable[[Any, float], str]]

_COLUMNS: tuple[_Column, ...] = (
    ("Self CPU total %", COLUMN, lambda e, whole: format_share(e.self_cpu_time_total, whole)),
    ("Self CPU total", COLUMN, lambda e, whole: e.self_cpu_time_total_str),
    ("CPU total %", COLUMN, lambda e, whole: format_share(e.cpu_time_total, whole)),
    ("CPU total", COLUMN, lambda e, whole: e.cpu_time_total_str),
    ("CPU time avg", COLUMN, lambda e, whole: e.cpu_time_str),
)
_MEMORY: tuple[_Column, ...] = (
    ("CPU Mem", COLUMN, lambda e, whole: format_memory(e.cpu_memory_usage)),
    ("Self CPU Mem", COLUMN, lambda e, whole: format_memory(e.self_cpu_memory_usage)),
)
_CALLS: _Column = ("Number of Calls", COLUMN, lambda e, whole: str(e.count))
_SHAPES: _Column = ("Input Shapes", SHAPES_COLUMN, lambda e, whole: repr(list(e.input_shapes)))


def _table(
    rows: EventList, every: EventList, sort_by: str | None, row_limit: int, header: str | None
) -> str:
    if not every:
        return ""
    if sort_by is not None and sort_by not in SORTABLE:
        raise ArgumentError(f"sort_by={sort_by!r}: must be one of {', '.join(SORTABLE)}")
    shown = list(rows)
    if sort_by is not None:
        shown.sort(key=lambda event: getattr(event, sort_by), reverse=True)
    if row_limit >= 0:
        shown = shown[:row_limit]
    whole = every.self_cpu_time_total
    width = max(len(event.key) for event in rows) + NAME_PADDING
    columns: list[_Column] = [("Name", width, lambda e, whole: e.key), *_COLUMNS]
    columns += _MEMORY if every._memory else ()
    columns += [_CALLS, *([_SHAPES] if every._shapes else [])]
    rule = "".join("-" * width + "  " for _, width, _ in columns)
    titles = "".join(f"{title: <{width}}  " for title, width, _ in columns)
    lines = [] if header is None else ["=" * (len(rule) - 2), header]
    lines += [rule, titles, rule]
    for event in shown:
        lines.append("".join(f"{text(event, whole): <{width}}  " for _, width, text in columns))
    lines += [rule, f"Self CPU time total: {format_time(whole)}"]
    return "\n".join(lines) + "\n"


# -- recording ----------------------------------------------------------------------------------


class _Active(threading.local):
    """The profiles that are open on this thread, outermost first."""

    def __init__(self) -> None:
        self.profiles: list[profile] = []


_ACTIVE = _Active()


def open_profiles() -> tuple[profile, ...]:
    """The profiles that are open on this thread, outermost first."""
    return tuple(_ACTIVE.profiles)


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

    def __init__(
        self,
        enabled: bool = True,
        *,
        use_cuda: bool = False,
        record_shapes: bool = False,
        profile_memory: bool = False,
    ) -> None:
        if use_cuda:
            warnings.warn(
                "profile(use_cuda=True): only CPU times are measured; time a device by waiting for "
                "its results",
                stacklevel=2,
            )
        self.enabled = enabled
        self.record_shapes = record_shapes
        self.profile_memory = profile_memory
        self._events: EventList | None = None
        self._open: list[FunctionEvent] = []
        self._began = 0.0
        self._before: dict[str, Any] = {}

    def __enter__(self) -> profile:
        if not self.enabled:
            return self
        if self._events is not None:
            raise BackwardError("a profile records once: make another one")
        self._events = EventList((), self.record_shapes, self.profile_memory)
        _ACTIVE.profiles.append(self)
        self._before = STATE.update(observer=_observe)
        self._began = time.perf_counter()
        return self

    def __exit__(self, *error: object) -> None:
        if self.enabled:
            STATE.update(**self._before)
            _ACTIVE.profiles.remove(self)

    @property
    def function_events(self) -> EventList:
        """Every event, in the order in which they began."""
        if self._events is None:
            raise BackwardError("the profile has not run: use it as a context")
        return self._events

    def begin(self, name: str, shapes: tuple[Any, ...]) -> FunctionEvent:
        """Opens an event inside those that are open."""
        start = (time.perf_counter() - self._began) * 1e6
        shown = shapes if self.record_shapes else ()
        event = FunctionEvent(name, threading.get_ident(), start, shown)
        if self._open:
            self._open[-1].cpu_children.append(event)
        self._open.append(event)
        self.function_events.append(event)
        return event

    def finish(self, event: FunctionEvent, result: Any) -> None:
        """Closes an event."""
        event.end = (time.perf_counter() - self._began) * 1e6
        self._open.remove(event)
        if self.profile_memory:
            own = _bytes_of(result) - sum(child.cpu_memory_usage for child in event.cpu_children)
            event.self_cpu_memory_usage = max(own, 0)

    def divide(
        self, event: FunctionEvent, parts: Iterable[tuple[str, str, float, float, int]]
    ) -> None:
        """Divides a finished event into parts, which follow one another.

        Of each: name, statement, `time.perf_counter` at both ends, and of how many runs. What ran
        inside a part, Python that a program calls, becomes a child of the part.
        """
        children: list[FunctionEvent] = []
        waiting = deque(sorted(event.cpu_children, key=lambda e: e.start))
        for name, statement, begin, end, count in parts:
            part = FunctionEvent(name, event.thread, (begin - self._began) * 1e6)
            part.end, part.statement = (end - self._began) * 1e6, statement
            part.count = count
            while waiting and waiting[0].start < part.end:
                inner = waiting.popleft()
                within = part.start <= inner.start and inner.end <= part.end
                (part.cpu_children if within else children).append(inner)
            children.append(part)
            self.function_events.append(part)
        event.cpu_children = [*children, *waiting]
        self.function_events.sort(key=lambda e: e.start)

    # -- what users read --------------------------------------------------------------------------

    def table(
        self,
        sort_by: str | None = None,
        row_limit: int = 100,
        header: str | None = None,
        top_level_events_only: bool = False,
    ) -> str:
        """`EventList.table` of the events."""
        return self.function_events.table(sort_by, row_limit, header, top_level_events_only)

    def key_averages(self, group_by_input_shape: bool = False) -> EventList:
        """The events by name: see `EventList.key_averages`."""
        return self.function_events.key_averages(group_by_input_shape)

    def total_average(self) -> FunctionEventAvg:
        """All events as one row."""
        return self.function_events.total_average()

    @property
    def self_cpu_time_total(self) -> float:
        """The time of all events in microseconds, each without what it called."""
        return self.function_events.self_cpu_time_total

    def export_chrome_trace(self, path: str | os.PathLike[str]) -> None:
        """Writes the events for ``chrome://tracing``."""
        self.function_events.export_chrome_trace(path)

    def __str__(self) -> str:
        return self.table() if self._events is not None else "<unfinished profile>"

    __repr__ = __str__


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

    def __init__(self, name: str) -> None:
        self.name = name
        self._opened: list[list[tuple[profile, FunctionEvent]]] = []

    def __enter__(self) -> record_function:
        self._opened.append([(p, p.begin(self.name, ())) for p in _ACTIVE.profiles])
        return self

    def __exit__(self, *error: object) -> None:
        for opened, event in self._opened.pop():
            opened.finish(event, None)

    def __call__(self, function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def wrapped(*args: Any, **kwargs: Any) -> Any:
            with record_function(self.name):
                return call_user(function, args, kwargs)

        return wrapped


def _observe(
    what: Any, run: Callable[..., Any], arrays: Sequence[Any], attributes: Mapping[str, Any]
) -> Any:
    """`State.observer`: runs an op, or a step of a backward, as an event of every open profile."""
    name = event_name(what)
    shapes = tuple(list(np.shape(x)) for x in arrays)
    opened = [(p, p.begin(name, shapes)) for p in _ACTIVE.profiles]
    result = None
    try:
        result = run(*arrays, **attributes)
        return result
    finally:
        for p, event in reversed(opened):
            p.finish(event, result)


def event_name(what: Any) -> str:
    """The node's name for a step of a backward; for an op the name that its node would have.

    ``MulBackward0`` for the step, ``mul`` for the op.
    """
    if isinstance(what, str):
        return what
    if isinstance(what, Node):
        return what.name()
    stem = node_name(what).removesuffix("0").removesuffix("Backward")
    if getattr(what, "node_name", None):
        return stem
    return "".join(f"_{c.lower()}" if c.isupper() and i else c.lower() for i, c in enumerate(stem))


def _bytes_of(result: Any) -> int:
    if isinstance(result, tuple | list):
        return sum(map(_bytes_of, result))
    array = getattr(getattr(result, "ct", result), "_array", getattr(result, "ct", result))
    return int(getattr(array, "nbytes", 0))
