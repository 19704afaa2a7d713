"""Makes arrays of what a backward repeats, where their order in memory decides bits.

The cotangent of a sum is a number repeated, a view in which each step is 0 bytes wide. BLAS takes
no such view, and NumPy's own loops for it, like those of sums, add in another order than for an
array. So what is read by more than elementwise ops is an array, whatever stands around it, and
the rest are views. But what a loop begins with and its turns change is an array as well: they add
to it in place.

Before::                                   After::

    graph f(w: float64[2, 2]) {                graph f(w: float64[2, 2]) {
      %a = constant(3.0)                         %a = constant(3.0)
      %b = spread(%a, shape=(2, 2))              %b = full(%a, shape=(2, 2), dtype='float64')
      %c = matmul(%w, %b)                        %c = matmul(%w, %b)
      return %c                                  return %c
    }                                          }
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from codegen.ir import Call, Graph, Loop, Node, Op, Trait, Value
from codegen.passes.client import NO_CLIENT, Client
from codegen.rewrite import Rewriter, offered, sweep

IN_ANY_ORDER = frozenset(
    {Trait.ELEMENTWISE, Trait.PLACES, Trait.EXTENT, Trait.UPDATE, Trait.SPLAT, Trait.HOLDS}
)
"""Ops with one of these give the same bits however their operands lie in memory."""


def written_out(graph: Graph, client: Client = NO_CLIENT) -> Graph:
    """Makes arrays of what is repeated and read in the order of memory, and views of the rest."""
    full, splat = client.full, client.splat
    if full is None or splat is None or not any(map(_is_spread, graph.all_nodes)):
        return graph
    read = _read_by(graph, lambda op: not op.traits & (IN_ANY_ORDER | {Trait.TOTAL}))
    summed = _read_by(graph, lambda op: Trait.TOTAL in op.traits)
    changed = {*_changed(graph)}

    @offered(lambda op: Trait.WRITTEN_OUT in op.traits)
    def as_array(r: Rewriter, call: Call) -> Value | None:
        (x,), (result,) = call.operands, call.results
        shape, dtype = result.type.shape, result.type.dtype
        repeats = result in summed and x.type.shape  # sums of a number need no array
        if result in read or result in changed or repeats:
            return r.emit(full, x, shape=shape, dtype=dtype)
        return r.emit(splat, x, shape=shape)

    return sweep(graph, Rewriter(graph, (as_array,)))


def _is_spread(node: Node) -> bool:
    return isinstance(node, Call) and Trait.WRITTEN_OUT in node.op.traits


def _changed(graph: Graph) -> Iterator[Value]:
    """What loops begin with that their turns change."""
    for node in graph.all_nodes:
        if isinstance(node, Loop):
            for parameter, argument in zip(node.parameters, node.arguments, strict=True):
                if any(given not in (parameter, argument) for given in graph.given[parameter]):
                    yield argument


def _read_by(graph: Graph, reads: Callable[[Op], bool]) -> set[Value]:
    """The values that such ops read, themselves or by views and parameters."""
    read: set[Value] = set()
    new = [
        operand
        for node in graph.all_nodes
        if isinstance(node, Call) and node.shown is None and reads(node.op)
        for operand in node.operands
    ]
    while new:
        value = new.pop()
        if value in read:
            continue
        read.add(value)
        new += graph.given.get(value, ())
        made = graph.producer.get(value)
        if isinstance(made, Call) and made.shown is not None:
            new.append(made.shown)
    return read
