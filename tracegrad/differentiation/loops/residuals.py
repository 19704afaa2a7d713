"""Lets loops keep what the backwards of their turns read.

`Facts` are what is known of one loop. A turn appends what its backward reads to lists, which are
further parameters of the loop (`ops/python_lists.py`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Protocol

from codegen.ir import (
    Again,
    Block,
    Branch,
    Builder,
    Call,
    Graph,
    Join,
    Loop,
    Node,
    Trait,
    Value,
    walk,
)
from codegen.memory_order import Ordered, ordered_values
from codegen.rewrite import at_ends
from codegen.types import weak
from tracegrad.differentiation.joined_cotangents import JoinFacts, Path
from tracegrad.errors import TraceError
from tracegrad.ops.elementwise.ufuncs import add, copy
from tracegrad.ops.python_lists import appended, new_list

INT = weak("int")


class Unrollable(TraceError):
    """A loop whose backward cannot be written as a loop."""


class FirstTurn(Unrollable):
    """A loop whose first turn is to stand by itself: what it begins with has other readers.

    Cotangents of those and of the parameter's readers in that turn are added up one by one, as the
    tape does it, which a sum over turns is not. `label` is the loop's.
    """

    def __init__(self, label: object) -> None:
        super().__init__("what a loop begins with is read by others too")
        self.label = label


@dataclass
class Facts:
    """What is known of one loop."""

    loop: Loop
    own: set[Value]  # what changes from turn to turn: all that its turn makes
    around: tuple[Facts, ...] = ()  # the loops that it stands in the turns of
    turns: list[tuple[Again, Path]] = field(default_factory=list)
    saved: dict[Value, Value] = field(default_factory=dict)  # the list of each value that is kept
    carried: dict[Value, Value] = field(default_factory=dict)
    """The list of each parameter that is kept: its first value, and that after each turn."""
    later: set[Value] = field(default_factory=set)
    """The parameters that the backward of a turn reads the value of after the turn."""
    which: Value | None = None  # the list that tells which way each turn went
    count: Value | None = None  # a parameter that counts the turns

    @property
    def several_ways(self) -> bool:
        """Whether there are several ways through a turn, or through an ``if`` in it."""
        paths = [path for _, path in self.turns]
        return len(paths) > 1 or any(s.join is not None for path in paths for s in path)

    def keeps(self, value: Value) -> Value:
        """A list, or a count, of the forward: turns of loops around make one each."""
        for facts in self.around:
            facts.own.add(value)
        return value


class Arms(Protocol):
    """What writes the arms of joins, which leave what is read behind them."""

    joins: dict[object, JoinFacts]

    def keeping(self, join: Join, blocks: tuple[Block, ...]) -> Join: ...

    def leaving(self, again: Again) -> list[Node]: ...


class Tapes:
    """The forward, which leaves what backwards read; `ends` are those behind its returns.

    `arms` writes what joins keep.
    """

    def __init__(
        self,
        graph: Graph,
        facts: Mapping[object, Facts],
        ends: Mapping[Block, Block],
        arms: Arms | None = None,
    ) -> None:
        self.graph = graph
        self.facts = facts
        self.ends = ends
        self.arms = arms

    def rebuilt(self, block: Block, lists: dict[Value, Value]) -> Block:
        """The block whose loops keep what is read later, with the backwards behind its returns.

        `lists` are those of the loops around, as they are at this point.
        """
        last = block.nodes[-1] if block.nodes else None
        nodes = block.nodes[:-1]
        match last:
            case Branch():
                inner = tuple([self.rebuilt(b, lists) for b in last.blocks])
                return block.with_nodes((*nodes, replace(last, blocks=inner)))
            case Loop():
                return block.with_nodes((*nodes, *self._keeping(last, lists)))
            case Join() if self.arms is not None:
                inner = tuple([self.rebuilt(b, lists) for b in last.blocks])
                return block.with_nodes((*nodes, self.arms.keeping(last, inner)))
            case Again() if self.arms is not None and last.label in self.arms.joins:
                return block.with_nodes((*nodes, *self.arms.leaving(last)))
            case Again():
                return block.with_nodes((*nodes, *self._leaving(last, lists)))
        end = self.ends[block]
        return end.with_nodes((*block.nodes, *end.nodes))

    def _listed(self, facts: Facts) -> list[Value]:
        listed = [*facts.carried.values(), *facts.saved.values()]
        return [*listed, facts.which] if facts.which is not None else listed

    def keeping(self, loop: Loop) -> list[Node]:
        """A loop that stands in no other one, with lists as further parameters."""
        return self._keeping(loop, {})

    def _keeping(self, loop: Loop, lists: dict[Value, Value]) -> list[Node]:
        """A loop with lists as further parameters, and what makes them."""
        facts, builder = self.facts[loop.label], Builder(self.graph.sizes)
        listed = self._listed(facts)
        first = dict(zip(loop.parameters, loop.arguments, strict=True))
        held = {v: (first[p],) for p, v in facts.carried.items()}
        arguments = [builder.call(new_list, held.get(v, ()), v.origin)[0] for v in listed]
        if facts.count is not None:
            listed.append(facts.count)
            arguments.append(builder.constant(0, INT, None, facts.count.origin))
        blocks = tuple([self.rebuilt(b, lists) for b in loop.blocks])
        again = replace(
            loop,
            parameters=(*loop.parameters, *listed),
            arguments=(*loop.arguments, *arguments),
            blocks=blocks,
        )
        return [*builder.nodes, again]

    def _leaving(self, again: Again, lists: dict[Value, Value]) -> list[Node]:
        """The end of a turn, which appends to the lists what is read of it."""
        facts, builder = self.facts[again.label], Builder(self.graph.sizes)
        (way,) = [i for i, (other, _) in enumerate(facts.turns) if other is again]
        there = self._there(facts, way)
        further: list[Value] = []
        after = dict(zip(facts.loop.parameters, again.arguments, strict=True))
        for parameter, listed in facts.carried.items():
            further += builder.call(appended, (listed, after[parameter]), listed.origin)
        for value, listed in facts.saved.items():
            given = self._kept(value, builder) if value in there else builder.constant(0, INT)
            further += builder.call(appended, (listed, given), listed.origin)
        if facts.which is not None:
            two = len(facts.turns) == 2
            number = builder.constant(way == 0 if two else way, weak("bool") if two else INT)
            further += builder.call(appended, (facts.which, number), facts.which.origin)
        if facts.count is not None:
            one = builder.constant(1, INT)
            further += builder.call(add, (facts.count, one), facts.count.origin)
        return [*builder.nodes, replace(again, arguments=(*again.arguments, *further))]

    def _kept(self, value: Value, builder: Builder) -> Value:
        """What is kept of a value: of a part of an array that turns write to, a copy.

        Else each turn would copy the whole array before it writes. A part that does not lie in one
        piece is no copy of its own: products of it would have other bits.
        """
        made, root = self.graph.producer.get(value), value
        while isinstance(made, Call) and made.shown is not None:
            root = made.shown
            made = self.graph.producer.get(root)
        if root is value or root not in self.written or value not in self.ordered.dense:
            return value
        return builder.call(copy, (value,), value.origin)[0]

    @cached_property
    def ordered(self) -> Ordered:
        return ordered_values(self.graph, ())

    @cached_property
    def written(self) -> set[Value]:
        """The parameters of loops that turns write to."""
        return {
            parameter
            for facts in self.facts.values()
            for again, _ in facts.turns
            for parameter, last in zip(facts.loop.parameters, again.arguments, strict=True)
            if self._is_written(last, parameter)
        }

    def _is_written(self, value: Value, parameter: Value) -> bool:
        """Whether a value is what writes have made of a parameter."""
        while value is not parameter:
            made = self.graph.producer.get(value)
            if not isinstance(made, Call) or Trait.UPDATE not in made.op.traits:
                inner = [f for f in self.facts.values() if value in f.loop.parameters]
                given = [f.loop.arguments[f.loop.parameters.index(value)] for f in inner]
                if not given:
                    return False
                (value,) = given
                continue
            value = made.operands[0]
        return True

    def _there(self, facts: Facts, way: int) -> set[Value]:
        """What a way through the turn makes, or was given."""
        found = set(facts.loop.results)
        for stretch in facts.turns[way][1]:
            found.update(r for node in stretch.nodes for r in node.results)
            if stretch.join is not None and not stretch.in_body and self.arms is not None:
                found.update(stretch.join.parameters)
                found.update(self.arms.joins[stretch.join.label].kept.values())
            if stretch.loop is not None:
                inner = self.facts[stretch.loop.label]
                found.update(stretch.loop.parameters, self._listed(inner))
                if stretch.in_turn:
                    found.update(stretch.loop.results)
                if inner.count is not None:
                    found.add(inner.count)
        return found


def made_by(loop: Loop) -> Iterator[Value]:
    """What changes from turn to turn."""
    yield from loop.results
    for node in walk(loop.turn.nodes):
        yield from node.results


def giving(block: Block, end: Block) -> Block:
    """A backward whose returns give what the function returns, too."""
    return at_ends(block, lambda b: end.with_nodes(b.nodes, (*end.outputs, *b.outputs)))
