"""Keeps a tape's order where two variables of a loop are one array in some turns.

``if f < lowest: lowest, best = f, x``: behind such a turn `best` is `x`, and each is a parameter of
the loop. A tape adds up what flows to that array reader by reader, the last one first; the loop
would add up what flows to each variable, and then both.

Where a turn does not read `x` behind the first reader of `best`, what flows to `best` comes first.
So a flag tells whether they are one, and before that reader `best` is taken from `x` where they
are: then all that flows to it is `x`'s, before what the turns before it have read.

Where each has one reader alone, both sums are one: there is nothing to do.

Before::                                       After::

    graph f(x: float64[], c: bool[]) {             graph f(x: float64[], c: bool[]) {
      loop %x.1, %b = %x, %x as L1                   %t = constant(True)
        turn                                         loop %x.1, %b, %one = %x, %x, %t as L1
          %n = sin(%x.1)                               turn
          branch %c bool                                 %n = sin(%x.1)
            case True                                    join %b.1 as J2
              again L1 %n, %n                              body
            case False                                       branch %one bool
              return %b                                        case True
    }                                                            again J2 %x.1
                                                               case False
                                                                 again J2 %b
                                                           after
                                                             ...
                                                   }
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence, Set
from dataclasses import replace
from itertools import combinations, product

from codegen.ir import (
    Again,
    Block,
    Branch,
    Call,
    Constant,
    Graph,
    Join,
    Loop,
    Node,
    Origin,
    Value,
    inner_blocks,
    walk,
)
from codegen.rewrite import substituted
from codegen.types import is_inexact
from tracegrad.differentiation.loops.cotangent_flow import (
    active_values,
    has_one_reader,
    readers,
    with_cotangents,
)
from tracegrad.differentiation.loops.residuals import Unrollable
from tracegrad.differentiation.ways_back import BOOL
from tracegrad.ops.python_lists import FILLING


class _OutOfOrder(Exception):
    """What flows to two variables would not be added up as a tape does."""


def with_flags(graph: Graph, wanted: Iterable[Value]) -> tuple[Graph, frozenset[object]]:
    """The graph with flags of variables that may be one array, and the labels of the joins for it.

    Raises `Unrollable` where that is not enough to add up cotangents in a tape's order.
    """
    loops = [n for n in graph.all_nodes if isinstance(n, Loop) and not n.origin.section]
    if not loops:
        return graph, frozenset()
    active, flowing = active_values(graph, wanted), with_cotangents(graph)
    joins = _Joins(graph)
    given = {
        loop.label: [end.arguments for end in joins.ends.get(loop.label, ())] for loop in loops
    }
    pairs = {
        loop.label: _pairs(graph, loop, [loop.arguments, *given[loop.label]]) for loop in loops
    }
    labels: set[object] = set()
    for loop in loops:
        _require_own(graph, loop, active, flowing)
        _require_one_list(graph, loop, active, flowing)
        _require_two(graph, loop, given[loop.label], active)
        found = []
        for places, arrays in pairs[loop.label].items():
            both = [loop.parameters[i] for i in places]
            if active.issuperset(both):
                if not arrays.isdisjoint(_items(loop)):
                    raise Unrollable("an array that two variables have is an item of a list")
                if not all(has_one_reader(loop, p, flowing) for p in both):
                    found.append(places)
        if len({i for pair in found for i in pair}) < 2 * len(found):
            raise Unrollable("three variables are one array in some turns")
        for one, other in found:
            graph, label = _flagged(graph, loop.label, one, other, flowing)
            labels |= label
    return graph, frozenset(labels)


def _require_own(graph: Graph, loop: Loop, active: Set[Value], flowing: Set[Value]) -> None:
    """Raises `Unrollable` where turns give a variable an array from before that others read, too.

    What flows to that comes reader by reader; the loop would add what flows to the variable. Two
    terms have one sum in any order.
    """
    joins = _Joins(graph)
    made = {v for node in walk([loop]) for v in node.results}
    ends = joins.ends.get(loop.label, ())
    begun = [joins.sources([value]) for value in loop.arguments]
    given = [joins.sources([end.arguments[i] for end in ends]) for i in range(len(begun))]
    for place, parameter in enumerate(loop.parameters):
        before = [v for v in given[place] - made if v in active]
        if not before or parameter not in active:
            continue
        alone = has_one_reader(loop, parameter, flowing)
        for value in before:
            in_turn, behind = readers(loop, value, flowing)
            shown = [
                p for p, *of in zip(loop.parameters, begun, given) if value in set().union(*of)
            ]
            if not alone or in_turn or len(active.intersection(shown)) + behind > 2:
                names = [v.origin.name or "a value" for v in (parameter, value)]
                raise Unrollable(f"{names[0]} becomes {names[1]} in some turns, and both are read")


def _require_two(
    graph: Graph, loop: Loop, given: Sequence[tuple[Value, ...]], active: Set[Value]
) -> None:
    """Raises `Unrollable` where turns may give three variables one array.

    What flows to them would be added in the order of the variables, not in that of their readers.
    """
    known = {i for i, p in enumerate(loop.parameters) if p in active}
    found = [i for pair in _pairs(graph, loop, given) if known.issuperset(pair) for i in pair]
    if len(set(found)) < len(found):
        raise Unrollable("three variables are one array in some turns")


def _require_one_list(graph: Graph, loop: Loop, active: Set[Value], flowing: Set[Value]) -> None:
    """Raises `Unrollable` where an array is an item of a list, and goes on to be one of another.

    What flows to the items of both comes before what flows to it in the turn between.
    """
    joins, calls = _Joins(graph), [node for node in walk([loop]) if isinstance(node, Call)]
    put = [n for n in calls if n.op in FILLING and not flowing.isdisjoint(n.results)]
    items = joins.sources([call.operands[1] for call in put]) & active
    ends = joins.ends.get(loop.label, ())
    for first in items.intersection(loop.parameters):
        waiting, seen = [first], set[Value]()
        while waiting:
            parameter = waiting.pop()
            seen.add(parameter)
            place = loop.parameters.index(parameter)
            given = joins.sources([end.arguments[place] for end in ends])
            if not items.isdisjoint(given - {*loop.parameters}):
                raise Unrollable("one array stands in two lists")
            waiting += [v for v in given if v in loop.parameters and v not in seen]


def _items(loop: Loop) -> set[Value]:
    """What turns append to lists."""
    calls = (node for node in walk([loop]) if isinstance(node, Call) and node.op in FILLING)
    return {call.operands[1] for call in calls}


def without_joins(graph: Graph, labels: frozenset[object]) -> Graph:
    """The graph that reads a variable itself where it was taken from the one that it is."""

    def again(block: Block) -> Block:
        last = block.nodes[-1] if block.nodes else None
        if isinstance(last, Branch | Loop | Join):
            last = replace(last, blocks=tuple(map(again, last.blocks)))
            block = block.with_nodes((*block.nodes[:-1], last))
        if not isinstance(last, Join) or last.label not in labels:
            return block
        *before, branch = last.body.nodes
        assert isinstance(branch, Branch)
        own = branch.blocks[1].nodes[-1]
        assert isinstance(own, Again)
        now = dict(zip(last.parameters, own.arguments, strict=True))
        rest = substituted(last.after, lambda v: now.get(v, v))
        return rest.with_nodes((*block.nodes[:-1], *before, *rest.nodes))

    return graph.with_block(again(graph.block)) if labels else graph


class _Joins:
    """What the joins of a graph hand on."""

    def __init__(self, graph: Graph) -> None:
        joins = [node for node in graph.all_nodes if isinstance(node, Join)]
        self.order = {join.label: i for i, join in enumerate(joins)}
        self.of = {p: join for join in joins for p in join.parameters}
        self.parameters = {join.label: join.parameters for join in joins}
        self.ends: dict[object, list[Again]] = {}
        for node in graph.all_nodes:
            if isinstance(node, Again):
                self.ends.setdefault(node.label, []).append(node)

    def given(self, end: Again) -> dict[Value, Value]:
        """What the parameters of a join are on a path that ends so; nothing of a loop's."""
        return dict(zip(self.parameters.get(end.label, ()), end.arguments, strict=False))

    def last(self, *values: Value) -> Join | None:
        """The join that has handed on one of some values last."""
        found = [self.of[v] for v in values if v in self.of]
        return max(found, key=lambda join: self.order[join.label], default=None)

    def sources(self, values: Iterable[Value]) -> set[Value]:
        """What values are that joins hand on, on one path each."""
        waiting, seen = [*values], set[Value]()
        while waiting:
            value = waiting.pop()
            if value not in seen:
                seen.add(value)
                join = self.of.get(value)
                ends = self.ends[join.label] if join else ()
                waiting += [self.given(end)[value] for end in ends]
        return {value for value in seen if value not in self.of}

    def arrays(self, pairs: Iterable[tuple[Value, Value]]) -> set[Value]:
        """What both of some two values are on some path, where joins hand them on."""
        waiting, seen = [*pairs], set[tuple[Value, Value]]()
        found: set[Value] = set()
        while waiting:
            one, other = waiting.pop()
            if (one, other) in seen:
                continue
            seen.add((one, other))
            join = self.last(one, other)
            if one is other:
                found.add(one)
            elif join is not None:
                ends = map(self.given, self.ends[join.label])
                waiting += [(given.get(one, one), given.get(other, other)) for given in ends]
        return found


