"""Writes the cotangents of rows as a tape does, in place.

A cotangent of which rows are met one by one begins as zeros. The first cotangent of a row is set,
further ones are added, so that a -0.0 stays where it is all there is: which of a turn's updates
meets a row first follows from how far their numbers are from the counter's.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from typing import TypeAlias

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
from codegen.sizes import Dim, Size, Sizes, SliceLength
from codegen.spelling import Slot, Subscript, Window
from tracegrad.ops.elementwise.ufuncs import add, multiply, negative, subtract
from tracegrad.ops.index_bounds import apart
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
MOST_COMPARED = 64
"""So many turns are compared, to tell which rows are met first."""


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
        if made.op is not subtract and self._number(left) is not None:
            left, right = right, left
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

    def at(self, number: Value, value: Value, builder: Builder) -> Value:
        """A number of a turn, as it is where the counter has another one."""
        if value is self.index:
            return number
        made = next((node for node in self.nodes if value in node.results), None)
        if isinstance(made, Constant):
            return builder.constant(made.value, value.type, made.slot, value.origin)
        if not isinstance(made, Call):
            return value
        operands = tuple([self.at(number, v, builder) for v in made.operands])
        unnamed = value.origin.named(None)  # a place, not what is read there
        return builder.call(made.op, operands, unnamed, **dict(made.attributes))[0]

    def readers(self, value: Value) -> list[Node]:
        """The nodes that read a value, once for each time."""
        return [node for node in walk(self.nodes) for v in node.operands if v is value]


def set_once(
    turn: Turns,
    empty: Mapping[Value, bool],
    sizes: Sizes,
    ahead: Callable[[Value, Call, int, bool], None],
) -> tuple[Node, ...]:
    """The nodes of a turn, which sets each row where it is met first (-0.0 stays so).

    `empty` are parameters that begin as zeros; True tells that other turns, of other rows, have
    been before. Turns go from the last number to the first, so that
    the lowest row of a turn is one that nobody has met. Rows above those that are the lowest of a
    turn are met first by others, in the first turns: ``ahead(parameter, update, n, False)`` makes
    the row that is `n` from the first number -0.0, which changes no sum. Slices are met as a whole:
    ``ahead(parameter, update, n, True)`` makes that -0.0 which the update meets in the turn there.
    So is a place that is the same in all turns, where each of them meets it.
    """
    sets: dict[Node, None] = {}
    for parameter, segmented in empty.items():
        ways = _Ways(turn, parameter, sizes)
        if not ways.are_known():
            continue
        if ways.places:
            for row, updates in ways.first.items():
                if not segmented and all(row in end.surely for end in ways.ends):
                    ahead(parameter, updates[0], 0, True)
            continue
        if ways.meet_slices:
            for update, turns in zip(ways.updates, ways.meet_first(), strict=True):
                if turns is None:
                    sets[update] = None
                for n in range(turns or 0):
                    ahead(parameter, update, -n, True)
            continue
        if not ways.meet_lowest_first():
            continue
        (_, lowest, _), (_, highest, _) = ways.rows[0], ways.rows[-1]
        sets.update(dict.fromkeys(ways.first[ways.rows[0]]))
        if ways.are_alike and highest - lowest <= min(MOST_AHEAD, turn.count - 1):
            for n in range(lowest + 1, highest + 1):
                ahead(parameter, ways.updates[0], n, False)
    return _set(turn.nodes, sets.keys(), sizes)


def met_by(turn: Turns, parameter: Value, sizes: Sizes) -> tuple[Subscript, ...]:
    """Where turns may write to a parameter that begins as zeros; nothing where nobody knows."""
    ways = _Ways(turn, parameter, sizes)
    if not ways.are_known():
        return ()
    if ways.places:
        return tuple([index for index, _ in ways.places])
    if ways.meet_slices:  # of lengths that nothing compares
        return ()
    try:
        along = _along(ways.updates[0])
    except _Other:
        return ()
    (times, lowest, _), *_ = ways.rows
    low = times * turn.lowest + lowest
    ended = any(_end_of_axis(update) is not None for update in ways.updates)
    if ended or times < 1 or low < 0 or not isinstance(along, int):
        return ()
    return (Subscript((*[slice(None)] * (along - 1), slice(low, None))),)


Row: TypeAlias = tuple[int, int, Dim]
"""So many times the counter's number, and what is added; and how many rows there are from it on."""


class _Other(Exception):
    """Something else is done to a parameter than updates of one row."""


@dataclass(frozen=True)
class _Met:
    """The rows that a turn has met: on all ways to a place, and on some."""

    surely: frozenset[Row] = frozenset()
    maybe: frozenset[Row] = frozenset()

    def too(self, row: Row) -> _Met:
        return _Met(self.surely | {row}, self.maybe | {row})


