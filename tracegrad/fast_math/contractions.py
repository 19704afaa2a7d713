"""Writes sums of products as the products that BLAS has for them.

What is added up is taken apart into factors and numbers, through the views, products, quotients and
signs that nobody else reads. Factors without the axes that are summed go out of the sum, sums come
before products, and what is left is contracted: to products of vectors, of matrices, of batches of
them. A sum of such terms is a sum of their sums; a difference is not taken apart, for what cancels
element by element would cancel behind two long sums.

Before::                                   After::

    graph f(a: float64[n0],                    graph f(a: float64[n0],
            x: float64[n0, n1]) {                      x: float64[n0, n1]) {
      %b = expand_dims(%a, axis=1)               %value = matmul(%a, %x)
      %c = multiply(%b, %x)                      return %value
      %value = sum(%c, axis=0)                 }
      return %value
    }

The lengths are not known, so an array with more axes counts as larger than any with fewer: a sum
is rewritten where what it saves on the largest arrays is more than what it costs there.
"""

from __future__ import annotations

from collections.abc import Callable

from codegen import sizes as sz
from codegen.ir import Call, Graph, Trait, Value, dims_of
from codegen.memory_order import ordered_values
from codegen.passes.client import NO_CLIENT, Client
from codegen.rewrite import Rewriter, offered, sweep
from codegen.types import weak
from tracegrad.fast_math.contraction_order import Labels, Part, Writer
from tracegrad.fast_math.empty_lengths import is_extent, names_of, not_zero, reads_length
from tracegrad.fast_math.factored_sums import FLOATS, Factor, Plan, Sums, TermPlan
from tracegrad.fast_math.product_ops import rows_sum, sum_of_others
from tracegrad.ops.elementwise import ufuncs
from tracegrad.ops.linear_algebra import contractions
from tracegrad.ops.reductions import sums_and_extremes
from tracegrad.ops.shape import creation, reshaping
from tracegrad.ops.type_rules import axes_of


def contract(graph: Graph, client: Client = NO_CLIENT) -> Graph:
    """Sums of products as products."""
    sums = Sums(graph)
    plans = sums.plans
    stands: dict[Value, Value] = {}
    ordered = ordered_values(graph, ()).dense

    @offered(frozenset({sums_and_extremes.sum_over, contractions.matmul}).__contains__)
    def rewritten(r: Rewriter, call: Call) -> Value | None:
        plan = plans.get(call.results[0])
        if plan is None:
            if call.op is contractions.matmul:
                return None
            found = _of_one_number(r, call) or _with_ones(r, call)
            if found is not None:
                stands[call.results[0]] = found
            return found

        def now(value: Value) -> Value:
            return r.current(stands.get(value, value))

        value = _written(r, plan, now, lambda v: v in ordered)
        if call.op is sums_and_extremes.sum_over and call.attribute("keepdims"):
            axes = axes_of(call.attribute("axis"), call.operands[0].type.ndim)
            value = r.emit(reshaping.expand_axes, value, axis=reshaping.one_or_many(axes))
        stands[call.results[0]] = value
        return value

    return sweep(graph, Rewriter(graph, (rewritten,)))


def _with_ones(r: Rewriter, call: Call) -> Value | None:
    """A sum over the first axis, or over the first ones and the last: a product with ones."""
    x, axis = call.operands[0], call.attribute("axis")
    if axis is None or x.type.ndim < 2 or x.type.dtype not in FLOATS:
        return None
    axes = axes_of(axis, x.type.ndim)
    kept = [i for i in range(x.type.ndim) if i not in axes]
    if 0 not in axes or not kept or kept[-1] - kept[0] >= len(kept):
        return None
    total = r.emit(rows_sum, x) if axes == (0,) else r.emit(sum_of_others, x, axis=axes)
    if not call.attribute("keepdims"):
        return total
    return r.emit(reshaping.expand_axes, total, axis=reshaping.one_or_many(axes))


