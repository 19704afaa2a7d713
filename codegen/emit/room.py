"""The lines of a function, and what their variables hold, enter; the most memory that it needs
leaves, and `del` where that saves much of it.

A variable keeps its array until the function returns, if nothing takes its name. Where arrays that
nobody reads any more are a sixth of the peak, they are deleted before the statement that would make
the peak: one line for all of them. Lengths that are not known count as `LENGTH`.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from codegen.emit.writer import Writer
from codegen.ir import Branch, Call, Graph, Origin, Trait, Value, dims_of
from codegen.memory import bytes_of
from codegen.sizes import symbols

LENGTH = 8
"""What a length counts as that is not known."""

WORTH = 1.2
"""How many times what is needed is held where deleting is worth a line."""

ENOUGH = 1.1
"""How many times what is needed is held at most after that."""

FEW = 13
"""Lines below which nothing is deleted: what they hold is seen at a glance."""

SHORT, GUESSED = 20, LENGTH**3 * 4
"""In so few lines arrays whose lengths are not known are let be but for those of three axes."""

EACH = 5
"""Statements that one line to delete is for: there are no more of them."""

ELIDED = 1 << 18
"""Bytes of a temporary from which on NumPy's operators write into it."""

_WORD = re.compile(r"[A-Za-z_]\w*")


@dataclass
class _Held:
    """A variable with what it shows, and the statements from which to which it is read."""

    name: str
    block: Value
    last: int


@dataclass
class _Step:
    """A statement: where its lines end, what it binds and reads, what it takes, its lines."""

    end: int
    binds: list[tuple[str, Value]] = field(default_factory=list)
    reads: set[str] = field(default_factory=set)
    inner: int = 0
    lines: int = 0


