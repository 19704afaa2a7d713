"""Hooks on gradients, kept beside the leaf or in the node of the tape.

A hook of a leaf lives in the leaf; a hook of a Tensor that an op made, and its wish to keep its
gradient, live in the node (``node.more``), which lives as long as the graph.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from typing import Any

from tracegrad.errors import BackwardError, GradientError, TraceError
from tracegrad.tape.tape import FREED, Node, Output, parent_of

_next_id = count().__next__

HookOfTrace = Callable[[Any, Callable[..., Any], Callable[[], bool]], Callable[..., Any]]
FOR_TRACES: list[HookOfTrace] = []
"""Makes a hook of a Tensor that is being traced a call in the graph; `python_call`, which works on
Tensors, enters it here."""


class RemovableHandle:
    """What registering a hook returns; ``remove()`` ends the hook."""

    def __init__(self, hooks: dict[int, Callable[..., Any]], number: int) -> None:
        self._hooks = hooks
        self.id = number

    def remove(self) -> None:
        """The hook is called no more."""
        self._hooks.pop(self.id, None)

    def __enter__(self) -> RemovableHandle:
        return self

    def __exit__(self, *error: object) -> None:
        self.remove()


def extras_of(tensor: Any) -> dict[str, Any]:
    """What few nodes have, of the output that `tensor` is: hooks and the wish to keep its grad."""
    made = tensor._node
    node, index = (made.node, made.index) if type(made) is Output else (made, 0)
    if node.more is FREED:
        raise BackwardError("the graph of this Tensor was freed by its backward")
    if is_inner_result(tensor):
        raise inner_result("a hook, or retain_grad(), of")
    if node.more is None:
        node.more = {}
    extras: dict[str, Any] = node.more.setdefault(index, {})
    return extras


def is_inner_result(tensor: Any) -> bool:
    """Whether a Tensor is a result of a compiled call from which another result is computed."""
    made = tensor._node
    if type(made) is not Output:
        return False
    return made.index in getattr(made.node.attributes.get("function"), "inner", ())


def inner_result(what: str) -> GradientError:
    return GradientError(
        f"{what} a result of a compiled function from which another of its results is computed: a "
        "backward from that one does not come by here. Compute the other outside of the compiled "
        "function, or call it uncompiled"
    )


def register_hook(tensor: Any, hook: Callable[[Any], Any]) -> RemovableHandle:
    """`Tensor.register_hook`."""
    made = parent_of(tensor)
    if made is None:
        raise BackwardError("cannot register a hook on a Tensor that does not require grad")
    if type(made) is type(tensor):  # a leaf
        if made._hooks is None:
            made._hooks = {}
        hooks = made._hooks
    else:
        hooks = extras_of(tensor).setdefault("hooks", {})
    number = _next_id()
    if tensor._is_traced:
        hook = FOR_TRACES[0](tensor, hook, lambda: number in hooks)
    hooks[number] = hook
    return RemovableHandle(hooks, number)


def hook_name(hook: Any) -> str:
    """The name under which errors and generated source speak of a hook."""
    return getattr(hook, "__name__", type(hook).__name__)


def register_node_hook(node: Node, hook: Callable[..., Any]) -> RemovableHandle:
    """Calls ``hook(grad_inputs, grad_outputs)`` after the node's rule has run."""
    if node.traced:
        raise TraceError(
            "a hook of a node cannot be part of a compiled function: register it on the Tensor, "
            "y.register_hook(hook)"
        )
    if node.more is None:
        node.more = {}
    hooks = node.more.setdefault("node", {})
    number = _next_id()
    hooks[number] = hook
    return RemovableHandle(hooks, number)