class _Ways:
    """The updates of a parameter's rows on the ways through a turn, to the next one."""

    def __init__(self, turn: Turns, parameter: Value, sizes: Sizes) -> None:
        self.block = Block(turn.nodes)
        self.whole = turn
        self.turn = replace(turn, nodes=tuple(walk(turn.nodes)))
        self.parameter = parameter
        self.sizes = sizes
        self.updates: list[Call] = []
        self.met_in_turn: list[Row] = []  # the rows of each of these
        self.places: list[tuple[Subscript, Row]] = []  # those that are the same in all turns
        self.first: dict[Row, list[Call]] = {}  # the updates that meet a row first in a turn
        self.ends: list[_Met] = []  # what turns have met
        self.arrived: dict[object, list[tuple[list[int], Value, _Met]]] = {}

    @property
    def rows(self) -> list[Row]:
        """The rows that turns meet, the lowest first."""
        return sorted(self.first)

    @property
    def are_alike(self) -> bool:
        """Whether all ways meet all of the rows."""
        return all(len(end.surely) == len(self.first) for end in self.ends)

    def are_known(self) -> bool:
        """Whether turns do nothing else to the parameter than to update its rows."""
        try:
            self._through(self.block, self.parameter, _Met())
        except _Other:
            return False
        return bool(self.first) and len({times for times, *_ in self.first}) == 1

    @property
    def meet_slices(self) -> bool:
        """Whether some updates are of several rows."""
        return any(call.attribute("index").windows for call in self.updates)

    def meet_first(self) -> list[int | None]:
        """In how many turns, from the first on, an update meets rows that nobody has met before.

        None stands for all turns. Where that has no such form, or arms update rows, it is 0.
        """
        straight = len(self.ends) == 1 and all(x in self.whole.nodes for x in self.updates)
        nothing: list[int | None] = [0] * len(self.updates)
        ends = {_end_of_axis(update) for update in self.updates}
        if straight and len(ends) == 1 and None not in ends:
            return [1, *nothing[1:]]  # each update meets what all the others meet
        turns = _first_meetings(self.met_in_turn) if straight else None
        if turns is None or any(n and n > min(MOST_AHEAD, self.whole.count) for n in turns):
            return nothing
        return turns

    def meet_lowest_first(self) -> bool:
        """Whether the lowest row of a turn is one that no turn before it has met."""
        times, lowest, _ = self.rows[0]
        below = times < 1 or times * self.whole.lowest + lowest < 0
        return not below and (times == 1 or len(self.first) == 1)

    def _through(self, block: Block, value: Value, met: _Met) -> None:
        """Goes through a block, with what the parameter has become, and the rows met so far."""
        for node in block.nodes:
            read = any(v is value for v in node.operands)
            if isinstance(node, Again):
                self._ends(node, value, met)
            elif isinstance(node, Call) and read:
                value, met = self._updated(node, value, met)
            elif isinstance(node, Join):
                self._through(node.body, value, met)
                value, met = self._behind(node, value, met)
                self._through(node.after, value, met)
            elif read:
                raise _Other
            elif isinstance(node, Loop):
                if any(v is value for inner in walk(node.turn.nodes) for v in inner.operands):
                    raise _Other
                if node.after:
                    self._through(node.after, value, met)
            elif isinstance(node, Branch):
                for inner in node.blocks:
                    self._through(inner, value, met)

    def _updated(self, call: Call, value: Value, met: _Met) -> tuple[Value, _Met]:
        only = sum(v is value for v in call.operands) == 1 and call.operands[0] is value
        if call.op not in (add_at, subtract_at) or not only:
            raise _Other
        row = self._row_of(call)
        self.updates.append(call)
        self.met_in_turn.append(row)
        first = self.first.setdefault(row, [])
        if row not in met.maybe:
            first.append(call)
        return call.results[0], met.too(row)

    def _row_of(self, call: Call) -> Row:
        """The rows that an update meets."""
        if len(call.operands) == 2:
            return self._place_of(call.attribute("index"))
        if self.updates and (self.places or _along(call) != _along(self.updates[0])):
            raise _Other
        base = self.turn.row(call.operands[2])
        if _end_of_axis(call) is not None:
            base = 0, 0
        if base is None:
            raise _Other
        return (*base, _rows_of(call, self.sizes))

    def _place_of(self, index: Subscript) -> Row:
        """A place that is the same in all turns, by a number of its own."""
        if self.updates and not self.places:
            raise _Other
        for other, row in self.places:
            if other == index:
                return row
            if not apart(other, index):
                raise _Other
        self.places.append((index, (0, len(self.places), 1)))
        return self.places[-1][1]

    def _ends(self, again: Again, value: Value, met: _Met) -> None:
        places = [i for i, v in enumerate(again.arguments) if v is value]
        if again.label is not self.turn.label:
            self.arrived.setdefault(again.label, []).append((places, value, met))
        elif len(places) != 1:
            raise _Other
        else:
            self.ends.append(met)

    def _behind(self, join: Join, before: Value, met: _Met) -> tuple[Value, _Met]:
        """What the parameter is behind a join, and the rows met on the ways there."""
        arrived = self.arrived.pop(join.label, [])
        if all(not places and value is before for places, value, _ in arrived):
            return before, met
        places = arrived[0][0]
        if len(places) != 1 or any(other != places for other, _, _ in arrived):
            raise _Other
        surely = frozenset.intersection(*(met.surely for _, _, met in arrived))
        maybe = frozenset.union(*(met.maybe for _, _, met in arrived))
        return join.parameters[places[0]], _Met(surely, maybe)


