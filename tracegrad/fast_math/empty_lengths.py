"""Tells whether a value can be infinite where a length is 0.

A sum over no elements is 0, whatever its terms would have been. A factor that goes out of the sum
must not be ``1 / 0`` then, which it may be if it is made with the same length: a mean divides by
it, a sum over it is 0.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from codegen.ir import Call, Graph, Node, Trait, Value, dims_of
from codegen.rewrite import Rewriter
from codegen.sizes import Dim, Sizes, symbols
from tracegrad.fast_math.product_ops import at_least_one
from tracegrad.ops.elementwise import ufuncs

FAR = 100
"""So many calls behind a value are looked at."""


def names_of(dims: Collection[Dim]) -> set[str]:
    """The symbols in some lengths, any of which may be 0."""
    return {name for dim in dims for name in symbols(dim)}


def reads_length(
    producer: Mapping[Value, Node], sizes: Sizes, value: Value, names: Collection[str]
) -> bool:
    """Whether a value is made with one of these lengths that none of its own axes has."""
    waiting, seen = [value], {value}
    while waiting:
        node = producer.get(waiting.pop())
        if not isinstance(node, Call):
            continue
        made = names_of([d for v in node.results for d in dims_of(sizes, v.type)])
        read = names_of([d for v in node.operands for d in dims_of(sizes, v.type)])
        if Trait.EXTENT in node.op.traits:
            read |= symbols(sizes.resolve(node.attribute("size")))
        if (read - made) & set(names) or len(seen) > FAR:
            return True
        fresh = set(node.operands) - seen
        seen |= fresh
        waiting += fresh
    return False


def is_extent(producer: Mapping[Value, Node], value: Value) -> bool:
    """Whether a value is a number of elements."""
    node = producer.get(value)
    return isinstance(node, Call) and Trait.EXTENT in node.op.traits


def share(graph: Graph, value: Value) -> tuple[float, Value] | None:
    """The number `c` and the number of elements `n` of a value that is ``c / n``."""
    node = graph.producer.get(value)
    if not isinstance(node, Call) or node.op is not ufuncs.divide or value.type.shape:
        return None
    number = graph.constant(node.operands[0])
    if number is None or not isinstance(number.value, int | float):
        return None
    counts = is_extent(graph.producer, node.operands[1])
    return (float(number.value), node.operands[1]) if counts else None


def not_zero(r: Rewriter, n: Value) -> Value:
    """A number of elements as a divisor of a sum over them, which is 0 if there are none."""
    size = r.node(n)
    free = size is not None and names_of([r.sizes.resolve(size.attribute("size"))])
    return r.emit(at_least_one, n) if free else n
