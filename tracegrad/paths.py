"""Traces of one function enter, one by one; the tree of their paths leaves, as blocks of a graph.

A path is what one trace recorded: straight code from look to look (a look is Python reading the
value of a tensor), and an end. Paths that agree up to a look share that code: a trace *follows* the
tree while it does what was done before, and at an outcome never seen it grows an arm of its own.
A trace that departs anywhere else (its Python depends on something that nobody recorded) keeps what
it has followed and becomes a path of its own, outside the tree.

Trees are immutable: growing gives a new one that shares the old limbs.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from typing import Any, TypeAlias

from codegen.ir import (
    NOWHERE,
    Again,
    Block,
    Branch,
    Builder,
    Call,
    Check,
    Constant,
    Counter,
    Loop,
    Node,
    Number,
    Op,
    Origin,
    Value,
    attribute_key,
    type_key,
)
from codegen.sizes import Dim, Sizes
from codegen.types import ArrayType

Outcome: TypeAlias = "tuple[str, str]"


def agree(some: Sequence[Any], others: Sequence[Any]) -> bool:
    """Whether forms, or effects, are equal one by one."""
    return len(some) == len(others) and all(a.agrees(b) for a, b in zip(some, others, strict=True))


def outcome_key(outcome: Number) -> Outcome:
    """What tells outcomes apart: 0.0 from -0.0 and False, nan like nan."""
    return type(outcome).__name__, repr(outcome)


@dataclass(eq=False)
class End:
    """The end of a path: what the function returned there."""

    outputs: tuple[Value, ...]  # what it returned, then what it stored
    result: object
    stores: tuple[Any, ...] = ()  # what every call writes to
    stored: tuple[int, ...] = ()  # which outputs it writes there
    effects: tuple[Any, ...] = ()  # what every call does besides
    origin: Origin = NOWHERE  # the line that returned
    backward: tuple[tuple[Node, ...], tuple[Value, ...]] | None = None
    """Once differentiated: the nodes that follow, and all outputs with the gradients."""

    def agrees(self, other: End) -> bool:
        """Whether two traces returned and stored the same."""
        places = [[store.place for store in end.stores] for end in (self, other)]
        same = self.outputs == other.outputs and places[0] == places[1]
        same = same and self.stored == other.stored and agree(self.effects, other.effects)
        return same and repr(self.result) == repr(other.result)


@dataclass(eq=False)
class Cycle:
    """A loop that a trace has closed: what goes from turn to turn, and the ways through a turn."""

    parameters: tuple[Value, ...]
    arguments: tuple[Value, ...]  # of the first turn
    counter: Counter | None
    origin: Origin
    ways: list[Way] = field(default_factory=list)
    test: tuple[tuple[Any, ...], tuple[Value, ...]] | None = None
    """Of a ``while``: the nodes, as a turn ended with them, and the arguments there."""


@dataclass(frozen=True, eq=False)
class Way:
    """One way through a turn, from look to look, and what it hands to the next turn."""

    nodes: tuple[Any, ...]
    arguments: tuple[Value, ...]


@dataclass(frozen=True, eq=False)
class Entry:
    """A path enters a loop: it leaves it in a turn, or when the counter is used up.

    It stands among the nodes of a trace.
    """

    cycle: Cycle
    in_turn: bool

    @property
    def operands(self) -> tuple[Value, ...]:
        counter = self.cycle.counter
        return self.cycle.arguments + ((counter.start, counter.stop) if counter else ())

    @property
    def results(self) -> tuple[Value, ...]:
        counter = self.cycle.counter
        return self.cycle.parameters + ((counter.index,) if counter else ())


@dataclass(frozen=True, eq=False)
class Limb:
    """Straight code up to a look with an arm for each outcome seen, to a loop, or to an end."""

    nodes: tuple[Node, ...]
    look: Check | None = None  # as it was first recorded
    arms: Mapping[Outcome, tuple[Number, Limb]] = field(default_factory=dict)
    end: End | None = None
    cycle: Cycle | None = None
    turn: Limb | None = None  # of the cycle
    after: Limb | None = None  # where its counter is used up
    again: tuple[Cycle, tuple[Value, ...]] | None = None  # the end of a turn

    @property
    def inner(self) -> list[Limb]:
        """Where it goes on."""
        following = [inner for _, inner in _ordered(self)]
        return following + [limb for limb in (self.turn, self.after) if limb is not None]


@dataclass(frozen=True, eq=False)
class Tree:
    """All known paths of a function under one set of guards, and what a further trace continues."""

    root: Limb
    inputs: tuple[Value, ...]
    captured: tuple[Value, ...]  # inputs for arrays from outside, in the order of their discovery
    sizes: Sizes
    slots: Mapping[str, int]
    counts: Mapping[Hashable, Dim]
    masks: Mapping[str, Value]
    closed: bool  # a shape depended on data: each path has lengths of its own

    @property
    def ends(self) -> Iterator[End]:
        """The ends of the paths, in the order of the program's text."""
        limbs = [self.root]
        while limbs:
            limb = limbs.pop()
            if limb.end is not None:
                yield limb.end
            limbs += reversed(limb.inner)

    @property
    def size(self) -> int:
        """The number of nodes."""
        limbs, total = [self.root], 0
        while limbs:
            limb = limbs.pop()
            total += len(limb.nodes)
            limbs += limb.inner
        return total

    @property
    def loops(self) -> bool:
        """Whether there is a loop on some path."""
        limbs = [self.root]
        while limbs:
            limb = limbs.pop()
            if limb.cycle is not None:
                return True
            limbs += limb.inner
        return False


