"""Checks that no call overwrites memory that is still read; else raises a `VerifyError`.

This follows memory through the graph as running it would, and asks nothing of what the passes ask
(`Graph.owner`, `memory_reads`, `loop_ownership`): a mistake there is found here. It takes time
in proportion to the graph, since what is known spreads from fact to fact: which two values share
memory follows from which two others do, and which memory somebody keeps from what one other had. So
all paths at once tell what each of them tells alone.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from typing import TypeAlias

from codegen.errors import VerifyError
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
    kept_by,
)

Root: TypeAlias = Value
"""The value that a piece of memory was made for, or the parameter that it was handed to."""


def verify_memory(graph: Graph) -> None:
    """Refuses a call that overwrites memory which the program did not make, or which is read later
    under whatever name."""
    if not any(isinstance(node, Call) and node.reuse is not None for node in graph.all_nodes):
        return
    memory = _Memory(graph)
    memory.settle()
    _Owned(memory).block(graph.block, set())
    _Wanted(memory, graph).before(graph.block)


class _Memory:
    """Which values may be in the same memory, and which memory is not the program's.

    A value is in the memory of its root. Roots are different memory but where one of them is a
    parameter: `shared` has what it may be handed, of what is read beside it. `foreign` are the
    roots that the program may not write to from where they are made on, and `lies` says of values
    that are not as a new array is why.
    """

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.root: dict[Value, Root] = {value: value for value in graph.inputs}
        self.shared: dict[Root, set[Root]] = defaultdict(set)
        self.foreign: set[Root] = {value for value in graph.inputs if value not in graph.spent}
        self.lies: dict[Value, str] = {}
        self.loops: dict[object, Loop | Join] = {}  # and joins
        self.kept: dict[object, set[Root]] = {}  # at the beginning of the turns of each loop
        self._time = 0
        self._begun: dict[object, int] = {}
        self._made: dict[Root, int] = dict.fromkeys(graph.inputs, 0)
        self._gone: dict[Root, int] = {}
        self._number(graph.block)

    def _number(self, block: Block) -> None:
        """Finds the roots, and where in the graph each can be read."""
        roots: list[Root] = []
        for node in block.nodes:
            self._time += 1
            for result in node.results:
                old = _taken_over(node)
                self.root[result] = result if old is None else self.root[old]
                if old is None:
                    self._made[result] = self._time
                    roots.append(result)
                why = _lie(node)
                if why is not None:
                    self.lies[result] = why
                if isinstance(node, Constant) or _is_number(node, result):
                    self.foreign.add(result)
            if isinstance(node, Loop | Join):
                self.loops[node.label] = node
                self.kept[node.label] = set()
                self._begun[node.label] = self._time
            for inner in inner_blocks(node):
                self._number(inner)
        self._time += 1
        self._gone.update((root, self._time) for root in roots)

    def is_before(self, root: Root, loop: Loop | Join) -> bool:
        """Whether a root can be read where a loop begins."""
        begun = self._begun[loop.label]
        return self._made[root] < begun <= self._gone.get(root, self._time)

    def sharing(self, value: Value) -> Iterable[Root]:
        """The roots whose memory a value may be in."""
        root = self.root[value]
        return (root, *self.shared.get(root, ()))

    def overlap(self, a: Value, b: Value) -> bool:
        """Whether two values may be in the same memory."""
        return self.root[a] is self.root[b] or self.root[a] in self.shared.get(self.root[b], ())

    # -- what parameters are handed

    def settle(self) -> None:
        """Goes along all edges to turns until nothing is new."""
        known = -1
        while known < (known := self._extent()):
            self._spread(self.graph.block, set())

    def _extent(self) -> int:
        """How much is known; it only grows."""
        tables = (*self.shared.values(), *self.kept.values(), self.foreign, self.lies)
        return sum(map(len, tables))

    def _spread(self, block: Block, kept: set[Root]) -> None:
        for node in block.nodes:
            if isinstance(node, Loop | Again):
                self._hand(self.loops[node.label], node.arguments, kept)
            self.keep(node, kept)
            for inner in inner_blocks(node):
                self._spread(inner, self.kept_in(node, inner, kept))

    def keep(self, node: Node, kept: set[Root]) -> None:
        """Adds what somebody keeps from a node on."""
        kept.update(root for value in kept_by([node]) for root in self.sharing(value))

    def kept_in(self, node: Node, inner: Block, kept: set[Root]) -> set[Root]:
        """What somebody keeps where a block of a node begins."""
        if isinstance(node, Join) and inner is node.after:
            return kept | self.kept[node.label]
        return set(self.kept[node.label] if isinstance(node, Loop) else kept)

    def _hand(self, loop: Loop | Join, arguments: Sequence[Value], kept: set[Root]) -> None:
        """What is so where a turn begins that has these arguments."""
        given = list(zip(loop.parameters, arguments, strict=True))
        beside: dict[Root, list[Value]] = defaultdict(list)
        for parameter, argument in given:
            beside[self.root[argument]].append(parameter)
        for parameter, argument in given:
            for root in tuple(self.sharing(argument)):
                others = [p for p in beside.get(root, ()) if p is not parameter]
                if self.is_before(root, loop):
                    others.append(root)
                for other in others:
                    self.shared[parameter].add(other)
                    self.shared[other].add(parameter)
            if self.root[argument] in self.foreign or self.root[argument] in kept:
                self.foreign.add(parameter)
            if argument in self.lies:
                self.lies[parameter] = self.lies[argument]
        self.kept[loop.label] |= {root for root in kept if self.is_before(root, loop)}


def _taken_over(node: Node) -> Value | None:
    """The operand whose memory the results of a node are in; None where theirs is new."""
    if not isinstance(node, Call):
        return None
    if node.shown is not None or node.reuse is None:
        return node.shown
    return None if node.memory is Trait.LOOSE else node.operands[node.reuse]


def _lie(node: Node) -> str | None:
    """Why the results of a node are not as a new array is."""
    if not isinstance(node, Call) or node.memory is None:
        return None
    return "which is a view" if node.shown is not None else "which does not lie as a new array"


def _is_number(node: Node, result: Value) -> bool:
    """Whether a node makes a number that no array has."""
    if isinstance(node, Loop):
        return node.counter is not None and result is node.counter.index
    return isinstance(node, Call) and Trait.EXTENT in node.op.traits


class _Owned:
    """Looks whether what is overwritten is the program's own, and lies as a new array does."""

    def __init__(self, memory: _Memory) -> None:
        self.memory = memory

    def block(self, block: Block, kept: set[Root]) -> None:
        """Looks at a block, with what somebody keeps where it begins."""
        for node in block.nodes:
            if isinstance(node, Call) and node.reuse is not None:
                self._overwritten(node, node.operands[node.reuse], kept)
            self.memory.keep(node, kept)
            for inner in inner_blocks(node):
                self.block(inner, self.memory.kept_in(node, inner, kept))

    def _overwritten(self, call: Call, operand: Value, kept: set[Root]) -> None:
        name, root = call.op.name, self.memory.root[operand]
        if root in self.memory.foreign or root in kept:
            raise VerifyError(f"{name}: reuses memory that the graph does not own: {operand!r}")
        if operand in self.memory.lies:
            raise VerifyError(f"{name}: cannot reuse {operand!r}, {self.memory.lies[operand]}")


