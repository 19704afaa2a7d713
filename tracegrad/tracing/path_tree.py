"""The tree of the paths that traces of a function have taken, and the blocks of a graph that it
is.

A path is what one trace recorded: straight code from look to look (a look is Python reading the
value of a tensor), and an end. Paths that agree up to a look share that code: a trace *follows* the
tree while it does what was done before, and at an outcome never seen it grows an arm of its own.
Where the arms of a look come to the same state of the function (`Joint`, `tracegrad.world.joins`),
what is behind stands once. A trace that departs anywhere else (its Python depends on something that
nobody recorded) keeps what it has followed and becomes a path of its own, outside the tree.

Trees are immutable: growing gives a new one that shares the old limbs.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, reduce
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
    Join,
    Loop,
    Node,
    Number,
    Op,
    Origin,
    Value,
    walk,
    with_operands,
)
from codegen.keys import attribute_key, type_key
from codegen.sizes import CountedLength, Dim, Sizes
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
    axeless: tuple[tuple[int, type], ...] = ()  # outputs without axes: what they are
    let_go: tuple[int, ...] = ()  # outputs whose history a backward within has used up
    backward: tuple[tuple[Node, ...], tuple[Node, ...], tuple[Value, ...]] | None = None
    """Once differentiated: the nodes of its path, those that follow, and all outputs with the
    gradients."""

    def agrees(self, other: End) -> bool:
        """Whether two traces returned and stored the same."""
        places = [[store.place for store in end.stores] for end in (self, other)]
        same = self.outputs == other.outputs and places[0] == places[1]
        same = same and self.stored == other.stored and agree(self.effects, other.effects)
        same = same and self.axeless == other.axeless and self.let_go == other.let_go
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
    """One way through a turn, from look to look, and what it hands to the next turn.

    Without arguments it ends where the arms of a look meet, and goes on as others do there.
    """

    nodes: tuple[Any, ...]
    arguments: tuple[Value, ...] | None


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


def with_turns(nodes: Iterable[Any]) -> Iterator[Any]:
    """The nodes of a trace, and those of all ways through the loops that it enters."""
    for node in nodes:
        yield node
        if isinstance(node, Entry):
            for way in node.cycle.ways:
                yield from with_turns(way.nodes)


def read_in(nodes: Iterable[Any]) -> Iterator[Value]:
    """What nodes read, and what turns hand to the next one."""
    for node in nodes:
        yield from node.operands
        if isinstance(node, Entry):
            for way in node.cycle.ways:
                yield from way.arguments or ()


@dataclass(eq=False)
class Joint:
    """Where the arms of a look meet: what they hand on, and the state that they agree in."""

    parameters: tuple[Value, ...]
    state: Any  # what `tracegrad.world.joins` compares
    place: Any  # the look, by code and instruction
    origin: Origin
    numbers: set[Value] = field(default_factory=set)
    """The parameters that are numbers of Python on some arm."""


@dataclass(frozen=True, eq=False)
class Meet:
    """A path comes to where the arms of a look meet. It stands among the nodes of a trace."""

    joint: Joint
    arguments: tuple[Value, ...]
    look: Check

    @property
    def operands(self) -> tuple[Value, ...]:
        return self.arguments

    @property
    def results(self) -> tuple[Value, ...]:
        return self.joint.parameters


@dataclass(frozen=True, eq=False)
class Limb:
    """Straight code up to a look with an arm for each outcome seen, to a loop, or to an end."""

    nodes: tuple[Node, ...]
    look: Check | None = None  # as it was first recorded
    arms: Mapping[Outcome, tuple[Number, Limb]] = field(default_factory=dict)
    end: End | None = None
    cycle: Cycle | None = None
    turn: Limb | None = None  # of the cycle
    after: Limb | None = None  # where its counter is used up, or the arms of the look meet
    joint: Joint | None = None  # of the arms
    again: tuple[Cycle, tuple[Value, ...]] | None = None  # the end of a turn
    meets: tuple[Joint, tuple[Value, ...]] | None = None  # the end of an arm

    @cached_property
    def inner(self) -> list[Limb]:
        """Where it goes on."""
        following = [inner for _, inner in arms_in_order(self)]
        return following + [limb for limb in (self.turn, self.after) if limb is not None]

    @property
    def limbs(self) -> Iterator[Limb]:
        """This one and all behind it, those of turns too."""
        limbs = [self]
        while limbs:
            limb = limbs.pop()
            yield limb
            limbs += limb.inner

    @property
    def size(self) -> int:
        """The number of nodes from here on."""
        return sum(len(limb.nodes) for limb in self.limbs)


@dataclass(frozen=True, eq=False)
class Tree:
    """All known paths of a function under one set of guards, and what a further trace continues."""

    root: Limb
    inputs: tuple[Value, ...]
    captured: tuple[Value, ...]  # inputs for arrays from outside, in the order of their discovery
    made: frozenset[Value]  # those of them that the function made of numbers, and never changed
    sizes: Sizes
    slots: Mapping[str, int]
    counts: Mapping[Hashable, Dim]
    masks: Mapping[str, Value]
    closed: bool  # a shape depended on data: each path has lengths of its own
    lanes: frozenset[Value]  # of one example, where all were computed at once: nobody reads them

    @cached_property
    def ends(self) -> tuple[End, ...]:
        """The ends of the paths, in the order of the graph."""
        found, limbs = [], [self.root]
        while limbs:
            limb = limbs.pop()
            if limb.end is not None:
                found.append(limb.end)
            limbs += reversed(limb.inner)
        return tuple(found)

    @property
    def size(self) -> int:
        """The number of nodes."""
        return self.root.size

    @property
    def loops(self) -> bool:
        """Whether there is a loop on some path."""
        return any(limb.cycle is not None for limb in self.limbs)

    @property
    def joined(self) -> bool:
        """Whether several arms meet somewhere."""
        return any(limb.joint is not None and _several_meet(limb) for limb in self.limbs)

    @property
    def limbs(self) -> Iterator[Limb]:
        """All of them, those of turns too."""
        return self.root.limbs


def arms_in_order(limb: Limb) -> list[tuple[Number, Limb]]:
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
        self.look: Limb | None = None  # that ends in the last look; None where it is new

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
        limb, self.look = self.limb, None
        super().append(node)
        if limb is None:
            return
        look = limb.look if self.at == len(limb.nodes) else None
        if not isinstance(node, Check) or look is None or not _same_look(node, look):
            self.limb = None
            return
        self.look, arm = limb, limb.arms.get(outcome_key(node.outcome))
        self.limb, self.at = None if arm is None else arm[1], 0

    def follow(self, look: Limb | None) -> None:
        """The trace has come to where the arms of a look meet: it follows what is known behind."""
        self.limb, self.at = None if look is None else look.after, 0

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


def grown(root: Limb, nodes: Sequence[Any], end: End) -> Limb | None:
    """The tree with the path of a trace; None for a trace that departed from it."""
    try:
        return merged(root, path(nodes, end))
    except Apart:
        return None


def path(nodes: Sequence[Any], end: End) -> Limb:
    """One path as a tree: a limb from look to look, and from loop to loop."""
    return _limbs(nodes, Limb((), end=end))


def _limbs(nodes: Sequence[Any], limb: Limb) -> Limb:
    """Limbs that end in another one; where arms meet there, nobody knows what is behind."""
    pending: list[Node] = []
    meeting: list[tuple[Meet, Limb | None]] = []  # with what is behind
    if limb.meets is not None:
        *nodes, last = nodes
        meeting.append((last, None))

    def whole() -> Limb:
        found = replace(limb, nodes=tuple(reversed(pending)))
        pending.clear()
        return found

    for node in reversed(nodes):
        match node:
            case Meet():
                meeting.append((node, whole()))
                limb = Limb((), meets=(node.joint, node.arguments))
            case Entry():
                limb = _looped((), node, whole())
            case Check():
                arms = {outcome_key(node.outcome): (node.outcome, whole())}
                if meeting and meeting[-1][0].look is node:
                    meet, after = meeting.pop()
                    limb = Limb((), node, arms, joint=meet.joint, after=after)
                else:
                    limb = Limb((), node, arms)
            case _:
                pending.append(node)
    return whole()


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
    if way.arguments is None:
        meet = way.nodes[-1]
        return _limbs(way.nodes, Limb((), meets=(meet.joint, meet.arguments)))
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
    if a.look is None or b.look is None:
        if a.look is not b.look or not _same_end(a, b):
            raise Apart
        return a
    if not _same_look(a.look, b.look) or (a.joint and b.joint and a.joint is not b.joint):
        raise Apart
    arms = dict(a.arms)
    for key, (outcome, limb) in b.arms.items():
        known = arms.get(key)
        arms[key] = (outcome, limb if known is None else merged(known[1], limb))
    after = merged(a.after, b.after) if a.after and b.after else a.after or b.after
    return replace(a, arms=arms, joint=a.joint or b.joint, after=after)


def _same_end(a: Limb, b: Limb) -> bool:
    if a.end is None or b.end is None:
        return a.end is b.end and a.again == b.again and a.meets == b.meets
    return a.end is b.end or a.end.agrees(b.end)


def _several_meet(look: Limb) -> bool:
    """Whether several paths come to where the arms of a look meet."""
    limbs, met = [limb for _, limb in look.arms.values()], 0
    while limbs:
        limb = limbs.pop()
        met += limb.meets is not None and limb.meets[0] is look.joint
        limbs += limb.inner
    return met > 1


Close: TypeAlias = "Callable[[End, tuple[Value, ...], tuple[Node, ...]], Block]"


def blocks(tree: Tree, close: Close) -> Block:
    """The tree as nested blocks; ``close(end, outputs, before)`` is the block that ends a path.

    `before` are all nodes on the way to the end, where no arms have met before it. A look with one
    outcome stays a `Check`, and where one path alone comes to a joint there is no `Join`. What was
    done with one example is left out: it would raise where there is none.
    """
    return _Blocks(close, tree).block(tree.root, [], {}, {})


class _Blocks:
    """Makes blocks of limbs.

    Of a path, `before` are the nodes on the way to it, `now` the values that stand for parameters
    of joints to which it came alone, and `behind` what follows those.
    """

    def __init__(self, close: Close, tree: Tree) -> None:
        self.close, self.lanes = close, tree.lanes
        counters = tree.sizes.counters
        self.lengths = {number: CountedLength(name) for name, number in counters.items()}

    def block(
        self,
        limb: Limb,
        before: list[Node],
        now: Mapping[Value, Value],
        behind: Mapping[Joint, Limb],
    ) -> Block:
        nodes: list[Node] = []

        def of(value: Value) -> Value:
            return now.get(value, value)

        while True:
            found = self._nodes_of(limb)
            nodes += [with_operands(node, of) for node in found] if now else found
            if limb.meets is not None and limb.meets[0] in behind:
                joint, arguments = limb.meets
                now = {**now, **dict(zip(joint.parameters, map(of, arguments), strict=True))}
                limb = behind[joint]
                continue
            joined = limb.joint is not None and _several_meet(limb)
            if limb.joint is not None and not joined:
                assert limb.after is not None
                behind = {**behind, limb.joint: limb.after}
            if len(limb.arms) != 1 or joined:
                break
            assert limb.look is not None
            ((outcome, inner),) = limb.arms.values()
            nodes.append(with_operands(replace(limb.look, outcome=outcome), of))
            limb = inner
        whole = [*before, *nodes]
        if joined:
            assert limb.joint is not None and limb.after is not None
            body = self._looking(limb, whole, now, behind)
            after = self.block(limb.after, whole, now, behind)
            joint = limb.joint
            join = Join(joint, joint.parameters, (body, after), joint.origin)
            return Block((*nodes, join))
        if limb.meets is not None:
            joint, arguments = limb.meets
            return Block((*nodes, Again(joint, tuple(map(of, arguments)), joint.origin)))
        if limb.again is not None:
            return Block((*nodes, Again(limb.again[0], tuple(map(of, limb.again[1])))))
        if limb.cycle is not None:
            return Block((*nodes, self._loop(limb, now, behind)))
        if limb.end is not None:
            last = self.close(limb.end, tuple(map(of, limb.end.outputs)), tuple(whole))
            return replace(last, nodes=(*nodes, *last.nodes))
        looking = self._looking(limb, whole, now, behind)
        return replace(looking, nodes=(*nodes, *looking.nodes))

    def _nodes_of(self, limb: Limb) -> Sequence[Node]:
        """The nodes of a limb, but for those of one example."""
        if not self.lanes:
            return limb.nodes
        return [node for node in limb.nodes if self.lanes.isdisjoint(node.results)]

    def _looking(
        self,
        limb: Limb,
        before: list[Node],
        now: Mapping[Value, Value],
        behind: Mapping[Joint, Limb],
    ) -> Block:
        """The look that a limb ends in, and its arms."""
        look = limb.look
        assert look is not None
        operand = now.get(look.operand, look.operand)
        arms = arms_in_order(limb)
        if len(arms) == 1:
            ((outcome, inner),) = arms
            check = replace(look, operand=operand, outcome=outcome)
            rest = self.block(inner, [*before, check], now, behind)
            return replace(rest, nodes=(check, *rest.nodes))
        inner_blocks = tuple([self.block(inner, before, now, behind) for _, inner in arms])
        outcomes = tuple(outcome for outcome, _ in arms)
        return Block((Branch(operand, look.look, outcomes, inner_blocks, look.origin),))

    def _loop(self, limb: Limb, now: Mapping[Value, Value], behind: Mapping[Joint, Limb]) -> Loop:
        cycle = limb.cycle
        assert cycle is not None and limb.turn is not None
        inner = [self.block(limb.turn, [], now, behind)]
        if cycle.counter is not None and limb.after is not None:
            inner.append(self.block(limb.after, [], now, behind))
        counter = cycle.counter and replace(
            cycle.counter, length=self.lengths.get(cycle.counter.index)
        )
        loop = Loop(cycle, cycle.parameters, cycle.arguments, tuple(inner), counter, cycle.origin)
        return with_operands(loop, lambda value: now.get(value, value))


def is_conditional(tree: Tree) -> bool:
    """Whether the paths are arms of ``lax.cond``: both outcomes of each branch, equal types."""

    def types(end: End) -> list[tuple[str, bool, tuple[Dim, ...]]]:
        of = [output.type for output in end.outputs]
        return [(t.dtype, t.weak, tuple(map(tree.sizes.resolve, t.shape))) for t in of]

    ends = tree.ends
    body = blocks(tree, lambda _, outputs, __: Block((), outputs))
    branches = [node for node in walk(body.nodes) if isinstance(node, Branch)]
    return all(b.complete for b in branches) and all(types(e) == types(ends[0]) for e in ends)
