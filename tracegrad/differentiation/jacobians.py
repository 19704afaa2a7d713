"""Appends the Jacobian of a graph's results, all rows at once, or its products with vectors.

The derivative along one direction is written first, in forward mode (a tangent of the inputs) or in
reverse mode (a cotangent of the results); both are linear in a vector of the length of all inputs,
or of all results. That vector is then a batch: the rows of an identity matrix, or the vectors that
are given. What does not depend on it, the function itself above all, is computed once (`batching`).
"""

from __future__ import annotations

from collections.abc import Callable, Container, Sequence
from dataclasses import replace

from codegen import sizes as sz
from codegen.ir import (
    Block,
    Branch,
    Builder,
    Call,
    Graph,
    Join,
    Loop,
    Node,
    Origin,
    Value,
    ends,
    renamed,
    walk,
)
from codegen.passes.dce import dce
from codegen.rewrite import at_ends
from codegen.sizes import Dim
from codegen.types import ArrayType
from tracegrad.differentiation.backwards_apart import has_loops
from tracegrad.differentiation.batched_values import Lane
from tracegrad.differentiation.batching import Writer, front
from tracegrad.differentiation.forward_mode import with_tangents
from tracegrad.differentiation.joins import joined_gradients
from tracegrad.differentiation.loops.gradients import Seeds, numbered_gradients
from tracegrad.differentiation.moved_elements import moved_elements, with_parts_apart
from tracegrad.differentiation.reverse_mode import differentiate, in_dtype
from tracegrad.ops.linear_algebra.contractions import matmul
from tracegrad.ops.shape.creation import eye_of
from tracegrad.ops.shape.joining import joined, part_of
from tracegrad.ops.shape.reshaping import reshape_to, transpose_axes
from tracegrad.ops.staging import Stage, Staged
from tracegrad.values.dispatch import apply_in

Asked = Sequence[Sequence[Value]]


def with_jacobian(
    graph: Graph, targets: Sequence[Value], asked: Asked, mode: str = "auto"
) -> tuple[Graph, list[int]]:
    """The graph whose every return gives Jacobians after its outputs.

    With it comes, for each of its returns, the number of that in the graph given.

    Parameters
    ----------
    targets
        The inputs that are differentiated.
    asked
        For each return, in the order of the graph, the values whose Jacobians it gives: each in
        each of the targets, of the shape of the value and then that of the target.
    mode
        "forward" or "reverse", or "auto": forward where there are fewer inputs than results. Then
        it is a guard of the graph that there are, or that there are not. Where only data tell how
        many results there are it is forward.

    Jacobians have the dtype of the target, as its gradient has, in either mode.
    """
    lengths = [_length([v.type for v in values]) for values in asked]
    alike = all(graph.sizes.equal(length, lengths[0]) for length in lengths)
    told = {s for v in graph.inputs for n in v.type.shape for s in _symbols(graph, n)}
    alike = alike and told.issuperset(_symbols(graph, lengths[0]))
    # paths that return more or less have their inputs in common
    if not alike or chosen(graph, targets, lengths[0], mode) == "forward":
        return _by_tangents(graph, targets, asked)
    return _by_cotangents(graph, targets, asked, lengths[0])