class _Wanted:
    """Looks, from the end of the graph to its beginning, whether what is overwritten is read later.

    `heads` has what is read from where the turns of each loop begin, or behind each join.
    """

    def __init__(self, memory: _Memory, graph: Graph) -> None:
        self.memory = memory
        self.heads: dict[object, set[Value]] = {}
        self._exposed: dict[object, tuple[set[Value], set[object]]] = {}
        self._expose(graph.block)

    def _expose(self, block: Block) -> tuple[set[Value], set[object]]:
        """What a block reads of what is before it, and the loops around whose turns it begins."""
        read, again = set(block.outputs), set[object]()
        for node in reversed(block.nodes):
            for inner in inner_blocks(node):
                values, labels = self._expose(inner)
                read, again = _merged(read, values), again | labels
            if isinstance(node, Again):
                again.add(node.label)
            read.difference_update(node.results)
            if isinstance(node, Join):
                again.discard(node.label)
            if isinstance(node, Loop):
                again.discard(node.label)
                self._exposed[node.label] = set(read), set(again)
            read.update(node.operands)
        return read, again

    def before(self, block: Block) -> _Live:
        """What is read from the beginning of a block on."""
        live = _Live(self.memory)
        live.add(block.outputs)
        for node in reversed(block.nodes):
            match node:
                case Branch(blocks=blocks):
                    for inner in blocks:
                        live = live.merged(self.before(inner))
                case Loop(label):
                    values, labels = self._exposed[label]
                    self.heads[label] = values.union(*map(self._next, labels))
                    for inner in node.blocks:
                        live = live.merged(self.before(inner))
                    live.add(self.heads[label])
                case Join(label):
                    self.heads[label] = set(self.before(node.after).values)
                    live = live.merged(self.before(node.body))
                case Again(label):
                    live.add(self._next(label))
            live.drop(node.results)
            if isinstance(node, Call) and node.reuse is not None:
                self._overwritten(node, node.operands[node.reuse], live)
            live.add(node.operands)
        return live

    def _next(self, label: object) -> set[Value]:
        """What the next turn of a loop, or what is behind a join, reads that is no parameter."""
        return self.heads[label].difference(self.memory.loops[label].results)

    def _overwritten(self, call: Call, operand: Value, live: _Live) -> None:
        if any(live.roots[root] for root in self.memory.sharing(operand)):
            value = next(v for v in live.values if self.memory.overlap(v, operand))
            raise VerifyError(f"{call.op.name}: reuses {operand!r}, which is read later: {value!r}")


class _Live:
    """Values that are read later, and how many of them each root has."""

    def __init__(self, memory: _Memory) -> None:
        self.memory = memory
        self.values: set[Value] = set()
        self.roots: Counter[Root] = Counter()

    def add(self, values: Iterable[Value]) -> None:
        for value in values:
            if value not in self.values:
                self.values.add(value)
                self.roots[self.memory.root[value]] += 1

    def drop(self, values: Iterable[Value]) -> None:
        for value in values:
            if value in self.values:
                self.values.remove(value)
                self.roots[self.memory.root[value]] -= 1

    def merged(self, other: _Live) -> _Live:
        """Either; the smaller one goes into the larger."""
        small, large = sorted((self, other), key=lambda live: len(live.values))
        large.add(small.values)
        return large


def _merged(a: set[Value], b: set[Value]) -> set[Value]:
    small, large = sorted((a, b), key=len)
    large |= small
    return large
