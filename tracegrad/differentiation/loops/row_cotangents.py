"""Writes the cotangents of rows as a tape does, in place.

A cotangent of which rows are met one by one begins as zeros. The first cotangent of a row is set,
further ones are added, so that a -0.0 stays where it is all there is: which of a turn's updates
meets a row first follows from how far their numbers are from the counter's.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, replace

from codegen.ir import (
    Again,
    Block,
    Branch,
    Builder,
    Call,
    Constant,
    Join,
    Loop,
    Node,
    Value,
    inner_blocks,
    walk,
)
from codegen.rewrite import substituted
from codegen.sizes import Sizes
from codegen.spelling import Subscript
from tracegrad.ops.elementwise.ufuncs import add, multiply, negative, subtract
from tracegrad.ops.shape.indexing import (
    add_at,
    element,
    gather,
    getitem_basic,
    getitem_copy,
    set_at,
    subtract_at,
)

MOST_AHEAD = 4
"""So far apart may the rows be that a turn adds to."""


@dataclass(frozen=True)
class Turns:
    """A turn's backward, at least its straight code: its nodes, its loop, and its counter.

    The counter's numbers go down to `lowest`; there are `count` of them, or more where they are not
    counted.
    """

    nodes: tuple[Node, ...]
    label: object
    index: Value
    lowest: int
    count: int

    def row(self, value: Value) -> tuple[int, int] | None:
        """A row's number: so many times the counter's, and what is added; None for others."""
        if value is self.index:
            return 1, 0
        made = next((node for node in self.nodes if value in node.results), None)
        if not isinstance(made, Call) or made.op not in (add, subtract, multiply):
            return None
        left, right = made.operands
        base, number = self.row(left), self._number(right)
        if base is None or number is None:
            return None
        times, plus = base
        if made.op is multiply:
            return times * number, plus * number
        return times, plus + (number if made.op is add else -number)

    def _number(self, value: Value) -> int | None:
        made = next((node for node in self.nodes if value in node.results), None)
        whole = isinstance(made, Constant) and type(made.value) is int
        return made.value if whole else None  # type: ignore[union-attr,return-value]

    def readers(self, value: Value) -> list[Node]:
        """The nodes that read a value, once for each time."""
        return [node for node in walk(self.nodes) for v in node.operands if v is value]

    def updates(self, parameter: Value) -> list[Call] | None:
        """All that is done to a parameter: updates of rows, one after the other, to the next turn.

        None where anything else reads it, or where they are not of one form.
        """
        found: list[Call] = []
        value = parameter
        while True:
            readers = self.readers(value)
            if len(readers) != 1:
                return None
            (reader,) = readers
            if isinstance(reader, Again):
                return found if found and reader.label is self.label else None
            if not isinstance(reader, Call) or reader.op not in (add_at, subtract_at):
                return None
            if reader not in self.nodes or len(reader.operands) != 3:
                return None
            if found and reader.attributes != found[0].attributes:
                return None
            if value is not reader.operands[0]:
                return None
            found.append(reader)
            (value,) = reader.results


def set_once(
    turn: Turns, empty: Iterable[Value], sizes: Sizes, ahead: Callable[[Value, Call, int], None]
) -> tuple[Node, ...]:
    """The nodes of a turn, which sets each row where it is met first (-0.0 stays so).

    `empty` are parameters that begin as zeros. Turns go from the last number to the first, so that
    the lowest row of a turn is one that nobody has met. Rows above those that are the lowest of a
    turn are met first by others, in the first turns: ``ahead(parameter, update, n)`` makes the row
    that is `n` from the first number -0.0, which changes no sum.
    """
    sets: dict[Node, None] = {}
    if isinstance(turn.nodes[-1], Branch | Join):
        for parameter in empty:
            sets.update(dict.fromkeys(_OnWays(turn, parameter).first_updates()))
        return _set(turn.nodes, sets.keys(), sizes)
    for parameter in empty:
        updates = turn.updates(parameter)
        if updates is None:
            continue
        found = [turn.row(update.operands[2]) for update in updates]
        rows = [row for row in found if row is not None]
        if len(rows) < len(found) or len({times for times, _ in rows}) > 1:
            continue
        times, lowest = rows[0][0], min(plus for _, plus in rows)
        highest = max(plus for _, plus in rows)
        if times < 1 or times * turn.lowest + lowest < 0:
            continue
        if highest > lowest and (times > 1 or highest - lowest > min(MOST_AHEAD, turn.count - 1)):
            continue
        sets[updates[rows.index((times, lowest))]] = None
        for n in range(lowest + 1, highest + 1):
            ahead(parameter, updates[0], n)
    return _set(turn.nodes, sets.keys(), sizes)


class _Other(Exception):
    """Something else is done to a parameter than updates of one row."""


class _OnWays:
    """The updates of a parameter's rows on the ways through a turn, to the next one."""

    def __init__(self, turn: Turns, parameter: Value) -> None:
        self.block = Block(turn.nodes)
        self.turn = replace(turn, nodes=tuple(walk(turn.nodes)))
        self.parameter = parameter
        self.updates: list[Call] = []
        self.first: list[Call] = []
        self.arrived: dict[object, list[tuple[list[int], Value, bool | None]]] = {}

    def first_updates(self) -> list[Call]:
        """On each way the first update, where all are of one row, which no other turn meets."""
        try:
            self._through(self.block, self.parameter, False)
        except _Other:
            return []
        rows = {self.turn.row(update.operands[2]) for update in self.updates}
        (row,) = rows if len(rows) == 1 else (None,)
        if row is None or row[0] < 1 or row[0] * self.turn.lowest + row[1] < 0:
            return []
        return self.first

    def _through(self, block: Block, value: Value, met: bool | None) -> None:
        """Goes through a block, with what the parameter has become, and whether a row was met.

        None where some ways have met one.
        """
        for node in block.nodes:
            read = any(v is value for v in node.operands)
            if isinstance(node, Again):
                self._ends(node, value, met)
            elif isinstance(node, Call) and read:
                value, met = self._updated(node, value, met), True
            elif isinstance(node, Join):
                self._through(node.body, value, met)
                value, met = self._behind(node, value, met)
                self._through(node.after, value, met)
            elif read or isinstance(node, Loop):
                raise _Other
            elif isinstance(node, Branch):
                for inner in node.blocks:
                    self._through(inner, value, met)

    def _updated(self, call: Call, value: Value, met: bool | None) -> Value:
        alike = not self.updates or call.attributes == self.updates[0].attributes
        only = sum(v is value for v in call.operands) == 1 and call.operands[0] is value
        if call.op not in (add_at, subtract_at) or len(call.operands) != 3 or not (alike and only):
            raise _Other
        if met is None:
            raise _Other
        if not met:
            self.first.append(call)
        self.updates.append(call)
        return call.results[0]

    def _ends(self, again: Again, value: Value, met: bool | None) -> None:
        places = [i for i, v in enumerate(again.arguments) if v is value]
        if again.label is not self.turn.label:
            self.arrived.setdefault(again.label, []).append((places, value, met))
        elif len(places) != 1:
            raise _Other

    def _behind(self, join: Join, before: Value, met: bool | None) -> tuple[Value, bool | None]:
        """What the parameter is behind a join, and whether a row was met."""
        arrived = self.arrived.pop(join.label, [])
        if all(not places and value is before for places, value, _ in arrived):
            return before, met
        places, _, met = arrived[0]
        if len(places) != 1 or any(other != places for other, _, _ in arrived):
            raise _Other
        alike = all(other is met for _, _, other in arrived)
        return join.parameters[places[0]], met if alike else None


