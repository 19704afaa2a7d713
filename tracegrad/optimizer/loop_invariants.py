"""Computes what no turn of a loop changes once, ahead of the loop: loop-invariant code motion.

It is done after differentiation: then each turn's cotangents are still added up in the order in
which the function computes. Only a loop that makes a turn in every call has such work moved, and
only what each turn computes: nothing is computed that the function would not, and nothing raises
or warns that would not. Lists of what turns saved, all of whose items are now one value, go
(`alike_items`), so that the backward's loop has work to move as well.

Before::                                        After::

    graph f(x: float64[], c: float64[]) {           graph f(x: float64[], c: float64[]) {
      %z = constant(0)                                %z = constant(0)
      %k = constant(8)                                %k = constant(8)
      loop %s = %x for %i in range(%z, %k, 1) as L1   %e = exp(%c)
        turn                                          loop %s = %x for %i in range(%z, %k, 1) as L1
          %e = exp(%c)                                  turn
          %a = mul(%s, %e)                                %a = mul(%s, %e)
          again L1 %a                                     again L1 %a
        after                                           after
          return %s                                       return %s
    }                                               }
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from codegen.ir import (
    Again,
    Block,
    Branch,
    Call,
    Constant,
    Graph,
    Join,
    Loop,
    Node,
    Trait,
    Value,
    dims_of,
    inner_blocks,
    walk,
)
from codegen.passes.client import NO_CLIENT, Client
from codegen.passes.cse import cse
from codegen.sizes import symbols
from codegen.told_lengths import lengths_told, symbols_printed, told_by_turns
from codegen.types import LIST, weak
from tracegrad.optimizer.alike_items import alike_items
from tracegrad.optimizer.numbers_of_turns import begins

AGAIN = 4
"""So often a loop may read what another one has saved: backwards of backwards do."""
STAYS = frozenset({Trait.EFFECT, Trait.UPDATE, Trait.HOLDS, Trait.UNSET, Trait.MAYBE_UNSET})
"""Ops with one of these are called where they are."""
INT = weak("int")


def loop_invariants(graph: Graph, client: Client = NO_CLIENT) -> Graph:
    """The graph whose loops compute nothing that is the same in all turns."""
    if not any(isinstance(head, Loop) for head in graph.heads.values()):
        return graph
    for _ in range(AGAIN):
        moved = _Moved(graph).graph()
        new = alike_items(moved, client)
        if new is graph:
            break
        graph = cse(new, client)
    return graph


class _Moved:
    """One walk through the loops of a graph, the inner ones first."""

    def __init__(self, graph: Graph) -> None:
        self.before = graph
        self.any = False
        self.written = {
            value
            for node in graph.all_nodes
            for value in _handed_on(node)
            if value.type == LIST or value.type.shape
        }

    def graph(self) -> Graph:
        block = self._block(self.before.block, self._told(self.before.inputs))
        return self.before.with_block(block) if self.any else self.before

    def _block(self, block: Block, known: set[str]) -> Block:
        """A block whose loops are rid of what is the same in all turns.

        The lengths that are `known` are told before it.
        """
        last = block.nodes[-1] if block.nodes else None
        if not isinstance(last, Branch | Loop | Join):
            return block
        known = known | self._told(r for node in block.nodes for r in node.results)
        last = replace(last, blocks=tuple([self._block(b, known) for b in last.blocks]))
        if not (isinstance(last, Loop) and begins(self.before, last)):
            return block.with_nodes((*block.nodes[:-1], last))
        moved = dict.fromkeys(self._alike(last, known))
        if moved:
            self.any = True
            last = replace(last, blocks=tuple(_without(inner, moved) for inner in last.blocks))
        return block.with_nodes((*block.nodes[:-1], *moved, last))

    def _told(self, values: Iterable[Value]) -> set[str]:
        return {name for value in values for name in lengths_told(self.before, value)}

    def _alike(self, loop: Loop, known: set[str]) -> list[Node]:
        """What each turn makes of what was there before the loop, in order."""
        certain = [*certain_nodes(loop.turn)]
        inside = {*loop.results, *(r for node in walk(loop.turn.nodes) for r in node.results)}
        told = self._told(inside) - known
        if (name := told_by_turns(loop)) is not None:
            told.add(name)
        movable: dict[Value, Node] = {}
        work: list[Call] = []
        for node in certain:
            if isinstance(node, Constant):
                movable[node.result] = node
                inside.discard(node.result)
            elif isinstance(node, Call) and inside.isdisjoint(node.operands):
                if not self._may_move(node, told):
                    continue
                inside.difference_update(node.results)
                movable.update((result, node) for result in node.results)
                if not _is_free(node):
                    work.append(node)
        wanted: set[Node] = set()
        waiting: list[Node] = [*work]
        while waiting:
            node = waiting.pop()
            if node not in wanted:
                wanted.add(node)
                waiting += [movable[v] for v in node.operands if v in movable]
        return [node for node in certain if node in wanted]

    def _may_move(self, call: Call, told: set[str]) -> bool:
        """Whether a call makes the same before the loop; `told` are lengths that turns tell."""
        if call.op.traits & STAYS or not self.written.isdisjoint(call.results):
            return False
        if any(value.type == LIST for value in (*call.operands, *call.results)):
            return False
        dims = [d for v in call.results for d in dims_of(self.before.sizes, v.type)]
        needed = symbols_printed(call, self.before.sizes).union(*map(symbols, dims))
        return told.isdisjoint(needed)


def _is_free(call: Call) -> bool:
    """Whether a call is moved with what reads it alone: a view, or what counts."""
    return call.shown is not None or all(v.type == INT for v in call.results)


def _handed_on(node: Node) -> tuple[Value, ...]:
    """What a node writes to, or hands to a turn that may: one array would have to be copied."""
    if isinstance(node, Call) and Trait.UPDATE in node.op.traits:
        return node.operands[:1]
    return node.arguments if isinstance(node, Loop | Again) else ()


def certain_nodes(block: Block) -> Iterator[Node]:
    """The nodes that each run of a block comes to, however it goes on."""
    behind: Block | None = block
    while behind is not None and behind.nodes:
        *nodes, last = behind.nodes
        yield from nodes
        behind = None
        if isinstance(last, Constant | Call):
            yield last
        elif isinstance(last, Loop | Join) and _leads_to(last.blocks[0], {last.label}):
            behind = last.after


def _leads_to(block: Block, labels: set[object]) -> bool:
    """Whether all paths of a block go on at one of these labels."""
    last = block.nodes[-1] if block.nodes else None
    if isinstance(last, Again):
        return last.label in labels
    if isinstance(last, Loop | Join):
        labels = {*labels, last.label}
    inner = () if last is None else inner_blocks(last)
    return bool(inner) and all(_leads_to(b, labels) for b in inner)


def _without(block: Block, moved: dict[Node, None]) -> Block:
    """The block, and those in it, without nodes that were moved."""
    nodes = [node for node in block.nodes if node not in moved]
    if nodes and isinstance(nodes[-1], Branch | Loop | Join):
        inner = tuple(_without(b, moved) for b in nodes[-1].blocks)
        nodes[-1] = replace(nodes[-1], blocks=inner)
    return block.with_nodes(tuple(nodes))