def _of_one_number(r: Rewriter, call: Call) -> Value | None:
    """A sum of one number repeated is a multiple of it, repeated."""
    (x,), result = call.operands, call.results[0].type
    number = _repeated(r, x)
    if result.dtype not in FLOATS or not result.shape or number is None:
        return None
    dims = dims_of(r.sizes, x.type)
    size = sz.mul([dims[i] for i in axes_of(call.attribute("axis"), len(dims))])
    if reads_length(r.producer, r.sizes, number, names_of([size])):
        return None
    total = r.emit(creation.extent, size=size, dtype=result.dtype)
    value = r.emit(ufuncs.multiply, number, total)
    return r.emit(reshaping.broadcast_to_shape, value, shape=result.shape)


def _repeated(r: Rewriter, value: Value) -> Value | None:
    """The number without axes that an array repeats."""
    node = r.node(value)
    if node is None or Trait.SPLAT not in node.op.traits:
        return None
    number = node.operands[0]
    return number if not number.type.shape and number.type.dtype == value.type.dtype else None


# -- writing ------------------------------------------------------------------------------------


def _written(
    r: Rewriter, plan: Plan, now: Callable[[Value], Value], ordered: Callable[[Value], bool]
) -> Value:
    """A plan as calls."""
    total: Value | None = None
    whole = all(term.term.number < 0 for term in plan.terms)
    for term in plan.terms:
        value = _term(r, term, plan.out, now, ordered)
        sign = term.term.number < 0 and not whole
        if total is None:
            total = r.emit(ufuncs.negative, value) if sign else value
        else:
            total = r.emit(ufuncs.subtract if sign else ufuncs.add, total, value)
    assert total is not None
    total = r.emit(ufuncs.negative, total) if whole else total
    dims = tuple(plan.terms[0].dims[label] for label in plan.out)
    if dims_of(r.sizes, total.type) == dims:
        return total
    return r.emit(reshaping.broadcast_to_shape, total, shape=dims)


def _term(
    r: Rewriter,
    plan: TermPlan,
    out: Labels,
    now: Callable[[Value], Value],
    ordered: Callable[[Value], bool],
) -> Value:
    """A term without its sign."""
    writer = Writer(r, plan.dims, ordered)
    parts = [Part(_part(r, f, now), labels) for f, labels in zip(plan.parts, plan.labels)]
    present = {label for labels in plan.labels for label in labels}
    inner = tuple(label for label in out if label in present)
    value = writer.run(parts, plan.steps, inner)
    value = writer.beside(Part(value, inner), out)
    for factor in plan.term.factors:
        value = r.emit(ufuncs.multiply, _scalar(r, now(factor.value)), value)
    for length in plan.term.lengths:
        n = r.emit(creation.extent, size=length, dtype=value.type.dtype)
        value = r.emit(ufuncs.multiply, n, value)
    if abs(plan.term.number) != 1.0:
        number = r.make_number(abs(plan.term.number), weak("float"))
        value = r.emit(ufuncs.multiply, number, value)
    for factor in plan.term.divisors:
        labels = tuple(label for label in factor.labels if label is not None)
        below = now(factor.value)
        if labels:
            below = writer.beside(Part(_squeezed(r, below, factor.labels), labels), out)
        elif is_extent(r.producer, below):
            below = not_zero(r, below)
        else:
            below = _scalar(r, below)
        value = r.emit(ufuncs.divide, value, below)
    return value


def _part(r: Rewriter, factor: Factor, now: Callable[[Value], Value]) -> Value:
    """A factor without the axes that have no label."""
    value = _squeezed(r, now(factor.value), factor.labels)
    if not factor.inverse:
        return value
    return r.emit(ufuncs.divide, r.make_number(1.0, weak("float")), value)


def _squeezed(r: Rewriter, value: Value, labels: tuple[int | None, ...]) -> Value:
    axes = tuple(i for i, label in enumerate(labels) if label is None)
    return (
        r.emit(reshaping.squeeze_axes, value, axis=reshaping.one_or_many(axes)) if axes else value
    )


def _scalar(r: Rewriter, value: Value) -> Value:
    """What has axes of length 1 alone, without them."""
    if not value.type.ndim:
        return value
    return r.emit(reshaping.reshape_to, value, shape=())
