"""Puts float arithmetic in the form that takes the fewest operations.

What elementwise additions, products, quotients, signs and small powers compute is read as sums of
products (`sum_of_products_forms`, `polynomial_terms`): factors meet and cancel, like terms are
added up, common factors are taken out, numbers are applied once and where arrays are small. A form
is written only where that takes fewer calls or elements than what stands there, and more of neither
(`regroup_planning`, `shared_steps`).

Before::                                   After::

    graph f(v: float64[n0], d: float64[n0]) {  graph f(v: float64[n0], d: float64[n0]) {
      %a = constant(0.5)                         %c.1 = divide(%d, %v)
      %b = divide(%a, %v)                        return %c.1
      %c = multiply(%b, %d)                    }
      %c.1 = add(%c, %c)
      return %c.1
    }
"""

from __future__ import annotations

from dataclasses import replace

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
    Value,
    with_operands,
)
from codegen.passes.client import NO_CLIENT, Client
from codegen.passes.dce import dce
from codegen.types import ArrayType, weak
from tracegrad.fast_math.regroup_planning import Plan
from tracegrad.fast_math.shared_steps import Step
from tracegrad.fast_math.sum_of_products_forms import Forms
from tracegrad.ops.elementwise.ufuncs import divide


def regroup(graph: Graph, client: Client = NO_CLIENT) -> Graph:
    """Rewrites the arithmetic of each block."""
    graph = dce(graph, client)  # what nobody reads would count as a reader
    return graph.with_block(_regrouped(graph, graph.block, {}))


def _regrouped(graph: Graph, block: Block, before: dict[Value, Value]) -> Block:
    """The block with its arithmetic rewritten; `before` has what stands for earlier values."""
    forms = Forms(graph, block)
    plan = Plan(forms) if forms.calls else None
    writer = _Writer(forms, plan if plan is not None and plan.better else None, before)
    for node in block.nodes:
        match node:
            case Constant():
                writer.nodes.append(node)
            case Call():
                writer.call(node)
            case Check(operand=operand):
                writer.nodes.append(replace(node, operand=writer.now(operand)))
            case Branch(operand=operand, blocks=blocks):
                inner = tuple(_regrouped(graph, b, writer.new) for b in blocks)
                writer.nodes.append(replace(node, operand=writer.now(operand), blocks=inner))
            case Loop(blocks=blocks) | Join(blocks=blocks):
                inner = tuple(_regrouped(graph, b, writer.new) for b in blocks)
                writer.nodes.append(replace(with_operands(node, writer.now), blocks=inner))
            case Again():
                writer.nodes.append(with_operands(node, writer.now))
    outputs = tuple([writer.now(value) for value in block.outputs])
    return block.with_nodes(tuple(writer.nodes), outputs)


class _Writer:
    """Writes steps as calls, each where its value stood, or where it is read first."""

    def __init__(self, forms: Forms, plan: Plan | None, before: dict[Value, Value]) -> None:
        self.forms, self.plan = forms, plan
        self.nodes: list[Node] = []
        self.new = dict(before)  # what stands for values of the old block
        self._written: dict[Step, Value] = {}
        self._numbers: dict[tuple[str, str], Value] = {}
        self._home: dict[Step, Value] = {}
        if plan is not None:
            for value, step in plan.step.items():
                self._home.setdefault(step.now(), value)

    def now(self, value: Value) -> Value:
        return self.new.get(value, value)

    def call(self, node: Call) -> None:
        """Writes what stands for a call."""
        value = node.results[0]
        if self.plan is not None and value in self.forms.calls:
            step = self.plan.step[value].now()
            if step.uses:
                written = self._write(step, value)
                if written is not value:
                    self.new[value] = written
            return
        mapped = tuple([self.now(operand) for operand in node.operands])
        if mapped != node.operands:
            node = Call(node.op, mapped, node.attributes, node.results, node.reuse)
        self.nodes.append(node)

    def _write(self, step: Step, value: Value) -> Value:
        """The value of a step, which is read for (or is) a value of the old block."""
        stack = [step]
        while stack:
            top = stack[-1]
            todo = [
                operand
                for operand in map(Step.now, top.operands)
                if operand.number is None and operand not in self._written
            ]
            if top in self._written or not todo:
                stack.pop()
                if top not in self._written and top.number is None:
                    self._written[top] = self._made(top, value)
            else:
                stack += reversed(todo)
        return self._written[step]

    def _made(self, step: Step, value: Value) -> Value:
        if step.value is not None:
            return self.now(step.value)
        assert step.op is not None
        dtype = value.type.dtype
        operands = []
        for operand in map(Step.now, step.operands):
            if operand.number is None:
                operands.append(self._written[operand])
            else:  # Python's number does not divide by Python's 0
                strong = step.op is divide and all(other.python for other in step.operands)
                type_ = ArrayType(dtype) if strong else weak("float")
                operands.append(self._number(operand.number, type_, value.origin))
        result = self._result(step, value)
        self.nodes.append(Call(step.op, tuple(operands), step.attributes, (result,)))
        return result

    def _result(self, step: Step, value: Value) -> Value:
        """The old value that the step computes, or an inner value of the statement."""
        home = self._home.get(step)
        if home is not None and (home is value or _together(home.origin, value.origin)):
            return home
        origin = value.origin
        return Value(
            ArrayType(value.type.dtype, step.shape),
            origin.named(origin.name) if origin.final else origin,
        )

    def _number(self, number: float, type_: ArrayType, origin: Origin) -> Value:
        key = repr(number), str(type_)
        found = self._numbers.get(key)
        if found is None:
            found = self._numbers[key] = Value(type_, origin)
            self.nodes.append(Constant(number, found))
        return found


def _together(a: Origin, b: Origin) -> bool:
    """True for values of one part of the program, forward or backward."""
    return a.section == b.section