class Room:
    """Counts the memory of a function of statements alone; see the module's first lines."""

    def __init__(
        self, graph: Graph, bound: Sequence[tuple[int, str, Value]], over: set[Value]
    ) -> None:
        self.graph = graph
        self.over = over
        self.variables = {value for _, _, value in bound}
        self.known: dict[str, int] = {}
        self.exact = True  # whether all lengths are known
        self.sizes: dict[Value, int] = {}
        self.bound = bound

    def planned(self, writer: Writer[Origin], start: int) -> int:
        """The peak in bytes, after `del` was written where it is worth it."""
        steps = self._steps(writer.lines, start)
        made = self._made(steps)
        held = self._peak(steps, made, _nothing)
        least = self._peak(steps, made, _nothing, eagerly=True)
        if held <= WORTH * least or sum(step.lines for step in steps) < FEW:
            return held
        limit = int(ENOUGH * least)
        while True:
            peak, deleted = self._deleting(steps, made, limit)
            if len(deleted) * EACH <= len(steps) or WORTH * limit > held:
                break
            limit = int(ENOUGH * limit)
        if len(deleted) * EACH > len(steps):
            return held
        for i in sorted(deleted, reverse=True):
            at = steps[i - 1].end
            before = writer.lines[at - 1]
            indent = before[: len(before) - len(before.lstrip())]
            writer.lines.insert(at, f"{indent}del {', '.join(deleted[i])}")
            writer.marks.insert(at, writer.marks[at - 1])
        return peak

    def _deleting(
        self, steps: Sequence[_Step], made: Sequence[Sequence[_Held]], limit: int
    ) -> tuple[int, dict[int, list[str]]]:
        """The peak, and which variables are deleted before which statements to keep the limit."""
        deleted: dict[int, list[str]] = {}
        short = not self.exact and sum(step.lines for step in steps) < SHORT
        least = max(limit / 50, GUESSED) if short else limit / 50

        def dead(i: int, usage: int, now: Mapping[str, _Held]) -> list[str]:
            """Where the limit is met, variables that nobody reads, and that alone hold an array."""
            if usage <= limit:
                return []
            needed = {variable.block for variable in now.values() if variable.last >= i}
            found = [
                name
                for name, variable in now.items()
                if variable.block not in needed and self.bytes(variable.block) >= least
            ]
            if found:
                deleted[i] = found
            return found

        return self._peak(steps, made, dead), deleted

    # -- statements -----------------------------------------------------------------------------

    def _steps(self, lines: Sequence[str], start: int) -> list[_Step]:
        """The statements that bind, in order, and the return."""
        steps: list[_Step] = []
        for end, name, value in self.bound:
            if not (steps and steps[-1].end == end):
                steps.append(_Step(end))
            steps[-1].binds.append((name, value))
        steps.append(_Step(len(lines)))
        before = start
        for step in steps:
            for line in lines[before : step.end]:
                if line and not line.lstrip().startswith("#"):
                    step.lines += 1
                    step.reads.update(_WORD.findall(_right_side(line)))
            values = [value for _, value in step.binds] or self.graph.outputs
            step.inner = self._inner(values, bool(step.binds))
            before = step.end
        return steps

    def _inner(self, values: Sequence[Value], binds: bool) -> int:
        """What a statement takes at most while it runs, what it leaves included."""
        most = held = 0
        for value in values:
            if not binds and (value in self.variables or not self._is_inner(value)):
                continue
            peak, left = self._evaluated(value)
            most, held = max(most, held + peak), held + left
        return most

    def _evaluated(self, value: Value) -> tuple[int, int]:
        """The most bytes while a value is computed, and those that it leaves, temporaries all."""
        call = self.graph.producer[value]
        assert isinstance(call, Call)
        most, temporaries = 0, dict[Value, int]()
        for operand in call.operands:
            if operand not in temporaries and self._is_inner(operand):
                held = sum(temporaries.values())
                peak, left = self._evaluated(operand)
                temporaries[operand] = left
                most = max(most, held + peak)
        held = sum(temporaries.values())
        if call.op.traits & {Trait.VIEW, Trait.SPLAT}:
            return most, temporaries.get(call.operands[0], 0)
        if value in self.over:
            return max(most, held), 0
        own = sum(map(self.bytes, call.results))
        taken = own if self._elided(call, temporaries) else 0
        return max(most, held + own - taken), own

    def _elided(self, call: Call, temporaries: Mapping[Value, int]) -> bool:
        """Whether NumPy's operator writes into an operand that nothing else refers to."""
        result = call.results[0]
        spelling = call.op.spelled("numpy", dict(call.attributes))
        if spelling.operator(call.op.operands) is None or self.bytes(result) < ELIDED:
            return False
        first = call.operands if Trait.COMMUTATIVE in call.op.traits else call.operands[:1]
        shape = dims_of(self.graph.sizes, result.type)
        return any(
            operand in temporaries
            and operand.type.dtype == result.type.dtype
            and dims_of(self.graph.sizes, operand.type) == shape
            for operand in first
        )

    def _is_inner(self, value: Value) -> bool:
        return value not in self.variables and isinstance(self.graph.producer.get(value), Call)

    # -- memory ---------------------------------------------------------------------------------

    def block(self, value: Value) -> Value:
        """The value whose memory a value has: an operand, where it is a view of it or over it."""
        while isinstance(call := self.graph.producer.get(value), Call):
            if value in self.over and call.reuse is not None:
                value = call.operands[call.reuse]
            elif call.op.traits & {Trait.VIEW, Trait.SPLAT}:
                value = call.operands[0]
            else:
                break
        return value

    def bytes(self, value: Value) -> int:
        """What a value that the function makes takes; numbers and arguments nothing."""
        found = self.sizes.get(value)
        if found is None:
            call = self.graph.producer.get(value)
            array = isinstance(call, Call) and Trait.EXTENT not in call.op.traits
            found = self._bytes(value) if array and value.type.shape else 0
            self.sizes[value] = found
        return found

    def _bytes(self, value: Value) -> int:
        sizes = self.graph.sizes
        for dim in value.type.shape:
            for name in symbols(sizes.resolve(dim)):
                self.known.setdefault(name, LENGTH)
                self.exact = False
        return bytes_of(sizes, value.type, self.known) or 0

    # -- what is held ---------------------------------------------------------------------------

    def _made(self, steps: Sequence[_Step]) -> list[list[_Held]]:
        """What each statement binds, with the last that reads it."""
        now: dict[str, _Held] = {}
        made: list[list[_Held]] = []
        for i, step in enumerate(steps):
            for name in step.reads & now.keys():
                now[name].last = i
            made.append([_Held(name, self.block(value), i) for name, value in step.binds])
            now.update((held.name, held) for held in made[-1])
        return made

    def _peak(
        self,
        steps: Sequence[_Step],
        made: Sequence[Sequence[_Held]],
        dead: Callable[[int, int, Mapping[str, _Held]], Sequence[str]],
        eagerly: bool = False,
    ) -> int:
        """The most that is held while a statement runs.

        `dead` is asked before each statement which variables are deleted; with `eagerly` all are
        that are not read any more.
        """
        now: dict[str, _Held] = {}
        holders: Counter[Value] = Counter()
        ending: dict[int, list[_Held]] = {}
        live = most = 0

        def dropped(name: str) -> int:
            block = now.pop(name).block
            holders[block] -= 1
            return 0 if holders[block] else self.bytes(block)

        for i, step in enumerate(steps):
            for name in dead(i, live + step.inner, now):
                live -= dropped(name)
            most = max(most, live + step.inner)
            for held in made[i]:
                if held.name in now:
                    live -= dropped(held.name)
                live += 0 if holders[held.block] else self.bytes(held.block)
                holders[held.block] += 1
                now[held.name] = held
                ending.setdefault(held.last, []).append(held)
            for held in ending.pop(i, ()) if eagerly else ():
                if now.get(held.name) is held:
                    live -= dropped(held.name)
        return most


def _nothing(i: int, usage: int, now: Mapping[str, _Held]) -> Sequence[str]:
    return ()


def _right_side(line: str) -> str:
    """A line without the names that it only binds."""
    left, sign, right = line.partition(" = ")
    return right if sign and all(map(str.isidentifier, left.strip().split(", "))) else line


def make_room(
    graph: Graph,
    writer: Writer[Origin],
    start: int,
    bound: Sequence[tuple[int, str, Value]],
    over: set[Value],
) -> tuple[int, bool] | None:
    """The peak of a function that was just written, and whether it is exact.

    None for one that branches.
    """
    if any(isinstance(node, Branch) for node in graph.nodes):
        return None
    room = Room(graph, bound, over)
    peak = room.planned(writer, start)
    return peak, room.exact
