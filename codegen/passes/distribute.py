"""Computes functions for all turns of a loop at once, between two loops that share its work.

A function of what one turn has, whose result the turns do not hand on to what it is computed of,
need not be called in each turn. The first loop keeps what it is computed of, an array has a place
for each turn; one call computes all, and the second loop does what needs the results, in the same
order as before, so sums have the same bits. Only what a loop over a counter does in all of its
turns is distributed, and no exception comes before one of another kind.

Before::                                     After::

    loop %v = %w, %s = %c for %t in range()     %v_all = turns()
      turn                                      loop %v.1 = %w, %v_all.1 = %v_all for %t in range()
        %a = log(%v)                              turn
        %s.1 = add(%s, %a)                          %v_all.2 = put(%v_all.1, %v.1, %t)
        %v.1 = multiply(%v, %b)                     %v.2 = multiply(%v.1, %b)
        again %v.1, %s.1                            again %v.2, %v_all.2
      after                                       after
        return %s                                   %log_v = all(%v_all.1)
                                                    loop %s = %c for %t.1 in range()
                                                      turn
                                                        %a = kept(%log_v, %t.1)
                                                        %s.1 = add(%s, %a)
                                                        again %s.1
                                                      after
                                                        return %s
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Protocol

from codegen.ir import (
    Again,
    Block,
    Branch,
    Builder,
    Call,
    Constant,
    Counter,
    Graph,
    Join,
    Loop,
    Node,
    Op,
    Origin,
    Trait,
    Value,
    dims_of,
    with_operands,
)
from codegen.sizes import Dim, Size, symbol
from codegen.spelling import Slot, Spelling, Subscript, spell
from codegen.types import LIST, ArrayType, weak

MOST = 1 << 20
"""Turns that a loop may have whose number nothing in memory bounds: 8 MiB an array."""


class Language(Protocol):
    """What the target knows of calls in its kernels."""

    def function(self, call: Call) -> str:
        """The name of the function that a call is of, if it is better called for many numbers."""

    def raises(self, call: Call) -> str:
        """The exception that a call may raise, "" where it raises none."""


def _empty_text(attributes: Mapping[str, object]) -> Spelling:
    dtype = ", np.float32" if attributes["dtype"] == "float32" else ""
    if attributes["whole"]:
        return spell(f"np.empty(stop{dtype})")
    step = "" if attributes["step"] == 1 else f", {attributes['step']}"
    return spell(f"np.empty(len(range(start, stop{step})){dtype})")


def _place(attributes: Mapping[str, object]) -> str:
    first = attributes["first"]
    return f"turns[k - {first}]" if first else "turns[k]"


def _put_text(attributes: Mapping[str, object]) -> Spelling:
    place = _place(attributes)
    copied = f"out = turns.copy()\nout{place.removeprefix('turns')} = value"
    return Spelling(copied, f"{place} = value")


def _at_text(attributes: Mapping[str, object]) -> Spelling:
    return spell(f"float({_place(attributes)})" if attributes["weak"] else _place(attributes))


TURNS = Op(
    "turns",
    ("start", "stop"),
    lambda sizes, start, stop, *, dtype, size, step, whole: ArrayType(dtype, (size,)),
    {"numpy": _empty_text},
    attributes={"dtype": ..., "size": ..., "step": 1, "whole": False},
)
PUT = Op(
    "put",
    ("turns", "value", "k"),
    lambda sizes, turns, value, k, *, first: turns,
    {"numpy": _put_text},
    attributes={"first": 0},
    traits=frozenset({Trait.UPDATE}),
)
AT = Op(
    "kept",
    ("turns", "k"),
    lambda sizes, turns, k, *, first, weak: ArrayType(turns.dtype, (), weak),
    {"numpy": _at_text},
    attributes={"first": 0, "weak": False},
)


def _all_type(sizes: object, *operands: ArrayType, function: str) -> ArrayType:
    return next(type for type in operands if type.shape)


UNARY = Op(
    "all",
    ("x",),
    _all_type,
    {"numpy": lambda attributes: spell(f"{attributes['function']}_all(x)")},
    attributes={"function": ...},
)
BINARY = Op(
    "all_of_two",
    ("a", "b"),
    _all_type,
    {"numpy": lambda attributes: spell(f"{attributes['function']}_all(a, b)")},
    attributes={"function": ...},
)


def distribute(graph: Graph, language: Language) -> Graph:
    """The graph whose loops call functions once where they can."""
    found = _Distributor(graph, language)
    block = found.block(graph.block)
    return graph.with_block(block) if found.count else graph


@dataclass
class _Distributor:
    """Splits the loops of a graph; `count` is how many were."""

    graph: Graph
    language: Language
    count: int = 0

    def block(self, block: Block) -> Block:
        """The block, and those in it, with its loops split."""
        last = block.nodes[-1] if block.nodes else None
        if not isinstance(last, Branch | Loop | Join):
            return block
        last = replace(last, blocks=tuple(map(self.block, last.blocks)))
        small = isinstance(last, Loop) and self._is_small(last)
        ending = self._split(last) if small and isinstance(last, Loop) else [last]
        return block.with_nodes((*block.nodes[:-1], *ending))

    def _split(self, loop: Loop) -> list[Node]:
        """The loop as several, with what comes before the first."""
        turn = _Turn(self.graph, self.language, loop)
        if not turn.is_straight() or not turn.may_be_split():
            return [loop]
        self.count += 1
        halves = _Halves(turn, symbol(f"turns{self.count}"))
        first, between = halves.first(), halves.between()
        after = Block((*between, *self._split(halves.second())))
        return [*halves.arrays, replace(first, blocks=(first.turn, after))]

    def _is_small(self, loop: Loop) -> bool:
        """Whether arrays with a place for each turn are about as large as what is there anyway."""
        if loop.counter is None:
            return False
        if any(p.type == LIST for p in loop.parameters):
            return True
        return all(map(self._is_length, (loop.counter.start, loop.counter.stop)))

    def _is_length(self, value: Value) -> bool:
        """Whether an int is that of an array's elements, no large one, or computed of such."""
        made = self.graph.producer.get(value)
        if isinstance(made, Constant):
            return made.slot is None and abs(made.value) <= MOST
        if not isinstance(made, Call):
            return False
        if Trait.EXTENT in made.op.traits:
            return True
        return bool(made.operands) and all(map(self._is_length, made.operands))


