"""Runs graphs op by op, generating nothing: what compiled code must equal."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np

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
    Number,
    Trait,
    Value,
)
from codegen.sizes import Size, substitute
from codegen.types import LIST
from tracegrad.tracing.path_tree import outcome_key


def interpret(graph: Graph, inputs: Sequence[Any]) -> list[Any]:
    """Runs a graph op by op on arrays, generating nothing: what compiled code must equal."""
    block, values = run_through(graph, inputs)
    return [values[output] for output in block.outputs]


Step: TypeAlias = "Callable[[Call, Callable[..., Any], Sequence[Any], Mapping[str, Any]], Any]"
"""Gives the result of a call, from its kernel, arrays and attributes."""


def called(
    call: Call, run: Callable[..., Any], arrays: Sequence[Any], known: Mapping[str, Any]
) -> Any:
    """The `Step` that only runs the kernel."""
    return run(*arrays, **known)


class Turns:
    """The turns of a loop that a graph is run through."""

    def __init__(self, loop: Loop, values: Mapping[Value, Any]) -> None:
        self.loop = loop
        self.done = -1  # turns before the one that runs
        self.number = -1  # of the counter, in the turn that runs
        counter = loop.counter
        self.range = range(0)
        if counter is not None:
            self.range = range(values[counter.start], values[counter.stop], counter.step)
        self.numbers = None if counter is None else iter(self.range)

    def begin(
        self, values: dict[Value, Any], arguments: Sequence[Value], sizes: dict[str, int]
    ) -> Block:
        """The block that follows, where these are the parameters; `sizes` are lengths known."""
        loop = self.loop
        given = [values[v] for v in arguments]
        for parameter, value in zip(loop.parameters, given, strict=True):
            weak = type(value) in (int, float, complex) and not parameter.type.weak
            values[parameter] = np.dtype(parameter.type.dtype).type(value) if weak else value
        self.done += 1
        if self.numbers is not None:
            assert loop.counter is not None
            number = next(self.numbers, None)
            if number is None:
                if loop.after is None:
                    raise LookupError("a loop was left at its end")
                return loop.after
            values[loop.counter.index] = self.number = number
            if (told := loop.counter.length) is not None:
                sizes[told.symbol] = told.of(number, sizes)
        return loop.turn


def run_through(
    graph: Graph,
    inputs: Sequence[Any],
    step: Step = called,
    turns: dict[object, Turns] | None = None,
    handed: dict[Value, Value] | None = None,
) -> tuple[Block, dict[Value, Any]]:
    """Runs a graph op by op: the block in which its path ended, and every value on the way.

    Of what a loop makes there are the values of the last turn. `turns` has the loops that were
    entered, by their labels, with the number of the turn that runs; `handed` what the parameters of
    joins are on this path.
    """
    values: dict[Value, Any] = dict(zip(graph.inputs, inputs, strict=True))
    sizes = lengths(graph, inputs)
    block = graph.block
    turns = {} if turns is None else turns
    joins: dict[object, Join] = {}
    while True:
        following: Block | None = None
        for node in block.nodes:
            match node:
                case Constant(value, result):
                    strong = np.dtype(result.type.dtype).type
                    values[result] = value if result.type.weak else strong(value)
                case Call(op) if Trait.UNSET in op.traits:
                    values.update(dict.fromkeys(node.results))
                case Call(op, operands, attributes, results):
                    read_now = {name: concrete(v, sizes, graph) for name, v in attributes}
                    kernel = op.kernel(read_now)  # type: ignore[attr-defined]
                    out = step(node, kernel, [values[v] for v in operands], read_now)
                    made = out if len(results) > 1 else (out,)
                    values.update(zip(results, made, strict=True))
                    sizes |= lengths_of(results, made, sizes)  # a mask's count is known only now
                case Branch(operand, look, outcomes, blocks):
                    found = read(values[operand], look)
                    keys = list(map(outcome_key, outcomes))
                    following = blocks[keys.index(outcome_key(found))]
                case Loop(label, arguments=arguments):
                    turns[label] = Turns(node, values)
                    following = turns[label].begin(values, arguments, sizes)
                case Join(label):
                    joins[label], following = node, node.body
                case Again(label, arguments) if label in joins:
                    given = [values[v] for v in arguments]
                    values.update(zip(joins[label].parameters, given, strict=True))
                    if handed is not None:
                        handed.update(zip(joins[label].parameters, arguments, strict=True))
                    following = joins[label].after
                case Again(label, arguments):
                    following = turns[label].begin(values, arguments, sizes)
        if following is None:
            return block, values
        block = following


def read(value: Any, look: str) -> Number:
    """What Python sees when it reads the value in this way."""
    convert = {"bool": bool, "int": int, "float": float, "complex": complex}
    result: Number = convert[look](value) if look in convert else np.asarray(value).item()
    return result


def lengths(graph: Graph, inputs: Sequence[Any]) -> dict[str, int]:
    """The symbols of a graph's inputs, as these arrays tell them."""
    return lengths_of(graph.inputs, inputs, {})


def lengths_of(
    of: Sequence[Value], arrays: Sequence[Any], before: Mapping[str, int]
) -> dict[str, int]:
    """The symbols that the shapes of these arrays tell, without those known before."""
    known: dict[str, int] = {}
    for value, array in zip(of, arrays, strict=True):
        if value.type == LIST:
            continue
        for dim, length in zip(value.type.shape, _shape(array), strict=True):
            name = None if isinstance(dim, int) else dim.symbol()
            if name is not None and name not in before:
                known[name] = length
    return known


def _shape(x: Any) -> tuple[int, ...]:
    return (len(x), *np.shape(x[0])) if type(x) is list else np.shape(x)


def concrete(attribute: Any, known: Mapping[str, int], graph: Graph) -> Any:
    """An attribute with its lengths as numbers."""
    match attribute:
        case Size():
            return substitute(graph.sizes.resolve(attribute), known)
        case tuple():
            return tuple(concrete(item, known, graph) for item in attribute)
    return attribute


def has_looks(graph: Graph, target: str) -> bool:
    """Whether a program may go a way that its graph does not have."""
    return any(
        isinstance(node, Check)
        or (isinstance(node, Branch) and not node.complete and target != "jax")
        or (isinstance(node, Loop) and node.counter is not None and node.after is None)
        for node in graph.all_nodes
    )
