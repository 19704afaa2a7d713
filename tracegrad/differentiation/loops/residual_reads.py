"""Lets the backward of a turn read what the turn of its own number has saved.

What costs nothing (``x[t]``, numbers of turns) is computed again, all else the turn appends to a
list (`residuals.py`), and the backward reads it there.
"""

from __future__ import annotations

from collections.abc import Iterator, Set
from dataclasses import dataclass, replace
from typing import Any

from codegen.ir import (
    Block,
    Branch,
    Call,
    Constant,
    Counter,
    Graph,
    Join,
    Loop,
    Node,
    Origin,
    Trait,
    Value,
    dims_of,
    inner_blocks,
    renamed,
    walk,
)
from codegen.size_bounds import at_least
from codegen.sizes import CountedLength, Dim, Sizes, minus, quotient, symbols
from codegen.sizes import add as add_dims
from codegen.types import LIST
from tracegrad.differentiation.loops.residuals import INT, Facts, Unrollable
from tracegrad.differentiation.reverse_mode import Reverse
from tracegrad.ops.elementwise.ufuncs import add, floor_divide, multiply, remainder, subtract
from tracegrad.ops.python_lists import item, least, length, list_item, most
from tracegrad.ops.shape.indexing import element, gather, getitem_basic
from tracegrad.ops.staging import length_in

FREE = frozenset({getitem_basic, element, gather, list_item})
"""Ops that are computed again in the backward, where what they read is at hand."""
COUNTING = frozenset({add, subtract, multiply, floor_divide, remainder, least, most})
"""Ops on numbers of turns, which are free as well."""

LEAST = 7
"""A loop whose turns a length tells makes eight of them, of which one may stand before it."""


@dataclass(frozen=True)
class Number:
    """A number of turns: a value, without what is subtracted, and what is added to it."""

    value: Value | None
    plus: int = 0
    minus: Value | None = None

    def __add__(self, more: int) -> Number:
        return Number(self.value, self.plus + more, self.minus)


