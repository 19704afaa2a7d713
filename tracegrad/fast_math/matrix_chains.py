"""Puts chains of matrix products in the order that is cheapest.

Python multiplies from the left: ``A @ B @ x`` makes a matrix of two, though ``A @ (B @ x)`` takes
two products with a vector. The backward does worse, where an outer product of two vectors meets the
transposes of all matrices. Here

    (A @ B) @ x       ->  A @ (B @ x)
    (A @ B).T @ x     ->  (x @ A) @ B
    outer(a, b) @ C   ->  outer(a, b @ C)
    C @ outer(a, b)   ->  outer(C @ a, b)
    outer(a, b) @ x   ->  a * (b @ x)

wherever the product of matrices has no other reader. Lengths are not asked: what is left has one
axis less, so it is cheaper for all of them. Of chains of matrices alone lengths would decide.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from codegen.ir import Call, Graph, Node, Value, ends
from codegen.passes.client import Client
from codegen.rewrite import Rewriter, offered, rewrite
from codegen.types import kind
from tracegrad.ops.elementwise import ufuncs
from tracegrad.ops.linear_algebra.contractions import matmul
from tracegrad.ops.shape import reshaping

Made = Callable[[Value], Call | None]
"""The call that makes a value, or None."""


def chains(graph: Graph, client: Client) -> Graph:
    """Products of matrices and vectors, vectors first."""
    found = _Products(graph)
    if not found.vanishing and not found.outer:
        return graph
    vectors_first = offered(_is_product)(partial(_vector_first, found.vanishing))
    return rewrite(graph, (_outer_transposed, _outer_first, vectors_first))


def _is_product(op: object) -> bool:
    return op is matmul


class _Products:
    """The products of matrices that nothing needs as a whole, and the outer products."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.outer: set[Value] = set()
        self.vanishing: set[Value] = set()
        calls = [node for node in graph.all_nodes if isinstance(node, Call)]
        for call in calls:
            if self._is_outer(call):
                self.outer.add(call.results[0])
        kept = {output for end in ends(graph.block) for output in end.outputs}
        for call in reversed(calls):
            value = call.results[0]
            readers = graph.users.get(value, ())
            if value in kept or not readers or not (of_matrices(call) or transposes(call)):
                continue
            if all(self._does_without(value, reader) for reader in readers):
                self.vanishing.add(value)

    def _made(self, value: Value) -> Call | None:
        node = self.graph.producer.get(value)
        return node if isinstance(node, Call) else None

    def _is_outer(self, call: Call) -> bool:
        if of_matrices(call) or transposes(call):
            return not self.outer.isdisjoint(call.operands)
        return factors(call, self._made) is not None

    def _does_without(self, value: Value, reader: Node) -> bool:
        """Whether this reader is as well off with the factors of the product."""
        if not isinstance(reader, Call):
            return False
        result = reader.results[0]
        if transposes(reader):
            return result in self.vanishing
        if reader.op is not matmul or reader.operands[0] is reader.operands[1]:
            return False
        other = reader.operands[reader.operands[0] is value]
        return other.type.ndim == 1 or other in self.outer or result in self.vanishing


# -- what stands there ----------------------------------------------------------------------------


def of_matrices(call: Call) -> bool:
    """A product of two matrices of numbers that round."""
    dtypes = {v.type.dtype for v in (*call.operands, *call.results)}
    if call.op is not matmul or len(dtypes) > 1 or kind(*dtypes) not in ("float", "complex"):
        return False
    return all(operand.type.ndim == 2 for operand in call.operands)


def transposes(call: Call) -> bool:
    """The transpose of a matrix."""
    if call.op is not reshaping.transpose_axes or call.results[0].type.ndim != 2:
        return False
    return call.attribute("axes") in (None, (1, 0))


def factors(call: Call, made: Made) -> tuple[Value, Value] | None:
    """The vectors of ``a[:, None] * b``, whichever way it is written."""
    result = call.results[0].type
    if call.op is not ufuncs.multiply or result.ndim != 2:
        return None
    column = row = None
    for operand in call.operands:
        node = made(operand)
        if operand.type.dtype != result.dtype:
            return None
        if operand.type.ndim == 1:
            row = operand
        elif node is not None and node.op is reshaping.expand_axes:
            inner = node.operands[0]
            if inner.type.ndim != 1:
                return None
            if node.attribute("axis") in (1, (1,)):
                column = inner
            else:
                row = inner
    return None if column is None or row is None else (column, row)


# -- rules ----------------------------------------------------------------------------------------


def _vector_first(vanishing: set[Value], r: Rewriter, call: Call) -> Value | None:
    """(A @ B) @ x -> A @ (B @ x) and x @ (A @ B) -> (x @ A) @ B, through transposes."""
    for position in (0, 1):
        matrix, vector = call.operands[position], call.operands[1 - position]
        node = r.node(matrix)
        if matrix not in vanishing or vector.type.ndim != 1 or node is None:
            continue
        if transposes(node):
            turned = (vector, node.operands[0])
            return r.emit(matmul, *(turned if position == 0 else reversed(turned)))
        if of_matrices(node) and vector.type.dtype == matrix.type.dtype:
            a, b = node.operands
            if position == 0:
                return r.emit(matmul, a, r.emit(matmul, b, vector))
            return r.emit(matmul, r.emit(matmul, vector, a), b)
    return None


@offered(_is_product)
def _outer_first(r: Rewriter, call: Call) -> Value | None:
    """outer(a, b) @ C -> outer(a, b @ C), C @ outer(a, b) -> outer(C @ a, b), C a vector too."""
    result = call.results[0].type
    if kind(result.dtype) not in ("float", "complex"):
        return None
    for position in (0, 1):
        product, other = call.operands[position], call.operands[1 - position]
        node = r.node(product)
        found = None if node is None or other.type.ndim > 2 else factors(node, r.node)
        if found is None or other.type.dtype != result.dtype:
            continue
        a, b = found
        if position == 0:
            b = r.emit(matmul, b, other)
            column = a if other.type.ndim == 1 else r.emit(reshaping.expand_axes, a, axis=1)
            return r.emit(ufuncs.multiply, column, b)
        a = r.emit(matmul, other, a)
        column = a if other.type.ndim == 1 else r.emit(reshaping.expand_axes, a, axis=1)
        return r.emit(ufuncs.multiply, column, b)
    return None


@offered(lambda op: op is reshaping.transpose_axes)
def _outer_transposed(r: Rewriter, call: Call) -> Value | None:
    """outer(a, b).T -> outer(b, a)."""
    node = r.node(call.operands[0])
    found = factors(node, r.node) if node is not None and transposes(call) else None
    if found is None:
        return None
    a, b = found
    return r.emit(ufuncs.multiply, r.emit(reshaping.expand_axes, b, axis=1), a)