@dataclass
class _Turn:
    """The turn of a loop: what stays in the first loop, and what is `moved` to the second.

    `functions` are the calls between the loops, whose results count as moved.
    """

    graph: Graph
    language: Language
    loop: Loop
    functions: list[Call] = field(default_factory=list)
    moved: set[Value] = field(default_factory=set)
    lowest: int = 0  # number of the counter

    def is_straight(self) -> bool:
        """Whether all turns do the same, one after the other, as many as a counter says."""
        counter, (*nodes, last) = self.loop.counter, self.loop.turn.nodes
        if counter is None or self.loop.after is None or not self._has_lowest(counter):
            return False
        if not isinstance(last, Again) or last.label != self.loop.label:
            return False
        self.nodes = [node for node in nodes if isinstance(node, Call | Constant)]
        if len(self.nodes) < len(nodes) or any(len(node.results) != 1 for node in self.nodes):
            return False
        self.index = counter.index
        self.made = {node.results[0]: node for node in self.nodes}
        self.next = dict(zip(self.loop.parameters, last.arguments, strict=True))
        self.here = {self.index, *self.loop.parameters, *self.made}
        self.varying = {self.index, *self.loop.parameters}
        self.readers: dict[Value, list[Value]] = {}
        for node in self.nodes:
            if not self.varying.isdisjoint(node.operands):
                self.varying.update(node.results)
            for operand in node.operands:
                self.readers.setdefault(operand, []).extend(node.results)
        for parameter, value in self.next.items():
            self.readers.setdefault(value, []).append(parameter)
        self.raising = self._find_raising()
        return True

    def _has_lowest(self, counter: Counter) -> bool:
        """Whether the counter leaves out no number, and its lowest one is known."""
        if counter.step not in (1, -1):
            return False
        end = self.graph.constant(counter.start if counter.step == 1 else counter.stop)
        if end is None or end.slot is not None or not isinstance(end.value, int):
            return False
        self.lowest = end.value + (counter.step == -1)
        return self.lowest >= 0

    def may_be_split(self) -> bool:
        """Whether there are functions to compute at once, and the rest can be parted for them."""
        self._find_functions()
        if not self.functions:
            return False
        raising = list(filter(self.raises, self.nodes))
        if len({node.results[0] in self.moved for node in raising}) > 1:
            return False  # another exception might come first
        self._move_along()
        return all(map(self._may_be_kept, self.kept()))

    # -- what goes where ------------------------------------------------------------------------

    def _find_functions(self) -> None:
        """Finds the functions that wait for no other one, and what needs their results."""
        behind = {call: self._behind(*call.results) for call in self.nodes if self._may_wait(call)}
        waiting = {call: needs for call, needs in behind.items() if needs.isdisjoint(call.operands)}
        for call in waiting:
            if all(needs.isdisjoint(call.operands) for needs in waiting.values()):
                assert isinstance(call, Call)
                self.functions.append(call)
                self.moved |= waiting[call]

    def _may_wait(self, node: Node) -> bool:
        """Whether a call is of a function that may be computed for all turns."""
        if not isinstance(node, Call) or not self.language.function(node):
            return False
        alike = all(_holds(v.type, node.results[0].type) for v in node.operands)
        return alike and not self.varying.isdisjoint(node.operands)

    def _behind(self, value: Value) -> set[Value]:
        """The value and all that is computed of it, in later turns too."""
        found, waiting = set[Value](), [value]
        while waiting:
            value = waiting.pop()
            if value not in found:
                found.add(value)
                waiting += self.readers.get(value, ())
        return found

    def _move_along(self) -> None:
        """Moves more to the second loop, so that less is kept for it."""
        before = -1
        while len(self.moved) > before:
            before = len(self.moved)
            for parameter in self.loop.parameters:
                if parameter not in self.moved:
                    self._try_to_move(self._behind(parameter) - self.moved)
            for node in reversed(self.nodes):
                readers = self.readers.get(node.results[0])
                if readers and isinstance(node, Call) and self.moved.issuperset(readers):
                    self._try_to_move({*node.results} - self.moved)

    def _try_to_move(self, values: set[Value]) -> None:
        """Moves values where that helps: as much is kept at most, of which they read some."""
        nodes = [self.made[value] for value in values if value in self.made]
        if not values or any(not values.isdisjoint(call.operands) for call in self.functions):
            return
        if any(isinstance(node, Constant) or self.raises(node) for node in nodes):
            return
        before, moved = self.kept(), self.moved
        self.moved = moved | values
        after = self.kept()
        read = {operand for node in nodes for operand in node.operands}
        helps = read & before.keys() or not values.isdisjoint(before)
        if len(after) > len(before) or not helps:
            self.moved = moved

    def kept(self) -> dict[Value, None]:
        """What the first loop keeps of each turn: for the functions, and for the second loop."""
        found: dict[Value, None] = {}
        for call in self.functions:
            for value in call.operands:
                if value in self.here and not isinstance(self.made.get(value), Constant):
                    found[value] = None
        calls = {call.results[0] for call in self.functions}
        for node in self.nodes:
            if node.results[0] in self.moved and node.results[0] not in calls:
                self._keep(node.operands, found)
        self._keep([self.next[p] for p in self.loop.parameters if p in self.moved], found)
        return found

    def _keep(self, values: Iterable[Value], found: dict[Value, None]) -> None:
        for value in values:
            if value in self.here and value not in self.moved and not self.is_free(value):
                found[value] = None

    def is_free(self, value: Value) -> bool:
        """Whether the second loop has a value anyway: numbers, places, and what is read there."""
        if value not in self.here or value is self.index:
            return True
        made = self.made.get(value)
        if isinstance(made, Constant):
            return True
        if made is None or made.reuse is not None or value.type.shape:
            return False
        if self.raises(made) and self._is_alone(value):
            return False
        read = any(operand.type.shape for operand in made.operands)
        cheap = read or (value.type == weak("int") and Trait.EFFECT not in made.op.traits)
        return cheap and all(map(self.is_free, made.operands))

    def _is_alone(self, value: Value) -> bool:
        """Whether nothing reads a value that stays in the first loop."""
        results = {call.results[0] for call in self.functions}
        return all(r in self.moved and r not in results for r in self.readers.get(value, ()))

    def _may_be_kept(self, value: Value) -> bool:
        """Whether an array has the numbers that a value is, in all turns."""
        if not _holds(value.type, value.type):
            return False
        given = zip(self.loop.parameters, self.loop.arguments, strict=True)
        return all(a.type == p.type for p, a in given if p is value)

    def raises(self, node: Node) -> bool:
        """Whether a node may raise an exception, where other nodes may raise another kind."""
        return node in self.raising

    def _find_raising(self) -> set[Node]:
        kinds: dict[Node, str] = {}
        for node in self.nodes:
            if isinstance(node, Call) and not self._is_in_range(node):
                kinds[node] = self.language.raises(node)
        found = {node for node, kind in kinds.items() if kind}
        return found if len({kinds[node] for node in found}) > 1 else set()

    def _is_in_range(self, call: Call) -> bool:
        """Whether a call reads or writes at places that its array has, whatever the turn."""
        index = dict(call.attributes).get("index")
        if not isinstance(index, Subscript):
            return False
        counter = self.loop.counter
        assert counter is not None
        array = next(v for v in (*call.operands, *call.results) if v.type.shape)
        dims = dims_of(self.graph.sizes, array.type)
        slots = [i for i, item in enumerate(index.items) if isinstance(item, Slot)]
        places = call.operands[len(call.operands) - len(slots) :]
        stop = self.graph.producer.get(counter.stop)
        length = dict(stop.attributes).get("size") if isinstance(stop, Call) else None
        return (
            counter.step == 1
            and len(slots) == len(index.items)
            and length is not None
            and all(place is self.index for place in places)
            and all(self.graph.sizes.equal(dims[axis], length) for axis in slots)
        )


