"""Compiles graphs: optimizes, emits and loads them. Interprets them where that is asked.

    user function --trace--> graph --differentiate--> graph --optimize--> graph --emit--> source
    --load--> callable

Each verb is a function below or a module beside it; each arrow is one type that prints.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from time import perf_counter
from typing import Any, TypeAlias

import numpy as np

import codegen
from codegen.emit.target import Large, Source
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
    Number,
    Trait,
    Value,
    ends,
    walk,
)
from codegen.keys import graph_key
from codegen.passes.client import Pass
from codegen.sizes import Size, substitute
from codegen.types import LIST
from tracegrad import config
from tracegrad.fast_math import PASSES
from tracegrad.ops.elementwise.arrays_and_scalars import copy_number, returned_array
from tracegrad.ops.elementwise.ufuncs import copy
from tracegrad.ops.shape.creation import full_of
from tracegrad.optimizer.error_checks import with_looks
from tracegrad.optimizer.lists_to_arrays import stacked
from tracegrad.optimizer.rewrites import JAX_RULES, NUMPY_RULES
from tracegrad.optimizer.rows_to_lists import rows_to_lists
from tracegrad.optimizer.scalar_outputs import scalar_outputs
from tracegrad.tracing.path_tree import outcome_key


@dataclass(frozen=True)
class Program:
    """A compiled graph: what was optimized, what was written, what runs."""

    graph: Graph
    source: Source
    run: Callable[..., Any]


_OPTIMIZED: dict[Hashable, Graph] = {}
_PROGRAMS: dict[Hashable, Program] = {}
_LIMIT = 4096


@contextmanager
def timed(times: dict[str, float], stage: str) -> Iterator[None]:
    """Adds the seconds that a stage takes."""
    began = perf_counter()
    yield
    times[stage] = times.get(stage, 0.0) + perf_counter() - began


def compile_graph(
    graph: Graph, target: str, times: dict[str, float] | None = None, sound: bool = False
) -> Program:
    """The program of a graph; graphs with the same key and labels share the optimizer's work.

    `times` gets the seconds that each stage took; a stage whose work was shared took none. A graph
    that is known to be `sound` gets no looks at what NumPy would raise for.
    """
    times = {} if times is None else times
    graph = _with_plain_numbers(graph) if graph.fast_math else graph
    labels = _labels(graph)
    key = (
        graph_key(graph),
        tuple(graph.sizes.guards),
        labels,
        graph.name,
        graph.frame,
        graph.about,
        target,
        sound and target == "jax",
    )
    optimized = _OPTIMIZED.get(key)
    if optimized is None:
        with timed(times, "optimize"):
            optimized = _remember(_OPTIMIZED, key, optimize(graph, target, sound))
    else:
        optimized = with_numbers(optimized, graph.numbers)
    whole = (key, tuple(map(repr, graph.numbers)))
    program = _PROGRAMS.get(whole)
    if program is None:
        with timed(times, "emit"):
            source = written(optimized, target)
        with timed(times, "load"):
            program = _remember(_PROGRAMS, whole, Program(optimized, source, load(source)))
    return program


def with_outputs_at(program: Program, places: Mapping[int, Any]) -> Program:
    """The program for JAX whose outputs lie where these shardings say."""
    from tracegrad.backends.jax import load_jax

    return replace(program, run=load_jax(program.source, places))


def forget() -> None:
    """Forgets all programs, so that the next graphs are compiled anew."""
    _PROGRAMS.clear()
    _OPTIMIZED.clear()


def _remember(table: dict[Hashable, Any], key: Hashable, value: Any) -> Any:
    while len(table) >= _LIMIT:
        table.pop(next(iter(table)), None)
    table[key] = value
    return value


def _labels(graph: Graph) -> Hashable:
    """What the text says of the user's code: names and lines are part of a program's identity."""
    origins = [value.origin for value in graph.inputs]
    for node in walk(graph.nodes):
        if isinstance(node, Check | Branch | Loop | Join):
            origins.append(node.origin)
        origins += [result.origin for result in node.results]
    origins += [end.origin for end in ends(graph.block)]
    return tuple((o.name, o.final, o.file, o.line, o.text, o.within) for o in origins)


def _with_plain_numbers(graph: Graph) -> Graph:
    """The graph without parameters: passes see every number."""
    return graph.with_block(_plain(graph.block))


def _plain(block: Block) -> Block:
    nodes: list[Node] = []
    for node in block.nodes:
        match node:
            case Constant(number, result):
                nodes.append(Constant(number, result))
            case Branch(blocks=blocks) | Loop(blocks=blocks) | Join(blocks=blocks):
                nodes.append(replace(node, blocks=tuple(map(_plain, blocks))))
            case _:
                nodes.append(node)
    return replace(block, nodes=tuple(nodes))


def with_numbers(graph: Graph, numbers: Sequence[Number]) -> Graph:
    """The graph with other values of its parameters."""
    return graph.with_block(_with_numbers(graph.block, numbers))


def _with_numbers(block: Block, numbers: Sequence[Number]) -> Block:
    nodes: list[Node] = []
    for node in block.nodes:
        match node:
            case Constant(_, result, int(slot)):
                nodes.append(Constant(numbers[slot], result, slot))
            case Branch(blocks=blocks) | Loop(blocks=blocks) | Join(blocks=blocks):
                inner = tuple(_with_numbers(b, numbers) for b in blocks)
                nodes.append(replace(node, blocks=inner))
            case _:
                nodes.append(node)
    return replace(block, nodes=tuple(nodes))


BEFORE_LIFETIME = (
    Pass(rows_to_lists, "rows are returned, not the array"),
    Pass(scalar_outputs, "what is computed is known: most of it is a scalar anyway"),
)
CLIENTS = {
    target: codegen.Client(rules, copy, full_of, copy_number, returned_array, fast_math, memory)
    for target, rules, fast_math, memory in (
        ("numpy", NUMPY_RULES, PASSES, BEFORE_LIFETIME),
        ("jax", JAX_RULES, (), ()),
    )
}


def optimize(graph: Graph, target: str, sound: bool = False) -> Graph:
    """The pass pipeline with tracegrad's rules."""
    graph = with_looks(graph) if target == "jax" and not sound else graph
    client = CLIENTS["jax" if target == "jax" else "numpy"]
    return codegen.optimize(graph, client, check=config.check)


