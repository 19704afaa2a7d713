"""Compiles graphs: `optimize`, `emit`, `load`, which `compile_graph` calls in this order.

    user function --trace--> graph --differentiate--> graph --optimize--> graph --emit--> source
    --load--> callable

The two verbs before them are `run_traced` (`compiled/traced_run.py`) and `joint_graph`
(`compiled/joint_graph.py`); `make_version` (`compiled/version.py`) goes the whole way. Each arrow
is one type that prints.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from time import perf_counter
from typing import Any

import numpy as np

import codegen
from codegen.emit.target import Large, Source
from codegen.ir import (
    Block,
    Branch,
    Check,
    Constant,
    Graph,
    Join,
    Loop,
    Node,
    Number,
    ends,
)
from codegen.keys import graph_key
from codegen.passes.client import Pass
from tracegrad import config
from tracegrad.fast_math import PASSES
from tracegrad.ops.elementwise.arrays_and_scalars import (
    copy_if_set,
    copy_lying,
    copy_lying_if_set,
    copy_number,
    returned_array,
)
from tracegrad.ops.elementwise.ufuncs import copy
from tracegrad.ops.shape.creation import full_of
from tracegrad.ops.shape.reshaping import broadcast_to_shape
from tracegrad.optimizer.error_checks import with_looks
from tracegrad.optimizer.lists_to_arrays import stacked
from tracegrad.optimizer.loop_invariants import loop_invariants
from tracegrad.optimizer.memory_order import in_known_order, without_order
from tracegrad.optimizer.rewrites import JAX_RULES, NUMPY_RULES
from tracegrad.optimizer.rows_to_lists import rows_to_lists
from tracegrad.optimizer.scalar_outputs import scalar_outputs
from tracegrad.optimizer.scalar_replacement import scalar_replacement
from tracegrad.optimizer.told_lengths import require_lengths_told


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
    graph: Graph,
    target: str,
    times: dict[str, float] | None = None,
    sound: bool = False,
    in_order: bool = False,
) -> Program:
    """The program of a graph; graphs with the same key and labels share the optimizer's work.

    `times` gets the seconds that each stage took; a stage whose work was shared took none. A graph
    that is known to be `sound` gets no looks at what NumPy would raise for. With `in_order` the
    program is for inputs in C order alone.
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
        in_order,
    )
    optimized = _OPTIMIZED.get(key)
    if optimized is None:
        with timed(times, "optimize"):
            optimized = _remember(_OPTIMIZED, key, optimize(graph, target, sound, in_order))
    else:
        optimized = with_numbers(optimized, graph.numbers)
    whole = (key, tuple(map(repr, graph.numbers)))
    program = _PROGRAMS.get(whole)
    if program is None:
        with timed(times, "emit"):
            source = emit(optimized, target)
        with timed(times, "load"):
            program = Program(optimized, source, load(source, optimized))
            _remember(_PROGRAMS, whole, program)
    return program


def with_outputs_at(program: Program, places: Mapping[int, Any]) -> Program:
    """The program for JAX whose outputs lie where these shardings say."""
    from tracegrad.backends.jax import load_jax

    return replace(program, run=load_jax(program.source, program.graph, places))


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
    """What the source says of the user's code: names and lines are part of a program's identity."""
    origins = [value.origin for value in graph.inputs]
    for node in graph.all_nodes:
        if isinstance(node, Check | Branch | Loop | Join):
            origins.append(node.origin)
        origins += [result.origin for result in node.results]
    origins += [end.origin for end in ends(graph.block)]
    return tuple((o.name, o.final, o.file, o.line, o.text, o.within, o.raises) for o in origins)


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
    return block.with_nodes(tuple(nodes))


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
    return block.with_nodes(tuple(nodes))


LOOPS = (
    Pass(loop_invariants, "equal calls are one, and no item of a list is seen as a row of its own"),
    Pass(scalar_replacement, "no list is left that is one value"),
)
BEFORE_LIFETIME = (
    Pass(rows_to_lists, "rows are returned, not the array"),
    Pass(scalar_outputs, "what is computed is known: most of it is a scalar anyway"),
)
CLIENTS = {
    target: codegen.Client(
        rules,
        copy=copy,
        full=full_of,
        splat=broadcast_to_shape,
        copy_number=copy_number,
        copy_if_set=copy_if_set,
        copy_lying=copy_lying,
        copy_lying_if_set=copy_lying_if_set,
        array_of_number=returned_array,
        fast_math=fast_math,
        loops=LOOPS,
        memory=memory,
        raises=target != "jax",
    )
    for target, rules, fast_math, memory in (
        ("numpy", NUMPY_RULES, PASSES, BEFORE_LIFETIME),
        ("jax", JAX_RULES, (), ()),
    )
}


def optimize(graph: Graph, target: str, sound: bool = False, in_order: bool = False) -> Graph:
    """The pass pipeline with tracegrad's rules."""
    graph = with_looks(graph) if target == "jax" and not sound else graph
    if target == "jax":
        graph = without_order(graph)
    else:
        graph = in_known_order(graph, graph.inputs if in_order else ())
    client = CLIENTS["jax" if target == "jax" else "numpy"]
    graph = codegen.optimize(graph, client, check=config.check)
    require_lengths_told(graph)
    return graph


def emit(graph: Graph, target: str, whole: bool = False) -> Source:
    """The source of an optimized graph; with `whole` the form for large arrays is in it."""
    return codegen.emit(stacked(graph) if target == "jax" else graph, target, whole)


def load(source: Source, graph: Graph) -> Callable[..., Any]:
    """The function of generated source, which is that of an optimized graph."""
    if source.target == "jax":
        from tracegrad.backends.jax import load_jax

        return load_jax(source, graph)
    return load_numpy(source)


def load_numpy(source: Source) -> Callable[..., Any]:
    """The function of generated NumPy source, with kernels of machine code or without."""
    if source.kernels or source.no_kernels:
        from tracegrad.backends.numba import load_numba

        return load_numba(source, names_in(source))
    run = codegen.load(source.text, source.name, names_in(source), source.loaded)
    return run if source.of_numpys is None else _unless_raising(run, source.of_numpys)


def _unless_raising(run: Callable[..., Any], of_numpys: Callable[[], Source]) -> Callable[..., Any]:
    """The function; while NumPy does more than warn of floating-point errors, one that does so.

    That is compiled when it is first called.
    """
    found: list[Callable[..., Any]] = []

    def program(*args: Any, **captures: Any) -> Any:
        if _QUIET.issuperset(np.geterr().values()):
            return run(*args, **captures)
        if not found:
            found.append(load_numpy(of_numpys()))
        return found[0](*args, **captures)

    return program


_QUIET = frozenset({"warn", "ignore"})


def names_in(source: Source) -> dict[str, Any]:
    """What NumPy source names but does not make."""
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
            found.append(load_numpy(large.source))
        return found[0](*args, **captures)

    return large_arrays
