"""Moves numbers and signs off large arrays, to what sums and products make of these.

Where sums and matrix products alone read ``-x`` or ``c * x``, or views of it, and each makes less
than half as many elements of it, they read `x`, and what they make is multiplied. As for
`contractions`, an array with more axes counts as larger where lengths are not known.
"""

from __future__ import annotations

from collections.abc import Iterator

from codegen.ir import Call, Graph, Value, dims_of, ends, walk
from codegen.passes.client import NO_CLIENT, Client
from codegen.passes.dce import dce
from codegen.rewrite import Rewriter, offered, rewrite, sweep
from codegen.types import weak
from tracegrad.fast_math.contraction_order import size_of
from tracegrad.ops.elementwise import ufuncs
from tracegrad.ops.linear_algebra import contractions
from tracegrad.ops.reductions import sums_and_extremes
from tracegrad.ops.shape import reshaping
from tracegrad.optimizer.rewrites import negation_last

VIEWS = frozenset({reshaping.expand_axes, reshaping.transpose_axes})


def multiples(graph: Graph, client: Client = NO_CLIENT) -> Graph:
    """Multiplies behind sums and products that make less."""
    graph = dce(rewrite(graph, (negation_last,)))  # what nobody reads would count as a reader
    numbers = dict(_numbers(graph))
    if not numbers:
        return graph

    def bare(r: Rewriter, value: Value) -> tuple[float, Value]:
        """What multiplies a value, and the value without it."""
        node = r.node(value)
        if value in numbers and node is not None:
            number, position = numbers[value]
            return number, node.operands[position]
        if node is None or node.op not in VIEWS:
            return 1.0, value
        number, x = bare(r, node.operands[0])
        if number == 1.0:
            return 1.0, value
        return number, r.emit(node.op, x, **dict(node.attributes))

    @offered(frozenset({contractions.matmul, sums_and_extremes.sum_over}).__contains__)
    def behind(r: Rewriter, call: Call) -> Value | None:
        factor, operands = 1.0, []
        for operand in call.operands:
            number, x = bare(r, operand)
            factor *= number
            operands.append(x)
        if all(x is operand for x, operand in zip(operands, call.operands, strict=True)):
            return None
        made = r.emit(call.op, *operands, **dict(call.attributes))
        if factor == -1.0:
            return r.emit(ufuncs.negative, made)
        return r.emit(ufuncs.multiply, r.make_number(factor, weak("float")), made)

    return sweep(graph, Rewriter(graph, (behind,)))


def _numbers(graph: Graph) -> Iterator[tuple[Value, tuple[float, int]]]:
    """The multiples that need not be made: by what number, and which operand is multiplied."""
    kept = {value for end in ends(graph.block) for value in end.outputs}
    for node in walk(graph.nodes):
        if not isinstance(node, Call) or node.results[0].type.dtype not in ("float32", "float64"):
            continue
        value = node.results[0]
        found = _number_of(graph, node)
        if found is None or value in kept or not value.type.shape:
            continue
        alone = found[0] == -1.0 and len(graph.users.get(value, ())) == 1
        most = _elements(graph, value) * (1.0 if alone else 0.5)  # a sign may meet another
        if _makes_less(graph, value, most, kept):
            yield value, found


def _number_of(graph: Graph, node: Call) -> tuple[float, int] | None:
    if node.op is ufuncs.negative:
        return -1.0, 0
    if node.op is not ufuncs.multiply:
        return None
    for position in (0, 1):
        constant, other = graph.constant(node.operands[position]), node.operands[1 - position]
        if constant is None or not isinstance(constant.value, int | float):
            continue
        if other.type.dtype == node.results[0].type.dtype and other.type.shape:
            return float(constant.value), 1 - position
    return None


def _makes_less(graph: Graph, value: Value, most: float, kept: set[Value]) -> bool:
    """Whether sums and products alone read a value, and make no more elements than `most`."""
    users = graph.users.get(value, ())
    for user in users:
        if not isinstance(user, Call):
            return False
        result = user.results[0]
        if user.op in VIEWS:
            if result in kept or not _makes_less(graph, result, most, kept):
                return False
            continue
        less = _elements(graph, result) <= most
        if user.op not in (contractions.matmul, sums_and_extremes.sum_over) or not less:
            return False
    return bool(users)


def _elements(graph: Graph, value: Value) -> float:
    dims = dims_of(graph.sizes, value.type)
    return size_of(dict(enumerate(dims)), range(len(dims)))
