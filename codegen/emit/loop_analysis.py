"""Analyses the loops of a graph for the emitter: where paths lead, and which variables move.

A path ends in a return, in the next turn of a loop around or where a join goes on. All that are
found here are facts of the graph; how loops are written is in `control_flow.py`.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from codegen.ir import (
    Again,
    Block,
    Branch,
    Call,
    Check,
    Constant,
    Graph,
    Join,
    Loop,
    Node,
    Origin,
    Trait,
    Value,
    inner_blocks,
    walk,
)
from codegen.keys import attributes_key
from codegen.sizes import Sizes
from codegen.spelling import SUM, Fragment
from codegen.told_lengths import symbols_printed, told_by_turns
from codegen.unset import handed_on


class Paths:
    """Where the paths of a graph lead.

    `targets` are the loops around a block, by label, whose next turn a path in it begins, and the
    joins that it goes on behind. `goals` are the parameters that a value becomes there, and
    `becomes` the values that a parameter becomes. `begins` are the parameters of loops that begin
    with a value. `crossing` are values that are read in another
    turn, or after another loop or join, than they are made: their source is not moved there.
    `absent` are parameters that have no value on some path.
    `trailing` are values that stand at the end of a turn, with nothing but such values after them.
    """

    def __init__(self, graph: Graph) -> None:
        self.targets = graph.leads
        self.heads = graph.heads
        self.goals: dict[Value, list[Value]] = {}
        self.becomes: dict[Value, list[Value]] = {}
        self.begins: dict[Value, list[Value]] = {}
        self.crossing: set[Value] = set()
        self.trailing: set[Value] = set()
        self.absent: set[Value] = set()
        if not self.heads:
            return
        for block in self.targets:
            if block.nodes and isinstance(block.nodes[-1], Again):
                self._trail(block)
        made: dict[Value, object] = {}
        self._cross(graph.block, None, made)
        for node in graph.leading:
            if isinstance(node, Loop):
                for parameter, argument in zip(node.parameters, node.arguments, strict=True):
                    self.begins.setdefault(argument, []).append(parameter)
            if isinstance(node, Again):
                parameters = self.heads[node.label].parameters
                for parameter, argument in zip(parameters, node.arguments, strict=True):
                    self.goals.setdefault(argument, []).append(parameter)
                    self.becomes.setdefault(parameter, []).append(argument)
        nodes = graph.all_nodes
        unset = [n for n in nodes if isinstance(n, Call) and Trait.UNSET in n.op.traits]
        self.absent = handed_on(graph, [call.results[0] for call in unset])

    def handed_to(self, value: Value) -> list[Value]:
        """The parameters that are a value at first or come to be it."""
        return [*self.begins.get(value, ()), *self.goals.get(value, ())]

    def held_by(self, parameter: Value) -> Iterator[Value]:
        """A parameter and the values that it becomes, also by way of other parameters."""
        found = {parameter: None}
        waiting = deque(found)
        while waiting:
            value = waiting.popleft()
            yield value
            new = [v for v in self.becomes.get(value, ()) if v not in found]
            found.update(dict.fromkeys(new))
            waiting += new

    def leading(self, block: Block) -> frozenset[object]:
        """The loops around whose next turn a path in the block begins."""
        return self.targets.get(block, frozenset())

    def _trail(self, block: Block) -> None:
        """Notes the values at the end of a turn from which the next one's are computed."""
        read = set(block.nodes[-1].operands)
        for node in reversed(block.nodes[:-1]):
            if not (isinstance(node, Call | Constant) and read.issuperset(node.results)):
                return
            self.trailing.update(node.results)
            read.update(node.operands)

    def _cross(self, block: Block, region: object, made: dict[Value, object]) -> None:
        """Notes what is made in one region (a turn, what is after a loop) and read in another."""
        for node in block.nodes:
            self._read(node.operands, region, made)
            made.update((result, region) for result in node.results)
            if isinstance(node, Branch):
                for inner in node.blocks:
                    self._cross(inner, region, made)
            elif isinstance(node, Loop):
                for inner in node.blocks:
                    self._cross(inner, inner, made)
            elif isinstance(node, Join):
                self._cross(node.body, region, made)
                self._cross(node.after, node.after, made)
        self._read(block.outputs, region, made)

    def _read(self, values: Sequence[Value], region: object, made: dict[Value, object]) -> None:
        self.crossing.update(v for v in values if made.get(v, region) is not region)

    def leaving(self, loop: Loop) -> list[Block]:
        """The blocks in a turn from which no path begins the next one; in inner turns, none."""
        return (
            [] if loop.label not in self.leading(loop.turn) else list(self._left(loop.turn, loop))
        )

    def _left(self, block: Block, loop: Loop) -> Iterator[Block]:
        if loop.label not in self.leading(block):
            yield block
            return
        last = block.nodes[-1]
        inner = last.blocks if isinstance(last, Branch | Join) else ()
        if isinstance(last, Loop) and last.after:
            inner = (last.after,)
        for each in inner:
            yield from self._left(each, loop)

    def beyond(self, block: Block, without: Sequence[Block | None]) -> frozenset[object]:
        """What the paths of a block lead to, without those through some blocks in it."""
        if block in without:
            return frozenset()
        last = block.nodes[-1] if block.nodes else None
        if not isinstance(last, Branch | Loop | Join):
            return self.leading(block)
        found = frozenset[object]().union(*(self.beyond(b, without) for b in last.blocks))
        return found if isinstance(last, Branch) else found - {last.label}


