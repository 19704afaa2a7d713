"""What is known of a loop that is being recorded: where it begins, and what it goes through."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from types import CellType, CodeType, FunctionType
from typing import Any, TypeAlias
from weakref import WeakKeyDictionary

from codegen.ir import Value
from codegen.types import weak
from tracegrad.machine.translation import program_of
from tracegrad.tracing.path_tree import Cycle
from tracegrad.world.loops.written_places import Place

MOST_TRIED = 3  # turns that are watched for one that stands for all
MOST_WAYS = 32  # through a turn
SUSPENDED = 0x20 | 0x80 | 0x200  # flags of code that is suspended, and goes on
RANGE = type(iter(range(0)))
INT = weak("int")
Beginnings: TypeAlias = "WeakKeyDictionary[CodeType, set[int]]"
"""Where loops begin, by their code."""


class Known:
    """What runs of one function for one target have found out about loops, also of its helpers."""

    def __init__(self) -> None:
        self.unclosed: Beginnings = WeakKeyDictionary()
        """Those that could not be closed: they are not tried again."""
        self.apart: Beginnings = WeakKeyDictionary()
        """Those whose first turn stands by itself: see `residuals.FirstTurn`."""
        self.lacked: Beginnings = WeakKeyDictionary()
        """Those of which a run has not seen the last turns."""
        self.short: WeakKeyDictionary[CodeType, dict[tuple[int, int], int]] = WeakKeyDictionary()
        """By those whose last turns have fewer rows, and the number of the last: how many have."""
        self.keeps_floats = False
        """Whether a float of Python's that is recorded stays one in all turns: it shows."""

    def tries_again(self) -> None:
        """A call is over: loops of which it has seen no last turns are tried again in others."""
        for code, targets in self.lacked.items():
            self.unclosed.get(code, set()).difference_update(targets)
        self.lacked.clear()


Kinds: TypeAlias = "tuple[Any, ...]"
"""What kinds of things are in the variables around a function: see `kinds_around`."""

KNOWN_LOOPS: dict[str, WeakKeyDictionary[CodeType, dict[Kinds, Known]]] = {
    target: WeakKeyDictionary() for target in ("numpy", "jax")
}
_NO_CODE = (lambda: None).__code__  # of builtins that are differentiated


def known_of(code: CodeType | None, target: str, kinds: Kinds) -> Known:
    """What is known of the loops of a function with this code, and these kinds around it.

    A helper's loop may be unrolled in one function, within a derivative, and stay one in another;
    so may the loop of one function and that of another from the same ``def``.
    """
    return KNOWN_LOOPS[target].setdefault(code or _NO_CODE, {}).setdefault(kinds, Known())


def kinds_around(function: Any, deep: int = 2) -> Kinds:
    """The types of what a function finds in the variables around it; of flags, which they are."""
    inner = getattr(function, "__wrapped__", function)
    inner = getattr(inner, "__func__", inner)
    found: list[Any] = []
    for cell in getattr(inner, "__closure__", None) or ():
        x = cell.cell_contents if cell != _EMPTY else None
        if type(x) is FunctionType and deep:
            found.append(kinds_around(x, deep - 1))
        else:
            found.append(x if type(x) in (bool, type(None)) else type(x))
    return tuple(found)


_EMPTY = CellType()


Slot = tuple[int | Place, ...]
"""A variable (behind them the stack, from -1 down) or a place, then a place in a tuple there."""


class Unclosed(BaseException):
    """A run on samples is no program because a loop was closed; the next one leaves it unrolled."""


class ManyTurns(BaseException):
    """What is recorded turn by turn has many turns, which could be a loop: see `Loops.patience`."""


@dataclass(eq=False)
class Leaf:
    """What a variable holds: the object, and what is recorded of it."""

    holder: Any
    value: Value | None  # of a Tensor

    def of(self, made: Mapping[int, Any]) -> Leaf:
        """The same of what was made in the object's place."""
        holder = made.get(id(self.holder), self.holder)
        if holder is self.holder:
            return self
        return Leaf(holder, None if self.value is None else holder._traced[1])


