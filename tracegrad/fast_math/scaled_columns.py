"""Takes multiples of a matrix's columns from a product that has them anyway.

``a * s + a @ b`` is ``a @ (b + diag(s))``. That saves two passes over `a` and costs two over `b`:
it is done where the lengths are known and `a` has many more rows than columns.
"""

from __future__ import annotations

from codegen.ir import Call, Graph, Value, dims_of
from codegen.passes.client import NO_CLIENT, Client
from codegen.rewrite import Rewriter, offered, sweep
from codegen.types import weak
from tracegrad.ops.elementwise import ufuncs
from tracegrad.ops.linear_algebra import contractions
from tracegrad.ops.shape import creation

ROWS = 4
"""So many times more rows than columns are worth it."""


def scaled_columns(graph: Graph, client: Client = NO_CLIENT) -> Graph:
    """Puts multiples of columns on the diagonal of the matrix that these are multiplied by."""

    def once(r: Rewriter, value: Value, op: object) -> Call | None:
        node = r.node(value)
        alone = len(graph.users.get(value, ())) == 1
        return node if alone and node is not None and node.op is op else None

    @offered(frozenset({ufuncs.add, ufuncs.subtract}).__contains__)
    def on_diagonal(r: Rewriter, call: Call) -> Value | None:
        orders = [call.operands]
        if call.op is ufuncs.add:
            orders.append(call.operands[::-1])
        for first, second in orders:
            product, scaled = once(r, first, contractions.matmul), once(r, second, ufuncs.multiply)
            if product is None or scaled is None:
                continue
            a, b = product.operands
            others = [value for value in scaled.operands if value is not a]
            if len(others) != 1 or not _worth(r, a, b, others[0]):
                continue
            n = dims_of(r.sizes, a.type)[-1]
            eye = r.emit(creation.eye_of, rows=n, columns=n, k=0, dtype="bool")
            zero = r.make_number(0.0, weak("float"))
            diagonal = r.emit(ufuncs.where, eye, others[0], zero)
            return r.emit(contractions.matmul, a, r.emit(call.op, b, diagonal))
        return None

    return sweep(graph, Rewriter(graph, (on_diagonal,)))


def _worth(r: Rewriter, a: Value, b: Value, scale: Value) -> bool:
    """Whether `a` is much longer than `b`, and `scale` has one number a column."""
    dtypes = {value.type.dtype for value in (a, b, scale)}
    if len(dtypes) > 1 or a.type.dtype not in ("float32", "float64") or b.type.ndim < 2:
        return False
    whole, matrix, factors = (dims_of(r.sizes, value.type) for value in (a, b, scale))
    if len(whole) < 2 or len(factors) not in (1, len(whole)) or len(matrix) > len(whole):
        return False
    rows, n = whole[-2:]
    if not (isinstance(rows, int) and isinstance(n, int)) or rows < ROWS * n:
        return False
    by_column = factors[-1] == n and (len(factors) == 1 or factors[-2] == 1)
    same_batch = len(factors) == 1 or factors[:-2] == whole[:-2]
    return matrix[-2:] == (n, n) and by_column and same_batch
