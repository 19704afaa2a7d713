"""A Tensor with history and a cotangent enter, gradients of leaves leave: the eager backward.

The recorded nodes are gathered in the order of time and handed to the one walker
(`tracegrad.differentiate.pullback`). A tape shape met for the first time is computed at once over
plain arrays; met again, its backward is compiled (`tracegrad.autograd.compiled`). With
``create_graph`` the walker runs over Tensors, so that what it does is recorded.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from tracegrad.autograd import compiled
from tracegrad.autograd.tape import Node
from tracegrad.differentiate import Step, pullback
from tracegrad.dispatch import shape_of
from tracegrad.errors import GradientError, NonScalarError, ShapeError
from tracegrad.state import STATE
from tracegrad.tensor import Tensor, wrap


def key_of(tensor: Tensor) -> Any:
    """What names a Tensor on the tape: the node that made it and its place, or the leaf itself."""
    return tensor if tensor.grad_fn is None else (tensor.grad_fn, tensor._index)


def gather(roots: Sequence[Tensor]) -> list[Node]:
    """The nodes that made the roots, oldest first."""
    seen: set[Node] = set()
    todo = [t.grad_fn for t in roots if t.grad_fn is not None]
    while todo:
        node = todo.pop()
        if node in seen:
            continue
        seen.add(node)
        for x in node.operands:
            if type(x) is Tensor and x.grad_fn is not None and x.grad_fn not in seen:
                todo.append(x.grad_fn)
    return sorted(seen, key=lambda node: node.stamp)


class _Given:
    """The key of an operand that is no Tensor with history."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value


def steps_of(nodes: Sequence[Node]) -> list[Step]:
    """The tape as the walker's steps."""
    steps = []
    for node in nodes:
        if node.op is None:
            raise GradientError(
                "this graph was freed by an earlier backward: keep it with retain_graph=True"
            )
        operands = tuple(
            key_of(x) if type(x) is Tensor and x.requires_grad else _Given(x)
            for x in node.operands
        )
        results = tuple((node, i) for i in range(len(node.arrays)))
        steps.append(Step(node.op, node.attributes, operands, results))
    return steps


def array_of(key: Any) -> Any:
    """The array that a key of the tape names."""
    match key:
        case Tensor():
            return key._array
        case _Given(value=value):
            return value._array if type(value) is Tensor else value
        case (node, index):
            return node.arrays[index]
    raise TypeError(key)


def tensor_of(key: Any) -> Any:
    """The Tensor, with its history, that a key of the tape names."""
    match key:
        case Tensor():
            return key
        case _Given(value=value):
            return value
        case (node, index):
            tensor = wrap(node.arrays[index], node.traced[index])
            tensor.grad_fn, tensor._index, tensor.requires_grad = node, index, True
            return tensor
    raise TypeError(key)


def gradients(
    outputs: Sequence[Tensor],
    cotangents: Sequence[Any],
    inputs: Sequence[Tensor] | None = None,
    create_graph: bool = False,
) -> dict[Any, Any]:
    """Gradients by key: of `inputs`, or of every leaf that requires grad.

    With `create_graph`, or while tracing, they are Tensors, else arrays.
    """
    nodes = gather(outputs)
    if inputs is None:
        wanted = list(_leaves(outputs, nodes))
    else:
        wanted = [key_of(t) for t in inputs]
    seeds: dict[Any, Any] = {}
    for tensor, ct in zip(outputs, cotangents, strict=True):
        key = key_of(tensor)
        seeds[key] = ct if key not in seeds else seeds[key] + ct
    steps = steps_of(nodes)
    if create_graph or STATE.trace is not None:
        boxed = {key: ct if type(ct) is Tensor else wrap(ct) for key, ct in seeds.items()}
        return _recorded_pullback(steps, boxed, wanted)
    plain = {key: ct._array if type(ct) is Tensor else ct for key, ct in seeds.items()}
    return compiled.run(steps, array_of, plain, wanted)


