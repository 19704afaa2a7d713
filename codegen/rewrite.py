"""Rewrites a graph by local rules: the one engine behind the passes.

A rule looks at one call, whose operands are already rewritten, and returns the values that replace
its results, or None. What a rule emits is itself offered to the rules, so one sweep reaches the
fixpoint of local rules; `rewrite` sweeps again only while something fired.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any, TypeAlias

from codegen.errors import CodegenError
from codegen.ir import (
    Again,
    AnyNode,
    Block,
    Branch,
    Builder,
    Call,
    Check,
    Constant,
    Graph,
    Join,
    Loop,
    Node,
    Number,
    Op,
    Origin,
    Value,
    inner_blocks,
    with_blocks,
    with_operands,
)
from codegen.sizes import Settled
from codegen.told_lengths import told_by_turns
from codegen.types import ArrayType

Rule: TypeAlias = "Callable[[Rewriter, Call], Value | tuple[Value, ...] | None]"

SWEEPS = 8


def offered(applies: Callable[[Op], bool]) -> Callable[[Rule], Rule]:
    """Marks a rule as one that is only offered calls of ops that it applies to."""

    def mark(rule: Rule) -> Rule:
        rule.applies = applies  # type: ignore[attr-defined]
        return rule

    return mark


def rules_for(rules: Sequence[Rule], op: Op) -> tuple[Rule, ...]:
    """The rules that are offered calls of an op."""
    return tuple(rule for rule in rules if getattr(rule, "applies", _any_op)(op))


def _any_op(op: Op) -> bool:
    return True


@lru_cache(maxsize=32)
def _offers(rules: tuple[Rule, ...]) -> dict[Op, tuple[Rule, ...]]:
    """What `rules_for` gave of rules that are swept with again and again."""
    return {}


class Rewriter(Builder):
    """The graph under construction, as rules see it."""

    def __init__(
        self,
        graph: Graph,
        rules: Sequence[Rule],
        offers: dict[Op, tuple[Rule, ...]] | None = None,
    ) -> None:
        super().__init__(graph.sizes)
        self.rules = tuple(rules)
        self._offers = {} if offers is None else offers
        self.fired = 0
        self.origin = Origin()
        self.readers: tuple[Node, ...] = ()  # of what the call makes that is being rewritten
        self.users = graph.users
        self.new: dict[Value, Value] = {}  # what stands for values of the graph, where others do
        self.facts: dict[Any, Any] = {}  # what is known on the path so far: see `learn`
        self.learnt: list[tuple[Any, Any]] = []  # in order, and what each fact was before
        self.renamed: dict[Value, Value] = {}  # values that got a name, by what they were

    def learn(self, key: Any, fact: Any) -> None:
        """From here on the path knows a fact, which is not None."""
        self.learnt.append((key, self.facts.get(key)))
        self.facts[key] = fact

    def forget(self, since: int) -> None:
        """Knows no more than when so many facts were learnt."""
        while len(self.learnt) > since:
            key, before = self.learnt.pop()
            if before is None:
                del self.facts[key]
            else:
                self.facts[key] = before

    def node(self, value: Value) -> Call | None:
        """The call that makes the value, or None for inputs and numbers."""
        node = self.producer.get(value)
        return node if isinstance(node, Call) else None

    def number(self, value: Value) -> Number | None:
        """The number behind a value; parameters (numbers with a slot) are not seen by rules."""
        constant = self.constant_of(value)
        return constant.value if constant is not None and constant.slot is None else None

    def outcome(self, node: Check | Branch) -> Number | None:
        """What a look sees, where a number or a look before it tells; else None."""
        number = self.number(node.operand) if node.look == "bool" else None
        if number is not None:
            return bool(number)
        return self.facts.get((node.look, node.operand))

    def looked(self, node: Check | Branch, outcome: Number) -> None:
        """From here on the path knows what a look saw."""
        self.learn((node.look, node.operand), outcome)

    def current(self, value: Value) -> Value:
        """The value under its present name: a rule may have carried a name over to it."""
        while value in self.renamed:
            value = self.renamed[value]
        return value

    def emit(self, op: Op, *operands: Value, **attributes: Any) -> Value:
        """A new call (its first result), at the line of the call that is being replaced.

        It is an inner value of that line; the last one takes over the name of what it replaces.
        """
        return self.emit_all(op, *operands, **attributes)[0]

    def emit_all(self, op: Op, *operands: Value, **attributes: Any) -> tuple[Value, ...]:
        origin = self.origin
        if origin.final:
            origin = replace(origin, final=False)
        self.call(op, tuple(map(self.current, operands)), origin, **attributes)
        node = self.nodes.pop()
        assert isinstance(node, Call)
        return self.add(node)

    def infer(self, op: Op, *operands: Value, **attributes: Any) -> ArrayType | None:
        """The type that a call would have, or None where it needs more than is known of lengths."""
        try:
            types = op.infer(Settled(self.sizes), *(v.type for v in operands), **attributes)
        except CodegenError:
            return None
        return types[0] if isinstance(types, tuple) else types

    def make_number(self, value: Number, type: ArrayType) -> Value:
        return self.constant(value, type, None, self.origin)

    def add(self, node: Call) -> tuple[Value, ...]:
        """Offers the call to the rules, else appends it; its values in the new graph."""
        rules = self._offers.get(node.op)
        if rules is None:
            rules = self._offers[node.op] = rules_for(self.rules, node.op)
        for rule in rules:
            replacement = rule(self, node)
            if replacement is not None:
                self.fired += 1
                values = replacement if isinstance(replacement, tuple) else (replacement,)
                self._agree(rule, node, values)
                return tuple(map(self._named, map(self.current, values), node.results))
        self.append(node)
        return node.results

    def _agree(self, rule: Rule, node: Call, values: tuple[Value, ...]) -> None:
        """A replacement has the types of what it replaces."""
        for new, old in zip(values, node.results, strict=True):
            if new.type.dtype != old.type.dtype or new.type.ndim != old.type.ndim:
                name = getattr(rule, "__name__", str(rule))
                raise CodegenError(
                    f"the rule {name} replaces {node.op.name} of type {old.type} by {new.type}"
                )

    def _named(self, new: Value, old: Value) -> Value:
        """Carries the user's name over to a nameless value of the same line that takes its place.

        Only to the last call so far: its readers, if any, are known to the sweep.
        """
        if not old.origin.final or new.origin.final or not _same_line(new.origin, old.origin):
            return new
        last = len(self.nodes) - 1
        while last >= 0 and isinstance(self.nodes[last], Constant):
            last -= 1
        node = self.nodes[last] if last >= 0 else None
        if not isinstance(node, Call) or node.results != (new,):
            return new
        renamed = Value(new.type, old.origin)
        self.nodes[last] = self.producer[renamed] = replace(node, results=(renamed,))
        self.renamed[new] = renamed
        return renamed


def same_number(a: Number | None, b: Number) -> bool:
    """Whether two numbers are one to all that look at them: -0.0 and 0.0 are not, nan is."""
    return type(a) is type(b) and repr(a) == repr(b)


def _same_line(a: Origin, b: Origin) -> bool:
    return (a.section, a.file, a.line) == (b.section, b.file, b.line)


def rewrite(graph: Graph, rules: Sequence[Rule]) -> Graph:
    """The graph with the rules applied until none fires (at most `SWEEPS` sweeps)."""
    offers = _offers(tuple(rules))
    for _ in range(SWEEPS):
        rewriter = Rewriter(graph, rules, offers)
        graph = sweep(graph, rewriter)
        if not rewriter.fired:
            break
    return graph


def substituted(block: Block, now: Callable[[Value], Value]) -> Block:
    """The block reading other values."""
    nodes: list[Node] = []
    for node in block.nodes:
        node = with_operands(node, now)
        if isinstance(node, Branch | Loop | Join):
            node = with_blocks(node, tuple([substituted(b, now) for b in node.blocks]))
        nodes.append(node)
    return block.with_nodes(tuple(nodes), tuple(map(now, block.outputs)))


def sweep(graph: Graph, rewriter: Rewriter) -> Graph:
    """One topological walk with substitution."""
    return graph.with_block(_sweep_block(graph.block, rewriter))


def _known_arm(rewriter: Rewriter, branch: Branch) -> Block | None:
    """The block that a branch goes on with, where what it sees is known before."""
    seen = rewriter.outcome(branch)
    if seen is None:
        return None
    arms = zip(branch.outcomes, branch.blocks, strict=True)
    return next((block for outcome, block in arms if same_number(seen, outcome)), None)


def _without_join(join: Join, blocks: tuple[Block, ...]) -> Block | None:
    """A join's new blocks as one, where one path leads behind it, in any case, or none does."""
    body, after = blocks
    *nodes, last = body.nodes or (None,)
    if isinstance(last, Again) and last.label == join.label:
        given = dict(zip(join.parameters, last.arguments, strict=True))
        after = substituted(after, lambda value: given.get(value, value))
        return after.with_nodes((*nodes, *after.nodes))
    return None if _leads_behind(body, join) else body


