"""Makes the one graph of a version's program of its tree of paths and its transform.

Each path ends in what the function returned; behind that stand the derivatives that the transform
asks for. Reverse mode is `reverse_mode` (and `gradients` around loops), forward mode
`forward_mode`; a Hessian-vector product is the second over the first.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from numbers import Number

import numpy as np

from codegen.errors import VerifyError
from codegen.ir import Block, Builder, Graph, Join, Loop, Node, Value, ends, walk
from codegen.rewrite import at_ends
from codegen.sizes import Sizes
from codegen.types import kind
from codegen.verify import verify
from tracegrad.arguments.argument_changes import ArgumentStore
from tracegrad.arguments.signature import Arguments, Leaf
from tracegrad.differentiation.backwards_apart import backwards_apart
from tracegrad.differentiation.forward_mode import with_tangents
from tracegrad.differentiation.jacobians import with_jacobian, with_products
from tracegrad.differentiation.joins import Unjoined, joined_gradients
from tracegrad.differentiation.loops.gradients import numbered_gradients
from tracegrad.differentiation.loops.residuals import Unrollable
from tracegrad.differentiation.reverse_mode import differentiate, in_dtype
from tracegrad.errors import ArgumentError
from tracegrad.ops.elementwise.arrays_and_scalars import returned_array, returned_scalar
from tracegrad.ops.staging import Stage, Staged
from tracegrad.tracing.outputs import (
    Result,
    Transform,
    donated_in,
    leaves_in,
    left_out,
    main_of,
    result_of,
    tangent_leaves,
    template_of,
    vectors_in,
)
from tracegrad.tracing.path_tree import End, Tree, blocks
from tracegrad.world import Effect, Store


@dataclass(frozen=True)
class Returned:
    """What a path gives: the structure to be returned, and what is stored."""

    result: Result
    names: tuple[str, ...]  # of all outputs
    stores: tuple[Store | ArgumentStore, ...]
    stored: tuple[int, ...]  # which of the outputs
    effects: tuple[Effect, ...]
    first: int  # how many outputs of the traced run are left out


Close = Callable[[End, tuple[Value, ...], tuple[Node, ...]], Block]
"""Makes the block in which a path ends, but for the nodes before, of these and its outputs."""


@dataclass(frozen=True)
class Paths:
    """What the function of a program does, before derivatives are taken."""

    inputs: tuple[Value, ...]
    ends: tuple[End, ...]  # in the order of the graph
    loops: bool
    joined: bool
    block: Callable[[Close], Block]

    @staticmethod
    def of_tree(tree: Tree) -> Paths:
        """Those that were traced."""
        ends = tuple(tree.ends)
        return Paths(tree.inputs, ends, tree.loops, tree.joined, lambda c: blocks(tree, c))

    @staticmethod
    def of_graph(graph: Graph, result: Result, inputs: tuple[Value, ...], joined: bool) -> Paths:
        """Those of a graph with loops, each of whose returns gives the same structure."""
        found = tuple([End(b.outputs, result, origin=b.origin) for b in ends(graph.block)])

        def block(close: Close) -> Block:
            rest = iter(found)

            def closed(b: Block) -> Block:
                end = close(next(rest), b.outputs, b.nodes)
                return end.with_nodes((*b.nodes, *end.nodes))

            return at_ends(graph.block, closed)

        return Paths(inputs, found, True, joined, block)


def joint_graph(
    paths: Paths,
    face: Graph,
    transform: Transform,
    arguments: Arguments,
    wanted: Sequence[Leaf],
    target: str,
    outside: Sequence[Value] = (),
) -> tuple[Graph, tuple[Returned, ...], bool]:
    """The graph with derivatives; how what it returns is made into what the call returns.

    `outside` are the Tensors from outside whose gradients a node of a tape has.
    """
    targets = [paths.inputs[at] for at in arguments.numbers_of(wanted)]
    all_ends = list(paths.ends)
    shown = [_returned(end, transform, arguments, wanted) for end in all_ends]
    templates = [_template(r, target) for r in shown]
    built = None in templates
    of: list[End] = []  # in the order of the graph
    straight = transform.of_number and not (paths.loops or paths.joined)

    def close(end: End, outputs: tuple[Value, ...], before: tuple[Node, ...]) -> Block:
        nodes: tuple[Node, ...] = ()
        number = all_ends.index(end)
        of.append(end)
        if straight:
            nodes, outputs = _backward(end, face.replace(nodes=before, outputs=outputs), targets)
        if straight and transform.kind in ("grad", "value_and_grad"):
            outputs = outputs[shown[number].first :]
        template = templates[number]
        if built:
            count = len(shown[number].names)
            template = f"{number}, {_tuple_of(count)}" if len(all_ends) > 1 else None
        return Block(nodes, outputs, template, shown[number].names, end.origin)

    block = paths.block(close)
    frame = replace(face.frame, returns=block.returns, names=block.names, origin=block.origin)
    count, numbered = len(shown[0].names), built and len(all_ends) > 1
    shape = f"-1, {_tuple_of(count)}" if numbered else templates[0] or _tuple_of(count)
    frame = replace(frame, shape=shape, donated=_donated(shown, face, transform, arguments))
    if transform.kind in ("grad", "value_and_grad") and not numbered:
        places = [paths.inputs.index(value) for value in targets]
        pairs = [(count - len(places) + i, at) for i, at in enumerate(places)]
        frame = replace(frame, alike=tuple(pairs))
    graph = face.replace(frame=frame).with_block(block)
    recorded = _recorded(paths, transform, arguments, targets, outside)
    if paths.loops:
        graph = _verified(graph)
        if transform.of_number:
            written, numbers = numbered_gradients(graph, targets)
            graph, of = _verified(written, graph), [of[number] for number in numbers]
    elif paths.joined:
        graph = _joined(graph)
        if transform.of_number:
            graph = _joined(joined_gradients(graph, targets), graph)
    if recorded and (paths.loops or paths.joined):
        backwards_apart(graph, recorded)  # raises where a call cannot be one node of a tape
    if transform.takes_tangents:
        tangents = _tangents(paths, arguments, wanted)
        graph, tangents = _converted(graph, tangents)
        graph, of = _behind(
            graph,
            transform,
            of,
            lambda g, asked: (with_tangents(g, tangents, asked), [*range(len(of))]),
        )
    elif transform.is_matrix:
        mode = "forward" if transform.kind == "hessian" else transform.mode
        graph, of = _behind(
            graph, transform, of, lambda g, asked: with_jacobian(g, targets, asked, mode)
        )
    elif transform.takes_vectors:
        vectors = [paths.inputs[at] for at in arguments.numbers_of(vectors_in(arguments))]
        graph, of = _behind(
            graph,
            transform,
            of,
            lambda g, asked: with_products(g, targets, vectors, asked, transform.mode),
        )
    elif paths.loops or paths.joined:
        first = shown[0].first
        graph = graph.with_block(
            at_ends(graph.block, lambda b: replace(b, outputs=b.outputs[first:]))
        )
    firsts = [shown[all_ends.index(end)].first for end in of]
    without_axes = [
        _without_axes(end, first, block, transform)
        for end, first, block in zip(of, firsts, ends(graph.block), strict=True)
    ]
    if target == "numpy":
        graph = _as_returned(graph, without_axes)
    else:  # whoever calls the program makes NumPy's arrays, and numbers, of JAX's arrays
        numbers = [all_ends.index(end) if numbered else 0 for end in of]
        axeless = _by_number(without_axes, numbers)
        graph = graph.replace(frame=replace(graph.frame, axeless=axeless))
    return graph, tuple(shown), built


def _without_axes(end: End, first: int, block: Block, transform: Transform) -> dict[int, type]:
    """Outputs of a return that have no axes: arrays, scalars of NumPy's or numbers of Python's.

    What the function returned is as it was, less the first outputs, which are left out. Blocks of
    a matrix are arrays, whatever was given. Types tell numbers of Python's from scalars, but for
    bools: ``flag = True`` has the type of ``x > 0``.
    """
    kinds: dict[int, type] = {
        place - first: held
        for place, held in end.axeless
        if place >= first and held in (np.ndarray, np.generic, bool)
    }
    outputs = enumerate(block.outputs)
    kinds |= {at: Number for at, x in outputs if x.type.may_be_python}
    if transform.is_matrix:
        blocks = range(len(end.outputs) - first, len(block.outputs))
        kinds |= {at: np.ndarray for at in blocks if not block.outputs[at].type.shape}
    return kinds


def _by_number(
    kinds: Sequence[Mapping[int, type]], numbers: Sequence[int]
) -> tuple[tuple[frozenset[int], frozenset[int]], ...]:
    """The outputs that are arrays, and those that are Python's numbers, in all returns of a number.

    `kinds` are those of the returns of a graph.
    """

    def common(number: int, which: Callable[[type], bool]) -> frozenset[int]:
        of = [known for known, n in zip(kinds, numbers, strict=True) if n == number]
        found = [{at for at, held in known.items() if which(held)} for known in of]
        return frozenset(set.intersection(*found)) if found else frozenset()

    def is_array(held: type) -> bool:
        return held is np.ndarray

    def is_python(held: type) -> bool:
        return held not in (np.ndarray, np.generic)

    every = range(max(numbers) + 1)
    return tuple([(common(n, is_array), common(n, is_python)) for n in every])


def _as_returned(graph: Graph, kinds: Sequence[Mapping[int, type]]) -> Graph:
    """The graph whose outputs without axes are arrays or scalars, as `kinds` of a return says."""
    rest = iter(kinds)

    def changed(block: Block) -> Block:
        builder, outputs = Builder(graph.sizes), [*block.outputs]
        for place, held in next(rest).items():
            output = outputs[place]
            if held in (np.ndarray, np.generic) and not output.type.may_be_python:
                op = returned_array if held is np.ndarray else returned_scalar
                (outputs[place],) = builder.call(op, (output,), output.origin.named(None))
        return block.with_nodes((*block.nodes, *builder.nodes), tuple(outputs))

    return graph.with_block(at_ends(graph.block, changed))


def _recorded(
    paths: Paths,
    transform: Transform,
    arguments: Arguments,
    targets: Sequence[Value],
    outside: Sequence[Value],
) -> list[Value]:
    """The inputs whose gradients a call may be asked for that is one node of a tape."""
    if transform.gives_derivatives:
        return []
    required = zip(paths.inputs, arguments.require_grad or (), strict=False)
    given = targets if transform.kind == "vjp" else [value for value, needed in required if needed]
    return [*given, *outside]


def _donated(
    returned: Sequence[Returned], face: Graph, transform: Transform, arguments: Arguments
) -> tuple[str, ...]:
    """The parameters that a call gives away: none where it does more than to return a result."""
    given = arguments.numbers_of(donated_in(arguments, transform))
    keeps = any(r.stores or r.effects for r in returned)
    return () if keeps else tuple([face.frame.reads[at] for at in given])


# -- reverse mode -------------------------------------------------------------------------------


def _verified(graph: Graph, before: Graph | None = None) -> Graph:
    """A graph with loops; one that does not verify was not understood when it was closed."""
    try:
        return verify(graph, before)
    except VerifyError as error:
        raise Unrollable(str(error)) from error


def _joined(graph: Graph, before: Graph | None = None) -> Graph:
    """A graph with joins; one that does not verify has its arms apart."""
    try:
        return verify(graph, before)
    except VerifyError as error:
        raise Unjoined(None, str(error)) from error


def _backward(
    end: End, before: Graph, targets: Sequence[Value]
) -> tuple[tuple[Node, ...], tuple[Value, ...]]:
    """The backward of one path, made once: its nodes, and the outputs with the gradients."""
    if end.backward is None or end.backward[0] != before.nodes:
        whole = differentiate(before, targets)
        end.backward = before.nodes, whole.nodes[len(before.nodes) :], whole.outputs
    return end.backward[1:]


# -- forward mode -------------------------------------------------------------------------------


def _behind(
    graph: Graph,
    transform: Transform,
    of: Sequence[End],
    write: Callable[[Graph, Sequence[Sequence[Value]]], tuple[Graph, list[int]]],
) -> tuple[Graph, list[End]]:
    """The graph that `write` makes, whose returns give derivatives after what they give besides.

    With it comes the end of a path that each of its returns is that of.

    They are asked for of the results, or of the gradients that stand behind them. `of` has the end
    of a path that each return is that of.
    """
    asked, kept = [], []
    for block, end in zip(ends(graph.block), of, strict=True):
        count = len(end.outputs)
        main = leaves_in(main_of(_result(end).spec, transform))
        asked.append(block.outputs[count:] if transform.of_number else block.outputs[:main])
        kept.append(block.outputs[left_out(transform, _result(end)) : count])
    rest = iter(kept)
    block = at_ends(graph.block, lambda b: replace(b, outputs=next(rest)))
    written, numbers = write(graph.with_block(block), asked)
    nodes = list(walk(written.nodes))
    if any(isinstance(node, Join) for node in nodes):
        written = _joined(written, graph)
    elif any(isinstance(node, Loop) for node in nodes):
        written = _verified(written, graph)
    return written, [of[number] for number in numbers]


def require_alike(
    arguments: Arguments, wanted: Sequence[Leaf], inputs: Sequence[Value], sizes: Sizes
) -> None:
    """Has tangents be of the shapes of what they are tangents of; raises, naming one that is not.

    That is a guard of the version.
    """
    traced = [leaf for leaf in arguments.leaves if leaf.traced]
    of = dict(zip(map(id, traced), inputs, strict=True))
    for leaf, tangent in zip(wanted, tangent_leaves(arguments, wanted), strict=True):
        text, other = arguments.text_of(leaf), arguments.text_of(tangent)
        one, two = of[id(leaf)].type, of[id(tangent)].type
        if one.ndim != two.ndim or not all(map(sizes.same, one.shape, two.shape)):
            shapes = [np.shape(x.value) for x in (leaf, tangent)]
            raise ArgumentError(
                f"the tangent {other} has shape {shapes[1]}, {text} has shape {shapes[0]}"
            )
        if kind(two.dtype) == "complex" and kind(one.dtype) != "complex":
            raise ArgumentError(f"the tangent {other} is complex, {text} has dtype {one.dtype}")


def _tangents(paths: Paths, arguments: Arguments, wanted: Sequence[Leaf]) -> dict[Value, Value]:
    """The inputs that are tangents, by those that they are tangents of."""
    traced = (id(leaf) for leaf in arguments.leaves if leaf.traced)
    of = dict(zip(traced, paths.inputs, strict=True))
    leaves = tangent_leaves(arguments, wanted)
    return {of[id(leaf)]: of[id(t)] for leaf, t in zip(wanted, leaves, strict=True)}


def _converted(graph: Graph, tangents: Mapping[Value, Value]) -> tuple[Graph, dict[Value, Value]]:
    """Tangents in the dtypes of their values."""
    stage = Stage(Builder(graph.sizes))
    found = {}
    for value, tangent in tangents.items():
        stage.origin = replace(tangent.origin, final=True)
        found[value] = in_dtype(Staged(stage, tangent), Staged(stage, value)).value
    block = graph.block
    return graph.with_block(block.with_nodes((*stage.builder.nodes, *block.nodes))), found


# -- what is returned ---------------------------------------------------------------------------


def _result(end: End) -> Result:
    assert isinstance(end.result, Result)
    return end.result


def _returned(
    end: End, transform: Transform, arguments: Arguments, wanted: Sequence[Leaf]
) -> Returned:
    result, names = result_of(transform, arguments, wanted, _result(end), len(end.outputs))
    first = left_out(transform, _result(end))
    stored = tuple([place - first for place in end.stored])
    returned = {i - first for i in _result(end).leaves if isinstance(i, int)}
    for store, place in zip(end.stores, stored, strict=True):
        if place not in returned:
            names[place] = store.name
    return Returned(result, tuple(names), end.stores, stored, end.effects, first)


def _template(returned: Returned, target: str) -> str | None:
    """What is returned, as source; None where more is to be done than to return it."""
    result = returned.result
    more = returned.stores or returned.effects or result.plain or result.given
    return None if more else template_of(result, target)


def _tuple_of(count: int) -> str:
    """A tuple of as many outputs, as source."""
    return f"({', '.join(f'{{{i}}}' for i in range(count))}{',' if count == 1 else ''})"
