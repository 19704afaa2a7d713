"""Computes the exponentials of a softmax once.

The derivative of ``y = logsumexp(x)`` is ``exp(x - y)``, and that of ``log_softmax`` has
``exp(y)``: the forward's own exponentials over their sum, a division for an exponential. What
multiplies them and has one number a sum is divided in their place.

Before::                                   After::

    graph f(x: float64[n0, n1]) {              graph f(x: float64[n0, n1]) {
      %y = logsumexp(%x, axis=0)                 %top = max(%x, axis=0, keepdims=True)
      %a = subtract(%x, %y)                      %a = subtract(%x, %top)
      %b = exp(%a)                               %b = exp(%a)
      return %y, %b                              %z = sum(%b, axis=0, keepdims=True)
    }                                            ...
                                                 %c = divide(%b, %z)
                                                 return %y, %c
                                               }

The largest exponential is 1, so their sum is no less, unless all elements are -inf: then it is 0,
and what the derivative divides by is 1.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from codegen.ir import Call, Graph, Value, dims_of
from codegen.passes.client import NO_CLIENT, Client
from codegen.rewrite import Rewriter, sweep
from codegen.types import weak
from tracegrad.ops.elementwise import ufuncs
from tracegrad.ops.reductions import softmax, sums_and_extremes
from tracegrad.ops.shape import reshaping
from tracegrad.ops.type_rules import Axis, axes_of

INFINITY = float("inf")


def exponentials_once(graph: Graph, client: Client = NO_CLIENT) -> Graph:
    """Exponentials that the forward has are not computed again."""
    again = dict(_computed_again(graph))
    if not again:
        return graph
    return sweep(graph, Rewriter(graph, (_Rule(graph, again),)))


def _computed_again(graph: Graph) -> Iterator[tuple[Value, Value]]:
    """The exponentials in a graph, and the results whose own they are over their sums."""
    for node in graph.all_nodes:
        if not isinstance(node, Call) or node.op is not ufuncs.exp:
            continue
        made = _made(graph, node.operands[0], softmax.log_softmax_over)
        if made is None:
            made = _distance(graph, node.operands[0])
        if made is not None and made.results[0].type.dtype in ("float32", "float64"):
            yield node.results[0], made.results[0]


def _made(graph: Graph, value: Value, op: object) -> Call | None:
    node = graph.producer.get(value)
    return node if isinstance(node, Call) and node.op is op else None


def _distance(graph: Graph, value: Value) -> Call | None:
    """The logsumexp that an array is subtracted by, itself or 0 where it is -inf."""
    difference = _made(graph, value, ufuncs.subtract)
    if difference is None:
        return None
    x, shift = difference.operands
    restored = _made(graph, shift, reshaping.expand_axes)
    below = shift if restored is None else restored.operands[0]
    choice = _made(graph, below, ufuncs.where)
    made = _made(graph, below if choice is None else choice.operands[2], softmax.logsumexp_over)
    if made is None or made.operands[0] is not x:
        return None
    axis, keepdims = made.attribute("axis"), made.attribute("keepdims")
    if restored is not None and (keepdims or restored.attribute("axis") != axis):
        return None
    if restored is None and not keepdims and axis is not None:
        return None
    return made if choice is None or _is_guard(graph, choice, made.results[0]) else None


def _is_guard(graph: Graph, choice: Call, y: Value) -> bool:
    """Whether this is ``where(y == -inf, 0.0, y)``."""
    test, zero, _ = choice.operands
    equal, number = _made(graph, test, ufuncs.equal), graph.constant(zero)
    if equal is None or number is None or number.value != 0:
        return False
    bounds = [graph.constant(value) for value in equal.operands if value is not y]
    return [b.value for b in bounds if b is not None] == [-INFINITY]


@dataclass(frozen=True)
class _Exponentials:
    """Exponentials, their sums with axes kept, and over which axis they are."""

    values: Value
    sums: Value
    axis: Axis


def _divisors(r: Rewriter, source: _Exponentials) -> Value:
    """The sums; 1 where one is 0, since then all that it divides is 0 too."""
    return r.emit(ufuncs.maximum, r.current(source.sums), r.make_number(1.0, weak("float")))


class _Rule:
    """Takes the functions apart and puts quotients in the place of second exponentials."""

    def __init__(self, graph: Graph, again: dict[Value, Value]) -> None:
        self.graph, self.again = graph, again
        self.wanted = set(again.values())
        self.of: dict[Value, _Exponentials] = {}
        self.quotients: dict[Value, _Exponentials] = {}

    def __call__(self, r: Rewriter, call: Call) -> Value | None:
        result = call.results[0]
        if result in self.wanted:
            logsumexp = call.op is softmax.logsumexp_over
            return self._logsumexp(r, call) if logsumexp else self._log_softmax(r, call)
        source = self.of.get(self.again[result]) if result in self.again else None
        if source is not None:
            quotient = r.emit(ufuncs.divide, r.current(source.values), _divisors(r, source))
            if len(self.graph.users.get(result, ())) == 1:
                self.quotients[quotient] = source
            return quotient
        return self._scaled(r, call) if call.op is ufuncs.multiply else None

    def _logsumexp(self, r: Rewriter, call: Call) -> Value:
        """log(sum(exp(x - top))) + top, where top is the largest element or 0."""
        (x,), axis, keepdims = call.operands, call.attribute("axis"), call.attribute("keepdims")
        keep = keepdims or axis is not None
        most = dict(axis=axis, keepdims=keep, initial=None, first=False)
        zero = r.make_number(0.0, weak("float"))
        top = r.emit(sums_and_extremes.max_over, x, **most)
        finite = r.emit(ufuncs.isfinite, top)
        top = r.emit(ufuncs.where, finite, top, zero)
        values = r.emit(ufuncs.exp, r.emit(ufuncs.subtract, x, top))
        sums = r.emit(sums_and_extremes.sum_over, values, axis=axis, keepdims=keep)
        self.of[call.results[0]] = _Exponentials(values, sums, axis)
        y = r.emit(ufuncs.add, r.emit(ufuncs.log, sums), top)
        if keep and not keepdims:
            y = r.emit(reshaping.squeeze_axes, y, axis=axis)
        return y

    def _log_softmax(self, r: Rewriter, call: Call) -> Value:
        """x - top - log(sum(exp(x - top)))."""
        (x,), axis = call.operands, call.attribute("axis")
        most = dict(axis=axis, keepdims=True, initial=None, first=False)
        below = r.emit(ufuncs.subtract, x, r.emit(sums_and_extremes.max_over, x, **most))
        values = r.emit(ufuncs.exp, below)
        sums = r.emit(sums_and_extremes.sum_over, values, axis=axis, keepdims=True)
        self.of[call.results[0]] = _Exponentials(values, sums, axis)
        return r.emit(ufuncs.subtract, below, r.emit(ufuncs.log, sums))

    def _scaled(self, r: Rewriter, call: Call) -> Value | None:
        """c * (e / z) -> e * (c / z), where c has one number a sum."""
        for position in (0, 1):
            source = self.quotients.get(call.operands[position])
            factor = call.operands[1 - position]
            if source is None or not self._is_one_a_sum(r, source, factor):
                continue
            below = r.emit(ufuncs.divide, factor, _divisors(r, source))
            return r.emit(ufuncs.multiply, r.current(source.values), below)
        return None

    def _is_one_a_sum(self, r: Rewriter, source: _Exponentials, factor: Value) -> bool:
        """Whether a factor is no larger than the sums are."""
        dims = dims_of(r.sizes, factor.type)
        whole = source.values.type
        missing = whole.ndim - len(dims)
        summed = axes_of(source.axis, whole.ndim)
        same = factor.type.weak or factor.type.dtype == whole.dtype
        return same and missing >= 0 and all(i < missing or dims[i - missing] == 1 for i in summed)