def _set(nodes: Sequence[Node], sets: Set[Node], sizes: Sizes) -> tuple[Node, ...]:
    """The nodes, some of whose updates set a row."""
    changed: list[Node] = []
    for node in nodes:
        if node in sets:
            assert isinstance(node, Call)
            x, value, index = node.operands
            if node.op is subtract_at:
                value = _negated(value, changed, sizes)
            node = replace(node, op=set_at, operands=(x, value, index))
        elif isinstance(node, Branch | Join):
            blocks = [replace(b, nodes=_set(b.nodes, sets, sizes)) for b in node.blocks]
            node = replace(node, blocks=tuple(blocks))
        changed.append(node)
    return tuple(changed)


def _negated(value: Value, nodes: list[Node], sizes: Sizes) -> Value:
    builder = Builder(sizes)
    (result,) = builder.call(negative, (value,), value.origin)
    nodes += builder.nodes
    return result


def without_resets(
    turn: Turns, parameters: Sequence[Value], after: Block, is_zero: Callable[[Value], bool]
) -> tuple[Node, ...]:
    """The nodes of a turn without zeros in rows that nobody reads again.

    A row that was written in the forward has no cotangent before that. Where turns read the row of
    their own number alone, and what follows them only rows below, that need not be written.
    """
    stands: dict[Value, Value] = {}
    read = _readers(after)
    known = {value for _, value in read}
    for parameter in parameters:
        found = _reset(turn, parameter, is_zero)
        readers = [node for node, value in read if value is parameter]
        if found is not None and all(_is_below(turn, node, known) for node in readers):
            stands[found.results[0]] = found.operands[0]
    return _without(turn.nodes, stands)


