"""A graph enters; a `VerifyError` leaves where a call overwrites what is still wanted.

This follows memory through the graph as running it would, and asks nothing of what the passes ask
(`Graph.owner`, `Graph.last_reads`, `handing`): a mistake there is found here.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from codegen.errors import VerifyError
from codegen.ir import (
    Again,
    Block,
    Branch,
    Call,
    Constant,
    Graph,
    Join,
    Loop,
    Trait,
    Value,
    kept_by,
    walk,
)

Cell: TypeAlias = Hashable
"""A piece of memory: the value that it was made for or, in the turn of a loop, the parameter that
it was handed to; two parameters for what both may have."""


def verify_memory(graph: Graph) -> None:
    """Refuses a call that overwrites memory which the program did not make, or which is read later
    under whatever name."""
    if not any(isinstance(node, Call) and node.reuse is not None for node in walk(graph.nodes)):
        return
    memory = _Memory({}, {}, set(), {})
    for value in graph.inputs:
        memory.new(value, foreign=value not in graph.spent)
    _Follower(_wanted(graph), graph.leads).block(graph.block, memory)


def _wanted(graph: Graph) -> dict[Call, set[Value]]:
    """The values that are read after each call that overwrites something."""
    wanted: dict[Call, set[Value]] = {}
    again: dict[object, set[Value]] = {}  # what the next turn of each loop reads from before it

    def live(block: Block) -> set[Value]:
        """What is read from the beginning of a block on."""
        read = set(block.outputs)
        for node in reversed(block.nodes):
            match node:
                case Branch():
                    read = set().union(*map(live, node.blocks))
                case Loop(label):
                    read, before = again.setdefault(label, set()), -1
                    read |= (live(node.after) if node.after else set()) - {*node.results}
                    while len(read) > before:
                        before = len(read)
                        read |= live(node.turn) - {*node.results}
                    read = set(read)
                case Join(label):
                    again[label] = live(node.after) - {*node.results}
                    read = live(node.body)
                case Again(label):
                    read = set(again[label])
                case Call(reuse=int()):
                    wanted[node] = read.difference(node.results)
            read.difference_update(node.results)
            read.update(node.operands)
        return read

    live(graph.block)
    return wanted


@dataclass
class _Memory:
    """What is known at a point of the program.

    `cells` are those that each value may lie in. A parameter has cells of its own, because what it
    was handed in different turns is never there at once; `older` are those from before the loop
    that they may be. `foreign` are the cells that the program may not write to, and `lies` says why
    a value's memory is not that of a new array.
    """

    cells: dict[Value, frozenset[Cell]]
    older: dict[Cell, frozenset[Cell]]
    foreign: set[Cell]
    lies: dict[Value, str]

    def copy(self) -> _Memory:
        return _Memory(dict(self.cells), dict(self.older), set(self.foreign), dict(self.lies))

    def new(self, value: Value, foreign: bool = False) -> None:
        """The value is in memory of its own."""
        self.cells[value] = frozenset((value,))
        if foreign:
            self.foreign.add(value)

    def all_cells(self, value: Value) -> set[Cell]:
        """The cells that a value may lie in, under all their names."""
        found: set[Cell] = set()
        waiting = set(self.cells[value])
        while waiting:
            found |= waiting
            waiting = {old for cell in waiting for old in self.older.get(cell, ())} - found
        return found

    def overlap(self, a: Value, b: Value) -> bool:
        """Whether two values may be in the same memory."""
        cells, others = self.cells[a], self.cells[b]
        return not (cells.isdisjoint(self.all_cells(b)) and others.isdisjoint(self.all_cells(a)))

    def is_foreign(self, value: Value) -> bool:
        return not self.foreign.isdisjoint(self.all_cells(value))

    def hand(self, parameters: Sequence[Value], arguments: Sequence[Value], head: _Memory) -> None:
        """Adds to what may be at the beginning of a turn, where these are handed to it."""
        before = {
            cell for value in head.cells if value not in parameters for cell in head.cells[value]
        }
        given = list(zip(parameters, arguments, strict=True))
        for parameter, argument in given:
            shared = [frozenset((parameter, p)) for p, a in given if self.overlap(argument, a)]
            old = self.all_cells(argument) & before
            head.cells[parameter] = head.cells.get(parameter, frozenset()) | {parameter, *shared}
            head.older[parameter] = head.older.get(parameter, frozenset()) | old
            if self.is_foreign(argument):
                head.foreign.add(parameter)
            if argument in self.lies:
                head.lies[parameter] = self.lies[argument]
        head.foreign |= self.foreign & before

    def joined(self, other: _Memory) -> _Memory:
        """What is known where either may have come."""
        cells = {v: c | other.cells.get(v, frozenset()) for v, c in self.cells.items()}
        older = {c: o | other.older.get(c, frozenset()) for c, o in self.older.items()}
        return _Memory(
            {**other.cells, **cells},
            {**other.older, **older},
            self.foreign | other.foreign,
            {**other.lies, **self.lies},
        )

    def extent(self) -> int:
        """How much is known; it only grows."""
        tables = (*self.cells.values(), *self.older.values(), self.foreign, self.lies)
        return sum(map(len, tables))


class _Follower:
    """Follows memory through blocks.

    While it is asked what is at the beginning of a loop's turns, blocks that do not lead `to` the
    next one are left out.
    """

    def __init__(
        self, wanted: Mapping[Call, set[Value]], leads: Mapping[Block, frozenset[object]]
    ) -> None:
        self.wanted = wanted
        self.leads = leads
        self.to: object = None
        self.heads: dict[object, tuple[Loop | Join, _Memory]] = {}

    def block(self, block: Block, memory: _Memory) -> None:
        for node in block.nodes:
            match node:
                case Constant(result=result):
                    memory.new(result, foreign=True)
                case Call():
                    self._call(node, memory)
                case Branch(blocks=blocks):
                    for inner in filter(self._matters, blocks):
                        self.block(inner, memory.copy())
                case Loop():
                    self._loop(node, memory)
                case Join():
                    behind = memory.copy()
                    self.heads[node.label] = node, behind
                    self.block(node.body, memory.copy())
                    if all(p in behind.cells for p in node.parameters):
                        self.block(node.after, behind)
                case Again(label, arguments):
                    head, known = self.heads[label]
                    memory.hand(head.parameters, arguments, known)

    def _call(self, call: Call, memory: _Memory) -> None:
        if call.reuse is not None:
            self._overwrite(call, call.operands[call.reuse], memory)
        for result in call.results:
            memory.new(result, foreign=Trait.EXTENT in call.op.traits)
            if call.shown is not None:
                memory.cells[result] = memory.cells[call.shown]
                memory.lies[result] = "which is a view"
            elif call.memory is Trait.LOOSE:
                memory.lies[result] = "which does not lie as a new array"
            elif call.reuse is not None:
                memory.cells[result] = memory.cells[call.operands[call.reuse]]
        for value in kept_by([call]):
            memory.foreign |= memory.all_cells(value)

    def _overwrite(self, call: Call, operand: Value, memory: _Memory) -> None:
        name = call.op.name
        if memory.is_foreign(operand):
            raise VerifyError(f"{name}: reuses memory that the graph does not own: {operand!r}")
        if operand in memory.lies:
            raise VerifyError(f"{name}: cannot reuse {operand!r}, {memory.lies[operand]}")
        for value in self.wanted[call]:
            if memory.overlap(value, operand):
                raise VerifyError(f"{name}: reuses {operand!r}, which is read later: {value!r}")

    def _loop(self, loop: Loop, memory: _Memory) -> None:
        """Follows the first turn, and a later one until another adds nothing to its beginning.

        What the first turn was handed, and somebody keeps, is not what later turns are handed.
        """
        first, later = memory.copy(), memory.copy()
        memory.hand(loop.parameters, loop.arguments, first)
        self.heads[loop.label] = loop, later
        known, to = -1, self.to
        self.to = loop.label
        self._turn(loop, first)
        again = all(p in later.cells for p in loop.parameters)
        while again and known < (known := later.extent()):
            self._turn(loop, later)
        self.to = to
        heads = (first, later) if again else (first,)
        if self._matters(loop.turn):
            for head in heads:
                self._turn(loop, head)
        if loop.after and self._matters(loop.after):
            self._behind(loop.after, heads)

    def _behind(self, block: Block, heads: Sequence[_Memory]) -> None:
        """What is behind a loop, where either of the heads may have come.

        One after the other is more exact, and takes twice the time for each loop that follows.
        """
        if len(heads) > 1:
            try:
                self.block(block, heads[0].joined(heads[1]))
                return
            except VerifyError:
                pass
        for head in heads:
            self.block(block, head)

    def _turn(self, loop: Loop, head: _Memory) -> None:
        turn = head.copy()
        if loop.counter:
            turn.new(loop.counter.index, foreign=True)
        self.block(loop.turn, turn)

    def _matters(self, block: Block) -> bool:
        return self.to is None or self.to in self.leads[block]
