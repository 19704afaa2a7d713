"""Removes work that algebra shows to be none.

The rules here ask traits only: a neutral element is dropped, an op that is its own inverse cancels,
a splat of what already has the shape disappears, a splat that meets a full operand under an
elementwise op is left to broadcasting. What needs to know an op by name comes in as the client's
`rules`.

Before::                                   After::

    graph f(x: float64[n0]) {                  graph f(x: float64[n0]) {
      %a = constant(1.0)                         %a = constant(1.0)
      %b = mul(%x, %a)                           %c = neg(%x)
      %c = neg(%b)                               %e = exp(%x)
      %d = neg(%c)                               return %e
      %e = exp(%d)                             }
      return %e
    }

What nobody reads any more is left to `dce`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from math import copysign

from codegen.ir import (
    Again,
    Call,
    Graph,
    Join,
    Loop,
    Number,
    Trait,
    Value,
    dims_of,
)
from codegen.keys import attributes_key
from codegen.passes.client import NO_CLIENT, Client
from codegen.passes.fold import FOLD_RULES
from codegen.rewrite import Rewriter, offered, rewrite
from codegen.sizes import Dim
from codegen.types import kind


def simplify(graph: Graph, client: Client = NO_CLIENT) -> Graph:
    """Applies the rules below, then the client's; numbers that meet on the way are folded."""
    own = (_identity, _cancel, _splat_of_same, _splat_into)
    return rewrite(graph, (*FOLD_RULES, *own, *client.rules))


def same_type(r: Rewriter, a: Value, b: Value) -> bool:
    """Equal dtype, shape and weakness: one may stand for the other."""
    return (
        a.type.dtype == b.type.dtype
        and a.type.weak == b.type.weak
        and dims_of(r.sizes, a.type) == dims_of(r.sizes, b.type)
    )


def may_stand_for(r: Rewriter, value: Value) -> bool:
    """Whether a value may stand for a copy of itself that the call in hand makes.

    A copy is dense; a view need not be, and what is no elementwise op (a sum, a matrix product)
    adds in an order that depends on it. Nor need be what is read from outside: it matters to sums
    that do not go along the first axis alone; the sum of a vector has the same bits in any case.
    """
    made = r.producer.get(value)
    if not value.type.ndim or (isinstance(made, Call) and made.memory is None):
        return True
    if any(isinstance(node, Loop | Join | Again) for node in r.readers):
        return False  # what reads the parameter is not looked for
    calls = [node for node in r.readers if isinstance(node, Call)]
    if value.type.ndim == 1:
        return _is_read_in_any_order(r, calls)
    if isinstance(made, Call) and made.memory is Trait.SPLAT:
        return False  # results of what it is read with would lie as the others do
    if made is not None:
        return all(Trait.ELEMENTWISE in call.op.traits for call in calls)
    return not any(Trait.TOTAL in call.op.traits and call.attribute("axis") != 0 for call in calls)


def _is_read_in_any_order(r: Rewriter, calls: Iterable[Call]) -> bool:
    """Whether readers of a vector, and of views of it, have the same bits wherever it lies."""
    for call in calls:
        if call.shown is not None:
            nodes = [node for result in call.results for node in r.users.get(result, ())]
            if any(isinstance(node, Loop | Join | Again) for node in nodes):
                return False
            if not _is_read_in_any_order(r, (node for node in nodes if isinstance(node, Call))):
                return False
        elif Trait.TOTAL in call.op.traits:
            if call.operands[0].type.ndim > 1:
                return False
        elif not call.op.traits & {Trait.ELEMENTWISE, Trait.UPDATE, Trait.PLACES}:
            return False
    return True


def _is(number: Number | None, wanted: Number, integers: bool) -> bool:
    """Equal as numbers and, but for integers, in the sign of zero.

    Adding -0.0 is neutral, adding 0.0 is not: -0.0 + 0.0 is 0.0.
    """
    if isinstance(number, complex | None) or isinstance(wanted, complex) or number != wanted:
        return False
    return number != 0 or integers or copysign(1.0, number) == copysign(1.0, wanted)