def _pairs(
    graph: Graph, loop: Loop, given: Sequence[tuple[Value, ...]]
) -> dict[tuple[int, int], set[Value]]:
    """The parameters that may be one array of all that are `given`, by places; and which arrays."""
    joins = _Joins(graph)
    inexact = [i for i, p in enumerate(loop.parameters) if is_inexact(p.type.dtype)]
    found = {}
    for i, j in combinations(inexact, 2):
        if arrays := joins.arrays((values[i], values[j]) for values in given):
            found[i, j] = arrays
    return found


def _flagged(
    graph: Graph, label: object, one: int, other: int, flowing: Set[Value]
) -> tuple[Graph, set[object]]:
    """The graph where a loop has the flag, in the first form that keeps the order."""
    places = ((one, other), (other, one))
    for (first, second), follows in product(places, (False, True)):
        flags = _Flags(graph, label, first, second, flowing, follows)
        try:
            return graph.with_block(flags.around(graph.block)), flags.labels
        except _OutOfOrder:
            continue
    names = [flags.loop.parameters[i].origin.name or "a value" for i in (one, other)]
    raise Unrollable(f"{names[0]} and {names[1]} are one array in some turns, which read both")


class _Flags:
    """Gives a loop a flag that tells whether two of its parameters, at places, are one array.

    Where it `follows`, the second one may go through joins before it is taken from the first.
    """

    def __init__(
        self,
        graph: Graph,
        label: object,
        first: int,
        second: int,
        flowing: Set[Value],
        follows: bool,
    ) -> None:
        self.flowing = flowing
        self.follows = follows
        self.joins = _Joins(graph)
        found = (n for n in graph.all_nodes if isinstance(n, Loop) and n.label == label)
        self.loop = next(found)
        self.first, self.second = first, second
        self.a, self.b = self.loop.parameters[first], self.loop.parameters[second]
        self.flag = self._new()
        self.asked: dict[object, dict[tuple[Value, Value], Value]] = {}
        self.labels: set[object] = set()
        self.followed: set[object] = set()  # the joins that it goes through

    def _reads(self, block: Block, value: Value) -> bool:
        """Whether a block reads a value in what has a backward, or hands it on."""
        if value in block.outputs:
            return True
        for node in block.nodes:
            if isinstance(node, Call):
                if self._is_reader(node, value):
                    return True
            elif isinstance(node, Loop | Again) and value in node.arguments:
                return True
            if any(self._reads(inner, value) for inner in inner_blocks(node)):
                return True
        return False

    def _is_reader(self, call: Call, value: Value) -> bool:
        """Whether a call adds to the cotangent of a value."""
        return value in call.operands and not self.flowing.isdisjoint(call.results)

    def _new(self) -> Value:
        """A flag that tells whether they are one."""
        name = f"{self.b.origin.name or 'value'}_is_{self.a.origin.name or 'other'}"
        return Value(BOOL, Origin(name, True))

    def around(self, block: Block) -> Block:
        """A block, maybe with the loop in it."""
        last = block.nodes[-1] if block.nodes else None
        if last is self.loop:
            begun = self.loop.arguments
            begins = _constant(begun[self.first] is begun[self.second])
            nodes = (*block.nodes[:-1], begins, self._flagged(begins.result))
            return block.with_nodes(nodes)
        if isinstance(last, Branch | Loop | Join):
            last = replace(last, blocks=tuple(map(self.around, last.blocks)))
            return block.with_nodes((*block.nodes[:-1], last))
        return block

    def _flagged(self, begins: Value) -> Loop:
        """The loop with the flag, and what it is at first."""
        loop = self.loop
        if loop.after and self._reads(loop.after, self.a) and self._reads(loop.after, self.b):
            raise _OutOfOrder
        blocks = (self._block(loop.turn, self.b), *loop.blocks[1:])
        arguments = (*loop.arguments, begins)
        return replace(
            loop, parameters=(*loop.parameters, self.flag), arguments=arguments, blocks=blocks
        )

    def _block(self, block: Block, now: Value) -> Block:
        """A block of the turn, in which something stands for the second variable."""
        nodes = block.nodes
        if now is self.b:
            first = next((i for i, node in enumerate(nodes) if self._needs(node)), None)
            if first is None and self.b in block.outputs:
                first = len(nodes)
            if first is not None:
                return self._taken(block, first)
        if not nodes:
            return block
        *before, last = nodes
        match last:
            case Branch() | Loop():
                last = replace(last, blocks=tuple([self._block(b, now) for b in last.blocks]))
            case Join():
                asked = self.asked[last.label] = {}
                after = self._after(last, now)
                body = self._block(last.body, now)
                parameters = (*last.parameters, *asked.values())
                last = replace(last, parameters=parameters, blocks=(body, after))
            case Again():
                return self._end(block, last)
        return block.with_nodes((*before, last))

    def _needs(self, node: Node) -> bool:
        """Whether a node reads the second variable, or goes on with it."""
        match node:
            case Call():
                return self._is_reader(node, self.b)
            case Loop():
                return self.b in node.arguments or self._reads(node.turn, self.b)
            case Join():
                return self._reads(node.body, self.b) and self._goes_on_as(node) is None
            case Again(label, arguments) if label == self.loop.label:
                stays = [i for i, value in enumerate(arguments) if value is self.b]
                both = arguments[self.first] is self.a and stays == [self.second]
                return bool(stays) and not both
            case Again(label, arguments):
                return self.b in arguments and label not in self.followed
        return False

    def _goes_on_as(self, join: Join) -> Value | None:
        """The parameter of a join that the second variable goes on as, and is nothing else."""
        if not self.follows or self._reads(join.after, self.b):
            return None
        given = [
            (parameter, value)
            for end in self.joins.ends[join.label]
            for parameter, value in zip(join.parameters, end.arguments, strict=True)
        ]
        found = {parameter for parameter, value in given if value is self.b}
        calls = (node for node in walk(join.body.nodes) if isinstance(node, Call | Loop))
        if len(found) != 1 or any(self.b in node.operands for node in calls):
            return None
        return found.pop()

    def _after(self, join: Join, now: Value) -> Block:
        """What follows a join, in which the second variable may be a parameter of that."""
        goes_on = self._goes_on_as(join) if now is self.b else None
        if goes_on is None:
            return self._block(join.after, now)
        self.followed.add(join.label)
        before = self.b, self.flag
        self.b, self.flag = goes_on, self._asked(join, (self.a, goes_on))
        after = self._block(join.after, goes_on)
        self.b, self.flag = before
        return after

    def _asked(self, join: Join, pair: tuple[Value, Value]) -> Value:
        """The parameter of a join that tells whether two values are one array."""
        return self.asked[join.label].setdefault(pair, self._new())

    def _taken(self, block: Block, at: int) -> Block:
        """The block where the second variable is taken from the first one, before a node."""
        new = Value(self.b.type, self.b.origin)
        rest = block.with_nodes(block.nodes[at:])
        if self._reads(rest, self.a):
            raise _OutOfOrder
        rest = substituted(rest, lambda v: new if v is self.b else v)
        label, origin = object(), Origin()
        arms = tuple(Block((Again(label, (v,), origin),)) for v in (self.a, self.b))
        body = Block((Branch(self.flag, "bool", (True, False), arms, origin),))
        self.labels.add(label)
        join = Join(label, (new,), (body, self._block(rest, new)), origin)
        return Block((*block.nodes[:at], join))

    def _end(self, block: Block, end: Again) -> Block:
        """The end of a path: of a turn, or of a join in it that is asked."""
        if end.label == self.loop.label:
            pairs = [(end.arguments[self.first], end.arguments[self.second])]
        else:
            given = self.joins.given(end)
            asked = self.asked.get(end.label, {})
            pairs = [(given.get(x, x), given.get(y, y)) for x, y in asked]
        numbers: list[Node] = []
        flags = [self._are_one(*pair, numbers) for pair in pairs]
        end = replace(end, arguments=(*end.arguments, *flags))
        return block.with_nodes((*block.nodes[:-1], *numbers, end))

    def _are_one(self, x: Value, y: Value, numbers: list[Node]) -> Value:
        """What tells whether two values are one array; numbers may be needed for it."""
        if x is self.a and y is self.b:
            return self.flag
        join = self.joins.last(x, y)
        if x is y or join is None:
            numbers.append(_constant(x is y))
            return numbers[-1].results[0]
        return self._asked(join, (x, y))


def _constant(value: bool) -> Constant:
    return Constant(value, Value(BOOL))
