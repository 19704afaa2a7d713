"""Versions that are made of another version's graph: of a batch, and of derivatives of derivatives.

What holds loops is not traced again: the graph that a version has is batched, or differentiated in
forward mode, and its loops stay loops.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from codegen.errors import CodegenError
from codegen.ir import Block, Origin, Value, ends
from codegen.passes.dce import dce
from codegen.sizes import Sizes
from codegen.types import kind
from codegen.verify import verify
from tracegrad.arguments.batch_axes import spread
from tracegrad.arguments.signature import Arguments, Leaf
from tracegrad.compiled.joint_graph import Paths, joint_graph
from tracegrad.compiled.program_header import empty_graph
from tracegrad.compiled.version import Version
from tracegrad.config.compile_mode import Mode
from tracegrad.differentiation.batched_values import Lane
from tracegrad.differentiation.batching import Writer
from tracegrad.differentiation.joins import Unjoined
from tracegrad.differentiation.loops.residuals import Unrollable
from tracegrad.execution.pipeline import compile_graph, timed
from tracegrad.tracing.outputs import Transform, check_wanted


def over_batch(
    one: Version, function: Any, arguments: Arguments, mode: Mode, of: Any
) -> Version | None:
    """The version for a batch, of the one of a function with loops for an example of it.

    `of` is the `tracegrad.eager.vmap.Mapping`. None where the loops would be unrolled anyway, or
    the version does more than to return arrays of one structure.
    """
    first = one.results[0].result
    if not one.gives_arrays_alone:
        return None
    graph, sizes = one.differentiated, one.differentiated.sizes.copy()
    traced = [i for i, leaf in enumerate(arguments.leaves) if leaf.traced]
    axes = [of.axes[i] for i in traced]
    found = [np.shape(arguments.leaves[i].value) for i in traced]
    lengths = [None if a is None else sizes.new(x[a]) for a, x in zip(axes, found, strict=True)]
    length = next(n for n in lengths if n is not None)
    for other in lengths:
        if other is not None and not sizes.same(length, other):
            return None
    writer = Writer(sizes, length)
    pairs = zip(graph.inputs[: len(traced)], axes, lengths, strict=True)
    inputs = tuple([writer.input(v, a is not None, a or 0, n) for v, a, n in pairs])
    before = tuple(writer.stage.builder.nodes)
    places = spread(of.out_axes, first.spec, f"vmap of {of.name}: out_axes", "the result")
    asked = dict(zip(first.leaves, places, strict=True))

    def finish(block: Block, outputs: Sequence[Lane]) -> tuple[Value, ...]:
        return tuple([of.placed(lane, asked[i]) for i, lane in enumerate(outputs)])

    try:
        graph = dce(graph)  # where a loop goes, what is behind it tells what is returned
        block = writer.block(graph.block, finish)
        holders = [captured.holder for captured in one.captured]
        tree = replace(one.tree, inputs=inputs, sizes=sizes)
        transform = Transform("vmap", ())
        face = empty_graph(tree, function, transform, arguments, mode, holders, one.world)
        told = ("returns", "names", "origin", "shape")
        returned = {name: getattr(graph.frame, name) for name in told}
        whole = face.replace(frame=replace(face.frame, **returned))
        whole = writer.named(whole.with_block(block.with_nodes((*before, *block.nodes))))
        times: dict[str, float] = {}
        program = compile_graph(verify(whole), mode.text, times)
    except CodegenError:
        return None
    return one.with_graph(whole, program, arguments, sizes, times)


def over_derivatives(
    one: Version, function: Any, transform: Transform, arguments: Arguments, mode: Mode
) -> Version | None:
    """The version of derivatives of a function with loops in forward mode, of the version of those.

    None where the loops would be unrolled anyway, or the version does more than to return arrays of
    one structure.
    """
    if not one.gives_arrays_alone:
        return None
    wanted = check_wanted(arguments, transform) if transform.differentiates else []
    graph, sizes = one.differentiated, one.differentiated.sizes.copy()
    own = graph.inputs[: len(graph.inputs) - len(one.captured)]
    traced = [leaf for leaf in arguments.leaves if leaf.traced]
    tangents = [] if not transform.takes_tangents else _tangents(own, traced, arguments, sizes)
    if tangents is None or len(traced) != len(own) + len(tangents):
        return None
    dtypes = {value.type.dtype for block in ends(graph.block) for value in block.outputs}
    if transform.differentiates and {*map(kind, dtypes - {"float"})} - {"float"}:
        return None
    inputs, times = (*own, *tangents), dict[str, float]()
    tree = replace(one.tree, inputs=inputs, sizes=sizes)
    holders = [captured.holder for captured in one.captured]
    face = empty_graph(tree, function, transform, arguments, mode, holders, one.world)
    paths = Paths.of_graph(graph, one.results[0].result, inputs, one.tree.joined)
    try:
        with timed(times, "differentiate"):
            joint, results, built = joint_graph(
                paths, face, transform, arguments, wanted, mode.target
            )
        program = compile_graph(verify(joint), mode.text, times)
    except (CodegenError, Unrollable, Unjoined):
        return None
    version = one.with_graph(joint, program, arguments, sizes, times)
    return replace(version, results=results, built=built)


def _tangents(
    own: Sequence[Value], traced: Sequence[Leaf], arguments: Arguments, sizes: Sizes
) -> list[Value] | None:
    """The inputs for tangents of all others; None where one is not like its primal."""
    found = []
    for value, leaf, primal in zip(own, traced[len(own) :], traced, strict=False):
        shape = tuple([sizes.new(n) for n in np.shape(leaf.value)])
        alike = leaf.kind == primal.kind and len(shape) == value.type.ndim
        if not alike or not all(map(sizes.same, value.type.shape, shape)):
            return None
        like = replace(value.type, shape=shape)
        found.append(Value(like, Origin(arguments.name_of(leaf), True)))
    return found