def with_products(
    graph: Graph, targets: Sequence[Value], vectors: Sequence[Value], asked: Asked, mode: str
) -> tuple[Graph, list[int]]:
    """The graph whose every return gives products of vectors and Jacobians after its outputs.

    With it comes, for each of its returns, the number of that in the graph given.

    Parameters
    ----------
    targets
        The inputs that are differentiated.
    vectors
        What all are multiplied by at once, along the first axis of each. There is one for each
        target, of its shape, in "forward" mode, where there is a product for each result, and the
        other way round in "reverse" mode. In mode "elements" it is as in "reverse" mode, but of a
        graph of one way the product is that with derivatives in what elements of the targets are
        moved to (`moved_elements`), one part after the other.
    asked
        The results of each return, in the order of the graph.
    """
    counts = [len(block.outputs) for block in ends(graph.block)]
    numbers = [*range(len(counts))]
    single = [
        Value(replace(v.type, shape=v.type.shape[1:]), Origin("vector", True)) for v in vectors
    ]
    whole = graph.replace(inputs=(*graph.inputs, *single))
    if mode == "forward":
        stage, dots = Stage(Builder(graph.sizes)), dict[Value, Value]()
        for target, vector in zip(targets, single, strict=True):
            stage.origin = target.origin.named(f"{target.origin.name}_dot", True)
            dots[target] = in_dtype(Staged(stage, vector), Staged(stage, target)).value
        block = whole.block.with_nodes((*stage.builder.nodes, *whole.nodes))
        moved = with_tangents(whole.with_block(block), dots, asked)
    elif mode == "elements" and moved_elements(graph, targets, asked[0]) is not None:
        moved = _by_elements(whole, targets, single, asked[0])
    else:
        moved, numbers = _pulled(
            whole, targets, asked, lambda stage, _, values: _seeds(stage, values, single)
        )
        counts = [counts[number] for number in numbers]
    moved = dce(moved)
    of_end = {id(block): count for block, count in zip(ends(moved.block), counts, strict=True)}
    writer = Writer(graph.sizes, vectors[0].type.shape[0])
    inputs = [value for value in moved.inputs if value not in single]
    for value in inputs:
        writer.input(value, False)
    for vector, several in zip(single, vectors, strict=True):
        writer.lanes[vector] = writer.lane(several, True)

    def returned(block: Block, lanes: Sequence[Lane]) -> tuple[Value, ...]:
        count = of_end[id(block)]
        return (*[lane.value.value for lane in lanes[:count]], *map(front, lanes[count:]))

    block = writer.block(moved.block, returned)
    return writer.named(moved.replace(inputs=tuple(inputs)).with_block(block)), numbers


def _seeds(stage: Stage, values: Sequence[Value], cts: Sequence[Value]) -> dict[Value, Value]:
    """The cotangents of results, of which one may be there twice."""
    found: dict[Value, Value] = {}
    for value, given in zip(values, cts, strict=True):
        ct = in_dtype(Staged(stage, given), Staged(stage, value))
        found[value] = (Staged(stage, found[value]) + ct if value in found else ct).value  # type: ignore[operator]
    return found


def _by_elements(
    graph: Graph, targets: Sequence[Value], vectors: Sequence[Value], outputs: Sequence[Value]
) -> Graph:
    """The graph with the derivatives of outputs in the parts of inputs, as one vector."""
    whole, parts, outputs = with_parts_apart(graph, targets, outputs)
    count, stage = len(whole.outputs), Stage(Builder(graph.sizes))
    seeds = _seeds(stage, outputs, vectors)
    whole = whole.replace(nodes=(*whole.nodes, *stage.builder.nodes))
    whole = differentiate(whole, parts, seeds)
    stage = Stage(Builder(graph.sizes))
    flat = [
        reshape_to(Staged(stage, ct), shape=(sz.mul(part.type.shape),))
        for ct, part in zip(whole.outputs[count:], parts, strict=True)
    ]
    stage.origin = Origin("products", True)
    products = joined(*flat, axis=0, length=None) if len(flat) > 1 else flat[0]
    nodes = (*whole.nodes, *stage.builder.nodes)
    return whole.replace(nodes=nodes, outputs=(*whole.outputs[:count], products.value))


def _symbols(graph: Graph, length: Dim) -> set[str]:
    """The free lengths in a length; those that inputs have are known before the program runs."""
    return sz.symbols(graph.sizes.resolve(length))


def chosen(graph: Graph, targets: Sequence[Value], rows: Dim, mode: str) -> str:
    """The mode, where it is left open: the graph is for lengths that ask for the same."""
    if mode != "auto":
        return mode
    sizes, columns = graph.sizes, _length([v.type for v in targets])
    if sizes.value(columns) < sizes.value(rows):
        sizes.require_at_least(rows, sz.add(columns, 1))
        return "forward"
    sizes.require_at_least(columns, rows)
    return "reverse"


