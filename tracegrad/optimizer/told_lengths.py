"""Refuses a graph whose turns read a length that nothing in them tells.

What a mask picks in a turn has a length of its own. The backward of the turn may need that number
without anything that is as long: then there is no program with this loop.
"""

from __future__ import annotations

from collections.abc import Set

from codegen.ir import Block, Call, Graph, Loop, inner_blocks
from codegen.sizes import SizeError
from codegen.told_lengths import lengths_told, symbols_printed


def require_lengths_told(graph: Graph) -> None:
    """Raises `SizeError` for a length of the data that a turn reads, and nothing there has."""
    of_data = graph.sizes.data.keys() - graph.sizes.counters.keys()
    if of_data and any(isinstance(node, Loop) for node in graph.all_nodes):
        known = {name for value in graph.inputs for name in lengths_told(graph, value)}
        _require(graph, graph.block, known, of_data, in_turn=False)


def _require(graph: Graph, block: Block, known: Set[str], of_data: Set[str], in_turn: bool) -> None:
    told = {*known}
    for node in block.nodes:
        if in_turn and isinstance(node, Call):
            missing = (symbols_printed(node, graph.sizes) & of_data) - told
            if missing:
                raise SizeError(f"nothing in a turn has the length {min(missing)}")
        told.update(name for value in node.results for name in lengths_told(graph, value))
        for inner in inner_blocks(node):
            turns = in_turn or (isinstance(node, Loop) and inner is node.turn)
            _require(graph, inner, told, of_data, turns)