def written(graph: Graph, target: str, whole: bool = False) -> Source:
    """The source of an optimized graph; with `whole` the form for large arrays is in it."""
    return codegen.emit(stacked(graph) if target == "jax" else graph, target, whole)


def load(source: Source) -> Callable[..., Any]:
    """The function of generated source."""
    if source.target == "jax":
        from tracegrad.backends.jax import load_jax

        return load_jax(source)
    if source.kernels:
        from tracegrad.backends.numba import load_numba

        return load_numba(source, names_in(source))
    return codegen.load(source.text, source.name, names_in(source), source.loaded)


def names_in(source: Source) -> dict[str, Any]:
    """What the text of NumPy source names but does not make."""
    names: dict[str, Any] = {"np": np, **source.names}
    for name, (number, dtype) in source.constants.items():
        names[name] = np.array(number, dtype)
    if source.large is not None:
        names[source.large.name] = _later(source.large)
    return names


def _later(large: Large) -> Callable[..., Any]:
    """The function for large arrays, which is compiled when it is first called."""
    found: list[Callable[..., Any]] = []

    def large_arrays(*args: Any, **captures: Any) -> Any:
        if not found:
            found.append(load(large.source))
        return found[0](*args, **captures)

    return large_arrays


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

    def begin(self, values: dict[Value, Any], arguments: Sequence[Value]) -> Block:
        """The block that follows, where these are the parameters."""
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
                    following = turns[label].begin(values, arguments)
                case Join(label):
                    joins[label], following = node, node.body
                case Again(label, arguments) if label in joins:
                    given = [values[v] for v in arguments]
                    values.update(zip(joins[label].parameters, given, strict=True))
                    if handed is not None:
                        handed.update(zip(joins[label].parameters, arguments, strict=True))
                    following = joins[label].after
                case Again(label, arguments):
                    following = turns[label].begin(values, arguments)
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
        for dim, length in zip(value.type.shape, np.shape(array), strict=True):
            name = None if isinstance(dim, int) else dim.symbol()
            if name is not None and name not in before:
                known[name] = length
    return known


def concrete(attribute: Any, known: Mapping[str, int], graph: Graph) -> Any:
    """An attribute with its lengths as numbers."""
    match attribute:
        case Size():
            return substitute(graph.sizes.resolve(attribute), known)
        case tuple():
            return tuple(concrete(item, known, graph) for item in attribute)
    return attribute
