"""Does before an ``if`` what all its arms do on one line of the user's function.

A line that stands behind an ``if`` is in both arms of the graph where what is left to do differs by
arm: in a backward, and in the turns of loops that save values by the way they went. What the arms
do on lines of their own stays in them, as the user wrote it. So does what an arm does that leaves
a loop or the function, because the test of a loop stands first in its turns.

Before::                                    After::

    graph f(x: float64[n0], c: bool[]) {        graph f(x: float64[n0], c: bool[]) {
      join %y: float64[n0] as J1                  join %y: float64[n0] as J1
        body                                        body
          branch %c bool                              %a = exp(%x)
            case True                                 branch %c bool
              %a = exp(%x)                              case True
              again J1 %a                                 again J1 %a
            case False                                  case False
              %a2 = exp(%x)                               %b = sin(%a)
              %b = sin(%a2)                               again J1 %b
              again J1 %b                           after
        after                                         return %y
          return %y                             }
    }
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping
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
    inner_blocks,
)
from codegen.passes.client import NO_CLIENT, Client
from codegen.passes.cse import call_key, made_to_be_written, number_key
from codegen.rewrite import substituted
from codegen.types import LIST


def hoist_from_arms(graph: Graph, client: Client = NO_CLIENT) -> Graph:
    """Moves what all arms of a branch do in front of it, from the inside out."""
    if not any(isinstance(node, Branch) for node in graph.all_nodes):
        return graph
    block = _Hoisting(graph).of(graph.block)
    return graph if block is graph.block else graph.with_block(block)


class _Hoisting:
    """The walk over the blocks of one graph.

    Values have numbers: those that are the same have one.
    """

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.written = set(made_to_be_written(graph))
        self.numbers: dict[Value, int] = {}
        self.keys: dict[Hashable, int] = {}

    def of(self, block: Block) -> Block:
        """The block, with the blocks in it; the same object where nothing is moved."""
        if not block.nodes:
            return block
        last, before = block.nodes[-1], inner_blocks(block.nodes[-1])
        inner = tuple(map(self.of, before))
        if any(new is not old for new, old in zip(inner, before, strict=True)):
            assert isinstance(last, Branch | Loop | Join)
            last = replace(last, blocks=inner)
            block = block.with_nodes((*block.nodes[:-1], last))
        if isinstance(last, Branch) and last.complete and _meet(last):
            return self._before(block, last)
        return block

    def _before(self, block: Block, branch: Branch) -> Block:
        """The block with what all arms of its branch do in front of it."""
        first, *others = [self._calls(arm) for arm in branch.blocks]
        moved: dict[Node, None] = {}
        same: dict[Value, Value] = {}
        inside = {r for arm in branch.blocks for node in arm.nodes for r in _results(node)}
        for key, call in first.items():
            calls = [call, *(found for arm in others if (found := arm.get(key)) is not None)]
            if len(calls) == len(branch.blocks) and self._may_move(call, calls, inside, same):
                constants = [made for v in call.operands if (made := self.graph.constant(v))]
                moved.update((made, None) for made in constants if made.result in inside)
                moved[call] = None
                for found in calls:
                    same.update(zip(found.results, call.results, strict=True))
        if not same:
            return block
        arms = tuple(_without(arm, same, moved) for arm in branch.blocks)
        return block.with_nodes((*block.nodes[:-1], *moved, replace(branch, blocks=arms)))

    def _calls(self, arm: Block) -> dict[Hashable, Call]:
        """The calls of an arm that might be moved, by what tells equal ones."""
        found: dict[Hashable, Call] = {}
        for node in arm.nodes:
            if isinstance(node, Constant):
                key: Hashable = ("number", number_key(self.graph, node))
                self.numbers[node.result] = self.keys.setdefault(key, len(self.keys))
            elif isinstance(node, Call):
                key = self._key(node)
                found.setdefault(key, node)
                for i, result in enumerate(node.results):
                    self.numbers[result] = self.keys.setdefault((key, i), len(self.keys))
        return found

    def _key(self, call: Call) -> Hashable:
        origin = call.results[0].origin
        operands = [self._number(value) for value in call.operands]
        where = origin.section, origin.file, origin.line, origin.within
        return (call_key(self.graph, call, operands), where)

    def _number(self, value: Value) -> int:
        if value not in self.numbers:
            self.numbers[value] = self.keys.setdefault(value, len(self.keys))
        return self.numbers[value]

    def _may_move(
        self, call: Call, calls: list[Call], inside: set[Value], same: Mapping[Value, Value]
    ) -> bool:
        """Whether a call may be done before the branch, for those that are the same in the arms."""
        traits, users = call.op.traits, self.graph.users
        if Trait.EFFECT in traits or not call.operands or call.results[0] in self.written:
            return False
        if Trait.UPDATE in traits:
            updated = call.operands[0]
            alone = all(user in calls for user in users.get(updated, ()))
            if updated.type != LIST or updated in inside or not alone:
                return False
        return all(
            value not in inside or value in same or self.graph.constant(value)
            for value in call.operands
        )


def _results(node: Node) -> tuple[Value, ...]:
    if isinstance(node, Constant):
        return (node.result,)
    return node.results if isinstance(node, Call) else ()


def _meet(branch: Branch) -> bool:
    """Whether all arms of a branch, in any case, go on at one place."""
    goals = {goal for arm in branch.blocks for goal in _goals(arm, frozenset())}
    return len(branch.blocks) > 1 and len(goals) == 1 and None not in goals


def _goals(block: Block, own: frozenset[object]) -> Iterator[object]:
    """Where the ways out of a block lead: labels that are none of its `own`, None for a return."""
    last = block.nodes[-1] if block.nodes else None
    if isinstance(last, Again):
        if last.label not in own:
            yield last.label
        return
    inner = () if last is None else inner_blocks(last)
    if not inner:
        yield None
    if isinstance(last, Loop | Join):
        own |= {last.label}
    for part in inner:
        yield from _goals(part, own)


def _without(arm: Block, same: Mapping[Value, Value], moved: Mapping[Node, None]) -> Block:
    """An arm without what was moved."""
    nodes = [
        node
        for node in arm.nodes
        if node not in moved and not (isinstance(node, Call) and node.results[0] in same)
    ]
    return substituted(arm.with_nodes(tuple(nodes)), lambda value: same.get(value, value))
