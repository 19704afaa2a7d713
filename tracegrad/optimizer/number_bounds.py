"""Tells the least and the largest number that whole numbers of a graph can be.

Those that are known are literals, lengths, what counts turns, and what is computed of such::

    n = length(size=n0)         n0, n0
    loop i from 0 to n          0, n0 - 1
    k = subtract(n, i)          1, n0
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

from codegen.ir import Call, Constant, Graph, Loop, Value
from codegen.size_bounds import at_least
from codegen.sizes import Dim, Sizes, add, mul
from tracegrad.ops.elementwise import ufuncs
from tracegrad.ops.python_lists import length

Bounds: TypeAlias = "tuple[Dim | None, Dim | None]"
"""The least and the largest number, where they are known: numbers, or lengths."""
UNKNOWN: Bounds = (None, None)


def bounds_in(graph: Graph) -> Mapping[Value, Bounds]:
    """The bounds of the whole numbers of a graph of which something is known."""
    found: dict[Value, Bounds] = {}
    for node in graph.all_nodes:
        match node:
            case Constant(number, result) if type(number) is int:
                found[result] = number, number
            case Call(op, _, _, (result,)) if op is length:
                dim = graph.sizes.resolve(node.attribute("size"))
                found[result] = dim, dim
            case Call(op, operands, _, (result,)) if op in (ufuncs.add, ufuncs.subtract):
                a, b = (found.get(v, UNKNOWN) for v in operands)
                found[result] = sum_of(a, b if op is ufuncs.add else negative(b))
            case Call(op, operands, _, (result,)) if op is ufuncs.multiply:
                a, b = (found.get(v, UNKNOWN) for v in operands)
                found[result] = (
                    _product(a, b, graph.sizes) or _product(b, a, graph.sizes) or UNKNOWN
                )
            case Loop(counter=counter) if counter is not None:
                (low, high), (least, most) = (
                    found.get(v, UNKNOWN) for v in (counter.start, counter.stop)
                )
                ends = (low, _plus(most, -1)) if counter.step > 0 else (_plus(least, 1), high)
                found[counter.index] = ends
    return found


def sum_of(a: Bounds, b: Bounds) -> Bounds:
    """The bounds of the sum of numbers with these."""
    return _plus(a[0], b[0]), _plus(a[1], b[1])


def negative(a: Bounds) -> Bounds:
    """The bounds of a number times -1."""
    low, high = (None if n is None else mul([-1, n]) for n in a)
    return high, low


def _product(a: Bounds, b: Bounds, sizes: Sizes) -> Bounds | None:
    """The bounds of a product with a number that is known; None where there is no such."""
    times = b[0]
    if times is None or times != b[1]:
        return None
    if not at_least(times, 0, sizes):
        return negative(_product(a, negative(b), sizes) or UNKNOWN) if type(times) is int else None
    low, high = (None if n is None else mul([n, times]) for n in a)
    return low, high


def _plus(a: Dim | None, b: Dim | None) -> Dim | None:
    return None if a is None or b is None else add(a, b)
