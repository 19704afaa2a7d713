"""What variables are at the beginning of a loop's turns, over all calls: a state that only widens.

A turn that ends otherwise than it began tells of variables that other turns change, whose arrays
they write to, or that hold numbers of Python at first and NumPy's later. That is kept with the
function, and the run is made again (`Learned`): from then on these variables are parameters of the
loop from its first turn on. So all turns, and all calls, are ways through one loop, whichever of
them they went first.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from enum import Flag, auto
from types import CodeType
from typing import Any, TypeAlias

import numpy as np

from codegen.ir import Call, Check, Constant, Value
from codegen.types import ArrayType, kind, weak
from tracegrad.machine.frames import Elsewhere
from tracegrad.tracing.path_tree import Entry, Meet, with_turns
from tracegrad.world.loops.loop_heads import Leaf, Slot

WIDE = ArrayType("float64")
"""What a variable is that holds floats of Python and of NumPy."""
SINGLE = ArrayType("float32")
"""What it is where NumPy's are of 32 bits."""
FLOATS = (WIDE, SINGLE)


class Change(Flag):
    """How turns change a variable.

    An array that turns write to (`WRITTEN`) is the same in all turns, but where they put others in
    its place as well (`BOUND`): then nobody else may have it.
    """

    BOUND = auto()  # to something else
    WRITTEN = auto()  # the array that it has, in place
    WIDENED = auto()  # it is `WIDE`,
    SINGLE = auto()  # or it is `SINGLE`
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


def change_of(written: bool, wide: Change) -> Change:
    """How a variable changes that turns write to, or bind; it may be `WIDE` besides."""
    return (Change.WRITTEN if written else Change.BOUND) | wide


def width_of(type_: ArrayType) -> Change:
    """How a variable changes that holds floats of Python's, and NumPy's of a type."""
    return Change.WIDENED | Change.SINGLE if type_ == SINGLE else Change.WIDENED


def wide_type(change: Change) -> ArrayType | None:
    """The type of a variable that changes so, where that covers floats of Python's."""
    if Change.WIDENED not in change:
        return None
    return SINGLE if Change.SINGLE in change else WIDE


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


def join(a: ArrayType | None, b: ArrayType | None, same: Callable[..., bool]) -> Change | None:
    """Whether what covers both types is `WIDE`, or `SINGLE`; None where nothing covers both.

    `same` tells whether two types are one.
    """
    if a is None or b is None:
        return None
    if same(a, b):
        return Change(0) if a.either == b.either else width_of(a)
    floats = [type_ for type_ in (a, b) if type_ == weak("float")]
    others = [type_ for type_ in (a, b) if type_ in FLOATS]
    return width_of(others[0]) if len(floats) == len(others) == 1 else None


def widened(type_: ArrayType, x: Any) -> Any:
    """A number as turns have it: where the variable is `WIDE`, NumPy's, if not either's."""
    numpys = type_ in FLOATS and type(x) is float and not type_.either
    return np.dtype(type_.dtype).type(x) if numpys else x


def is_exact(type_: ArrayType, x: Any) -> bool:
    """Whether a number of Python's is the same one as NumPy's of a type."""
    if type(x) not in (int, float):
        return False
    with np.errstate(over="ignore"):
        return type_ == WIDE or repr(float(np.float32(x))) == repr(float(x))


def type_of(leaf: Leaf) -> ArrayType | None:
    """The type of what a variable holds; None of what is no array or number."""
    if leaf.value is not None:
        return leaf.value.type
    return NUMBERS.get(type(leaf.holder))


NUMBERS = {float: weak("float"), int: weak("int"), bool: weak("bool")}
"""What variables are that hold numbers of Python."""


def shown_floats(nodes: Sequence[Any], wide: Iterable[Value]) -> set[Value]:
    """The floats that are NumPy's, and may be Python's, which operations give another result.

    That is where they meet numbers of fewer bits, or are computed with by themselves alone, of
    32 bits. `nodes` have the loops that they enter.
    """
    every, found, shown = [*with_turns(nodes)], {v for v in wide if v.type in FLOATS}, set()
    known = {node.result: node.value for node in every if isinstance(node, Constant)}
    size = 0
    while size < len(found):
        size = len(found)
        for node in every:
            if isinstance(node, Call):
                of = [v for v in node.operands if v in found]
                if of and shows_width(node, found, known):
                    shown.update(of)
                elif of and _is_of_python(node, found):
                    found.update(v for v in node.results if v.type in FLOATS)
            for parameters, arguments in _handed_on(node):
                pairs = zip(parameters, arguments, strict=False)
                found.update(p for p, v in pairs if v in found and p.type in FLOATS)
    return shown


def _handed_on(node: Any) -> Iterator[tuple[Sequence[Value], Sequence[Value]]]:
    """What a node hands on to where arms meet, or to turns: parameters, and what they get."""
    if isinstance(node, Meet):
        yield node.joint.parameters, node.arguments
    elif isinstance(node, Entry):
        yield node.cycle.parameters, node.cycle.arguments
        for way in node.cycle.ways:
            yield node.cycle.parameters, way.arguments or ()


def shows_width(node: Call, found: Collection[Value], known: Mapping[Value, Any]) -> bool:
    """Whether a call with floats that may be Python's gives another result, as they are NumPy's."""
    narrow = any(v.type == SINGLE for v in node.operands if v in found)
    others = [v for v in node.operands if v not in found]
    bits = [_BITS.get(v.type.dtype, 0) for v in others if not v.type.weak]
    if any(bits):
        return max(bits) < (32 if narrow else 64)
    exact = not bits and all(v in known and is_exact(SINGLE, known[v]) for v in others)
    return narrow and (not exact or node.op.name not in _EXACT)


def _is_of_python(node: Call, found: Collection[Value]) -> bool:
    """Whether a call computes of such floats, and numbers of Python's, alone."""
    return all(v.type.weak or v in found for v in node.operands)


_BITS = {
    **{"float16": 16, "bfloat16": 16, "float32": 32, "float64": 64},
    **{"complex64": 32, "complex128": 64},
}
_EXACT = frozenset({
    *("negative", "positive", "absolute", "alias", "stop_gradient", "handed", "maximum", "minimum"),
    *("less", "less_equal", "greater", "greater_equal", "equal", "not_equal"),
})  # fmt: skip
"""The ops of which the result is the same in 32 bits, where the operands are."""


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
