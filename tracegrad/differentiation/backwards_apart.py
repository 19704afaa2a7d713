"""Forward and backwards as graphs of their own, where the backward comes later or never.

That is what a node of a tape needs (`compiled/tape_node.py`): the forward returns what the
backwards read.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType

from codegen.errors import CodegenError
from codegen.ir import (
    Block,
    Branch,
    Builder,
    Call,
    Constant,
    Graph,
    Join,
    Loop,
    Origin,
    Value,
    ends,
)
from codegen.rewrite import at_ends
from codegen.spelling import spell
from codegen.types import ArrayType
from codegen.unset import is_unset
from tracegrad.differentiation.joins import joined_backwards_apart
from tracegrad.differentiation.loops.cotangent_flow import active_values
from tracegrad.differentiation.loops.gradients import numbered_gradients
from tracegrad.differentiation.loops.residuals import Unrollable
from tracegrad.differentiation.ways_back import BOOL, Apart, cotangents_of
from tracegrad.ops.python_calls import hooked
from tracegrad.ops.record import OpRecord
from tracegrad.ops.shape.creation import zeros_of_shape
from tracegrad.ops.staging import Stage

backward_begins = OpRecord(
    name="backward_begins",
    operands=(),
    infer=lambda sizes, *, number: ArrayType("bool"),
    spelling={"numpy": spell("True")},
    attributes={"number": ...},
    differentiable=False,
    doc="Stands between the forward and the backward behind one of its returns.",
)


def backwards_apart(
    graph: Graph,
    wanted: Sequence[Value],
    some: Mapping[int, Collection[Value]] = MappingProxyType({}),
) -> Apart:
    """The forward of a graph with joins or loops, and the backward behind each of its returns.

    A backward begins with cotangents of all outputs; of the returns in `some`, by their number in
    the order of the graph, only these outputs have any, and inputs, which go on with them.
    Raises `Unjoined` or `Unrollable` for a join or a loop whose backward has no such form.
    """
    if not has_loops(graph):
        return joined_backwards_apart(graph, wanted, some)
    calls = [node for node in graph.all_nodes if isinstance(node, Call)]
    if any(call.op is hooked for call in calls):
        raise Unrollable("turns have hooks")
    cotangents = cotangents_of(graph, active_values(graph, wanted), some)
    returned = [end.outputs for end in ends(graph.block)]

    def seeds(stage: Stage, number: int, outputs: Sequence[Value]) -> dict[Value, Value]:
        stage.builder.call(backward_begins, (), Origin(section="backward"), number=number)
        now = dict(zip(returned[number], outputs, strict=True))
        return {now.get(value, value): ct for value, ct in cotangents[number].items()}

    joint, _ = numbered_gradients(graph, wanted, seeds, zeros=False)
    backwards: dict[int, Block] = {}
    forward = joint.with_block(_cut(joint.block, len(wanted), backwards))
    before, after = (list(ends(g.block)) for g in (graph, forward))
    if [b.outputs for b in before] != [b.outputs for b in after]:
        raise Unrollable("what is returned is another value where it is differentiated")
    return Apart(forward, tuple(backwards[i] for i in range(len(before))), cotangents)


def kept_alike(plain: Graph, one: Graph, other: Graph) -> dict[Value, Value]:
    """For what `other` keeps, what `one` has for it: both are forwards of `plain`, made apart.

    Turns and arms put the same values there.
    """
    places = {key: value for value, key in _kept(plain, one).items()}
    return {value: places[key] for value, key in _kept(plain, other).items() if key in places}


def _kept(plain: Graph, forward: Graph) -> dict[Value, Hashable]:
    """What loops and joins of a forward hand on besides, with what tells what it is."""
    known = {*plain.inputs, *(result for node in plain.all_nodes for result in node.results)}
    begun: list[Value] = []

    def told(value: Value) -> Hashable:
        if value in known:
            return value
        if value in begun:
            return begun.index(value)
        if value not in forward.given:
            made = forward.producer[value]
            if isinstance(made, Constant):
                return repr(made.value), value.type
            assert isinstance(made, Call)
            return made.op.name, made.attributes, *map(told, made.operands)
        begun.append(value)
        given = tuple(map(told, forward.given[value]))
        begun.pop()
        return label[value], given

    heads = [node for node in forward.all_nodes if isinstance(node, Loop | Join)]
    label = {parameter: head.label for head in heads for parameter in head.parameters}
    return {parameter: told(parameter) for parameter in label if parameter not in known}


def with_alike_ends(graph: Graph, targets: Sequence[Value]) -> tuple[Graph, tuple[int, ...]]:
    """A backward whose returns are alike, as arms of JAX's have to be.

    Where some have no cotangent of one of the targets and others have, those return zeros, and all
    return besides whether it is one. With the graph come these targets, by number. Raises
    `CodegenError` where arms that meet hand on a gradient that some of them do not have.
    """
    waiting = [v for block in ends(graph.block) for v in block.outputs]
    seen: set[Value] = set()
    while waiting:
        value = waiting.pop()
        given = graph.given.get(value, ()) if value not in seen else ()
        if any(is_unset(graph, v) for v in given):
            raise CodegenError("arms that meet have other gradients, which no program for JAX has")
        seen.add(value)
        waiting += given
    every = [
        [is_unset(graph, v) for v in block.outputs[: len(targets)]] for block in ends(graph.block)
    ]
    told = tuple(i for i, lacks in enumerate(zip(*every, strict=True)) if any(lacks) != all(lacks))
    if not told:
        return graph, ()

    def alike(block: Block) -> Block:
        builder, outputs, flags = Builder(graph.sizes), [*block.outputs], []
        for i in told:
            lacks, type = is_unset(graph, outputs[i]), targets[i].type
            flags.append(builder.constant(not lacks, BOOL))
            if lacks:
                given = {"shape": type.shape, "dtype": type.dtype}
                (outputs[i],) = builder.call(zeros_of_shape, (), outputs[i].origin, **given)
        return block.with_nodes((*block.nodes, *builder.nodes), (*outputs, *flags))

    return graph.with_block(at_ends(graph.block, alike)), told


def has_loops(graph: Graph) -> bool:
    """Whether there is a loop in it."""
    return any(isinstance(node, Loop) for node in graph.all_nodes)


def _cut(block: Block, wanted: int, backwards: dict[int, Block]) -> Block:
    """The block without the backwards behind its returns, which are entered by their numbers."""
    for at, node in enumerate(block.nodes):
        if isinstance(node, Call) and node.op is backward_begins:
            behind = block.with_nodes(block.nodes[at + 1 :])
            given = {end.outputs[: len(end.outputs) - wanted] for end in ends(behind)}
            if len(given) > 1:
                raise Unrollable("what is returned is made by the backward")
            (outputs,) = given
            backwards[node.attribute("number")] = _without_first(behind, len(outputs))
            end = next(ends(behind))
            return replace(end, nodes=block.nodes[:at], outputs=outputs)
    last = block.nodes[-1] if block.nodes else None
    if not isinstance(last, Branch | Loop | Join):
        return block
    inner = tuple([_cut(b, wanted, backwards) for b in last.blocks])
    return block.with_nodes((*block.nodes[:-1], replace(last, blocks=inner)))


def _without_first(block: Block, count: int) -> Block:
    """A backward whose returns give gradients, and not first what the function returns."""
    return at_ends(block, lambda end: replace(end, outputs=end.outputs[count:]))
