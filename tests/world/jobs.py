"""What a job is: a small program as users write it, with what happens to its state between calls.

`jobs_that_learn.py`, `jobs_that_simulate.py` and `jobs_that_keep.py` list them; `test_jobs.py`
runs each in every mode.
"""

from __future__ import annotations

import enum
from array import array
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

import tracegrad as tg

TURNS = 6
"""Calls of each job. Before each but the first its state is changed."""


@dataclass(frozen=True)
class Job:
    """``make()`` gives a function, its state, and what happens to this between calls."""

    name: str
    make: Callable[[], tuple[Callable[..., Any], Any, Callable[[int], None]]]
    draw: Callable[[Any], tuple[Any, ...]]
    eager: str  # words of the warning that says why it is not compiled
    argnums: int | tuple[int, ...]

    def arguments(self, turn: int) -> tuple[Any, ...]:
        """Those of one call: the second call has those of the first, the others have others."""
        return self.draw(np.random.default_rng(max(turn - 1, 0)))


JOBS: dict[str, Job] = {}


def job(
    draw: Callable[[Any], tuple[Any, ...]], *, eager: str = "", argnums: int | tuple[int, ...] = 0
) -> Callable[[Callable[[], Any]], Callable[[], Any]]:
    """Enters a job in `JOBS`. ``draw(rng)`` gives the arguments of one call."""

    def enter(make: Callable[[], Any]) -> Callable[[], Any]:
        JOBS[make.__name__] = Job(make.__name__, make, draw, eager, argnums)
        return make

    return enter


def nothing(turn: int) -> None:
    """Between calls."""


def picture(value: Any) -> Any:
    """State as something that can be compared: types, bits and all that hangs on them."""
    match value:
        case tg.Tensor():
            return ("a Tensor is left", str(value))
        case np.ndarray() | np.generic():
            return (type(value).__name__, str(value.dtype), value.shape, value.tobytes())
        case dict():
            return (type(value).__name__, [(k, picture(v)) for k, v in value.items()])
        case list() | tuple() | deque():
            return (type(value).__name__, [picture(v) for v in value])
        case np.random.Generator():
            return value.bit_generator.state
        case int() | float() | str() | bytes() | array() | None | enum.Enum():
            return (type(value).__name__, repr(value))
        case np.ufunc():  # has a state: its signature, once someone has asked for it
            return repr(value)
        case set() | frozenset():
            return (type(value).__name__, sorted(map(repr, value)))
        case type():
            return value.__name__
        case _ if callable(value) and not hasattr(value, "__dict__"):
            return repr(value)
    held = {k: getattr(value, k) for k in getattr(value, "__slots__", ())}
    held = held or getattr(value, "__dict__", {})
    return (type(value).__name__, [(k, picture(v)) for k, v in sorted(held.items())])