def _holds(type: ArrayType, wanted: ArrayType) -> bool:
    """Whether an array of the dtype of a number holds numbers of another type as they are."""
    if type.shape or type.dtype != wanted.dtype:
        return False
    return type.dtype == "float64" or (type.dtype == "float32" and not type.weak)


class _Halves:
    """Writes the two loops of a turn that was parted, and what is between them."""

    def __init__(self, turn: _Turn, size: Dim) -> None:
        self.turn, self.loop, self.graph = turn, turn.loop, turn.graph
        counter = turn.loop.counter
        assert counter is not None
        self.counter = counter
        self.arrays: list[Node] = []
        self.kept = {value: self._array(value, size) for value in turn.kept()}
        self.results: dict[Value, Value] = {}

    def _array(self, value: Value, size: Dim) -> Value:
        """A new array for what a value is in each turn, as the first loop hands it on."""
        origin = self.loop.origin.named(f"{_stem(value)}_all", True)
        attributes = {"dtype": value.type.dtype, "size": size, "step": self.counter.step}
        attributes["whole"] = self._starts_at_0_and_ends_at_a_length()
        made = self._call(TURNS, (self.counter.start, self.counter.stop), origin, attributes)
        self.arrays.append(made)
        return Value(made.results[0].type, origin)

    def _starts_at_0_and_ends_at_a_length(self) -> bool:
        made = self.graph.producer.get(self.counter.stop)
        size = dict(made.attributes).get("size") if isinstance(made, Call) else None
        a_length = isinstance(size, Size) and size.symbol() is not None
        return a_length and self.counter.step == 1 and self.turn.lowest == 0

    def _call(
        self, op: Op, operands: tuple[Value, ...], origin: Origin, attributes: Mapping[str, object]
    ) -> Call:
        builder = Builder(self.graph.sizes)
        builder.call(op, operands, origin, **attributes)
        (made,) = builder.nodes
        assert isinstance(made, Call)
        return made

    def first(self) -> Loop:
        """The loop that keeps what is needed behind it; what follows it is still missing."""
        turn = self.turn
        staying = [p for p in turn.loop.parameters if p not in turn.moved]
        needed = self._needed(staying)
        nodes: list[Node] = []
        full: dict[Value, Value] = {}

        def keep(value: Value) -> None:
            array = self.kept[value]
            operands = (array, value, turn.index)
            made = self._call(PUT, operands, array.origin, {"first": turn.lowest})
            origin = replace(value.origin, name=array.origin.name)
            full[value] = Value(array.type, origin)
            nodes.append(replace(made, results=(full[value],), reuse=0))

        for value in [v for v in self.kept if v not in turn.made]:
            keep(value)
        for node in turn.nodes:
            if node.results[0] in needed:
                nodes.append(node)
            if node.results[0] in self.kept:
                keep(node.results[0])
        handed = (*[turn.next[p] for p in staying], *[full[v] for v in self.kept])
        last = turn.loop.turn.nodes[-1]
        assert isinstance(last, Again)
        given = dict(zip(turn.loop.parameters, turn.loop.arguments, strict=True))
        empty = [made.results[0] for made in self.arrays]
        return replace(
            turn.loop,
            parameters=(*staying, *self.kept.values()),
            arguments=(*[given[p] for p in staying], *empty),
            blocks=(Block((*nodes, replace(last, arguments=handed))),),
        )

    def _needed(self, staying: Iterable[Value]) -> set[Value]:
        """What the first loop computes."""
        turn = self.turn
        needed = {*self.kept, *[turn.next[p] for p in staying]}
        for node in reversed(turn.nodes):
            result = node.results[0]
            if result not in turn.moved and (result in needed or turn.raises(node)):
                needed.update((result, *node.operands))
        return needed

    def between(self) -> list[Node]:
        """The calls of functions, each for all turns."""
        nodes: list[Node] = []
        for call in self.turn.functions:
            name = self.turn.language.function(call)
            operands = []
            for value in call.operands:
                made = self.turn.made.get(value)
                if isinstance(made, Constant):
                    value = Value(value.type, value.origin)
                    nodes.append(_copied(made, value))
                operands.append(self.kept.get(value, value))
            stem = next(_stem(v) for v in call.operands if v in self.kept)
            origin = call.results[0].origin.named(f"{name}_{stem}", True)
            op = UNARY if len(operands) == 1 else BINARY
            made_all = self._call(op, tuple(operands), origin, {"function": name})
            self.results[call.results[0]] = made_all.results[0]
            nodes.append(made_all)
        return nodes

    def second(self) -> Loop:
        """The loop that reads what was kept, and what the functions gave."""
        turn = self.turn
        index = Value(turn.index.type, turn.index.origin)
        nodes: list[Node] = []
        now: dict[Value, Value] = {turn.index: index}

        def read(array: Value, value: Value, result: Value) -> None:
            attributes = {"first": turn.lowest, "weak": value.type.weak}
            made = self._call(AT, (array, index), value.origin, attributes)
            nodes.append(replace(made, results=(result,)))

        def use(value: Value) -> Value:
            if value not in now:
                if value not in turn.here or value in turn.moved:
                    return value
                now[value] = Value(value.type, value.origin)
                if value in self.kept:
                    read(self.kept[value], value, now[value])
                else:
                    nodes.append(_copied(with_operands(turn.made[value], use), now[value]))
            return now[value]

        for node in turn.nodes:
            if node.results[0] in self.results:
                value = node.results[0]
                assert isinstance(node, Call)
                called = value.origin.name or turn.language.function(node)
                now[value] = Value(value.type, replace(value.origin, name=called))
                read(self.results[value], value, now[value])
            elif node.results[0] in turn.moved:
                nodes.append(with_operands(node, use))
        moved = [p for p in turn.loop.parameters if p in turn.moved]
        handed = tuple([use(turn.next[p]) for p in moved])
        given = dict(zip(turn.loop.parameters, turn.loop.arguments, strict=True))
        last = turn.loop.turn.nodes[-1]
        assert isinstance(last, Again)
        label = (turn.loop.label, "second")
        assert turn.loop.after is not None
        return replace(
            turn.loop,
            label=label,
            parameters=tuple(moved),
            arguments=tuple([given[p] for p in moved]),
            blocks=(
                Block((*nodes, replace(last, label=label, arguments=handed))),
                turn.loop.after,
            ),
            counter=replace(self.counter, index=index),
        )


def _stem(value: Value) -> str:
    """What to call an array after a value in it."""
    name = value.origin.name or "value"
    return name if name.isidentifier() else "value"


def _copied(node: Call | Constant, result: Value) -> Call | Constant:
    """The node with another value for what it makes."""
    if isinstance(node, Constant):
        return replace(node, result=result)
    return replace(node, results=(result,))