def _leaves(outputs: Sequence[Tensor], nodes: Sequence[Node]) -> dict[Tensor, None]:
    """The leaves that require grad, in the order in which they are met."""
    leaves: dict[Tensor, None] = {}
    for tensor in (*outputs, *(x for node in nodes for x in node.operands)):
        if type(tensor) is Tensor and tensor.requires_grad and tensor.grad_fn is None:
            leaves[tensor] = None
    return leaves


def _recorded_pullback(
    steps: Sequence[Step], seeds: dict[Any, Any], wanted: Sequence[Any]
) -> dict[Any, Any]:
    """The walker over Tensors; in a trace its ops stand at the lines of the ops they derive."""
    trace = STATE.trace
    if trace is None:
        return pullback(steps, tensor_of, seeds, wanted)

    def enter(step: Step) -> None:
        node, index = step.results[0]  # type: ignore[misc]
        traced = node.traced[index]
        if traced is not None:
            name = traced[1].origin.name
            trace.standing = replace(traced[1].origin, name=name and f"{name}_bar", final=False)

    before = trace.standing
    try:
        return pullback(steps, tensor_of, seeds, wanted, enter)
    finally:
        trace.standing = before


def cotangent_for(tensor: Tensor, gradient: Any) -> Any:
    """The cotangent given by the user, checked, or 1 for a single number."""
    if gradient is None:
        if np.size(tensor._array) != 1:
            raise NonScalarError(
                f"backward() of a Tensor of shape {np.shape(tensor._array)} needs its cotangent: "
                "pass gradient=..., or reduce it to one number with .sum() or .mean()"
            )
        if tensor.ndim:
            return np.ones(np.shape(tensor._array), dtype=tensor.dtype)
        return tensor.dtype.type(1.0)
    if not isinstance(gradient, Tensor):
        gradient = np.asarray(gradient, dtype=tensor.dtype)
    if shape_of(gradient) != shape_of(tensor):
        raise ShapeError(
            f"gradient has shape {np.shape(getattr(gradient, '_array', gradient))}, the Tensor "
            f"has shape {np.shape(tensor._array)}"
        )
    return gradient


def backward(
    tensor: Tensor, gradient: Any = None, retain_graph: bool = False, create_graph: bool = False
) -> None:
    """`Tensor.backward`."""
    if not tensor.requires_grad:
        raise GradientError(
            "this Tensor has no history: no input of its computation requires grad "
            "(tg.tensor(..., requires_grad=True)), or it was computed under no_grad"
        )
    ct = cotangent_for(tensor, gradient)
    found = gradients([tensor], [ct], None, create_graph)
    for leaf, value in found.items():
        new = value if type(value) is Tensor else wrap(_owned(value))
        if not create_graph:
            new = new if new._traced is not None else wrap(_owned(new._array))
        leaf.grad = new if leaf.grad is None else leaf.grad + new
    if not (retain_graph or create_graph):
        for node in gather([tensor]):
            node.op = None
            node.operands = ()
            node.arrays = ()


def _owned(array: Any) -> Any:
    """An array that nobody else can see or that is not a read-only view."""
    if isinstance(array, np.ndarray) and (array.base is not None or not array.flags.writeable):
        return np.array(array)
    return array


def backward_source(tensor: Tensor) -> str:
    """The source that ``tensor.backward()`` runs, formatted by black.

    Examples
    --------
    >>> import tracegrad as tg
    >>> x = tg.tensor([1.0, 2.0], requires_grad=True)
    >>> print(tg.backward_source((x * x).sum()).splitlines()[-1].strip())
    return x_bar
    """
    import black

    nodes = gather([tensor])
    key = key_of(tensor)
    wanted = list(_leaves([tensor], nodes))
    text = compiled.source_of(steps_of(nodes), array_of, {key: array_of(key)}, wanted)
    return black.format_str(text, mode=black.Mode())
