"""What ``tensor.grad_fn`` shows: PyTorch's view of the tape.

The tape's own nodes are bare and of one class. What users see is made when they ask: an object
whose class is named after the operation, the same object for as long as somebody holds it. It keeps
its node alive, never the other way round; so does an `AccumulateGrad` with its leaf.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from weakref import WeakKeyDictionary, WeakValueDictionary

import numpy as np

from tracegrad.differentiation.reverse_mode import pullback
from tracegrad.differentiation.steps import Step
from tracegrad.errors import BackwardError
from tracegrad.runtime.provided import Provided
from tracegrad.tape.hooks import RemovableHandle, register_hook, register_node_hook
from tracegrad.tape.tape import FREED, LEAF, Node, Output, Shape, read_by_rule
from tracegrad.tape.torch_node_names import saved_names
from tracegrad.values.dispatch import FLOATING, is_number

_shown: WeakValueDictionary[int, Any] = WeakValueDictionary()  # by id of a node or leaf
_metadata: WeakKeyDictionary[Node, dict[Any, Any]] = WeakKeyDictionary()
_classes: dict[str, type[GradFn]] = {}


class GradFn:
    """One recorded operation; its class is named after it: ``AddBackward0``."""

    __slots__ = ("__weakref__", "_node")

    def __init__(self, node: Node) -> None:
        self._node = node

    def __repr__(self) -> str:
        return f"<{self.name()} object at {hex(id(self))}>"

    def name(self) -> str:
        """The operation's name as PyTorch writes it."""
        return type(self).__name__

    @property
    def requires_grad(self) -> bool:
        """True: only what requires grad is recorded."""
        return True

    @property
    def metadata(self) -> dict[Any, Any]:
        """A dictionary for the user's own remarks; it lives as long as the graph."""
        return _metadata.setdefault(self._node, {})

    @property
    def next_functions(self) -> tuple[tuple[Any, int], ...]:
        """What made the operands that are arrays, and which of its results each is.

        Leaves are `AccumulateGrad` nodes, what needs no gradient is None.
        """
        node = self._node
        return tuple(
            _edge(parent)
            for parent, value in zip(node.parents, node.values, strict=True)
            if parent is not None or _is_differentiable(value)
        )

    def register_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Calls ``hook(grad_inputs, grad_outputs)`` after the gradient of the operation."""
        return register_node_hook(self._node, hook)

    def __call__(self, *cotangents: Any) -> Any:
        """Gradients of the operands, from those of the results."""
        node = self._kept()
        results = node.result if type(node.result) is tuple else (node.result,)
        operands = tuple(range(len(node.values)))
        step = Step(node.op, node.attributes, operands, tuple(map(str, range(len(results)))))
        seeds = {
            key: getattr(ct, "_array", ct)
            for key, ct in zip(step.results, cotangents, strict=True)
            if ct is not None
        }
        wanted = [i for i in operands if node.parents[i] is not None]
        found = pullback([step], lambda _: (node.result, node.values), seeds, wanted)
        given = tuple(_tensor(found[i]) if i in found else None for i in wanted)
        return given[0] if len(given) == 1 else given

    def __getattr__(self, name: str) -> Any:
        if not name.startswith("_saved_"):
            raise AttributeError(f"{self.name()} has no attribute {name!r}")
        node = self._kept()
        operands, attributes = saved_names(node.op, len(node.values))
        kept = self._kept_positions()
        if name in attributes:
            return node.attributes.get(attributes[name], node.op.attributes[attributes[name]])
        if name == "_saved_result" and len(node.values) in kept:
            several = type(node.result) is tuple
            made = [self._tensor_made(k) for k in range(len(node.result))] if several else []
            return tuple(made) if several else self._tensor_made(None)
        if operands.get(name, -1) in kept:
            return self._operand(operands[name])
        saved = ", ".join(self._saved()) or "nothing"
        raise AttributeError(f"{self.name()} has not saved {name!r}: it keeps {saved}")

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self._saved()]

    def _kept(self) -> Node:
        if self._node.more is FREED:
            raise BackwardError(
                f"what {self.name()} saved was freed by a backward: to read it, or to go through "
                "the graph a second time, pass retain_graph=True to the first"
            )
        return self._node

    def _kept_positions(self) -> frozenset[int]:
        """Which operands, and last the result, the gradient needs."""
        read = read_by_rule(self._node)
        return frozenset(range(len(self._node.values) + 1)) if read is None else read

    def _saved(self) -> list[str]:
        node = self._node
        if node.more is FREED:
            return []
        operands, attributes = saved_names(node.op, len(node.values))
        kept = self._kept_positions()
        names = [name for name, position in operands.items() if position in kept]
        return [*names, *attributes, *(["_saved_result"] if len(node.values) in kept else [])]

    def _operand(self, position: int) -> Any:
        parent, value = self._node.parents[position], self._node.values[position]
        if parent is None:
            return _tensor(value)
        return parent if getattr(parent, "_node", None) is LEAF else _tensor(value, parent)

    def _tensor_made(self, index: int | None) -> Any:
        node = self._node
        if index is None:
            return _tensor(node.result, node)
        return _tensor(node.result[index], Output(node, index))


class AccumulateGrad:
    """Where gradients end: adds to the ``grad`` of a leaf, its `variable`."""

    __slots__ = ("__weakref__", "_variable", "metadata")

    metadata: dict[Any, Any]  # for the user's own remarks

    def __init__(self, variable: Any) -> None:
        self._variable = variable
        self.metadata = {}

    def __repr__(self) -> str:
        return f"<AccumulateGrad object at {hex(id(self))}>"

    def name(self) -> str:
        """``AccumulateGrad``."""
        return "AccumulateGrad"

    @property
    def variable(self) -> Any:
        """The leaf itself."""
        return self._variable

    @property
    def next_functions(self) -> tuple[()]:
        """Nothing follows."""
        return ()

    @property
    def requires_grad(self) -> bool:
        """True, as of every node."""
        return True

    def register_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Calls ``hook((), (gradient,))`` whenever the leaf gets a gradient."""

        def shown(gradient: Any) -> None:
            hook((), (gradient,))

        return register_hook(self._variable, shown)


