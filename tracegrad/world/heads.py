"""What is known of a loop that is being recorded: where it begins, and what it goes through."""

from __future__ import annotations

import operator
from dataclasses import dataclass, field
from types import CodeType
from typing import Any
from weakref import WeakKeyDictionary

from codegen.ir import Check, Value
from codegen.types import weak
from tracegrad.paths import Cycle
from tracegrad.tensor import Tensor

FEWEST = 8  # turns of a loop that is worth a loop
SUSPENDED = 0x20 | 0x80 | 0x200  # flags of code that is suspended, and goes on
RANGE = type(iter(range(0)))
INT = weak("int")
CHANGING = frozenset(
    id(getattr(operator, name))
    for name in dir(operator)
    if name in ("setitem", "delitem") or (name.startswith("i") and not name.startswith("is"))
)
UNCHANGING = frozenset(
    {Tensor, int, float, complex, bool, str, bytes, tuple, frozenset, range, type(None), slice}
)
READING = frozenset(
    {
        *("get", "keys", "values", "items", "copy", "count", "index", "__len__", "__getitem__"),
        *("__contains__", "__eq__", "__ne__", "__hash__", "__init__", "__new__", "__repr__"),
        *("__str__", "__getattribute__", "__iter__", "union", "intersection", "difference"),
    }
)
UNCLOSED: WeakKeyDictionary[CodeType, set[int]] = WeakKeyDictionary()
"""Where loops begin that could not be closed: they are not tried again."""


class ManyTurns(BaseException):
    """What is recorded turn by turn has many turns, which could be a loop: see `Loops.patience`."""


@dataclass(eq=False)
class Leaf:
    """What a variable holds: the object, and what is recorded of it."""

    holder: Any
    value: Value | None  # of a Tensor


@dataclass(eq=False)
class Seat:
    """A look in the turn that is recorded: where the frame stood, to go on from there."""

    index: int
    fast: list[Any]
    stack: list[Any]
    values: dict[int, Value]  # what is recorded of the Tensors there, by their ids


@dataclass(eq=False)
class Head:
    """The beginning of a loop in a frame that runs."""

    frame: Any
    target: int  # the index of the instruction that turns begin with
    iterator: Any = None
    shown: Any = None  # the iterator that the function has
    numbers: range = range(0)
    name: str = ""
    index: Value | None = None  # the number, in the turn that is being recorded
    first: Value | None = None  # in the turn before
    start: int = 0  # the node that turn begins with
    begin: int = 0  # the node that the turn which is recorded over parameters begins with
    before: dict[int, Leaf] = field(default_factory=dict)  # variables when the first turn began
    parameters: dict[int, Value] = field(default_factory=dict)  # by slot
    arguments: dict[Value, Value] = field(default_factory=dict)  # when they became parameters
    begun: dict[int, Leaf] = field(default_factory=dict)  # variables then
    marks: tuple[Any, ...] = ()
    open: bool = False  # a turn is being recorded over parameters
    cycle: Cycle | None = None
    entered: int = 0  # where the loop stands among the nodes, once closed
    seats: dict[Check, Seat] = field(default_factory=dict)
    tensors: dict[Value, Any] = field(default_factory=dict)  # from before the loop
    wrote: int = 0  # how many Tensors had been written to when the turn began
    written: dict[Value, Any] = field(default_factory=dict)
    """Parameters that turns write to in place: others may have the Tensor too."""