@offered(lambda op: bool(op.identities))
def _identity(r: Rewriter, call: Call) -> Value | None:
    """x * 1 -> x, x / 1 -> x, x - 0 -> x, x + -0.0 -> x.

    Not for complex numbers: (inf + 1j) * 1 is inf + nan j.
    """
    result = call.results[0]
    if len(call.operands) != 2 or kind(result.type.dtype) == "complex":
        return None
    integers = kind(result.type.dtype) != "float"
    for position, neutral in call.op.identities:
        number, other = r.number(call.operands[position]), call.operands[1 - position]
        if _is(number, neutral, integers) and same_type(r, other, result):
            return other if may_stand_for(r, other) else None
    return None


@offered(lambda op: bool(op.traits & {Trait.INVOLUTION, Trait.IDEMPOTENT}))
def _cancel(r: Rewriter, call: Call) -> Value | None:
    """f(f(x)) -> x for an involution, f(x) for an idempotent op."""
    inner = r.node(call.operands[0])
    if inner is None or inner.op is not call.op:
        return None
    if attributes_key(r.sizes, inner) != attributes_key(r.sizes, call):
        return None
    if inner.operands[1:] != call.operands[1:]:
        return None
    value = inner.operands[0] if Trait.INVOLUTION in call.op.traits else inner.results[0]
    alike = same_type(r, value, call.results[0]) and may_stand_for(r, value)
    return value if alike else None


@offered(lambda op: Trait.SPLAT in op.traits)
def _splat_of_same(r: Rewriter, call: Call) -> Value | None:
    """broadcast_to(x, x.shape) -> x."""
    return call.operands[0] if same_type(r, call.operands[0], call.results[0]) else None


@offered(lambda op: Trait.ELEMENTWISE in op.traits and Trait.CONTIGUOUS not in op.traits)
def _splat_into(r: Rewriter, call: Call) -> tuple[Value, ...] | None:
    """f(broadcast_to(a, shape), b) -> f(a, b) when b alone gives the shape.

    When no operand gives it, the op is done on the small operands and its result repeated. Not in
    the user's own statements where there are axes to order: what they compute is an array in C
    order, what meets a small one is laid out as the other is, and sums add in the order of memory.
    """
    splats = {
        i: node
        for i, operand in enumerate(call.operands)
        if (node := r.node(operand)) is not None and Trait.SPLAT in node.op.traits
    }
    if not splats or len(call.results) != 1:
        return None
    result = call.results[0]
    wanted = dims_of(r.sizes, result.type)
    small = _dims_with(r, call, splats)
    if small is None:
        return None
    if small == wanted:
        return (_with(r, call, splats),)
    if result.type.ndim > 1:
        derived = {i: node for i, node in splats.items() if node.results[0].origin.section}
        if not r.origin.section or not derived:
            return None
        if len(derived) < len(splats):
            whole = _dims_with(r, call, derived) == wanted
            return (_with(r, call, derived),) if whole else None
    splat = next(iter(splats.values())).op
    return (r.emit(splat, _with(r, call, splats), shape=result.type.shape),)


def _bare(call: Call, splats: Mapping[int, Call]) -> list[Value]:
    """The operands, and of those that are splats what they repeat."""
    return [splats[i].operands[0] if i in splats else v for i, v in enumerate(call.operands)]


def _dims_with(r: Rewriter, call: Call, splats: Mapping[int, Call]) -> tuple[Dim, ...] | None:
    """The shape of the call on what is repeated; None where a splat gives a number its dtype.

    None as well where a splat is what makes an array of a Python number.
    """
    bare = _bare(call, splats)
    if call.op.calls_methods and any(bare[i].type.weak for i in splats):
        return None
    type_ = r.infer(call.op, *bare, **dict(call.attributes))
    if type_ is None or type_.dtype != call.results[0].type.dtype or type_.weak:
        return None
    return dims_of(r.sizes, type_)


def _with(r: Rewriter, call: Call, splats: Mapping[int, Call]) -> Value:
    return r.emit(call.op, *_bare(call, splats), **dict(call.attributes))
