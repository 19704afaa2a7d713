"""Which values are known to lie in memory in C order: the one place that knows.

Where an array lies otherwise, its sums add in another order, so the order decides bits; what is
made "like" another array lies as that does. Records say what their ops do (`Trait.C_ORDER`,
`Trait.CONTIGUOUS`, `Trait.KEEPS_ORDER`, `Trait.LIES_LIKE`); here it is followed through a graph.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from codegen.ir import Builder, Call, Graph, Trait, Value, dims_of
from codegen.spelling import Slot, Subscript, Window


@dataclass
class Ordered:
    """The values whose elements lie one after the other in C order, and those whose axes lie so.

    Of the latter some elements may be left out: ``x[:, 1:]`` of what is in C order.
    """

    dense: set[Value]
    axes: set[Value]

    def holds(self, value: Value) -> bool:
        """Whether what is made like a value is in C order."""
        return value.type.ndim < 2 or value in self.axes


def ordered_values(graph: Graph, ordered: Iterable[Value]) -> Ordered:
    """The values that are in C order if these are.

    A parameter is where all that it is given is: supposed of all, until it is seen not to hold.
    """
    dense = axes = frozenset(graph.given)
    while True:
        known = Ordered({*ordered, *dense}, {*ordered, *axes})
        for node in graph.all_nodes:
            if isinstance(node, Call):
                note_order(graph, node, known)
        lost_dense = {p for p in dense if not known.dense.issuperset(graph.given[p])}
        lost_axes = {p for p in axes if not all(map(known.holds, graph.given[p]))}
        if not lost_dense and not lost_axes:
            return known
        dense, axes = dense - lost_dense, axes - lost_axes


def lies_in_rows(builder: Builder, value: Value) -> bool:
    """Whether a value of a graph that grows is in C order whatever the layouts of inputs are."""
    known, seen, waiting = Ordered(set(), set()), set[Value](), [value]
    while waiting:
        node = builder.producer.get(waiting[-1])
        if not isinstance(node, Call) or waiting[-1] in known.dense:
            waiting.pop()
        elif waiting[-1] in seen or Trait.CONTIGUOUS in node.op.traits:
            note_order(builder, node, known)
            waiting.pop()
        else:
            seen.add(waiting[-1])
            waiting += node.operands
    return value in known.dense


def note_order(graph: Graph | Builder, call: Call, known: Ordered) -> None:
    """Adds the results of a call to the values in C order, where they are."""
    if _is_dense(graph, call, known):
        known.dense.update(call.results)
        known.axes.update(call.results)
    elif _shows_axes(call) and known.holds(call.operands[0]):
        known.axes.update(call.results)


def _shows_axes(call: Call) -> bool:
    """Whether the results show the first operand with its axes in their order."""
    return Trait.KEEPS_ORDER in call.op.traits and call.memory is Trait.VIEW


def _is_dense(graph: Graph | Builder, call: Call, known: Ordered) -> bool:
    """True when the result's memory is in C order whatever the layouts of other values are."""
    traits, operands = call.op.traits, call.operands
    if Trait.UPDATE in traits:
        return operands[0] in known.dense
    if Trait.CONTIGUOUS in traits:
        return True
    if Trait.LIES_LIKE in traits:
        return known.holds(operands[-1])
    if Trait.TOTAL in traits:  # the axes that are left lie as they did
        return call.results[0].type.ndim <= 1 or operands[0] in known.dense
    if call.memory is Trait.VIEW:
        return Trait.KEEPS_ORDER in traits and operands[0] in known.dense and _is_one_part(call)
    if call.memory is not None:
        return False
    if call.results[0].type.ndim <= 1:
        return True
    if Trait.COPY in traits:
        return known.holds(operands[0])
    if Trait.ELEMENTWISE in traits:
        shape = dims_of(graph.sizes, call.results[0].type)
        like = (v for v in operands if dims_of(graph.sizes, v.type) == shape)
        return any(v in known.axes for v in like) or all(map(known.holds, operands))
    if Trait.C_ORDER in traits and call.results[0].type.ndim == 2:
        return True
    return Trait.KEEPS_ORDER in traits and all(map(known.holds, operands)) and _is_one_part(call)


def _is_one_part(call: Call) -> bool:
    """Whether what a call takes by an index lies in one piece, where it takes something so."""
    index = dict(call.attributes).get("index")
    if not isinstance(index, Subscript):
        return True
    *first, last = index.items or (slice(None),)
    numbers = (int, Slot) if call.memory is Trait.VIEW else (int,)  # of a view no slot is an array
    if isinstance(last, slice | Window):
        return last.step in (None, 1) and all(isinstance(item, numbers) for item in first)
    one = isinstance(last, numbers) or (isinstance(last, Slot) and not first)
    return one and all(isinstance(item, numbers) for item in first)