def _reset(turn: Turns, parameter: Value, is_zero: Callable[[Value], bool]) -> Call | None:
    """The update that sets the row of a turn's number to 0, where turns read no rows but that."""
    found = None
    value: Value | None = parameter
    while value is not None:
        following = None
        for reader in turn.readers(value):
            if isinstance(reader, Again) and reader.label is turn.label:
                continue
            if not isinstance(reader, Call) or reader not in turn.nodes:
                return None
            if reader.operands[0] is not value or not _is_row(reader):
                return None
            row = turn.row(reader.operands[-1])
            if row is None or row[0] != 1 or row[1] > 0:
                return None
            if reader.op is gather:
                if row[1] < 0 or found is not None:
                    return None
                continue
            if following is not None or len(reader.operands) != 3:
                return None
            if reader.op is set_at:
                if found is not None or row[1] != 0 or not is_zero(reader.operands[1]):
                    return None
                found = reader
            elif reader.op not in (add_at, subtract_at) or row[1] == 0:
                return None
            (following,) = reader.results
        value = following
    return found


def _is_row(call: Call) -> bool:
    """Whether a call reads or writes what a number names along the first axis."""
    index = dict(call.attributes).get("index")
    return isinstance(index, Subscript) and len(call.operands) in (2, 3) and _first(index)


def _first(index: Subscript) -> bool:
    return len(index.items) == 1 and not isinstance(index.items[0], int | slice)


def _readers(block: Block) -> list[tuple[Node | None, Value]]:
    """What a block reads, with the nodes that do so."""
    found: list[tuple[Node | None, Value]] = []
    for node in block.nodes:
        found += [(node, v) for v in node.operands]
        for inner in inner_blocks(node):
            found += _readers(inner)
    return found + [(None, v) for v in block.outputs]


def _is_below(turn: Turns, node: Node | None, read: Set[Value]) -> bool:
    """Whether a node behind the turns reads no row of theirs; what it makes, maybe nobody reads."""
    if not isinstance(node, Call):
        return False
    if node.op is set_at and read.isdisjoint(node.results):
        return True
    if node.op not in (element, getitem_basic, getitem_copy):
        return False
    first = node.attribute("index").items[0]
    return type(first) is int and 0 <= first < turn.lowest


def _without(nodes: Sequence[Node], stands: Mapping[Value, Value]) -> tuple[Node, ...]:
    """The nodes without those that make what others stand for."""

    def now(value: Value) -> Value:
        while value in stands:
            value = stands[value]
        return value

    kept = [n for n in nodes if not (isinstance(n, Call) and n.results[0] in stands)]
    return substituted(Block(tuple(kept)), now).nodes