class Instance:
    """Tells whether a block is another one with other values for some parameters.

    `given` then has the value for each of the `parameters` that the other block reads. Besides them
    both may read what is `known`.
    """

    def __init__(
        self, graph: Graph, parameters: Collection[Value], known: Collection[Value]
    ) -> None:
        self.graph = graph
        self.parameters = parameters
        self.known = known
        self.stands: dict[object, object] = {}

    @property
    def given(self) -> dict[Value, Value]:
        stands = {p: self.stands[p] for p in self.parameters if p in self.stands}
        return {p: value for p, value in stands.items() if isinstance(value, Value)}

    def of(self, general: Block, block: Block) -> bool:
        """Whether `block` is `general`."""
        said = (general.returns, general.names, len(general.nodes), len(general.outputs))
        if said != (block.returns, block.names, len(block.nodes), len(block.outputs)):
            return False
        nodes = zip(general.nodes, block.nodes, strict=True)
        return all(self._node(*pair) for pair in nodes) and self._values(
            general.outputs, block.outputs
        )

    def _node(self, one: Node, two: Node) -> bool:
        if not self._says_the_same(one, two) or not self._values(one.operands, two.operands):
            return False
        if any(a.type != b.type for a, b in zip(one.results, two.results, strict=True)):
            return False
        self.stands.update(zip(one.results, two.results, strict=True))
        if isinstance(one, Loop | Join) and isinstance(two, Loop | Join):
            self.stands[one.label] = two.label
        return all(map(self.of, inner_blocks(one), inner_blocks(two)))

    def _says_the_same(self, one: Node, two: Node) -> bool:
        counts = [(len(n.operands), len(n.results), len(inner_blocks(n))) for n in (one, two)]
        if counts[0] != counts[1]:
            return False
        match one, two:
            case Constant(), Constant():
                return _number(one) == _number(two)
            case Call(), Call():
                sizes = self.graph.sizes
                keys = [(attributes_key(sizes, call), call.reuse) for call in (one, two)]
                return one.op is two.op and keys[0] == keys[1]
            case Check(), Check():
                return (one.look, repr(one.outcome)) == (two.look, repr(two.outcome))
            case Branch(), Branch():
                return (one.look, repr(one.outcomes)) == (two.look, repr(two.outcomes))
            case Loop(), Loop():
                return (one.counter and one.counter.step) == (two.counter and two.counter.step)
            case Join(), Join():
                return True
            case Again(), Again():
                return self.stands.get(one.label, one.label) == two.label
        return False

    def _values(self, general: Sequence[Value], values: Sequence[Value]) -> bool:
        return all(map(self._value, general, values))

    def _value(self, general: Value, value: Value) -> bool:
        if general in self.stands:
            return self.stands[general] is value
        if general in self.parameters:
            self.stands[general] = value
            return general.type == value.type
        one, two = self.graph.constant(general), self.graph.constant(value)
        if one and two:
            return _number(one) == _number(two)
        return general is value and value in self.known


def _number(node: Constant) -> tuple[object, ...]:
    return (type(node.value), repr(node.value), node.slot, node.result.type)


@dataclass(frozen=True)
class Move:
    """A value that a variable gets: its expression, and the variables that this reads."""

    name: str
    text: str
    reads: frozenset[str]
    origin: Origin


def in_order(moves: Sequence[Move]) -> Iterator[list[Move]]:
    """Moves that all happen at once, as assignments one after the other.

    What cannot stand one after the other is one assignment.
    """
    left = list(moves)
    while left:
        free = (m for m in left if not any(m.name in o.reads for o in left if o is not m))
        first = next(free, None)
        if first is None:
            yield left
            return
        yield [first]
        left.remove(first)


def numbers_as_lengths(node: Node, sizes: Sizes) -> Iterator[Value]:
    """The counter of a loop, once for each place in its turns where its number is a length."""
    if isinstance(node, Loop) and node.counter and (told := told_by_turns(node)):
        for inner in walk(node.turn.nodes):
            if told in symbols_printed(inner, sizes):
                yield node.counter.index


def range_text(start: Fragment, stop: Fragment, step: int, backwards: bool = True) -> str:
    """A range as one writes it by hand: what counts down is reversed where its end is a number.

    Not `backwards`, it counts down by its step.
    """
    a, b = start.text, stop.text
    if step == 1:
        return f"range({b})" if a == "0" else f"range({a}, {b})"
    if not backwards:
        return f"range({a}, {b}, {step})"
    if step == -1 and b.removeprefix("-").isdigit():
        if a.isdigit():
            a = str(int(a) + 1)
        elif start.precedence == SUM:
            a = a.removesuffix(" - 1")
        if a != start.text:
            up = range_text(Fragment(str(int(b) + 1)), Fragment(a), 1)
            return f"reversed({up})"
    if step == -1 and stop.precedence == SUM and b.endswith(" - 1") and start.precedence >= SUM:
        less = start.precedence == SUM and a.endswith(" - 1")
        above = a.removesuffix(" - 1") if less else f"{a} + 1"
        return f"reversed(range({b.removesuffix(' - 1')}, {above}))"
    return f"range({start.text}, {b}, {step})"
