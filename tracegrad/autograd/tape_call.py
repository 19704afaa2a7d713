"""Makes a node of the tape whose rule is the user's Python a call in a graph.

On the tape the rule of such a node computes on arrays or on Tensors at once. In a graph that is
written of the tape (tangents, Jacobians) it is a call, which runs where the graph does.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from codegen.sizes import Sizes
from codegen.spelling import Foreign
from codegen.types import ArrayType, is_inexact
from tracegrad.autograd.context import places_of
from tracegrad.autograd.function_tangents import Pushed, Transposed
from tracegrad.autograd.python_call import array_of, one_or_all, pulled, quietly
from tracegrad.differentiation.reverse_mode import unbroadcast
from tracegrad.ops.python_calls import call_python
from tracegrad.tape.tape import Node, Shape
from tracegrad.tensors.tensor import Tensor, wrap
from tracegrad.values.dispatch import type_of


def in_graph(node: Node, name: str) -> Any:
    """What the graph has for the function of a node."""
    function = node.attributes["function"]
    return function if isinstance(function, Foreign) else Foreign(name, OfTape(node, name))


@dataclass(frozen=True, eq=False)
class OfTape:
    """What a node did, as the call of a graph, which is only differentiated."""

    node: Node
    name: str

    def __call__(self, *arrays: Any) -> Any:
        return self.node.result

    def vjp(self, ct: Any, y: Any, *operands: Any) -> tuple[Any, ...]:
        """The rule as another call, of what the tape has kept."""
        cts = ct if isinstance(ct, tuple) else (ct,)
        values = (*operands, *(y if isinstance(y, tuple) else (y,)))
        held = tuple([i for i, x in enumerate(_arrays(self.node)) if type(x) is not Shape])
        given = tuple([k for k, c in enumerate(cts) if c is not None])
        types = [type_of(x) for x in operands]
        wanted = tuple([i for i, t in enumerate(types) if is_inexact(t.dtype)])
        found: list[Any] = [None] * len(operands)
        if not given or not wanted:
            return tuple(found)
        name = f"{self.name}_backward"
        back = _Back(name, self.node, held, given, wanted, tuple([types[i] for i in wanted]))
        made = call_python(
            *[values[i] for i in held], *[cts[k] for k in given], function=Foreign(name, back)
        )
        for i, x in zip(wanted, made if isinstance(made, tuple) else (made,), strict=True):
            found[i] = x
        return tuple(found)

    def jvp(self, tangents: Sequence[Any], y: Any, *operands: Any) -> Any:
        """The tangents of the results as another call, of an application of a `Function`."""
        applied = self.node.attributes["function"]
        if not hasattr(applied, "ctx"):  # of a program, whose rule is no user's
            return NotImplemented
        cls, ctx = applied.cls, applied.ctx
        results = y if isinstance(y, tuple) else (y,)
        carrying = [k for k, x in enumerate(ctx._outputs) if x is not None]
        carrying = [k for k in carrying if is_inexact(type_of(results[ctx._result(k)]).dtype)]
        places = [ctx._result(k) for k in carrying]
        types = tuple([type_of(results[place]) for place in places])
        moving = tuple([i for i, t in enumerate(tangents) if t is not None])
        name = f"{cls.__name__}_jvp"
        if cls._push is None:
            values, every = (*operands, *results), _arrays(self.node)
            held = tuple([i for i, x in enumerate(every) if type(x) is not Shape])
            inputs = tuple([type_of(operands[i]) for i in moving])
            back = _Back(f"{self.name}_backward", self.node, held, tuple(places), moving, inputs)
            push: Any = Transposed(name, cls, back, len(held), types)
            shown = [values[i] for i in held]
        else:
            kept = places_of(ctx)
            push = Pushed(name, cls, ctx, kept, moving, tuple(carrying), types)
            shown = [
                operands[i] if kind == "input" else results[ctx._result(i)] for kind, i in kept
            ]
        made = call_python(*shown, *[tangents[i] for i in moving], function=Foreign(name, push))
        found: list[Any] = [None] * len(results)
        for place, x in zip(places, made if isinstance(made, tuple) else (made,), strict=True):
            found[place] = x
        return tuple(found)


@dataclass(frozen=True, eq=False)
class _Back:
    """From what the tape kept (the operands and results `held`) and cotangents to gradients."""

    name: str
    node: Node
    held: tuple[int, ...]
    given: tuple[int, ...]  # the results whose cotangents are given
    wanted: tuple[int, ...]  # the operands that have a gradient
    types: tuple[ArrayType, ...]

    def infer(self, sizes: Sizes, *types: ArrayType) -> Any:
        return one_or_all(self.types)

    def __call__(self, *arrays: Any) -> Any:
        found = quietly(self.name, self._pulled, arrays)
        pairs = zip(found, self.types, strict=True)
        return one_or_all([array_of(_fitting(g, t), t.dtype) for g, t in pairs])

    def tensors(self, *values: Any) -> tuple[Tensor, ...]:
        """On Tensors, for derivatives."""
        found = self._pulled([x if isinstance(x, Tensor) else wrap(x) for x in values])
        return tuple([x if isinstance(x, Tensor) else wrap(x) for x in found])

    def _pulled(self, values: Sequence[Any]) -> list[Any]:
        node, every = self.node, list(_arrays(self.node))
        for i, x in zip(self.held, values, strict=False):
            every[i] = x
        count = len(node.values)
        several = type(node.result) is tuple
        cts: list[Any] = [None] * (len(every) - count)
        for k, ct in zip(self.given, values[len(self.held) :], strict=True):
            cts[k] = ct
        ct, y = (tuple(cts), tuple(every[count:])) if several else (cts[0], every[count])
        found = node.attributes["function"].call.vjp(ct, y, *every[:count])
        pairs = zip(self.wanted, self.types, strict=True)
        return [np.zeros(t.shape, t.dtype) if found[i] is None else found[i] for i, t in pairs]

    def vjp(self, ct: Any, y: Any, *operands: Any) -> tuple[Any, ...]:
        return pulled(self, ct, operands)


def _fitting(gradient: Any, type: ArrayType) -> Any:
    """A gradient in the shape of what it is the gradient of."""
    shape: Any = type.shape
    return unbroadcast(gradient, Shape(np.broadcast_to(0.0, shape)))


def _arrays(node: Node) -> tuple[Any, ...]:
    """The operands of a node and its results, as the tape has kept them."""
    return (*node.values, *(node.result if type(node.result) is tuple else (node.result,)))
