"""Slices whose ends turns count: how far apart these are, and whether nothing is ever cut off.

The numbers of a turn are polynomials over the counters of loops and over lengths. Where two ends
differ by a number or a length, and lie within the axis for the first and the last number of each
counter, a slice between them has one shape in all turns: ``x[i : i + 4]``. What only lengths tell
of that is a guard of the program. Of any other slice the numbers of now are looked at.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any

from codegen.ir import Call, Value
from codegen.sizes import (
    Dim,
    Size,
    add,
    mul,
    slice_length,
    substitute,
    symbol,
    symbols,
)
from tracegrad.ops.elementwise import ufuncs
from tracegrad.ops.python_lists import handed, length
from tracegrad.world.lengths import minus
from tracegrad.world.loops.loop_heads import INT, Head


def span_of(loops: Any, start: Any, stop: Any, step: int | None, axis: Dim) -> Dim | None:
    """How far apart the ends of a slice of an axis are; None where that is not known."""
    if not loops.heads or not all(map(loops.counts, (start, stop))) or step == 0:
        return None
    if step is not None and type(step) is not int:
        return None
    numbers = Polynomials(loops)
    first, last = numbers.of(start._traced[1]), numbers.of(stop._traced[1])
    lowest = first
    if step is not None and step < 0:  # x[i : i - 4 : -1] takes i, and not i - 4, which is not -1
        lowest, first, last = last, add(last, 1), add(first, 1)
    span = loops.trace.sizes.resolve(minus(last, first))
    if numbers.are_in(span):
        return None
    within = [numbers.least(lowest), span, numbers.least(minus(axis, last))]
    if any(part is None for part in within) or not all(map(loops.lengths.assume_some, within)):
        return None
    return span  # type: ignore[no-any-return]


class Polynomials:
    """Whole numbers of a run in terms of its lengths and of what turns count."""

    def __init__(self, loops: Any) -> None:
        self.loops = loops
        self.builder = loops.trace.builder
        self.names: dict[Hashable, str] = {}

    def of(self, value: Value) -> Dim:
        """A number as a polynomial; what is neither sum nor product has a symbol of its own."""
        constant = self.builder.constant_of(value)
        if constant is not None and type(constant.value) is int:
            return constant.value
        made = self.builder.producer.get(value)
        if not isinstance(made, Call) or value.type != INT:
            return self._symbol(value)
        if made.op is length:
            return self.loops.trace.sizes.resolve(made.attribute("size"))  # type: ignore[no-any-return]
        parts = [self.of(v) for v in made.operands if v.type == INT]
        if len(parts) < len(made.operands):
            return self._symbol(value)
        combine = _COMBINING.get(made.op)
        if combine is not None:
            return combine(*parts)
        if made.op in (ufuncs.floor_divide, ufuncs.remainder) and type(parts[1]) is int:
            return self._symbol((made.op, *parts))
        return self._symbol(value)

    def _symbol(self, key: Hashable) -> Size:
        return symbol(self.names.setdefault(key, f"number{len(self.names)}"))

    def are_in(self, dim: Dim) -> bool:
        """Whether a polynomial depends on what is no length."""
        return not symbols(dim).isdisjoint(self.names.values())

    def least(self, dim: Dim) -> Dim | None:
        """The least that a polynomial is in all turns of the loops around."""
        found = dim
        for key, name in reversed(self._outer_first()):
            if name not in symbols(found):
                continue
            ends = self._of_division(*key) if isinstance(key, tuple) else self._ends(key)
            rises = self._rises(minus(substitute(found, {name: add(symbol(name), 1)}), found))
            if rises is None or ends is None:
                return None
            found = substitute(found, {name: ends[0] if rises else ends[1]})
        found = self.loops.trace.sizes.resolve(found)
        return None if self.are_in(found) else found

    def _outer_first(self) -> list[tuple[Any, str]]:
        """The loops around, the outermost first, and then what is divided, with their symbols."""
        heads = [*self.loops.heads.values()]
        found = [(head, self.names[head.index]) for head in heads if head.index in self.names]
        divided = [(key, name) for key, name in self.names.items() if isinstance(key, tuple)]
        return [*found, *divided]

    def _ends(self, head: Head) -> tuple[Dim, Dim]:
        """The least number of a loop, and the largest one."""
        if head.follows is not None:
            first, stop = map(self.of, head.follows)
        elif head.ends is not None:
            first, stop = head.ends
        else:
            first, stop = head.numbers[0], head.numbers[-1] + head.numbers.step
        last = add(stop, -head.numbers.step)
        return (first, last) if head.numbers.step > 0 else (last, first)

    def _of_division(self, op: Any, of: Dim, by: int) -> tuple[Dim, Dim] | None:
        """The least number that a division gives in all turns, and the largest one."""
        if by <= 0:
            return None
        if op is ufuncs.remainder:
            return 0, by - 1
        least, most = self.least(of), self.least(mul((-1, of)))
        if least is None or most is None or not self.loops.lengths.assume_some(least):
            return None
        rounded_up = slice(None, None, by)
        return 0, slice_length(add(mul((-1, most)), 1 - by), rounded_up)

    def _rises(self, change: Dim) -> bool | None:
        """Whether a polynomial rises that changes so with each number; None where that varies."""
        if isinstance(change, int):
            return change >= 0
        factors = [factor for _, factor in change.terms]
        if self.are_in(change) or min(factors) < 0 < max(factors):
            return None
        return min(factors) > 0


_COMBINING: dict[Any, Callable[..., Dim]] = {
    handed: lambda a: a,
    ufuncs.add: add,
    ufuncs.subtract: minus,
    ufuncs.multiply: lambda a, b: mul((a, b)),
    ufuncs.negative: lambda a: mul((-1, a)),
}
