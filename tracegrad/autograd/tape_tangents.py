"""Tangents and Jacobians of Tensors with history.

The tape is read as a graph, `forward_mode` or `jacobians` write behind it what they write behind
any graph, and that part is run on Tensors: recorded where a trace or a tape is kept. So what is
derived inside a traced function, or of one that stays eager, takes the steps of the compiled one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from operator import eq
from types import MappingProxyType
from typing import Any

import numpy as np

from codegen.ir import Call, Constant, Frame, Graph, Node, Origin, Value
from codegen.sizes import Sizes
from codegen.types import ArrayType
from tracegrad.autograd import engine
from tracegrad.autograd.context import FunctionCtx
from tracegrad.autograd.engine import node_behind
from tracegrad.autograd.tape_call import in_graph
from tracegrad.differentiation.forward_mode import live, with_tangents
from tracegrad.differentiation.jacobians import with_jacobian, with_products
from tracegrad.differentiation.loops.gradients import numbered_gradients
from tracegrad.errors import ArgumentError, ShapeError
from tracegrad.ops.elementwise.ufuncs import astype
from tracegrad.ops.shape.creation import zeros_of
from tracegrad.runtime.thread_state import STATE
from tracegrad.tape.tape import WRITES
from tracegrad.tape.write_checks import damaged
from tracegrad.tensors.devices import as_held, bare, move, to_device, where
from tracegrad.tensors.tensor import Tensor, wrap
from tracegrad.values.dispatch import (
    apply_in,
    dtype_of,
    is_jax_array,
    same_dtype,
    shape_of,
    type_of,
)
from tracegrad.values.pytree import flatten
from tracegrad.values.structure_words import in_words


def tangent_like(tangent: Any, x: Tensor) -> Tensor:
    """A tangent of `x` as a Tensor of its dtype, on its device; raises for another shape."""
    if is_jax_array(tangent):
        tangent = wrap(as_held(tangent))
    elif not isinstance(tangent, Tensor):
        array = tangent if isinstance(tangent, np.ndarray) else np.asarray(tangent)[()]
        tangent = wrap(move(array, x.device) if STATE.trace is None else array)
    elif STATE.standing and STATE.trace is None and where(tangent) != where(x):
        tangent = to_device(tangent, device=where(x))
    one, two = np.shape(x._array), np.shape(tangent._array)
    if one != two:
        raise ArgumentError(f"a tangent has shape {two}, its argument has shape {one}")
    if np.iscomplexobj(tangent._array) and not np.iscomplexobj(x._array):
        raise ArgumentError(f"a tangent is complex, its argument has dtype {dtype_of(x)}")
    if STATE.trace is not None:  # the program holds while they are equal
        for a, b in zip(shape_of(tangent), shape_of(x), strict=True):
            STATE.trace.sizes.same(a, b)
    return tangent if same_dtype(tangent, x) else astype(tangent, dtype=dtype_of(x))


def require_vectors(vectors: Any, of: Any) -> None:
    """Raises where vectors do not have the structure and shapes of what they are vectors of.

    Along their first axes there are equally many. That is a guard of a program.
    """
    (several, given), (leaves, spec) = flatten(vectors), flatten(of)
    if given != spec:
        raise ShapeError(f"the vectors are {in_words(given)}, not {in_words(spec)}")
    same: Callable[[Any, Any], bool] = eq if STATE.trace is None else STATE.trace.sizes.same
    count = shape_of(several[0])[0]
    for vector, leaf in zip(several, leaves, strict=True):
        one, two = shape_of(vector), (count, *shape_of(leaf))
        if len(one) != len(two) or not all(map(same, one, two)):
            raise ShapeError(
                f"vectors of shape {np.shape(bare(vector))[1:]}, not {np.shape(bare(leaf))}"
            )


def jacobian(
    outputs: Sequence[Tensor], inputs: Sequence[Tensor], mode: str, of_number: bool, record: bool
) -> list[Any]:
    """Jacobians of the outputs in the `inputs` that ops made them of; `of_number`: Hessians.

    With `record` they are Tensors with history.
    """
    return _matrix(
        *(outputs, inputs, of_number, record),
        lambda graph, targets, asked: with_jacobian(graph, targets, [asked], mode)[0],
    )


def products(
    outputs: Sequence[Tensor],
    inputs: Sequence[Tensor],
    vectors: Sequence[Any],
    mode: str,
    of_number: bool,
    record: bool,
) -> list[Any]:
    """The products of vectors with the Jacobians of the outputs in the `inputs`.

    `of_number`: with the Hessians. With `record` they are Tensors with history.
    """
    held = [v if isinstance(v, Tensor) else wrap(v) for v in vectors]
    given = {Value(type_of(v), Origin("vectors", True)): v for v in held}

    def write(graph: Graph, targets: Sequence[Value], asked: Sequence[Value]) -> Graph:
        graph = graph.replace(inputs=(*graph.inputs, *given))
        return with_products(graph, targets, [*given], [asked], mode)[0]

    return _matrix(outputs, inputs, of_number, record, write, given)


def _matrix(
    outputs: Sequence[Tensor],
    inputs: Sequence[Tensor],
    of_number: bool,
    record: bool,
    write: Callable[[Graph, Sequence[Value], Sequence[Value]], Graph],
    given: Mapping[Value, Tensor] = MappingProxyType({}),
) -> list[Any]:
    """What `write` makes of the graph of a tape, of its targets, and of outputs or gradients."""
    tape = _Tape(_nodes_of(outputs), inputs)
    targets = [tape.value(engine.key_of(x)) for x in inputs]
    results = [tape.value(engine.key_of(x)) for x in outputs]
    before = STATE.update(grad_enabled=record)
    try:

        def written(graph: Graph) -> Graph:
            asked = results
            if of_number:
                graph, _ = numbered_gradients(graph.replace(outputs=tuple(results)), targets)
                asked = list(graph.outputs[1:])
            return write(graph.replace(outputs=()), targets, asked)

        return tape.run(written, given)
    finally:
        STATE.update(**before)


def _nodes_of(outputs: Sequence[Any]) -> list[Any]:
    """The tape behind Tensors; raises where a rule reads what was changed since."""
    nodes = engine.gather([x for x in outputs if isinstance(x, Tensor)])
    if nodes and nodes[0].stamp < WRITES.last and STATE.trace is None:
        damaged(nodes)
    return nodes


def pushed_forward(
    outputs: Sequence[Any], inputs: Sequence[Tensor], tangents: Sequence[Tensor], record: bool
) -> list[Any]:
    """The tangents of the outputs, which ops made of the `inputs`; zeros where nothing flows.

    With `record` they are Tensors with history.
    """
    moving = [x for x in outputs if isinstance(x, Tensor) and x.requires_grad]
    tape = _Tape(_nodes_of(moving), inputs)
    primals = [tape.value(engine.key_of(x)) for x in inputs]
    wanted = [tape.value(engine.key_of(x)) for x in moving]
    dots = {v: Value(v.type, _dotted(v.origin)) for v in primals}
    before = STATE.update(grad_enabled=record)
    try:
        given = {dots[v]: tensor for v, tensor in zip(primals, tangents, strict=True)}
        made = tape.run(lambda graph: with_tangents(graph, dots, [wanted]), given)
        found = dict(zip(map(id, moving), made, strict=True))
        return [found[id(x)] if id(x) in found else zeros_of(x) for x in outputs]
    finally:
        STATE.update(**before)


class _Tape:
    """What a tape did from its inputs on, as a graph; where the values of the graph are found."""

    def __init__(self, nodes: Sequence[Any], inputs: Sequence[Tensor]) -> None:
        self.like = inputs[0]
        self.tape = engine.Tape(nodes)
        self.sizes = Sizes() if STATE.trace is None else STATE.trace.sizes
        self.values: dict[Any, Value] = {}
        self.keys: dict[Value, Any] = {}
        self.calls: list[Node] = []
        reached = set(map(engine.key_of, inputs))
        for step in engine.steps_of(nodes):
            if reached.isdisjoint(step.operands):
                continue  # made before the inputs, or without them
            reached.update(step.results)
            operands = tuple(map(self.value, step.operands))
            results = tuple(map(self.value, step.results))
            given = step.attributes
            if "function" in given:
                given = {"function": in_graph(node_behind(step.results[0]), step.op.name)}
            attributes = tuple([(n, given.get(n, d)) for n, d in step.op.attributes.items()])
            self.calls.append(Call(step.op, operands, attributes, results))

    def value(self, key: Any) -> Value:
        """The value of the graph that stands for a key of the tape."""
        found = self.values.get(key)
        if found is None:
            tensor = self.tape.tensor(key)
            context = isinstance(getattr(tensor, "_array", None), FunctionCtx)
            type = ArrayType("object") if context else type_of(tensor)
            found = Value(type, _origin(tensor))
            self.values[key], self.keys[found] = found, key
        return found

    def run(self, write: Callable[[Graph], Graph], given: Mapping[Value, Tensor]) -> list[Any]:
        """What the graph returns that `write` makes of the tape's, on the Tensors of the tape.

        `given` are those for its further inputs.
        """
        made = {result for call in self.calls for result in call.results}
        inputs = [v for v in self.keys if v not in made]
        frame = Frame((), ("",) * len(inputs))
        graph = Graph("tape", tuple(inputs), tuple(self.calls), (), frame, self.sizes)
        whole = write(graph)
        further = [node for node in whole.nodes if made.isdisjoint(node.results)]
        tensors: dict[Value, Any] = dict(given)
        self._run(live(further, whole.outputs), tensors)
        return [self._of(v, tensors) for v in whole.outputs]

    def _run(self, nodes: Sequence[Node], tensors: dict[Value, Any]) -> None:
        trace = STATE.trace
        before = None if trace is None else trace.standing
        try:
            for node in nodes:
                match node:
                    case Constant(number, result):
                        strong = np.dtype(result.type.dtype).type
                        tensors[result] = number if result.type.weak else strong(number)
                    case Call(op, operands, attributes, results):
                        if trace is not None:
                            trace.standing = results[0].origin
                        values = [self._of(v, tensors) for v in operands]
                        out = apply_in(self.like, op, dict(attributes), *values)
                        made = out if len(results) > 1 else (out,)
                        tensors.update(zip(results, made, strict=True))
        finally:
            if trace is not None:
                trace.standing = before

    def _of(self, value: Value, tensors: dict[Value, Any]) -> Any:
        if value not in tensors:
            tensors[value] = self.tape.tensor(self.keys[value])
        return tensors[value]


def _origin(x: Any) -> Origin:
    traced = getattr(x, "_traced", None)
    return Origin() if traced is None else traced[1].origin


def _dotted(origin: Origin) -> Origin:
    return origin.named(origin.name and f"{origin.name}_dot", origin.final)
