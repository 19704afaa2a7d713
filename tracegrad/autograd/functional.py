"""Output and input Tensors enter, gradients leave: ``autograd.grad``, ``autograd.backward``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tracegrad.autograd import engine
from tracegrad.autograd.tape import Node
from tracegrad.errors import ArgumentError, GradientError
from tracegrad.ops.creation import zeros_of
from tracegrad.tensor import Tensor, wrap

Tensors = Tensor | Sequence[Tensor]


def grad(
    outputs: Tensors,
    inputs: Tensors,
    grad_outputs: Any = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    allow_unused: bool | None = None,
    materialize_grads: bool = False,
) -> tuple[Tensor | None, ...]:
    """Gradients of the (summed) outputs with respect to the inputs; no ``.grad`` is touched.

    Parameters
    ----------
    outputs : Tensor or sequence of Tensor
    inputs : Tensor or sequence of Tensor
        Leaves, or Tensors that ops made: the backward then goes no further than them.
    grad_outputs : Tensor or sequence, optional
        The cotangent of each output; None for outputs of one element.
    retain_graph : bool, optional
        Keep what the backward reads for another one; default: the value of `create_graph`.
    create_graph : bool
        Record the gradients' own computation, for gradients of gradients.
    allow_unused : bool, optional
        Give None for inputs that the outputs do not depend on; default: only with
        `materialize_grads`.
    materialize_grads : bool
        Give zeros instead of None.

    Raises
    ------
    tg.errors.GradientError
        An input or no output requires grad, an input is unused, or the graph was freed.

    Examples
    --------
    >>> import tracegrad as tg
    >>> x = tg.tensor([1.0, 2.0], requires_grad=True)
    >>> y = x * x
    >>> tg.autograd.grad(y.sum(), y)
    (tensor([1., 1.]),)
    """
    results, cts = _outputs(outputs, grad_outputs)
    wanted = _tensors("inputs", inputs)
    if not wanted:
        raise GradientError("grad requires non-empty inputs")
    for i, tensor in enumerate(wanted):
        if not tensor.requires_grad:
            raise GradientError(
                f"one of the differentiated Tensors does not require grad: inputs[{i}] of shape "
                f"{tensor.shape}; create it with requires_grad=True before the outputs are computed"
            )
    found = _run(results, cts, wanted, retain_graph, create_graph)
    unused = materialize_grads if allow_unused is None else allow_unused
    gradients: list[Tensor | None] = []
    for i, tensor in enumerate(wanted):
        value = found.get(engine.key_of(tensor))
        if value is not None:
            value = engine.conjugate(value if isinstance(value, Tensor) else wrap(value))
        elif materialize_grads:
            value = wrap(zeros_of(tensor.detach()._array))
        elif not unused:
            raise GradientError(
                "one of the differentiated Tensors appears to not have been used in the graph: "
                f"inputs[{i}] of shape {tensor.shape}; set allow_unused=True if this is wanted"
            )
        gradients.append(value)
    return tuple(gradients)


def backward(
    tensors: Tensors,
    grad_tensors: Any = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    inputs: Tensors | None = None,
) -> None:
    """Adds the gradients of the (summed) tensors to ``.grad`` of the leaves, or of `inputs` alone.

    Parameters are those of `grad`, with `grad_tensors` for ``grad_outputs``.

    Examples
    --------
    >>> import tracegrad as tg
    >>> x = tg.tensor([1.0, 2.0], requires_grad=True)
    >>> tg.autograd.backward([(x * 2).sum(), x.sum()])
    >>> x.grad
    tensor([3., 3.])
    """
    results, cts = _outputs(tensors, grad_tensors)
    if inputs is None:
        targets = engine.leaves_of(engine.gather(results), results)
    else:
        targets = _tensors("inputs", inputs)
        if not targets:
            raise GradientError("inputs of backward() cannot be empty")
        for i, tensor in enumerate(targets):
            if not tensor.requires_grad:
                raise GradientError(f"inputs[{i}] of backward() does not require grad")
    found = _run(results, cts, targets, retain_graph, create_graph)
    for tensor in dict.fromkeys(targets):
        value = found.get(engine.key_of(tensor))
        if value is not None:
            engine.accumulate(tensor, value)


def _tensors(name: str, given: Tensors) -> list[Tensor]:
    several = [given] if isinstance(given, Tensor) else list(given)
    for i, tensor in enumerate(several):
        if not isinstance(tensor, Tensor):
            raise ArgumentError(f"{name}[{i}] is of type {type(tensor).__name__}: pass Tensors")
    return several


def _outputs(outputs: Tensors, cotangents: Any) -> tuple[list[Tensor], list[Any]]:
    """The outputs that require grad and their cotangents; those that do not are passed over."""
    several = _tensors("outputs", outputs)
    if cotangents is None:
        cotangents = [None] * len(several)
    elif isinstance(cotangents, Tensor) or not isinstance(cotangents, Sequence):
        cotangents = [cotangents]
    if len(cotangents) != len(several):
        raise GradientError(f"got {len(several)} tensors and {len(cotangents)} gradients of them")
    pairs = [(t, ct) for t, ct in zip(several, cotangents, strict=True) if t.requires_grad]
    if len(pairs) < len(several):
        i = next(i for i, t in enumerate(several) if not t.requires_grad)
        raise GradientError(
            f"element {i} of tensors does not require grad and does not have a grad_fn: no input "
            "of its computation requires grad, or it was computed under no_grad"
        )
    cts = [engine.conjugate(engine.cotangent_for(t, ct)) for t, ct in pairs]
    return several, cts


def _run(
    outputs: Sequence[Tensor],
    cotangents: Sequence[Any],
    inputs: Sequence[Tensor],
    retain_graph: bool | None,
    create_graph: bool,
) -> dict[Any, Any]:
    """Gradients by key; lets go of the nodes that ran, unless they are to be kept."""
    keep = create_graph if retain_graph is None else retain_graph
    nodes = engine.gather(outputs)
    found = engine.gradients(outputs, cotangents, inputs, create_graph, nodes)
    if not keep:
        for node in _on_the_way(nodes, inputs):
            engine.free(node)
    return found


def _on_the_way(nodes: Sequence[Node], inputs: Sequence[Tensor]) -> list[Node]:
    """The nodes, oldest first, through which the inputs reach anything."""
    reached = {engine.key_of(tensor) for tensor in inputs}
    found = []
    for node in nodes:
        if any(p is not None and engine.key_of_parent(p) in reached for p in node.parents):
            reached.update(engine.results_of(node))
            found.append(node)
    return found
