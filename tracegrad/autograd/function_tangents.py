"""Forward mode of an application of a `Function`: the tangents of its results, as one call.

A rule for forward mode is called with the tangents. The backward of any other is transposed: it is
a linear map of the cotangents, and one that is not is refused.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from codegen.sizes import Sizes
from codegen.types import ArrayType
from tracegrad.autograd import engine
from tracegrad.autograd.context import FunctionCtx, Place, showing
from tracegrad.autograd.linear_rules import FAR, is_linear, probe
from tracegrad.autograd.python_call import (
    array_of,
    boxed,
    once,
    one_or_all,
    pulled,
    refuse_hidden,
)
from tracegrad.differentiation.reverse_mode import unbroadcast
from tracegrad.errors import GradientError
from tracegrad.runtime.thread_state import STATE
from tracegrad.tape.functions_apart import start_history
from tracegrad.tape.tape import Shape
from tracegrad.tensors.tensor import Tensor, wrap


class _Call:
    """From arrays to the tangents of results, by what `tensors` does with Tensors."""

    name: str
    types: tuple[ArrayType, ...]

    def infer(self, sizes: Sizes, *types: ArrayType) -> Any:
        return one_or_all(self.types)

    def tensors(self, *values: Any) -> tuple[Tensor, ...]:
        raise NotImplementedError

    def __call__(self, *arrays: Any) -> Any:
        found = once(self.name, self.tensors, *map(boxed, arrays))
        return one_or_all([array_of(x, t.dtype) for x, t in zip(found, self.types, strict=True)])

    def vjp(self, ct: Any, y: Any, *operands: Any) -> tuple[Any, ...]:
        return pulled(self, ct, operands)


@dataclass(frozen=True, eq=False)
class Pushed(_Call):
    """By the function's own rule: from what its context holds, and tangents of its arguments.

    Where `ctx` is None the context is the first operand.
    """

    name: str
    cls: type[Any]
    ctx: FunctionCtx | None
    places: tuple[Place, ...]  # Tensors of the application that the context holds
    moving: tuple[int, ...]  # Tensor arguments that have a tangent
    carrying: tuple[int, ...]  # outputs that have one
    types: tuple[ArrayType, ...]

    def tensors(self, *values: Any) -> tuple[Tensor, ...]:
        """On Tensors; recorded where recording is on."""
        ctx, values = (values[0], values[1:]) if self.ctx is None else (self.ctx, values)
        held = len(self.places)
        dots = dict(zip(self.moving, values[held:], strict=True))
        with showing(ctx, dict(zip(self.places, values[:held], strict=True)), attributes=True):
            found = self.cls._push(ctx, dots)
        return tuple([found[k] for k in self.carrying])


@dataclass(frozen=True, eq=False)
class Transposed(_Call):
    """By the transpose of the backward: from its first `held` operands, and tangents."""

    name: str
    cls: type[Any]
    back: Any  # the backward as a call, whose further operands are the cotangents
    held: int
    types: tuple[ArrayType, ...]

    def tensors(self, *values: Any) -> tuple[Tensor, ...]:
        """On Tensors; recorded itself where recording is on."""
        records, held, dots = STATE.grad_enabled, values[: self.held], values[self.held :]
        cts = [wrap(probe(t.shape, t.dtype)) for t in self.types]
        for ct in cts:
            start_history(ct)
        before = STATE.update(grad_enabled=True)
        try:
            given = self.back.tensors(*held, *cts)
            summed = [unbroadcast(g, _shape(t)) for g, t in zip(given, self.back.types)]
            pairs = [(g, dot) for g, dot in zip(summed, dots, strict=True) if g.requires_grad]
            found = {}
            if pairs:
                outputs, seeds = zip(*pairs, strict=True)
                if STATE.machine is not None and not records:
                    refuse_hidden(self.back.name, outputs, cts)
                found = engine.gradients(outputs, seeds, cts, records)
        finally:
            STATE.update(**before)
        self._require_linear([g._array for g in summed], held, [FAR * ct._array for ct in cts])
        made = [found.get(engine.key_of(ct)) for ct in cts]
        return tuple(
            [
                wrap(np.zeros_like(ct._array)) if x is None else boxed(x)
                for x, ct in zip(made, cts, strict=True)
            ]
        )

    def _require_linear(self, near: Sequence[Any], held: Sequence[Any], cts: Sequence[Any]) -> None:
        with np.errstate(all="ignore"):  # NumPy has said what there is to say of the first
            far = self.back(*[getattr(x, "_array", x) for x in held], *cts)
        if not is_linear(near, far if isinstance(far, tuple) else (far,)):
            raise GradientError(
                f"forward mode transposes the rule for the derivative of {self.cls.__name__}, "
                "which is not linear in the cotangent: for a multiple of the cotangent it does "
                "not give that multiple (it returns a constant, adds one, or clips it?). Use "
                "reverse mode (tg.grad, tg.vjp; of a Hessian tg.jacrev(tg.grad(f))), or give a "
                "rule for forward mode (tg.custom_jvp)"
                f"{self.cls._line()}"
            )


def _shape(type: ArrayType) -> Shape:
    shape: Any = type.shape
    return Shape(np.broadcast_to(np.zeros((), type.dtype), shape))
