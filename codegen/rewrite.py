"""A graph and local rules enter, the rewritten graph leaves: the one engine behind the passes.

A rule looks at one call, whose operands are already rewritten, and returns the values that replace
its results, or None. What a rule emits is itself offered to the rules, so one sweep reaches the
fixpoint of local rules; `rewrite` sweeps again only while something fired.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

from codegen.ir import Builder, Call, Check, Constant, Graph, Number, Op, Origin, Value
from codegen.types import ArrayType

Rule: TypeAlias = "Callable[[Rewriter, Call], Value | tuple[Value, ...] | None]"

SWEEPS = 8


class Rewriter(Builder):
    """The graph under construction, as rules see it."""

    def __init__(self, graph: Graph, rules: Sequence[Rule]) -> None:
        super().__init__(graph.sizes)
        self.rules = tuple(rules)
        self.fired = 0
        self.origin = Origin()

    def node(self, value: Value) -> Call | None:
        """The call that makes the value, or None for inputs and numbers."""
        node = self.producer.get(value)
        return node if isinstance(node, Call) else None

    def number(self, value: Value) -> Number | None:
        """The number behind a value; parameters (numbers with a slot) are not seen by rules."""
        constant = self.constant_of(value)
        return constant.value if constant is not None and constant.slot is None else None

    def emit(self, op: Op, *operands: Value, **attributes: Any) -> Value:
        """A new call (its first result), at the line of the call that is being replaced."""
        return self.emit_all(op, *operands, **attributes)[0]

    def emit_all(self, op: Op, *operands: Value, **attributes: Any) -> tuple[Value, ...]:
        results = self.call(op, operands, self.origin, **attributes)
        node = self.nodes.pop()
        assert isinstance(node, Call)
        return self.add(node)

    def make_number(self, value: Number, type: ArrayType) -> Value:
        return self.constant(value, type, None, self.origin)

    def add(self, node: Call) -> tuple[Value, ...]:
        """Offers the call to the rules, else appends it; its values in the new graph."""
        for rule in self.rules:
            replacement = rule(self, node)
            if replacement is not None:
                self.fired += 1
                values = replacement if isinstance(replacement, tuple) else (replacement,)
                return tuple(map(self._named, values, node.results))
        self.append(node)
        return node.results

    def _named(self, new: Value, old: Value) -> Value:
        """Carries the user's name over to what replaces a named value, where it has none."""
        node = self.nodes[-1] if self.nodes else None
        if (
            old.origin.final
            and not new.origin.final
            and isinstance(node, Call)
            and node.results == (new,)
        ):
            renamed = Value(new.type, old.origin)
            self.nodes.pop()
            self.append(Call(node.op, node.operands, node.attributes, (renamed,), node.reuse))
            return renamed
        return new


def rewrite(graph: Graph, rules: Sequence[Rule]) -> Graph:
    """The graph with the rules applied until none fires (at most `SWEEPS` sweeps)."""
    for _ in range(SWEEPS):
        rewriter = Rewriter(graph, rules)
        graph = sweep(graph, rewriter)
        if not rewriter.fired:
            break
    return graph


def sweep(graph: Graph, rewriter: Rewriter) -> Graph:
    """One topological walk with substitution."""
    new: dict[Value, Value] = {value: value for value in graph.inputs}
    for node in graph.nodes:
        match node:
            case Constant():
                rewriter.append(node)
                new[node.result] = node.result
            case Check(operand, look, outcome, origin):
                rewriter.append(Check(new[operand], look, outcome, origin))
            case Call(op, operands, attributes, results, reuse):
                mapped = tuple(new[operand] for operand in operands)
                rewriter.origin = results[0].origin
                values = rewriter.add(
                    node if mapped == operands else Call(op, mapped, attributes, results, reuse)
                )
                new.update(zip(results, values, strict=True))
    outputs = tuple(new[output] for output in graph.outputs)
    return graph.replace(nodes=tuple(rewriter.nodes), outputs=outputs)


def attributes_of(call: Call) -> Mapping[str, Any]:
    """The call's attributes by name."""
    return dict(call.attributes)
