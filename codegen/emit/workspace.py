"""Plans the memory of a function: reused buffers, and `del` where that saves much of it.

A variable keeps its array until the function returns, if nothing takes its name. Where arrays that
nobody reads any more are a sixth of the peak, they are deleted before the statement that would make
the peak: one line for all of them. Lengths that are not known count as `LENGTH`.
"""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property

from codegen import sizes as sz
from codegen.array_bytes import bytes_of, bytes_text
from codegen.emit.writer import Writer
from codegen.ir import Branch, Call, Constant, Graph, Join, Loop, Origin, Trait, Value, dims_of
from codegen.passes.fuse import unsliced
from codegen.sizes import Dim
from codegen.spelling import Spelling
from codegen.types import ArrayType

LENGTH = 4
"""What a length counts as that is not known."""

WORTH = 1.2
"""How many times what is needed is held where deleting is worth a line."""

ENOUGH = 1.1
"""How many times what is needed is held at most after that."""

FEW = 13
"""Lines below which nothing is deleted: what they hold is seen at a glance."""

SHORT = 20
"""Lines below which arrays whose lengths are not known are let be but for those of three axes."""

EACH = 5
"""Statements that one line to delete is for: there are no more of them."""

SMALL = 1 << 10
"""Elements that the header does not mention beside arrays of free lengths."""

ELIDED = 1 << 18
"""Bytes of a temporary from which on NumPy's operators write into it."""

Bound = tuple[int, str, Value]
"""A variable and what it was given, with the number of lines after that statement."""


@dataclass
class Step:
    """A statement: where it ends, what it binds or returns, the words on its right, its lines."""

    end: int
    binds: list[tuple[str, Value]] = field(default_factory=list)
    returns: Sequence[Value] = ()
    reads: set[str] = field(default_factory=set)
    lines: int = 0


@dataclass
class Held:
    """A variable, the value whose memory it has, and the last statement that reads it."""

    name: str
    block: Value
    last: int


Dead = Callable[[int, int, Mapping[str, Held]], Sequence[str]]
"""Before a statement, with its number and what is held then: which variables are deleted."""


def make_room(
    graph: Graph,
    writer: Writer[Origin],
    start: int,
    bound: Sequence[Bound],
    over: set[Value],
    spellings: Mapping[Call, Spelling],
) -> str | None:
    """Writes `del` where it is worth it; how much memory the function needs then.

    The function's lines begin at `start`; `over` are values that took over an operand's memory,
    `spellings` what calls were written as.
    None where that is not known: for one that branches or loops, where a function is called that
    does not tell, or where lengths are free and no single one decides.
    """
    if any(isinstance(node, Branch | Loop | Join) for node in graph.nodes):
        return None
    steps = statements(graph, writer.lines, start, bound)
    memory = Memory(graph, steps, over, spellings)
    peak, deleted = _planned(steps, memory)
    for i in sorted(deleted, reverse=True):
        at = steps[i - 1].end
        before = writer.lines[at - 1]
        indent = before[: len(before) - len(before.lstrip())]
        writer.lines.insert(at, f"{indent}del {', '.join(deleted[i])}")
        writer.marks.insert(at, writer.marks[at - 1])
    if 50 * memory.unknown > peak:
        return None
    return _formula(steps, memory, deleted) if memory.free else f"at most {bytes_text(peak)}"


def statements(
    graph: Graph, lines: Sequence[str], start: int, bound: Sequence[Bound]
) -> list[Step]:
    """The statements that bind, in order, and the return."""
    steps: list[Step] = []
    for end, name, value in bound:
        if not (steps and steps[-1].end == end):
            steps.append(Step(end))
        steps[-1].binds.append((name, value))
    steps.append(Step(len(lines), returns=graph.outputs))
    for step in steps:
        for line in lines[start : step.end]:
            if line and not line.lstrip().startswith("#"):
                step.lines += 1
                step.reads.update(_WORD.findall(_right_side(line)))
        start = step.end
    return steps


_WORD = re.compile(r"[^\W\d]\w*")


def _right_side(line: str) -> str:
    """A line without the names that it only binds."""
    left, sign, right = line.partition(" = ")
    return right if sign and all(map(str.isidentifier, left.strip().split(", "))) else line


# -- what to delete -----------------------------------------------------------------------------


def _planned(steps: Sequence[Step], memory: Memory) -> tuple[int, dict[int, list[str]]]:
    """The peak, and what is deleted before which statements."""
    held, _ = memory.peak()
    if sum(step.lines for step in steps) < FEW:
        return held, {}
    least, _ = memory.peak(eagerly=True)
    if held <= WORTH * least:
        return held, {}
    limit = ENOUGH * least
    while WORTH * limit <= held * ENOUGH:
        peak, deleted = _deleting(steps, memory, limit)
        if len(deleted) * EACH <= len(steps):
            return peak, deleted
        limit *= ENOUGH
    return held, {}


