"""Arrays that a list has and that others have, too: in the program, a row of an array and a copy.

A turn appends an array, and a variable may go on with it: ``s = s * 0.5; l.append(s)``. In a turn
that is recorded over parameters the variable has a Tensor of its own. So nobody writes to one of
them where the other is still there: the run is made again, with the loop unrolled.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from codegen.ir import Call, Value
from tracegrad.ops.python_lists import handed
from tracegrad.tensors.tensor import Tensor
from tracegrad.tracing.path_tree import Meet

WRITTEN = "an array is written to that a list has, too"


class SharedRows:
    """What a run knows of the arrays that loops have appended to lists."""

    loops: Any
    trace: Any
    items: dict[Value, Value]  # the array that they are rows of
    opened: list[Any]  # lists that were arrays in a turn, also of loops that were given up

    def departs_from_shared(self, x: Tensor) -> None:
        """A Tensor is about to be written to: nobody else may have what it stands for."""
        if not self.opened:
            return
        value = x._traced[1] if self.loops.is_recorded(x) else None
        for known in self.opened:
            if known.grows and (value in self.trace.waiting or value in self.items):
                shared = True
            elif value is None:
                shared = any(item is x for item in known.items)
            elif self.items.get(value) is known.parameter:
                shared = not known.fresh or self._others_may_have(known)
            else:
                is_last = known.fresh and known.last is x
                shared = not is_last and self._may_be_row(value, known)
            if shared:
                self.loops.departs_from(known.head, WRITTEN)

    def _others_may_have(self, known: Any) -> bool:
        """Whether a variable or another list may have an item of a list."""
        for other in self.opened:
            if other is not known and not other.values.isdisjoint(known.values):
                return True
        parameters = {p for p in self._came_from() if p is not known.last_parameter}
        return any(self._may_be_row(parameter, known) for parameter in parameters)

    def _may_be_row(self, value: Value, known: Any) -> bool:
        """Whether a value may be what a turn has appended to a list."""
        return not known.values.isdisjoint(self._sources(value))

    def appends_to(self, known: Any, value: Value, begin: int) -> None:
        """A turn, which begins at a node, has appended a value to a list."""
        node = self.trace.builder.producer.get(value)
        made = isinstance(node, Call) and node.op is not handed
        own = made and any(node is other for other in self.trace.builder.nodes[begin:])
        known.fresh = known.fresh and own and value not in known.values
        known.values.add(value)

    def _sources(self, value: Value) -> set[Value]:
        """The values that one may be: a parameter is what it is given."""
        producer = self.trace.builder.producer
        made = producer.get(value)
        if isinstance(made, Call) and made.op is not handed:
            return {value}
        came_from = self._came_from()
        found: set[Value] = set()
        waiting = [value]
        while waiting:
            one = waiting.pop()
            if one not in found:
                found.add(one)
                waiting += came_from.get(one, ())
                node = producer.get(one)
                waiting += node.operands if isinstance(node, Call) and node.op is handed else ()
        return found

    def _came_from(self) -> Mapping[Value, list[Value]]:
        """What the parameters of loops, and of places where arms meet, are given."""
        found: dict[Value, list[Value]] = {}
        for parameter, value in self._given():
            found.setdefault(parameter, []).append(value)
        return found

    def _given(self) -> Iterator[tuple[Value, Value]]:
        nodes = [*self.trace.builder.nodes]
        for head in [*self.loops.heads.values(), *self.loops.closed]:
            yield from head.arguments.items()
            if head.cycle is not None:
                for way in head.cycle.ways:
                    nodes += way.nodes
                    pairs = zip(head.cycle.parameters, way.arguments or (), strict=False)
                    yield from pairs
        for node in nodes:
            if isinstance(node, Meet):
                yield from zip(node.results, node.arguments, strict=True)
