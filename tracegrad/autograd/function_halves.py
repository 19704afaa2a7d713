"""Runs the forward and the backward of a Function, and checks what they return."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from tracegrad.autograd.context import (
    FunctionCtx,
    Place,
    carries_gradient,
    describe,
    index_of,
    showing,
)
from tracegrad.autograd.engine import conjugate
from tracegrad.autograd.python_call import boxed
from tracegrad.errors import ArgumentError, BackwardError, GradientError
from tracegrad.ops.elementwise.ufuncs import real
from tracegrad.runtime.thread_state import STATE
from tracegrad.tape.tape import LEAF, Node, Output, Shape
from tracegrad.tensors.tensor import Tensor, wrap
from tracegrad.user_code.program_points import capture, label
from tracegrad.values.dispatch import is_number


def run_forward(cls: type[Any], ctx: FunctionCtx, args: Sequence[Any]) -> tuple[bool, list[Any]]:
    """The outputs of the user's forward, arrays as Tensors, and whether there is just one."""
    if cls._sets_context:
        output = cls.forward(*args)
        cls.setup_context(ctx, tuple(args), output)
    else:
        output = cls.forward(ctx, *args)
    single = not isinstance(output, tuple | list)
    outputs = [
        x if isinstance(x, Tensor) or is_number(x) else boxed(x)
        for x in ([output] if single else output)
    ]
    if single and not isinstance(outputs[0], Tensor):
        raise ArgumentError(
            f"{cls.__name__}.forward returned {type(output).__name__}: it must return a Tensor "
            "or a tuple of Tensors"
        )
    describe(ctx, args, outputs)
    return single, outputs


def run_backward(
    cls: type[Any],
    ctx: FunctionCtx,
    cts: Sequence[Any],
    shown: Mapping[Place, Any],
    attributes: bool,
) -> list[Tensor | None]:
    """What the user's backward returns for each Tensor argument, checked.

    `shown` are the Tensors, by place, that stand for those of the application: among those saved
    and, with `attributes`, among the context's attributes too.
    """
    grads = [
        wrap(np.zeros(shape.shape, shape.dtype))
        if ct is None and ctx.materialize_grads and shape is not None
        else None
        if ct is None
        else conjugate(ct)
        for ct, shape in zip(cts, ctx._outputs, strict=True)
    ]
    outcomes = None if STATE.grad_enabled else STATE.outcomes
    with showing(ctx, shown, attributes):
        if outcomes is None:
            returned = cls.backward(ctx, *grads)
        else:
            returned = outcomes.backward(ctx, grads, lambda: cls.backward(ctx, *grads))
    return [grad if grad is None else conjugate(grad) for grad in _checked(cls, ctx, returned)]


def _checked(cls: type[Any], ctx: FunctionCtx, returned: Any) -> list[Tensor | None]:
    """The gradients of Tensor arguments; raises, naming the function, where they cannot be that."""
    name = f"{cls.__name__}Backward"
    grads = list(returned) if isinstance(returned, tuple | list) else [returned]
    expected = len(ctx._inputs)
    while len(grads) > expected and grads[-1] is None:
        grads.pop()
    if len(grads) != expected:
        raise BackwardError(
            f"function {name} returned an incorrect number of gradients (expected {expected}, got "
            f"{len(grads)}): backward returns one for each argument of forward, None for those "
            "that have none"
        )
    found: list[Tensor | None] = []
    for i, (grad, argument) in enumerate(zip(grads, ctx._inputs, strict=True)):
        if argument is None:
            if grad is not None:
                raise BackwardError(
                    f"function {name} returned a gradient different from None at position {i}, but "
                    "that argument of forward is not a Tensor"
                )
            continue
        found.append(_fitting(name, i, grad, argument) if ctx.needs_input_grad[i] else None)
    return found


def sums_to(shape: tuple[int, ...], wanted: tuple[int, ...]) -> bool:
    """Whether an array of a shape may be summed over its axes to one of another shape."""
    wide = (1,) * (len(shape) - len(wanted)) + wanted
    return len(wide) == len(shape) and all(a in (1, b) for a, b in zip(wide, shape, strict=True))


def _fitting(name: str, i: int, grad: Any, argument: Shape) -> Tensor | None:
    if grad is None or isinstance(grad, Tensor):
        tensor = grad
    elif hasattr(grad, "dtype"):
        tensor = boxed(grad)
    else:
        raise BackwardError(
            f"function {name} returned {type(grad).__name__} at index {i}: expected a Tensor or "
            "None"
        )
    if tensor is not None:
        if np.dtype(argument.dtype).kind != "c" and tensor.dtype.kind == "c":  # as in PyTorch
            tensor = real(tensor)
        shape, wanted = np.shape(tensor._array), tuple(argument.shape)
        if not sums_to(shape, wanted):
            raise BackwardError(
                f"function {name} returned an invalid gradient at index {i}: got shape {shape} but "
                f"expected a shape compatible with {wanted}"
            )
    return tensor


# -- outputs -------------------------------------------------------------------------------------


def dirty_outputs(
    cls: type[Any],
    ctx: FunctionCtx,
    given: Sequence[Tensor],
    inputs: Sequence[Tensor],
    outputs: Sequence[Any],
) -> dict[int, Tensor]:
    """Which of the user's Tensors each output is that forward changed in place.

    `given` are the Tensors that forward got, `inputs` the user's.
    """
    found = {}
    for x in ctx._dirty:
        i, k = index_of(x, given), index_of(x, outputs)
        if i is None or k is None:
            raise BackwardError(
                f"{cls.__name__}.forward marked a Tensor as dirty that is "
                f"{'not an argument' if i is None else 'an argument but not returned'}"
            )
        if inputs[i]._node is LEAF and STATE.grad_enabled:
            raise GradientError(
                "a leaf Tensor that requires grad is being used in an in-place operation by "
                f"{cls.__name__}: apply it to a copy, x.clone()"
            )
        found[k] = inputs[i]
    return found


def with_history(
    ctx: FunctionCtx,
    outputs: Sequence[Any],
    traced: Sequence[Any],
    dirty: Mapping[int, Tensor],
    node: Node | None,
) -> list[Any]:
    """The outputs as the caller gets them: those with a gradient know their node."""
    if node is not None and STATE.anomaly:
        node.more = {"where": label(capture())}
    shown: list[Any] = []
    for k, (x, of) in enumerate(zip(outputs, traced, strict=True)):
        if isinstance(x, Tensor):
            made = dirty[k] if k in dirty else wrap(x._array)
            made._array, made._traced = x._array, of
            if node is not None and carries_gradient(ctx, x):
                made._node = Output(node, ctx._result(k)) if type(node.result) is tuple else node
            x = made
        shown.append(x)
    return shown
