"""Finds the arrays of which a loop reads all elements, one in each turn."""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping

from codegen import sizes as sz
from codegen.ir import Branch, Call, Constant, Counter, Graph, Join, Loop, Trait, Value, walk
from codegen.sizes import Dim

FEW = 8
"""Turns that are few, and elements that an array may have beside those that turns read."""


class ReadArrays:
    """The arrays of which loops read all elements.

    `spelled` are the spellings of calls, `reads` the elements that count, as they are read.
    """

    def __init__(self, graph: Graph, spelled: Mapping[Call, str], reads: Container[Value]) -> None:
        self.graph = graph
        self.spelled = spelled
        self.reads = reads

    def of(self, loop: Loop) -> Iterator[Value]:
        """The arrays from outside of which the turns of a loop read one element after the other."""
        if loop.counter is None or self._is_left(loop):
            return
        own = {v for node in walk((loop,)) for v in node.results}
        for node in walk(loop.turn.nodes):
            if not isinstance(node, Call) or node.results[0] not in self.reads:
                continue
            if self.spelled[node] == "x[index]" and self.loop_of(node) is loop:
                array = node.operands[0]
                if array not in own and self._reads_all(loop, array):
                    yield array

    def loop_of(self, call: Call) -> Loop | None:
        """The loop whose number, but for a constant, is the place that a call reads."""
        array, *places = call.operands
        items = call.attribute("index").items
        if array.type.ndim != 1 or len(places) != 1 or len(items) != 1:
            return None
        number, _ = self._shifted(places[0])
        match self.graph.producer.get(number):
            case Loop(counter=Counter(index=index)) as loop if index is number:
                return loop
        return None

    def _shifted(self, value: Value) -> tuple[Value, int]:
        """A whole number without a constant that is added to it, and that."""
        call = self.graph.producer.get(value)
        if isinstance(call, Call) and self.spelled[call] in ("a + b", "a - b"):
            a, b = call.operands
            first, second = self.graph.constant(a), self.graph.constant(b)
            if second is not None and type(second.value) is int:
                sign = 1 if self.spelled[call] == "a + b" else -1
                found, by = self._shifted(a)
                return found, by + sign * second.value
            if first is not None and type(first.value) is int and self.spelled[call] == "a + b":
                found, by = self._shifted(b)
                return found, by + first.value
        return value, 0

    def _is_left(self, loop: Loop) -> bool:
        """Whether a path leaves a loop before its numbers are used up."""
        inner = {n.label for n in walk(loop.turn.nodes) if isinstance(n, Loop | Join)}
        inner.add(loop.label)
        waiting = [loop.turn]
        while waiting:
            block = waiting.pop()
            if self.graph.leads[block].isdisjoint(inner):
                return True
            if block.nodes and isinstance(block.nodes[-1], Branch | Loop | Join):
                waiting += block.nodes[-1].blocks
        return False

    def _reads_all(self, loop: Loop, array: Value) -> bool:
        """Whether a loop has about as many turns as an array has elements."""
        assert loop.counter is not None
        start, stop = self._length(loop.counter.start), self._length(loop.counter.stop)
        if start is None or stop is None:
            return False
        sizes = self.graph.sizes
        turns = sz.minus(stop, start) if loop.counter.step > 0 else sz.minus(start, stop)
        turns, length = sizes.resolve(turns), sizes.resolve(array.type.shape[0])
        if isinstance(turns, int) and isinstance(length, int):
            return length <= 2 * turns + FEW
        less = sz.minus(length, turns)
        return abs(loop.counter.step) <= 2 and isinstance(less, int) and less <= FEW

    def _length(self, value: Value) -> Dim | None:
        """What a whole number is, as a length."""
        value, more = self._shifted(value)
        made_by = self.graph.producer.get(value)
        if isinstance(made_by, Constant) and type(made_by.value) is int:
            return made_by.value + more
        if isinstance(made_by, Call) and Trait.EXTENT in made_by.op.traits:
            return sz.add(made_by.attribute("size"), more)
        return None


def is_short(loop: Loop, graph: Graph) -> bool:
    """Whether a loop is known to have a few turns alone."""
    if loop.counter is None:
        return False
    start, stop = graph.constant(loop.counter.start), graph.constant(loop.counter.stop)
    if start is None or stop is None:
        return False
    return len(range(int(start.value.real), int(stop.value.real), loop.counter.step)) < FEW
