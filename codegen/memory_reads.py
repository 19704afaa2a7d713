"""Finds where the memory of each value is read.

A read has a place in the order of the graph, and so a block is a range of places: whether memory is
read in some part of the graph is found without a look at the rest.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from codegen.facts import once_for_each_graph
from codegen.ir import Block, Graph, Node, Value, inner_blocks


@dataclass
class MemoryReads:
    """The place of each node, those of each block, and those where memory is read, by its owner.

    What a block returns is read at its last place.
    """

    nodes: dict[Node, int] = field(default_factory=dict)
    blocks: dict[Block, range] = field(default_factory=dict)
    owners: dict[Value, list[int]] = field(default_factory=dict)

    def is_read(self, owner: Value, places: range) -> bool:
        """Whether the memory of an owner is read at one of some places."""
        reads = self.owners.get(owner, ())
        at = bisect_left(reads, places.start)
        return at < len(reads) and reads[at] < places.stop

    def behind(self, node: Node, block: Block) -> range:
        """The places in a block behind one of its nodes."""
        return range(self.nodes[node] + 1, self.blocks[block].stop)

    def note(self, block: Block, at: int, owner: Mapping[Value, Value]) -> int:
        """Notes a block that begins at a place; the place behind it."""
        start = at
        for node in block.nodes:
            self.nodes[node] = at
            self._read(node.operands, at, owner)
            at += 1
        for inner in inner_blocks(block.nodes[-1]) if block.nodes else ():
            at = self.note(inner, at, owner)
        self._read(block.outputs, at, owner)
        self.blocks[block] = range(start, at + 1)
        return at + 1

    def _read(self, values: Sequence[Value], at: int, owner: Mapping[Value, Value]) -> None:
        for value in values:
            self.owners.setdefault(owner[value], []).append(at)


@once_for_each_graph
def memory_reads(graph: Graph) -> MemoryReads:
    """Where the memory of each value of a graph is read."""
    found = MemoryReads()
    found.note(graph.block, 0, graph.owner)
    return found
