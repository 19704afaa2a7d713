"""Removes products that are others with two axes exchanged.

Differences of all pairs, ``x[:, None] - x[None]``, change their sign when the first two axes are
exchanged; distances made of them do not, nor does ``m[:, None] * m[None]``. A derivative sums over
both axes: for what is its own mirror image, but for the sign, the second sum is the first. Here

    s.T, s symmetric          ->  s
    b.transpose(1, 0, 2) @ c  ->  -(b @ c), b antisymmetric
    v @ s                     ->  s @ v

and common subexpressions do the rest. Known to be symmetric is what elementwise ops make of such
pairs, and sums of it over other axes.
"""

from __future__ import annotations

from math import isfinite
from typing import TypeAlias

from codegen.ir import Call, Graph, Trait, Value, dims_of
from codegen.passes.client import NO_CLIENT, Client
from codegen.passes.cse import cse
from codegen.passes.simplify import same_type
from codegen.rewrite import Rewriter, offered, rewrite
from codegen.types import weak
from tracegrad.fast_math.product_ops import rows_dot
from tracegrad.ops.elementwise import powers, ufuncs
from tracegrad.ops.linear_algebra import contractions
from tracegrad.ops.reductions import row_normalization, sums_and_extremes
from tracegrad.ops.shape import reshaping
from tracegrad.ops.type_rules import axes_of

Pair: TypeAlias = "tuple[int, int]"

ODD = frozenset({"negative", "sign", "sin", "sinh", "tan", "tanh", "arctan", "arcsinh", "cbrt"})
DEEP = 40
"""So many calls behind a value it is not asked any more."""

EVEN = frozenset({"absolute", "cos", "cosh"})
VIEWS = frozenset({reshaping.expand_axes, reshaping.squeeze_axes, reshaping.transpose_axes})


def mirrored(graph: Graph, client: Client = NO_CLIENT) -> Graph:
    """Of two products that are mirror images one is left."""
    turned = any(
        isinstance(node, Call) and node.op in (reshaping.transpose_axes, contractions.matmul)
        for users in graph.users.values()
        for node in users
    )
    if not turned:
        return graph
    alike = cse(rewrite(cse(graph), RULES))
    return rewrite(alike, (_like_terms,))


@offered(frozenset({reshaping.transpose_axes}).__contains__)
def _symmetric_transposed(r: Rewriter, call: Call) -> Value | None:
    """x.T -> x."""
    pair = _exchange(call)
    x = call.operands[0]
    return x if pair is not None and _Signs(r).of(x, pair) == 1 else None


@offered(frozenset({contractions.matmul}).__contains__)
def _exchanged_product(r: Rewriter, call: Call) -> Value | None:
    """x.mT @ b -> -(x @ b) of an antisymmetric x, v @ x -> x @ v of a symmetric one."""
    a, b = call.operands
    if a.type.ndim == 1 and b.type.ndim == 2:
        sign = _Signs(r).of(b, (0, 1))
        if sign is not None:
            return _signed(r, r.emit(contractions.matmul, b, a), sign)
        return None
    for position, operand in enumerate(call.operands):
        node = r.node(operand)
        if node is None or node.op is not reshaping.transpose_axes:
            continue
        pair = _exchange(node)
        if pair is not None and _Signs(r).of(node.operands[0], pair) == -1:
            operands = list(call.operands)
            operands[position] = node.operands[0]
            return _signed(r, r.emit(contractions.matmul, *operands), -1)
    return None


@offered(VIEWS.__contains__)
def _sign_of_view(r: Rewriter, call: Call) -> Value | None:
    """(-x)[:, None] -> -x[:, None], as other rules move signs on."""
    node = r.node(call.operands[0])
    if node is None or node.op is not ufuncs.negative:
        return None
    if call.results[0].type.dtype not in ("float32", "float64"):
        return None
    view = r.emit(call.op, node.operands[0], **dict(call.attributes))
    return r.emit(ufuncs.negative, view)


@offered(frozenset({ufuncs.add, ufuncs.subtract}).__contains__)
def _like_terms(r: Rewriter, call: Call) -> Value | None:
    """a * x + b * x -> (a + b) * x, for numbers a and b: what two mirror images add up to."""
    (a, x), (b, y) = (_multiple(r, value) for value in call.operands)
    if x is not y or not same_type(r, x, call.results[0]):
        return None
    if x.type.dtype not in ("float32", "float64"):
        return None
    number = a + b if call.op is ufuncs.add else a - b
    if number == 0 or not isfinite(number):
        return None
    return r.emit(ufuncs.multiply, r.make_number(number, weak("float")), x)


def _multiple(r: Rewriter, value: Value) -> tuple[float, Value]:
    """A number and what it multiplies."""
    node = r.node(value)
    if node is not None and node.op is ufuncs.negative:
        number, x = _multiple(r, node.operands[0])
        return -number, x
    if node is not None and node.op is ufuncs.multiply:
        for position in (0, 1):
            factor = r.number(node.operands[position])
            if type(factor) in (int, float):
                return float(factor), node.operands[1 - position]  # type: ignore[arg-type]
    return 1.0, value