def _leads_behind(block: Block, join: Join) -> bool:
    """Whether a path of a block goes on behind a join."""
    last = block.nodes[-1] if block.nodes else None
    if isinstance(last, Again):
        return last.label == join.label
    return last is not None and any(_leads_behind(inner, join) for inner in inner_blocks(last))


def _sweep_block(block: Block, rewriter: Rewriter) -> Block:
    """The block rewritten, behind what the rewriter has written of it."""
    new, renamed = rewriter.new, rewriter.renamed

    def now(value: Value) -> Value:
        value = new.get(value, value)
        return rewriter.current(value) if renamed else value

    def moved(node: AnyNode) -> AnyNode:
        return with_operands(node, now) if new or renamed else node

    for node in block.nodes:
        match node:  # the most frequent first: each case costs
            case Call(op, operands, attributes, results, reuse):
                mapped = tuple(map(now, operands)) if new or renamed else operands
                rewriter.origin = results[0].origin
                rewriter.readers = rewriter.users.get(results[0], ())
                values = rewriter.add(
                    node if mapped == operands else Call(op, mapped, attributes, results, reuse)
                )
                if values is not results:
                    new.update(zip(results, values, strict=True))
            case Constant():
                rewriter.append(node)
            case Check():
                check = moved(node)
                if not same_number(rewriter.outcome(check), check.outcome):
                    rewriter.append(check)
                    rewriter.looked(check, check.outcome)
            case Again():
                rewriter.append(moved(node))
            case Branch():
                node = moved(node)
                arm = _known_arm(rewriter, node)
                if arm is not None:
                    rewriter.fired += 1
                    return _sweep_block(arm, rewriter)
                known = zip(node.blocks, node.outcomes, strict=True)
                inner = tuple([_sweep_inner(b, rewriter, node, outcome) for b, outcome in known])
                rewriter.append(with_blocks(node, inner))
            case Loop() | Join():
                rewriter.producer.update((result, node) for result in node.results)
                first, *more = node.blocks
                inner = (
                    _sweep_turn(first, rewriter, node),
                    *[_sweep_inner(b, rewriter) for b in more],
                )
                if isinstance(node, Join) and (one := _without_join(node, inner)) is not None:
                    rewriter.fired += 1
                    return one.with_nodes((*rewriter.nodes, *one.nodes))
                rewriter.append(with_blocks(moved(node), inner))
    outputs = tuple(map(now, block.outputs))
    return block.with_nodes(tuple(rewriter.nodes), outputs)


