"""Computes most terms of sums over turns as products of stacked operands."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from contextlib import suppress
from typing import Any

from codegen import sizes as sz
from codegen.errors import CodegenError
from codegen.ir import (
    Call,
    Origin,
    Value,
)
from tracegrad.fast_math.unrolled.block_edits import FEWEST, Changes
from tracegrad.fast_math.unrolled.stacked_operands import Part, Stack, Stacks, Total, extend, lift
from tracegrad.fast_math.unrolled.sum_terms import Member, Term, is_sum, term_of
from tracegrad.ops.elementwise.ufuncs import add, negative, subtract
from tracegrad.ops.linear_algebra.contractions import matmul
from tracegrad.ops.reductions.sums_and_extremes import sum_over
from tracegrad.ops.shape.reshaping import transpose_axes
from tracegrad.ops.type_rules import axes_of


def sum_at_once(changes: Changes) -> None:
    """Sums of products as products of stacked operands, and what can be done with the stacks."""
    stacks = Stacks(changes)
    totals = [total for total in _totals(changes) if len(total.terms) >= FEWEST]
    grouped = [(total, group) for total in totals for group in _products_in(changes, total)]
    for total, group in sorted(grouped, key=lambda pair: -len(pair[1])):
        _stack_products(changes, stacks, total, group)
    for total in totals:
        for group in _others_in(changes, total):
            found = stacks.largest(_lefts(group))
            group = [group[i] for i in sorted(found)]
            order = stacks.order(_lefts(group)) if len(group) >= FEWEST else None
            members = [group[i].left for i in order or ()]
            if members:
                _take(total, group, stacks.part(members, total), None)
    for stack in stacks.all:
        extend(changes, stacks, stack)
    lift(changes, stacks)
    for total in totals:
        if total.batches:
            with suppress(CodegenError):
                _sum(changes, total)


def _totals(changes: Changes) -> Iterator[Total]:
    """The sums of the block, however they are put together, with all their terms."""
    inner: set[Value] = set()
    for node in reversed(changes.block.nodes):
        if not isinstance(node, Call) or not is_sum(changes, node.results[0]):
            continue
        result = node.results[0]
        if result in inner:
            continue
        terms = []
        shape, waiting = changes.dims(result), [(result, False)]
        while waiting:
            value, negative = waiting.pop()
            call = changes.made_by(value)
            part_of_it = value is result or (
                value in changes.place
                and is_sum(changes, value)
                and changes.only_reader(value) is not None
                and changes.dims(value) == shape
                and value.type.dtype == result.type.dtype
            )
            if part_of_it and call is not None:
                inner.add(value)
                first, second = call.operands
                waiting += [(second, negative != (call.op is subtract)), (first, negative)]
            else:
                terms.append(term_of(changes, value, negative, shape))
        latest = changes.first_reader(result)
        yield Total(result, changes.place[result], latest, terms)


def _products_in(changes: Changes, total: Total) -> Iterator[list[Term]]:
    """Products of equal shapes that a sum has enough of, of different operands."""
    groups: dict[Hashable, list[Term]] = {}
    for term in total.terms:
        if term.right is not None:
            left, right = changes.dims(term.left.value), changes.dims(term.right.value)
            key = (term.kind, term.negative, term.left.turned, left, right)
            groups.setdefault(key, []).append(term)
    for group in groups.values():
        lefts, rights = {term.left for term in group}, {term.right for term in group}
        if 2 * min(len(lefts), len(rights)) > len(group) >= FEWEST:
            yield group


def _others_in(changes: Changes, total: Total) -> Iterator[list[Term]]:
    """Totals and bare values of equal shapes that a sum has enough of."""
    groups: dict[Hashable, list[Term]] = {}
    for term in total.terms:
        if term.right is None:
            key = (term.kind, term.negative, term.axis, changes.dims(term.left.value))
            groups.setdefault(key, []).append(term)
    yield from (group for group in groups.values() if len(group) >= FEWEST)


def _stack_products(changes: Changes, stacks: Stacks, total: Total, group: list[Term]) -> None:
    """Takes products out of a sum: their operands become rows of two arrays."""
    rest: list[Term] = []
    for side in (_lefts, _rights):
        found = stacks.largest(side(group))
        if len(group) > len(found) >= FEWEST:  # the others are not worth copies of these
            rest += [term for i, term in enumerate(group) if i not in found]
            group = [group[i] for i in sorted(found)]
    lefts, rights = _lefts(group), _rights(group)
    order = stacks.order(lefts) or stacks.order(rights)
    if order is None:
        order = list(range(len(group)))
        if total.result.origin.section:
            order.reverse()  # the first turn is the last to be derived
    left = stacks.part([lefts[i] for i in order], total)
    right = stacks.part([rights[i] for i in order], total)
    _take(total, group, left, right)
    if len(rest) >= FEWEST:
        _stack_products(changes, stacks, total, rest)


def _lefts(group: Sequence[Term]) -> list[Member]:
    return [term.left for term in group]


def _rights(group: Sequence[Term]) -> list[Member]:
    return [term.right for term in group if term.right is not None]


def _take(total: Total, group: list[Term], left: Part, right: Part | None) -> None:
    """The terms are summed at once."""
    gone = {id(term) for term in group}
    total.terms = [term for term in total.terms if id(term) not in gone]
    total.batches.append((group[0], left, right))


def _sum(changes: Changes, total: Total) -> None:
    """The sum with the batches in place of what they hold."""
    at, origin = total.at, total.result.origin
    inner = origin.named(origin.name)
    alone = not total.terms and len(total.batches) == 1 and not total.batches[0][0].negative
    pieces = [
        (term.negative, _batched(changes, at, term, left, right, origin if alone else inner))
        for term, left, right in total.batches
    ]
    pieces += [(term.negative, term.leaf) for term in total.terms]
    pieces.sort(key=lambda piece: piece[0])
    negated, value = pieces[0]
    if negated:
        value = changes.emit(at, negative, value, origin=inner)
    for i, (minus, piece) in enumerate(pieces[1:], 2):
        op = subtract if minus else add
        here = origin if i == len(pieces) else inner
        value = changes.emit(at, op, value, piece, origin=here)
    changes.instead[total.result] = value


def _batched(
    changes: Changes, at: int, term: Term, left: Part, right: Part | None, origin: Origin
) -> Value:
    """What the terms of a batch add up to."""
    inner = origin.named(origin.name)
    a = _array_of(changes, at, left, inner)
    if right is None:
        return _added_up(changes, at, term, a, origin)
    b = _array_of(changes, at, right, inner)
    if term.kind == "product":
        a, b = (_joined_rows(changes, at, x, inner) for x in (a, b))
    if a.type.ndim == 2:
        a = changes.emit(at, transpose_axes, a, axes=None, origin=inner)
    return changes.emit(at, matmul, a, b, origin=origin)


def _array_of(changes: Changes, at: int, part: Part, origin: Origin) -> Value:
    whole = part.whole.array if isinstance(part.whole, Stack) else part.whole
    assert whole is not None
    return changes.part(at, whole, part.start, part.length, origin.named(whole.origin.name))


def _joined_rows(changes: Changes, at: int, x: Value, origin: Origin) -> Value:
    """Matrices one below the other, vectors one behind the other."""
    origin = origin.named(x.origin.name)
    if x.type.ndim > 2:
        return changes.flat(at, x, origin)
    return changes.reshaped(at, x, (sz.mul(x.type.shape),), origin)


def _added_up(changes: Changes, at: int, term: Term, x: Value, origin: Origin) -> Value:
    """The sum over turns of the members, or of what each adds up to."""
    axis: Any = 0
    if term.kind == "total":
        ndim = x.type.ndim - 1
        if ndim > 1 and term.axis == 0:
            inner = origin.named(x.origin.name)
            x = changes.reshaped(at, x, _first_two_in_one(x.type.shape), inner)
        else:
            axes = (0, *(a + 1 for a in axes_of(term.axis, ndim)))
            axis = None if len(axes) == ndim + 1 else axes
    return changes.emit(at, sum_over, x, axis=axis, keepdims=False, origin=origin)


def _first_two_in_one(shape: tuple[sz.Dim, ...]) -> tuple[sz.Dim, ...]:
    return (sz.mul(shape[:2]), *shape[2:])
