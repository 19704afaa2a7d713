"""Rewrites a graph by local rules: the one engine behind the passes.

A rule looks at one call, whose operands are already rewritten, and returns the values that replace
its results, or None. What a rule emits is itself offered to the rules, so one sweep reaches the
fixpoint of local rules; `rewrite` sweeps again only while something fired.
"""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Callable, MutableMapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any, TypeAlias

from codegen.errors import CodegenError
from codegen.ir import (
    Again,
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
    with_operands,
)
from codegen.sizes import Settled
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
        self.facts: MutableMapping[Any, Any] = {}  # what rules remember of the path so far
        self._renamed: dict[Value, Value] = {}

    def fork(self) -> Rewriter:
        """The state at the entry of a block: it knows what was made before, and adds its own."""
        inner = Rewriter.__new__(Rewriter)
        inner.__dict__.update(self.__dict__)
        inner.nodes = []
        inner.fired = 0
        inner.producer = dict(self.producer)
        inner.facts = ChainMap({}, self.facts)
        inner._renamed = dict(self._renamed)
        return inner

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
        self.facts[node.look, node.operand] = outcome

    def current(self, value: Value) -> Value:
        """The value under its present name: a rule may have carried a name over to it."""
        while value in self._renamed:
            value = self._renamed[value]
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
        self._renamed[new] = renamed
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
        if isinstance(node, Branch | Loop | Join):
            inner = tuple(substituted(b, now) for b in node.blocks)
            nodes.append(replace(with_operands(node, now), blocks=inner))
        else:
            nodes.append(with_operands(node, now))
    return block.with_nodes(tuple(nodes), tuple(map(now, block.outputs)))


def sweep(graph: Graph, rewriter: Rewriter) -> Graph:
    """One topological walk with substitution."""
    new: dict[Value, Value] = {value: value for value in graph.inputs}
    return graph.with_block(_sweep_block(graph.block, rewriter, new))


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


def _sweep_block(block: Block, rewriter: Rewriter, new: dict[Value, Value]) -> Block:
    """The block rewritten; `new` are the values that stand for those before it."""

    def now(value: Value) -> Value:
        return rewriter.current(new[value])

    for node in block.nodes:
        match node:  # the most frequent first: each case costs
            case Call(op, operands, attributes, results, reuse):
                mapped = tuple(map(now, operands))
                rewriter.origin = results[0].origin
                rewriter.readers = rewriter.users.get(results[0], ())
                values = rewriter.add(
                    node if mapped == operands else Call(op, mapped, attributes, results, reuse)
                )
                new.update(zip(results, values, strict=True))
            case Constant():
                rewriter.append(node)
                new[node.result] = node.result
            case Check():
                check = with_operands(node, now)
                if not same_number(rewriter.outcome(check), check.outcome):
                    rewriter.append(check)
                    rewriter.looked(check, check.outcome)
            case Again():
                rewriter.append(with_operands(node, now))
            case Branch() if (arm := _known_arm(rewriter, with_operands(node, now))) is not None:
                rewriter.fired += 1
                return _sweep_block(arm, rewriter, new)
            case Branch() | Loop() | Join():
                new.update((result, result) for result in node.results)
                rewriter.producer.update((result, node) for result in node.results)
                forks = [rewriter.fork() for _ in node.blocks]
                if isinstance(node, Branch):
                    looks = with_operands(node, now)
                    for fork, outcome in zip(forks, node.outcomes, strict=True):
                        fork.looked(looks, outcome)
                inner = tuple(
                    _sweep_block(b, fork, dict(new))
                    for b, fork in zip(node.blocks, forks, strict=True)
                )
                rewriter.fired += sum(fork.fired for fork in forks)
                if isinstance(node, Join) and (one := _without_join(node, inner)) is not None:
                    rewriter.fired += 1
                    return one.with_nodes((*rewriter.nodes, *one.nodes))
                rewriter.append(replace(with_operands(node, now), blocks=inner))
    outputs = tuple(map(now, block.outputs))
    return block.with_nodes(tuple(rewriter.nodes), outputs)


def at_ends(block: Block, change: Callable[[Block], Block]) -> Block:
    """The block with its returns changed, in the order of the graph."""
    last = block.nodes[-1] if block.nodes else None
    if isinstance(last, Branch | Loop | Join):
        inner = tuple([at_ends(b, change) for b in last.blocks])
        return block.with_nodes((*block.nodes[:-1], replace(last, blocks=inner)))
    return block if isinstance(last, Again) else change(block)
