"""Makes a graph of one whose calls write to arrays that are there: each then has versions.

A call that writes makes the next version of an array; loops and joins hand on those that are
written in them.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace

from codegen.ir import (
    Again,
    Block,
    Branch,
    Call,
    Join,
    Loop,
    Node,
    Value,
    walk,
    with_operands,
)


def with_versions(block: Block, arrays: Collection[Value]) -> Block:
    """The block in which every read of an array reads its version there."""
    return _Versions(arrays).block(block, {array: array for array in arrays})


class _Versions:
    def __init__(self, arrays: Collection[Value]) -> None:
        self.arrays = set(arrays)
        self.handed: dict[object, list[Value]] = {}  # what loops and joins hand on, by label

    def _written(self, block: Block) -> list[Value]:
        """The arrays that are written in a block, in order."""
        found = dict.fromkeys(
            node.operands[0]
            for node in walk(block.nodes)
            if isinstance(node, Call) and self._writes(node)
        )
        return list(found)

    def _writes(self, call: Call) -> bool:
        return call.reuse == 0 and call.operands[0] in self.arrays

    def block(self, block: Block, now: Mapping[Value, Value]) -> Block:
        now = dict(now)
        nodes: list[Node] = []

        def current(value: Value) -> Value:
            return now.get(value, value)

        for node in block.nodes:
            new = with_operands(node, current)
            match new:
                case Call() if isinstance(node, Call) and self._writes(node):
                    now[node.operands[0]] = new.results[0]
                case Loop() | Join():
                    new = self._head(new, now)
                case Branch():
                    new = replace(new, blocks=tuple([self.block(b, now) for b in new.blocks]))
                case Again(label, arguments):
                    more = tuple([now[array] for array in self.handed[label]])
                    new = replace(new, arguments=(*arguments, *more))
            nodes.append(new)
        return block.with_nodes(tuple(nodes), tuple(map(current, block.outputs)))

    def _head(self, head: Loop | Join, now: Mapping[Value, Value]) -> Loop | Join:
        """A loop or join with more parameters: the arrays that are written in it."""
        written = self._written(head.blocks[0])
        self.handed[head.label] = written
        inside = {array: Value(array.type, array.origin) for array in written}
        parameters = (*head.parameters, *inside.values())
        behind = {**now, **inside}
        if isinstance(head, Join):
            body, after = self.block(head.body, now), self.block(head.after, behind)
            return replace(head, parameters=parameters, blocks=(body, after))
        arguments = (*head.arguments, *(now[array] for array in written))
        blocks = tuple([self.block(block, behind) for block in head.blocks])
        return replace(head, parameters=parameters, arguments=arguments, blocks=blocks)