class Reading:
    """What reads turns that have been made."""

    graph: Graph
    reverse: Reverse
    counted: dict[Value, int]  # numbers of turns that lengths tell, with what is added to them
    dry: bool  # nothing is kept that a look at a turn's backward asks for

    def _restored(self, facts: Facts, k: Number, way: int, block: Block) -> Block:
        """A turn's backward, which reads the turn's values where turn `k` left them."""
        block = _without_unread(self.graph.sizes, block)
        made = {r for node in walk(block.nodes) for r in node.results}
        read = dict.fromkeys(v for v in read_in(block) if v in facts.own and v not in made)
        new: dict[Value, Value] = {}
        with self.reverse.stage.apart(self.graph.sizes) as builder:
            for value in read:
                self._restore(facts, k, way, value, new)
            nodes = tuple(builder.nodes)
        block = renamed(block, new)
        return block.with_nodes((*nodes, *block.nodes))

    def _restore(
        self, facts: Facts, k: Number, way: int, value: Value, new: dict[Value, Value]
    ) -> Value:
        """A value of turn `k`: counted, computed again, or taken from the list of its values."""
        if value not in facts.own:
            return value
        if value not in new:
            made = self.graph.producer.get(value)
            counter = facts.loop.counter
            if counter is not None and value is counter.index:
                new[value] = self._index(counter, k)
            elif self._is_free(facts, value):
                new[value] = self._again(facts, k, way, made, new)
            elif (parameter := self._parameter_of(facts, way, value)) is not None:
                new[value] = self._carried_item(facts, k, parameter, value)
            else:
                if value not in facts.saved and not self.dry:
                    facts.saved[value] = facts.keeps(Value(LIST, self._list_name(value)))
                listed = facts.saved.get(value) or Value(LIST)
                new[value] = self._item(listed, self._written(k), value.type, self._named_in(value))
        return new[value]

    def _parameter_of(self, facts: Facts, way: int, value: Value) -> Value | None:
        """The parameter that is this value, at the beginning of a turn or of the next one."""
        loop = facts.loop
        given = zip(loop.parameters, loop.arguments, strict=True)
        whole = {p for p, a in given if (a.type.dtype, a.type.weak) == (p.type.dtype, p.type.weak)}
        if value in whole:
            return value
        again = facts.turns[way][0].arguments
        for parameter, argument in zip(loop.parameters, again, strict=True):
            if argument is value and parameter in whole:
                return parameter
        return None

    def _carried_item(self, facts: Facts, k: Number, parameter: Value, value: Value) -> Value:
        """What a parameter was at the beginning of turn `k`, or at its end."""
        if parameter not in facts.carried and not self.dry:
            facts.carried[parameter] = facts.keeps(Value(LIST, self._list_name(parameter)))
        listed = facts.carried.get(parameter) or Value(LIST)
        if value is not parameter and not self.dry:
            facts.later.add(parameter)
        place = self._written(k if value is parameter else k + 1)
        return self._item(listed, place, value.type, value.origin)

    def _list_name(self, value: Value) -> Origin:
        return Origin(f"{self._named_in(value).name or 'value'}_saved", True)

    def _named_in(self, value: Value) -> Origin:
        """The origin of a value that is kept: what an ``if`` looks at gets a name."""
        if value.origin.name is None and value.type.dtype == "bool":
            named = value.origin.named("holds", True)
            self.reverse.names[value] = named
            return named
        return value.origin

    def _is_free(self, facts: Facts, value: Value) -> bool:
        """Whether a value of a turn costs nothing to compute again."""
        if value not in facts.own or (facts.loop.counter and value is facts.loop.counter.index):
            return True
        made = self.graph.producer.get(value)
        if isinstance(made, Constant):
            return True
        if not isinstance(made, Call):
            return False
        counts = made.op in COUNTING and made.results[0].type == INT
        if made.op is length:
            sizes = self.graph.sizes
            return symbols(made.attribute("size")) & sizes.data.keys() <= sizes.counters.keys()
        if not counts and (made.op not in FREE or self._needs_copies(facts, made)):
            return False
        return all(self._is_free(facts, v) for v in made.operands)

    def _needs_copies(self, facts: Facts, read: Call) -> bool:
        """Whether an array is kept whole in turns of a loop around for the elements of one line."""
        array, item = read.operands[0], read.results[0]
        if array.type.ndim - item.type.ndim < 2:
            return False
        return any(not self._is_free(other, array) for other in facts.around)

    def _again(
        self, facts: Facts, k: Number, way: int, made: Any, new: dict[Value, Value]
    ) -> Value:
        builder = self.reverse.builder
        if isinstance(made, Constant):
            result = Value(made.result.type, made.result.origin)
            builder.append(replace(made, result=result))
            return result
        operands = tuple([self._restore(facts, k, way, v, new) for v in made.operands])
        origin = replace(made.results[0].origin, section="backward")
        result = Value(made.results[0].type, origin)
        builder.append(replace(made, operands=operands, results=(result,)))
        return result

    def _index(self, counter: Counter, k: Number) -> Value:
        """The counter's number in turn `k`."""
        start = self.graph.constant(counter.start)
        if k.minus is counter.start and k.value is not None and k.plus == 0:
            return k.value
        if counter.step == 1 and start is not None:
            return self._written(k + start.value)  # type: ignore[operator]
        value = self._written(k)
        origin = replace(counter.index.origin, section="backward")
        if counter.step != 1:
            last = start is not None and start.value == 0
            number = self._number(counter.step)
            value = self._call(multiply, value, number, origin=origin if last else None)
        if start is None or start.value != 0:
            first = counter.start if start is None else self._number(start.value)
            value = self._call(add, value, first, origin=origin)
        return value

    def _told_backward(self, loop: Loop, k: Number) -> CountedLength | None:
        """The length that the number of turn `k` tells where a loop goes back."""
        counter = loop.counter
        if counter is None or counter.length is None:
            return None
        symbol, start = counter.length.symbol, self._as_length(counter.start)
        if k.minus is counter.start and k.plus == 0:
            return CountedLength(symbol)
        if start is None or k.minus is not None:
            raise Unrollable("how long arrays of a turn are is counted from a number of the data")
        plus = add_dims(start, counter.step * k.plus)
        return CountedLength(symbol, counter.step, plus)

    def _as_length(self, value: Value) -> Dim | None:
        """A number as a length, where it is one."""
        return length_in(self.graph.producer.get(value))

    def _count(self, loop: Loop, facts: Facts, in_turn: bool, again: bool) -> Number:
        """How many whole turns there were, on a path that leaves the loop so."""
        counter = loop.counter
        if counter is not None:
            start, stop = (self.graph.constant(v) for v in (counter.start, counter.stop))
            if not in_turn and start is not None and stop is not None:
                return Number(None, len(range(start.value, stop.value, counter.step)))  # type: ignore[arg-type]
            whole = None if in_turn else self._turns_of(counter)
            if whole is not None:
                return whole
            last = counter.index if in_turn else counter.stop
            return self._difference(counter, last, in_turn, again)
        if facts.count is None:
            origin = replace(loop.origin, name="turns", final=True)
            facts.count = facts.keeps(Value(INT, origin))
        return Number(facts.count)

    def _difference(self, counter: Counter, last: Value, in_turn: bool, again: bool) -> Number:
        """How many numbers there are before the last one; none where that is less than 0.

        Of turns that are made `again` it is told from the first number.
        """
        start, step = self.graph.constant(counter.start), abs(counter.step)
        if counter.step < 0:
            done = Number(self._call(subtract, counter.start, last))
        elif start is None or (again and start.value):
            done = Number(last, 0, counter.start)
        else:
            done = Number(last, -start.value)  # type: ignore[operator,arg-type]
        if step == 1:
            return done
        done = done if in_turn else done + (step - 1)  # the last one may be shorter
        origin = replace(Origin("count", True), section="backward")
        by = self._number(step)
        return Number(self._call(floor_divide, self._written(done), by, origin=origin))

    def _turns_of(self, counter: Counter) -> Number | None:
        """The number of turns, where lengths tell it: see `LEAST`."""
        ends = counter.start, counter.stop
        first, last = map(self._as_length, ends if counter.step > 0 else reversed(ends))
        if first is None or last is None:
            return None
        step, sizes = abs(counter.step), self.graph.sizes
        whole = minus(last, first)
        size, more = quotient(add_dims(whole, step - 1), step), 0
        if isinstance(first, int) and step == 1:  # written as the length, less a number
            size, more = last, -first
        origin = Origin(None if step == 1 else "count", step != 1, section="backward")
        number = self.reverse.builder.call(length, (), origin, size=size)[0]
        of_data = not symbols(size).isdisjoint(sizes.data)
        if of_data or at_least(whole, (LEAST - 1) * step + 1, sizes):
            self.counted[number] = more
        return Number(number, more)

    def _least(self, count: Number) -> int:
        """So many turns there are at least."""
        if count.value is None:
            return count.plus
        whole = self.counted.get(count.value)
        return 0 if whole is None else LEAST + count.plus - whole

    # -- nodes ------------------------------------------------------------------------------------

    def _call(self, op: Any, *operands: Value, origin: Origin | None = None) -> Value:
        origin = origin or Origin(section="backward")
        return self.reverse.builder.call(op, operands, origin)[0]

    def _written(self, number: Number) -> Value:
        """A number of turns as a value."""
        if number.value is None:
            return self._number(number.plus)
        value = number.value
        if number.minus is not None:
            value = self._call(subtract, value, number.minus)
        if number.plus == 0:
            return value
        op = add if number.plus > 0 else subtract
        return self._call(op, value, self._number(abs(number.plus)))

    def _number(self, number: Any) -> Value:
        return self.reverse.builder.constant(number, INT)

    def _item(self, listed: Value, k: Value, type: Any, origin: Origin) -> Value:
        given = {"dtype": type.dtype, "shape": type.shape, "weak": type.weak}
        origin = replace(origin, section="backward")
        return self.reverse.builder.call(item, (listed, k), origin, **given)[0]


