"""Why loops of the user's are unrolled: the statement of a turn that no turn stands for.

A loop is known by its code and the instruction that its turns begin with, in all runs.
"""

from __future__ import annotations

from collections.abc import Iterable
from types import CodeType
from typing import TypeAlias
from weakref import WeakKeyDictionary

from codegen.ir import Origin
from tracegrad.machine.inlined_generators import latest, place_of
from tracegrad.user_code.program_points import Point, capture_run, label, loop_around

Reasons: TypeAlias = "WeakKeyDictionary[CodeType, dict[int, str]]"

REASONS: dict[str, Reasons] = {target: WeakKeyDictionary() for target in ("numpy", "jax")}
"""For loops of which turns were unrolled, by target and by where they begin."""

MARKS = (
    "an object is changed in a way that a turn is not told of",
    "an iterator or a list is changed that the turn did not make",
    "an object from outside is changed",
    "something happens that each call does again",
    "random numbers are drawn",
    "an array is changed behind NumPy's back",
    "a value is read in a way that no look stands for",
    "an operation raises",
    "the grad mode is another one",
)
"""What may not change in a turn, in the order of `Loops._marks`."""


def statement(code: CodeType | None) -> str:
    """The user's statement that is running, in a run of the function with this code."""
    at = label(capture_run(code))
    name = at.file.rpartition("/")[2]
    return f"{name}:{at.line}  {at.text}" if at.line else ""


def at_line(origin: Origin) -> str:
    """A statement of the user's, as reports show it."""
    return f"{origin.file.rpartition('/')[2]}:{origin.line}  {origin.text}"


def unrolled(points: Iterable[object], target: str) -> dict[str, str]:
    """The loops of these program points that were unrolled for a target, each with the reason."""
    codes = {code for p in points if isinstance(p, Point) for code, _ in p.chain}
    found: dict[str, str] = {}
    for code in {*codes, *map(latest, codes)}:
        for begin, why in REASONS["jax" if target == "jax" else "numpy"].get(code, {}).items():
            if loop := loop_at(code, begin):
                found[loop] = why
    return dict(sorted(found.items()))


def loop_at(code: CodeType, begin: int) -> str:
    """The line of a loop, known by where its turns begin; nothing where that is not known."""
    return loop_around(Point((place_of(code, begin),))) or ""
