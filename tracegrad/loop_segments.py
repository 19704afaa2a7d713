"""A graph with loops enters; loops that may not keep all of their turns leave in segments.

A loop becomes a loop over segments, whose turns are the old ones. The backward keeps what the
loop over segments hands on, which is every k-th of what the loop did, and goes through a segment's
turns once more before it goes back through them. Where turns are counted and their arrays' lengths
known, k is such that both take the least memory; segments of segments follow where that is too much
yet. Where the number of turns is not known, the segments grow by a turn each: as many are kept as
the longest has turns, and so never more than with the best k.

After A. Griewank, "Achieving logarithmic growth of temporal and spatial complexity in reverse
automatic differentiation" (1992).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from math import ceil, sqrt

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
from codegen.memory import bytes_of, bytes_text
from codegen.sizes import Sizes
from codegen.types import LIST, is_inexact
from tracegrad.loop_tapes import INT, Facts
from tracegrad.ops.checkpoints import budget_end, budget_start
from tracegrad.ops.elementwise import add
from tracegrad.ops.tapes import least

DEEPEST = 3
"""So many loops does one become at most."""
FEWEST = 4
"""Loops of fewer turns keep them all."""


@dataclass(frozen=True)
class Plan:
    """How a loop is cut: the turns of a segment, of one in it, and so on.

    Each is so many times the next. None of them where segments grow, as nobody knows how many turns
    there are.
    """

    steps: tuple[int, ...]
    bytes: int = 0  # what is kept at most, where that is known


class Segments:
    """The segments of a graph's loops.

    `facts` say what turns keep where they keep all that is read. `again` are the labels of loops
    that are gone through once more, `over` those of loops over their segments.
    """

    def __init__(self, graph: Graph, facts: Mapping[object, Facts]) -> None:
        self.again: set[object] = set()
        self.over: set[object] = set()
        self.said: list[str] = []
        self.sizes: Sizes = graph.sizes
        self.old = graph
        self.facts = facts
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
            return replace(block, nodes=(*nodes, replace(last, blocks=inner)))
        if not isinstance(last, Loop):
            return block
        if last.after:
            last = replace(last, blocks=(last.turn, self._cut(last.after, budgets)))
        plan = self._plan(last, min(budgets)) if budgets else None
        loops: list[Node] = [last]
        if plan is not None:
            loops = self._in_segments(last, plan)
            self._say(last, plan)
        return replace(block, nodes=(*nodes, *loops))

    # -- how --------------------------------------------------------------------------------------

    def _plan(self, loop: Loop, budget: int) -> Plan | None:
        """How a loop is cut to a budget; None where it keeps all its turns."""
        inside = [node for node in walk(loop.turn.nodes) if isinstance(node, Loop)]
        if inside and self._leaves(loop):
            return None  # what inner loops of a last, broken turn left is read as it is
        counter = loop.counter
        if counter is None:
            return Plan(())
        start, stop = (self.old.constant(v) for v in (counter.start, counter.stop))
        if counter.step < 1:
            return None
        if start is None or stop is None:
            return None
        turns = len(range(start.value, stop.value, counter.step))  # type: ignore[arg-type]
        if turns < FEWEST:
            return None
        kept = self.facts[loop.label]
        carry = self._bytes([p for p in loop.parameters if self._is_read(loop, p)])
        turn = self._kept(kept)
        if carry is None or turn is None:
            return Plan((max(2, round(sqrt(turns))),))
        if turns * turn <= budget:
            return None
        plans = [_levels(turns, max(carry, 1), max(turn, 1), n) for n in range(2, DEEPEST + 1)]
        fitting = [plan for plan in plans if plan.bytes <= budget]
        plan = fitting[0] if fitting else min(plans, key=lambda plan: plan.bytes)
        return plan if plan.bytes < turns * turn else None

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
        where = f"{loop.origin.file}:{loop.origin.line}"
        if not plan.steps:
            how = "what the 1st, 2nd, 4th, 7th, 11th ... turn began with"
        else:
            steps = ", in these of every ".join(map(str, plan.steps))
            how = f"what the first of every {steps} turns began with"
        peak = f", {bytes_text(plan.bytes)}" if plan.bytes else ""
        self.said.append(f"Of the loop at {where} is kept {how}{peak}; turns are made again")

    # -- cutting ----------------------------------------------------------------------------------

    def _in_segments(self, loop: Loop, plan: Plan) -> list[Node]:
        """A loop over segments; nodes that it reads stand before it."""
        if not plan.steps:
            return self._growing(loop)
        for longer, step in pairwise((1, *reversed(plan.steps))):
            self.again.add(loop.label)
            loop = self._segmented(loop, step // longer)
        return [loop]

    def _outer(self, loop: Loop) -> dict[Value, Value]:
        """The parameters of a loop over segments, by those of the loop in it."""
        return {p: Value(p.type, p.origin) for p in loop.parameters}

    def _segmented(self, loop: Loop, step: int) -> Loop:
        """The loop as one over segments of so many turns."""
        assert loop.counter is not None
        start, stop, by = loop.counter.start, loop.counter.stop, loop.counter.step
        outer, label = self._outer(loop), object()
        self.over.add(label)
        origin = replace(loop.counter.index.origin, name="begin")
        begin = Value(INT, origin)
        builder = Builder(self.sizes)
        width = builder.constant(step * by, INT)
        (beyond,) = builder.call(add, (begin, width))
        (end,) = builder.call(least, (beyond, stop), replace(origin, name="end", final=True))
        inner = replace(
            loop,
            arguments=tuple(outer.values()),
            blocks=(loop.turn, Block((Again(label, loop.parameters, loop.origin),))),
            counter=replace(loop.counter, start=begin, stop=end),
        )
        blocks = [Block((*builder.nodes, inner))]
        if loop.after:
            blocks.append(renamed(loop.after, outer))
        counter = Counter(begin, start, stop, step * by)
        names = tuple(outer.values())
        return Loop(label, names, loop.arguments, tuple(blocks), counter, loop.origin)

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


def has_budgets(graph: Graph) -> bool:
    """Whether there are loops that may not keep all of their turns."""
    return any(isinstance(n, Call) and n.op is budget_start for n in walk(graph.nodes))


def _levels(turns: int, carry: int, turn: int, levels: int) -> Plan:
    """Segments of segments, so many deep, that take the least memory: as much on every level."""
    each = (turns * carry ** (levels - 1) * turn) ** (1 / levels)
    steps = [max(2, round(each / turn))]
    for _ in range(levels - 2):
        steps.append(steps[-1] * max(2, round(each / carry)))
    lengths = [turns, *reversed(steps)]
    kept = sum(ceil(long / short) for long, short in pairwise(lengths))
    return Plan(tuple(lengths[1:]), kept * carry + steps[0] * turn)
