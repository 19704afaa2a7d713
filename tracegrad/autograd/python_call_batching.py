"""Batches calls of the user's Python: one call for each example.

What nobody can look into has no batching rule: the generated source calls one function, under the
user's name, which calls the user's for one example after the other and stacks what they give.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from codegen.sizes import Sizes
from codegen.spelling import Foreign
from codegen.types import ArrayType
from tracegrad.autograd.python_call import one_or_all, pulled
from tracegrad.errors import NotBatchedError
from tracegrad.ops.batching_rules import Batch
from tracegrad.ops.python_calls import call_python, called_on_each
from tracegrad.ops.record import TABLE
from tracegrad.tensors.tensor import Tensor


@dataclass(frozen=True, eq=False)
class Each:
    """What was called, for each example of the operands that are `wide`."""

    name: str
    called: Any
    wide: tuple[bool, ...]

    def infer(self, sizes: Sizes, *types: ArrayType) -> Any:
        """Results with the batch in front."""
        pairs = list(zip(types, self.wide, strict=True))
        length = next(t.shape[0] for t, w in pairs if w)
        found = self.called.infer(sizes, *[t.with_shape(t.shape[1:]) if w else t for t, w in pairs])
        several = found if isinstance(found, tuple) else (found,)
        if any(t.dtype == "object" for t in several):
            raise NotBatchedError(f"{self.name} makes a context for each example")
        return one_or_all([ArrayType(t.dtype, (length, *t.shape)) for t in several])

    def __call__(self, *arrays: Any) -> Any:
        return one_or_all(self._each(self.called, np.stack, arrays))

    def tensors(self, *values: Any) -> tuple[Tensor, ...]:
        """On Tensors, for derivatives."""
        return tuple(self._each(self.called.tensors, _joined, values))

    def _each(
        self, call: Callable[..., Any], joined: Callable[[Sequence[Any]], Any], values: Any
    ) -> list[Any]:
        length = next(len(x) for x, w in zip(values, self.wide, strict=True) if w)
        found = []
        for i in range(length):
            made = call(*[x[i] if w else x for x, w in zip(values, self.wide, strict=True)])
            found.append(made if isinstance(made, tuple) else (made,))
        return list(map(joined, zip(*found, strict=True)))

    def vjp(self, ct: Any, y: Any, *operands: Any) -> tuple[Any, ...]:
        return pulled(self, ct, operands)


def _joined(parts: Sequence[Any]) -> Any:
    return TABLE["stack"](*parts, axis=0)


@called_on_each.by
def _called_on_each(batch: Batch) -> Any:
    """The batching rule of calls of the user's Python."""
    function = batch.attributes["function"]
    name = f"{function.name}_of_each"
    each = Foreign(name, Each(name, function.call, batch.wide))
    return call_python(*batch.operands, function=each)
