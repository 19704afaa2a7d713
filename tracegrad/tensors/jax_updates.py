"""``x.at[index].set(values)`` of Tensors that stand for arrays of JAX's: new arrays, as there.

A place outside is an `IndexError`, as NumPy has it, where JAX leaves the array as it is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from codegen.types import BFLOAT16
from tracegrad.errors import ConversionError
from tracegrad.ops.shape.indexing import index_add, index_set
from tracegrad.tensors.constructors import as_tensor
from tracegrad.tensors.tensor import Tensor
from tracegrad.user_code.program_points import at_line


class Updates:
    """``x.at``"""

    __slots__ = ("x",)

    def __init__(self, x: Any) -> None:
        self.x = x

    def __getitem__(self, index: Any) -> UpdatesAt:
        return UpdatesAt(self.x, index)


class UpdatesAt:
    """``x.at[index]``"""

    __slots__ = ("index", "x")

    def __init__(self, x: Any, index: Any) -> None:
        self.x = x
        self.index = index

    def get(self, **hints: Any) -> Any:
        _require_inside(hints)
        return self.x[self.index]

    def set(self, values: Any, **hints: Any) -> Any:
        _require_inside(hints)
        return index_set(self.x, self.index, values)

    def apply(self, func: Callable[[Any], Any], **hints: Any) -> Any:
        return self.set(func(self.x[self.index]), **hints)

    def add(self, values: Any, **hints: Any) -> Any:
        _require_inside(hints)
        return index_add(self.x, self.index, values)

    def subtract(self, values: Any, **hints: Any) -> Any:
        return self.add(np.negative(values), **hints)

    def multiply(self, values: Any, **hints: Any) -> Any:
        return self._combined(np.multiply, values, hints)

    mul = multiply

    def divide(self, values: Any, **hints: Any) -> Any:
        return self._combined(np.divide, values, hints)

    def power(self, values: Any, **hints: Any) -> Any:
        return self._combined(np.power, values, hints)

    def min(self, values: Any, **hints: Any) -> Any:
        return self._combined(np.minimum, values, hints)

    def max(self, values: Any, **hints: Any) -> Any:
        return self._combined(np.maximum, values, hints)

    def _combined(self, function: np.ufunc, values: Any, hints: dict[str, Any]) -> Any:
        _require_inside(hints)
        result = self.x.copy()
        function.at(result, self.index, values)
        return result


def beside(operands: Iterable[Any], array: Any) -> Any:
    """The Tensor for an array of JAX's where the first Tensor among the operands lies.

    One of bfloat16, which no Tensor holds in NumPy, stays in JAX: the others come there.
    """
    first = next((x for x in operands if type(x) is Tensor), None)
    in_numpy = first is not None and isinstance(first._array, np.ndarray | np.generic)
    return as_tensor(np.asarray(array) if in_numpy and array.dtype != BFLOAT16 else array)


def _require_inside(hints: dict[str, Any]) -> None:
    """Raises where it is said what becomes of places outside."""
    for name in ("mode", "fill_value", "out_sharding"):
        if hints.get(name) not in (None, "promise_in_bounds"):
            raise ConversionError(
                f"x.at[i].set(v, {name}={hints[name]!r}) of an array that tracegrad follows: an "
                f"index out of range is an IndexError here, clip it: np.clip(i, 0, len(x) - 1)"
                f"{at_line()}"
            )
