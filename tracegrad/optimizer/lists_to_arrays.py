"""Turns loops that append to lists into loops that fill arrays.

That is for a target without lists. A list becomes an array with a row for each item, of as many
rows as there can be turns; what a turn appends is written at its place::

    h_saved = append(h_saved, h)      h_saved = collect(h_saved, h, t + 1)
    h = item(h_saved, t)              h = item(h_saved, t)
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from codegen import sizes as sz
from codegen.errors import CodegenError
from codegen.ir import (
    Again,
    Block,
    Branch,
    Builder,
    Call,
    Constant,
    Graph,
    Join,
    Loop,
    Room,
    Value,
    dims_of,
    with_operands,
)
from codegen.size_bounds import at_least
from codegen.sizes import Dim, symbol
from codegen.types import LIST, ArrayType, weak
from tracegrad.ops.elementwise.ufuncs import add, floor_divide, subtract
from tracegrad.ops.python_lists import appended, collected, item, new_list, room
from tracegrad.optimizer.number_bounds import UNKNOWN, bounds_in, negative, sum_of

INT = weak("int")


def stacked(graph: Graph) -> Graph:
    """The graph with arrays in the place of lists; `CodegenError` where one has no such form."""
    if not any(isinstance(node, Call) and node.op is new_list for node in graph.all_nodes):
        return graph
    stacker = _Stacker(graph)
    block = stacker.block(graph.block, {}, {})
    counts = frozenset(stacker.counts.values())
    turns = stacker.length
    return replace(graph.with_block(block), room=Room(turns, counts) if turns else None)


@dataclass
class _Family:
    """Lists that are one list, at different times: what they hold, and where they are filled."""

    first: int = 0  # items before the loop
    type: ArrayType | None = None  # of an item
    items: Value | None = None  # one of the lists that it holds
    loop: Loop | None = None


class _Stacker:
    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.root: dict[Value, Value] = {}
        self.families: dict[Value, _Family] = {}
        self.loops = {node.label: node for node in graph.all_nodes if isinstance(node, Loop)}
        self.bounds = bounds_in(graph)
        self.length = ""  # the symbol of a number of turns that nobody knows
        self.counts: dict[object, Value] = {}  # what counts such turns, by loop
        self._join()
        self._learn()

    # -- what the lists are -----------------------------------------------------------------------

    def _find(self, value: Value) -> Value:
        while (above := self.root.setdefault(value, value)) is not value:
            value = above
        return value

    def _unite(self, a: Value, b: Value) -> bool:
        a, b = self._find(a), self._find(b)
        self.root[a] = b
        return a is not b

    def _join(self) -> None:
        """Finds which values are one list."""
        for node in self.graph.all_nodes:
            if isinstance(node, Loop | Again) and node.label in self.loops:
                parameters = self.loops[node.label].parameters
                for parameter, argument in zip(parameters, node.arguments, strict=True):
                    if parameter.type == LIST:
                        self._unite(parameter, argument)
            elif isinstance(node, Call) and node.op is appended:
                self._unite(node.results[0], node.operands[0])
        found = True
        while found:  # lists in one list are one
            found, items = False, dict[Value, Value]()
            for outer, inner in self._held():
                found |= self._unite(items.setdefault(self._find(outer), inner), inner)

    def _held(self) -> list[tuple[Value, Value]]:
        """Lists, with the lists that they hold."""
        pairs: list[tuple[Value, Value]] = []
        for node in self.graph.all_nodes:
            match node:
                case Call(op, (outer, value), _, _) if op is appended and value.type == LIST:
                    pairs.append((outer, value))
                case Call(op, (outer, _), _, (value,)) if op is item and value.type == LIST:
                    pairs.append((outer, value))
        return pairs

    def _family(self, value: Value) -> _Family:
        return self.families.setdefault(self._find(value), _Family())

    def _learn(self) -> None:
        for outer, inner in self._held():
            self._family(outer).items = inner
        for node in self.graph.all_nodes:
            match node:
                case Call(op, operands, _, (result,)) if op is new_list:
                    self._family(result).first = len(operands)
                    for value in operands:
                        self._family(result).type = value.type
                case Again(label, arguments) if label in self.loops:
                    loop = self.loops[label]
                    for parameter, argument in zip(loop.parameters, arguments, strict=True):
                        if parameter.type == LIST:
                            self._filled(loop, parameter, argument)
        for node in self.graph.all_nodes:
            if isinstance(node, Call) and node.op is item and node.results[0].type != LIST:
                self._family(node.operands[0]).type = node.results[0].type

    def _filled(self, loop: Loop, parameter: Value, argument: Value) -> None:
        """Notes that the turns of a loop append to a list."""
        made = self.graph.producer.get(argument)
        family = self._family(parameter)
        if not isinstance(made, Call) or made.op is not appended:
            if argument is parameter:
                return
            raise CodegenError("a list is handed on otherwise than by appending to it")
        if made.operands[0] is not parameter or family.loop not in (None, loop):
            raise CodegenError("a list is filled in two loops")
        family.loop = loop
        if family.type is None and made.operands[1].type != LIST:
            family.type = made.operands[1].type

    def _number(self, value: Value) -> int | None:
        made = self.graph.producer.get(value)
        if isinstance(made, Constant) and type(made.value) is int:
            return made.value
        return None

    def _turns(self, loop: Loop) -> Dim:
        """How many turns there can be."""
        counter = loop.counter
        if counter is None:
            if loop.label not in self.counts:
                self.counts[loop.label] = self._count_of(loop)
            self.length = self.length or str(self.graph.sizes.new(64).symbol())
            return symbol(self.length)
        ends = [self.bounds.get(v, UNKNOWN) for v in (counter.start, counter.stop)]
        start, stop = ends if counter.step > 0 else ends[::-1]
        (_, most) = sum_of(stop, negative(start))
        if most is None:
            raise CodegenError("nobody knows how many turns a counted loop can have")
        if not at_least(most, 0, self.graph.sizes):
            most = sz.slice_length(sz.add(most, 1), slice(1, None))  # none where it is below 0
        return sz.slice_length(most, slice(None, None, abs(counter.step)))

    def _count_of(self, loop: Loop) -> Value:
        """The parameter that counts the turns of a loop without a counter."""
        for parameter in loop.parameters:
            first, *others = self.graph.given[parameter]
            adds = [self.graph.producer.get(value) for value in others]
            if self._number(first) == 0 and all(
                isinstance(made, Call)
                and made.op is add
                and made.operands[0] is parameter
                and self._number(made.operands[1]) == 1
                for made in adds
            ):
                return parameter
        raise CodegenError("nobody counts the turns of a loop")

    def _type(self, value: Value) -> ArrayType:
        """The type of the array in the place of a list."""
        family = self._family(value)
        of = self._type(family.items) if family.items is not None else family.type
        if of is None or family.loop is None:
            return ArrayType("bool", (family.first,))  # nobody reads it
        rows = sz.add(self._turns(family.loop), family.first)
        return ArrayType(of.dtype, (rows, *of.shape), of.weak)

    # -- the graph --------------------------------------------------------------------------------

    def block(self, block: Block, now: dict[Value, Value], places: dict[object, Value]) -> Block:
        """The block; `now` has arrays by lists, `places` the rows of what turns append."""
        builder = Builder(self.graph.sizes)
        now, places = dict(now), dict(places)
        for node in block.nodes:
            node = with_operands(node, lambda value: now.get(value, value))
            match node:
                case Call(op, operands, _, (result,)) if op is new_list:
                    now[result] = self._room(builder, result, operands)
                case Call(op, (array, value), _, (result,)) if op is appended:
                    now[result] = self._written(builder, result, array, value, places)
                case Call(op, operands, _, (result,)) if op is item and result.type == LIST:
                    of = self._type(result)
                    given = {"dtype": of.dtype, "shape": of.shape, "weak": False}
                    now[result] = builder.call(item, operands, result.origin, **given)[0]
                case Branch(blocks=blocks) | Join(blocks=blocks):
                    inner = tuple([self.block(b, now, places) for b in blocks])
                    builder.append(replace(node, blocks=inner))
                case Loop():
                    builder.append(self._loop(node, now, places))
                case _:
                    builder.append(node)
        outputs = tuple([now.get(value, value) for value in block.outputs])
        return block.with_nodes(tuple(builder.nodes), outputs)

    def _room(self, builder: Builder, made: Value, first: tuple[Value, ...]) -> Value:
        """An array for a list, with what that has at first."""
        of = self._type(made)
        given = {"shape": of.shape, "dtype": of.dtype, "weak": of.weak}
        origin = replace(made.origin, final=not first)
        array = builder.call(room, (), origin, **given)[0]
        for i, value in enumerate(first):
            place = builder.constant(i, INT)
            array = builder.call(collected, (array, value, place), made.origin)[0]
        return array

    def _written(
        self,
        builder: Builder,
        made: Value,
        array: Value,
        value: Value,
        places: dict[object, Value],
    ) -> Value:
        """The array with an item that a turn appends, where it is one: other ways have none."""
        item, row = (dims_of(self.graph.sizes, v.type) for v in (value, array))
        if len(item) < len(row) - 1:
            return array
        if item != row[1:]:
            raise CodegenError("the items of a list have other shapes than its rows")
        family = self._family(made)
        assert family.loop is not None
        key = family.loop.label, family.first
        if key not in places:
            places[key] = self._place(builder, family.loop, family.first)
        return builder.call(collected, (array, value, places[key]), made.origin)[0]

    def _place(self, builder: Builder, loop: Loop, first: int) -> Value:
        """The row of what this turn appends."""
        counter = loop.counter

        def plus(value: Value, number: int) -> Value:
            if not number:
                return value
            op = add if number > 0 else subtract
            return builder.call(op, (value, builder.constant(abs(number), INT)))[0]

        if counter is None:
            return plus(self.counts[loop.label], first)
        start = self._number(counter.start)
        if start is None or counter.step < 0:
            pair = (counter.index, counter.start)
            pair = pair if counter.step > 0 else (counter.start, counter.index)
            done = builder.call(subtract, pair)[0]
        elif counter.step == 1:
            return plus(counter.index, first - start)
        else:
            done = plus(counter.index, -start)
        if abs(counter.step) != 1:
            by = builder.constant(abs(counter.step), INT)
            done = builder.call(floor_divide, (done, by))[0]
        return plus(done, first)

    def _loop(self, loop: Loop, now: dict[Value, Value], places: dict[object, Value]) -> Loop:
        """A loop whose parameters are arrays."""
        lists = [p for p in loop.parameters if p.type == LIST]
        arrays = {p: Value(replace(self._type(p), weak=False), p.origin) for p in lists}
        now = {**now, **arrays}
        blocks = tuple([self.block(b, now, places) for b in loop.blocks])
        parameters = tuple([arrays.get(p, p) for p in loop.parameters])
        return replace(loop, parameters=parameters, blocks=blocks)