def _ordered(limb: Limb) -> list[tuple[Number, Limb]]:
    """The arms of a limb, in an order that does not depend on which was seen first."""

    def place(arm: tuple[Number, Limb]) -> tuple[Any, ...]:
        outcome = arm[0]
        if isinstance(outcome, bool | complex) or outcome != outcome:
            return 1, not outcome, repr(outcome)
        return 0, outcome, repr(outcome)

    return sorted(limb.arms.values(), key=place)


class PathBuilder(Builder):
    """Grows the graph of a trace; while the trace follows a known path, its nodes are taken."""

    def __init__(self, sizes: Sizes, root: Limb) -> None:
        super().__init__(sizes)
        self.limb: Limb | None = root  # that of the next node; None once the trace is on its own
        self.at = 0
        self.passed: list[tuple[Limb, Outcome]] = []
        self.arm: int | None = None  # the first node of the arm that this trace grows

    def constant(
        self, value: Number, type: ArrayType, slot: int | None = None, origin: Origin = NOWHERE
    ) -> Value:
        node = self._next()
        if (
            isinstance(node, Constant)
            and node.slot == slot
            and outcome_key(node.value) == outcome_key(value)
            and type_key(self.sizes, node.result.type) == type_key(self.sizes, type)
        ):
            self._follow(node)
            return node.result
        return super().constant(value, type, slot, origin)

    def call(
        self, op: Op, operands: tuple[Value, ...], origin: Origin = NOWHERE, **attributes: Any
    ) -> tuple[Value, ...]:
        node = self._next()
        if (
            isinstance(node, Call)
            and node.op is op
            and node.operands == operands
            and self._same_attributes(node, attributes)
        ):
            self._follow(node)
            return node.results
        return super().call(op, operands, origin, **attributes)

    def append(self, node: Node) -> None:
        limb = self.limb
        super().append(node)
        if limb is None:
            return
        look = limb.look if self.at == len(limb.nodes) else None
        if not isinstance(node, Check) or look is None or not _same_look(node, look):
            self.limb = None
            return
        key = outcome_key(node.outcome)
        self.passed.append((limb, key))
        self.limb, self.at = limb.arms[key][1] if key in limb.arms else None, 0
        if self.limb is None:
            self.arm = len(self.nodes)

    def _next(self) -> Node | None:
        """The node that stands next on the known paths."""
        if self.limb is None or self.at >= len(self.limb.nodes):
            return None
        return self.limb.nodes[self.at]

    def _follow(self, node: Node) -> None:
        super().append(node)
        self.at += 1

    def _same_attributes(self, node: Call, given: Mapping[str, Any]) -> bool:
        for name, value in node.attributes:
            other = given.get(name, node.op.attributes[name])
            if other is not value and (
                attribute_key(self.sizes, other) != attribute_key(self.sizes, value)
            ):
                return False
        return given.keys() <= node.op.attributes.keys()


def _same_look(a: Check, b: Check) -> bool:
    return a.operand is b.operand and a.look == b.look


def grown(root: Limb, builder: PathBuilder, end: End) -> Limb | None:
    """The tree with the path of a trace; None for a trace that departed from it."""
    limb = builder.limb
    if limb is not None and limb.end is not None and builder.at == len(limb.nodes):
        return root if limb.end.agrees(end) else None
    if builder.arm is None:
        return None
    arm, joint = path(builder.nodes[builder.arm :], end), builder.nodes[builder.arm - 1]
    assert isinstance(joint, Check)
    for inner, key in reversed(builder.passed):
        outcome = inner.arms[key][0] if key in inner.arms else joint.outcome
        arm = replace(inner, arms={**inner.arms, key: (outcome, arm)})
    return arm