def _deleting(
    steps: Sequence[Step], memory: Memory, limit: float
) -> tuple[int, dict[int, list[str]]]:
    """What keeps the limit: where it is met, all variables are deleted that nobody reads."""
    deleted: dict[int, list[str]] = {}
    axes = 3 if memory.free and sum(step.lines for step in steps) < SHORT else 1

    def dead(i: int, usage: int, now: Mapping[str, Held]) -> list[str]:
        if usage <= limit:
            return []
        needed = {held.block for held in now.values() if held.last >= i}
        found = [
            name
            for name, held in now.items()
            if held.block not in needed
            and held.block.type.ndim >= axes
            and 50 * memory.bytes(held.block) >= limit
        ]
        if found:
            deleted[i] = found
        return found

    return memory.peak(dead)[0], deleted


def _formula(
    steps: Sequence[Step], memory: Memory, deleted: Mapping[int, Sequence[str]]
) -> str | None:
    """The peak in a free length, where one number of elements makes nine tenths of it."""

    def dead(i: int, usage: int, now: Mapping[str, Held]) -> Sequence[str]:
        return deleted.get(i, ())

    peak, at = memory.peak(dead)
    shares: Counter[Dim] = Counter()
    for value, (size, _) in memory.elements.items():
        shares[size] += memory.bytes(value)
    size = max(shares, key=shares.__getitem__, default=0)
    if isinstance(size, int) or not all(_is_within(other, size) for other in +shares):
        return None
    memory.only = size
    part, _ = memory.peak(dead, at=at)
    memory.only = None
    if 10 * part < 9 * peak:
        return None
    each = -(-part // memory.length_of(size))
    return f"about {sz.as_python(sz.mul([each, size]))} bytes"


def _is_within(size: Dim, whole: Dim) -> bool:
    """Whether a number of elements is another one's, or one with some of its lengths left out."""
    if size == whole or isinstance(size, int) or isinstance(whole, int):
        return size == whole or (isinstance(size, int) and size <= SMALL)
    lengths = [Counter(atoms) for atoms, _ in whole.terms]
    return len(lengths) == 1 and all(Counter(atoms) <= lengths[0] for atoms, _ in size.terms)


def _none(i: int, usage: int, now: Mapping[str, Held]) -> Sequence[str]:
    return ()


# -- memory -------------------------------------------------------------------------------------


def numbers_of(graph: Graph) -> set[Value]:
    """The numbers that are computed from constants alone: the source has what they come to."""
    found: set[Value] = set()
    for value, node in graph.producer.items():
        computed = isinstance(node, Call) and node.operands and found.issuperset(node.operands)
        if isinstance(node, Constant) or (computed and not value.type.shape):
            found.add(value)
    return found


class Memory:
    """What the values of a graph take while its statements run.

    With `only`, arrays of that number of elements count, no others.
    """

    def __init__(
        self,
        graph: Graph,
        steps: Sequence[Step],
        over: set[Value],
        spellings: Mapping[Call, Spelling],
    ) -> None:
        self.graph, self.steps, self.over, self.spellings = graph, steps, over, spellings
        self.only: Dim | None = None
        self.variables = {value for step in steps for _, value in step.binds}
        self.numbers = numbers_of(graph)
        self.free = False  # whether a length is not known
        self.unknown = 0  # the largest operand of a call of which nobody knows what it takes
        self.elements: dict[Value, tuple[Dim, int]] = {}
        self.blocks: dict[Value, Value] = {}
        self.made_here: dict[Value, bool] = {}  # of values: whether they are arrays that it makes
        self.measures: dict[tuple[str, tuple[Dim, ...]], tuple[Dim, int]] = {}

    def length_of(self, size: Dim) -> int:
        """A number of elements, the lengths in it taken as they count here."""
        self.free = self.free or not isinstance(size, int)
        return sz.guessed(size, LENGTH)

    def bytes(self, value: Value) -> int:
        """What a value that the function makes takes; numbers and arguments nothing."""
        made = self.made_here.get(value)
        if made is None:
            call = self.graph.producer.get(value)
            made = isinstance(call, Call) and Trait.EXTENT not in call.op.traits
            made = self.made_here[value] = made and bool(value.type.shape)
        return self._whole(value) if made else 0

    def _whole(self, value: Value) -> int:
        size, taken = self.elements.get(value) or self._measured(value)
        return taken if self.only is None or self.only == size else 0

    def _measured(self, value: Value) -> tuple[Dim, int]:
        """How many elements a value has, and what they take."""
        key = value.type.dtype, dims_of(self.graph.sizes, value.type)
        found = self.measures.get(key)
        if found is None:
            size = sz.mul(map(unsliced, key[1]))
            type_ = ArrayType(key[0], (self.length_of(size),))
            found = self.measures[key] = size, bytes_of(self.graph.sizes, type_, {}) or 0
        self.elements[value] = found
        return found

    def block(self, value: Value) -> Value:
        """The value whose memory a value has: an operand, where it is a view of it or over it."""
        passed: list[Value] = []
        before: Value | None
        while value not in self.blocks:
            call, before = self.graph.producer.get(value), None
            if isinstance(call, Call) and value in self.over and call.reuse is not None:
                before = call.operands[call.reuse]
            elif isinstance(call, Call):
                before = call.shown
            if before is None:
                self.blocks[value] = value
            else:
                passed.append(value)
                value = before
        block = self.blocks[value]
        self.blocks.update(dict.fromkeys(passed, block))
        return block

    @cached_property
    def inner(self) -> list[int]:
        """What each statement takes at most while it runs, what it leaves included."""
        return list(map(self._inner, self.steps))

    def _inner(self, step: Step) -> int:
        most = held = 0
        returned = (value for value in step.returns if self._is_inner(value))
        for value in (*(value for _, value in step.binds), *returned):
            peak, left = self._evaluated(value)
            most, held = max(most, held + peak), held + left
        return most

    def _is_inner(self, value: Value) -> bool:
        if value in self.variables or value in self.numbers:
            return False
        return isinstance(self.graph.producer.get(value), Call)

    def _evaluated(self, value: Value) -> tuple[int, int]:
        """The most bytes while a value is computed, and those that it leaves."""
        call = self.graph.producer[value]
        assert isinstance(call, Call)
        most = 0
        temporaries: dict[Value, int] = {}
        for operand in call.operands:
            if operand not in temporaries and self._is_inner(operand):
                held = sum(temporaries.values())
                peak, temporaries[operand] = self._evaluated(operand)
                most = max(most, held + peak)
        held = sum(temporaries.values())
        if call.shown is not None:
            return most, temporaries.get(call.shown, 0)
        held += self._scratch(call)
        if value in self.over:
            return max(most, held), 0
        own = sum(map(self.bytes, call.results))
        if self.spellings[call].expression is None:  # what is written to is made first
            return max(most, held) + own, own
        taken = own if self._elided(call, temporaries) else 0
        return max(most, held + own - taken), own

    def _elided(self, call: Call, temporaries: Mapping[Value, int]) -> bool:
        """Whether NumPy's operator writes into an operand that nothing else refers to."""
        result = call.results[0]
        if self.bytes(result) < ELIDED or self.spellings[call].operator(call.op.operands) is None:
            return False
        first = call.operands if Trait.COMMUTATIVE in call.op.traits else call.operands[:1]
        shape = dims_of(self.graph.sizes, result.type)
        return any(
            operand in temporaries
            and operand.type.dtype == result.type.dtype
            and dims_of(self.graph.sizes, operand.type) == shape
            for operand in first
        )

    def _scratch(self, call: Call) -> int:
        """What the source of a call takes besides its result."""
        scratch, known = call.op.scratch, Trait.EXTENT in call.op.traits
        if scratch is None and (known or _is_one(self.spellings[call])):
            scratch = 0
        if scratch == 0 or call.results[0] in self.over:
            return 0
        largest = max(map(self._whole, (*call.operands, *call.results)))
        if scratch is None:
            self.unknown = max(self.unknown, largest)
        return int(largest * (scratch or 0))

    def peak(
        self,
        dead: Dead = _none,
        eagerly: bool = False,
        at: int | None = None,
    ) -> tuple[int, int]:
        """The most that is held while a statement runs, and which statement that is.

        With `eagerly` everything is deleted that nobody reads any more; with `at` the one
        statement counts.
        """
        now: dict[str, Held] = {}
        holders: Counter[Value] = Counter()
        ending: dict[int, list[Held]] = {}
        live, most, where = 0, -1, 0

        def dropped(name: str) -> int:
            block = now.pop(name).block
            holders[block] -= 1
            return 0 if holders[block] else self.bytes(block)

        for i, made in enumerate(self.made):
            inner = self.inner[i] if at is None else self._inner(self.steps[i]) if i == at else 0
            for name in dead(i, live + inner, now):
                live -= dropped(name)
            if live + inner > most and at in (i, None):
                most, where = live + inner, i
            for held in made:
                if held.name in now:
                    live -= dropped(held.name)
                live += 0 if holders[held.block] else self.bytes(held.block)
                holders[held.block] += 1
                now[held.name] = held
                ending.setdefault(held.last, []).append(held)
            for held in ending.pop(i, ()) if eagerly else ():
                if now.get(held.name) is held:
                    live -= dropped(held.name)
        return most, where

    @cached_property
    def made(self) -> list[list[Held]]:
        """What each statement binds, with the last that reads it."""
        now: dict[str, Held] = {}
        made: list[list[Held]] = []
        for i, step in enumerate(self.steps):
            for name in step.reads & now.keys():
                now[name].last = i
            made.append([Held(name, self.block(value), i) for name, value in step.binds])
            now.update((held.name, held) for held in made[-1])
        return made


@cache
def _is_one(spelling: Spelling) -> bool:
    """Whether an expression makes nothing but its result: it is one call of NumPy's."""
    if spelling.expression is None:
        return False
    made = [node for node in ast.walk(spelling.expression) if isinstance(node, _MAKES)]
    functions = [node.func for node in made if isinstance(node, ast.Call)]
    return len(made) <= 1 and not any(isinstance(f, ast.Name) for f in functions)


_MAKES = (ast.Call, ast.BinOp, ast.UnaryOp, ast.Compare)