def _along(call: Call) -> object:
    """The axis of which an update names rows, by number or from one to another.

    Any other index, which names one place, has to be the same in all updates.
    """
    index = call.attribute("index")
    items = [*index.items]
    while items and items[-1] == slice(None):
        items.pop()
    if call.attribute("repeats") or any(item != slice(None) for item in items[:-1]):
        if index.windows or len(call.operands) != 3:
            raise _Other
        return call.attributes
    given = {3: (Slot(0), Window(None, 0), Window(0, None)), 4: (Window(0, 1),)}
    if not items or items[-1] not in given.get(len(call.operands), ()):
        raise _Other
    return len(items)


def _end_of_axis(call: Call) -> str | None:
    """The end of an axis from which on, or up to which, an update is of all rows."""
    for window in call.attribute("index").windows:
        if window.start is None:
            return "first"
        if window.stop is None:
            return "last"
    return None


def _rows_of(call: Call, sizes: Sizes) -> Dim:
    """How many rows an update meets; of a slice that ends with the axis in the last turn, all."""
    if not call.attribute("index").windows:
        return 1
    span: Dim = call.attribute("counts")[0]
    match span.atom() if isinstance(span, Size) and sizes.counts(span) else None:
        case SliceLength(_, None, int(width), None):
            return width
    return span


def _first_meetings(rows: Sequence[Row]) -> list[int | None] | None:
    """For each update of a turn the number of turns, from the first on, that meet new rows.

    None for an update stands for all turns. The whole is None where it is neither, or not known.
    An update is new where none before it has any row in common: as `Places` has it.
    """
    times = rows[0][0]
    if times < 1:
        return None
    if len(rows) == 1 and not isinstance(rows[0][2], int):
        return [1] if times == 1 else None  # in its steps of one, slices overlap
    spans = [(plus, plus + n) for _, plus, n in rows if isinstance(n, int) and n > 0]
    if len(spans) < len(rows):
        return None
    least, most = min(low for low, _ in spans), max(high for _, high in spans)
    turns = (most - least) // times + 2  # behind these all are alike
    if turns > MOST_COMPARED:
        return None
    known: list[tuple[int, int]] = []
    new: list[list[bool]] = [[] for _ in rows]
    for turn in range(turns):
        for (low, high), found in zip(spans, new, strict=True):
            low, high = low - times * turn, high - times * turn
            found.append(all(high <= a or b <= low for a, b in known))
            known.append((low, high))
    counts = [found.index(False) if False in found else None for found in new]
    if any(n is not None and any(found[n:]) for n, found in zip(counts, new, strict=True)):
        return None
    parts = [_parts(known[: len(rows) * n]) for n in (turns - 1, turns)]
    return None if parts[0] < parts[1] and None in counts else counts  # see `Places.MANY`


def _parts(spans: Sequence[tuple[int, int]]) -> int:
    """How many parts with gaps between them some rows make up."""
    found, end = 0, None
    for low, high in sorted(spans):
        found += end is None or low > end
        end = high if end is None else max(end, high)
    return found


def _set(nodes: Sequence[Node], sets: Set[Node], sizes: Sizes) -> tuple[Node, ...]:
    """The nodes, some of whose updates set a row."""
    changed: list[Node] = []
    for node in nodes:
        if node in sets:
            assert isinstance(node, Call)
            x, value, *places = node.operands
            if node.op is subtract_at:
                value = _negated(value, changed, sizes)
            node = replace(node, op=set_at, operands=(x, value, *places))
        elif isinstance(node, Branch | Loop | Join):
            blocks = [b.with_nodes(_set(b.nodes, sets, sizes)) for b in node.blocks]
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
    return len(index.items) == 1 and isinstance(index.items[0], Slot)


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