def path(nodes: Sequence[Any], end: End) -> Limb:
    """One path as a tree: a limb from look to look, and from loop to loop."""
    return _limbs(nodes, Limb((), end=end))


def _limbs(nodes: Sequence[Any], last: Limb) -> Limb:
    joints = [i for i, node in enumerate(nodes) if isinstance(node, Check | Entry)]
    start = joints[-1] + 1 if joints else 0
    limb = replace(last, nodes=tuple(nodes[start:]))
    for i in reversed(range(len(joints))):
        joint = nodes[joints[i]]
        start = joints[i - 1] + 1 if i else 0
        before = tuple(nodes[start : joints[i]])
        if isinstance(joint, Entry):
            limb = _looped(before, joint, limb)
        else:
            arms = {outcome_key(joint.outcome): (joint.outcome, limb)}
            limb = Limb(before, joint, arms)
    return limb


def _looped(before: tuple[Node, ...], entry: Entry, following: Limb) -> Limb:
    """The limb that enters a loop: all ways through a turn, and the way on."""
    turn, after = turn_of(entry.cycle), None
    if entry.in_turn:
        turn = merged(turn, following)
    else:
        after = following
    return Limb(before, cycle=entry.cycle, turn=turn, after=after)


def turn_of(cycle: Cycle) -> Limb:
    """All ways through a turn of a loop, as a tree."""
    return reduce(merged, [limb_of(cycle, way) for way in cycle.ways])


def limb_of(cycle: Cycle, way: Way) -> Limb:
    """One way through a turn."""
    return _limbs(way.nodes, Limb((), again=(cycle, way.arguments)))


class Apart(ValueError):
    """Two paths come apart where no look is."""


def merged(a: Limb, b: Limb) -> Limb:
    """Two paths that are one up to some look; raises `Apart` where they are not."""
    if a is b:
        return a
    if a.nodes != b.nodes or a.cycle is not b.cycle:
        raise Apart
    if a.cycle is not None:
        assert a.turn is not None and b.turn is not None
        after = merged(a.after, b.after) if a.after and b.after else a.after or b.after
        return replace(a, turn=merged(a.turn, b.turn), after=after)
    if a.look is None or b.look is None or not _same_look(a.look, b.look):
        if a.look is None and b.look is None and a.again == b.again and a.end is b.end:
            return a
        raise Apart
    arms = dict(a.arms)
    for key, (outcome, limb) in b.arms.items():
        known = arms.get(key)
        arms[key] = (outcome, limb if known is None else merged(known[1], limb))
    return replace(a, arms=arms)


def blocks(root: Limb, close: Callable[[End, tuple[Node, ...]], Block]) -> Block:
    """The tree as nested blocks; ``close(end, before)`` is the block that ends a path.

    `before` are all nodes on the way to the end. A look with one outcome stays a `Check`.
    """
    return _block(root, [], close)


def _block(
    limb: Limb, before: list[Node], close: Callable[[End, tuple[Node, ...]], Block]
) -> Block:
    nodes: list[Node] = []
    while len(limb.arms) == 1:
        assert limb.look is not None
        ((outcome, inner),) = limb.arms.values()
        nodes += [*limb.nodes, replace(limb.look, outcome=outcome)]
        limb = inner
    nodes += limb.nodes
    if limb.again is not None:
        return Block((*nodes, Again(limb.again[0], limb.again[1])))
    if limb.cycle is not None:
        return Block((*nodes, _loop(limb, close)))
    if limb.end is not None:
        last = close(limb.end, (*before, *nodes))
        return replace(last, nodes=(*nodes, *last.nodes))
    look = limb.look
    assert look is not None
    arms = _ordered(limb)
    inner_blocks = tuple(_block(inner, [*before, *nodes], close) for _, inner in arms)
    outcomes = tuple(outcome for outcome, _ in arms)
    branch = Branch(look.operand, look.look, outcomes, inner_blocks, look.origin)
    return Block((*nodes, branch))


def _loop(limb: Limb, close: Callable[[End, tuple[Node, ...]], Block]) -> Loop:
    cycle = limb.cycle
    assert cycle is not None and limb.turn is not None
    turn = _block(limb.turn, [], close)
    if cycle.counter is None:
        return Loop(cycle, cycle.parameters, cycle.arguments, (turn,), None, cycle.origin)
    blocks = (turn,) if limb.after is None else (turn, _block(limb.after, [], close))
    return Loop(cycle, cycle.parameters, cycle.arguments, blocks, cycle.counter, cycle.origin)
