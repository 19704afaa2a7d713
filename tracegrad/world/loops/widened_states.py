"""What variables are at the beginning of a loop's turns, over all calls: a state that only widens.

A turn that ends otherwise than it began tells of variables that other turns change, whose arrays
they write to, or that hold numbers of Python at first and NumPy's later. That is kept with the
function, and the run is made again (`Learned`): from then on these variables are parameters of the
loop from its first turn on. So all turns, and all calls, are ways through one loop, whichever of
them they went first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from enum import Flag, auto
from types import CodeType
from typing import Any, TypeAlias

import numpy as np

from codegen.ir import Call, Check, Value
from codegen.types import ArrayType, kind, weak
from tracegrad.machine.frames import Elsewhere
from tracegrad.tracing.path_tree import Entry
from tracegrad.world.loops.loop_heads import Leaf, Slot

WIDE = ArrayType("float64")
"""What a variable is that holds floats of Python and of NumPy."""


class Change(Flag):
    """How turns change a variable.

    An array that turns write to (`WRITTEN`) is the same in all turns, but where they put others in
    its place as well (`BOUND`): then nobody else may have it.
    """

    BOUND = auto()  # to something else
    WRITTEN = auto()  # the array that it has, in place
    WIDENED = auto()  # it is `WIDE`
    FILLED = auto()  # turns append to the list that it has: each of them once,
    GROWS = auto()  # or not each, or the loop is left before its last turn
    LOOKED = auto()  # they read it besides: it is not filled as a whole
    SHARED = auto()  # some turns make it one array with another variable
    SHOWN = auto()  # it is a Tensor to the caller: see `Trace.shown`


def fills(change: Change) -> bool:
    """Whether turns append to the list of a variable, and do nothing else with it."""
    return Change.FILLED in change and Change.LOOKED not in change


def grows(change: Change) -> bool:
    """Whether they do, and the data tell how many items there will be."""
    return fills(change) and Change.GROWS in change


def moves(change: Change) -> bool:
    """Whether turns write to the array of a variable, and put others in its place."""
    return Change.WRITTEN in change and Change.BOUND in change


def change_of(written: bool, wide: bool) -> Change:
    """How a variable changes that turns write to, or bind; it may be `WIDE` besides."""
    change = Change.WRITTEN if written else Change.BOUND
    return change | Change.WIDENED if wide else change


Known: TypeAlias = "dict[Slot, Change]"
"""The variables that turns change."""

States: TypeAlias = "dict[tuple[CodeType, int], Known]"


class Learned(Elsewhere):
    """A run is made again, with what it has taught of the states of a loop.

    No handler of the function's is told.
    """

    def __init__(self) -> None:
        BaseException.__init__(self)
        self.frame = None  # type: ignore[assignment]


def join(a: ArrayType | None, b: ArrayType | None, same: Callable[..., bool]) -> bool | None:
    """Whether what covers both types is `WIDE`; None where nothing covers both.

    `same` tells whether two types are one.
    """
    if a is None or b is None:
        return None
    if same(a, b):
        return False
    both = {(a.dtype, a.weak, a.shape), (b.dtype, b.weak, b.shape)}
    return True if both == {("float64", False, ()), ("float64", True, ())} else None


def widened(type_: ArrayType, x: Any) -> Any:
    """A number as turns have it: where the variable is `WIDE`, NumPy's."""
    return np.float64(x) if type_ == WIDE and type(x) is float else x


def type_of(leaf: Leaf) -> ArrayType | None:
    """The type of what a variable holds; None of what is no array or number."""
    if leaf.value is not None:
        return leaf.value.type
    return NUMBERS.get(type(leaf.holder))


NUMBERS = {float: weak("float"), int: weak("int"), bool: weak("bool")}
"""What variables are that hold numbers of Python."""


def is_in_float64(nodes: Iterable[Any]) -> bool:
    """Whether all numbers with a fraction are float64: there floats of Python are NumPy's."""
    for node in nodes:
        inner = node.cycle.ways if isinstance(node, Entry) else ()
        if not all(is_in_float64(way.nodes) for way in inner):
            return False
        for value in (*node.operands, *node.results):
            inexact = kind(value.type.dtype) in ("float", "complex")
            if inexact and value.type.dtype != "float64":
                return False
    return True


def goes_another_way(turn: Iterable[Any], body: Iterable[Any], made: Mapping[Value, Any]) -> bool:
    """Whether two turns part at a look at what is not the number of the turn alone."""
    looks = [[n for n in nodes if isinstance(n, Check)] for nodes in (turn, body)]
    for one, other in zip(*looks, strict=False):
        if (one.origin.file, one.origin.line) != (other.origin.file, other.origin.line):
            return False
        if one.outcome != other.outcome:
            return not _of_numbers(other.operand, made)
    return False


def _of_numbers(value: Value, made: Mapping[Value, Any]) -> bool:
    """Whether a value is computed of ints that are not in arrays."""
    node = made.get(value)
    if isinstance(node, Call):
        return all(_of_numbers(v, made) for v in node.operands)
    return value.type.weak and kind(value.type.dtype) in ("int", "bool")