def _by_tangents(graph: Graph, targets: Sequence[Value], asked: Asked) -> tuple[Graph, list[int]]:
    """The columns: tangents along every unit vector of the inputs."""
    length = _length([v.type for v in targets])
    unit = _unit(targets, length)
    stage = Stage(Builder(graph.sizes))
    dots = _cut(stage, unit, targets, "dot")
    block = graph.block.with_nodes((*stage.builder.nodes, *graph.nodes))
    whole = graph.replace(inputs=(*graph.inputs, unit)).with_block(block)
    counts = [len(block.outputs) for block in ends(graph.block)]
    moved = with_tangents(whole, dict(zip(targets, dots, strict=True)), asked)

    def columns(number: int, lanes: Sequence[Lane]) -> list[Value]:
        return [
            _column(lane.value.stage, front(lane), target, parts)
            for lane in lanes
            for target, parts in zip(targets, _bounds(targets), strict=True)
        ]

    return _at_every_unit(moved, unit, length, counts, columns), [*range(len(counts))]


def _by_cotangents(
    graph: Graph, targets: Sequence[Value], asked: Asked, length: Dim
) -> tuple[Graph, list[int]]:
    """The rows: cotangents of every unit vector of the results."""
    unit = _unit(asked[0], length)
    counts = [len(block.outputs) for block in ends(graph.block)]

    def seeds(stage: Stage, _: int, values: Sequence[Value]) -> dict[Value, Value]:
        return _seeds(stage, values, _cut(stage, unit, values, "bar"))

    whole = graph.replace(inputs=(*graph.inputs, unit))
    pulled, numbers = _pulled(whole, targets, asked, seeds)

    def rows(number: int, lanes: Sequence[Lane]) -> list[Value]:
        of = asked[numbers[number]]
        return [
            _row(lane.value.stage, front(lane), value, parts)
            for value, parts in zip(of, _bounds(of), strict=True)
            for lane in lanes
        ]

    return _at_every_unit(pulled, unit, length, [counts[i] for i in numbers], rows), numbers


def _pulled(
    graph: Graph, targets: Sequence[Value], asked: Asked, seeds: Seeds
) -> tuple[Graph, list[int]]:
    """The graph with gradients, and for each of its returns the number of that in the old one.

    `seeds` writes the cotangents of what is `asked`: the old graph is one that returns that. It
    gets those values as they are where the gradients are written.
    """
    rest = iter(asked)
    before = [len(block.outputs) for block in ends(graph.block)]
    whole = graph.with_block(
        at_ends(graph.block, lambda b: replace(b, outputs=(*b.outputs, *next(rest))))
    )

    def of_asked(stage: Stage, number: int, outputs: Sequence[Value]) -> dict[Value, Value]:
        return seeds(stage, number, outputs[before[number] :])

    if any(isinstance(node, Join) for node in graph.all_nodes) and not has_loops(graph):
        pulled, numbers = joined_gradients(whole, targets, of_asked), [*range(len(before))]
    else:
        pulled, numbers = numbered_gradients(whole, targets, of_asked)
    of = iter(numbers)

    def given(block: Block) -> Block:
        number = next(of)
        kept, behind = before[number], before[number] + len(asked[number])
        return replace(block, outputs=(*block.outputs[:kept], *block.outputs[behind:]))

    return pulled.with_block(at_ends(pulled.block, given)), numbers


def _at_every_unit(
    graph: Graph,
    unit: Value,
    length: Dim,
    counts: Sequence[int],
    finish: Callable[[int, Sequence[Lane]], list[Value]],
) -> Graph:
    """The graph for all unit vectors at once.

    `finish` gives what a return, by its number, gives besides its first outputs, which are so many
    as `counts` says.
    """
    graph = dce(graph)
    numbers = {id(block): i for i, block in enumerate(ends(graph.block))}
    writer = Writer(graph.sizes, length)
    inputs = [value for value in graph.inputs if value is not unit]
    for value in inputs:
        writer.input(value, False)
    eye = Builder(graph.sizes)
    given = {"rows": length, "columns": length, "k": 0, "dtype": unit.type.dtype}
    (identity,) = eye.call(eye_of, (), Origin("unit_vectors", True), **given)
    writer.lanes[unit] = writer.lane(identity, True)

    def returned(block: Block, lanes: Sequence[Lane]) -> tuple[Value, ...]:
        number = numbers[id(block)]
        count = counts[number]
        values = [lane.value.value for lane in lanes[:count]]
        return (*values, *finish(number, lanes[count:]))

    block = _without_products(writer.block(graph.block, returned), identity)
    block = block.with_nodes((*eye.nodes, *block.nodes))
    return writer.named(graph.replace(inputs=tuple(inputs)).with_block(block))


