"""The forward of a version alone, and its backward alone, as graphs."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from codegen.ir import Block, Graph, Node, Origin, Value
from tracegrad.compiled.program_header import shown_type, title
from tracegrad.compiled.version import Version
from tracegrad.differentiation.partition import backward_graph
from tracegrad.differentiation.reverse_mode import differentiate
from tracegrad.tracing.outputs import Transform, check_wanted
from tracegrad.tracing.path_tree import End, blocks


def forward_part(version: Version, function: Any, transform: Transform) -> Graph:
    """The function's value alone, under its own name."""
    graph = version.traced

    def close(end: End, outputs: tuple[Value, ...], before: tuple[Node, ...]) -> Block:
        template = "{0}" if len(outputs) == 1 else None
        return Block((), outputs, template, ("value",), end.origin)

    block = blocks(version.tree, close)
    face = replace(graph.frame, returns=block.returns, names=block.names, origin=block.origin)
    first = title(function, transform, version.arguments, "forward")
    about = "\n".join([first, *graph.about.splitlines()[1:]])
    return graph.replace(name=_stem(graph), frame=face, about=about).with_block(block)


def backward_part(version: Version, function: Any, transform: Transform) -> Graph:
    """From saved values and the cotangent of the result to the gradients."""
    forward, tree = version.traced, version.tree
    arguments = version.arguments
    wanted = check_wanted(arguments, transform)
    targets = [tree.inputs[at] for at in arguments.numbers_of(wanted)]
    names = tuple(f"{value.origin.name}_bar" for value in targets)
    cotangents: dict[str, Value] = {}  # one for each dtype that paths return

    def close(end: End, outputs: tuple[Value, ...], before: tuple[Node, ...]) -> Block:
        output = outputs[0]
        origin = Origin("value_bar", True)
        ct = cotangents.setdefault(
            output.type.dtype, Value(output.type.with_dtype(output.type.dtype), origin)
        )
        path = forward.replace(nodes=before, outputs=outputs)
        joint = differentiate(path, targets, {output: ct}, keep=())
        template = "{0}" if len(targets) == 1 else None
        return Block(joint.nodes[len(before) :], joint.outputs, template, names, end.origin)

    block = blocks(tree, close)
    face = replace(forward.frame, returns=block.returns, names=block.names, origin=block.origin)
    joint = forward.replace(frame=face).with_block(block)
    cut, _ = backward_graph(joint, forward, tuple(cotangents.values()))
    lines = [title(function, transform, arguments, "backward"), "Takes"]
    given = set(forward.inputs) | set(cotangents.values())
    for value, name in zip(cut.inputs, cut.frame.reads, strict=True):
        kept = "" if value in given else ", which the forward saved"
        lines.append(f"    {name}: {shown_type(tree, value)}{kept}")
    return cut.replace(name=f"{_stem(forward)}_backward", about="\n".join(lines))


def _stem(graph: Graph) -> str:
    """The name of the user's function."""
    return graph.name.removesuffix("_value_and_grad").removesuffix("_grad")
