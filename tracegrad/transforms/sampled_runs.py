"""Runs a function on samples until all ways are known that its looks at values may go.

Inside a trace of JAX no value is known. So a function that looks at one (``if x[0] > 0``) runs once
for each way, on numbers that mean nothing, and the tree of these paths becomes its program: a look
is ``lax.cond`` there, and a loop stays a loop.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, NoReturn

from codegen.ir import Origin
from tracegrad.arguments.signature import Arguments
from tracegrad.compiled.sampled_ways import Ways
from tracegrad.compiled.traced_run import Run
from tracegrad.compiled.version import end_of
from tracegrad.errors import ArgumentError, TracegradError
from tracegrad.tracing.advice import INSTEAD
from tracegrad.tracing.outputs import Static
from tracegrad.tracing.path_tree import Apart, End
from tracegrad.tracing.unified_paths import look_at

MOST_RUNS = 64
"""A function has so many ways at most."""

MOST_STARTS = 4
"""So often all runs are made again, because one has taught something of a loop."""


def all_ways(calling: Any, samples: Arguments, run: Callable[[Ways], Run]) -> Ways:
    """The ways that runs on samples take through a function."""
    ways, starts = Ways(), 1
    for _ in range(MOST_STARTS * MOST_RUNS):
        exits = set(ways.exits)
        made = _run(calling, ways, run)
        if made is None:
            ways = _anew(ways, ways.numbers_are_outputs)
            continue
        if not ways.exits <= exits:  # it left a loop before it knew all ways through a turn
            ways = replace(ways)
            continue
        numbers = ways.numbers_are_outputs
        end = end_of(calling._transform, samples, made, numbers)
        try:
            ways = ways.with_path(made, end)
        except Apart:
            if starts == MOST_STARTS:
                break
            ways, starts = _anew(ways, numbers), starts + 1
            continue
        if ways.next is not None and len(ways.runs) == MOST_RUNS:
            break
        if ways.next is not None:
            continue
        apart = ways.level()
        if apart is None:
            return ways
        if numbers or not any(isinstance(x, Static) for end in apart for x in end.result.leaves):
            _refuse_ends(calling, ways, *apart)
        ways = _anew(ways, True)
    _refuse(calling, ways)


def _anew(ways: Ways, numbers_are_outputs: bool) -> Ways:
    """No path yet."""
    return Ways(uncaught=ways.uncaught, numbers_are_outputs=numbers_are_outputs)


def _run(calling: Any, ways: Ways, run: Callable[[Ways], Run]) -> Run | None:
    """The next run; None where it has taught that nothing catches what Python's numbers raise."""
    try:
        return run(ways)
    except TracegradError:
        raise
    except Exception as error:
        if ways.choices is None or ways.choices.looked is None:
            raise
        if ways.choices.raised is not None and ways.choices.raised[0] is error:
            ways.uncaught.add(ways.choices.raised[1])
            return None
        text, line = f" ({error})" if str(error) else "", _line(ways.choices.looked)
        raise ArgumentError(
            f"{calling.__name__} is called with JAX tracers, whose values are not known yet, and "
            f"raises {type(error).__name__}{text} on one way on from the look at {line}: "
            "inside JAX nothing is raised; look at values before, outside JAX, or return nan there"
        ) from error


def _line(origin: Origin) -> str:
    return f"{origin.file}:{origin.line} ({origin.text.strip()})"


def _refuse(calling: Any, ways: Ways) -> NoReturn:
    """Raises for too many ways, or for such as are no arms of looks."""
    look = None if ways.tree is None else look_at(ways.tree.root, ways.next or ())
    line = f" from {_line(look.origin)}" if look is not None else ""
    raise ArgumentError(
        f"{calling.__name__} is called with JAX tracers, whose values are not known yet, and has "
        f"too many ways on{line}: {INSTEAD['bool']}, or make parts compiled functions of their "
        "own, which JAX calls one after the other"
    )


def _refuse_ends(calling: Any, ways: Ways, a: End, b: End) -> NoReturn:
    """Raises for two ends that no arms of ``lax.cond`` may have."""
    shown = [_shown(ways, end) for end in (a, b)]
    if shown[0] == shown[1]:
        shown[1] = "the same in another container"
    lines = [_line(end.origin) for end in (a, b)]
    raise ArgumentError(
        f"{calling.__name__} is called with JAX tracers, whose values are not known yet, and "
        f"returns {shown[0]} at {lines[0]} or {shown[1]} at {lines[1]}: return arrays of one shape "
        "and dtype, in one container, on all ways"
    )


def _shown(ways: Ways, end: End) -> str:
    """What a path returns, as it is told."""
    assert ways.tree is not None
    size, leaves = ways.tree.sizes.value, end.result.leaves
    types = [f"{x.type.dtype}{[*map(size, x.type.shape)]}" for x in end.outputs]
    told = [types[x] if isinstance(x, int) else repr(x.value) for x in leaves]
    return ", ".join(told) or "None"
