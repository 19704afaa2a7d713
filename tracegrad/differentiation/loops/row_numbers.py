"""Finds the numbers of rows in values that turns make, by what is counted and lengths."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from codegen.ir import Call, Constant, Value
from codegen.size_bounds import at_least
from codegen.sizes import Dim, Sizes, minus, mul
from codegen.sizes import add as add_dims
from tracegrad.ops.elementwise.ufuncs import add, alias, multiply, negative, subtract
from tracegrad.ops.python_lists import length


@dataclass(frozen=True)
class Row:
    """The number of a row: so many times what a loop counts, and a length."""

    times: int
    plus: Dim
    index: Value | None  # the counter's; None where `times` is 0

    def minus(self, other: Row) -> Dim | None:
        """How far it is from another one, where that does not depend on a counter."""
        if (self.times, self.index) != (other.times, other.index):
            return None
        return minus(self.plus, other.plus)


Span: TypeAlias = "tuple[Dim, Dim]"
"""Rows from a number up to before another one."""


def span_of(row: Row, first: Dim, stop: Dim, step: int) -> Span | None:
    """The rows that a loop goes through, one in each turn; None where it leaves some out."""
    if row.index is None:
        return row.plus, add_dims(row.plus, 1)
    if abs(step) != 1 or abs(row.times) != 1:
        return None
    last = add_dims(stop, -step)
    ends = [add_dims(mul([row.times, end]), row.plus) for end in (first, last)]
    low, high = ends if row.times == step else reversed(ends)
    return low, add_dims(high, 1)


def joined(spans: Iterable[Span], sizes: Sizes) -> list[Span]:
    """The spans, with those put together that touch or overlap."""
    found: list[Span] = []
    for low, high in spans:
        again = True
        while again:
            again = False
            for other in found:
                if at_least(other[1], low, sizes) and at_least(high, other[0], sizes):
                    low = other[0] if at_least(low, other[0], sizes) else low
                    high = other[1] if at_least(other[1], high, sizes) else high
                    found.remove(other)
                    again = True
                    break
        found.append((low, high))
    return found


def row_of(producer: Mapping[Value, Any], value: Value, counters: Container[Value]) -> Row | None:
    """The number of a row; None where it is none of a counter's and lengths alone."""
    if value in counters:
        return Row(1, 0, value)
    made = producer.get(value)
    if isinstance(made, Constant):
        return Row(0, made.value, None) if type(made.value) is int else None
    if not isinstance(made, Call):
        return None
    if made.op is length:
        return Row(0, made.attribute("size"), None)
    if made.op is alias:
        return row_of(producer, made.operands[0], counters)
    parts = [row_of(producer, v, counters) for v in made.operands]
    if made.op not in (add, subtract, multiply, negative) or None in parts:
        return None
    return _combined(made.op, [part for part in parts if part is not None])


def _combined(op: object, parts: Sequence[Row]) -> Row | None:
    if op is negative:
        return _times(parts[0], -1)
    one, other = parts
    if op is multiply:
        for a, b in ((one, other), (other, one)):
            if b.index is None and type(b.plus) is int:
                return _times(a, b.plus)
        return None
    other = _times(other, -1) if op is subtract else other
    if one.index is not None and other.index is not None and one.index is not other.index:
        return None
    times = one.times + other.times
    index = (one.index or other.index) if times else None
    return Row(times, add_dims(one.plus, other.plus), index)


def _times(row: Row, number: int) -> Row:
    times = row.times * number
    return Row(times, mul([row.plus, number]), row.index if times else None)