def _sweep_inner(
    block: Block, rewriter: Rewriter, look: Branch | None = None, outcome: Number = 0
) -> Block:
    """A block in the one that the rewriter writes, behind this outcome of a look.

    What is learnt in it does not hold elsewhere; what is made in it nobody else reads.
    """
    around, rewriter.nodes, known = rewriter.nodes, [], len(rewriter.learnt)
    if look is not None:
        rewriter.looked(look, outcome)
    block = _sweep_block(block, rewriter)
    rewriter.nodes = around
    rewriter.forget(known)
    return block


def _sweep_turn(block: Block, rewriter: Rewriter, node: Loop | Join) -> Block:
    """The turn of a loop, in which it is known which loop's number tells a length, or a body."""
    known = len(rewriter.learnt)
    if (name := told_by_turns(node)) is not None:
        rewriter.learn(("turn", name), node.label)
    block = _sweep_inner(block, rewriter)
    rewriter.forget(known)
    return block


def at_ends(block: Block, change: Callable[[Block], Block]) -> Block:
    """The block with its returns changed, in the order of the graph."""
    last = block.nodes[-1] if block.nodes else None
    if isinstance(last, Branch | Loop | Join):
        inner = tuple([at_ends(b, change) for b in last.blocks])
        return block.with_nodes((*block.nodes[:-1], with_blocks(last, inner)))
    return block if isinstance(last, Again) else change(block)