RULES = (_symmetric_transposed, _exchanged_product, _sign_of_view)


def _signed(r: Rewriter, value: Value, sign: int) -> Value:
    return r.emit(ufuncs.negative, value) if sign < 0 else value


def _exchange(call: Call) -> Pair | None:
    """The two axes that a transposition exchanges, None for any other."""
    order = call.attribute("axes") or tuple(reversed(range(call.operands[0].type.ndim)))
    moved = [i for i, axis in enumerate(order) if i != axis]
    return (moved[0], moved[1]) if len(moved) == 2 else None


class _Signs:
    """Whether values are their own mirror images: 1, but for the sign: -1, or not known: None."""

    def __init__(self, r: Rewriter) -> None:
        self.r = r
        self.known: dict[tuple[Value, Pair], int | None] = {}
        self.depth = 0

    def of(self, value: Value, pair: Pair) -> int | None:
        """The factor by which a value changes when two axes are exchanged."""
        key = (value, pair)
        if key not in self.known:
            node = self.r.node(value)
            self.depth += 1
            asked = None if node is None or self.depth > DEEP else node
            self.known[key] = None if asked is None else self._made(asked, pair)
            self.depth -= 1
        return self.known[key]

    def _made(self, node: Call, pair: Pair) -> int | None:
        operands = node.operands
        if node.op is reshaping.transpose_axes:
            ndim = operands[0].type.ndim
            order = node.attribute("axes") or tuple(reversed(range(ndim)))
            return self.of(operands[0], _sorted(order[pair[0]], order[pair[1]]))
        if node.op is reshaping.expand_axes:
            new = axes_of(node.attribute("axis"), 0)
            if {*pair} & {*new}:
                return 1 if {*pair} <= {*new} else None
            before = [axis - sum(a < axis for a in new) for axis in pair]
            return self.of(operands[0], (before[0], before[1]))
        if node.op is sums_and_extremes.sum_over and not node.attribute("keepdims"):
            axes = axes_of(node.attribute("axis"), operands[0].type.ndim)
            left = [i for i in range(operands[0].type.ndim) if i not in axes]
            return self.of(operands[0], (left[pair[0]], left[pair[1]]))
        if node.op in (row_normalization.row_dot, rows_dot):
            same = {value.type.ndim for value in operands} == {node.results[0].type.ndim + 1}
            return _product([self.of(value, pair) for value in operands]) if same else None
        if Trait.ELEMENTWISE in node.op.traits and len(node.results) == 1:
            return self._elementwise(node, pair)
        return None

    def _elementwise(self, node: Call, pair: Pair) -> int | None:
        op, operands = node.op, node.operands
        if len(operands) == 2 and self._are_images(node, pair):
            if op is ufuncs.subtract:
                return -1
            return 1 if Trait.COMMUTATIVE in op.traits else None
        signs = [self._aligned(node, value, pair) for value in operands]
        if None in signs:
            return None
        if op in (ufuncs.multiply, ufuncs.divide):
            return _product(signs)
        if op in (ufuncs.add, ufuncs.subtract):
            return signs[0] if signs[0] == signs[1] else None
        if all(sign == 1 for sign in signs):
            return 1
        if op.name in ODD:
            return -1
        even = op is powers.number_power and node.attribute("exponent") in (2, 4)
        return 1 if op.name in EVEN or even else None

    def _aligned(self, node: Call, operand: Value, pair: Pair) -> int | None:
        """The sign of an operand that may broadcast to the result."""
        missing = node.results[0].type.ndim - operand.type.ndim
        dims = dims_of(self.r.sizes, operand.type)
        own = [axis - missing for axis in pair]
        present = [axis for axis in own if axis >= 0 and dims[axis] != 1]
        if not present:
            return 1
        return self.of(operand, (own[0], own[1])) if len(present) == 2 else None

    def _are_images(self, node: Call, pair: Pair) -> bool:
        """Whether the operands are one array, seen along the one axis and along the other."""
        ndim = node.results[0].type.ndim
        (x, of_x), (y, of_y) = (self._seen(value, ndim) for value in node.operands)
        exchange = {pair[0]: pair[1], pair[1]: pair[0]}
        return x is y and of_x != of_y and [exchange.get(i, i) for i in of_x] == of_y

    def _seen(self, value: Value, ndim: int) -> tuple[Value, list[int]]:
        """The array behind views of it, and where its axes lie in a result of `ndim` axes."""
        places = list(range(ndim - value.type.ndim, ndim))
        node = self.r.node(value)
        while node is not None and node.op in (reshaping.expand_axes, reshaping.transpose_axes):
            if node.op is reshaping.expand_axes:
                new = axes_of(node.attribute("axis"), 0)
                places = [place for i, place in enumerate(places) if i not in new]
            else:
                order = node.attribute("axes") or tuple(reversed(range(len(places))))
                places = [places[order.index(i)] for i in range(len(places))]
            value = node.operands[0]
            node = self.r.node(value)
        return value, places


def _product(signs: list[int | None]) -> int | None:
    a, b = signs
    return None if a is None or b is None else a * b


def _sorted(a: int, b: int) -> Pair:
    return (a, b) if a < b else (b, a)
