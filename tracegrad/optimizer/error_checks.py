"""Adds looks for whether NumPy would raise, for a target that would not.

JAX clamps an index that is out of range and makes NaN of a matrix that has no factor. Such a call
must not be answered by the program: the look fails, and the function runs on NumPy, which raises at
the user's line. ::

    z = gather(x, i)

    z = gather(x, i)
    inside = all_within(i, length=x.shape[0])
    check inside is True
"""

from __future__ import annotations

from dataclasses import replace

from codegen.ir import Block, Branch, Builder, Call, Check, Graph, Join, Loop
from codegen.size_bounds import at_least
from codegen.sizes import Dim, add, mul
from tracegrad.ops.elementwise.ufuncs import not_equal
from tracegrad.ops.index_bounds import all_within
from tracegrad.ops.python_lists import list_item
from tracegrad.ops.staging import Stage, Staged
from tracegrad.optimizer.number_bounds import UNKNOWN, bounds_in


def with_looks(graph: Graph) -> Graph:
    """The graph with a look after every op that says when it is `sound`.

    No look asks whether a number that counts turns is an index, where the counter says so.
    """
    return graph.with_block(_Looks(graph).block(graph.block))


class _Looks:
    def __init__(self, graph: Graph) -> None:
        self.sizes = graph.sizes
        self.bounds = bounds_in(graph)
        self.read = {*graph.reads_in(graph.block)}

    def block(self, block: Block) -> Block:
        builder = Builder(self.sizes)
        for node in block.nodes:
            match node:
                case Branch(blocks=blocks) | Join(blocks=blocks) | Loop(blocks=blocks):
                    builder.append(replace(node, blocks=tuple(map(self.block, blocks))))
                case Call(op, _, _, results):
                    builder.append(node)
                    if op is not list_item or results[0] in self.read:  # the function asked for it
                        self._look_after(builder, node)
                case _:
                    builder.append(node)
        return block.with_nodes(tuple(builder.nodes))

    def _look_after(self, builder: Builder, call: Call) -> None:
        rule = call.op.sound  # type: ignore[attr-defined]
        if rule is None:
            return
        origin = replace(call.results[0].origin, name=None, final=False)
        stage = Stage(builder, origin)
        results = tuple([Staged(stage, value) for value in call.results])
        operands = [Staged(stage, value) for value in call.operands]
        y = results[0] if len(results) == 1 else results
        for held in rule(y, *operands, **dict(call.attributes)):
            look = builder.producer[held.value]
            if not (isinstance(look, Call) and self._is_known(look)):
                builder.append(Check(held.value, "bool", True, origin))

    def _is_known(self, look: Call) -> bool:
        """Whether a look is answered already: at an index, or at a divisor that may be 0."""
        low, high = self.bounds.get(look.operands[0], UNKNOWN)
        if look.op is not_equal:  # to 0
            return self._are_ordered(1, low) or self._are_ordered(high, -1)
        if look.op is not all_within:
            return False
        length: Dim = look.attribute("length")
        least = mul([-1, length]) if look.attribute("from_end") else 0
        return self._are_ordered(least, low) and self._are_ordered(high, add(length, -1))

    def _are_ordered(self, a: Dim | None, b: Dim | None) -> bool:
        """Whether one number is known to be no more than another."""
        return a is not None and b is not None and at_least(b, a, self.sizes)