@dataclass(eq=False)
class Head:
    """The beginning of a loop in a frame that runs."""

    frame: Any
    target: int  # the index of the instruction that turns begin with
    iterator: Any = None
    shown: Any = None  # the iterator that the function has
    numbers: range = range(0)
    name: str = ""
    ends: Any = None  # the first number and the one behind the last, where lengths tell them
    index: Value | None = None  # the number, in the turn that is being recorded
    first: Value | None = None  # in the turn before
    start: int = 0  # the node that turn begins with
    begin: int = 0  # the node that the turn which is recorded over parameters begins with
    before: dict[Slot, Leaf] = field(default_factory=dict)  # variables when the first turn began
    parameters: dict[Slot, Value] = field(default_factory=dict)  # by slot
    arguments: dict[Value, Value] = field(default_factory=dict)  # when they became parameters
    begun: dict[Slot, Leaf] = field(default_factory=dict)  # variables then
    marks: tuple[Any, ...] = ()
    open: bool = False  # a turn is being recorded over parameters
    cycle: Cycle | None = None
    seat: Any = None  # the frames where turns begin, over parameters
    goes: Any = None  # the form of what it goes through, where that is of Tensors
    changes: int = 0  # iterators of others that were advanced
    rebuilt: set[Slot] = field(default_factory=set)  # variables that get a new object
    twins: dict[int, Slot] = field(default_factory=dict)  # the first variable of each of them
    apart: list[Any] = field(default_factory=list)  # what they had at first: no other has its id
    barred: str = ""  # what was done last that is in `changes`
    why: str = ""  # what a turn did that stood for no others
    shared: set[Slot] = field(default_factory=set)  # with arrays that others may have, too
    may_be_one: set[Slot] = field(default_factory=set)  # variables that may have one array
    noted: int = 0  # how often objects had changed when the turn began
    logged: int = 0  # how often lists had been appended to when the turn began
    collects: list[Any] = field(default_factory=list)  # lists to which turns append
    held: set[int] | None = None  # ids of what variables held when the first turn began
    further: set[Any] = field(default_factory=set)  # nodes that do so
    next_index: Any = None  # the number in the turn that is about to be recorded
    peeled: bool = False  # a turn stands before the loop
    short: int = 0  # so many turns stand behind it
    follows: Any = None  # the first number and the one behind the last, as values
    counted: Any = None  # the range, where counters of loops around tell these
    whiles: set[int] = field(default_factory=set)  # in it, of which turns were tried once more
    kept: list[Any] | None = None  # ways through it that stay, where others are tried once more
    idle: int = 0  # how often loops had no turns when the turn began
    idle_first: int = 0  # when the first turn began
    entering: bool = False  # it is asked which variables become parameters before the first turn
    untested: Any = None  # the state before it, where its test is that before the first turn
    added: dict[int, Any] = field(default_factory=dict)
    """What its turns append to containers from outside, by the ids of these."""
    whole: bool = False  # the first turn is recorded over parameters: which these are was known
    made: int = 0  # how many iterators had been made when the turn began
    wrote: int = 0  # how many Tensors had been written to when the turn began
    depth: int = 0  # how many frames are around its own
    tails: list[tuple[Place, Any]] = field(default_factory=list)
    """Last items of lists, in whose place others stand for what each turn finds there."""
    written: dict[Value, Any] = field(default_factory=dict)
    """Parameters that turns write to in place: others may have the Tensor too."""
    moved: dict[Value, Any] = field(default_factory=dict)
    """Parameters that turns write to, and that hold another array in the next one: nobody else may
    have it."""

    @property
    def changed(self) -> set[Value]:
        """The parameters that turns write to."""
        return {*self.written, *self.moved}

    def moves(self, made: Mapping[int, Any]) -> None:
        """Objects were made again: what variables and places held are those."""
        self.before = {_moved(slot, made): leaf.of(made) for slot, leaf in self.before.items()}
        self.begun = {_moved(slot, made): leaf.of(made) for slot, leaf in self.begun.items()}
        self.parameters = {_moved(slot, made): value for slot, value in self.parameters.items()}
        self.held = None

    def __post_init__(self) -> None:
        frame = self.frame.back
        while frame is not None:
            self.depth, frame = self.depth + 1, frame.back


def lacked_before(known: Known, head: Head) -> bool:
    """Whether a run has not seen the last turns of a loop before; from now on one has."""
    lacked = known.lacked.setdefault(head.frame.code, set())
    before = head.target in lacked
    lacked.add(head.target)
    return before


@lru_cache(maxsize=256)
def turn_of(code: CodeType, target: int) -> range:
    """The instructions of a turn that begins with one, this included."""
    instructions = program_of(code).instructions
    back = [i for i, x in enumerate(instructions) if "BACKWARD" in x.name and x.arg == target]
    return range(target, max(back, default=target) + 1)


@lru_cache(maxsize=256)
def whiles(code: CodeType) -> tuple[int, ...]:
    """Where the turns of loops begin that no iterator counts."""
    instructions = program_of(code).instructions
    heads = {x.arg for x in instructions if "BACKWARD" in x.name}
    return tuple(sorted(i for i in heads if instructions[i].name != "FOR_ITER"))


def _moved(slot: Slot, made: Mapping[int, Any]) -> Slot:
    first = slot[0]
    return (first.of(made), *slot[1:]) if isinstance(first, Place) else slot
