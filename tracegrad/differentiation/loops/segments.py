"""Divides loops that may not keep all of their turns into segments.

A loop becomes a loop over segments, whose turns are the old ones. The backward keeps what the
loop over segments hands on, which is what each of them began with, and goes through a segment's
turns once more before it goes back through them. What a segment began with is free once the
backward has passed it, so that earlier segments may be longer: by a turn each, where a turn keeps
what a beginning takes. Where that is not enough, the first segments have segments in them, of
which the backward keeps the beginnings in what is free by then. That is binomial checkpointing, of
at most three runs a turn. Where the number of turns is not known, the segments grow by a turn each.

After A. Griewank and A. Walther, "Algorithm 799: revolve" (2000).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, replace

from codegen.array_bytes import bytes_of, bytes_text
from codegen.ir import (
    Again,
    Block,
    Branch,
    Builder,
    Call,
    Counter,
    Graph,
    Loop,
    Node,
    Origin,
    Trait,
    Value,
    ends,
    renamed,
    walk,
)
from codegen.sizes import Sizes
from codegen.types import LIST, is_inexact
from tracegrad.differentiation.loops.checkpoint_schedules import Schedule, schedule_of
from tracegrad.differentiation.loops.recomputation import is_of_states
from tracegrad.differentiation.loops.residuals import INT, Facts
from tracegrad.ops.checkpoint_markers import budget_end, budget_start
from tracegrad.ops.elementwise.ufuncs import add, floor_divide, multiply, subtract
from tracegrad.ops.python_lists import least, most

FEWEST = 4
"""Loops of fewer turns keep them all."""
LOOKS = 8
"""How often the backward of a loop over segments may be written to see what it leads to."""


@dataclass(frozen=True)
class Plan:
    """How a loop is cut; without a schedule its segments grow, as nobody knows the turns."""

    schedule: Schedule | None = None
    turns: int = 0
    bytes: int = 0  # what is kept at most, where that is known
    spared: int = 0  # turns at the end of a segment that are not made again


class Segments:
    """The segments of a graph's loops.

    `facts` say what turns keep where they keep all that is read. `again` are the labels of loops
    that are gone through once more, `over` those of loops over their segments. Without `parts` no
    segment has parts, even if more than the budget is kept then.
    """

    def __init__(self, graph: Graph, facts: Mapping[object, Facts], parts: bool) -> None:
        self.again: set[object] = set()
        self.over: set[object] = set()
        self.said: list[str] = []
        self.sizes: Sizes = graph.sizes
        self.old = graph
        self.facts = facts
        self.parts = parts
        block = self._cut(graph.block, ())
        about = "\n".join([graph.about, *dict.fromkeys(self.said)]) if graph.about else ""
        self.graph = graph.with_block(block).replace(about=about)

    def _cut(self, block: Block, budgets: tuple[int, ...]) -> Block:
        """The block with its outermost loops in segments; `budgets` are those around."""
        for node in block.nodes:
            if isinstance(node, Call) and node.op is budget_start:
                budgets = (*budgets, node.attribute("max_bytes"))
            elif isinstance(node, Call) and node.op is budget_end:
                budgets = budgets[:-1]
        last = block.nodes[-1] if block.nodes else None
        nodes = list(block.nodes[:-1])
        if isinstance(last, Branch):
            inner = tuple([self._cut(b, budgets) for b in last.blocks])
            return block.with_nodes((*nodes, replace(last, blocks=inner)))
        if not isinstance(last, Loop):
            return block
        if last.after:
            last = replace(last, blocks=(last.turn, self._cut(last.after, budgets)))
        plan = self._plan(last, min(budgets)) if budgets else None
        loops: list[Node] = [last]
        if plan is not None:
            self._say(last, plan)
            if not self._has_effects(last):
                loops = self._in_segments(last, plan)
        return block.with_nodes((*nodes, *loops))

    # -- how --------------------------------------------------------------------------------------

    def _plan(self, loop: Loop, budget: int) -> Plan | None:
        """How a loop is cut to a budget; None where it keeps all its turns."""
        inside = [node for node in walk(loop.turn.nodes) if isinstance(node, Loop)]
        if inside and self._leaves(loop):
            return None  # what inner loops of a last, broken turn left is read as it is
        counter = loop.counter
        if counter is None:
            return Plan()
        start, stop = (self.old.constant(v) for v in (counter.start, counter.stop))
        if counter.step < 1:
            return None
        if start is None or stop is None:
            return None
        turns = len(range(start.value, stop.value, counter.step))  # type: ignore[arg-type]
        if turns < FEWEST:
            return None
        kept = self.facts[loop.label]
        read = [p for p in loop.parameters if self._is_read(loop, p)]
        carry, turn, spared = self._bytes(read), self._kept(kept), int(is_of_states(kept))
        if carry is None or turn is None:
            return Plan(schedule_of(turns, 0, 1, self.parts), turns, 0, spared)
        if turns * turn <= budget:
            return None
        carry = max(carry, 1)
        first = dict(zip(loop.parameters, loop.arguments, strict=True))
        given = int(all(first[p] in self.old.inputs for p in read))  # which is not ours
        places, each = budget // carry + given, max(-(-turn // carry), 1)
        schedule = schedule_of(turns, places, each, self.parts)
        taken = (schedule.places - given) * carry
        return Plan(schedule, turns, taken, spared) if taken < turns * turn else None

    def _kept(self, facts: Facts) -> int | None:
        """The bytes that a turn keeps; None where nobody knows them before."""
        total = self._bytes([v for v in (*facts.saved, *facts.carried) if v.type != LIST])
        for inner in self.facts.values():
            if total is None or not inner.around or inner.around[-1] is not facts:
                continue
            counter, each = inner.loop.counter, self._kept(inner)
            ends = counter and [self.old.constant(v) for v in (counter.start, counter.stop)]
            if each is None or not counter or not ends or None in ends:
                return None
            start, stop = (n.value for n in ends if n is not None)
            total += each * len(range(start, stop, counter.step))  # type: ignore[arg-type]
        return total

    def _is_read(self, loop: Loop, parameter: Value) -> bool:
        """Whether turns do more with a parameter than to put rows into it."""
        return any(
            parameter in node.operands
            and not isinstance(node, Loop | Again)
            and not (isinstance(node, Call) and Trait.UPDATE in node.op.traits)
            for node in walk(loop.turn.nodes)
        )

    def _has_effects(self, loop: Loop) -> bool:
        """Whether turns do what they may do once: they draw numbers, or run unknown code."""
        calls = (node for node in walk(loop.turn.nodes) if isinstance(node, Call))
        return any(Trait.EFFECT in call.op.traits for call in calls)

    def _leaves(self, loop: Loop) -> bool:
        """Whether paths leave a loop in a turn."""
        return any(True for _ in ends(loop.turn))

    def _bytes(self, values: Sequence[Value]) -> int | None:
        """What arrays and numbers of these values take that have gradients."""
        total = 0
        for value in values:
            if is_inexact(value.type.dtype):
                size = 8 if value.type.weak else bytes_of(self.sizes, value.type, self.sizes.seen)
                if size is None:
                    return None
                total += size
        return total

    def _say(self, loop: Loop, plan: Plan) -> None:
        """A line of the header."""
        where, schedule = f"{loop.origin.file}:{loop.origin.line}", plan.schedule
        if self._has_effects(loop):
            how = "all its turns: they draw numbers or run unknown code, and are not made again"
        elif schedule is None:
            how = "what the 1st, 2nd, 4th, 7th, 11th ... turn began with; turns are made again"
        else:
            peak = f", {bytes_text(plan.bytes)} at most" if plan.bytes else ""
            runs = schedule.runs(plan.turns, plan.spared)
            many = len(schedule.lengths(plan.turns))
            how = (
                f"what each of {many} segments begins with{peak}; turns are made again, "
                f"{runs} runs of {plan.turns} turns in all"
            )
        self.said.append(f"The loop at {where} keeps {how}")

    # -- cutting ----------------------------------------------------------------------------------

    def _in_segments(self, loop: Loop, plan: Plan) -> list[Node]:
        """A loop over segments; nodes that it reads stand before it."""
        self.again.add(loop.label)
        if plan.schedule is None:
            return self._growing(loop)
        return self._scheduled(loop, plan.schedule, len(plan.schedule.lengths(plan.turns)))

    def _outer(self, loop: Loop) -> dict[Value, Value]:
        """The parameters of a loop over segments, by those of the loop in it."""
        return {p: Value(p.type, p.origin) for p in loop.parameters}

    def _scheduled(self, loop: Loop, schedule: Schedule, segments: int) -> list[Node]:
        """The loop as one over segments, or over segments and their parts."""
        assert loop.counter is not None
        outer, label, builder = self._outer(loop), object(), Builder(self.sizes)
        zero, count = (builder.constant(n, INT) for n in (0, segments))
        begin, k = self._begin(loop), Value(INT, Origin("segment", True))
        held = (*outer.values(), begin)
        if schedule.parts == 1:
            turn = self._segment(loop, schedule, label, held, (k,))
        else:
            turn = self._parts(loop, schedule, label, held, k)
        blocks = [turn, renamed(loop.after, outer)] if loop.after else [turn]
        self.over.add(label)
        arguments, counter = (*loop.arguments, loop.counter.start), Counter(k, zero, count)
        return [*builder.nodes, Loop(label, held, arguments, tuple(blocks), counter, loop.origin)]

    def _parts(
        self, loop: Loop, schedule: Schedule, label: object, outer: tuple[Value, ...], k: Value
    ) -> Block:
        """The turn of a loop over segments, which goes through the parts of one."""
        held, mine, builder = (
            (*self._outer(loop).values(), self._begin(loop)),
            object(),
            Builder(self.sizes),
        )
        origin = Origin("parts", True)
        fewer = builder.call(multiply, (k, builder.constant(schedule.fewer, INT)))[0]
        parts = builder.call(subtract, (builder.constant(schedule.parts, INT), fewer))[0]
        (parts,) = builder.call(most, (parts, builder.constant(1, INT)), origin)
        part = Value(INT, Origin("part", True))
        turn = self._segment(loop, schedule, mine, held, (k, part))
        self.again.add(mine)
        self.over.add(mine)
        counter = Counter(part, builder.constant(0, INT), parts)
        blocks = turn, Block((Again(label, held),))
        return Block((*builder.nodes, Loop(mine, held, outer, blocks, counter, loop.origin)))

    def _segment(
        self,
        loop: Loop,
        schedule: Schedule,
        label: object,
        held: tuple[Value, ...],
        taken: tuple[Value, ...],
    ) -> Block:
        """The turn of a loop that goes through the turns of one segment.

        `held` is what it begins with, its first turn at the end; the sum of `taken` the number of
        places that are taken.
        """
        counter, builder = loop.counter, Builder(self.sizes)
        assert counter is not None
        turns, plain = (
            builder.constant(schedule.places, INT),
            (schedule.each, counter.step) == (1, 1),
        )
        if plain:
            (turns,) = builder.call(add, (held[-1], turns))
        for number in taken:
            (turns,) = builder.call(subtract, (turns, number))
        for op, by in ((floor_divide, schedule.each), (multiply, counter.step)):
            if by != 1:
                (turns,) = builder.call(op, (turns, builder.constant(by, INT)))
        beyond = turns if plain else builder.call(add, (held[-1], turns))[0]
        origin = Origin("end", True)
        (end,) = builder.call(least, (beyond, counter.stop), origin)
        following = Again(label, (*loop.parameters, end))
        inner = replace(
            loop,
            arguments=held[:-1],
            blocks=(loop.turn, Block((following,))),
            counter=replace(counter, start=held[-1], stop=end),
        )
        return Block((*builder.nodes, inner))

    def _begin(self, loop: Loop) -> Value:
        """The number of a segment's first turn."""
        return Value(INT, replace(loop.origin, name="begin", final=True))

    def _growing(self, loop: Loop) -> list[Node]:
        """The loop as one over segments each of which has a turn more than the one before."""
        outer, label = self._outer(loop), object()
        self.over.add(label)
        length = Value(INT, replace(loop.origin, name="length", final=True))
        builder = Builder(self.sizes)
        one = builder.constant(1, INT)
        again = Builder(self.sizes)
        (longer,) = again.call(add, (length, one), length.origin)
        following = Block((*again.nodes, Again(label, (*loop.parameters, longer), loop.origin)))
        self.again.add(loop.label)
        zero = builder.constant(0, INT)
        inner = replace(
            loop,
            arguments=tuple(outer.values()),
            blocks=(loop.turn, following),
            counter=Counter(Value(INT, Origin("turn", True)), zero, length),
        )
        names, arguments = (*outer.values(), length), (*loop.arguments, one)
        turn = Block((inner,))
        return [*builder.nodes, Loop(label, names, arguments, (turn,), None, loop.origin)]


def times_looked_at(facts: Iterable[Facts], over: Set[object]) -> int:
    """How often loops may be looked at: of those in segments several times by each loop `over`."""
    return sum(LOOKS ** sum(f.loop.label in over for f in one.around) for one in facts)


def has_budgets(graph: Graph) -> bool:
    """Whether there are loops that may not keep all of their turns."""
    return any(isinstance(n, Call) and n.op is budget_start for n in graph.all_nodes)
