"""Tells whether cotangents of -0.0 change nothing in the backward of a turn.

What no cotangent flows to behind a loop, but from turn to turn, has none in the backward's first
turn. Where a turn does nothing with such a cotangent but add it to what flows there besides, -0.0
stands for none: it changes no sum, and no bit. Anything else would, 0.0 times infinity say.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence, Set

from codegen.ir import (
    Again,
    Block,
    Branch,
    Call,
    Constant,
    Join,
    Loop,
    Node,
    Value,
    dims_of,
    inner_blocks,
)
from codegen.keys import attributes_key
from codegen.sizes import Sizes
from tracegrad.ops.elementwise.ufuncs import add
from tracegrad.ops.python_lists import row_before
from tracegrad.ops.shape.indexing import gather

ROWS = frozenset({gather, row_before})
"""Ops that read one row of an array."""


class Unchanged:
    """Whether a block is another one, but for additions of some values.

    `begun` are these values, or arrays of which rows are read and added.
    """

    def __init__(self, sizes: Sizes, begun: Set[Value]) -> None:
        self.sizes = sizes
        self.begun = {*begun}
        self.stands: dict[object, object] = {}
        self.added: dict[Value, Value] = {}  # sums, by what they are without

    def by(self, block: Block, plain: Block) -> bool:
        """Whether `block` computes what `plain` does."""
        nodes = list(self._without_sums(block.nodes))
        if len(nodes) != len(plain.nodes) or len(block.outputs) != len(plain.outputs):
            return False
        return all(map(self._node, nodes, plain.nodes)) and self._values(
            block.outputs, plain.outputs
        )

    def _without_sums(self, nodes: Sequence[Node]) -> Iterator[Node]:
        for node in nodes:
            if isinstance(node, Call) and node.op in ROWS and node.operands[0] in self.begun:
                self.begun.update(node.results)
                continue
            if isinstance(node, Call) and node.op is add:
                left, right = node.operands
                for one, other in ((left, right), (right, left)):
                    if one in self.begun and other not in self.begun and self._alike(node, other):
                        self.added[node.results[0]] = other
                        break
                else:
                    yield node
                continue
            yield node

    def _alike(self, total: Call, other: Value) -> bool:
        a, b = total.results[0].type, other.type
        same = (a.dtype, a.weak) == (b.dtype, b.weak)
        return same and dims_of(self.sizes, a) == dims_of(self.sizes, b)

    def _node(self, a: Node, b: Node) -> bool:
        if type(a) is not type(b) or not self._values(a.operands, b.operands):
            return False
        match a, b:
            case Constant(), Constant():
                if (repr(a.value), a.slot, a.result.type) != (repr(b.value), b.slot, b.result.type):
                    return False
            case Call(), Call():
                if a.op is not b.op:
                    return False
                if attributes_key(self.sizes, a) != attributes_key(self.sizes, b):
                    return False
            case Branch(), Branch():
                if (a.look, repr(a.outcomes)) != (b.look, repr(b.outcomes)):
                    return False
            case Loop(), Loop():
                if (a.counter and a.counter.step) != (b.counter and b.counter.step):
                    return False
                self.stands[a.label] = b.label
            case Join(), Join():
                self.stands[a.label] = b.label
            case Again(), Again():
                if self.stands.get(a.label, a.label) is not b.label:
                    return False
        if len(a.results) != len(b.results):
            return False
        self.stands.update(zip(a.results, b.results, strict=True))
        inner, other = inner_blocks(a), inner_blocks(b)
        return len(inner) == len(other) and all(map(self.by, inner, other))

    def _values(self, some: Sequence[Value], others: Sequence[Value]) -> bool:
        return len(some) == len(others) and all(map(self._value, some, others))

    def _value(self, a: Value, b: Value) -> bool:
        while a in self.added:
            a = self.added[a]
        return a not in self.begun and self.stands.get(a, a) is b
