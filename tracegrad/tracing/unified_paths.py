"""Unites the paths of several runs that were each recorded by itself: one tree, loops included.

A run follows a known tree node by node (`path_tree.PathBuilder`) only up to the first loop, whose
turns are recorded before anybody knows that they are a loop. So the runs that go both ways at each
look, because nobody knows the values (`world.choices`), record all that they do, and a path is
compared with the tree afterwards: where it does the same, its values are those of the tree.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple, TypeAlias

from codegen.ir import Call, Check, Constant, Origin, Value, with_operands
from codegen.keys import attribute_key, type_key
from codegen.sizes import Sizes, symbol
from tracegrad.tracing.path_tree import Apart, Cycle, Entry, Limb, arms_in_order, outcome_key


class Step(NamedTuple):
    """On the way along a path: a look and its outcome, or a loop and whether it is left in a
    turn."""

    loops: bool
    which: bool
    place: Any  # the user's line

    @property
    def other(self) -> Step:
        """The same look with the other outcome."""
        return self._replace(which=not self.which)

    @staticmethod
    def of_look(look: Check, outcome: bool) -> Step:
        return Step(False, outcome, _line(look.origin))

    @staticmethod
    def of_loop(cycle: Cycle, in_turn: bool) -> Step:
        return Step(True, in_turn, _line(cycle.origin))


def _line(origin: Origin) -> tuple[str, int]:
    return origin.file, origin.line


Leaves: TypeAlias = "Callable[[Check, bool, tuple[Step, ...]], bool]"


def steps_of(nodes: Sequence[Any]) -> tuple[Step, ...]:
    """The way along the nodes of a run."""
    found: list[Step] = []
    for node in nodes:
        if isinstance(node, Check):
            found.append(Step.of_look(node, bool(node.outcome)))
        elif isinstance(node, Entry):
            found.append(Step.of_loop(node.cycle, node.in_turn))
    return tuple(found)


def way_to_unknown(
    limb: Limb, leaves: Leaves = lambda look, outcome, way: False, before: tuple[Step, ...] = ()
) -> tuple[Step, ...] | None:
    """The way to an arm that no run has taken, or to the end of a loop that none has come to.

    Arms that are not asked for `leaves` tells, of a look, its outcome and the way there, which is
    `before` at the limb. None where all are known.
    """
    if limb.look is not None:
        known = {bool(outcome): inner for outcome, inner in arms_in_order(limb)}
        for outcome in (True, False):
            way = (*before, Step.of_look(limb.look, outcome))
            if outcome in known:
                found = way_to_unknown(known[outcome], leaves, way)
            else:
                found = None if leaves(limb.look, outcome, way) else way
            if found is not None:
                return found
    if limb.cycle is not None and limb.turn is not None:
        found = way_to_unknown(limb.turn, leaves, (*before, Step.of_loop(limb.cycle, True)))
        if found is not None:
            return found
    if limb.cycle is not None and limb.cycle.counter is not None:
        way = (*before, Step.of_loop(limb.cycle, False))
        return way if limb.after is None else way_to_unknown(limb.after, leaves, way)
    return None


def without_decided(limb: Limb, knows: Callable[[Value], bool]) -> Limb:
    """The ways on from a limb without looks at what is known, which have one outcome alone."""
    arms = {key: (x, without_decided(arm, knows)) for key, (x, arm) in limb.arms.items()}
    if len(arms) == 1 and limb.look is not None and knows(limb.look.operand):
        ((_, arm),) = arms.values()
        return replace(arm, nodes=(*limb.nodes, *arm.nodes))
    turn, after = (x and without_decided(x, knows) for x in (limb.turn, limb.after))
    return replace(limb, arms=arms, turn=turn, after=after)


def comes_back(limb: Limb, cycle: Cycle) -> bool:
    """Whether some way on from a limb leads to the next turn of a loop."""
    if limb.again is not None:
        return limb.again[0] is cycle
    return any(comes_back(inner, cycle) for inner in limb.inner)


def look_at(limb: Limb, steps: Sequence[Step]) -> Check | None:
    """The last look on a way through a tree."""
    last: Check | None = None
    for step in steps:
        following: Limb | None
        if step.loops:
            following = limb.turn if step.which else limb.after
        else:
            last = limb.look
            arm = limb.arms.get(outcome_key(step.which))
            following = None if arm is None else arm[1]
        if following is None:
            break
        limb = following
    return last


def united(tree: Limb, path: Limb, sizes: Sizes) -> Limb:
    """The tree with a further path; raises `Apart` where it departs but at a look.

    `sizes` are those of the path, which knows all that is known of the lengths in the tree.
    """
    return _Union(sizes).of(tree, path)


class _Union:
    """What the values and loops of a path are in the tree."""

    def __init__(self, sizes: Sizes) -> None:
        self.sizes = sizes
        self.values: dict[Value, Value] = {}
        self.cycles: dict[Cycle, Cycle] = {}

    def now(self, value: Value) -> Value:
        return self.values.get(value, value)

    def all_now(self, values: Sequence[Value]) -> tuple[Value, ...]:
        return tuple(map(self.now, values))

    def of(self, a: Limb, b: Limb) -> Limb:
        """Two limbs as one."""
        if len(a.nodes) != len(b.nodes):
            raise Apart
        for one, other in zip(a.nodes, b.nodes, strict=True):
            self._node(one, other)
        if a.cycle is not None and b.cycle is not None:
            self._cycle(a.cycle, b.cycle)
            assert a.turn is not None and b.turn is not None
            return replace(a, turn=self.of(a.turn, b.turn), after=self._either(a.after, b.after))
        if a.look is not None and b.look is not None:
            return self._looks(a, b)
        if a.end is not None and b.end is not None:
            end = replace(b.end, outputs=self.all_now(b.end.outputs))
            if a.end.agrees(end):
                return a
        if a.again is not None and b.again is not None:
            same = self.cycles.get(b.again[0]) is a.again[0]
            if same and self.all_now(b.again[1]) == a.again[1]:
                return a
        raise Apart

    def _either(self, a: Limb | None, b: Limb | None) -> Limb | None:
        if a is not None and b is not None:
            return self.of(a, b)
        return a if b is None else self._renamed(b)

    def _looks(self, a: Limb, b: Limb) -> Limb:
        assert a.look is not None and b.look is not None
        if a.look.look != b.look.look or self.now(b.look.operand) is not a.look.operand:
            raise Apart
        arms = dict(a.arms)
        for key, (outcome, limb) in b.arms.items():
            known = arms.get(key)
            arms[key] = outcome, self.of(known[1], limb) if known else self._renamed(limb)
        return replace(a, arms=arms)

    def _node(self, a: Any, b: Any) -> None:
        """Has the results of a node stand for those of another; raises where they differ."""
        if isinstance(a, Constant) and isinstance(b, Constant):
            same = a.slot == b.slot and outcome_key(a.value) == outcome_key(b.value)
        else:
            calls = isinstance(a, Call) and isinstance(b, Call)
            same = calls and a.op is b.op and self.all_now(b.operands) == a.operands
            same = same and all(map(self._is_attribute, a.attributes, b.attributes))
        if not same:
            raise Apart
        self._stand_for(a.results, b.results)

    def _is_attribute(self, a: tuple[str, Any], b: tuple[str, Any]) -> bool:
        return a == b or attribute_key(self.sizes, a[1]) == attribute_key(self.sizes, b[1])

    def _stand_for(self, a: Sequence[Value], b: Sequence[Value]) -> None:
        """Has values stand for others, of the same types."""
        if len(a) != len(b):
            raise Apart
        for one, other in zip(a, b, strict=True):
            if type_key(self.sizes, one.type) != type_key(self.sizes, other.type):
                raise Apart
            self.values[other] = one

    def _cycle(self, a: Cycle, b: Cycle) -> None:
        """Has a loop stand for another."""
        if self.all_now(b.arguments) != a.arguments:
            raise Apart
        self._stand_for(a.parameters, b.parameters)
        self.cycles[b] = a
        one, other = a.counter, b.counter
        if one is None or other is None:
            if one is not other:
                raise Apart
            return
        if one.step != other.step or self.all_now((other.start, other.stop)) != (
            one.start,
            one.stop,
        ):
            raise Apart
        self._stand_for((one.index,), (other.index,))
        names = {index: name for name, index in self.sizes.counters.items()}
        if (one.index in names) is not (other.index in names):
            raise Apart
        if one.index in names:
            self.sizes.settle(names[other.index], symbol(names[one.index]))

    def _renamed(self, limb: Limb) -> Limb:
        """A limb of the path, over values of the tree."""
        cycle, again, end = limb.cycle, limb.again, limb.end
        if cycle is not None:
            counter = cycle.counter
            if counter is not None:
                start, stop = self.all_now((counter.start, counter.stop))
                counter = replace(counter, start=start, stop=stop)
            cycle.arguments, cycle.counter = self.all_now(cycle.arguments), counter
            self.cycles[cycle] = cycle
        if again is not None:
            again = self.cycles[again[0]], self.all_now(again[1])
        if end is not None:
            end = replace(end, outputs=self.all_now(end.outputs))
        return replace(
            limb,
            nodes=tuple([with_operands(node, self.now) for node in limb.nodes]),
            look=None if limb.look is None else with_operands(limb.look, self.now),
            arms={key: (what, self._renamed(arm)) for key, (what, arm) in limb.arms.items()},
            end=end,
            cycle=cycle,
            turn=None if limb.turn is None else self._renamed(limb.turn),
            after=None if limb.after is None else self._renamed(limb.after),
            again=again,
        )