def _without_unread(sizes: Sizes, block: Block) -> Block:
    """The block without calls that nobody reads: what they read need not be kept.

    One that alone may tell a length stays.
    """
    read: set[Value] = {v for inner in _blocks_in(block) for v in inner.outputs}
    dead: set[Node] = set()
    for node in reversed([*walk(block.nodes)]):
        if isinstance(node, Call) and Trait.EFFECT not in node.op.traits:
            known = {d for v in node.operands for d in dims_of(sizes, v.type)}
            told = {d for v in node.results for d in dims_of(sizes, v.type)}
            if read.isdisjoint(node.results) and told <= known:
                dead.add(node)
                continue
        read.update(node.operands)
    return _without(block, dead) if dead else block


def _blocks_in(block: Block) -> Iterator[Block]:
    yield block
    for node in block.nodes:
        for inner in inner_blocks(node):
            yield from _blocks_in(inner)


def _without(block: Block, dead: Set[Node]) -> Block:
    nodes = [node for node in block.nodes if node not in dead]
    if nodes and isinstance(last := nodes[-1], Branch | Loop | Join):
        nodes[-1] = replace(last, blocks=tuple([_without(b, dead) for b in last.blocks]))
    return block.with_nodes(tuple(nodes))


def read_in(block: Block) -> Iterator[Value]:
    """What a block reads, in order."""
    for node in block.nodes:
        yield from node.operands
        for inner in inner_blocks(node):
            yield from read_in(inner)
    yield from block.outputs