def shown_node(node: Node) -> GradFn:
    """What users see of a node of the tape."""
    found: GradFn | None = _shown.get(id(node))
    if found is None:
        found = _shown[id(node)] = _class_named(node.name())(node)
    return found


def accumulator_of(leaf: Any) -> AccumulateGrad:
    """The end of the graph at a leaf that requires grad."""
    found: AccumulateGrad | None = _shown.get(id(leaf))
    if found is None:
        found = _shown[id(leaf)] = AccumulateGrad(leaf)
    return found


def _class_named(name: str) -> type[GradFn]:
    if name not in _classes:
        doc = f"The gradient of one operation, {name}."
        _classes[name] = type(name, (GradFn,), {"__slots__": (), "__doc__": doc})
    return _classes[name]


def _edge(parent: Any) -> tuple[Any, int]:
    if parent is None:
        return (None, 0)
    if type(parent) is Output:
        return (shown_node(parent.node), parent.index)
    return (shown_node(parent) if type(parent) is Node else accumulator_of(parent), 0)


def _is_differentiable(value: Any) -> bool:
    """True for an array that could have had a gradient; numbers, masks and indices could not."""
    return not is_number(value) and np.dtype(value.dtype).kind in FLOATING


tensor_around = Provided("Tensors around arrays")


def _tensor(value: Any, made_by: Any = None) -> Any:
    """A kept array as a Tensor with its history; numbers and shapes as they are."""
    if is_number(value) or type(value) is Shape:
        return value
    tensor = tensor_around.call(value)
    tensor._node = made_by
    return tensor