def _without_products(block: Block, identity: Value) -> Block:
    """The block without products of a matrix and the unit vectors, which are the matrix."""
    same: dict[Value, Value] = {}
    for node in walk(block.nodes):
        if isinstance(node, Call) and node.op is matmul and identity in node.operands:
            other = node.operands[node.operands[0] is identity]
            if other.type.dtype == node.results[0].type.dtype:
                same[node.results[0]] = other
    for result in same:
        while same[result] in same:
            same[result] = same[same[result]]
    return renamed(_without(block, same), same)


def _without(block: Block, results: Container[Value]) -> Block:
    """The block without the calls that make these."""
    nodes: list[Node] = []
    for node in block.nodes:
        if isinstance(node, Branch | Loop | Join):
            inner = tuple([_without(b, results) for b in node.blocks])
            nodes.append(replace(node, blocks=inner))
        elif not isinstance(node, Call) or node.results[0] not in results:
            nodes.append(node)
    return block.with_nodes(tuple(nodes))


def _length(types: Sequence[ArrayType]) -> Dim:
    """The number of elements of arrays of these types."""
    return sz.add(*[sz.mul(type.shape) for type in types])


def _unit(values: Sequence[Value], length: Dim) -> Value:
    """What stands for one unit vector."""
    dtypes = {value.type.dtype for value in values} - {"float"}
    dtype = dtypes.pop() if len(dtypes) == 1 else "float64"
    return Value(ArrayType(dtype, (length,)), Origin("unit_vector", True))


def _bounds(values: Sequence[Value]) -> list[tuple[Dim, Dim, Dim] | None]:
    """Where each begins and ends among the elements of all, and how long it is; None for one."""
    if len(values) == 1:
        return [None]
    found: list[tuple[Dim, Dim, Dim] | None] = []
    start: Dim = 0
    for value in values:
        length = sz.mul(value.type.shape)
        stop = sz.add(start, length)
        found.append((start, stop, length))
        start = stop
    return found


def _part(stage: Stage, whole: Value, bounds: tuple[Dim, Dim, Dim] | None, axis: int) -> Staged:
    """What belongs to one value, of what belongs to all."""
    staged = Staged(stage, whole)
    if bounds is None:
        return staged
    start, stop, length = bounds
    given = {"axis": axis, "start": start, "stop": stop, "length": length}
    part: Staged = apply_in(staged, part_of, given, staged)
    return part


def _cut(stage: Stage, unit: Value, values: Sequence[Value], suffix: str) -> list[Value]:
    """The unit vector as tangents, or cotangents, of these values."""
    found = []
    for value, bounds in zip(values, _bounds(values), strict=True):
        name = value.origin.name
        section = "backward" if suffix == "bar" else value.origin.section
        named = name and f"{name}_{suffix}"
        stage.origin = replace(value.origin, name=named, final=True, section=section)
        part = _part(stage, unit, bounds, 0)
        if value.type.ndim != 1:
            part = reshape_to(part, shape=value.type.shape)
        found.append(in_dtype(part, Staged(stage, value)).value)
    return found


def _column(
    stage: Stage, tangents: Value, target: Value, bounds: tuple[Dim, Dim, Dim] | None
) -> Value:
    """Tangents along the unit vectors of one input, with these along the last axes."""
    columns = _part(stage, tangents, bounds, 0)
    ndim, of = tangents.type.ndim, tangents.type.shape[1:]
    if ndim > 1:
        columns = transpose_axes(columns, axes=(*range(1, ndim), 0))
    if target.type.ndim != 1:
        columns = reshape_to(columns, shape=(*of, *target.type.shape))
    if not target.type.weak:  # as the rows of reverse mode have it
        columns = in_dtype(columns, Staged(stage, target))
    return columns.value


def _row(stage: Stage, rows: Value, value: Value, bounds: tuple[Dim, Dim, Dim] | None) -> Value:
    """Cotangents of one input for the unit vectors of one result."""
    part, shape = _part(stage, rows, bounds, 0), rows.type.shape[1:]
    if value.type.ndim != 1:
        part = reshape_to(part, shape=(*value.type.shape, *shape))
    return part.value
