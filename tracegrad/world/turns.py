"""Turns of a loop: whether two of them are one computation, and running those that are left."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from codegen.ir import Call, Check, Constant, Value, dims_of
from tracegrad.autograd.tape import LEAF, record
from tracegrad.machine.world import ABSENT
from tracegrad.ops.elementwise import alias
from tracegrad.paths import Cycle, Way
from tracegrad.tensor import Tensor, wrap


def untraced(x: Tensor) -> Tensor:
    """The same Tensor, of no trace."""
    tensor = wrap(x._array)
    tensor._node = record(alias, (x,), {}, x._array, None) if x._node is LEAF else x._node
    return tensor


def renamed(node: Any, new: dict[Value, Value]) -> Any:
    """A node of other values."""
    operands = tuple([new.get(v, v) for v in node.operands])
    match node:
        case Check():
            return replace(node, operand=operands[0])
        case Call():
            return replace(node, operands=operands, results=tuple([new[r] for r in node.results]))
    return replace(node, result=new[node.result])


class Same:
    """Whether two turns are one computation, and what stands for what."""

    def __init__(self, trace: Any, parameters: Sequence[Value]) -> None:
        self.trace = trace
        self.open = set(parameters)
        self.found: dict[Value, Value] = {}

    def sequences(self, body: Sequence[Any], turn: Sequence[Any]) -> bool:
        steps = [node for node in body if not isinstance(node, Constant)]
        others = [node for node in turn if not isinstance(node, Constant)]
        return len(steps) == len(others) and all(map(self.nodes, steps, others))

    def nodes(self, a: Any, b: Any) -> bool:
        if isinstance(a, Check) and isinstance(b, Check):
            return (a.look, a.outcome) == (b.look, b.outcome) and self.values(a.operand, b.operand)
        if not (isinstance(a, Call) and isinstance(b, Call) and a.op is b.op):
            return False
        if a.attributes != b.attributes or len(a.operands) != len(b.operands):
            return False
        if not all(map(self.values, a.operands, b.operands)):
            return False
        for x, y in zip(a.results, b.results, strict=True):
            if not self._types(x, y):
                return False
            self.found[x] = y
        return True

    def values(self, a: Value, b: Value) -> bool:
        if a in self.found:
            return self.found[a] is b
        if a in self.open:
            self.found[a] = b
            return True
        if a is b:
            return True
        one, other = (self.trace.builder.constant_of(v) for v in (a, b))
        if one is None or other is None:
            return False
        return repr(one.value) == repr(other.value) and self._types(a, b)

    def _types(self, a: Value, b: Value) -> bool:
        if (a.type.dtype, a.type.weak) != (b.type.dtype, b.type.weak):
            return False
        sizes = self.trace.sizes
        return bool(dims_of(sizes, a.type) == dims_of(sizes, b.type))


class Turns:
    """Runs the turns of a closed loop on Tensors, so that the tape goes on."""

    def __init__(self, trace: Any, cycle: Cycle, tensors: dict[Value, Any]) -> None:
        self.trace = trace
        self.cycle = cycle
        self.tensors = tensors
        self.outer: dict[Value, Any] = {}  # what a turn reads from before the loop
        self.attributes: dict[Call, dict[str, Any]] = {}

    def run(self, iterator: Any, held: dict[Value, Any]) -> Any:
        """None where the numbers are used up; else the values, the way and the look it ends at.

        `held` are the parameters, before and after.
        """
        while True:
            values = dict(held)
            if iterator is not None:
                number = next(iterator, ABSENT)
                if number is ABSENT:
                    return None
                assert self.cycle.counter is not None
                values[self.cycle.counter.index] = number
            way, at = self._turn(values)
            if at is not None:
                return values, way, at
            given = [values[v] if v in values else self._outer(v) for v in way.arguments]
            held.update(zip(self.cycle.parameters, given, strict=True))

    def _turn(self, values: dict[Value, Any]) -> tuple[Way, int | None]:
        way, at = self.cycle.ways[0], 0
        while at < len(way.nodes):
            node = way.nodes[at]
            if isinstance(node, Call):
                operands = [values[v] if v in values else self._outer(v) for v in node.operands]
                given = self.attributes.get(node)
                if given is None:
                    given = {name: self.trace.concrete(x) for name, x in node.attributes}
                    self.attributes[node] = given
                result = node.op(*operands, **given)  # type: ignore[operator]
                if len(node.results) == 1:
                    values[node.results[0]] = result
                else:
                    values.update(zip(node.results, result, strict=True))
            elif isinstance(node, Check):
                outcome = bool(
                    values[node.operand] if node.operand in values else self._outer(node.operand)
                )
                if outcome is not node.outcome:
                    other = self._other(way, at, outcome)
                    if other is None:
                        return way, at
                    way = other
            at += 1
        return way, None

    def _other(self, way: Way, at: int, outcome: bool) -> Way | None:
        """The way that goes on from a look with another outcome."""
        before = way.nodes[:at]
        for other in self.cycle.ways:
            if other.nodes[:at] == before and len(other.nodes) > at:
                node = other.nodes[at]
                if isinstance(node, Check) and node.outcome is outcome:
                    return other
        return None

    def _outer(self, value: Value) -> Any:
        """A number, or what was there before the loop."""
        if value not in self.outer:
            self.outer[value] = self._known(value)
        return self.outer[value]

    def _known(self, value: Value) -> Any:
        constant = self.trace.builder.constant_of(value)
        if constant is not None:
            if value.type.weak:
                return constant.value
            return np.dtype(value.type.dtype).type(constant.value)
        x = self.tensors[value]
        return untraced(x) if type(x) is Tensor else x
