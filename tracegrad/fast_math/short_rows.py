"""Takes arrays of many short rows apart into columns where they are broadcast.

``x[:, None] - x[None]``, with three columns in `x`, is a loop over the three for each pair of rows:
NumPy spends its time between these loops. With the columns of `x` one after the other in memory
those of the result are so too, and every loop over it is as long as there are rows; products of
matrices hand that on. Axes keep their order and elements their values; only sums may be added in
another order.
"""

from __future__ import annotations

from codegen.ir import Call, Graph, Trait, Value, dims_of
from codegen.passes.client import NO_CLIENT, Client
from codegen.rewrite import Rewriter, offered, sweep
from codegen.sizes import Dim
from tracegrad.fast_math.product_ops import SHORT, columns_apart, columns_product
from tracegrad.ops.elementwise import ufuncs
from tracegrad.ops.linear_algebra import contractions
from tracegrad.ops.shape import reshaping

BROADCAST = frozenset({ufuncs.add, ufuncs.subtract, ufuncs.multiply, ufuncs.divide})


def short_rows(graph: Graph, client: Client = NO_CLIENT) -> Graph:
    """Columns apart, where rows may be short."""

    @offered(BROADCAST.__contains__)
    def broadcast(r: Rewriter, call: Call) -> Value | None:
        whole = dims_of(r.sizes, call.results[0].type)
        if len(whole) < 3 or not _may_be_short(whole[-1]):
            return None
        shapes = [dims_of(r.sizes, value.type) for value in call.operands]
        if any(shape_ == whole or shape_[-1:] != whole[-1:] for shape_ in shapes):
            return None
        operands = [_apart(r, value) for value in call.operands]
        if operands == list(call.operands):
            return None
        return r.emit(call.op, *operands)

    graph = sweep(graph, Rewriter(graph, (broadcast,)))
    products = _products(graph)
    if not products:
        return graph

    @offered(lambda op: op is contractions.matmul)
    def multiplied(r: Rewriter, call: Call) -> Value | None:
        return r.emit(columns_product, *call.operands) if call.results[0] in products else None

    return sweep(graph, Rewriter(graph, (multiplied,)))


def _products(graph: Graph) -> set[Value]:
    """Products of matrices whose first has its columns apart, and whose own rows may be short."""
    columns: set[Value] = set()
    products: set[Value] = set()
    for node in graph.all_nodes:
        if not isinstance(node, Call):
            continue
        result, handed_on = node.results[0], not columns.isdisjoint(node.operands)
        if node.op is contractions.matmul:
            a, b = node.operands
            short = b.type.ndim > 1 and _may_be_short(dims_of(graph.sizes, result.type)[-1])
            if a in columns and short:
                columns.add(result)
                products.add(result)
        elif node.op is columns_apart or (handed_on and _keeps_columns(node)):
            columns.add(result)
    return products


def _keeps_columns(call: Call) -> bool:
    return Trait.ELEMENTWISE in call.op.traits or call.op is reshaping.expand_axes


def _may_be_short(length: Dim) -> bool:
    return not isinstance(length, int) or 1 < length < SHORT


def _apart(r: Rewriter, value: Value) -> Value:
    """A matrix, or a view that adds axes to it, with its columns apart."""
    node = r.node(value)
    if node is not None and node.op is reshaping.expand_axes:
        x = _apart(r, node.operands[0])
        if x is node.operands[0]:
            return value
        return r.emit(reshaping.expand_axes, x, **dict(node.attributes))
    made_of = node.op if node is not None else None
    if value.type.ndim != 2 or made_of is columns_apart:
        return value
    if made_of is not None and Trait.SPLAT in made_of.traits:
        return value
    return r.emit(columns_apart, value)
