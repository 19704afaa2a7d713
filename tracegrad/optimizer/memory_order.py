"""Makes arrays in C order where what they are made like is known to be in C order.

``np.zeros_like(x)`` lies in memory as `x` does, and NumPy's functions that are composed of ops here
give arrays in C order (`in_rows`), or in that of their operand (`lying_like`). What is written in
place (``v *= x``) lies as its target does (`in_place_of`). Programs are made for arguments in C
order, and test that where it decides something; then all of that is known, and costs nothing. A
program for arguments in any order asks the arrays when it runs.

Before::                                   After::

    graph f(x: float64[n0, n1]) {              graph f(x: float64[n0, n1]) {
      %a = zeros_like(%x)                        %a = zeros(shape=(n0, n1))
      %b = where(%m, %x, %a)                     %b = where(%m, %x, %a)
      %c = in_rows(%b)                           return %b
      return %c                                }
    }
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from codegen.ir import Call, Constant, Graph, Op, Value
from codegen.memory_order import Ordered, ordered_values
from codegen.rewrite import Rewriter, offered, sweep
from tracegrad.ops.shape.creation import LIKE, bare
from tracegrad.ops.shape.memory_order import in_place_of, in_rows, lying_like

PLAIN: Mapping[Op, Op] = {like: plain for plain, like in LIKE.items()}
ASKING = frozenset({*PLAIN, in_place_of, in_rows, lying_like})
"""The ops that ask how arrays lie in memory."""


def depends_on_order(graph: Graph) -> bool:
    """Whether the program is another one where all inputs are in C order."""
    return _known(graph, ()) != _known(graph, graph.inputs)


def _asking(graph: Graph) -> list[Call]:
    return [node for node in graph.all_nodes if isinstance(node, Call) and node.op in ASKING]


def in_known_order(graph: Graph, ordered: Iterable[Value]) -> Graph:
    """The graph without questions to which the answer is known if these inputs are in C order."""
    known = _known(graph, ordered)
    return _answered(graph, known) if known else graph


def without_order(graph: Graph) -> Graph:
    """The graph where no array lies in memory in any order: for JAX, and for what looks at ops."""
    calls = _asking(graph)
    return _answered(graph, {call.results[0]: True for call in calls}) if calls else graph


def _answered(graph: Graph, known: Mapping[Value, bool]) -> Graph:
    """The graph without the questions that give these results."""

    @offered(ASKING.__contains__)
    def answered(r: Rewriter, call: Call) -> Value | None:
        if call.results[0] not in known:
            return None
        if call.op in PLAIN:
            return _of_shape(r, call)
        lies_so = known[call.results[0]]
        return call.operands[0] if lies_so else r.emit(in_rows, call.operands[0])

    return sweep(graph, Rewriter(graph, (answered,)))


def _known(graph: Graph, ordered: Iterable[Value]) -> dict[Value, bool]:
    """The results of questions whose answer is C order, and whether the operand lies so already."""
    calls = _asking(graph)
    if not calls:
        return {}
    order = ordered_values(graph, ordered)
    return {
        call.results[0]: _lies_so(call.operands[0], order)
        for call in calls
        if _is_answered(call, order)
    }


def _is_answered(call: Call, order: Ordered) -> bool:
    """Whether the result is known to be in C order, but for a copy that this may take."""
    if call.op in PLAIN:
        return call.attribute("order") != "F" and order.holds(call.operands[0])
    if call.op in (in_place_of, lying_like):
        return order.holds(call.operands[1])
    return _lies_so(call.operands[0], order)


def _lies_so(value: Value, order: Ordered) -> bool:
    return value.type.ndim < 2 or value in order.dense


def _of_shape(r: Rewriter, call: Call) -> Value:
    """The array of a shape that a call makes like another one."""
    (x, *value), shape, dtype = call.operands, call.attribute("shape"), call.attribute("dtype")
    attributes: dict[str, Any] = {"shape": bare(x.type.shape) if shape is None else shape}
    attributes["dtype"] = dtype or x.type.dtype
    if value and _is_own(r, value[0], attributes["dtype"]):
        attributes["dtype"] = None
    return r.emit(PLAIN[call.op], *value, **attributes)


def _is_own(r: Rewriter, value: Value, dtype: str) -> bool:
    """Whether an array of a number has this dtype anyway (NumPy scalars print as numbers)."""
    number = isinstance(r.producer.get(value), Constant)
    return value.type.dtype == dtype and (value.type.weak or not number)
